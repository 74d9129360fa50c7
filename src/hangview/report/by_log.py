"""What ranks' own logs say of where they stand in a group: for the screen and the worksheet, where no dump tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.schema import BLIND, CellState
from hangview.terms import COLLECTIVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.incident import Incident
    from hangview.logs.evidence import GroupByLog
    from hangview.terms import Cell


@dataclass(frozen=True, slots=True)
class ByLog:
    """``rows``: how far ranks came in one group, by their logs. ``busy``: those with works that were not over, in whatever
    group: they stood or waited themselves. ``mixed``: the group has sends and receives, which the same counter takes."""

    incident: Incident
    rows: Mapping[int, GroupByLog]
    busy: frozenset[int]
    mixed: bool

    def counters(self, rank: int) -> str:
        """``"last enqueued 8, last completed 8 (mixed.log, line 12)"``; "" where no log tells of the rank in this group."""
        row = self.rows.get(rank)
        if row is None or self.incident.logs is None:
            return ""
        return f"{_numbers(row)} ({self.incident.logs.shown(row.line)})"

    def stops_below(self, seq: int, cell: Cell) -> bool:
        """Whether the rank's log stops below a call that its dump does not tell of, and the cell is not drawn by that: it may
        not be said to be missing there."""
        row = self.rows.get(cell.rank)
        if row is None or row.enqueued is None or cell.by_log or self.mixed or cell.state not in BLIND:
            return False
        return row.outrun is None and row.enqueued < seq  # outrun: others completed more with it, the line is of before

    def reason(self, seq: int, cell: Cell) -> str:
        """Why nothing was observed in a cell, with what the log says of the rank."""
        if not self.stops_below(seq, cell) or _numbers(self.rows[cell.rank]) in cell.reason:
            return cell.reason
        stood = "; it stood or waited itself then" if cell.rank in self.busy else ""
        return f"{cell.reason}; by its log: {self.counters(cell.rank)}{stood}"

    def folded(self, seq: int, cell: Cell) -> str:
        """The same without the line that says it, so that ranks whose logs say the same have one row."""
        row = self.rows.get(cell.rank)
        if row is None or not (cell.by_log or self.stops_below(seq, cell)):
            return cell.reason
        stood = "; stood or waited itself then" if cell.rank in self.busy and cell.state >= CellState.NOT_REQUESTED else ""
        dump = "" if cell.by_log else f"{cell.reason.partition('; by its log')[0]}; "
        return f"{dump}by its log: {_numbers(row)}{stood}"


def by_log(incident: Incident, group: int, lane: str) -> ByLog:
    """What logs say of the ranks of a group; nothing of a lane of sends and receives."""
    found = next((each for each in incident.groups if each.id == group), None)
    if incident.logs is None or found is None or lane != COLLECTIVE:
        return ByLog(incident, {}, frozenset(), mixed=False)
    told = (*incident.logs.groups, *incident.logs.outrun)
    rows: dict[int, GroupByLog] = {}
    for row in told:
        if row.enqueued is not None and row.is_of(found):
            rows.setdefault(row.rank, row)
    mixed = any(each.group == group and each.lane != COLLECTIVE for each in incident.lanes)
    return ByLog(incident, rows, frozenset(row.rank for row in told if row.unfinished), mixed)


def _numbers(row: GroupByLog) -> str:
    done = f", last completed {row.completed}" if row.completed is not None else ""
    return f"last enqueued {row.enqueued}{done}"


def from_logs_alone(incident: Incident) -> bool:
    """Whether groups and their members are known from logs: these name the members that spoke, and never all."""
    return incident.logs is not None and not any(source.usable for source in incident.records.sources)


def group_number(incident: Incident, group: int, rank: int) -> str:
    """``"group rank 5 of 8"``; where the members are not recorded the number that the rank's log gives, else ""."""
    found = next((each for each in incident.groups if each.id == group), None)
    if found is None or rank not in found.ranks:
        return ""
    if not found.inferred:
        return f"group rank {found.ranks.index(rank)} of {len(found.ranks):,}"
    rows = incident.logs.groups if incident.logs is not None else ()
    numbers = {row.group_rank for row in rows if row.rank == rank and row.group_rank is not None and row.is_of(found)}
    return f"group rank {numbers.pop()}, by its log" if len(numbers) == 1 else ""
