"""One rank: where it stands in all its groups, what it waits for, who waits for it, what its log says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.text import count, name_ranks
from hangview.tui.prose import BLANK, Line, Prose, Tone, item, line, pad
from hangview.tui.text.common import clock_time, lane_name

if TYPE_CHECKING:
    from hangview.incident import Incident, Position

SHOWN = 24


def rank_lines(incident: Incident, rank: int) -> Prose:
    lines = [
        *_standing(incident, rank),
        BLANK,
        *_positions(incident, rank),
        *_log(incident, rank),
        BLANK,
        *_newest(incident, rank),
    ]
    return tuple(lines)


def _standing(incident: Incident, rank: int) -> list[Line]:
    waits = [wait for wait in incident.waits if wait.rank == rank]
    waited = [wait for wait in incident.waits if wait.on == rank]
    lines = []
    if rank in incident.leads:
        lines.append(line((f"rank {rank}: look here first", Tone.LEAD), ", others wait for it and it waits for nobody"))
    elif waits:
        lines.append(line((f"rank {rank} waits", Tone.WAITING)))
    else:
        lines.append(line(f"rank {rank}"))
    for group, lane, seq in dict.fromkeys((wait.group, wait.lane, wait.seq) for wait in waits):
        here = [wait for wait in waits if (wait.group, wait.lane, wait.seq) == (group, lane, seq)]
        unseen = "" if all(wait.observed for wait in here) else " (no record could tell)"
        where = f"{lane_name(incident, group, lane)} {seq}, {here[0].side.value} side{unseen}"
        text = f"waits for {name_ranks((wait.on for wait in here), 8)} in {where}"
        lines.append(item(text, Tone.WAITING))
    for group, lane, seq in dict.fromkeys((wait.group, wait.lane, wait.seq) for wait in waited):
        here = [wait for wait in waited if (wait.group, wait.lane, wait.seq) == (group, lane, seq)]
        verb = "waits" if len({wait.rank for wait in here}) == 1 else "wait"
        lines.append(
            item(f"{name_ranks((wait.rank for wait in here), 8)} {verb} for it in {lane_name(incident, group, lane)} {seq}")
        )
    if not waits and not waited:
        lines.append(item("waits for nobody, and nobody is known to wait for it", Tone.DIM))
    return lines


def _positions(incident: Incident, rank: int) -> list[Line]:
    positions = incident.view.positions(rank)
    if not positions:
        return [line(("no position in any group: nothing of this rank was recorded", Tone.UNKNOWN))]
    named = min(28, max(len(lane_name(incident, each.group, each.lane)) for each in positions) + 2)
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
    waits = f", waits for {name_ranks(each.waits_for, 6)}" if each.waits_for else ""
    return line(
        (pad(lane_name(incident, each.group, each.lane), named) + counts, tone), (each.newest_from + waits, Tone.DIM), hang=4
    )


def _log(incident: Incident, rank: int) -> list[Line]:
    """The log lines that bear on it, or that there are none."""
    if incident.logs is None:
        return [BLANK, line(("no log was read", Tone.UNKNOWN))]
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
    head = line(("its log says", Tone.HEAD))
    return [BLANK, head, *lines] if lines else [BLANK, line(("no line of a log bears on this rank", Tone.UNKNOWN))]


def _newest(incident: Incident, rank: int) -> list[Line]:
    entries = incident.view.newest_entries(rank, 8)
    if not entries:
        return [line(("no entry of this rank was recorded", Tone.UNKNOWN))]
    lines = [line(("its newest entries, all groups", Tone.HEAD))]
    for entry in entries:
        seq = entry.seq if entry.seq is not None else entry.p2p_seq
        number = "no seq" if seq is None else f"{seq}"
        lines.append(line(f"  {clock_time(entry.created_ns)}  {pad(entry.op.text, 26)} {number:>8}  {entry.reading.word}"))
    return lines
