"""Section 4 and the states of section 5: where the ranks stand at the calls that matter, in rows of equal standing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.report.by_log import by_log
from hangview.schema import BY_LOG, DIFFERS, CellState
from hangview.terms import COLLECTIVE, Kind, Role
from hangview.text import escape
from hangview.worksheet.evidence import paths_text, ranks_text
from hangview.worksheet.model import Prefilled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.incident import Incident
    from hangview.logs.evidence import GroupByLog
    from hangview.terms import Call, Cell, Finding

#: Calls whose ranks are listed; further leads and waiting groups get a line each.
CALLS = 4
#: Rows of one call before the rest is folded into one.
ROWS = 10
#: Waiting groups with a line of their own.
WAITING = 6

#: How far a state is from what should be, the worst first: the order of rows.
_WORST_FIRST = (
    CellState.NOT_REQUESTED,
    CellState.GROUP_ABSENT,
    CellState.NO_DUMP,
    CellState.CUT,
    CellState.BEFORE_DUMP,
    CellState.NOT_RECORDED,
    CellState.FAILED,
    CellState.REQUESTED,
    CellState.STARTED,
    CellState.OVERWRITTEN,
    CellState.OMITTED,
    CellState.ENDED,
    CellState.COMPLETED,
)
_RANKING = {state: place for place, state in enumerate(_WORST_FIRST)}
#: Every code under which "completed" or "ended" may stand in a grid row.
_DONE_CODES = {
    state: tuple(bytes([state | flags]) for flags in (0, DIFFERS, BY_LOG, DIFFERS | BY_LOG))
    for state in (CellState.COMPLETED, CellState.ENDED)
}
#: What an observed state leaves open, in words.
_OPEN = {
    CellState.REQUESTED: "requested, not completed",
    CellState.STARTED: "started, not completed",
    CellState.ENDED: "ended, how is not recorded",
}


@dataclass(frozen=True, slots=True)
class _Standing:
    """What makes two ranks stand in one row."""

    lead: bool
    state: CellState
    differs: bool
    by_log: bool
    last_done: int | None
    last_word: str  #: "completed", or "ended" where the recorder does not say how
    request: str  #: kind, count, dtype; "" when none was observed

    @property
    def order(self) -> tuple[bool, bool, int, int, str]:
        last = -1 if self.last_done is None else self.last_done
        return (not self.lead, not self.differs, _RANKING[self.state], last, self.request)


def focus(incident: Incident) -> tuple[tuple[int, str, int], ...]:
    """The calls to show as (group, lane, seq): those of the leads, of a circle all that hold it, then of notes that are
    divergences; without any finding the newest call of the largest group. At most CALLS."""
    calls: dict[tuple[int, str, int], None] = {}
    for role in (Role.LEAD, Role.NOTE):
        for finding in incident.findings:
            if finding.role is role and finding.group is not None and finding.lane and finding.seq is not None:
                calls[finding.group, finding.lane, finding.seq] = None
                calls |= dict.fromkeys(_of_circle(incident, finding))
    if not calls and not incident.findings:
        lanes = [lane for lane in incident.lanes if lane.lane == COLLECTIVE and lane.front >= lane.first]
        sizes = {group.id: len(group.ranks) for group in incident.groups}
        if lanes:
            largest = min(lanes, key=lambda lane: (-sizes.get(lane.group, 0), lane.group))
            calls[largest.group, largest.lane, largest.front] = None
    return tuple(calls)[:CALLS]


def _of_circle(incident: Incident, finding: Finding) -> Iterator[tuple[int, str, int]]:
    """The calls in which the ranks of a circle wait for each other."""
    inside = set(finding.ranks) if finding.kind is Kind.ORDER_CYCLE else set()
    return ((wait.group, wait.lane, wait.seq) for wait in incident.waits if {wait.rank, wait.on} <= inside)


def standing_lines(incident: Incident) -> tuple[Prefilled, ...]:
    """Last completed and next request of all ranks of the calls in focus, folded, the worst first; then who waits elsewhere."""
    lines = [line for group, lane, seq in focus(incident) for line in _call_lines(incident, group, lane, seq)]
    waiting = [finding for finding in incident.findings if finding.role is Role.WAITING]
    lines += [Prefilled(f"waiting: {escape(finding.summary)}", "the finding “waiting”") for finding in waiting[:WAITING]]
    if len(waiting) > WAITING:
        rest = waiting[WAITING:]
        ranks = {rank for finding in rest for rank in _waiting(finding)}
        lines.append(Prefilled(f"waiting: {len(rest):,} more calls, {ranks_text(ranks)}", "the findings “waiting”"))
    return tuple(lines)


def _waiting(finding: Finding) -> tuple[int, ...]:
    """The ranks that wait in a call that a lead explains: where a rank did not come to it, those are the others."""
    return finding.ranks if finding.kind is Kind.WAITING else finding.others or finding.ranks


def state_lines(incident: Incident) -> tuple[Prefilled, ...]:
    """For each call in focus which ranks requested, started and completed it, told apart as far as the recorder does."""
    lines = []
    for group, lane, seq in focus(incident):
        call = incident.view.call(group, lane, seq)
        states: defaultdict[CellState, list[int]] = defaultdict(list)
        for cell in call.cells:
            states[cell.state].append(cell.rank)
        parts = [f"{_OPEN.get(state, state.word)}: {ranks_text(ranks)}" for state, ranks in _worst_first(states)]
        if parts:
            origin = _cells_origin(incident, call.cells, _by_log(incident, group, lane))
            lines.append(Prefilled(f"{_call_name(incident, call)}: {'; '.join(parts)}", origin))
    return tuple(lines)


def _worst_first(states: dict[CellState, list[int]]) -> list[tuple[CellState, list[int]]]:
    return sorted(states.items(), key=lambda item: _RANKING[item[0]])


def _call_lines(incident: Incident, group: int, lane: str, seq: int) -> Iterator[Prefilled]:
    call = incident.view.call(group, lane, seq)
    leads = {
        rank
        for finding in incident.findings
        if (finding.group, finding.lane, finding.seq) == (group, lane, seq) and finding.role is Role.LEAD
        for rank in finding.ranks
    }
    told = by_log(incident, group, lane)
    logged = _by_log(incident, group, lane)
    requests = {rank: _logged_request(row, seq) for rank, row in logged.items()}
    requests |= {rank: f"{side.op} {side.text}".strip() for side in call.sides for rank in side.ranks}
    last_done = _last_done(incident, group, lane)
    rows: defaultdict[_Standing, list[Cell]] = defaultdict(list)
    for cell in call.cells:
        request = escape(requests.get(cell.rank, ""))
        seq_done, word = last_done.get(cell.rank) or _last_done_by_counters(incident, group, lane, cell.rank)
        key = _Standing(cell.rank in leads, cell.state, cell.differs, cell.by_log, seq_done, word, request)
        rows[key].append(cell)
    ordered = sorted(rows.items(), key=lambda item: (item[0].order, item[1][0].rank))
    where = _lane_name(incident, group, lane)
    for row, cells in ordered[:ROWS]:
        reasons = {told.folded(seq, cell) for cell in cells}
        yield Prefilled(f"{where}: {_row_text(row, cells, seq, reasons)}", _cells_origin(incident, tuple(cells), logged))
    rest = [cell for _, cells in ordered[ROWS:] for cell in cells]
    if rest:
        number = len(ordered) - ROWS
        text = f"{where}: {number:,} more rows, {ranks_text(cell.rank for cell in rest)}"
        yield Prefilled(text, _cells_origin(incident, tuple(rest), logged))


def _row_text(row: _Standing, cells: list[Cell], seq: int, reasons: set[str]) -> str:
    last = f"last {row.last_word} {row.last_done}" if row.last_done is not None else "last completed not known"
    next_or_not = "" if row.state in (CellState.COMPLETED, CellState.ENDED) else "next "
    request = f"{row.request}: " if row.request else ""
    state = f"{next_or_not}{seq}: {request}{_OPEN.get(row.state, row.state.word)}"
    why = reasons.pop() if len(reasons) == 1 and not row.request else ""
    why = why.removeprefix("by its log: ") if row.by_log else why
    reason = f" ({escape(why)})" if why else ""
    differs = ", differs from the others" if row.differs else ""
    by_log = ", by its log" if row.by_log else ""
    return f"{ranks_text(cell.rank for cell in cells)}: {last}; {state}{differs}{by_log}{reason}"


def _last_done(incident: Incident, group: int, lane: str) -> dict[int, tuple[int, str]]:
    """The newest completed (or ended) seq of each rank of a lane, and which of the two."""
    grid = incident.view.grid(group, lane)
    done = {}
    for rank, row in zip(grid.ranks, grid.rows, strict=True):
        column, state = max((max(row.rfind(code) for code in codes), state) for state, codes in _DONE_CODES.items())
        if column >= 0:
            done[rank] = (grid.first + column, state.word)
    return done


def _last_done_by_counters(incident: Incident, group: int, lane: str, rank: int) -> tuple[int | None, str]:
    """The same for a rank whose finished entries are not in its dump, by what else is known of its position."""
    for position in incident.view.positions(rank):
        if (position.group, position.lane) == (group, lane):
            return position.last_done, CellState.COMPLETED.word
    return None, ""


def _by_log(incident: Incident, group: int, lane: str) -> dict[int, GroupByLog]:
    """What the logs of a group's members say about where they stood; only collectives are counted there."""
    known = next((each for each in incident.groups if each.id == group), None)
    if incident.logs is None or known is None or lane != COLLECTIVE:
        return {}
    rows = [row for row in incident.logs.groups if row.rank in known.ranks]
    return {row.rank: row for row in rows if row.name == known.name or (row.desc and row.desc == known.desc)}


def _logged_request(row: GroupByLog, seq: int) -> str:
    """Kind and counts of a call that a rank's log says timed out; logs know no dtype."""
    if row.timed_out_seq != seq or not row.timed_out_op:
        return ""
    counts = [f"{word} {number:,}" for word, number in (("in", row.numel_in), ("out", row.numel_out)) if number is not None]
    return f"{row.timed_out_op} {' → '.join(counts)}".strip()


def _cells_origin(incident: Incident, cells: tuple[Cell, ...], logged: dict[int, GroupByLog]) -> str:
    """The files that the cells come from; for a single record with its number."""
    sources = incident.records.sources
    entries = [cell.entries[0] for cell in cells if cell.entries]
    if len(cells) == 1 and entries and entries[0].record_id is not None:
        return f"{escape(sources[entries[0].source].path)}, record {entries[0].record_id}"
    ranks = {cell.rank for cell in cells}
    read = {rank: sources[row.line.source].path for rank, row in logged.items() if rank in ranks}
    read |= {source.rank: source.path for source in sources if source.usable and source.rank in ranks}
    paths = [read[rank] for rank in sorted(ranks) if rank in read]
    return paths_text(paths) if paths else "the ranks expected and the files found"


def _lane_name(incident: Incident, group: int, lane: str) -> str:
    label = next((escape(known.label) for known in incident.groups if known.id == group), f"group {group}")
    return label if lane == COLLECTIVE else f"{label} {lane}"


def _call_name(incident: Incident, call: Call) -> str:
    return f"{call.op or 'call'} {call.seq} of {_lane_name(incident, call.group, call.lane)}"
