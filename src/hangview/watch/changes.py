"""What one look found different from the look before."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that was not there at the last look. It may be empty or half written. ``size`` in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Grown:
    """A file that had not settled has changed again: longer, shorter or touched. ``size`` in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Ready:
    """A file with content has settled: same size, time and inode in two looks at least one interval apart, or not changed
    for a minute when first seen. Whether it is whole only reading it can tell."""

    path: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """A settled file has changed: a second dump of the same rank, or a copy put in its place. It must settle again."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Gone:
    """A file is no longer there."""

    path: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """A file that is empty, or that could not be read to its end, has not changed for two intervals. ``seconds``: for how long.

    Said again each time that it has lasted twice as long. Never final: when it changes after all, :class:`Replaced` follows.
    """

    path: str
    size: int
    seconds: float


Change = Seen | Grown | Ready | Replaced | Gone | Stuck
