"""The calls in which ranks wait, by their logs: one per group, at the first sequence number that timed out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.logs.evidence import StatusFrom
from hangview.terms import Group, told_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.logs.evidence import GroupByLog, LogEvidence

#: Operations whose element counts must agree between ranks, and those in which one rank may run ahead of the others.
SAME_SIZE = frozenset({"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"})
ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})
#: Point-to-point works have a sequence of their own and mix into the counters.
P2P = frozenset({"send", "recv", "coalesced"})


@dataclass(frozen=True, slots=True, eq=False)
class LogCall:
    """One group's first call that timed out. ``rows`` are all ranks that say anything about the group; ``waiting`` those that
    timed out in this call, ``joined`` those known to have requested it, ``behind`` those whose own counters stop below it,
    ``busy`` those whose counters do and who had unfinished works: they stood or waited themselves, in a call of this group or
    in a send or receive, which the same counter takes."""

    group: Group | None
    seq: int | None
    op: str | None
    rows: Mapping[int, GroupByLog]
    waiting: tuple[int, ...]
    joined: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    busy: tuple[int, ...] = ()
    done: tuple[int, ...] = ()  #: those that completed it
    size: int | None = None  #: number of members, where the operation's element counts give it
    open_only: bool = False  #: no time-out of this group was printed: ranks stand at different counters, some with an open call
    default: bool = False

    @property
    def name(self) -> str:
        """What to call it in a sentence: "all_reduce 42 of default_pg"."""
        return f"a call of {self.where}" if self.seq is None else f"{self.op or 'call'} {self.seq} of {self.where}"

    @property
    def where(self) -> str:
        """The group in a sentence; a bare number would read as a count."""
        if self.group is None:
            return "groups that the log does not name" if self.several else "a group that the log does not name"
        return self.group.label if self.group.desc else f"group {self.group.label}"

    @property
    def several(self) -> bool:
        """Whether ``rows``, of a call whose group no line names, are of more than one group, or may be: one number within the
        group stands twice, the processes give the group other numbers, or there are more ranks than members."""
        if self.group is not None:
            return False
        rows = self.rows.values()
        numbers = {row.pg_id for row in rows if row.pg_id is not None}
        least = min((size for row in rows if (size := _size(row)) is not None), default=len(rows))
        return _collides(rows) or len(numbers) > 1 or least < len(rows)

    @property
    def absent(self) -> tuple[int, ...]:
        """Ranks within the group that no log shows in this call; only where the group's size is known."""
        if self.size is None:
            return ()
        seen = {self.rows[rank].group_rank for rank in self.joined}
        return tuple(number for number in range(self.size) if number not in seen)


def _key(row: GroupByLog) -> str | None:
    """What makes two ranks' lines be about one group: the name is global, the description only where there is no name."""
    return row.name if row.name is not None else row.desc


def _by_group(rows: Iterable[GroupByLog]) -> dict[str, dict[int, GroupByLog]]:
    """Rows by group. Names that two ranks claim with the same rank in the group are counters, not names: left out."""
    found: dict[str, dict[int, GroupByLog]] = defaultdict(dict)
    for row in rows:
        key = _key(row)
        if key is not None:
            found[key].setdefault(row.rank, row)
    return {key: members for key, members in found.items() if not _collides(members.values())}


def _collides(rows: Iterable[GroupByLog]) -> bool:
    numbers = [row.group_rank for row in rows if row.group_rank is not None]
    return len(numbers) != len(set(numbers))


def groups_by_log(evidence: LogEvidence) -> tuple[Group, ...]:
    """The groups that the logs name, with the members that spoke about them, in the group's order where it is known.

    A log never lists the members of a group: ``inferred`` is true and members that printed nothing are missing.
    """
    made = []
    by_group = _by_group(evidence.groups)
    for number, key in enumerate(sorted(by_group, key=_natural)):
        rows = by_group[key]
        desc = next((row.desc for row in rows.values() if row.desc), "")
        name = next((row.name for row in rows.values() if row.name), "")
        if all(row.group_rank is not None for row in rows.values()):
            ranks = tuple(sorted(rows, key=lambda rank: (rows[rank].group_rank or 0, rank)))
        else:
            ranks = tuple(sorted(rows))
        made.append(Group(number, name, desc, ranks, inferred=True))
    return told_apart(made)


def _natural(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdigit() else (1 << 62, key)


def calls(evidence: LogEvidence, groups: Sequence[Group]) -> tuple[LogCall, ...]:
    """The calls in which ranks wait, in the order of the groups, then those whose group no line names."""
    by_group = _by_group(evidence.groups)
    made = []
    for group in groups:
        call = _call(group, by_group[group.name or group.desc])
        if call is not None:
            made.append(call)
    nameless: dict[tuple[int | None, str | None], dict[int, GroupByLog]] = defaultdict(dict)
    for row in evidence.groups:
        if row.timed_out and (_key(row) is None or _key(row) not in by_group):
            nameless[row.timed_out_seq, row.timed_out_op][row.rank] = row
    for (seq, op), rows in sorted(nameless.items(), key=lambda one: (one[0][0] or 0, one[0][1] or "")):
        made.append(LogCall(None, seq, op, rows, tuple(sorted(rows)), tuple(sorted(rows))))
    return tuple(made)


def _call(group: Group, rows: Mapping[int, GroupByLog]) -> LogCall | None:
    timed = {rank: row for rank, row in rows.items() if row.timed_out}
    if not timed:
        return _open_call(group, rows)
    seqs = [row.timed_out_seq for row in timed.values() if row.timed_out_seq is not None]
    if not seqs:
        waiting = tuple(sorted(timed))
        return LogCall(group, None, None, rows, waiting, waiting, default=group.default)
    seq = min(seqs)
    waiting = tuple(sorted(rank for rank, row in timed.items() if row.timed_out_seq == seq))
    ops = sorted({op for rank in waiting if (op := timed[rank].timed_out_op)})
    op = ops[0] if len(ops) == 1 else None
    joined, done = set(waiting), set()
    behind: set[int] = set()
    busy: set[int] = set()
    for rank, row in rows.items():
        if rank in joined or row.enqueued is None or (op in P2P and row.status_from is not StatusFrom.FAILURE_LINE):
            continue
        if row.enqueued < seq:
            (busy if row.unfinished else behind).add(rank)
        else:
            joined.add(rank)
            if row.completed is not None and row.completed >= seq:
                done.add(rank)
    sizes = {size for rank in waiting if (size := _size(timed[rank])) is not None}
    return LogCall(
        group, seq, op, rows, waiting, tuple(sorted(joined)), tuple(sorted(behind)), tuple(sorted(busy)),
        tuple(sorted(done)), next(iter(sizes)) if len(sizes) == 1 else None, default=group.default,
    )  # fmt: skip


def _open_call(group: Group, rows: Mapping[int, GroupByLog]) -> LogCall | None:
    """Counters that differ without a time-out in this group: some have an open call that others have not requested."""
    known = {rank: row for rank, row in rows.items() if row.enqueued is not None and row.completed is not None}
    front = max((row.enqueued or 0 for row in known.values()), default=0)
    waiting = tuple(sorted(rank for rank, row in known.items() if row.enqueued == front and (row.completed or 0) < front))
    short = {rank: row for rank, row in known.items() if (row.enqueued or 0) < front}
    behind = tuple(sorted(rank for rank, row in short.items() if not row.unfinished))
    busy = tuple(sorted(rank for rank, row in short.items() if row.unfinished))
    if not waiting or not behind:
        return None
    seq = min((known[rank].enqueued or 0 for rank in behind), default=front) + 1
    return LogCall(group, seq, None, rows, waiting, waiting, behind, busy, open_only=True, default=group.default)


def _size(row: GroupByLog) -> int | None:
    """The group's size, which the element counts of these two operations give away."""
    few, many = (row.numel_in, row.numel_out) if row.timed_out_op == "all_gather" else (row.numel_out, row.numel_in)
    if row.timed_out_op not in ("all_gather", "reduce_scatter") or not few or not many or many % few:
        return None
    return many // few


@dataclass(frozen=True, slots=True)
class Sides:
    """What the waiting ranks of a call disagree on, "op" or "size": (text, ranks), most ranks first, then lowest rank."""

    kind: str
    sides: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def majority(self) -> bool:
        """Whether more than half of them ask for the same: only then is the rest named."""
        most = len(self.sides[0][1])
        return most * 2 > sum(len(ranks) for _, ranks in self.sides)


def sides(call: LogCall) -> Sides | None:
    """The disagreement between the waiting ranks of a call; None when there is none, or none that may be judged.

    All-to-all may be uneven, gather and scatter differ on the root, and a send's opposite is a receive. Groups of one kind may
    each have a size of their own (the tensor groups of two pipeline stages).
    """
    if call.several:
        return None
    rows = [call.rows[rank] for rank in call.waiting]
    ops = {row.timed_out_op for row in rows if row.timed_out_op is not None}
    if len(ops) > 1 and not ops & P2P:
        return _sides("op", rows)
    return _sides("size", rows) if ops and ops <= SAME_SIZE else None


def _sides(kind: str, rows: Sequence[GroupByLog]) -> Sides | None:
    found: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        text = row.timed_out_op if kind == "op" else _elements(row)
        if text is not None:
            found[text].append(row.rank)
    if len(found) < 2:
        return None
    ordered = sorted(((text, tuple(sorted(ranks))) for text, ranks in found.items()), key=lambda one: (-len(one[1]), one[1]))
    return Sides(kind, tuple(ordered))


def _elements(row: GroupByLog) -> str | None:
    if row.numel_in is None or row.numel_out is None:
        return None
    if row.timed_out_op in ("all_gather", "reduce_scatter"):
        return f"{row.numel_in:,} in, {row.numel_out:,} out"
    return f"{row.numel_in:,} elements"
