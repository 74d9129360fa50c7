"""A text whose lines depend on how wide it is: two columns side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.prose import wrap
from hangview.tui.prose_view import ProseView

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.tui.prose import Line, Prose

#: The width at which it is copied, whatever the window.
COPIED = 100


class ColumnsView(ProseView):
    """Draws what ``make(width)`` gives."""

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._make: Callable[[int], Prose] = lambda _: ()

    def show_made(self, make: Callable[[int], Prose]) -> None:
        """Draw other lines."""
        self._make = make
        self.show(make(COPIED))

    def _lay(self, prose: Prose, width: int) -> list[Line]:  # noqa: ARG002 - the same lines, made for another width
        return wrap(self._spelled(self._make(width)), width)
