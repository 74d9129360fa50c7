"""Processes that are over, of which no line says why: an exit code in the launcher's log, or a program that came to its end.

Others that wait for such a rank do so in vain. But a rank may also exit because it waited until its time-out, or because it was
told to: it counts as where to look first only where it was the first to go, and went by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import ChildFailed, Closed, Left, SummaryEntry
from hangview.logs.evidence import NO_RANK, EndKind, ProcessEnd
from hangview.logs.times import before

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hangview.logs.events import Event
    from hangview.logs.evidence import GroupByLog, LogEvidence, LogLine
    from hangview.logs.resolve import Resolver

#: Exit codes after SIGABRT, as torchelastic and shells give them.
_ABORTED = (-6, 134)
_BY_SIGNAL = frozenset({EndKind.SIGNAL, EndKind.FATAL})
AFTERWARDS = "others had timed out before, and waited for one whose end was printed before that"
_KINDS = frozenset({EndKind.EXIT_CODE, EndKind.LEFT})


def left(events: Sequence[Event], resolver: Resolver, told: Collection[int]) -> tuple[ProcessEnd, ...]:
    """Ranks of the current attempt whose program came to its end by their own logs. ``told``: of which more is known."""
    found: dict[int, ProcessEnd] = {}
    for event in events:
        named = resolver.of(event) if isinstance(event, Left) and not event.went_on else None
        if named is None or named.rank is None or named.rank in told or named.rank in found:
            continue
        if resolver.attempts.of(event) == resolver.attempts.current:
            found[named.rank] = ProcessEnd(
                named.rank, "left its program without destroy_process_group()", False, False, event.line, EndKind.LEFT,
                attempt=resolver.attempts.current, rank_from=named.how,
            )  # fmt: skip
    return tuple(found[rank] for rank in sorted(found))


def may_restart(events: Sequence[Event]) -> bool:
    """Whether a launcher may have started the processes again after it ended them: of that it says nothing by default, and when
    it gives up it prints a summary (torch.distributed.elastic of 1.12 to 2.15)."""
    failed = any(isinstance(event, ChildFailed) for event in events) and any(isinstance(event, Closed) for event in events)
    return failed and not any(isinstance(event, SummaryEntry) and event.local is not None for event in events)


def is_quiet(end: ProcessEnd) -> bool:
    """Whether it is known that a process is over, and nothing else."""
    return end.kind in _KINDS and not end.follower


def first_to_go(evidence: LogEvidence, end: ProcessEnd) -> bool:
    """Whether this process is the only one that ended by itself, and before the others' time-out by a line that tells of it.

    Without such a line it may have left because it had waited as long as they. Whatever else ended, a launcher ended it. A
    program that leaves while a launcher ends the job's processes may do so because it was told to.
    """
    if not is_quiet(end) or end.went_on:
        return False
    others = [one for one in (*evidence.ends, *evidence.unplaced_ends, *evidence.left) if one.rank != end.rank]
    if any(not _sent(one) for one in others) or (end.kind is EndKind.LEFT and others):
        return False
    timed = [row.line for row in (*evidence.groups, *evidence.unplaced) if row.timed_out and row.rank != end.rank]
    return bool(timed) and all(_before(end.line, line) for line in timed)


def after_time_outs(ends: Iterable[ProcessEnd], rows: Sequence[GroupByLog]) -> tuple[ProcessEnd, ...]:
    """Ends, those by a signal marked where a line of a time-out was printed before: its job was being torn down already, and
    until then the process had lived. What it raised by itself may be why it was late, and so may a lack of memory; but where
    another one was over before all the time-outs, that was waited for, and it raised it in its cleanup."""
    told = tuple(_by_its_number(end, rows) for end in ends)
    timed = [row.line for row in rows if row.timed_out]
    own = [end for end in told if timed and not (end.follower or end.beside or end.went_on)]
    first = [end for end in own if all(_before(end.line, line) for line in timed)]
    return tuple(_torn_down(end, timed, first) for end in told)


def _by_its_number(end: ProcessEnd, rows: Sequence[GroupByLog]) -> ProcessEnd:
    """An end, marked where a process whose rank no line gives had timed out above it in the same file, and calls itself within
    its group as this one is called in the world: it may be this one (torch ≤ 2.1 prints nothing else, and its tracebacks bear
    no rank)."""
    if end.follower or end.beside or end.rank == NO_RANK:
        return end
    alike = (row.line for row in rows if row.timed_out and row.rank == NO_RANK and row.group_rank == end.rank)
    if not any(line.source == end.line.source and line.number < end.line.number for line in alike):
        return end
    why = f"a process that calls itself {end.rank} within its group had timed out before, and may be this one"
    return replace(end, follower=True, why_follower=why, before_communication=False)


def _torn_down(end: ProcessEnd, timed: Sequence[LogLine], first: Sequence[ProcessEnd]) -> ProcessEnd:
    if end.kind is EndKind.EXCEPTION and not end.follower and any(one.rank != end.rank for one in first):
        if not all(_before(line, end.line) for line in timed):
            return end
        return replace(end, follower=True, why_follower=AFTERWARDS, before_communication=False)
    if end.kind not in _BY_SIGNAL or end.follower or not any(_before(line, end.line) or _above(line, end) for line in timed):
        return end
    why = "others had timed out before, and it had lived until then"
    return replace(end, follower=True, why_follower=why, before_communication=False)


def _sent(end: ProcessEnd) -> bool:
    """Whether a launcher ended a process by a signal. SIGABRT is how the watchdog ends its own process after a time-out."""
    return end.follower and end.kind is EndKind.SIGNAL and end.code not in _ABORTED


def _above(line: LogLine, end: ProcessEnd) -> bool:
    """Whether a line stands above that of a launcher without a time in one file, as srun's: it writes when it sees the end."""
    told = end.line
    return end.kind is EndKind.SIGNAL and told.printed.own is None and line.source == told.source and line.number < told.number


def _before(line: LogLine, other: LogLine) -> bool:
    """Whether a line was printed before another."""
    return before(line.printed.own, other.printed.own)
