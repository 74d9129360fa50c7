"""The widget that draws the form's rows; only those in sight, and only those that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from hangview.tui.prose import to_ascii
from hangview.tui.tones import tone_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual import events

    from hangview.tui.prose import Line, Tone
    from hangview.tui.worksheet.paper import Row


class Paper(Widget, inherit_bindings=False):
    """As high as its rows."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"paper--title", "paper--field"}
    ALLOW_SELECT = False

    class Clicked(Message):
        """A row and a column were clicked."""

        def __init__(self, x: int, y: int) -> None:
            super().__init__()
            self.x, self.y = x, y

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__(id="sheet-paper")
        self._ascii = ascii_only
        self.rows: list[Row] = []
        self._looks: dict[tuple[Tone, Style], Style] = {}

    def show(self, rows: Sequence[Row]) -> None:
        """Draw other rows."""
        before, self.rows = self.rows, list(rows)
        if len(before) != len(self.rows):
            self.styles.height = len(self.rows)
        for y in range(max(len(before), len(self.rows))):
            if before[y : y + 1] != self.rows[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks = {}

    def _look(self, tone: Tone, under: Style) -> Style:
        """A tone on the background of what it stands on."""
        key = (tone, under)
        if key not in self._looks:
            self._looks[key] = tone_style(self, tone, under)
        return self._looks[key]

    def _strip(self, words: Line, width: int, under: Style) -> Strip:
        spell = to_ascii if self._ascii else str
        segments = [Segment(spell(span.text), self._look(span.tone, under)) for span in words.spans]
        return Strip(segments).adjust_cell_length(width, under)

    def render_line(self, y: int) -> Strip:
        width, plain = self.size.width, self.rich_style
        if y >= len(self.rows):
            return Strip.blank(width, plain)
        row = self.rows[y]
        if row.title:
            return self._strip(row.left, width, self.get_component_rich_style("paper--title"))
        if row.right is None:
            return self._strip(row.left, width, plain)
        field = self.get_component_rich_style("paper--field")
        right = self._strip(row.right, max(0, width - row.at - 1), field)
        return Strip.join([self._strip(row.left, row.at, plain), right]).adjust_cell_length(width, plain)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked(event.x, event.y))
