"""The one schema: what every dump, of every producer and version, is turned into.

Everything downstream of ``hangview.dumps`` reads these values and never a file. Ranks are world ranks, times are Unix
epoch nanoseconds of the host that wrote the record, sizes are in elements, durations in milliseconds.

Strings, signatures and stacks are interned once: the entries frame holds ids into the tuples of :class:`Records`, which
keeps two million entries near 100 bytes each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class SourceKind(StrEnum):
    """What a file that was looked at turned out to be."""

    DUMP = "dump"
    LOG = "log"
    OTHER = "other"


class SourceStatus(StrEnum):
    """What became of a source. Values are part of the JSON contract."""

    READ = "read"
    CUT = "cut"  #: the file ends early or is damaged; the whole entries before that are used
    EMPTY = "empty"  #: zero bytes
    REFUSED = "refused"  #: it asks for code, or goes past a limit
    UNREADABLE = "unreadable"  #: no permission, I/O error, or bytes that are no dump under a dump's name
    IGNORED = "ignored"  #: neither a dump nor a log
    SUPERSEDED = "superseded"  #: another file of the same rank and attempt is newer or richer
    OTHER_ATTEMPT = "other_attempt"
    GROWING = "growing"  #: still being written; only while watching
    UNFINISHED = "unfinished"  #: as CUT, but it came only now and may still be written; only while watching


#: Reason of a source that is still to be read, in what is known while files are being read.
NOT_READ_YET = "not read yet"
#: Statuses whose entries take part in the analysis.
USABLE = frozenset({SourceStatus.READ, SourceStatus.CUT, SourceStatus.UNFINISHED})
#: Those whose later entries are not here.
PARTIAL = frozenset({SourceStatus.CUT, SourceStatus.UNFINISHED})


@dataclass(frozen=True, slots=True)
class Source:
    """One file that was looked at.

    ``path`` is as shown to the user (relative to the path that was asked for, or as typed for a single file). ``reason``
    says in one clear line why the status is not ``read``, or what to know about a read one. ``notes`` are further facts
    for the source pane (wrapped, stackless, protocol, salvage).
    """

    path: str
    kind: SourceKind
    status: SourceStatus
    reason: str | None = None
    rank: int | None = None
    rank_from: str | None = None  #: how the rank was found: "file name", "members and peers inside", "--rank-regex"
    host: str | None = None
    attempt: int | None = None
    producer: str | None = None  #: library prefix of its profiling names: nccl, nccl2, gloo, ...
    version: str | None = None  #: schema version as written, "2.10"
    library: str | None = None  #: comm_lib_version / nccl_version as written, "2.27.3"; None when empty
    entries: int = 0
    size: int = 0  #: bytes
    mtime_ns: int = 0
    wrapped: bool = False  #: older records were overwritten (first record_id > 0 in a dump that is not only-active)
    only_active: bool = False  #: completed entries were left out when it was written
    has_stacks: bool = False
    configured: bool = False  #: its pg_config is not empty: the recorder was on, whatever it says
    notes: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether its entries take part in the analysis."""
        return self.kind is SourceKind.DUMP and self.status in USABLE

    @property
    def partial(self) -> bool:
        """Whether its entries take part, and entries that it had or will have are not among them."""
        return self.kind is SourceKind.DUMP and self.status in PARTIAL


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """One group as one rank's ``pg_config`` gives it, after the quirks of its producer were undone.

    ``ranks`` are world ranks in the group's own order (group rank = position); empty when not recorded.
    """

    source: int
    name: str
    desc: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """A rank's own counters for one group (``pg_status``), already in the units of ``collective_seq_id``.

    ``name`` is None when no entry ties the local ``pg_id`` to a group name. A counter is None when the producer's
    number cannot be compared with sequence numbers (gloo counts operations, nccl mixes in P2P) or was never set (-1 is
    kept as -1: "none yet"). ``beyond``: the rank says that it requested calls of which its whole dump has no record, in a group
    where the counters of other ranks agree with their records: one of the two is wrong.
    """

    source: int
    pg_id: int
    name: str | None
    desc: str | None
    enqueued: int | None
    started: int | None
    completed: int | None
    raw: tuple[int | None, int | None, int | None] = (None, None, None)  #: as written: enqueued, started, completed
    beyond: bool = False


#: What torch calls the group of all ranks.
DEFAULT_DESC = "default_pg"

#: Families of operations of which no member completes before every member has requested: completion of one proves the request
#: of all.
FULL = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})


@dataclass(frozen=True, slots=True)
class Op:
    """A ``profiling_name``, taken apart. ``peer`` ranks are group ranks, as recorded."""

    text: str  #: as recorded, "nccl:send 0->1"
    library: str  #: "nccl"; "" when the name has no prefix
    name: str  #: "send"
    family: str  #: canonical: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter,
    #: barrier, send, recv, batch_end, control, or the name itself when no list knows it
    source: int | None = None  #: group rank that sends; None when unknown or any
    target: int | None = None  #: group rank that receives
    closes_batch: bool = False  #: the entry that ends a coalesced batch and carries its state


@dataclass(frozen=True, slots=True)
class Signature:
    """Shapes and dtypes of one entry; None for dtypes that the schema version did not record."""

    input_sizes: tuple[tuple[int, ...], ...] = ()
    input_dtypes: tuple[str, ...] | None = None
    output_sizes: tuple[tuple[int, ...], ...] = ()
    output_dtypes: tuple[str, ...] | None = None

    @property
    def elements(self) -> tuple[int, int]:
        """How many go in and come out."""
        return sum(map(prod, self.input_sizes)), sum(map(prod, self.output_sizes))


@dataclass(frozen=True, slots=True)
class StackFrame:
    name: str
    filename: str
    line: int


@dataclass(frozen=True, slots=True)
class Thread:
    id: str
    name: str


def entries_schema() -> dict[str, pl.DataType]:
    """The columns of :attr:`Records.entries`, one row per entry, in file order within a source.

    * ``source``: index into ``Records.sources``; ``rank``: world rank; ``position``: index in the file's list
    * ``record_id``, ``pg_id``, ``op_id``: as recorded, local to the process; null when absent
    * ``label``: index into ``Records.labels``, the (name, desc) of ``process_group``
    * ``seq``: ``collective_seq_id`` (old ``seq_id``; renumbered per communicator for torchcomms); ``p2p_seq``
    * ``op``, ``signature``, ``stack``, ``thread``: indices into the tuples of the same names; stack 0 is "none recorded"
    * ``state``: 0 scheduled, 1 started, 2 completed, 3 anything else (as recorded, before any reading)
    * ``*_ns``: null when unknown (0 and None alike); ``duration_ms``, ``timeout_ms``: null when absent
    """
    import polars as pl

    return {
        "source": pl.UInt32(),
        "rank": pl.Int32(),
        "position": pl.UInt32(),
        "record_id": pl.Int64(),
        "pg_id": pl.Int32(),
        "label": pl.UInt32(),
        "seq": pl.Int64(),
        "p2p_seq": pl.Int64(),
        "op_id": pl.Int64(),
        "op": pl.UInt32(),
        "signature": pl.UInt32(),
        "stack": pl.UInt32(),
        "thread": pl.UInt32(),
        "state": pl.UInt8(),
        "retired": pl.Boolean(),
        "is_p2p": pl.Boolean(),
        "created_ns": pl.Int64(),
        "started_ns": pl.Int64(),
        "completed_ns": pl.Int64(),
        "duration_ms": pl.Float64(),
        "timeout_ms": pl.Int64(),
    }


@dataclass(frozen=True, slots=True)
class Records:
    """What all sources say, in one schema. The only thing the engine gets from ``hangview.dumps``.

    Only usable sources of the current attempt have rows in ``entries``, ``configs`` and ``statuses``; all sources are in
    ``sources``. ``labels[i]`` is a (name, desc) pair.
    """

    sources: tuple[Source, ...]
    configs: tuple[GroupConfig, ...]
    statuses: tuple[GroupStatus, ...]
    entries: pl.DataFrame
    labels: tuple[tuple[str, str], ...]
    ops: tuple[Op, ...]
    signatures: tuple[Signature, ...]
    stacks: tuple[tuple[StackFrame, ...], ...]
    threads: tuple[Thread, ...]
    attempts: tuple[Attempt, ...] = ()
    #: World ranks that exist by what usable files say of a group without naming it (gloo's key ''), with a file or without.
    exist: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of the job among the files. ``reason`` says why it is (not) the current one.

    ``beside``: its records were made while those of the current one were, so it is another job; ``newest_ns`` is its newest.
    ``stands``: something is to be looked at first in it, while the current one shows nothing; only then that is looked for.
    """

    attempt: int
    ranks: tuple[int, ...]
    current: bool
    reason: str | None = None
    beside: bool = False
    newest_ns: int | None = None
    stands: bool = False


class CellState(IntEnum):
    """One rank at one seq of one group: what was observed, or why nothing was. Values are the grid's cell codes."""

    COMPLETED = 1
    ENDED = 2  #: over, but the recorder does not say how (gloo, hooks without completion)
    STARTED = 3
    REQUESTED = 4
    FAILED = 5  #: retired without completion, or completed only after its own time-out
    NOT_REQUESTED = 6  #: the dump covers this seq and stops below it: the only evidence of absence
    OVERWRITTEN = 7  #: older than the window the ring buffer kept
    OMITTED = 8  #: an only-active dump leaves completed entries out
    CUT = 9  #: the file ends early, or is damaged from some place on
    NO_DUMP = 10  #: a member without a usable file
    GROUP_ABSENT = 11  #: a dump without this group
    BEFORE_DUMP = 12  #: the rank's file was written before the others' request, so it cannot know
    NOT_RECORDED = 13  #: the dump has no record and no counter that could tell

    @property
    def observed(self) -> bool:
        return self <= CellState.NOT_REQUESTED

    @property
    def word(self) -> str:
        """The word for it in UI, report and worksheet."""
        return _WORDS[self]


_WORDS = {
    CellState.COMPLETED: "completed",
    CellState.ENDED: "ended",
    CellState.STARTED: "started",
    CellState.REQUESTED: "requested",
    CellState.FAILED: "failed",
    CellState.NOT_REQUESTED: "not requested",
    CellState.OVERWRITTEN: "overwritten",
    CellState.OMITTED: "omitted",
    CellState.CUT: "cut",
    CellState.NO_DUMP: "no dump",
    CellState.GROUP_ABSENT: "group absent",
    CellState.BEFORE_DUMP: "before dump",
    CellState.NOT_RECORDED: "not recorded",
}

#: Added to a cell code in the grid where this rank's request differs from the majority's.
DIFFERS = 0x20
#: What a dump leaves open, so that the rank's log may speak.
BLIND = frozenset({CellState.NO_DUMP, CellState.CUT, CellState.OVERWRITTEN, CellState.OMITTED, CellState.NOT_RECORDED})
#: Added where the cell is known from the rank's log, not from its dump.
BY_LOG = 0x40
#: The part of a cell code that is the state.
STATE = 0x1F
#: Cell code for "no call here": a seq that no member of the lane has (legal gap), or outside the lane.
NO_CALL = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a single source may cost before it is refused, with words that name the limit and how to raise it."""

    file_bytes: int = 256 << 20
    entries: int = 5_000_000
    string_bytes: int = 1 << 20
    depth: int = 12
    unpacked_bytes: int = 1 << 30  #: of one compressed file or bundle


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to look at paths. All from the command line or the configuration; nothing is read from the environment."""

    prefix: str | None = None  #: file name prefix whose rest is the rank
    rank_regex: str | None = None  #: regex with a group named ``rank`` (and maybe ``host``), or a template "x_{host}_{rank}"
    attempt: int | None = None  #: None: choose the current one
    group_world_size: int | None = None  #: torchft: shift the ranks of a replica's groups by rank // n * n
    logs: bool = True
    workers: int | None = None  #: None: by size of the input and number of cores
    cache: bool = True
    cache_bytes: int = 2 << 30  #: what is kept for the next time may have so many bytes altogether
    follow_symlinks: bool = False  #: read files and folders that symbolic links inside a folder point to
    limits: Limits = field(default_factory=Limits)
