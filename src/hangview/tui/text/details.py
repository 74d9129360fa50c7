"""The way down from a cell: call, entry, stack, source, rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.text.call import call_lines, call_title
from hangview.tui.text.common import lane_name
from hangview.tui.text.entry import entry_lines
from hangview.tui.text.rank import rank_lines
from hangview.tui.text.source import source_lines
from hangview.tui.text.stack import stack_lines

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Finding
    from hangview.tui.place import Place
    from hangview.tui.prose import Prose
    from hangview.tui.titles import Title

LEVELS = ("call", "entry", "stack", "source", "rank")


def way_down(level: int) -> tuple[str, str, str]:
    """Where ``level`` lies on the way down, in full, with its neighbours left out, and alone."""
    names = [each.upper() if at == level else each for at, each in enumerate(LEVELS)]
    above, below = "… › " if level else "", " › …" if level + 1 < len(LEVELS) else ""
    return " › ".join(names), f"{above}{names[level]}{below}", names[level]


def details(
    incident: Incident, place: Place, level: int, told: Finding | None = None, *, width: int = 0, live: LiveKeys = USUAL
) -> tuple[Title, Prose]:
    """Title and text of one level for the cell at ``place``; ``told`` is a finding that stands elsewhere on the screen.

    ``width`` cells are there for it (0: not known), and ``live`` are the keys that it names.
    """
    name = LEVELS[level]
    call = incident.view.call(place.group, place.lane, place.seq)
    if name == "call":
        return call_title(incident, call), call_lines(incident, call, place.rank, told)
    where = f"rank {place.rank} · {lane_name(incident, place.group, place.lane)} {place.seq}"
    title = tuple(f"{where} · {way}" for way in way_down(level))
    if name == "entry":
        return title, entry_lines(incident, call, place.rank)
    if name == "stack":
        return title, stack_lines(incident, call, place.rank)
    if name == "source":
        return title, source_lines(incident, place.rank)
    return title, rank_lines(incident, place.rank, width, live)
