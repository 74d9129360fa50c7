"""Place: where the cursor is, and where it is again in a new Incident."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from hangview.terms import COLLECTIVE

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Finding, Lane


class Place(NamedTuple):
    """One cell: a group's id, a lane, a seq, a rank."""

    group: int
    lane: str
    seq: int
    rank: int


def lane_at(incident: Incident, group: int, lane: str) -> Lane | None:
    return next((each for each in incident.lanes if (each.group, each.lane) == (group, lane)), None)


def ranks_of(incident: Incident, group: int, lane: str) -> tuple[int, ...]:
    """World ranks that have a row in this lane, ascending; no cell is looked at."""
    if lane_at(incident, group, lane) is None:
        return ()
    if lane != COLLECTIVE:
        return incident.view.grid(group, lane).ranks
    return next((tuple(sorted(each.ranks)) for each in incident.groups if each.id == group), ())


def place_of(incident: Incident, finding: Finding) -> Place | None:
    """The cell a finding is about: its lowest rank at its call; None for a finding that is about no call."""
    if finding.group is None or finding.lane is None:
        return None
    lane = lane_at(incident, finding.group, finding.lane)
    if lane is None:
        return None
    seq = _seq_in(lane, finding)
    members = ranks_of(incident, finding.group, finding.lane)
    rank = next((rank for rank in (*finding.ranks, *finding.others) if rank in members), members[0] if members else 0)
    return Place(finding.group, finding.lane, seq, rank)


def findings_by_call(incident: Incident) -> dict[tuple[int, str, int], list[int]]:
    """The numbers of the findings at each call, as (group, lane, seq); made once: it is asked at each step of the cursor."""
    lanes = {(lane.group, lane.lane): lane for lane in incident.lanes}
    found: defaultdict[tuple[int, str, int], list[int]] = defaultdict(list)
    for number, finding in enumerate(incident.findings):
        lane = lanes.get((finding.group, finding.lane)) if finding.group is not None and finding.lane is not None else None
        if lane is not None:
            found[lane.group, lane.lane, _seq_in(lane, finding)].append(number)
    return dict(found)


def _seq_in(lane: Lane, finding: Finding) -> int:
    """The finding's number as far as the grid has a column for it, else its lane's divergence, else the lane's newest."""
    seq = finding.seq if finding.seq is not None else lane.divergence if lane.divergence is not None else lane.front
    return min(max(seq, lane.first), lane.front)


def opening_of(incident: Incident, lane: Lane) -> Place:
    """Where a lane opens: its finding of the highest role, else its divergence, else its newest seq."""
    for finding in incident.findings:
        if (finding.group, finding.lane) == (lane.group, lane.lane):
            found = place_of(incident, finding)
            if found is not None:
                return found
    members = ranks_of(incident, lane.group, lane.lane)
    return Place(
        lane.group, lane.lane, lane.divergence if lane.divergence is not None else lane.front, members[0] if members else 0
    )


def same_place(old: Incident, place: Place, new: Incident) -> Place | None:
    """``place`` of ``old`` in ``new``, where groups may have other ids: a group is (name, members). None when it is gone.

    A group whose members were inferred may have grown by a rank that has just appeared, so the name with the most members in
    common is taken where no group is equal.
    """
    group = next((each for each in old.groups if each.id == place.group), None)
    if group is None:
        return None
    members = set(group.ranks)
    named = [each for each in new.groups if (each.name, each.desc) == (group.name, group.desc)]
    named = [each for each in named if members & set(each.ranks)]
    if not named:
        return None
    best = max(named, key=lambda each: (set(each.ranks) == members, len(members & set(each.ranks)), -each.id))
    return place._replace(group=best.id) if lane_at(new, best.id, place.lane) else None
