"""One call: every member's state, the sides that asked for different things, and where the named ranks were last seen."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rich.cells import cell_len

from hangview.report.by_log import by_log, group_number
from hangview.schema import CellState
from hangview.terms import Kind, Role
from hangview.text import count, name_ranks
from hangview.tui.prose import Line, Prose, Tone, line, pad
from hangview.tui.sides import disagree
from hangview.tui.text.common import (
    clock_spread,
    clock_time,
    lane_name,
    of_group,
    ranks_text,
    role_mark,
    role_word,
    seconds,
    state_tone,
)
from hangview.tui.text.stack import own_frame, short_frame
from hangview.tui.titles import cut_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.incident import Incident
    from hangview.terms import Call, Cell, Finding, SignatureSide
    from hangview.tui.place import Place
    from hangview.tui.titles import Title

#: Cells for what was asked for; never cut, for two requests may differ anywhere in it.
_ASKED = 48
_OPEN = (CellState.REQUESTED, CellState.STARTED)
#: Worst first.
_ORDER = {
    state: at
    for at, state in enumerate(
        (
            CellState.NOT_REQUESTED,
            CellState.FAILED,
            CellState.NO_DUMP,
            CellState.GROUP_ABSENT,
            CellState.CUT,
            CellState.BEFORE_DUMP,
            CellState.NOT_RECORDED,
            CellState.REQUESTED,
            CellState.STARTED,
            CellState.OVERWRITTEN,
            CellState.OMITTED,
            CellState.ENDED,
            CellState.COMPLETED,
        )
    )
}


def call_title(incident: Incident, call: Call) -> Title:
    """``call 1820 · all_reduce · 8,650,752 × Float``; the sides' text only where all ask for the same. Said shorter it is about
    the call alone."""
    parts = [f"call {call.seq} of {lane_name(incident, call.group, call.lane)}"]
    if call.op:
        parts.append(call.op)
    if len(call.sides) == 1 and call.sides[0].text:
        parts.append(call.sides[0].text)
    return tuple(" · ".join(parts[:most]) for most in range(len(parts), 0, -1))


def findings_at(incident: Incident, call: Call) -> list[Finding]:
    return [each for each in incident.findings if (each.group, each.lane, each.seq) == (call.group, call.lane, call.seq)]


def call_lines(incident: Incident, call: Call, rank: int, told: Finding | None = None) -> Prose:
    """The whole pane for one call, worst first; ``rank`` is under the cursor, ``told`` a finding that is on screen already."""
    here = [each for each in findings_at(incident, call) if each is not told][:3]
    raised = [each for each in here if each.kind is Kind.PROCESS_ENDED and each.role is Role.LEAD]
    worse, rest = _state_lines(incident, call)
    sides = _side_lines(call.sides)
    apart = disagree(call.sides)  # where they may differ, as in an all_to_all, who did not come tells more
    lines = [*(sides if apart else ()), *worse]
    # what the log of a lead says tells more than who waits: it is read also where there are five lines for all of it
    lines += [_finding_line(incident, each) for each in raised]
    lines += [*rest, *_last_seen(incident, call, rank), *(() if apart else sides)]
    lines += [_finding_line(incident, each) for each in here if each not in raised]
    if not call.cells:
        lines.append(line(("no member has a call at this seq: the number was not used", Tone.UNKNOWN)))
    return tuple(lines)


def _finding_line(incident: Incident, finding: Finding) -> Line:
    word = role_word(incident, finding)
    return line((f"{word}  ", role_mark(incident, finding)[1]), finding.summary, hang=len(word) + 2)


def _side_lines(sides: tuple[SignatureSide, ...]) -> list[Line]:
    """Who asked for what, minority against majority with counts; nothing where all asked for the same."""
    if len(sides) < 2:
        return []
    total = sum(len(side.ranks) for side in sides)
    clear = any(side.reference for side in sides)
    lines = []
    asked = [" ".join(part for part in (side.op if disagree(sides) else "", side.text) if part) for side in sides]
    column = max(28, min(_ASKED, max(map(cell_len, asked)) + 2))
    for number, side in enumerate(sides):
        name = ("majority" if side.reference else "minority") if clear else f"side {'ABCDEFGHIJ'[min(number, 9)]}"
        name = name if disagree(sides) else side.op
        tone = Tone.LEAD if not side.reference else Tone.PLAIN
        head = pad(name, 10) + pad(f"{len(side.ranks):,} of {total:,}", 9)
        lines.append(line((head, tone), (pad(f"{asked[number]} ", column), tone), name_ranks(side.ranks, 12), hang=19))
    if not clear:
        lines.append(line(("no side is the majority: no rank is named", Tone.UNKNOWN), hang=2))
    return lines


def _state_lines(incident: Incident, call: Call) -> tuple[list[Line], list[Line]]:
    """Ranks by their state, worst first: those that did not come or failed, and the others."""
    by_state: defaultdict[tuple[CellState, str], list[Cell]] = defaultdict(list)
    logs = by_log(incident, call.group, call.lane)
    for cell in call.cells:
        by_state[cell.state, "" if cell.state.observed and cell.entries else logs.folded(call.seq, cell)].append(cell)
    if not by_state:
        return [], []
    groups = sorted(by_state.items(), key=lambda each: (_ORDER[each[0][0]], each[1][0].rank))
    named = max(len(_state_words(state, cells)) for (state, _), cells in groups) + 2
    listed = min(26, max(len(ranks_text(cell.rank for cell in cells)) for _, cells in groups) + 2)
    lines = []
    for (state, reason), cells in groups[:12]:
        what = reason or _times(incident, cells)
        head = pad(_state_words(state, cells), named)
        ranks = pad(ranks_text(cell.rank for cell in cells), listed)
        lines.append(
            line((head, state_tone(state)), (ranks, Tone.STRONG), what, hang=named if cell_len(ranks) > 26 else named + listed)
        )
    if len(groups) > 12:
        lines.append(line((f"and {count(len(groups) - 12, 'more state')}", Tone.DIM)))
    bad = sum(state in (CellState.NOT_REQUESTED, CellState.FAILED) for (state, _), _ in groups[:12])
    return lines[:bad], lines[bad:]


def _state_words(state: CellState, cells: Sequence[Cell]) -> str:
    words = f"{state.word}, not completed" if state in _OPEN else state.word
    return f"{words} (by log)" if all(cell.by_log for cell in cells) else words


def _times(incident: Incident, cells: Sequence[Cell]) -> str:
    """When these ranks asked: the first, how far behind it the last, and how far the clocks can be trusted."""
    asked = sorted(entry.created_ns for cell in cells for entry in cell.entries[:1] if entry.created_ns is not None)
    if not asked:
        return "time not recorded"
    if len(cells) == 1:
        done = cells[0].entries[0].completed_ns
        return f"requested {clock_time(asked[0])} UTC" + (f", completed {clock_time(done)}" if done is not None else "")
    missing = len(cells) - len(asked)
    tail = f"; {count(missing, 'time')} not recorded" if missing else ""
    spread = clock_spread(incident, (cell.rank for cell in cells))
    return f"requested first {clock_time(asked[0])} UTC, last +{seconds(asked[-1] - asked[0])} ({spread}){tail}"


def _last_seen(incident: Incident, call: Call, rank: int) -> list[Line]:
    """Where the ranks without a request were last seen in their own code."""
    absent = [cell.rank for cell in call.cells if cell.state is CellState.NOT_REQUESTED]
    if rank in absent:
        absent = [rank, *(each for each in absent if each != rank)]
    lines = []
    for each in absent[:3]:
        newest = incident.view.newest_entries(each, 1)
        if not newest:
            continue
        entry = newest[0]
        frame = own_frame(entry.stack)
        seq = entry.seq if entry.seq is not None else entry.p2p_seq
        at = f"{entry.op.name} {seq}{of_group(incident, entry)}"
        if frame is None:
            lines.append(line(f"rank {each}'s newest entry is {at}; no stack is recorded", hang=2))
            continue
        where = short_frame(frame)
        lines.append(
            line(
                (f"rank {each} was last seen in ", Tone.PLAIN),
                (where, Tone.STRONG),
                f"  ← stack of its newest entry, {at}",
                hang=2,
            )
        )
    if lines and len(absent) > 3:
        lines.append(line((f"and {count(len(absent) - 3, 'more rank')} that did not request it", Tone.DIM)))
    return lines


def status_words(incident: Incident, place: Place, words: str, row: Sequence[int]) -> tuple[str, ...]:
    """Where the cursor is, in words: ``rank 37 · dp_3 1820 · not requested · row of 3 equal ranks · group rank 5 of 8``, and
    the same said shorter and shorter: what stands last goes first, the state is never cut."""
    name = lane_name(incident, place.group, place.lane)
    parts = [f"rank {place.rank}", f"{name} {place.seq}", words]
    if len(row) > 1:
        parts.append(f"row of {len(row):,} equal ranks")
    number = group_number(incident, place.group, place.rank)
    if number:
        parts.append(number)
    forms = [" · ".join(parts[:most]) for most in range(len(parts), 2, -1)]
    brief = words.replace("differs from the majority", "differs").replace("not completed", "open")
    forms += [" · ".join((parts[0], f"{cut_middle(name, room)} {place.seq}", brief)) for room in (24, 12)]
    return tuple(forms)
