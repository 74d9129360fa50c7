"""Lookups into an incident: what the grid, the panes, the report and the worksheet ask for.

Nothing here judges: it shows what ``analyse`` found, cell by cell. Answers are computed when asked for and kept.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hangview.engine import cells, compare, stalls
from hangview.engine.places import Places
from hangview.engine.readings import COLLECTIVE as COLLECTIVE_LANE
from hangview.engine.readings import DONE, OPEN, P2P
from hangview.schema import BY_LOG, DIFFERS, NO_CALL, STATE, CellState
from hangview.terms import COLLECTIVE, Call, Cell, Entry, GridRows, Position, SignatureSide

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.engine.calls import Calls
    from hangview.engine.p2p import LaneEnd, P2PLane, Traffic
    from hangview.engine.waits import Graph
    from hangview.engine.windows import Window, Windows
    from hangview.schema import Records, StackFrame
    from hangview.terms import Group, Lane

_STATES = ("scheduled", "started", "completed", "other")
#: Calls of which all members are kept: one of 1,024 ranks takes about a megabyte.
_KEPT = 16


class View:
    """Read-only lookups, computed when asked for and kept. Groups are Group.id, lanes are Lane.lane strings."""

    def __init__(
        self,
        records: Records,
        groups: tuple[Group, ...],
        entries: pl.DataFrame,
        calls: Calls,
        windows: Windows,
        traffic: Traffic,
        graph: Graph,
        lanes: tuple[Lane, ...],
        families: tuple[str, ...],
    ) -> None:
        self._records, self._groups, self._entries, self._calls = records, groups, entries, calls
        self._windows, self._traffic, self._graph, self._families = windows, traffic, graph, families
        self._lanes = {(lane.group, lane.lane): lane for lane in lanes}
        self._grids: dict[tuple[int, str], GridRows] = {}
        self._kept: dict[tuple[int, str, int], Call] = {}
        self._newest: dict[tuple[int, int], tuple[Entry, ...]] = {}

    # -- grid ----------------------------------------------------------------------------------------------------------

    def grid(self, group: int, lane: str) -> GridRows:
        """Cell codes of a whole lane; rows for its members, ascending by rank."""
        if (group, lane) not in self._grids:
            self._grids[group, lane] = self._collective_grid(group) if lane == COLLECTIVE else self._p2p_grid(group, lane)
        return self._grids[group, lane]

    @cached_property
    def cells(self) -> pl.DataFrame:
        """The cells of all lanes as one table, see :func:`hangview.engine.cells.table`."""
        return cells.table(self.grid(*place) for place in self._lanes)

    def _collective_grid(self, group: int) -> GridRows:
        info = self._lanes[group, COLLECTIVE]
        ranks = tuple(sorted(self._groups[group].ranks))
        width = info.front - info.first + 1
        rows = self._calls.rows.filter(pl.col("group") == group)
        table = np.zeros((len(ranks), width), dtype=np.uint8)
        where = np.searchsorted(np.array(ranks), rows["rank"].to_numpy())
        columns = rows["seq"].to_numpy() - info.first
        table[where, columns] = rows["reading"].to_numpy()
        for rank, seq in self._differing(group):
            table[ranks.index(rank), seq - info.first] |= DIFFERS
        called = table.any(axis=0)
        for i, rank in enumerate(ranks):
            window = self._windows[group, rank]
            seqs = np.arange(info.first, info.front + 1)
            newest = window.newest if window.newest is not None else (window.oldest or info.first) - 1
            oldest = window.oldest if window.oldest is not None else newest + 1
            recorded = table[i] != NO_CALL
            empty = ~recorded & called
            table[i][empty & (seqs < oldest) & (seqs <= newest)] = window.below
            table[i][empty & (seqs >= oldest) & (seqs <= newest)] = window.inside
            table[i][(table[i] == NO_CALL) & (seqs > newest)] = window.above
            if window.newest_from == "log":
                _fill_by_log(table[i], seqs, window, ~recorded & (called | (seqs < oldest) | (seqs > newest)))
            elif window.open_position is None and window.open_seq is not None and info.first <= window.open_seq <= info.front:
                table[i][window.open_seq - info.first] = CellState.REQUESTED
        return GridRows(group, COLLECTIVE, info.first, ranks, tuple(row.tobytes() for row in table))

    def _differing(self, group: int) -> list[tuple[int, int]]:
        """(rank, seq) of requests that are not the majority's, as far as there are few enough to look at one by one."""
        flagged = self._calls.by_seq.filter((pl.col("group") == group) & pl.col("differs"))["seq"].to_list()
        out: list[tuple[int, int]] = []
        for seq in flagged[:500]:
            found = self._mismatch(group, seq)
            if found is not None:
                sides = found.sides[1:] if found.minority else found.sides
                out.extend((rank, seq) for side in sides for rank in side.ranks)
        return out

    @cached_property
    def _flagged(self) -> frozenset[tuple[int, int]]:
        """(group, seq) of calls whose members may have asked for what does not fit together; of all others, it does."""
        uneven = pl.col("exchange") & (pl.col("sent") != pl.col("received"))
        return frozenset(self._calls.by_seq.filter(pl.col("differs") | uneven).select("group", "seq").iter_rows())

    def _mismatch(self, group: int, seq: int) -> stalls.Mismatch | None:
        rows = self._calls.detail(self._lined_up.at(group, seq).sort("rank")).to_dicts()
        info = self._groups[group]
        without = stalls.without_record(info, seq, {row["rank"] for row in rows}, self._windows)
        return stalls.mismatch(self._records, info, rows, self._calls, len(without.unobserved))

    def _p2p_grid(self, group: int, lane: str) -> GridRows:
        ends = self._lane(group, lane)
        info = self._lanes[group, lane]
        ranks = tuple(sorted({ends.source, ends.target}))
        table = np.zeros((len(ranks), info.front), dtype=np.uint8)
        rows = self._p2p_rows(ends)
        for rank, number, reading in rows.select("rank", "number", "reading").iter_rows():
            table[ranks.index(rank), number - 1] = reading
        for i, rank in enumerate(ranks):
            before = ends.end(rank).before
            table[i][:before] = self._windows[group, rank].below
            table[i][table[i] == NO_CALL] = self._beyond(ends, rank)
        for number in self._uneven(group, lane):
            table[:, number - 1] |= DIFFERS
        return GridRows(group, lane, 1, ranks, tuple(row.tobytes() for row in table))

    def _uneven(self, group: int, lane: str) -> frozenset[int]:
        """Numbers of a lane whose send and receive do not ask for the same."""
        ends = self._lane(group, lane)
        return frozenset(each.number for each in self._traffic.uneven.get((group, ends.source, ends.target), ()))

    def _lane(self, group: int, lane: str) -> P2PLane:
        source, target = (int(x) for x in lane.removeprefix("p2p ").split("->"))
        return self._traffic.lanes[group, source, target]

    def _p2p_rows(self, lane: P2PLane) -> pl.DataFrame:
        return self._traffic.rows.filter(
            (pl.col("group") == lane.group) & (pl.col("src") == lane.source) & (pl.col("dst") == lane.target)
        ).sort("rank", "position")

    def _beyond(self, lane: P2PLane, rank: int) -> CellState:
        window = self._windows[lane.group, rank]
        if window.blind:
            return window.above
        end: LaneEnd = lane.end(rank)
        asked = self._other(lane, rank).open
        if lane.paired or ((end.open or asked) and not any(request.held for request in asked)):
            return CellState.NOT_REQUESTED
        return window.below

    def _other(self, lane: P2PLane, rank: int) -> LaneEnd:
        return lane.recv if rank == lane.source else lane.send

    # -- calls and cells -----------------------------------------------------------------------------------------------

    @cached_property
    def _lined_up(self) -> Places:
        return Places(self._calls.rows)

    @cached_property
    def _recorded(self) -> Places:
        return Places(self._entries, pl.col("lane") == COLLECTIVE_LANE)

    def call(self, group: int, lane: str, seq: int) -> Call:
        """All members at one seq. Works for any seq between the lane's first and front."""
        place = (group, lane, seq)
        call = self._kept.pop(place, None) or self._call(group, lane, seq)
        self._kept[place] = call  # the last ones asked for, the newest at the end: one screen asks for one call several times
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return call

    def _call(self, group: int, lane: str, seq: int) -> Call:
        grid = self.grid(group, lane)
        at = seq - grid.first
        codes = [row[at] if 0 <= at < len(row) else NO_CALL for row in grid.rows]
        rows = self._call_rows(group, lane, seq)
        entries: dict[int, list[Entry]] = {}
        for row in rows:
            entries.setdefault(row["rank"], []).append(self._entry(row))
        sides = self._sides(group, lane, seq, rows)
        off = {r for side in sides for r in side.ranks if not side.reference} if len(sides) > 1 else set()
        members = tuple(
            self._cell(group, lane, rank, code, tuple(entries.get(rank, ())), differs=rank in off)
            for rank, code in zip(grid.ranks, codes, strict=True)
        )
        names = sorted({e.op.family for found in entries.values() for e in found})
        op = sides[0].op if sides and lane != COLLECTIVE else (_most(rows, self._families) if rows else None)
        return Call(group, lane, seq, op if names else None, members, sides)

    def cell(self, group: int, lane: str, seq: int, rank: int) -> Cell:
        """One member at one seq. Raises KeyError for a rank that is no member."""
        for cell in self.call(group, lane, seq).cells:
            if cell.rank == rank:
                return cell
        raise KeyError(rank)

    def _call_rows(self, group: int, lane: str, seq: int) -> list[dict[str, Any]]:
        if lane == COLLECTIVE:
            found = self._recorded.at(group, seq)
        else:
            found = self._p2p_rows(self._lane(group, lane)).filter(pl.col("number") == seq)
        return found.sort("rank", "position").to_dicts()

    def _sides(self, group: int, lane: str, seq: int, rows: Sequence[Mapping[str, Any]]) -> tuple[SignatureSide, ...]:
        if not rows:
            return ()
        if (group, seq) in self._flagged and lane == COLLECTIVE:
            found = self._mismatch(group, seq)
            if found is not None:
                return found.sides
        told: dict[tuple[int, int], tuple[str, object, str]] = {}
        for op, signature in {(row["op"], row["signature"]) for row in rows}:
            named = self._records.ops[op]
            told[op, signature] = (named.name, 0, compare.describe(self._records.signatures[signature], named.family))
        texts = {row["rank"]: told[row["op"], row["signature"]] for row in rows}
        family = _most(rows, self._families) if lane == COLLECTIVE else ""
        if family == "all_to_all" or lane != COLLECTIVE:
            texts = {r: (name, (name, text), text) for r, (name, _, text) in texts.items()}
        sides = compare.sides(texts, 0)
        fits = lane == COLLECTIVE or seq not in self._uneven(group, lane)
        return tuple(SignatureSide(s.ranks, s.op, s.text, reference=fits) for s in sides)

    def _cell(self, group: int, lane: str, rank: int, code: int, found: tuple[Entry, ...], *, differs: bool) -> Cell:
        if found:  # of several records of one call, the one that the grid goes by
            reading = CellState(code & STATE)
            said = next((entry for entry in reversed(found) if entry.reading is reading), found[-1])
            return Cell(rank, said.reading, _why(said), differs, entries=found)
        window = self._windows[group, rank]
        if code == NO_CALL:
            return Cell(rank, CellState.NOT_RECORDED, "no member has a record at this number")
        state = CellState(code & STATE)
        if code & BY_LOG:
            return Cell(rank, state, window.reason, by_log=True)
        if state is CellState.OMITTED:
            reason = "its dump leaves completed entries out"
        elif state is CellState.OVERWRITTEN:
            reason = "older than what its ring buffer kept"
        elif state is CellState.REQUESTED:
            where = "not in the part of its dump that could be read" if self._partial(window) else "gone"
            reason = f"its record is {where}, its counters show it requested and not completed"
        else:
            reason = window.reason if lane == COLLECTIVE or window.blind else f"no such {lane} record in its dump"
        return Cell(rank, state, reason)

    def _partial(self, window: Window) -> bool:
        return window.source is not None and self._records.sources[window.source].partial

    def _entry(self, row: Mapping[str, Any]) -> Entry:
        records = self._records
        return Entry(
            rank=row["rank"],
            source=row["source"],
            position=row["position"],
            record_id=row["record_id"],
            pg_id=row["pg_id"],
            op_id=row["op_id"],
            seq=row["seq"],
            p2p_seq=row["p2p_seq"],
            op=records.ops[row["op"]],
            signature=records.signatures[row["signature"]],
            stack=records.stacks[row["stack"]],
            thread=records.threads[row["thread"]],
            state=_STATES[min(row["state"], 3)],
            reading=CellState(row["reading"]),
            retired=bool(row["retired"]),
            is_p2p=bool(row["is_p2p"]),
            created_ns=row["created_ns"],
            started_ns=row["started_ns"],
            completed_ns=row["completed_ns"],
            duration_ms=row["duration_ms"],
            timeout_ms=row["timeout_ms"],
            group=row["group"],
        )

    # -- ranks ---------------------------------------------------------------------------------------------------------

    def positions(self, rank: int) -> tuple[Position, ...]:
        """Where a rank stands in each of its lanes, diverged lanes first."""
        waits: dict[tuple[int, str], set[int]] = {}
        for edge in self._graph.edges.get(rank, ()):
            waits.setdefault((edge.place[0], edge.place[1]), set()).add(edge.on)
        out = []
        for group, lane in self._lanes:
            waits_for = tuple(sorted(waits.get((group, lane), ())))
            if lane == COLLECTIVE:
                window = self._windows.get((group, rank))
                if window is not None:
                    out.append(
                        Position(
                            group, lane, window.oldest, window.newest, window.newest_from, window.last_done, window.open_seq,
                            waits_for,
                        )
                    )  # fmt: skip
            else:
                ends = self._lane(group, lane)
                if rank in (ends.source, ends.target):
                    end = ends.end(rank)
                    open_seq = end.open[0].number if end.open else None
                    out.append(
                        Position(
                            group,
                            lane,
                            end.before + 1 if end.count else None,
                            end.newest,
                            "entry",
                            end.before + end.done if end.done else 0,
                            open_seq,
                            waits_for,
                        )
                    )
        return tuple(out)

    def newest_entries(self, rank: int, count: int = 20) -> tuple[Entry, ...]:
        """A rank's last records over all groups, newest first."""
        if (rank, count) not in self._newest:
            rows = self._entries.filter(pl.col("rank") == rank).sort("position").tail(count)
            self._newest[rank, count] = tuple(self._entry(row) for row in reversed(rows.to_dicts()))
        return self._newest[rank, count]

    def stacks(self, group: int, lane: str, seq: int) -> tuple[tuple[tuple[int, ...], tuple[StackFrame, ...]], ...]:
        """Ranks of a call grouped by equal stack, most ranks first; ranks without a record are left out."""
        by_stack: dict[int, list[int]] = {}
        for row in self._call_rows(group, lane, seq):
            ranks = by_stack.setdefault(row["stack"], [])
            if row["rank"] not in ranks:
                ranks.append(row["rank"])
        ordered = sorted(by_stack.items(), key=lambda item: (-len(item[1]), item[1][0]))
        return tuple((tuple(ranks), self._records.stacks[stack]) for stack, ranks in ordered)

    def window(self, group: int, rank: int) -> Window | None:
        """The rank's window in the group's collective lane; None when it is no member."""
        return self._windows.get((group, rank))

    @cached_property
    def open_counts(self) -> Mapping[int, int]:
        """Unfinished requests per rank."""
        lanes = pl.col("lane").is_in([COLLECTIVE_LANE, P2P])
        rows = self._entries.filter(lanes & pl.col("reading").is_in(OPEN)).group_by("rank").len()
        return dict(sorted(rows.iter_rows()))

    @cached_property
    def done_counts(self) -> Mapping[int, int]:
        """Finished requests per rank."""
        rows = self._entries.filter(pl.col("reading").is_in(DONE)).group_by("rank").len()
        return dict(sorted(rows.iter_rows()))


def _fill_by_log(
    row: np.ndarray[Any, np.dtype[np.uint8]],
    seqs: np.ndarray[Any, np.dtype[np.int64]],
    window: Window,
    untold: np.ndarray[Any, np.dtype[np.bool_]],
) -> None:
    """Cells that only the rank's own log tells of: ``untold`` by a record of its dump."""
    newest, done = window.newest or 0, window.last_done or 0
    row[untold & (seqs <= done)] = CellState.COMPLETED | BY_LOG
    row[untold & (seqs > done) & (seqs <= newest)] = CellState.REQUESTED | BY_LOG
    if window.covers:
        row[untold & (seqs > newest)] = CellState.NOT_REQUESTED | BY_LOG


def _why(entry: Entry) -> str:
    """Where a reading comes from. Sends and receives of a batch keep their first state, the record that closes it has it."""
    over = entry.reading in (CellState.COMPLETED, CellState.ENDED)
    if over and entry.is_p2p and not entry.retired and entry.state in ("scheduled", "started"):
        return f"{entry.reading.word}: the record that closes its batch says so, its own stays {entry.state}"
    return f"{entry.reading.word}, as recorded: {entry.state}"


def _most(rows: Sequence[Mapping[str, Any]], families: tuple[str, ...]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        name = families[row["family"]]
        counts[name] = counts.get(name, 0) + 1
    return min(counts, key=lambda name: (-counts[name], name))
