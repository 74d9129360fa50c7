"""A dialog that closes once, however many keys arrive in one write."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

Result = TypeVar("Result")


class ClosingOnce(ModalScreen[Result], inherit_bindings=False):
    """A modal screen whose second ``dismiss`` does nothing: two quick enters reach it before the first has popped it."""

    _answered = False  # not "_closing": textual's message pump has that, and a screen that seems to close never does

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        if self._answered:
            return AwaitComplete()  # of nothing: complete already, whoever awaits it goes on at once
        self._answered = True
        return super().dismiss(result)
