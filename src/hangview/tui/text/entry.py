"""One rank's entry at one call: requested, started, completed, as recorded and as read, and what was not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.report.by_log import by_log
from hangview.schema import CellState
from hangview.text import count
from hangview.tui.prose import Line, Prose, Tone, field, line
from hangview.tui.sides import disagree
from hangview.tui.text.common import clock_time, full_time, lane_name, of_group, state_tone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.incident import Incident
    from hangview.report.by_log import ByLog
    from hangview.schema import Signature
    from hangview.terms import Call, Cell, Entry

#: Of a rank that is observed not to have requested anything at all.
_NO_RECORD = "its dump is whole and holds no call: it stopped before its first one, or its recorder was off (see its settings)"
#: The same by what counts for a rank beside its records.
_BY_LOG = "this is evidence of absence: its log gives the rank's own counters, and these stop below this seq"
_BY_COUNTER = "this is evidence of absence: the rank's own counters stop below this seq"
_LOG_STOPS = (
    "its log stops below this seq and it stood or waited itself then: that is no sign against it; a dump would tell more"
)
#: What would have to be there to know more, by state.
_WOULD_TELL = {
    CellState.NOT_REQUESTED: "this is evidence of absence: the dump covers this seq and the rank's records stop below it",
    CellState.OVERWRITTEN: "a longer buffer (TORCH_FR_BUFFER_SIZE) would still hold it; whether the rank called is not known",
    CellState.OMITTED: "only unfinished entries were dumped; a full dump would show it",
    CellState.CUT: "the rest of the file would show it; whether the rank called is not known",
    CellState.NO_DUMP: "a dump of this rank would tell; that there is none does not say that the rank did not call",
    CellState.GROUP_ABSENT: "the rank never made this group, or stood in making it; its records of other groups may tell",
    CellState.BEFORE_DUMP: "a later dump of this rank would tell; this one was written too early to know",
    CellState.NOT_RECORDED: "neither a record nor a counter reaches here; whether the rank called is not known",
}


def entry_lines(incident: Incident, call: Call, rank: int) -> Prose:
    """The pane for the cursor's cell; every part that a dump may hold is named, also where it was not recorded."""
    cell = next((each for each in call.cells if each.rank == rank), None)
    where = f"{lane_name(incident, call.group, call.lane)} {call.seq}"
    if cell is None:
        return (line((f"rank {rank} has no cell at {where}: no member called it there, or it is no member", Tone.UNKNOWN)),)
    words = cell.state.word + _difference(call, differs=cell.differs) + (", by its log" if cell.by_log else "")
    lines = [line(f"rank {rank} at {where}: ", (words, state_tone(cell.state, differs=cell.differs)))]
    logs = by_log(incident, call.group, call.lane)
    if cell.reason:
        lines.append(field("why", logs.reason(call.seq, cell)))
    newest = () if cell.entries else incident.view.newest_entries(rank, 1)
    if cell.state in _WOULD_TELL:
        tone = Tone.PLAIN if cell.state is CellState.NOT_REQUESTED else Tone.UNKNOWN
        lines.append(field("so", (_so(incident, call, cell, newest, logs), tone)))
    if not cell.entries:
        lines.append(_newest(incident, newest, logs.counters(rank)))
    if len(cell.entries) > 1:
        lines.append(line((f"{count(len(cell.entries), 'record')}: a coalesced batch", Tone.HEAD)))
    for number, entry in enumerate(cell.entries[:8]):
        if number:
            lines.append(line((f"record {number + 1} of {len(cell.entries)}", Tone.HEAD)))
        lines += _record_lines(incident, entry)
    if len(cell.entries) > 8:
        lines.append(line((f"and {count(len(cell.entries) - 8, 'more record')}", Tone.DIM)))
    return tuple(lines)


def _difference(call: Call, *, differs: bool) -> str:
    """That it asked for something else than the majority, or that there is none."""
    if not differs:
        return ""
    without = disagree(call.sides) and not any(side.reference for side in call.sides)
    return ", one side of a call without a majority" if without else ", differs from the majority"


def _so(incident: Incident, call: Call, cell: Cell, newest: Sequence[Entry], logs: ByLog) -> str:
    """What follows from a cell that nothing was observed in."""
    if cell.state is not CellState.NOT_REQUESTED:
        stood = cell.rank in logs.busy and logs.stops_below(call.seq, cell)
        return _LOG_STOPS if stood else _WOULD_TELL[cell.state]
    if cell.by_log:
        return f"{_BY_LOG}; it stood or waited itself then" if cell.rank in logs.busy else _BY_LOG
    positions = incident.view.positions(cell.rank)
    if not newest and not any(each.newest for each in positions):
        return _NO_RECORD
    here = next((each for each in positions if (each.group, each.lane) == (call.group, call.lane)), None)
    return _BY_COUNTER if here is not None and here.newest_from == "counter" else _WOULD_TELL[cell.state]


def _newest(incident: Incident, newest: Sequence[Entry], by_its_log: str) -> Line:
    """The last thing that was recorded of a rank that has no entry here."""
    if not newest:
        told = f"; by its log: {by_its_log}" if by_its_log else ""
        return field("newest", (f"no entry of this rank was recorded{told}", Tone.UNKNOWN))
    entry = newest[0]
    seq = entry.seq if entry.seq is not None else entry.p2p_seq
    done = f", completed {clock_time(entry.completed_ns)}" if entry.completed_ns is not None else ", completion not recorded"
    text = f"{entry.op.name} {seq}{of_group(incident, entry)}, {entry.reading.word}: requested "
    return field("newest", f"{text}{clock_time(entry.created_ns)} UTC{done}", ", over all its groups")


def _record_lines(incident: Incident, entry: Entry) -> list[Line]:
    retired = ", retired" if entry.retired else ", not retired"
    lines = [
        field("state", f"{entry.state or 'none'}{retired}, as recorded → {entry.reading.word}, as read"),
        field("requested", _time(entry.created_ns)),
        field("started", _time(entry.started_ns)),
        field("completed", _time(entry.completed_ns)),
        field("duration", _or_not(f"{entry.duration_ms:,.3f} ms" if entry.duration_ms is not None else None)),
        field("time-out", _or_not(f"{entry.timeout_ms / 1000:,.0f} s" if entry.timeout_ms is not None else None)),
        field("operation", entry.op.text),
        field("in", *_sizes(entry.signature, "in")),
        field("out", *_sizes(entry.signature, "out")),
        field("thread", _or_not(f"{entry.thread.id} {entry.thread.name}".strip() or None)),
        field("record", *_identity(incident, entry)),
    ]
    missing = [name for name, value in _optional(entry).items() if value is None]
    if missing:
        lines.append(field("not recorded", (", ".join(missing), Tone.UNKNOWN), width=14))
    return lines


def _optional(entry: Entry) -> dict[str, object]:
    """The parts that a recorder may leave out and that have no line of their own to say so."""
    return {"stack": entry.stack or None, "record number": entry.record_id}


def _time(ns: int | None) -> tuple[str, Tone]:
    return full_time(ns), Tone.PLAIN if ns is not None else Tone.UNKNOWN


def _or_not(text: str | None) -> tuple[str, Tone]:
    return (text, Tone.PLAIN) if text is not None else ("not recorded", Tone.UNKNOWN)


def _sizes(signature: Signature, side: str) -> list[tuple[str, Tone]]:
    sizes, dtypes = (
        (signature.input_sizes, signature.input_dtypes) if side == "in" else (signature.output_sizes, signature.output_dtypes)
    )
    if not sizes:
        return [("no tensor recorded", Tone.UNKNOWN)]
    shown = []
    for at, shape in enumerate(sizes[:6]):
        elements = 1
        for extent in shape:
            elements *= extent
        dtype = dtypes[at] if dtypes is not None and at < len(dtypes) else "dtype not recorded"
        shown.append(f"[{', '.join(f'{extent}' for extent in shape)}] {dtype}, {count(elements, 'element')}")
    more = f" and {count(len(sizes) - 6, 'more tensor')}" if len(sizes) > 6 else ""
    return [("; ".join(shown) + more, Tone.PLAIN)]


def _identity(incident: Incident, entry: Entry) -> list[str]:
    sources = incident.records.sources
    path = sources[entry.source].path if entry.source < len(sources) else "unknown file"
    parts = [
        f"record_id {entry.record_id}" if entry.record_id is not None else None,
        f"pg_id {entry.pg_id}" if entry.pg_id is not None else None,
        f"seq {entry.seq}" if entry.seq is not None else None,
        f"p2p_seq {entry.p2p_seq}" if entry.p2p_seq is not None else None,
        f"op_id {entry.op_id}" if entry.op_id is not None else None,
    ]
    return [f"{path}, entry {entry.position} of the file, " + ", ".join(part for part in parts if part)]
