"""The two controls that are written in. Each is filled anew for the field that has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.actions import SkipAction
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.input import Selection

from hangview.tui.typed_line import TypedLine
from hangview.tui.worksheet.bindings import bind
from hangview.tui.worksheet.keys import LINE_ACTIONS
from hangview.worksheet.layout import BLANK

if TYPE_CHECKING:
    from textual.binding import BindingType


class LineInput(TypedLine):
    """One line with a way back to what it held when it was entered."""

    BINDINGS: ClassVar[list[BindingType]] = bind(LINE_ACTIONS)

    def __init__(self) -> None:
        super().__init__(placeholder=BLANK, select_on_focus=False, compact=True)
        self.cursor_blink = False
        self._before = ""

    def fill(self, value: str, *, replace: bool) -> None:
        """Show another field's value; ``replace`` selects it, so that what is typed stands in its place."""
        self.value = self._before = value
        self.selection = Selection(0 if replace else len(value), len(value))

    def action_undo(self) -> None:
        self.value, self._before = self._before, self.value


class TextInput(TextArea):
    """Several lines. It remembers what it was given, and what that looks like in it: white space of other systems may not
    survive in a terminal's field, and what nobody edited must not count as typed."""

    class Wrapped(Message):
        """It is as wide as it will be, so its rows can be counted."""

    def __init__(self) -> None:
        super().__init__("", compact=True, highlight_cursor_line=False)
        self.cursor_blink = False
        self._given = ("", "")

    def action_copy(self) -> None:
        raise SkipAction  # ^C leaves the field, see TypedLine

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """As textual's, but in the midst of an undo, which takes lines away before it moves the cursor off them: there is
        nothing to scroll to then, and textual (8.2) raises where that makes the scrollbar go."""
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    @property
    def typed(self) -> str:
        given, looks = self._given
        return given if self.text == looks else self.text

    @property
    def rows(self) -> int:
        """How many rows its text takes."""
        return max(1, self.wrapped_document.height)

    def fill(self, text: str) -> None:
        """Show another field's text, the cursor behind it; undo does not go back over it."""
        self.load_text(text)
        self._given = (text, self.text)
        self.move_cursor(self.document.end)

    def put(self, text: str) -> None:
        """Show ``text``, if it is not what is shown; undo goes back over it."""
        if text != self.typed:
            cursor = self.cursor_location
            self.replace(text, self.document.start, self.document.end)
            self._given = (text, self.text)
            self.move_cursor(cursor)

    def on_resize(self) -> None:
        self.post_message(self.Wrapped())
