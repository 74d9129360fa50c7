"""How processes ended, of all ranks and attempts: which process each line about an end is of.

The story of one rank is told in :mod:`hangview.logs.stories`.
"""

from __future__ import annotations

import re
import signal
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from hangview.logs import lastwords
from hangview.logs.events import ChildFailed, Closed, Expired, Fatal, Heartbeat, KernelKill, Raised, SummaryEntry, TaskEnd
from hangview.logs.evidence import NO_RANK, EndKind, ProcessEnd, ReportKind
from hangview.logs.followers import follows
from hangview.logs.resolve import Named
from hangview.logs.shut import after_others
from hangview.logs.stories import OfRank, after_cancel, gather, story
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.logs.events import Event
    from hangview.logs.evidence import Report
    from hangview.logs.resolve import Resolver

#: How a watchdog calls its process, within its group.
_CALLS_ITSELF = re.compile(r"\bRank (?P<rank>\d{1,7})\]")
_LATE = 10  #: seconds after its first failure, from which on a launcher's summary tells of what it ended itself


@dataclass(frozen=True, slots=True)
class Ends:
    current: tuple[ProcessEnd, ...]
    unplaced: tuple[ProcessEnd, ...]
    earlier: tuple[ProcessEnd, ...]


def collect(events: Sequence[Event], resolver: Resolver, waits: Mapping[int, str], reports: Sequence[Report] = ()) -> Ends:
    """The ends of all attempts. ``waits`` says of ranks in which call they themselves waited until a time-out, ``reports``
    whose numbers in others' errors are world ranks."""
    quoted = _quoted(reports)
    attempts = resolver.attempts
    closed: dict[int, list[Closed]] = defaultdict(list)
    for event in events:
        if isinstance(event, Closed):
            closed[attempts.of(event)].append(event)
    ending = {attempts.of(event) for event in events if _from_outside(event)}
    adopted = _adopted(events, resolver)
    late = _late(events)
    ranks: dict[tuple[int, int], OfRank] = defaultdict(OfRank)
    for rank, crash in lastwords.telling(events, resolver, waits):
        gather(ranks[attempts.current, rank], crash, resolver.of(crash))
    nobody: dict[object, OfRank] = defaultdict(OfRank)
    for event in events:
        for given, part in _parts(event, resolver, quoted):
            named = adopted.get(id(event), given)
            key = (attempts.of(event), named.rank if named.rank is not None else NO_RANK)
            if named.rank is None:
                if key[0] == attempts.current:
                    gather(nobody[_process(part)], part, named)
            else:
                gather(ranks[key], part, named)
                ranks[key].late = late.get(id(event), ranks[key].late)
    now = closed[attempts.current]
    unplaced = [end for about in nobody.values() for end in story(NO_RANK, attempts.current, about, now, ending)]
    unplaced += _closed_ends(now, attempts.current, ranks.values())
    made = [
        end
        for (attempt, rank), about in sorted(ranks.items())
        for end in story(
            rank, attempt, about, closed[attempt], ending, waits.get(rank) if attempt == attempts.current else None
        )
    ]
    made = after_others(made, closed)
    return Ends(
        tuple(end for end in made if end.attempt == attempts.current),
        tuple(unplaced),
        tuple(end for end in made if end.attempt != attempts.current),
    )


def _late(events: Sequence[Event]) -> dict[int, str]:
    """Entries of a launcher's summary that are much later than its first one, by ``id``, with a clause that says so.

    torchelastic waits 30 s for processes that it ended by SIGTERM, ends the others by SIGKILL, and writes them down then.
    """
    # Each agent writes a summary of its own node: the clocks of two are not compared.
    found: dict[tuple[int, int], list[tuple[datetime, SummaryEntry]]] = defaultdict(list)
    for event in events:
        if isinstance(event, SummaryEntry) and event.time is not None and (at := _time(event.time)) is not None:
            found[event.line.source, event.block].append((at, event))
    late = {}
    for entries in found.values():
        first, earliest = min(entries, key=lambda one: one[0])
        for at, event in entries:
            seconds = int((at - first).total_seconds())
            if seconds >= _LATE and event.code is not None and event.code < 0:
                who = f"rank {earliest.rank}" if earliest.rank is not None else "another process"
                late[id(event)] = f"the launcher wrote it down {seconds} s after {who}'s end, and ends the others then"
    return late


def _time(text: str) -> datetime | None:
    """The time of a summary's entry, in whole seconds of the agent's clock."""
    try:
        return datetime.strptime(text, "%Y-%m-%d_%H:%M:%S")
    except ValueError:
        return None


def _adopted(events: Sequence[Event], resolver: Resolver) -> dict[int, Named]:
    """Exceptions without a rank in a launcher's log (before torch 2.3 a traceback bears none), by ``id`` of the event.

    Where one exception was printed, and the launcher says that one process failed with an exit code, they are the same. So are
    a watchdog's one error of a device and one process that aborted, if it calls itself so within its group, too.
    """
    raised: dict[tuple[int, int], list[Raised]] = defaultdict(list)
    failed: dict[tuple[int, int], list[ChildFailed]] = defaultdict(list)
    devices: dict[tuple[int, int], list[Fatal]] = defaultdict(list)
    aborted: dict[tuple[int, int], list[ChildFailed]] = defaultdict(list)
    for event in events:
        key = (event.line.source, resolver.attempts.of(event))
        if isinstance(event, Fatal) and event.kind == "device" and resolver.of(event).rank is None:
            devices[key].append(event)
        elif isinstance(event, ChildFailed) and event.code == -signal.SIGABRT:
            aborted[key].append(event)
        if isinstance(event, Raised) and resolver.of(event).rank is None and _stands(event):
            raised[key].append(event)
        elif isinstance(event, ChildFailed) and event.code > 0:
            failed[key].append(event)
    found = {}
    for key, exceptions in raised.items():
        if len(exceptions) == 1 and len(failed[key]) == 1:
            rank = resolver.of_local(failed[key][0].local, key[0]).rank
            found[id(exceptions[0])] = Named(rank, "the only exception in the launcher's log, and the only process that failed")
    for key, errors in devices.items():
        if len(errors) == 1 and len(aborted[key]) == 1:
            rank = resolver.of_local(aborted[key][0].local, key[0]).rank
            number = _CALLS_ITSELF.search(errors[0].line.text)
            if rank is not None and number is not None and int(number["rank"]) == rank:
                found[id(errors[0])] = Named(
                    rank, "the only error of a device in the launcher's log, and the only process that aborted"
                )
    return found


def _quoted(reports: Sequence[Report]) -> dict[int, Named]:
    """Ranks whose exceptions others' logs quote, with who does."""
    found: dict[int, set[int]] = defaultdict(set)
    for report in reports:
        if report.world and report.kind is ReportKind.CHECKPOINT:
            for rank in report.named:
                found[rank].add(report.rank)
    how = "the exception of the checkpoint, which quotes that of each rank by its number"
    return {
        rank: Named(rank, how, f"by {name_ranks(sorted(by), 8)}'s log" + ("s" if len(by) > 1 else ""))
        for rank, by in found.items()
    }  # fmt: skip


def _process(event: Event) -> object:
    """What lines about one process whose rank is not known have in common: the task, where Slurm numbers those of a file."""
    task = event.tasks[0] if isinstance(event, TaskEnd) else event.who.task
    return id(event) if task is None else (event.line.source, task)


def _stands(event: Raised) -> bool:
    """Whether an exception may be how a process ended by itself."""
    return not event.no_end and event.of_rank is None and follows(event.type, event.text, event.frames) is None


def _closed_ends(closed: Sequence[Closed], attempt: int, told: Iterable[OfRank]) -> list[ProcessEnd]:
    """Processes of the current attempt that the launcher ended and that nothing ties to a rank."""
    known = tuple(told)
    return [
        ProcessEnd(
            NO_RANK, "signal 15 (SIGTERM), sent by the launcher", False, True, event.line, EndKind.SIGNAL,
            "the launcher ended it", pid=event.pid, attempt=attempt, rank_from="unknown",
        )
        for event in closed
        if not any(about.is_process(event) for about in known)
    ]  # fmt: skip


def _parts(event: Event, resolver: Resolver, quoted: Mapping[int, Named]) -> Iterable[tuple[Named, Event]]:
    """The ranks an event says something about."""
    if isinstance(event, Raised) and event.of_rank is not None:
        if event.of_rank in quoted and resolver.attempts.of(event) == resolver.attempts.current:
            yield quoted[event.of_rank], event
    elif isinstance(event, (Raised, Fatal, Expired)) or (isinstance(event, Heartbeat) and event.killed):
        yield resolver.of(event), event
    elif isinstance(event, ChildFailed):
        named = resolver.of_local(event.local, event.line.source)
        yield named if named.rank is not None else resolver.of_pid(event.pid), event
    elif isinstance(event, KernelKill):
        yield resolver.of_pid(event.pid, event.who.host), event
    elif isinstance(event, SummaryEntry):
        yield _summary_rank(event, resolver), event
    elif isinstance(event, TaskEnd):
        for task in event.tasks:
            yield resolver.of_task(task), replace(event, tasks=(task,))


def _summary_rank(event: SummaryEntry, resolver: Resolver) -> Named:
    if event.rank is None:
        return resolver.of_pid(event.pid)
    return replace(resolver.of_pid(event.pid), rank=event.rank, how="the launcher's summary")


def _from_outside(event: Event) -> bool:
    """Whether somebody ends processes of the job that run: a launcher, or a scheduler that cancels it."""
    return isinstance(event, Closed) or after_cancel(event)
