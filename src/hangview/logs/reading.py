"""Logs to evidence: every file is scanned by itself, then the scans are joined."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs import ends, facts, paths, positions, printed, quiet, reports, sizes
from hangview.logs.events import CommInit, Hidden, StackSeen
from hangview.logs.evidence import EndKind, LogEvidence, LogRead, OutsideStack
from hangview.logs.resolve import Resolver
from hangview.logs.scan import scan_log
from hangview.logs.starts import newest
from hangview.logs.zones import long_before

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from hangview.logs import LogFile
    from hangview.logs.events import Event, LogScan
    from hangview.logs.evidence import DumpByLog, GroupByLog, LogLine, Place, ProcessEnd

#: Ends that the launcher or the kernel tells of, not the process.
_SAID_BY_OTHERS = frozenset({EndKind.SIGNAL, EndKind.EXIT_CODE, EndKind.OOM_KILLER})

__all__ = ["combine", "read_logs", "scan_log"]


def read_logs(paths: Sequence[LogFile], *, on_progress: Callable[[int, int], None] | None = None) -> LogEvidence:
    """What the logs say. Never raises for what a file holds; a file that cannot be read is a ``problem`` of its LogRead.

    Big files are streamed: memory is bounded by what is worth keeping, not by their size. ``on_progress`` is called with
    (files read, files) after each file. The order of ``paths`` changes nothing.
    """
    scans = []
    for number, file in enumerate(paths, 1):
        scans.append(scan_log(file))
        if on_progress is not None:
            on_progress(number, len(paths))
    return combine(scans)


def combine(scans: Iterable[LogScan], world: int | None = None) -> LogEvidence:
    """Joins the scans of one folder: ranks, attempts, pids, and what follows from what. ``world``: the number of ranks, where
    the dumps prove it."""
    by_path = paths.proven(paths.named(sorted(scans, key=lambda scan: scan.source), world))
    ordered, earlier = newest(printed.of_files(by_path, world))
    resolver = Resolver(ordered, world)
    current = resolver.attempts.current
    events = [event for scan in ordered for event in scan.events]
    rows, unplaced = positions.collect(events, resolver)
    have_logs = _ranks(ordered, events, resolver, ())
    reported = reports.collect(events, resolver, {*have_logs, *range(world or 0)}, have_logs)
    # Who waited in another call until its time-out had got over what it reports: that was caught, and is of the past.
    past = {row.rank for row in rows if row.timed_out and row.timed_out_seq is not None}
    reported = tuple(one for one in reported if one.rank not in past)
    ended = ends.collect(events, resolver, {row.rank: wait_of(row) for row in rows if row.timed_out}, reported)
    stood = (*rows, *unplaced)
    ended = replace(
        ended,
        current=quiet.after_time_outs(long_before(ended.current, rows), stood),
        unplaced=quiet.after_time_outs(ended.unplaced, stood),
    )
    waited = {row.rank for row in rows if row.timed_out}
    left = quiet.left(events, resolver, waited | {end.rank for end in ended.current})
    dumps = facts.collect_dumps(events, resolver)
    places = facts.collect_places(events, resolver)
    now = [event for event in events if resolver.attempts.of(event) == current]
    ranks = _ranks(ordered, events, resolver, ended.current)
    stacks = tuple(
        OutsideStack(_stack_rank(event, resolver), event.pid, event.thread, event.frames, event.tool, event.line)
        for event in now
        if isinstance(event, StackSeen)
    )
    used = _used_lines(rows, unplaced, (*ended.current, *ended.unplaced, *ended.earlier, *left), dumps, places, stacks)
    numbers: dict[int, set[int]] = defaultdict(set)
    for line in used:
        numbers[line.source].add(line.number)
    return LogEvidence(
        groups=rows, ends=tuple(end for end in ended.current if not end.beside), unplaced=unplaced,
        unplaced_ends=tuple(end for end in ended.unplaced if not end.beside), earlier_ends=ended.earlier,
        handled=tuple(end for end in ended.current if end.beside), left=left, reports=reported, aside=earlier,
        may_restart=quiet.may_restart(events),
        dumps=dumps, stacks=stacks, places=places, attempts=resolver.attempts.known if ordered else (),
        attempt=current if ordered else None, ranks=ranks,
        silent=_silent(ranks, rows, ended.current, sizes.at_least(now, world)), world_size=sizes.printed(now),
        proven=sizes.proven(now, world),
        hidden=max((event.count for event in now if isinstance(event, Hidden)), default=0),
        facts=facts.collect(events, ordered, resolver, rows, places),
        logs=tuple(_log_read(scan, resolver, numbers[scan.source]) for scan in ordered), lines=used,
    )  # fmt: skip


def _stack_rank(event: StackSeen, resolver: Resolver) -> int | None:
    rank = resolver.of(event).rank
    return rank if rank is not None else resolver.of_pid(event.pid).rank


def wait_of(row: GroupByLog) -> str:
    """The call in which a rank waited, as far as its log names it: "in all_reduce 42 of default_pg"."""
    call = "" if row.timed_out_seq is None else f"{row.timed_out_op or 'a call'} {row.timed_out_seq:,} of "
    return f"in {call}{row.desc or row.name or 'a group that its log does not name'}"


def _ranks(
    scans: Sequence[LogScan], events: Sequence[Event], resolver: Resolver, ended: Sequence[ProcessEnd]
) -> tuple[int, ...]:
    """Every rank that has a file, a label, or a line of the launcher in the current attempt."""
    current = resolver.attempts.current
    found: set[int] = set()
    for scan in scans:
        if scan.attempt is not None and scan.attempt != current:
            continue
        found.update(scan.ranks)
        found.update(named.rank for named in (resolver.of_task(task) for task in scan.tasks) if named.rank is not None)
        own = resolver.file_rank(scan.source).rank
        if own is not None:
            found.add(own)
    for event in events:
        rank = resolver.of(event).rank if not isinstance(event, CommInit) else None
        if rank is not None and resolver.attempts.of(event) == current:
            found.add(rank)
    found.update(end.rank for end in ended)
    return tuple(sorted(rank for rank in found if rank < sizes.MOST_RANKS))


def _silent(ranks: Sequence[int], rows: Sequence[GroupByLog], ended: Sequence[ProcessEnd], least: int) -> tuple[int, ...]:
    """Ranks without a word of their own. World ranks have no gaps: whatever is below a known one exists. ``least``: so many
    there are at least."""
    spoke = {row.rank for row in rows} | {end.rank for end in ended if end.kind not in _SAID_BY_OTHERS}
    known = max(ranks, default=-1) + 1
    return tuple(rank for rank in range(min(max(known, least), sizes.MOST_RANKS)) if rank not in spoke)


def _used_lines(
    rows: Iterable[GroupByLog],
    unplaced: Iterable[GroupByLog],
    ended: Iterable[ProcessEnd],
    dumps: Iterable[DumpByLog],
    places: Iterable[Place],
    stacks: Iterable[OutsideStack],
) -> tuple[LogLine, ...]:
    lines = {one.line for part in (ended, dumps, places, stacks) for one in part}
    lines |= {line for end in ended for line in end.lines}
    lines |= {line for part in (rows, unplaced) for row in part for line in row.lines}
    return tuple(sorted(lines, key=lambda line: (line.source, line.number, line.text)))


def _log_read(scan: LogScan, resolver: Resolver, used: Collection[int]) -> LogRead:
    named = resolver.file_rank(scan.source)
    return LogRead(
        scan.source, scan.shown, scan.size, scan.lines, len(used), named.rank, named.how if named.rank is not None else "",
        scan.attempt, scan.problem, scan.notes,
    )  # fmt: skip
