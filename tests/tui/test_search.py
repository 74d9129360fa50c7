"""Search, filter, and finding a place again in another Incident."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hangview.schema import CellState
from hangview.tui.grid.plane import Plane, standing_of
from hangview.tui.place import Place, opening_of, place_of, same_place
from hangview.tui.search import filtered_ranks, search
from tests.support import incidents

MESH = incidents.eight_in_five_groups()
HERE = Place(2, "collective", 6, 7)


def test_a_rank_is_found_in_each_of_its_lanes_where_it_stands():
    found = search(MESH, "rank 7", HERE)
    assert {(place.group, place.rank) for place in found} == {(0, 7), (2, 7), (6, 7)}
    assert Place(2, "collective", 6, 7) in found
    assert search(MESH, "7", HERE) == found


def test_a_rank_without_a_dump_is_found_too():
    incident = incidents.missing_dump()
    assert search(incident, "rank 2", Place(0, "collective", 1, 0)) == [Place(0, "collective", 42, 2)]


def test_a_seq_is_found_here_first():
    found = search(MESH, "seq 3", HERE)
    assert found[0] == Place(2, "collective", 3, 7)
    assert {place.group for place in found} == {1, 2, 3, 4, 5, 6}


def test_a_group_by_part_of_its_description():
    assert [place.group for place in search(MESH, "group dp", HERE)] == [3, 4, 5, 6]
    assert search(MESH, "group tp1", HERE) == [Place(2, "collective", 6, 7)]


def test_text_is_looked_for_in_findings():
    assert Place(2, "collective", 6, 7) in search(MESH, "did not request", HERE)
    assert search(MESH, "no such words", HERE) == []
    assert search(MESH, "  ", HERE) == []


def test_a_rank_needs_a_number():
    with pytest.raises(ValueError, match="rank needs a number"):
        search(MESH, "rank seven", HERE)


@pytest.fixture
def plane():
    return Plane(MESH.view.grid(2, "collective"), standing_of(MESH, 2, "collective"))


@pytest.mark.parametrize(
    ("typed", "ranks"),
    [
        ("4-5", {4, 5}),
        ("0-4", {4}),
        ("not requested", {7}),
        ("Started", {4, 5, 6}),
        ("lead", {7}),
        ("marked", {5}),
        ("differs", set()),
    ],
)
def test_filter(plane, typed, ranks):
    assert filtered_ranks(plane, typed, MESH.leads, {5}) == ranks


def test_a_filter_that_is_none_says_what_may_be_typed(plane):
    with pytest.raises(ValueError, match="or a state"):
        filtered_ranks(plane, "whatever", (), ())


def test_every_state_can_be_filtered_by_its_word():
    incident = incidents.every_state()
    every = Plane(incident.view.grid(0, "collective"), {})
    for rank, state in enumerate(CellState):
        if state is not CellState.COMPLETED:
            assert filtered_ranks(every, state.word, (), ()) == {rank}


def test_a_place_is_found_again_under_another_group_id():
    moved = replace(
        MESH,
        groups=tuple(replace(group, id=6 - group.id) for group in MESH.groups),
        lanes=tuple(replace(lane, group=6 - lane.group) for lane in MESH.lanes),
    )
    assert same_place(MESH, HERE, moved) == HERE._replace(group=4)


def test_a_group_that_has_grown_is_still_the_same():
    grown = replace(
        MESH, groups=tuple(replace(group, ranks=(*group.ranks, 99)) if group.id == 2 else group for group in MESH.groups)
    )
    assert same_place(MESH, HERE, grown) == HERE


def test_a_group_of_the_same_name_and_other_members_is_another_one():
    other = replace(MESH, groups=tuple(replace(group, ranks=(90, 91)) if group.id == 2 else group for group in MESH.groups))
    assert same_place(MESH, HERE, other) is None


def test_places_of_findings_and_lanes():
    assert place_of(MESH, MESH.findings[0]) == HERE
    assert opening_of(MESH, MESH.lanes[2]) == HERE
    nothing = incidents.nothing_called()
    assert place_of(nothing, nothing.findings[0]) is None
