"""One rank: where it stands in all its groups, what it waits for, who waits for it, what its log says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.terms import Side
from hangview.text import count, name_ranks
from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import BLANK, Line, Prose, Span, Tone, item, line, pad, wrap
from hangview.tui.text.common import clock_time, group_of, lane_name, op_text, over_there, waits_for_nobody
from hangview.tui.text.stack import outside_lines
from hangview.tui.titles import cut_middle
from hangview.tui.waiting import for_whom_unknown, waits_of

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Position

SHOWN = 24
#: Columns from which on what the dump says and what the log says stand beside each other.
BESIDE = 110
#: Of them for the dump: its table is wide, the lines of a log wrap.
_DUMP = 0.58
_BETWEEN = " │ "
#: Cells that stay free at the end of each half: signs that take more of them where ASCII alone is drawn.
_SLACK = 4


def rank_lines(incident: Incident, rank: int, width: int = 0, live: LiveKeys = USUAL) -> Prose:
    """What is known of a rank, for a pane of ``width`` cells; 0: below each other, however wide it is."""
    beside = width >= BESIDE and incident.logs is not None
    standing, dump, newest = _standing(incident, rank), _dump(incident, rank, narrow=beside), _newest(incident, rank)
    log = _log(incident, rank, live)
    if beside:
        return (*standing, BLANK, *_beside([*dump, BLANK, *newest], log, width))
    return (*standing, BLANK, *dump, BLANK, *log, BLANK, *newest)


def _dump(incident: Incident, rank: int, *, narrow: bool) -> list[Line]:
    head = [line(("its dump says", Tone.HEAD))]
    if rank not in incident.coverage.read:  # what stands here then comes from others' records and from logs
        missing = incident.coverage.missing.get(rank, "none was found")
        head = [line(("where it stands", Tone.HEAD), (f", without a dump of its own: {missing}", Tone.UNKNOWN))]
    return [*head, *_positions(incident, rank, 14 if narrow else 28)]


def _beside(left: list[Line], right: list[Line], width: int) -> list[Line]:
    """Two columns with a rule between them, each wrapped by itself."""
    room = int((width - len(_BETWEEN)) * _DUMP)
    one, other = wrap(left, room - _SLACK), wrap(right, width - len(_BETWEEN) - room - _SLACK)
    rows = []
    for at in range(max(len(one), len(other))):
        first = one[at] if at < len(one) else BLANK
        second = other[at] if at < len(other) else BLANK
        gap = Span(" " * (room - first.width) + _BETWEEN, Tone.DIM)
        rows.append(Line((*first.spans, gap, *second.spans)))
    return rows


def _standing(incident: Incident, rank: int) -> list[Line]:
    every = waits_of(incident)
    waits = [wait for wait in every if wait.rank == rank]
    waited = [wait for wait in every if wait.on == rank]
    untold = [finding for finding in for_whom_unknown(incident) if rank in (*finding.ranks, *finding.others)]
    lines = []
    if rank in incident.leads:
        nobody = waits_for_nobody(incident, rank)
        lines.append(line((f"rank {rank}: look here first", Tone.LEAD), f", others wait for it and {nobody}"))
    elif waits and all(over_there(incident, (wait,)) for wait in waits):
        lines.append(line((f"rank {rank} requested what others did not", Tone.WAITING)))
    elif waits or any(rank in finding.ranks for finding in untold):
        lines.append(line((f"rank {rank} waits", Tone.WAITING)))
    else:
        lines.append(line(f"rank {rank}"))
    for group, lane, seq in dict.fromkeys((wait.group, wait.lane, wait.seq) for wait in waits):
        here = [wait for wait in waits if (wait.group, wait.lane, wait.seq) == (group, lane, seq)]
        unseen = "" if all(wait.observed for wait in here) else " (no record could tell)"
        side = f", {here[0].side.value} side" if here[0].side is not Side.UNKNOWN else ""
        where, on = f"{lane_name(incident, group, lane)} {seq}", name_ranks((wait.on for wait in here), 8)
        over = over_there(incident, here)
        text = f"requested {where} without {on}: {over}" if over else f"waits for {on} in {where}{side}{unseen}"
        lines.append(item(text, Tone.WAITING))
    for group, lane, seq in dict.fromkeys((wait.group, wait.lane, wait.seq) for wait in waited):
        here = [wait for wait in waited if (wait.group, wait.lane, wait.seq) == (group, lane, seq)]
        verb = "waits for it in" if len({wait.rank for wait in here}) == 1 else "wait for it in"
        where = f"{lane_name(incident, group, lane)} {seq}"
        said = f"requested {where} without it" if over_there(incident, here) else f"{verb} {where}"
        lines.append(item(f"{name_ranks((wait.rank for wait in here), 8)} {said}"))
    lines += [item(finding.summary, Tone.WAITING if rank in finding.ranks else Tone.PLAIN) for finding in untold]
    if not waits and not waited and not untold:
        lines.append(item(f"{waits_for_nobody(incident, rank)}, and nobody is known to wait for it", Tone.DIM))
    return lines


def _positions(incident: Incident, rank: int, widest: int) -> list[Line]:
    positions = incident.view.positions(rank)
    if not positions:
        return [line(("no position in any group: nothing of this rank was recorded", Tone.UNKNOWN))]
    named = min(widest, max(len(lane_name(incident, each.group, each.lane)) for each in positions) + 2)
    lines = [line((f"{pad('group', named)}{'newest':>8} {'done':>8} {'open':>8} {'oldest':>8}  newest from", Tone.HEAD))]
    lines += [_position(incident, each, named) for each in positions[:SHOWN]]
    if len(positions) > SHOWN:
        lines.append(line((f"and {count(len(positions) - SHOWN, 'more lane')}", Tone.DIM)))
    return lines


def _position(incident: Incident, each: Position, named: int) -> Line:
    def number(value: int | None) -> str:
        return f"{'none' if value is None else value:>8}"

    tone = Tone.WAITING if each.waits_for else Tone.PLAIN
    counts = f"{number(each.newest)} {number(each.last_done)} {number(each.open_seq)} {number(each.oldest_kept)}  "
    word = "waits for" if each.open_seq is not None else "without"  # where the recorder has it as over
    waits = f", {word} {name_ranks(each.waits_for, 6)}" if each.waits_for else ""
    name = cut_middle(lane_name(incident, each.group, each.lane), named - 2)
    return line(
        (pad(name, named) + counts, tone),
        (each.newest_from + waits, Tone.DIM),
        hang=4,
    )


def _log(incident: Incident, rank: int, live: LiveKeys) -> list[Line]:
    """The log lines that bear on it, or that there are none."""
    head = line(("its log says", Tone.HEAD))
    if incident.logs is None:
        return [head, line(("no log was read", Tone.UNKNOWN))]
    lines: list[Line] = []
    sources = incident.records.sources
    for end in incident.logs.ends:
        if end.rank == rank:
            after = (
                " (follows from the others' end)"
                if end.follower
                else " (before communication)"
                if end.before_communication
                else ""
            )
            lines.append(item(f"{end.what}{after}", Tone.STRONG))
            lines.append(line((f"    {sources[end.line.source].path}:{end.line.number}  {end.line.text}", Tone.DIM), hang=4))
    for told in incident.logs.groups:
        if told.rank == rank:
            name = told.desc or told.name or "a group without a name"
            out = (
                f", timed out in {told.timed_out_op or 'a call'} {told.timed_out_seq}" if told.timed_out_seq is not None else ""
            )
            lines.append(item(f"{name}: requested {told.enqueued}, completed {told.completed}{out}"))
            lines.append(line((f"    {sources[told.line.source].path}:{told.line.number}  {told.line.text}", Tone.DIM), hang=4))
    if not lines:
        lines = [line(("no line of a log bears on this rank", Tone.UNKNOWN))]
    opens = [line((f"{live('open_log')} opens its log", Tone.DIM))] if incident.logs.logs else []
    return [head, *lines, *opens, *outside_lines(incident, (rank,))]


def _newest(incident: Incident, rank: int) -> list[Line]:
    entries = incident.view.newest_entries(rank, 8)
    if not entries:
        return [line(("no entry of this rank was recorded", Tone.UNKNOWN))]
    groups = [group_of(incident, entry.group) for entry in entries]
    names = [group.label if group else "no group" for group in groups]
    named = min(20, max(map(len, names))) + 2
    lines = [line(("its newest entries, all groups", Tone.HEAD))]
    for entry, group, name in zip(entries, groups, names, strict=True):
        seq = entry.seq if entry.seq is not None else entry.p2p_seq
        number = "no seq" if seq is None else f"{seq}"
        op = pad(cut_middle(op_text(entry, group), 21), 22)
        where = pad(cut_middle(name, named - 2), named)
        lines.append(line(f"  {clock_time(entry.created_ns)}  {where}{op}{number:>8}  {entry.reading.word}", hang=4))
    return lines
