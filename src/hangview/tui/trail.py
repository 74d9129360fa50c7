"""The places visited: where a jump left from, so that there is a way back, and forward again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.tui.place import Place

#: So many places are remembered.
MOST = 100


class Trail:
    """Like a browser's: a jump from a place forgets what lay ahead."""

    def __init__(self) -> None:
        self._behind: list[Place] = []
        self._ahead: list[Place] = []

    def jump(self, here: Place, there: Place) -> None:
        """A jump that is about to be made; a step to the same place is none."""
        if here != there:
            if not self._behind or self._behind[-1] != here:
                self._behind = [*self._behind, here][-MOST:]
            self._ahead = []

    def back(self, here: Place) -> Place | None:
        """The place before; None at the beginning."""
        return self._step(self._behind, self._ahead, here)

    def forward(self, here: Place) -> Place | None:
        """The place after; None at the end."""
        return self._step(self._ahead, self._behind, here)

    def _step(self, source: list[Place], target: list[Place], here: Place) -> Place | None:
        while source and source[-1] == here:
            source.pop()
        if not source:
            return None
        target.append(here)
        return source.pop()

    def move(self, moved: Callable[[Place], Place | None]) -> None:
        """The same places in another Incident; those that are gone are left out."""
        self._behind = [new for place in self._behind if (new := moved(place)) is not None]
        self._ahead = [new for place in self._ahead if (new := moved(place)) is not None]
