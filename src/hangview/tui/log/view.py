"""Rows of a log under a cursor: marks in the margin, numbers, text that is clipped and scrolls sideways."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, clamp
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from hangview.tui.prose import Tone, line, to_ascii, wrap
from hangview.tui.tones import tone_style

if TYPE_CHECKING:
    from textual import events

    from hangview.tui.log.finding import Needle
    from hangview.tui.log.paging import Row

#: Signs before a row.
MATTERS, USED, OTHER = ">", "*", " "
#: Columns that one step sideways goes.
STEP = 8


class LogView(Widget, inherit_bindings=False):
    """``cursor`` is a row's index. The keys are the screen's."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log--cursor"}
    ALLOW_SELECT = False

    class Clicked(Message):
        """A row was clicked, or the wheel turned by ``rows``."""

        def __init__(self, index: int | None, rows: int = 0) -> None:
            super().__init__()
            self.index, self.rows = index, rows

    def __init__(self, *, ascii_only: bool, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.ascii = ascii_only
        self.rows: tuple[Row, ...] = ()
        self.cursor = 0
        self.topmost = 0
        self.left = 0
        self.matters: tuple[int, int] | None = None  #: key of the row
        self.used: frozenset[int] = frozenset()  #: offsets
        self.needle: Needle | None = None
        self.message = ""  #: instead of rows
        self._wide = 6

    # What is shown

    def show(self, rows: tuple[Row, ...], cursor: int, top: int | None = None) -> None:
        """Other rows; ``top`` is the row to begin with, by default a third of the screen above the cursor."""
        self.rows, self.message = rows, ""
        self._wide = max([5, *(len(str(row.number)) for row in rows[-1:] if row.number is not None)])
        self.cursor = clamp(cursor, 0, max(0, len(rows) - 1))
        self.topmost = self.cursor - self.size.height // 3 if top is None else top
        self._clamp()
        self.refresh()

    def say(self, message: str) -> None:
        """A message where there is no row to show."""
        self.rows, self.message, self.cursor, self.topmost = (), message, 0, 0
        self.refresh()

    def move(self, index: int) -> None:
        """Cursor to a row that is there; paints two rows where nothing scrolls."""
        before, top = self.cursor, self.topmost
        self.cursor = clamp(index, 0, max(0, len(self.rows) - 1))
        self._clamp()
        if self.topmost != top:
            self.refresh()
        elif self.cursor != before:
            for row in (before, self.cursor):
                self.refresh(Region(0, row - self.topmost, self.size.width, 1))

    def _clamp(self) -> None:
        """Scroll as little as needed for the cursor to be in sight, and never past the last row."""
        height = max(1, self.size.height)
        self.topmost = clamp(self.topmost, self.cursor - height + 1, self.cursor)
        self.topmost = clamp(self.topmost, 0, max(0, len(self.rows) - height))

    def aside(self, columns: int) -> bool:
        """Sideways by so many columns; False where there is nothing more."""
        sight = self.rows[self.topmost : self.topmost + self.size.height]
        widest = max((cell_len(self._spelled(row.text)) for row in sight), default=0)
        left = clamp(self.left + columns, 0, max(0, widest - STEP))
        changed = left != self.left
        if changed:
            self.left = left
            self.refresh()
        return changed

    def reveal(self, needle: Needle) -> None:
        """Sideways to the hit in the row under the cursor, where it is out of sight."""
        if not self.rows:
            return
        text = self._spelled(self.rows[self.cursor].text)
        found = needle.text.search(text)
        if found is None:
            return
        begin, end = cell_len(text[: found.start()]), cell_len(text[: found.end()])
        room = self._room()
        if begin < self.left or end > self.left + room - 1:
            self.left = 0 if end < room else max(0, begin - room // 3)
            self.refresh()

    def _room(self) -> int:
        return max(1, self.size.width - self._wide - 3)

    def _spelled(self, text: str) -> str:
        return to_ascii(text) if self.ascii else text

    # Drawing

    def render_line(self, y: int) -> Strip:
        width, at = self.size.width, self.topmost + y
        if self.message:
            said = wrap((line((self.message, Tone.UNKNOWN)),), max(1, width))[y : y + 1]
            words = [Segment(self._spelled(each.text), tone_style(self, Tone.UNKNOWN)) for each in said]
            return Strip(words).adjust_cell_length(width, self.rich_style)
        if at >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[at]
        over = self.get_component_rich_style("log--cursor", partial=True) if at == self.cursor else Style()
        matters = row.key == self.matters
        sign = MATTERS if matters else USED if row.offset in self.used and row.part == 0 else OTHER
        number = "" if not row.first else "?" if row.number is None else f"{row.number}"
        lead = tone_style(self, Tone.LEAD)
        margin = [
            Segment(f"{sign} ", (lead if matters else tone_style(self, Tone.KEY)) + over),
            Segment(f"{number:>{self._wide}} ", tone_style(self, Tone.DIM) + over),
        ]
        text = self._text(row, (lead if matters else self.rich_style) + over, over)
        return Strip([*margin, *text]).adjust_cell_length(width, self.rich_style + over)

    def _text(self, row: Row, look: Style, over: Style) -> list[Segment]:
        room = self._room()
        text = self._spelled(row.text)
        segments, at = [], 0
        if self.needle is not None and text:
            hit = tone_style(self, Tone.KEY) + over + Style(underline=True, bold=True)
            for found in self.needle.text.finditer(text):
                if found.end() > found.start():
                    segments += [Segment(text[at : found.start()], look), Segment(found.group(), hit)]
                    at = found.end()
        strip = Strip([*segments, Segment(text[at:], look)])
        length = strip.cell_length
        shown = strip.crop(self.left, self.left + room)
        if length > self.left + room:
            sign = ">" if self.ascii else "…"
            shown = Strip([*shown.crop(0, room - 1).adjust_cell_length(room - 1, look), Segment(sign, look)])
        return list(shown)

    # Mouse and size

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.post_message(self.Clicked(None, 3))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.post_message(self.Clicked(None, -3))

    def on_click(self, event: events.Click) -> None:
        if self.topmost + event.y < len(self.rows):
            self.post_message(self.Clicked(self.topmost + event.y))

    def on_resize(self) -> None:
        self._clamp()
        self.refresh()
