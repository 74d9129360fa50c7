"""Questions that are answered only by keys that were pressed when they could be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.events import Key, Paste


class Asking:
    """Mixed into a dialog whose keys do what is hard to undo. The app hands it no key that was on its way before: somebody who
    writes without looking must not answer it with a letter of a word."""

    _seen_at: float | None = None  #: by the clock of events; None until the question was drawn

    def ask(self, after_refresh: Callable[[Callable[[], None]], object], now: Callable[[], float]) -> None:
        """A question is about to be drawn: from then on keys answer it."""
        self._seen_at = None

        def seen() -> None:
            self._seen_at = now()

        after_refresh(seen)

    def is_answer(self, event: Key | Paste) -> bool:
        """Whether whoever pressed it could see the question."""
        return self._seen_at is not None and event.time >= self._seen_at

    def drop_ahead(self, typed: str) -> None:
        """What was typed before that was dropped: say so."""
        raise AssertionError(f"nowhere to say {typed}")
