"""Which of several calls that a rank did not request is told first: the one where its program stopped, not what follows."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from math import inf
from typing import TYPE_CHECKING

from hangview.engine.findings.case import place_order
from hangview.terms import COLLECTIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.engine.findings.case import Case
    from hangview.engine.stalls import Stall
    from hangview.engine.waits import Edge, Place


def first_to_tell(case: Case, arrows: Mapping[int, Mapping[Place, Sequence[Edge]]]) -> dict[int, Place]:
    """Of the places where others wait for a rank the one to tell first, by rank.

    Ranks that are missed by most in the same call are told together: in the call that comes first in the program of each of
    them, where that is the same one and the members of its group are recorded; else in the one in which most wait.
    """
    together: dict[Place, list[int]] = defaultdict(list)
    earliest: dict[int, Place] = {}
    for rank, places in arrows.items():
        alike = _alike(case, rank, places)
        together[alike[0]].append(rank)
        earliest[rank] = _earliest(case, alike)
    out: dict[int, Place] = {}
    for place, ranks in together.items():
        firsts = {earliest[rank] for rank in ranks}
        first = firsts.pop()
        shared = not firsts and (len(ranks) == 1 or not case.groups[first[0]].inferred)
        out.update(dict.fromkeys(ranks, first if shared else place))
    return out


def _alike(case: Case, rank: int, places: Mapping[Place, Iterable[Edge]]) -> Sequence[Place]:
    """The places that may be told first, the one in which most wait at the beginning.

    Of a lane its first call that the rank did not request, whoever waits in later ones. Of lanes collectives; of groups those
    that the rank's dump knows.
    """
    first: dict[tuple[int, str], Place] = {}
    waiters: dict[tuple[int, str], set[int]] = defaultdict(set)
    for place in sorted(places, key=lambda p: p[2]):
        first.setdefault(place[:2], place)
        waiters[place[:2]] |= {edge.rank for edge in places[place]}

    def unlikely(place: Place) -> tuple[bool, bool]:
        return place[1] != COLLECTIVE, place[1] == COLLECTIVE and rank in case.stalls[place[0], place[2]].absent

    least = min(unlikely(place) for place in first.values())
    alike = (place for place in first.values() if unlikely(place) == least)
    return sorted(alike, key=lambda place: (-len(waiters[place[:2]]), place_order(case, place)))


def _earliest(case: Case, alike: Sequence[Place]) -> Place:
    """The call that comes first in the program: by the files of others, and where these do not say by when it was requested.

    Times of two machines may be apart by more than is known: they choose among calls that the rank is known not to have
    requested, and nothing else.
    """
    if alike[0][1] != COLLECTIVE:
        return alike[0]
    left = _not_following([case.stalls[place[0], place[2]] for place in alike])
    ahead = {rank: clock.offset_ns for clock in case.clocks for rank in clock.ranks}
    since = {stall.group: at for stall in left if (at := _requested_ns(stall, ahead)) is not None}
    if len(since) == len(left):
        soon = min(since.values()) + max((clock.spread_ns for clock in case.clocks), default=0)
        left = [stall for stall in left if since[stall.group] <= soon]
    return left[0].group, COLLECTIVE, left[0].seq


def _not_following(missed: Sequence[Stall]) -> Sequence[Stall]:
    """Those calls that do not follow another one: who waits in one call and requested the other later, or not at all, comes to
    that one first. All of them where orders contradict."""
    before = {
        (one.group, other.group)
        for one, other in permutations(missed, 2)
        for rank in set(one.waiting) & {*other.missing, *other.waiting}
        if rank in other.missing or one.positions.get(rank, inf) < other.positions.get(rank, -inf)
    }
    following = {other for one, other in before if (other, one) not in before}
    return [stall for stall in missed if stall.group not in following] or missed


def _requested_ns(stall: Stall, ahead: Mapping[int, int]) -> int | None:
    """When the first of those who wait in a call requested it, by the median of all clocks as far as they are known; None where
    one of them has no time."""
    asked: dict[int, int | None] = {row["rank"]: row["created_ns"] for row in stall.rows if row["rank"] in stall.waiting}
    times = [at - ahead.get(rank, 0) for rank, at in asked.items() if at is not None]
    return min(times) if len(times) == len(stall.waiting) else None
