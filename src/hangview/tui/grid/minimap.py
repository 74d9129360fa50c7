"""Minimap: the whole lane in a few lines; the worst cell of each block is drawn, so nothing is scaled away."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from hangview.tui.glyphs import GLYPHS, STYLES
from hangview.tui.grid.plane import RUNS

if TYPE_CHECKING:
    from textual import events

    from hangview.tui.grid.plane import Plane

LABEL = "map "


class Minimap(Widget):
    """``window`` is (first, last) seq in sight; it is bracketed on the lowest line, the map itself is never covered."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"map--frame", "map--window", *(f"map--{style}" for style in STYLES)}
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.plane: Plane | None = None
        self.ascii = False
        self.window = (0, 0)
        self._rows: list[bytes] | None = None
        self._block = 1

    def show(self, plane: Plane | None, window: tuple[int, int]) -> None:
        if plane is not self.plane:
            self.plane, self._rows = plane, None
        elif window == self.window:
            return
        self.window = window
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        event.stop()
        self._rows = None

    def _drawn(self) -> list[bytes]:
        if self._rows is None and self.plane is not None:
            width = max(1, self.size.width - len(LABEL) - 1)
            self._block = max(1, -(-self.plane.columns // width))
            self._rows = self.plane.zoomed(self._block).overview(max(1, self.size.height - 1), self.plane.positions())
        return self._rows or []

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        rows = self._drawn()
        frame = self.get_component_rich_style("map--frame")
        if self.plane is None or y > len(rows):
            return Strip.blank(width, self.rich_style)
        if y == len(rows):
            return self._ruler(width)
        segments = [Segment(LABEL if y == 0 else " " * len(LABEL), frame)]
        data = rows[y]
        for run in RUNS.finditer(data):
            glyph = GLYPHS[data[run.start()]]
            text = (glyph.ascii if self.ascii else glyph.unicode) * (run.end() - run.start())
            segments.append(Segment(text, self.get_component_rich_style(f"map--{glyph.style}")))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _ruler(self, width: int) -> Strip:
        """Which part of the map the grid shows: ``[----]`` under it, with the lane's first and last seq at the ends."""
        assert self.plane is not None
        columns = -(-self.plane.columns // self._block)
        low = max(0, (self.window[0] - self.plane.first) // self._block)
        high = min(columns - 1, (self.window[1] - self.plane.first) // self._block)
        inside = "[" + "-" * (high - low - 1) + "]" if high > low else "^"
        text = " " * low + inside
        tail = f" {self.plane.first}-{self.plane.last}"
        if len(text) + len(tail) <= width - len(LABEL):
            text += tail
        style = self.get_component_rich_style("map--window")
        return Strip([Segment(" " * len(LABEL), style), Segment(text, style)]).adjust_cell_length(width, self.rich_style)
