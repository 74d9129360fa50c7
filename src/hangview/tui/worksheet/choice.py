"""One of a few answers, all in sight. Textual's own list hides them behind a key and tells by colour which one holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from hangview.tui.worksheet.bindings import bind
from hangview.tui.worksheet.keys import CHOICE_ACTIONS
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.words import choice_lines

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.events import Click

    from hangview.tui.prose import Prose


class Choice(Lines, can_focus=True):
    """``(x) failed``, one answer a row; ``____`` before them while none is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = bind(CHOICE_ACTIONS)

    class Changed(Message):
        """A person chose; ``value`` is "" where the answer was taken back."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    def __init__(self, answers: tuple[str, ...] = (), value: str = "", *, ascii_only: bool = False) -> None:
        self._answers = answers
        self.value = value
        super().__init__(self._lines(), ascii_only=ascii_only)

    def _lines(self) -> Prose:
        return choice_lines(self._answers, self.value)

    def offer(self, answers: tuple[str, ...], value: str) -> None:
        """Show other answers or another value, without saying so: for what did not come from a person."""
        self._answers = answers
        self.value = value
        self.show(self._lines())

    def _choose(self, value: str) -> None:
        if value != self.value:
            self.offer(self._answers, value)
            self.post_message(self.Changed(value))

    def action_choose_next(self) -> None:
        at = self._answers.index(self.value) + 1 if self.value else 0
        self._choose(self._answers[min(at, len(self._answers) - 1)])

    def action_choose_previous(self) -> None:
        at = self._answers.index(self.value) - 1 if self.value else 0
        self._choose(self._answers[max(at, 0)])

    def action_choose_none(self) -> None:
        self._choose("")

    def action_choose_number(self, number: int) -> None:
        """The answer with this number; a number that none has does nothing."""
        if number <= len(self._answers):
            self._choose(self._answers[number - 1])

    def choose_row(self, row: int) -> None:
        """Choose the answer on a row; answers are short, each has one."""
        number = row - (0 if self.value else 1)
        if 0 <= number < len(self._answers):
            self._choose(self._answers[number])

    def on_click(self, event: Click) -> None:
        event.stop()
        self.choose_row(event.y)
