"""Back and forward through the places visited."""

from __future__ import annotations

from itertools import pairwise

from hangview.tui import trail
from hangview.tui.place import Place
from hangview.tui.trail import Trail

A, B, C, D = (Place(0, "collective", seq, 0) for seq in range(4))


def test_back_and_forward():
    visited = Trail()
    visited.jump(A, B)
    visited.jump(B, C)
    assert visited.back(C) == B
    assert visited.back(B) == A
    assert visited.back(A) is None
    assert visited.forward(A) == B
    assert visited.forward(B) == C
    assert visited.forward(C) is None


def test_a_new_jump_forgets_what_lay_ahead():
    visited = Trail()
    visited.jump(A, B)
    visited.back(B)
    visited.jump(A, D)
    assert visited.forward(D) is None
    assert visited.back(D) == A


def test_the_way_back_is_to_where_the_jump_began_also_after_wandering():
    visited = Trail()
    visited.jump(A, B)
    assert visited.back(C) == A
    assert visited.forward(A) == C


def test_a_jump_to_the_same_place_is_none():
    visited = Trail()
    visited.jump(A, A)
    assert visited.back(A) is None


def test_places_that_are_gone_are_left_out():
    visited = Trail()
    visited.jump(A, B)
    visited.jump(B, C)
    visited.move(lambda place: None if place == A else place._replace(group=5))
    assert visited.back(C) == B._replace(group=5)
    assert visited.back(B) is None


def test_it_is_bounded(monkeypatch):
    monkeypatch.setattr(trail, "MOST", 3)
    visited = Trail()
    places = [Place(0, "collective", seq, 0) for seq in range(10)]
    for here, there in pairwise(places):
        visited.jump(here, there)
    steps = 0
    here = places[-1]
    while (before := visited.back(here)) is not None:
        here, steps = before, steps + 1
    assert steps == 3
