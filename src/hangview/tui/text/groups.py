"""The lanes of all groups, leads first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import set_cell_size

from hangview.report.by_log import from_logs_alone
from hangview.terms import COLLECTIVE, Role
from hangview.text import escape
from hangview.tui.grid.plane import label_ranks
from hangview.tui.prose import Tone, clip, line, to_ascii
from hangview.tui.text.common import ROLE_MARKS, ROLE_TONES, group_of, role_mark

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Group, Lane
    from hangview.tui.prose import Line

_ORDER = {Role.LEAD: 0, None: 3, Role.NOTE: 2, Role.WAITING: 1}


def sorted_lanes(incident: Incident) -> list[Lane]:
    """Leads, waiting, notes, other divergences, not judged, agreeing; within those by group and lane."""

    def place(lane: Lane) -> tuple[int, int, int, str]:
        rest = 0 if lane.divergence is not None else 1 if not lane.judged else 2
        return _ORDER[lane.role], rest, lane.group, lane.lane

    return sorted(incident.lanes, key=place)


def mark_of(incident: Incident, lane: Lane) -> tuple[str, Tone]:
    """The sign of a lane: ``!`` lead, ``s`` stands still and nobody is named, ``w`` waiting, ``i`` note, ``d`` diverged,
    ``?`` not judged, ``.`` agrees."""
    if lane.role is Role.LEAD:
        leads = (each for each in incident.findings if each.role is Role.LEAD)
        marks = {role_mark(incident, each) for each in leads if (each.group, each.lane) == (lane.group, lane.lane)}
        if len(marks) == 1:
            return marks.pop()
    if lane.role is not None:
        return ROLE_MARKS[lane.role], ROLE_TONES[lane.role]
    if lane.divergence is not None:
        return "d", Tone.LEAD
    return ("?", Tone.UNKNOWN) if not lane.judged else (".", Tone.DIM)


class Columns(NamedTuple):
    """How wide the numbers of the list are."""

    size: int
    seq: int


def columns_of(incident: Incident) -> Columns:
    """Just wide enough for every lane."""
    sizes = [len(_size(incident, group)) for group in incident.groups]
    seqs = [len(str(_seq(lane))) for lane in incident.lanes]
    return Columns(max(sizes, default=1), max(seqs, default=1))


def _seq(lane: Lane) -> int:
    return lane.divergence if lane.divergence is not None else lane.front


def _size(incident: Incident, group: Group) -> str:
    """How many members; ``"3+"`` where only those are known whose logs tell of the group."""
    return f"{len(group.ranks):,}{'+' if group.inferred and from_logs_alone(incident) else ''}"


def lane_line(incident: Incident, lane: Lane, width: int, columns: Columns, *, ascii_only: bool = False) -> Line:
    """``! dp_3      8   1820``: sign, name, members, the first divergence or else the newest seq; exactly ``width`` cells."""
    group = group_of(incident, lane.group)
    members = ""
    if lane.lane != COLLECTIVE:
        members = f" {lane.lane}"
    elif group and group.beside:
        members = f" {label_ranks(sorted(group.ranks), 9)}"  # several groups go by this name
    sign, tone = mark_of(incident, lane)
    size = _size(incident, group) if group else "?"
    numbers = f"  {size:>{columns.size}}  {_seq(lane):>{columns.seq}}"
    row = Row(sign, tone, group.called if group else "?", members, numbers, tone if lane.role is Role.LEAD else Tone.PLAIN)
    return row_line(row, width, ascii_only=ascii_only)


class Row(NamedTuple):
    """A group in the list: its sign, its name with what tells it from others of that name, and what must stay in sight."""

    sign: str
    tone: Tone
    name: str
    members: str
    numbers: str
    name_tone: Tone = Tone.PLAIN


def row_line(row: Row, width: int, *, ascii_only: bool) -> Line:
    """Exactly ``width`` cells; what does not fit is taken from the name.

    ``ascii_only``: spelled in ASCII here already, for signs that take more cells then would push the numbers out of sight.
    """
    name = escape(row.name)
    name = to_ascii(name) if ascii_only else name
    room = max(4, width - 2 - len(row.numbers))
    left = max(2, room - len(row.members))
    short = clip(line(name), left, "..." if ascii_only else "…").text
    shown = set_cell_size(short + row.members, room)
    return line((f"{row.sign} ", row.tone), (shown, row.name_tone), (row.numbers, Tone.DIM))
