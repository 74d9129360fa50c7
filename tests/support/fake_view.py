"""A View over cells that a test wrote down, so that nothing right of the engine needs the engine in its tests."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hangview.engine.view import View
from hangview.schema import BY_LOG, DIFFERS, CellState, Op, Signature, StackFrame, Thread
from hangview.terms import COLLECTIVE, Call, Cell, Entry, GridRows, Position, SignatureSide

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.terms import Wait

#: 2026-11-29 14:00:00 UTC
T0 = 1_795_960_800_000_000_000
SECOND = 1_000_000_000

OPEN = (CellState.REQUESTED, CellState.STARTED)
DONE = (CellState.COMPLETED, CellState.ENDED)
RECORDED = (*OPEN, *DONE, CellState.FAILED)

REASONS = {
    CellState.NOT_REQUESTED: "dump is whole, newest entry of this group is older",
    CellState.OVERWRITTEN: "older than the window that the ring buffer kept",
    CellState.OMITTED: "an only-active dump leaves completed entries out",
    CellState.CUT: "the file ends early",
    CellState.NO_DUMP: "no usable file of this rank",
    CellState.GROUP_ABSENT: "the dump of this rank does not have this group",
    CellState.BEFORE_DUMP: "the file was written before the others requested it",
    CellState.NOT_RECORDED: "no record and no counter that could tell",
}
_AS_WRITTEN = {CellState.REQUESTED: "scheduled", CellState.STARTED: "started", CellState.FAILED: "started"}


@dataclass(slots=True)
class Asked:
    """What one rank asked for at one seq where it is not what the lane usually does."""

    op: str
    size: int
    dtype: str
    stack: tuple[StackFrame, ...]


@dataclass(slots=True)
class FakeLane:
    """Cells of one lane; ``rows[rank][seq - first]`` is a cell code as in GridRows."""

    first: int
    rows: dict[int, bytearray]
    usual: Asked
    asked: dict[tuple[int, int], Asked] = field(default_factory=dict)  # (rank, seq)
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def front(self) -> int:
        columns = (column for row in self.rows.values() for column, code in enumerate(row) if code & 0x1F in RECORDED)
        return self.first + max(columns, default=0)

    def state(self, rank: int, seq: int) -> CellState | None:
        code = self.rows[rank][seq - self.first] & 0x1F
        return CellState(code) if code else None

    def what(self, rank: int, seq: int) -> Asked:
        return self.asked.get((rank, seq), self.usual)


LaneKey = tuple[int, str]


class FakeView(View):
    """Lookups over the builder's lanes. ``sources`` maps a rank to its index in Records.sources."""

    def __init__(self, lanes: Mapping[LaneKey, FakeLane], waits: Sequence[Wait], sources: Mapping[int, int]) -> None:
        self._fakes = lanes
        self._waits = waits
        self._sources = sources
        self._built: dict[tuple[int, str, int], Call] = {}
        self.calls_built = 0  #: for tests of laziness

    def grid(self, group: int, lane: str) -> GridRows:
        found = self._fakes[group, lane]
        ranks = tuple(sorted(found.rows))
        return GridRows(group, lane, found.first, ranks, tuple(bytes(found.rows[rank]) for rank in ranks))

    def call(self, group: int, lane: str, seq: int) -> Call:
        key = (group, lane, seq)
        if key not in self._built:
            self.calls_built += 1
            self._built[key] = self._build_call(group, lane, seq)
        return self._built[key]

    def cell(self, group: int, lane: str, seq: int, rank: int) -> Cell:
        return next(cell for cell in self.call(group, lane, seq).cells if cell.rank == rank)

    def positions(self, rank: int) -> tuple[Position, ...]:
        positions = [self._position(rank, key) for key, found in self._fakes.items() if rank in found.rows]
        return tuple(sorted(positions, key=lambda place: (place.open_seq is None and not place.waits_for, place.group)))

    def newest_entries(self, rank: int, count: int = 20) -> tuple[Entry, ...]:
        entries = []
        for key, found in self._fakes.items():
            columns = range(len(found.rows.get(rank, b"")) - 1, -1, -1)
            newest = [column for column in columns if found.rows[rank][column] & 0x1F in RECORDED][:count]
            entries += [self._record(key, rank, found.first + column) for column in newest]
        return tuple(sorted(entries, key=lambda entry: -(entry.created_ns or 0))[:count])

    def stacks(self, group: int, lane: str, seq: int) -> tuple[tuple[tuple[int, ...], tuple[StackFrame, ...]], ...]:
        ranks: dict[tuple[StackFrame, ...], list[int]] = defaultdict(list)
        for cell in self.call(group, lane, seq).cells:
            if cell.entries:
                ranks[cell.entries[0].stack].append(cell.rank)
        ordered = sorted(ranks.items(), key=lambda item: (-len(item[1]), item[1]))
        return tuple((tuple(members), stack) for stack, members in ordered)

    def _build_call(self, group: int, lane: str, seq: int) -> Call:
        found = self._fakes[group, lane]
        cells = []
        sides: dict[tuple[str, str], list[int]] = defaultdict(list)
        for rank in sorted(found.rows):
            state = found.state(rank, seq)
            if state is None:
                continue
            code = found.rows[rank][seq - found.first]
            entries: tuple[Entry, ...] = ()
            if state in RECORDED:
                asked = found.what(rank, seq)
                entries = (self._record((group, lane), rank, seq),)
                sides[asked.op, f"{asked.size:,} × {asked.dtype}"].append(rank)
            reason = found.reasons.get((rank, seq), REASONS.get(state, ""))
            cells.append(Cell(rank, state, reason, bool(code & DIFFERS), bool(code & BY_LOG), entries))
        ordered = sorted(sides.items(), key=lambda item: (-len(item[1]), item[1][0]))
        total = sum(len(members) for members in sides.values())
        return Call(
            group,
            lane,
            seq,
            ordered[0][0][0] if ordered else None,
            tuple(cells),
            tuple(SignatureSide(tuple(members), op, text, 2 * len(members) > total) for (op, text), members in ordered),
        )

    def _record(self, key: LaneKey, rank: int, seq: int) -> Entry:
        found = self._fakes[key]
        state = found.state(rank, seq)
        assert state is not None
        asked = found.what(rank, seq)
        created = T0 + seq * SECOND // 2 + rank * 1_000_000
        done = state in DONE
        begun = done or state in (CellState.STARTED, CellState.FAILED)
        shape = ((asked.size,),)
        return Entry(
            rank=rank,
            source=self._sources.get(rank, 0),
            position=seq - found.first,
            record_id=seq - found.first,
            pg_id=key[0],
            op_id=seq,
            seq=seq if key[1] == COLLECTIVE else None,
            p2p_seq=None if key[1] == COLLECTIVE else seq,
            op=Op(f"nccl:{asked.op}", "nccl", asked.op, asked.op),
            signature=Signature(shape, (asked.dtype,), shape, (asked.dtype,)),
            stack=asked.stack,
            thread=Thread("140213", "main"),
            state=_AS_WRITTEN.get(state, "completed"),
            reading=state,
            retired=done or state is CellState.FAILED,
            is_p2p=key[1] != COLLECTIVE,
            created_ns=created,
            started_ns=created + 1_500_000 if begun else None,
            completed_ns=created + 200_000_000 if done else None,
            duration_ms=198.5 if done else None,
            timeout_ms=600_000,
            group=key[0],
        )

    def _position(self, rank: int, key: LaneKey) -> Position:
        found = self._fakes[key]
        states = {seq: found.state(rank, seq) for seq in range(found.first, found.first + len(found.rows[rank]))}
        recorded = [seq for seq, state in states.items() if state in RECORDED]
        done = [seq for seq, state in states.items() if state in DONE]
        still_open = [seq for seq, state in states.items() if state in OPEN]
        waits = sorted({wait.on for wait in self._waits if wait.rank == rank and (wait.group, wait.lane) == key})
        return Position(
            key[0],
            key[1],
            min(recorded, default=None),
            max(recorded, default=None),
            "entry" if recorded else "nothing",
            max(done, default=None),
            min(still_open, default=None),
            tuple(waits),
        )
