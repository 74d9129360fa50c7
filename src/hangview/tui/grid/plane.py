"""One lane's cells made ready for drawing: order of ranks, folding, changes, problems. No textual."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from hangview.schema import DIFFERS, CellState
from hangview.terms import Role
from hangview.text import fold_ranks
from hangview.tui.glyphs import BY_LOG_CODE, DIFFERS_CODE, GLYPHS, SIDE_CODES, TO_DRAWN
from hangview.tui.grid.zoom import Zoomed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from hangview.incident import Incident
    from hangview.terms import GridRows, SignatureSide

#: Runs of equal codes, at C speed.
RUNS = re.compile(rb"(.)\1*", re.DOTALL)

#: So many tied calls of a lane are looked at for their sides; beyond, all sides are drawn as differing.
MOST_TIES = 32

_PROBLEM_STATES = (
    DIFFERS_CODE,
    *SIDE_CODES,
    CellState.NOT_REQUESTED,
    CellState.FAILED,
    CellState.CUT,
    CellState.NO_DUMP,
    CellState.GROUP_ABSENT,
    CellState.BEFORE_DUMP,
    CellState.NOT_RECORDED,
)


def _any_of(codes: Iterable[int]) -> re.Pattern[bytes]:
    both = (bytes([code, code | BY_LOG_CODE]) for code in codes)
    return re.compile(b"[" + b"".join(map(re.escape, both)) + b"]", re.DOTALL)


_PROBLEM = _any_of(_PROBLEM_STATES)
_DIFFERS = _any_of((DIFFERS_CODE, *SIDE_CODES))
_OPEN = _any_of((CellState.REQUESTED, CellState.STARTED))


class Standing(IntEnum):
    """Where a rank's row is sorted, first to last."""

    LEAD = 0
    DIFFERS = 1
    PROBLEM = 2
    WAITING = 3
    REST = 4

    @property
    def mark(self) -> str:
        """The sign before the row's label."""
        return "!#?w "[self]


@dataclass(frozen=True, slots=True)
class Row:
    """Ranks that are drawn on one line, ascending, and the drawn codes of the columns in sight."""

    ranks: tuple[int, ...]
    data: bytes
    standing: Standing
    pinned: bool = False


class Plane:
    """All cells of one lane. ``rows`` are raw cell codes, ``drawn`` the same as drawn codes; both by position of the rank."""

    def __init__(
        self,
        rows: GridRows,
        standing: Mapping[int, Standing],
        sides: Callable[[int], Sequence[SignatureSide]] | None = None,
        tied: Collection[int] = (),
    ) -> None:
        """``sides`` tells the sides of a call; ``tied`` are seqs on which no side is the majority, whatever the cells say."""
        self.group = rows.group
        self.lane = rows.lane
        self.first = rows.first
        self.ranks = rows.ranks
        self.rows = rows.rows
        self.drawn = tuple(row.translate(TO_DRAWN) for row in rows.rows)
        self.columns = max((len(row) for row in rows.rows), default=0)
        if sides is not None:
            self.drawn = _with_ties(rows, self.drawn, sides, tied)
        self.index = {rank: at for at, rank in enumerate(rows.ranks)}
        self.standing = tuple(self._standing(rank, at, standing) for at, rank in enumerate(rows.ranks))
        self._zoomed: dict[int, Zoomed] = {}

    def _standing(self, rank: int, at: int, known: Mapping[int, Standing]) -> Standing:
        row = self.drawn[at]
        if rank in known and known[rank] is Standing.LEAD:
            return Standing.LEAD
        if _DIFFERS.search(row):
            return Standing.DIFFERS
        if _PROBLEM.search(row):
            return Standing.PROBLEM
        return Standing.WAITING if _OPEN.search(row) else known.get(rank, Standing.REST)

    @property
    def last(self) -> int:
        return self.first + max(self.columns - 1, 0)

    def code(self, rank: int, seq: int) -> int:
        """The raw cell code; 0 where there is no such cell."""
        at = self.index.get(rank)
        column = seq - self.first
        return self.rows[at][column] if at is not None and 0 <= column < len(self.rows[at]) else 0

    def side_of(self, rank: int, seq: int) -> str:
        """``"A"`` where the rank's request is a side of a tie, "" else."""
        at, column = self.index.get(rank), seq - self.first
        code = self.drawn[at][column] if at is not None and 0 <= column < len(self.drawn[at]) else 0
        return GLYPHS[code].ascii if code in SIDE_CODES else ""

    def data(self, block: int) -> tuple[bytes, ...]:
        """Drawn codes by rank position, ``block`` seqs in a column (the worst of them is drawn)."""
        return self.drawn if block == 1 else self.zoomed(block).rows

    def zoomed(self, block: int) -> Zoomed:
        if block not in self._zoomed:
            self._zoomed[block] = Zoomed(self.drawn, self.columns, block)
        return self._zoomed[block]

    def codes(self) -> set[int]:
        """All drawn codes that occur, for the legend."""
        return set().union(*map(set, set(self.drawn))) if self.drawn else set()

    def next_change(self, rank: int, seq: int, step: int) -> int | None:
        """The next (``step`` 1) or previous (-1) seq at which the rank's state is not that of ``seq``; None at the end."""
        at = self.index.get(rank)
        if at is None:
            return None
        row, column = self.drawn[at], seq - self.first
        end = len(row) if step > 0 else -1
        return next((self.first + other for other in range(column + step, end, step) if row[other] != row[column]), None)

    def problem_of(self, rank: int) -> int | None:
        """The first seq at which a rank's cell is a problem: differs, failed, not requested, or unknown."""
        at = self.index.get(rank)
        found = _PROBLEM.search(self.drawn[at]) if at is not None else None
        return self.first + found.start() if found else None

    def positions(self) -> list[int]:
        """Positions of the ranks in the order of the unfolded grid."""
        return sorted(range(len(self.ranks)), key=lambda at: (self.standing[at], self.ranks[at]))

    def order(self) -> list[int]:
        """Ranks as the unfolded grid lists them: leads, mismatching, other problems, waiting, the rest."""
        return [rank for _, rank in sorted(zip(self.standing, self.ranks, strict=True))]

    def in_state(self, state: CellState) -> set[int]:
        """Ranks with at least one cell in ``state``."""
        pattern = _any_of((state,))
        return {rank for rank, row in zip(self.ranks, self.drawn, strict=True) if pattern.search(row)}

    def differing(self) -> set[int]:
        return {rank for rank, row in zip(self.ranks, self.drawn, strict=True) if _DIFFERS.search(row)}


def _with_ties(
    rows: GridRows, drawn: tuple[bytes, ...], sides: Callable[[int], Sequence[SignatureSide]], tied: Collection[int]
) -> tuple[bytes, ...]:
    """Cells of calls on which no side has a majority get the letter of their side, so that the sides are rows of their own."""
    columns = {found.start() for row in drawn for found in _DIFFERS.finditer(row)}
    requested = range(CellState.COMPLETED, CellState.FAILED + 1)
    ties = [
        at
        for at in sorted(columns)
        if rows.first + at in tied or not any(row[at] & ~DIFFERS in requested for row in rows.rows if not row[at] & DIFFERS)
    ]
    if not ties:
        return drawn
    changed = [bytearray(row) for row in drawn]
    position = {rank: at for at, rank in enumerate(rows.ranks)}
    for column in ties[:MOST_TIES]:
        for code, side in zip(SIDE_CODES, sides(rows.first + column), strict=False):
            for rank in side.ranks:
                changed[position[rank]][column] = code
    return tuple(map(bytes, changed))


def standing_of(incident: Incident, group: int, lane: str) -> dict[int, Standing]:
    """What the findings say about the ranks of one lane."""
    known: dict[int, Standing] = {}
    for finding in incident.findings:
        if (finding.group, finding.lane) == (group, lane) and finding.role is Role.WAITING:
            known.update(dict.fromkeys(finding.ranks, Standing.WAITING))
    known.update(dict.fromkeys(incident.leads, Standing.LEAD))
    return known


def fold(
    plane: Plane,
    data: Sequence[bytes],
    low: int,
    high: int,
    *,
    unfolded: bool = False,
    pinned: Iterable[int] = (),
    only: Iterable[int] | None = None,
) -> list[Row]:
    """Rows for columns ``low`` … ``high`` - 1: ranks that are equal in all of them share one, leads with leads alone.

    Pinned ranks have rows of their own, ``unfolded`` all; ``only`` leaves all other ranks out. Sorted by the worst standing in
    the row, then by the lowest rank.
    """
    kept = frozenset(pinned)
    wanted = None if only is None else frozenset(only)
    found: dict[tuple[bytes, int, bool], list[int]] = {}
    for at, rank in enumerate(plane.ranks):
        if wanted is not None and rank not in wanted:
            continue
        alone = rank if unfolded or rank in kept else -1
        lead = plane.standing[at] is Standing.LEAD  # a rank that looks the same here must not stand behind a lead's sign
        found.setdefault((data[at][low:high], alone, lead), []).append(at)
    rows = []
    for (cells, alone, _), members in found.items():
        worst = min(plane.standing[at] for at in members)
        rows.append(Row(tuple(plane.ranks[at] for at in members), cells, worst, alone in kept))
    rows.sort(key=lambda row: (row.standing, row.ranks[0]))
    return rows


def label_ranks(ranks: Sequence[int], width: int) -> str:
    """A folded rank list in at most ``width`` characters: the list, its beginning with the number left out, or the count."""
    text = fold_ranks(ranks)
    if len(text) <= width:
        return text
    fits, head, left = "", "", len(ranks)
    for part in text.split(","):
        head = f"{head},{part}" if head else part
        if len(head) > width:
            break
        left -= _length(part)
        short = f"{head} +{left:,}"
        fits = short if len(short) <= width else fits
    if fits:
        return fits
    named = f"{len(ranks):,} ranks"
    return named if len(named) <= width else f"x{len(ranks)}"  # a bare count would read as a rank


def _length(part: str) -> int:
    low, _, high = part.partition("-")
    return int(high) - int(low) + 1 if high else 1
