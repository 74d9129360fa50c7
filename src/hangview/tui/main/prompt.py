"""The line to type in, for search and filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from hangview.tui.actions import Where
from hangview.tui.bindings import bindings_for
from hangview.tui.typed_line import TypedLine

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget


class Prompt(Horizontal, inherit_bindings=False):
    """``ask`` shows it; it answers with ``Answered``, whose text is None when the user left."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.PROMPT)

    class Answered(Message):
        def __init__(self, purpose: str, text: str | None) -> None:
            super().__init__()
            self.purpose, self.text = purpose, text

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.purpose = ""
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static("", id="prompt-label", markup=False)
        yield TypedLine(id="prompt-input", compact=True)

    @property
    def input(self) -> Input:
        return self.query_one("#prompt-input", Input)

    def ask(self, purpose: str, label: str, hint: str, text: str = "") -> None:
        self.purpose = purpose
        self.query_one("#prompt-label", Static).update(label)
        self.input.placeholder = hint
        self.input.value = text
        self.input.cursor_position = len(text)
        self.input.cursor_blink = False
        self.display = True
        self.input.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer(event.value)

    def action_accept(self) -> None:
        self._answer(self.input.value)

    def action_cancel(self) -> None:
        self._answer(None)

    def _answer(self, text: str | None) -> None:
        self.display = False
        self.post_message(self.Answered(self.purpose, text))


class Prompted(Screen[None], inherit_bindings=False):
    """A screen whose prompt, while it is shown, has the focus: whatever comes of itself and whatever is clicked at, keys go on
    into the prompt, and none of them is taken as a command."""

    @property
    def asks(self) -> bool:
        """Whether the prompt is shown."""
        return any(prompt.display for prompt in self.query(Prompt))

    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        asking = next((prompt.input for prompt in self.query(Prompt) if prompt.display), None)
        leaves = widget is None and not self.app.app_focus  # the terminal lost the focus: textual gives it back
        if asking is None or widget is asking or leaves:
            super().set_focus(widget, scroll_visible, from_app_focus)
