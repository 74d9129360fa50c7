"""Questions that are answered only by keys that were pressed after they were asked."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.events import Key, Paste


class Asking:
    """Mixed into a dialog whose keys do what is hard to undo. The app hands it no key that was on its way before: somebody who
    writes without looking must not answer it with a letter of a word."""

    _asked_at = 0.0  #: by the clock of textual's events

    def ask(self) -> None:
        """A question is put on the screen: from now on keys answer it."""
        self._asked_at = monotonic()

    def is_answer(self, event: Key | Paste) -> bool:
        """Whether it was pressed after the question was asked."""
        return event.time >= self._asked_at

    def drop_ahead(self, typed: str) -> None:
        """What was typed before that was dropped: say so."""
        raise AssertionError(f"nowhere to say {typed}")
