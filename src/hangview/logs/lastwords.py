"""Last words of a process that crashed, of which Python says nothing: its shell's, those of the C library, of glog and of UCX.

They count for the rank whose file they end, where nothing else tells why the job stands: a process may also crash because it
is being ended, or after what it raised. ``Killed`` is none of them: launchers end healthy processes so, and the line has no
time by which it could be told from that. Nor is ``Aborted``: the watchdog ends its process so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hangview.logs.events import (
    ChildFailed,
    Closed,
    Event,
    Fatal,
    Heartbeat,
    KernelKill,
    LastWords,
    Raised,
    SummaryEntry,
    TaskEnd,
)
from hangview.logs.followers import follows
from hangview.logs.shut import SIGNAL

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hangview.logs.evidence import LogLine
    from hangview.logs.lines import Piece
    from hangview.logs.resolve import Resolver

_CRASH = r"(?P<name>Segmentation fault|Bus error|Illegal instruction|Floating point exception)"
_WORDS = (
    # A shell's, alone or with the script's line and the command, which may be that of a helper.
    re.compile(rf"{_CRASH}(?: +\(core dumped\))?\s*"),
    re.compile(rf"\S+: line \d+: +\d+ {_CRASH} +(?:\(core dumped\) +)?(?=.*(?:\bpython|\$)).*"),
    # The C library's.
    re.compile(
        r"(?:\*\*\* Error in `.*': )?(?P<name>(?:double free or corruption|free\(\): |munmap_chunk\(\): |(?:m|re)alloc\w*\(\): "
        r"|corrupted (?:size vs\. prev_size|double-linked list)|\*\*\* stack smashing detected).*)"
    ),
    re.compile(r"\*\*\* (?P<name>SIG(?:SEGV|BUS|ILL|FPE)) .*(?:received by PID|received at time=).*"),
    re.compile(rf"\[[\w.-]+:\d+ *:\d+:\d+\] +Caught signal \d+ \({_CRASH}.*"),
)
#: A process that is told to end may crash on its way out.
_TOLD_TO_END = re.compile(rf"{SIGNAL}|\bpreempt", re.IGNORECASE)


class LastWordsReader:
    """Reads the lines of one file; remembers whether one of them says that its process was told to end."""

    def __init__(self) -> None:
        self._told_to_end = False

    def match(self, piece: Piece, line: LogLine) -> list[Event]:
        """What a line says of a crash; empty for any other line."""
        if _TOLD_TO_END.search(piece.text) is not None:
            self._told_to_end = True
        if piece.level or self._told_to_end:
            return []
        found = next((found for pattern in _WORDS if (found := pattern.fullmatch(piece.text)) is not None), None)
        return [] if found is None else [LastWords(piece.who, line, piece.at, found["name"].strip())]


def telling(events: Sequence[Event], resolver: Resolver, waits: Collection[int]) -> list[tuple[int, Fatal]]:
    """The crash that last words tell of, with its rank: where one rank alone left any, in its own file, all others waited
    (``waits``) and it did not, and nothing tells of any process that failed by itself, or that was ended."""
    attempts = resolver.attempts
    now = [event for event in events if attempts.of(event) == attempts.current]
    words = [event for event in now if isinstance(event, LastWords)]
    ranks = {resolver.file_rank(event.line.source).rank for event in words}
    if len(ranks) != 1 or {resolver.of(event).rank for event in words} != ranks or any(event.went_on for event in words):
        return []
    rank = next(iter(ranks))
    others = {one for event in now if (one := resolver.of(event).rank) is not None} | resolver.ranks_of_files
    if rank is None or rank in waits or not waits or not others <= {rank, *waits}:
        return []
    if any(_tells_of_an_end(event, own=resolver.of(event).rank == rank) for event in now):
        return []
    first = words[0]
    return [(rank, Fatal(first.who, first.line, first.at, "fatal", first.text))]


def _tells_of_an_end(event: Event, *, own: bool) -> bool:
    """Whether an event tells that a process failed by itself or was ended, whichever it is; and of the process that crashed
    (``own``), that it raised anything before."""
    if isinstance(event, Raised):
        return not (event.no_end or event.lived) and (own or follows(event.type, event.text, event.frames) is None)
    if isinstance(event, Fatal):
        return own or follows("", event.text) is None
    return isinstance(event, (Heartbeat, ChildFailed, Closed, SummaryEntry, TaskEnd, KernelKill))
