"""A line to tick. Textual's own checkbox is one row high and tells on from off by colour alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from hangview.tui.worksheet.bindings import bind
from hangview.tui.worksheet.keys import TICK_ACTIONS
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.words import tick_lines

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.events import Click

    from hangview.tui.prose import Prose


class Tick(Lines, can_focus=True):
    """``[x] text``, wrapped."""

    BINDINGS: ClassVar[list[BindingType]] = bind(TICK_ACTIONS)

    class Changed(Message):
        """A person ticked or unticked it."""

        def __init__(self, tick: Tick, checked: bool) -> None:
            super().__init__()
            self.tick = tick
            self.checked = checked

    def __init__(self, text: str, *, checked: bool, ascii_only: bool = False, more: Prose = ()) -> None:
        """``more``: lines that belong to it, below."""
        self._text = text
        self._more = more
        self.checked = checked
        super().__init__(self._lines(), ascii_only=ascii_only, classes="tick")

    def _lines(self) -> Prose:
        return tick_lines(self._text, checked=self.checked, more=self._more)

    def offer(self, text: str, *, checked: bool) -> None:
        """Show another line, without saying so."""
        self._text, self.checked = text, checked
        self.show(self._lines())

    def set_checked(self, checked: bool) -> None:
        """Without saying so: for what did not come from a person."""
        self.checked = checked
        self.show(self._lines())

    def action_tick(self) -> None:
        self.set_checked(not self.checked)
        self.post_message(self.Changed(self, self.checked))

    def on_click(self, event: Click) -> None:
        event.stop()
        self.action_tick()
