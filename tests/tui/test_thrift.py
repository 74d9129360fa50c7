"""Thrifty updates: a terminal that gets them shows what it would show with textual's own, at a fraction of the bytes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, cast

import pyte
import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from hangview.tui.thrift import Shown

if TYPE_CHECKING:
    from textual._compositor import CompositorUpdate

WIDTH, HEIGHT = 24, 5
CONSOLE = Console(force_terminal=True, color_system="256", width=WIDTH)
STYLES = [Style(), Style(bold=True), Style(color="red"), Style(color="blue", bgcolor="white", reverse=True)]
WORDS = ["a", "bc", "   ", "漢", "dé", "-" * 4]


def strip(chance: random.Random, width: int) -> Strip:
    segments = [Segment(chance.choice(WORDS), chance.choice(STYLES)) for _ in range(width)]
    return Strip(segments).adjust_cell_length(width, STYLES[0])


def layout(rows: list[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[row] for row in rows], Region(0, 0, WIDTH, HEIGHT))


class Pair:
    """One terminal with textual's bytes, one with ours."""

    def __init__(self) -> None:
        self.shown = Shown()
        self.screens = [pyte.Screen(WIDTH, HEIGHT), pyte.Screen(WIDTH, HEIGHT)]
        self.sent = [0, 0]

    def write(self, update: LayoutUpdate | ChopsUpdate) -> None:
        ours = cast("CompositorUpdate", self.shown.thrifty(update))
        for at, each in enumerate((update, ours)):
            text = each.render_segments(CONSOLE).replace("\n", "\r\n")
            pyte.Stream(self.screens[at]).feed(text)
            self.sent[at] += len(text)

    def same(self) -> bool:
        theirs, ours = (screen.buffer for screen in self.screens)
        return all(theirs[y][x] == ours[y][x] for y in range(HEIGHT) for x in range(WIDTH))


@pytest.mark.parametrize("seed", range(20))
def test_the_same_screen_after_every_update(seed):
    chance = random.Random(seed)
    pair = Pair()
    rows = [strip(chance, WIDTH) for _ in range(HEIGHT)]
    pair.write(layout(rows))
    assert pair.same()
    for _ in range(8):
        at = chance.randrange(HEIGHT)
        rows[at] = strip(chance, WIDTH)
        if chance.random() < 0.5:
            pair.write(layout(rows))
        else:
            cut = next((at for at in range(6, 12) if rows[at % HEIGHT].crop(0, at).cell_length == at), 8)
            left, right = rows[at].divide([cut, WIDTH])
            pair.write(ChopsUpdate([{0: left, cut: right}] * HEIGHT, [(at, 0, WIDTH)], [[cut, WIDTH]] * HEIGHT))
        assert pair.same()


def test_what_is_shown_already_is_not_sent():
    rows = [Strip([Segment("rank 37 " * 3, STYLES[1])], WIDTH)] * HEIGHT
    pair = Pair()
    pair.write(layout(rows))
    first = pair.sent[1]
    pair.write(layout(rows))
    assert pair.sent[1] == first
    changed = [Strip([Segment("rank 38 " * 3, STYLES[1])], WIDTH), *rows[1:]]
    pair.write(layout(changed))
    assert pair.same()
    assert pair.sent[1] - first < 60  # three digits, one move and one style


def test_forgetting_sends_everything_again():
    rows = [Strip([Segment("x" * WIDTH)], WIDTH)] * HEIGHT
    pair = Pair()
    pair.write(layout(rows))
    first = pair.sent[1]
    pair.shown.forget()
    pair.write(layout(rows))
    assert pair.sent[1] == 2 * first


def test_other_renderables_come_back_as_they_are():
    assert Shown().thrifty("text") == "text"
    assert Shown().thrifty(None) is None


def test_after_another_size_everything_is_sent_again():
    """A terminal that became narrower while the program was stopped has what was drawn for the old size in its last column."""
    chance = random.Random(3)
    wide = [strip(chance, WIDTH + 6) for _ in range(HEIGHT)]
    pair = Pair()
    pair.write(LayoutUpdate([[row] for row in wide], Region(0, 0, WIDTH + 6, HEIGHT)))
    pair.write(layout([row.crop(0, WIDTH) for row in wide]))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            assert pair.screens[1].buffer[y][x] == pair.screens[0].buffer[y][x]
    assert pair.sent[1] > WIDTH * HEIGHT * 2
