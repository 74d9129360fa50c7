"""Search: what was typed, and where it leads. Plain values in, places out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hangview.incident import COLLECTIVE
from hangview.schema import CellState
from hangview.text import parse_ranks
from hangview.tui.place import Place, lane_at, opening_of, place_of, ranks_of
from hangview.tui.text.groups import sorted_lanes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.incident import Incident
    from hangview.tui.grid.plane import Plane

MOST = 500

_TYPED = re.compile(r"\s*(rank|seq|group)s?\s+(.+?)\s*$", re.IGNORECASE)


def search(incident: Incident, typed: str, here: Place) -> list[Place]:
    """Places that match, in the order in which they are stepped through.

    ``rank 37``: that rank in each of its lanes, where it stands. ``seq 1820``: that call, in the present lane first.
    ``group dp``: lanes whose group's name or description holds the text. Anything else: a number is a rank; text is looked
    for in groups, findings, operations and function names. Raises ``ValueError`` with one line for a rank that is no number.
    """
    typed = typed.strip()
    if not typed:
        return []
    match = _TYPED.match(typed)
    if match is not None:
        kind, rest = match[1].lower(), match[2]
        if kind == "group":
            return _groups(incident, rest)
        if not rest.isdigit():
            raise ValueError(f"{kind} needs a number, as in: {kind} 37")
        return _rank(incident, int(rest)) if kind == "rank" else _seq(incident, int(rest), here)
    if typed.isdigit():
        return _rank(incident, int(typed)) or _seq(incident, int(typed), here)
    return _unique([*_groups(incident, typed), *_findings(incident, typed), *_records(incident, typed)])


def _unique(places: Iterable[Place]) -> list[Place]:
    return list(dict.fromkeys(places))[:MOST]


def _rank(incident: Incident, rank: int) -> list[Place]:
    """Where it stands in each lane: its open request, else its newest seq, else where the lane diverges."""
    places = []
    for position in incident.view.positions(rank):
        lane = lane_at(incident, position.group, position.lane)
        if lane is None or rank not in ranks_of(incident, lane.group, lane.lane):
            continue
        known = (position.open_seq, lane.divergence, position.newest, lane.front)
        places.append(Place(lane.group, lane.lane, next(seq for seq in known if seq is not None), rank))
    listed = {(place.group, place.lane) for place in places}
    others = (lane for lane in sorted_lanes(incident) if (lane.group, lane.lane) not in listed)
    mine = (lane for lane in others if rank in ranks_of(incident, lane.group, lane.lane))
    places.extend(opening_of(incident, lane)._replace(rank=rank) for lane in mine)  # no dump: cells, but no position
    return places[:MOST]


def _seq(incident: Incident, seq: int, here: Place) -> list[Place]:
    lanes = [lane for lane in sorted_lanes(incident) if lane.first <= seq <= lane.front]
    lanes.sort(key=lambda lane: (lane.group, lane.lane) != (here.group, here.lane))
    places = []
    for lane in lanes[:MOST]:
        members = ranks_of(incident, lane.group, lane.lane)
        if members:
            places.append(Place(lane.group, lane.lane, seq, here.rank if here.rank in members else members[0]))
    return places


def _groups(incident: Incident, text: str) -> list[Place]:
    wanted = text.casefold()
    groups = {group.id for group in incident.groups if wanted in f"{group.desc}\n{group.name}".casefold()}
    return [opening_of(incident, lane) for lane in sorted_lanes(incident) if lane.group in groups][:MOST]


def _findings(incident: Incident, text: str) -> list[Place]:
    wanted = text.casefold()
    found = (place_of(incident, finding) for finding in incident.findings if wanted in finding.summary.casefold())
    return [place for place in found if place is not None]


def _records(incident: Incident, text: str) -> list[Place]:
    """Calls whose operation or stack holds the text, newest first."""
    wanted = text.casefold()
    records = incident.records
    ops = [at for at, op in enumerate(records.ops) if wanted in op.text.casefold() or wanted in op.family]
    names = ("\n".join(f"{each.name} {each.filename}" for each in stack).casefold() for stack in records.stacks)
    stacks = [at for at, text in enumerate(names) if wanted in text]
    frame = incident.entries
    if not (ops or stacks) or frame.is_empty():
        return []
    import polars as pl

    hits = (
        frame.lazy()
        .filter(pl.col("op").is_in(ops) | pl.col("stack").is_in(stacks))
        .filter(pl.col("group").is_not_null() & pl.col("seq").is_not_null() & ~pl.col("is_p2p"))
        .group_by("group", "seq")
        .agg(pl.col("rank").min())
        .sort("seq", "group", descending=[True, False])
        .head(MOST)
        .collect()
    )
    places = [Place(group, COLLECTIVE, seq, rank) for group, seq, rank in hits.iter_rows()]
    return [place for place in places if lane_at(incident, place.group, place.lane)]


def filtered_ranks(plane: Plane, typed: str, leads: Iterable[int], marked: Iterable[int]) -> set[int]:
    """Ranks of the lane to keep: a list (``0-7,12``), a state's word, ``differs``, ``lead`` or ``marked``.

    Raises ``ValueError`` with one line that says what may be typed.
    """
    word = " ".join(typed.casefold().split())
    for state in CellState:
        if word == state.word:
            return plane.in_state(state)
    if word == "differs":
        return plane.differing()
    if word in ("lead", "leads", "marked"):
        return set(marked if word == "marked" else leads) & set(plane.ranks)
    try:
        return set(parse_ranks(typed)) & set(plane.ranks)
    except ValueError as error:
        raise ValueError(f"{error}; or a state (not requested), differs, lead, marked") from None
