"""The terms in which an incident is told: groups, calls and their cells, findings with their evidence, waits, clocks.

Immutable values. What finds them and what shows them both speak in them; :mod:`hangview.incident` holds them together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from hangview.schema import DEFAULT_DESC
from hangview.text import fold_ranks, group_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.schema import CellState, Op, Signature, StackFrame, Thread


class Verdict(StrEnum):
    DIVERGENCE = "divergence"
    NO_HANG = "no_hang"
    NOT_ENOUGH_EVIDENCE = "not_enough_evidence"


class Kind(StrEnum):
    """Kinds of finding; values are part of the JSON contract (CONTRACT: ``findings[].kind``)."""

    NOT_REQUESTED = "not_requested"
    DIFFERENT_OP = "different_op"
    DIFFERENT_SIZE = "different_size"
    DIFFERENT_DTYPE = "different_dtype"
    NOT_COMPLETED = "not_completed"
    PARTLY_COMPLETED = "partly_completed"
    NOT_OBSERVED = "not_observed"
    ORDER_CYCLE = "order_cycle"
    UNPAIRED_P2P = "unpaired_p2p"
    GROUP_ABSENT = "group_absent"
    NO_COLLECTIVE = "no_collective"
    PROCESS_ENDED = "process_ended"
    GROUP_MISMATCH = "group_mismatch"
    DIFFERENT_CALL_SITE = "different_call_site"
    STRAGGLER = "straggler"
    WAITING = "waiting"

    @property
    def words(self) -> str:
        """The kind as text says it. A log with a traceback shows that something was raised, not that the process is over."""
        return "process ended or raised an error" if self is Kind.PROCESS_ENDED else self.value.replace("_", " ")


#: Kinds whose ranks are shown and not named: nothing was observed of them, or all are in the same call.
UNNAMED = frozenset({Kind.NOT_OBSERVED, Kind.NOT_COMPLETED, Kind.ORDER_CYCLE})


class Role(StrEnum):
    LEAD = "lead"  #: look here first
    WAITING = "waiting"  #: explained by a lead
    NOTE = "note"  #: worth knowing, explains no hang


class Side(StrEnum):
    HOST = "host"
    DEVICE = "device"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Group:
    """A process group: (name, set of member ranks), with its description.

    ``ranks`` are world ranks in the group's order (position = group rank). ``inferred`` says that the members come from
    who recorded it, not from a configuration.
    """

    id: int
    name: str
    desc: str
    ranks: tuple[int, ...]
    inferred: bool = False
    beside: str = ""  #: what tells it from others that go by the same name, in a sentence (see :func:`told_apart`)
    earlier: bool = False  #: not known to be the newest of groups that a process made one after the other under one name

    @property
    def default(self) -> bool:
        """Whether it is the group of all ranks."""
        return self.desc == DEFAULT_DESC or (self.name == "0" and not self.desc)

    @property
    def called(self) -> str:
        """The description when it says something, else the name. Several groups may go by it."""
        return group_label(self.name, self.desc)

    @property
    def label(self) -> str:
        """What to call it in a sentence: ``"dp"``, and ``"dp[0-3]"`` where several groups are called dp."""
        return self.called + self.beside


#: Parts of a rank list that tell a group apart in a sentence.
_APART = 4


def told_apart(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The groups, those that are called the same with their ranks beside the name, or with their own name where the ranks are
    the same too: replicas and the groups of a mesh have one description for many groups."""
    named = Counter(group.called for group in groups)
    if not any(many > 1 for many in named.values()):
        return tuple(groups)
    shown = {group.id: _members(group) for group in groups if named[group.called] > 1}
    alike = Counter((group.called, shown[group.id]) for group in groups if group.id in shown)
    told = []
    for group in groups:
        beside = ""
        if group.id in shown:
            ranks = shown[group.id]
            once = alike[group.called, ranks] == 1
            own = f"group {group.name}" if group.name and group.name != group.called else f"number {group.id}"
            beside = f"[{ranks}]" if once else f"[{ranks}, {own}]"
        told.append(replace(group, beside=beside))
    return tuple(told)


def _members(group: Group) -> str:
    folded = fold_ranks(group.ranks).split(",")
    return ",".join(folded if len(folded) <= _APART else [*folded[: _APART - 1], "…"])


COLLECTIVE = "collective"


def p2p_lane(source: int, target: int) -> str:
    """The lane of sends from world rank ``source`` to world rank ``target``."""
    return f"p2p {source}->{target}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line of evidence; ``source`` and ``position`` name the file and the record where it can be checked."""

    text: str
    source: int | None = None  #: index into Incident.sources
    record_id: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A divergence (or a note), with what it rests on.

    ``ranks`` are the ranks that the finding is about (the lead's side), ``others`` the other side; both ascending.
    ``steps`` is the chain of reasoning from records to lead, for a sceptical reader.
    """

    kind: Kind
    role: Role
    ranks: tuple[int, ...]
    others: tuple[int, ...]
    group: int | None  #: index into Incident.groups
    lane: str | None
    seq: int | None
    op: str | None  #: op family of the call
    side: Side
    summary: str
    evidence: tuple[Evidence, ...] = ()
    compare_first: str = ""
    not_concluded: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """Ranks expected (members of any group, and files) against ranks whose records were recovered.

    ``partial`` are those among ``read`` whose dump was not read to its end: it is cut, damaged, or still being written.
    """

    expected: tuple[int, ...]
    read: tuple[int, ...]
    missing: Mapping[int, str] = field(default_factory=dict)  #: rank -> reason
    partial: tuple[int, ...] = ()
    unrecorded: tuple[str, ...] = ()  #: what the recorder leaves out, in sentences: a hang there does not show


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of one rank, whole, for the panes. ``state`` is as recorded, ``reading`` as hangview reads it."""

    rank: int
    source: int
    position: int
    record_id: int | None
    pg_id: int | None
    op_id: int | None
    seq: int | None
    p2p_seq: int | None
    op: Op
    signature: Signature
    stack: tuple[StackFrame, ...]
    thread: Thread
    state: str
    reading: CellState
    retired: bool
    is_p2p: bool
    created_ns: int | None
    started_ns: int | None
    completed_ns: int | None
    duration_ms: float | None
    timeout_ms: int | None
    group: int | None = None  #: id of its group; None where it names none


@dataclass(frozen=True, slots=True)
class Cell:
    """One rank at one seq of one lane. ``entries`` has more than one record for a batch; empty where none was observed."""

    rank: int
    state: CellState
    reason: str  #: one line: why this state ("newest entry is 41, dump is whole"), never empty for a state not observed
    differs: bool = False
    by_log: bool = False
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class SignatureSide:
    """Ranks of one call that requested the same thing. Sides are ordered by count, then by lowest rank."""

    ranks: tuple[int, ...]
    op: str  #: as recorded without the library prefix
    text: str  #: "1,024 × Float", "in [4, 8] Half → out [32] Half", "" when nothing was recorded
    reference: bool  #: the strict majority


@dataclass(frozen=True, slots=True)
class Call:
    """All members' cells at one (group, lane, seq), ascending by rank, and the sides they fall into."""

    group: int
    lane: str
    seq: int
    op: str | None
    cells: tuple[Cell, ...]
    sides: tuple[SignatureSide, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a group with its first divergence, for lists. ``front`` is the newest seq any member requested."""

    group: int
    lane: str
    first: int  #: oldest seq that any member still holds
    front: int
    divergence: int | None  #: first seq on which members do not agree or do not all complete
    role: Role | None  #: worst role of a finding on it; None when there is none
    judged: bool = True
    note: str = ""  #: why it was not judged


@dataclass(frozen=True, slots=True)
class GridRows:
    """What the grid draws: ``rows[i][j]`` is the cell code of ``ranks[i]`` at seq ``first + j`` (see schema.CellState)."""

    group: int
    lane: str
    first: int
    ranks: tuple[int, ...]
    rows: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a rank stands in one lane."""

    group: int
    lane: str
    oldest_kept: int | None
    newest: int | None  #: newest seq requested, from entries or from the rank's own counters
    newest_from: str  #: "entry", "counter", "log", "nothing"
    last_done: int | None  #: newest seq completed or ended
    open_seq: int | None  #: first unfinished request
    waits_for: tuple[int, ...] = ()  #: ranks it waits for in this lane


@dataclass(frozen=True, slots=True)
class Wait:
    """``rank`` waits for ``on`` at one call. ``observed`` is False when ``on`` left no record that could tell."""

    rank: int
    on: int
    group: int
    lane: str
    seq: int
    side: Side
    observed: bool = True


@dataclass(frozen=True, slots=True)
class Clock:
    """A host's (or a rank's) clock against the median of all, measured on completed calls; nanoseconds."""

    ranks: tuple[int, ...]
    offset_ns: int
    spread_ns: int
    calls: int


@dataclass(frozen=True, slots=True)
class Fact:
    """Something known for the worksheet: ``name`` is a stable key ("torch", "nccl", "host", "device", ...)."""

    name: str
    value: str
    ranks: tuple[int, ...]
    origin: str  #: where it comes from, in words, with the file
