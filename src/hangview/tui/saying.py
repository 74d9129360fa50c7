"""Screens that say something in a line of theirs until the next key."""

from __future__ import annotations


class Saying:
    """Mixed into a screen. The app tells it of keys: of each before it does anything, and of one that is bound to nothing."""

    def say(self, text: str) -> None:
        """A message, until the next key."""
        raise AssertionError(f"nowhere to say {text}")

    def unsay(self) -> None:
        """A key was pressed: what was said before is over."""
        raise AssertionError("nothing to take away")

    def unbound(self, key: str) -> str:
        """What to say of a key that nothing is bound to."""
        raise AssertionError(f"no words for {key}")
