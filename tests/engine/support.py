"""Dumps in a few words, and the engine over them as far as a test wants: no files.

    look(
        rank(0).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN),
        rank(1).calls("all_reduce", 1, 41),
    )

A dump is what one rank's file holds: its records in order, the groups its configuration names, its counters. Where nothing
else is said, a rank knows the groups that it has records in, all records of one number are of one time, and a call takes 10 ms.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import polars as pl

from hangview.dumps.ops import parse_op
from hangview.engine import calls as calls_room
from hangview.engine import groups as groups_room
from hangview.engine import older, p2p, readings, stalls, waits
from hangview.engine import windows as windows_room
from hangview.engine.analyse import analyse
from hangview.producers import Completion, producer_of
from hangview.schema import (
    GroupConfig,
    GroupStatus,
    Op,
    Records,
    Signature,
    Source,
    SourceKind,
    SourceStatus,
    StackFrame,
    Thread,
    entries_schema,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.engine.calls import Calls
    from hangview.engine.groups import Grouping
    from hangview.engine.p2p import Traffic
    from hangview.engine.stalls import Stall
    from hangview.engine.waits import Graph
    from hangview.engine.windows import Window, Windows
    from hangview.incident import Incident
    from hangview.logs.evidence import LogEvidence
    from hangview.terms import Finding, Kind, Role

SECOND = 1_000_000_000
#: Time of a record at 0 seconds.
T0 = 1_760_000_000 * SECOND

#: One flat tensor of so many elements; several of them; or shapes as they are.
Sizes = int | tuple[int, ...] | list[tuple[int, ...]] | None


class How(Enum):
    """What became of a request, to be written as its recorder writes it."""

    OPEN = "open"  #: scheduled
    STARTED = "started"
    DONE = "done"  #: completed; gloo: retired
    FAILED = "failed"  #: retired without completion
    ISSUED = "issued"  #: hook without completion: scheduled and retired at once


OPEN, STARTED, DONE, FAILED, ISSUED = How
_WRITTEN = {OPEN: (0, False), STARTED: (1, False), DONE: (2, True), FAILED: (0, True), ISSUED: (0, True)}


@dataclass(frozen=True)
class Pg:
    """A group as a process knows it. ``ranks`` in the group's own order; ``pg_id`` None: by order of use in the process."""

    name: str
    desc: str
    ranks: tuple[int, ...]
    pg_id: int | None = None


WORLD = Pg("0", "default_pg", (0, 1, 2, 3))
PAIR = Pg("0", "default_pg", (0, 1))


def shapes(sizes: Sizes) -> tuple[tuple[int, ...], ...]:
    if sizes is None:
        return ()
    if isinstance(sizes, int):
        return ((sizes,),)
    return tuple(sizes) if isinstance(sizes, list) else tuple((n,) for n in sizes)


def signature(size: Sizes = 1024, out: Sizes | str = "same", dtype: str | None = "Float") -> Signature:
    """``out`` is as large as the input where nothing is said; ``dtype`` None: not recorded."""
    sent = shapes(size)
    received = sent if isinstance(out, str) else shapes(out)
    if dtype is None:
        return Signature(sent, None, received, None)
    return Signature(sent, (dtype,) * len(sent), received, (dtype,) * len(received))


def stack(place: str) -> tuple[StackFrame, ...]:
    """ "step@train.py:12" below a frame of torch; "" where none was recorded."""
    if not place:
        return ()
    name, _, rest = place.partition("@")
    file, _, line = rest.partition(":")
    torch = StackFrame("all_reduce", "/opt/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", 2810)
    return (torch, StackFrame(name, f"/job/{file}", int(line)))


@dataclass
class Dump:
    """One rank's file, put together call by call; every method gives the dump back."""

    number: int
    library: str = "nccl"
    host: str | None = None
    entries: list[dict[str, Any]] = field(default_factory=list)
    known: list[Pg] = field(default_factory=list)
    ids: dict[Pg, int] = field(default_factory=dict)
    statuses: list[tuple[Pg, int | None, int | None, int | None, tuple[int | None, int | None, int | None]]] = field(
        default_factory=list
    )
    beyond: set[Pg] = field(default_factory=set)
    configures: bool = True
    first_record: int = 0
    active: bool = False
    status: SourceStatus = SourceStatus.READ
    ahead_s: float = 0.0

    def call(
        self,
        op: str,
        seq: int | None,
        how: How = DONE,
        *,
        group: Pg = WORLD,
        size: Sizes = 1024,
        out: Sizes | str = "same",
        dtype: str | None = "Float",
        at: float | None = None,
        took: float = 0.01,
        place: str = "",
        timeout_ms: int | None = 600_000,
        p2p_seq: int = 0,
        is_p2p: bool = False,
        op_id: int | None = None,
        written: tuple[int, bool] | None = None,
    ) -> Dump:
        """One record. ``at``: seconds after T0, by default ``seq``; ``written``: (state, retired) as they stand in the file."""
        state, retired = written or self._written(how)
        created = T0 + round((at if at is not None else float(seq or 0)) * SECOND) + round(self.ahead_s * SECOND)
        self.entries.append(
            {
                "label": group,
                "pg_id": self.pg_id(group),
                "seq": seq,
                "p2p_seq": p2p_seq,
                "op": f"{self.library}:{op}",
                "signature": signature(size, out, dtype),
                "stack": stack(place),
                "state": state,
                "retired": retired,
                "is_p2p": is_p2p,
                "op_id": op_id,
                "created_ns": created,
                "started_ns": created if state in (1, 2) else None,
                "completed_ns": created + round(took * SECOND) if state == 2 else None,
                "timeout_ms": timeout_ms,
            }
        )
        return self

    def _written(self, how: How) -> tuple[int, bool]:
        if how is DONE and producer_of(self.library).completion is Completion.RETIRED:
            return (0, True)
        return _WRITTEN[how]

    def calls(self, op: str, first: int, last: int, how: How = DONE, **rest: Any) -> Dump:
        """The calls ``first`` to ``last``, all alike."""
        for seq in range(first, last + 1):
            self.call(op, seq, how, **rest)
        return self

    def coalesced(
        self, closing: str, members: Sequence[tuple[str, Sizes]], seq: int, how: How | None = DONE, **rest: Any
    ) -> Dump:
        """A coalesced collective as nccl records it: members that never move, then the closing entry (None: not there yet)."""
        for op, size in members:
            self.call(op, seq, OPEN, size=size, **rest)
        return self if how is None else self.call(closing, seq, how, size=None, **rest)

    def send(self, to: int, number: int, how: How = DONE, *, group: Pg = WORLD, seq: int = 0, **rest: Any) -> Dump:
        """A send to world rank ``to``; ``number`` is this process's ``p2p_seq_id``."""
        mine, other = group.ranks.index(self.number), group.ranks.index(to)
        return self._p2p(f"send {mine}->{other}", number, how, group, seq, rest)

    def recv(self, of: int | None, number: int, how: How = DONE, *, group: Pg = WORLD, seq: int = 0, **rest: Any) -> Dump:
        """A receive from world rank ``of``; None: from any source."""
        mine, other = group.ranks.index(self.number), "?" if of is None else group.ranks.index(of)
        return self._p2p(f"recv {mine}<-{other}", number, how, group, seq, rest)

    def _p2p(self, op: str, number: int, how: How, group: Pg, seq: int, rest: dict[str, Any]) -> Dump:
        rest.setdefault("at", float(number))
        return self.call(op, seq, how, group=group, p2p_seq=number, is_p2p=True, **rest)

    def batch(
        self,
        number: int,
        *,
        to: Sequence[int] = (),
        of: Sequence[int] = (),
        how: How | None = DONE,
        group: Pg = WORLD,
        seq: int = 0,
        **rest: Any,
    ) -> Dump:
        """``batch_isend_irecv`` as nccl records it; ``how`` None: without its closing entry."""
        for rank in to:
            self.send(rank, number, OPEN, group=group, seq=seq, **rest)
        for rank in of:
            self.recv(rank, number, OPEN, group=group, seq=seq, **rest)
        if how is None:
            return self
        return self.call("coalesced", seq, how, group=group, size=None, p2p_seq=number, at=rest.get("at", float(number)))

    def knows(self, *groups: Pg) -> Dump:
        """Groups that the configuration names, with or without records."""
        for group in groups:
            self.pg_id(group)
            self.known.append(group)
        return self

    def unconfigured(self) -> Dump:
        """The file says nothing about groups."""
        self.configures = False
        return self

    def counts(
        self,
        enqueued: int | None,
        completed: int | None,
        *,
        group: Pg = WORLD,
        raw: tuple[int | None, int | None] | None = None,
        beyond: bool = False,
    ) -> Dump:
        """Counters of one group, in seqs; ``raw``: (enqueued, completed) as written, where that differs; ``beyond``: they say
        more than the records, and are not believed."""
        written = (raw[0], None, raw[1]) if raw is not None else (enqueued, None, completed)
        self.pg_id(group)
        self.statuses.append((group, enqueued, None, completed, written))
        self.beyond |= {group} if beyond else set()
        return self

    def wrapped(self, first_record: int = 10_000) -> Dump:
        """Older records were overwritten."""
        self.first_record = first_record
        return self

    def only_active(self) -> Dump:
        """Written without the entries that were completed."""
        self.active = True
        return self

    def cut(self) -> Dump:
        """The file ends early."""
        self.status = SourceStatus.CUT
        return self

    def clock(self, ahead_s: float) -> Dump:
        """The clock of this host is so much ahead in all records that follow."""
        self.ahead_s = ahead_s
        return self

    def pg_id(self, group: Pg) -> int:
        if group.pg_id is not None:
            return self.ids.setdefault(group, group.pg_id)
        return self.ids.setdefault(group, len(self.ids))

    def source(self) -> Source:
        return Source(
            f"trace_rank_{self.number}",
            SourceKind.DUMP,
            self.status,
            "the file ends inside an entry" if self.status is SourceStatus.CUT else None,
            rank=self.number,
            host=self.host,
            attempt=1,
            producer=self.library,
            version="2.10",
            entries=len(self.entries),
            wrapped=self.first_record > 0,
            only_active=self.active,
            has_stacks=any(entry["stack"] for entry in self.entries),
            configured=self.configures and (not producer_of(self.library).config_trusted or bool(self._configured())),
        )

    def _configured(self) -> list[Pg]:
        if not self.configures or not producer_of(self.library).config_trusted:
            return []
        found = dict.fromkeys((*(entry["label"] for entry in self.entries), *self.known))
        return [group for group in found if group.ranks]

    def configs(self, source: int) -> list[GroupConfig]:
        return [GroupConfig(source, group.name, group.desc, group.ranks) for group in self._configured()]

    def counters(self, source: int) -> list[GroupStatus]:
        return [
            GroupStatus(
                source, self.ids[group], group.name, group.desc, enqueued, started, completed, raw, beyond=group in self.beyond
            )
            for group, enqueued, started, completed, raw in self.statuses
        ]


def rank(number: int, library: str = "nccl", host: str | None = None) -> Dump:
    return Dump(number, library, host)


def alike(numbers: Iterable[int], op: str, last: int, then: How = OPEN, **rest: Any) -> list[Dump]:
    """Ranks that completed ``op`` up to ``last`` - 1 and are in ``last``."""
    return [rank(number).calls(op, 1, last - 1, **rest).call(op, last, then, **rest) for number in numbers]


def lost(
    number: int, status: SourceStatus = SourceStatus.EMPTY, reason: str | None = "the file is empty", path: str | None = None
) -> Source:
    """A rank whose file was found and is of no use."""
    return Source(path or f"trace_rank_{number}", SourceKind.DUMP, status, reason, rank=number)


class _Interned:
    def __init__(self, *first: Any) -> None:
        self.ids: dict[Any, int] = {value: i for i, value in enumerate(first)}

    def __getitem__(self, value: Any) -> int:
        return self.ids.setdefault(value, len(self.ids))

    def values(self) -> tuple[Any, ...]:
        return tuple(self.ids)


def records(*dumps: Dump | Source) -> Records:
    """What these files say, in one schema, in the order given."""
    sources, configs, statuses, rows = [], [], [], []
    labels, ops, signatures, stacks = _Interned(), _Interned(), _Interned(), _Interned(())
    for i, dump in enumerate(dumps):
        if isinstance(dump, Source):
            sources.append(dump)
            continue
        sources.append(dump.source())
        configs += dump.configs(i)
        statuses += dump.counters(i)
        for position, entry in enumerate(dump.entries):
            group = entry["label"]
            rows.append(
                {
                    **entry,
                    "source": i,
                    "rank": dump.number,
                    "position": position,
                    "record_id": dump.first_record + position,
                    "label": labels[group.name, group.desc],
                    "op": ops[entry["op"]],
                    "signature": signatures[entry["signature"]],
                    "stack": stacks[entry["stack"]],
                    "thread": 0,
                    "duration_ms": None,
                }
            )
            labels[group.name, group.desc]
        for group, *_ in dump.statuses:
            labels[group.name, group.desc]
    parsed: tuple[Op, ...] = tuple(parse_op(text) for text in ops.values())
    return Records(
        tuple(sources),
        tuple(configs),
        tuple(statuses),
        pl.DataFrame(rows, schema=entries_schema()),
        labels.values(),
        parsed,
        signatures.values(),
        stacks.values(),
        (Thread("1", "main"),),
    )


@dataclass(frozen=True)
class Steps:
    """The engine's parts over one set of records, one after the other."""

    records: Records
    grouping: Grouping
    entries: pl.DataFrame
    families: tuple[str, ...]
    calls: Calls
    windows: Windows
    traffic: Traffic
    stalls: dict[tuple[int, int], Stall]
    graph: Graph

    def group(self, group: Pg) -> int:
        """The id of a group, by name and members."""
        for found in self.grouping.groups:
            if found.name == group.name and set(found.ranks) == set(group.ranks):
                return found.id
        raise KeyError(group)


def steps(*dumps: Dump | Source) -> Steps:
    """Everything before the findings."""
    made = records(*dumps)
    grouping = groups_room.resolve(made)
    entries = readings.read(made, grouping)
    families = readings.families(made)
    calls = calls_room.line_up(made, entries, families)
    windows = older.take_back(windows_room.windows(made, grouping, calls, entries), made, grouping.groups, calls)
    traffic = p2p.traffic(made, grouping.groups, entries)
    found = stalls.stalls(made, grouping.groups, calls, windows, families)
    return Steps(made, grouping, entries, families, calls, windows, traffic, found, waits.build(made, windows, found, traffic))


def window(number: int, *dumps: Dump | Source, group: Pg = WORLD) -> Window:
    """How far a rank's records reach in a group."""
    found = steps(*dumps)
    return found.windows[found.group(group), number]


def look(*dumps: Dump | Source, logs: LogEvidence | None = None, more: Sequence[Source] = ()) -> Incident:
    """What the engine says about these dumps. ``more``: sources that are no dumps, behind the others."""
    made = records(*dumps)
    return analyse(replace(made, sources=(*made.sources, *more)), logs, ("run",))


def of_kind(incident: Incident, kind: Kind, role: Role | None = None) -> list[Finding]:
    return [f for f in incident.findings if f.kind is kind and role in (None, f.role)]


def told(incident: Incident) -> list[tuple[str, str, tuple[int, ...], str, int | None]]:
    """Findings in short: (role, kind, ranks, name of the group, seq)."""
    return [
        (f.role.value, f.kind.value, f.ranks, "" if f.group is None else incident.groups[f.group].name, f.seq)
        for f in incident.findings
    ]
