"""Where ranks stand in their groups: the watchdog's lines of one rank put together, each fact once.

The line that names the work ("Watchdog caught …") does not name the group; the one behind it does. The same sentence comes up
to three times per rank. Both are joined by rank, sequence number and place: groups that are used once in every step stand at
the same number, and then two works of one rank have it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import Caught, GroupRef, Heartbeat, Status, TimedOut, WorkStack
from hangview.logs.evidence import NO_RANK, GroupByLog, StatusFrom
from hangview.schema import DEFAULT_DESC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs.events import Event
    from hangview.logs.resolve import Resolver

#: OpType → the operation's family in ``hangview.schema.Op``.
FAMILIES = {
    "ALLREDUCE": "all_reduce", "ALLREDUCE_COALESCED": "all_reduce", "_ALLREDUCE_SPARSE": "all_reduce",
    "BROADCAST": "broadcast", "_BROADCAST_OOP": "broadcast", "REDUCE": "reduce", "_REDUCE_OOP": "reduce",
    "ALLGATHER": "all_gather", "_ALLGATHER_BASE": "all_gather", "ALLGATHER_COALESCED": "all_gather",
    "REDUCE_SCATTER": "reduce_scatter", "_REDUCE_SCATTER_BASE": "reduce_scatter", "GATHER": "gather", "SCATTER": "scatter",
    "ALLTOALL": "all_to_all", "ALLTOALL_BASE": "all_to_all", "BARRIER": "barrier", "COALESCED": "coalesced",
    "SEND": "send", "RECV": "recv", "RECVANYSOURCE": "recv",
}  # fmt: skip

_Group = tuple[str | None, str | None, int | None]


def family(op_type: str) -> str:
    """``"_ALLGATHER_BASE"`` → ``"all_gather"``; a type that no list knows in lower case."""
    return FAMILIES.get(op_type, op_type.strip("_").lower())


def collect(events: Sequence[Event], resolver: Resolver) -> tuple[tuple[GroupByLog, ...], tuple[GroupByLog, ...]]:
    """The positions of the current attempt, by rank and group; and those whose world rank is not known."""
    by_rank: dict[int | None, list[tuple[Event, str]]] = defaultdict(list)
    current = resolver.attempts.current
    for event in events:
        if isinstance(event, (Caught, Status, Heartbeat, TimedOut, WorkStack)) and resolver.attempts.of(event) == current:
            named = resolver.of(event)
            by_rank[named.rank].append((event, named.how))
    placed = {
        (event.seq, event.ran_ms)
        for rank, found in by_rank.items()
        for event, _ in found
        if rank is not None and isinstance(event, Caught)
    }
    rows: list[GroupByLog] = []
    for rank in sorted(rank for rank in by_rank if rank is not None):
        rows += _positions(rank, by_rank[rank])
    return tuple(rows), tuple(_unplaced([event for event, _ in by_rank.get(None, [])], placed))


def _key(group: GroupRef) -> _Group:
    if group.desc == DEFAULT_DESC or group.name == "0":
        return ("0", DEFAULT_DESC if group.desc == DEFAULT_DESC else None, None)
    if group.name is not None:
        return (group.name, group.desc, None)
    return (None, group.desc, group.pg_id)


def _positions(rank: int, found: Sequence[tuple[Event, str]]) -> list[GroupByLog]:
    works = _works([event for event, _ in found])
    first = {event.seq: event for event, _ in reversed(found) if isinstance(event, Caught)}
    rows: dict[_Group, GroupByLog] = {}
    timed: dict[tuple[_Group, int | None], Caught] = {}
    ordered = sorted(found, key=lambda one: _rank_of_source(one[0]))
    for event, how in ordered:
        work = works.get(id(event))
        if isinstance(event, Status):
            row = _from_status(rank, event, work, how)
        elif isinstance(event, Heartbeat):
            row = _from_heartbeat(rank, event, how)
        elif isinstance(event, TimedOut):
            row = _from_nccl2(rank, event, how)
        else:
            continue
        key = (row.name, row.desc, row.pg_id if row.name is None else None)
        kept = rows.get(key)
        rows[key] = row if kept is None else _merged(kept, row)
        if work is not None and ((key, work.seq) not in timed or work.line == event.line):
            timed[key, work.seq] = work
    named = {row.timed_out_seq for row in rows.values()}
    result = [_with_work(row, timed.get((key, row.timed_out_seq))) for key, row in rows.items()]
    result += [
        _from_caught(rank, event, how)
        for event, how in found
        if isinstance(event, Caught) and event.seq not in named and first[event.seq] is event
    ]
    return [_with_stack(row, found) for row in result]


def _works(events: Sequence[Event]) -> dict[int, Caught]:
    """The work that a status line is about, by ``id`` of the line: of its own line, else the nearest one of its number that
    is in front of it in its file and that no other status line took. Where two different works are left to choose from (two
    groups' watchdogs print at once), the line has none of them: whose sizes these are is not known."""
    found: dict[int, Caught] = {}
    waiting: dict[tuple[int, int], list[Caught]] = defaultdict(list)
    last: dict[tuple[int, int], Caught | None] = {}
    for event in events:
        if isinstance(event, Caught):
            waiting[event.line.source, event.seq].append(event)
        elif isinstance(event, Status) and event.seq is not None:
            place = (event.line.source, event.seq)
            own = next((work for work in waiting[place] if work.line.number == event.line.number), None)
            if own is not None:
                waiting[place].remove(own)
                found[id(event)] = own
                continue
            left = waiting.pop(place, [])
            if left:
                last[place] = left[-1] if len({_asked(work) for work in left}) == 1 else None
                # What is left over is of the other group, whose line is still to come.
                waiting[place] = [] if last[place] is not None else left
            work = last.get(place)
            if work is not None:
                found[id(event)] = work
    return found


def _asked(work: Caught) -> tuple[object, ...]:
    return (work.op_type, work.numel_in, work.numel_out)


def _rank_of_source(event: Event) -> int:
    """Failure lines before dump signals: a failure line is about the group that hangs, and names the work."""
    if isinstance(event, Status):
        return 2 if event.signal else 0 if event.enqueued is not None else 1
    return 3


def _merged(kept: GroupByLog, row: GroupByLog) -> GroupByLog:
    """A second line about the same group fills in what the first one left open."""
    return replace(
        kept,
        enqueued=kept.enqueued if kept.enqueued is not None else row.enqueued,
        completed=kept.completed if kept.completed is not None else row.completed,
        started=kept.started if kept.started is not None else row.started,
        timed_out_seq=kept.timed_out_seq if kept.timed_out_seq is not None else row.timed_out_seq,
        pending=kept.pending if kept.pending is not None else row.pending,
        ran_ms=kept.ran_ms if kept.ran_ms is not None else row.ran_ms,
        signal_from=kept.signal_from if kept.signal_from is not None else row.signal_from,
    )


def _base(rank: int, event: Event, group: GroupRef, how: str) -> GroupByLog:
    name, desc, _ = _key(group)
    return GroupByLog(
        rank, name, desc, None, None, None, None, None, None, event.line, group.rank, group.pg_id, at=event.at, rank_from=how
    )


def _from_status(rank: int, event: Status, work: Caught | None, how: str) -> GroupByLog:
    origin = StatusFrom.DUMP_SIGNAL if event.signal else StatusFrom.FAILURE_LINE
    group = event.group
    if not (group.name or group.desc or group.pg_id is not None) and work is not None:
        group = GroupRef(work.printed_rank)
    return replace(
        _base(rank, event, group, how), enqueued=event.enqueued, completed=event.completed, started=event.started,
        timed_out_seq=event.seq, status_from=origin, signal_from=event.signal_from,
    )  # fmt: skip


def _from_heartbeat(rank: int, event: Heartbeat, how: str) -> GroupByLog:
    return replace(_base(rank, event, event.group, how), pending=event.pending, status_from=StatusFrom.HEARTBEAT)


def _from_nccl2(rank: int, event: TimedOut, how: str) -> GroupByLog:
    return replace(_base(rank, event, event.group, how), ran_ms=event.ran_ms, status_from=StatusFrom.NCCL2)


def _from_caught(rank: int, event: Caught, how: str) -> GroupByLog:
    row = replace(_base(rank, event, GroupRef(event.printed_rank), how), timed_out_seq=event.seq)
    return _with_work(row, event)


def _with_work(row: GroupByLog, work: Caught | None) -> GroupByLog:
    if work is None:
        return row
    return replace(
        row, timed_out_op=family(work.op_type), op_type=work.op_type, numel_in=work.numel_in, numel_out=work.numel_out,
        timeout_ms=work.timeout_ms, ran_ms=work.ran_ms, work_line=work.line if work.line != row.line else None,
    )  # fmt: skip


def _with_stack(row: GroupByLog, found: Sequence[tuple[Event, str]]) -> GroupByLog:
    """The stack that follows a failure line belongs to the work that timed out."""
    stack = next((event.frames for event, _ in found if isinstance(event, WorkStack)), ())
    return replace(row, stack=stack) if stack and row.timed_out_seq is not None else row


def _unplaced(events: Sequence[Event], placed: set[tuple[int, int | None]]) -> list[GroupByLog]:
    """Time-outs of processes without a world rank, each once; a repetition of a line that has one is left out."""
    rows: dict[tuple[int, int | None, int | None], GroupByLog] = {}
    works = _works(events)
    refs = {id(works[id(event)]): event.group for event in events if isinstance(event, Status) and id(event) in works}
    groups: dict[int, set[GroupRef]] = defaultdict(set)
    for event in events:
        if isinstance(event, Status) and event.seq is not None:
            groups[event.seq].add(replace(event.group, rank=None))
    for event in events:
        if not isinstance(event, Caught) or (event.seq, event.ran_ms) in placed:
            continue
        row = _from_caught(NO_RANK, event, "unknown")
        ref = refs.get(id(event))
        if ref is None and len(groups[event.seq]) == 1:
            ref = next(iter(groups[event.seq]))
        if ref is not None and (ref.name or ref.desc):
            name, desc, _ = _key(ref)
            row = replace(row, name=name, desc=desc, pg_id=ref.pg_id)
        rows.setdefault((event.seq, event.printed_rank, event.ran_ms), row)
    return list(rows.values())
