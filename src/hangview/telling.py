"""What is told of a look while it lasts: how many files are read, and what those say that were read so far."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.incident import Incident

#: Seconds after which the first part of a large set is worth showing.
FIRST_PART = 0.7
#: A part is shown when so many times as long as the last one took has passed since: meanwhile nobody takes what others read.
SHARE = 4.0


class Progress:
    """How many files are read, of how many."""

    def __init__(self, tell: Callable[[int, int], None] | None) -> None:
        self.done = 0
        self.total = 0
        self.tell = tell

    def start(self, done: int, total: int) -> None:
        self.done = 0
        self.total = total
        self.add(done)

    def add(self, number: int) -> None:
        self.done += number
        if self.tell is not None and number:
            self.tell(min(self.done, self.total), self.total)


class Parts:
    """When to show what has been read so far: soon, then at doubling counts; not shortly before the end."""

    def __init__(self, tell: Callable[[Incident], None] | None) -> None:
        self.tell = tell
        self.total = 0
        self.done = 0
        self.shown = 0
        self.begun = time.monotonic()
        self.rested = 0.0  #: when the next may be shown

    def late(self) -> bool:
        """Whether somebody waits, and has for long enough."""
        return self.tell is not None and time.monotonic() - self.begun >= FIRST_PART

    def due(self, number: int) -> bool:
        """Whether to show a part, now that so many files more are read."""
        self.done += number
        enough = self.done >= max(1, 2 * self.shown) and 2 * self.done <= self.total
        return enough and self.late() and time.monotonic() >= self.rested

    def show(self, make: Callable[[], Incident]) -> None:
        """Make an incident of what has been read so far, and show it."""
        begun = time.monotonic()
        self.shown = self.done
        if self.tell is not None:
            self.tell(make())
        now = time.monotonic()
        self.rested = now + SHARE * (now - begun)
