"""Partial updates of the sparing compositor: the same screen as when everything is drawn, with fewer widgets asked."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from hangview.tui.painting import SparingCompositor

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.app import ComposeResult

WIDTH, HEIGHT = 40, 12


class Letters(Widget):
    """Rows of one letter, drawn line by line; counts how often it is drawn."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.letters = [name] * HEIGHT
        self.asked = 0

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        return Strip([Segment(self.letters[y] * width)], width)

    def render_lines(self, crop: Region) -> list[Strip]:
        self.asked += 1
        return super().render_lines(crop)

    def change(self, y: int, letter: str) -> None:
        self.letters[y] = letter
        self.refresh(Region(0, y, self.size.width, 1))


class Overlapping(Screen[None]):
    """Left and right beside each other, a line at the bottom, and a box over the middle of them."""

    CSS = """
    Overlapping { layers: below above; layout: grid; grid-size: 2; grid-rows: 1fr 1; }
    #l, #r, #s { layer: below; height: 1fr; } #s { column-span: 2; }
    #b { layer: above; offset: 12 3; width: 14; height: 4; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()

    def compose(self) -> ComposeResult:
        yield from map(Letters, "lrsb")


class Watched(App[None]):
    """Keeps what a terminal would show."""

    SCREENS: ClassVar = {"overlapping": Overlapping}

    def __init__(self) -> None:
        super().__init__()
        self.cells = [[" "] * WIDTH for _ in range(HEIGHT)]
        self.partial = 0

    def on_mount(self) -> None:
        self.push_screen("overlapping")

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if not isinstance(screen, Overlapping):
            return
        if isinstance(renderable, LayoutUpdate):
            for y, strips in enumerate(renderable.strips, renderable.region.y):
                self.put(y, renderable.region.x, "".join(strip.text for strip in strips))
        elif isinstance(renderable, ChopsUpdate):
            self.partial += 1
            for y, low, high in renderable.spans:
                for end, (x, strip) in zip(renderable.chop_ends[y], renderable.chops[y].items(), strict=False):
                    if x < high and end > low:
                        assert strip is not None, "a changed part that nobody drew"
                        self.put(y, x, strip.text)

    def put(self, y: int, x: int, text: str) -> None:
        self.cells[y][x : x + len(text)] = text


async def test_after_each_change_the_screen_is_what_a_full_drawing_gives():
    chance = random.Random(3)
    app = Watched()
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.pause()
        widgets = [app.screen.query_one(f"#{name}", Letters) for name in "lrsb"]
        for number in range(60):
            for widget in chance.sample(widgets, chance.randrange(1, 3)):
                widget.change(chance.randrange(widget.size.height), "abcdefghij"[number % 10])
            await pilot.pause()
            whole = [strip.text for strip in app.screen._compositor.render_strips()]
            assert ["".join(row) for row in app.cells] == whole
    assert app.partial >= 50


async def test_widgets_beside_a_change_are_not_drawn():
    """Two changes far apart: textual draws all that lies between."""
    app = Watched()
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.pause()
        left, right, status, box = (app.screen.query_one(f"#{name}", Letters) for name in "lrsb")
        before = [widget.asked for widget in (left, right, status, box)]
        left.change(0, "x")
        status.change(0, "y")
        await pilot.pause()
        assert [widget.asked for widget in (left, right, status, box)] == [before[0] + 1, before[1], before[2] + 1, before[3]]
