"""Errors of processes that somebody was ending.

What SIGTERM leaves behind has no end of types: whatever a program was doing fails in its own way. So it is told by who failed
by itself, as the launcher says, and by what was printed before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.evidence import NO_RANK, EndKind
from hangview.logs.times import before

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.logs.events import Closed
    from hangview.logs.evidence import LogLine, ProcessEnd

_ENDED = "the launcher was ending its process, for another one had failed"
#: Exit codes that say that a process was told to end: SIGHUP, SIGINT and SIGTERM, and none.
_TOLD_TO_END = frozenset({None, 0, -1, -2, -15, 129, 130, 143})
_KINDS = frozenset({EndKind.EXCEPTION, EndKind.DEVICE, EndKind.FATAL, EndKind.ABORT})
_OF_ITSELF = frozenset({EndKind.OOM_KILLER, EndKind.SIGNAL, EndKind.FATAL})
#: A signal by which a process is told to end; and how a process says that it got one. Both without regard to case.
SIGNAL = r"(?:\bsignal[ :=]*(?:number )?(?:1|2|10|12|15)\b|\bSIG(?:TERM|INT|HUP|USR[12])\b)"
_GOT = re.compile(
    rf"\b(?:received|receiving|caught|got|trapped|intercepted)\b[^.]{{0,40}}?{SIGNAL}|{SIGNAL}[^.]{{0,20}}\b(?:received|caught)\b"
    r"|\bhandler (?:was )?called with signal \d",
    re.IGNORECASE,
)
#: What it would do then, what others got, and what it sends.
_NOT_ITSELF = re.compile(
    r"\b(?:will|would|if|when|once|until|unless|should|may|child|children|subprocess|worker \(pid|send(?:s|ing)?|sent)\b", re.I
)


def told_to_end(text: str) -> bool:
    """Whether a process says in this line that it got a signal by which others end it, or tell it that its time is over."""
    return _GOT.search(text) is not None and _NOT_ITSELF.search(text) is None


def after_others(ends: Sequence[ProcessEnd], closed: Mapping[int, Sequence[Closed]]) -> list[ProcessEnd]:
    """The ends, those marked as following that a process raised when a launcher ended it. ``closed``: what the launchers of
    each attempt say that they ended.

    Only where they say, or its exit code does, that another process had failed by itself, and the logs show by what, which is
    no end of a wait; not where what was raised stands above the launcher's first line or is older than it; nor where the one
    that failed raised the same.
    """
    failed: dict[int | None, list[ProcessEnd]] = defaultdict(list)
    for end in ends:
        if end.attempt in closed and end.code not in _TOLD_TO_END and _failed_by_itself(end):
            failed[end.attempt].append(end)
    return [
        replace(end, follower=True, why_follower=_ENDED, before_communication=False)
        if end.attempt is not None and _was_ended(end, failed[end.attempt]) and not _was_first(end.line, closed[end.attempt])
        else end
        for end in ends
    ]


def _failed_by_itself(end: ProcessEnd) -> bool:
    if end.follower or end.beside or end.of_others or end.rank == NO_RANK:
        return False
    return end.kind in _OF_ITSELF or end.before_communication


def _was_ended(end: ProcessEnd, failed: Sequence[ProcessEnd]) -> bool:
    if end.follower or end.beside or end.kind not in _KINDS or end.code not in _TOLD_TO_END:
        return False
    others = [one for one in failed if one.rank != end.rank]
    return bool(others) and not any((one.type, one.where) == (end.type, end.where) for one in others)


def _was_first(line: LogLine, closed: Sequence[Closed]) -> bool:
    """Whether a line was printed before the launcher's first one about what it ended."""
    here = [event.line.number for event in closed if event.line.source == line.source]
    if here:
        return line.number < min(here)
    by = line.printed.own or line.printed.after
    times = [event.line.printed.own for event in closed]
    return any(times) and all(before(by, at) for at in times if at is not None)
