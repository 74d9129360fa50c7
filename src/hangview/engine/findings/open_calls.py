"""Calls that are not over, where nothing else is found: of a job that runs, or of one that stands still."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.engine.findings.case import place_order
from hangview.engine.still import stands
from hangview.engine.waits import End
from hangview.engine.words import ONCE_MORE, agrees, compare_first, not_concluded
from hangview.terms import COLLECTIVE, Finding, Kind, Role, Side

if TYPE_CHECKING:
    from hangview.engine.evidence import Telling
    from hangview.engine.findings.case import Case
    from hangview.engine.waits import Place


def open_calls(case: Case, tell: Telling) -> list[Finding]:
    """The call that most ranks are in; a lead to where, never to a rank, if it is known that it stands still."""
    inside: dict[Place, set[int]] = defaultdict(set)
    waited_for: dict[Place, set[int]] = defaultdict(set)
    for rank, ends in case.graph.ends.items():
        for place in ends:
            inside[place].add(rank)
    for rank, edges in case.graph.edges.items():
        for edge in edges:
            inside[edge.place].add(rank)
            waited_for[edge.place].add(edge.on)
    if not inside:
        return []
    standing = {place: any(stands(case.still, place, rank) for rank in ranks) for place, ranks in inside.items()}
    place = min(inside, key=lambda p: (not standing[p], -len(inside[p]), place_order(case, p)))
    ranks, still = tuple(sorted(inside[place])), standing[place]
    who, call = tell.ranks(ranks), tell.call(case.stalls, place)
    over = any(case.graph.ends.get(rank, {}).get(place) is End.LAG for rank in ranks)
    elsewhere = _over_on(case, place) if over else ()
    summary = f"{who} {agrees(who, 'is', 'are')} in {call}, which is not over there"
    if elsewhere:
        summary += f" and over on {tell.ranks(elsewhere)}"
    if not still:
        summary += "; whether the job stood still or ran on is not recorded"
    kind = Kind.PARTLY_COMPLETED if elsewhere else Kind.NOT_OBSERVED
    about = ranks if elsewhere else tuple(sorted(waited_for[place])) or ranks
    return [
        Finding(
            kind, Role.LEAD if still else Role.NOTE, about, (), place[0], place[1], place[2],
            tell.op_at(case.stalls, place), Side.UNKNOWN, summary, tell.requests(case.stalls, place, ranks),
            ("" if still else ONCE_MORE) + compare_first(kind, tell.ranks(about)),
            not_concluded(kind, tell.ranks(about)),
        )
    ]  # fmt: skip


def _over_on(case: Case, place: Place) -> tuple[int, ...]:
    """Who finished the call; of a message the other end."""
    if place[1] == COLLECTIVE:
        return case.stalls[place[0], place[2]].done
    ends = tuple(int(rank) for rank in place[1].removeprefix("p2p ").split("->"))
    return tuple(rank for rank in ends if place not in case.graph.ends.get(rank, {}))
