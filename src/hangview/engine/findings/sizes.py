"""A send and its receive that ask for different amounts of data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.engine.words import compare_first, not_concluded
from hangview.terms import Evidence, Finding, Kind, Role, Side, p2p_lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.evidence import Telling
    from hangview.engine.findings.case import Case
    from hangview.engine.p2p import P2PLane
    from hangview.engine.uneven import Uneven
    from hangview.engine.waits import Place


def uneven(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    """Of each lane the first such message that is stuck, a lead that names nobody, or else the first that is over, a note."""
    out = []
    for key, found in sorted(case.traffic.uneven.items()):
        lane = case.traffic.lanes[key]
        stuck = [each for each in found if not each.over]
        first = (stuck or found)[0]
        if stuck:
            told.add((lane.group, p2p_lane(lane.source, lane.target), first.number))
        out.append(_finding(case, tell, lane, first, found))
    return out


def _finding(case: Case, tell: Telling, lane: P2PLane, first: Uneven, found: Sequence[Uneven]) -> Finding:
    name, label = p2p_lane(lane.source, lane.target), case.groups[lane.group].label
    ranks = tuple(sorted((lane.source, lane.target)))
    who = tell.ranks(ranks)
    sent, received = f"rank {lane.source} sends {first.send.text}", f"rank {lane.target} receives {first.recv.text}"
    more = len(found) - 1
    if first.over:
        tail = "; the message is over all the same" + (f", and {more} more like it" if more else "")
    else:
        tail = "; the message is not over"
    return Finding(
        Kind.DIFFERENT_SIZE, Role.NOTE if first.over else Role.LEAD, ranks, (), lane.group, name, first.number, "send/recv",
        Side.HOST, f"{sent} where {received} ({name}, number {first.number}, {label}){tail}",
        tuple(
            Evidence(f"{text}{tell.file(side.source, side.record_id)}", side.source, side.record_id)
            for text, side in ((sent, first.send), (received, first.recv))
        ),
        compare_first(Kind.DIFFERENT_SIZE, who),
        (not_concluded(Kind.DIFFERENT_SIZE, who)[0], not_concluded(Kind.UNPAIRED_P2P, who)[0]),
        (
            f"Send {first.number} of {name} in {label} meets receive {first.number}: messages of two ranks keep their order.",
            f"{sent[0].upper()}{sent[1:]}, {received}.",
            "Two ends are no majority, so nobody is named.",
        ),
    )  # fmt: skip
