"""Members that nothing tells of: a lead to the files, never to the rank."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.engine.evidence import Telling
from hangview.engine.findings.case import Case, older, place_order
from hangview.engine.findings.first import first_to_tell
from hangview.engine.still import a_moment, stands
from hangview.engine.waits import Edge, End, Place
from hangview.engine.words import agrees, compare_first, not_concluded
from hangview.producers import producer_of
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.engine.evidence import Telling
    from hangview.engine.waits import Edge, Place


#: A dump whose newest record is this much older than the request may have been written while the job still ran.
_ALIVE_NS = 60 * 10**9


def not_observed(case: Case, tell: Telling, told: set[Place], named: bool) -> list[Finding]:
    """Members without a usable record that somebody waits for: a lead to the files, never to the rank."""
    arrows: dict[int, dict[Place, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for rank, edges in case.graph.blind.items():
        for edge in edges:
            arrows[rank][edge.place].append(edge)
    explained = _explained(case)
    by_primary: dict[Place, list[int]] = defaultdict(list)
    running = {
        rank
        for rank, places in arrows.items()
        if older(case, rank) and all(_running(case, rank, p, len(edges)) for p, edges in places.items())
    }
    told_of = {rank: places for rank, places in arrows.items() if rank not in running}
    for rank, primary in first_to_tell(case, told_of).items():
        by_primary[primary].append(rank)
    out = []
    unseen = {rank for ranks in by_primary.values() for rank in ranks}
    for place, first in sorted(by_primary.items(), key=lambda x: place_order(case, x[0])):
        ranks = sorted(rank for rank in unseen if place in arrows[rank])  # also those that are more missed elsewhere
        waiters = sorted({e.rank for r in ranks for e in arrows[r][place]})
        open_chain = any(r not in explained for rs in (waiters,) for r in rs)
        role = Role.LEAD if (open_chain or not named) and not _fresh(case, tell, place, waiters) else Role.NOTE
        elsewhere = {p for rank in first for p in arrows[rank]} - told - set(by_primary)
        told.add(place)
        group, op, who = case.groups[place[0]], tell.op_at(case.stalls, place), tell.ranks(ranks)
        verb = "wait" if len(waiters) > 1 else "waits"
        call = tell.call(case.stalls, place)
        why = tell.reasons(place, ranks)
        usual = _usual(case, ranks)
        out.append(
            Finding(
                Kind.NOT_OBSERVED, role, tuple(sorted(ranks)), tuple(waiters), group.id, place[1], place[2], op, Side.UNKNOWN,
                f"{tell.ranks(waiters)} {verb} in {call}; whether {who} requested it is not observed: {why}",
                (
                    *tell.unseen(place, ranks),
                    *(Evidence(text) for text in usual),
                    *tell.requests(case.stalls, place, waiters),
                ),
                _first(case, ranks, who), not_concluded(Kind.NOT_OBSERVED, who),
                (
                    f"{tell.ranks(waiters)} requested {call}; {tell.how_far(case.stalls, place, waiters)}.",
                    f"{who} {agrees(who, 'is a member', 'are members')}, and nothing tells of a request: {why}.",
                    *usual,
                    f"So nobody can be named here; {_next(case, ranks)}.",
                ),
            )
        )  # fmt: skip
        out += [_elsewhere(case, tell, p, [r for r in unseen if p in arrows[r]], arrows) for p in sorted(elsewhere)]
        told |= elsewhere
    return out


def _fresh(case: Case, tell: Telling, place: Place, waiters: Sequence[int]) -> bool:
    """Whether they had waited a moment only when their dumps were written, which is nothing in a job that runs."""
    if any(stands(case.still, place, rank) for rank in waiters):
        return False
    return a_moment(tell.waited_ns(case.stalls, place, waiters))


def _elsewhere(
    case: Case, tell: Telling, place: Place, ranks: Sequence[int], arrows: Mapping[int, Mapping[Place, Sequence[Edge]]]
) -> Finding:
    """Another call in which somebody waits for ranks that nothing tells of: no lead of its own."""
    waiters = sorted({edge.rank for rank in ranks for edge in arrows[rank][place]})
    call, who = tell.call(case.stalls, place), tell.ranks(sorted(ranks))
    return Finding(
        Kind.WAITING, Role.WAITING, tuple(waiters), tuple(sorted(ranks)), place[0], place[1], place[2],
        tell.op_at(case.stalls, place), Side.UNKNOWN,
        f"{tell.ranks(waiters)} {'wait' if len(waiters) > 1 else 'waits'} in {call}; "
        f"whether {who} requested it is not observed: {tell.reasons(place, ranks)}",
        (), compare_first(Kind.WAITING, ""), not_concluded(Kind.WAITING, ""),
    )  # fmt: skip


def _usual(case: Case, ranks: Sequence[int]) -> tuple[str, ...]:
    """What the others' recorder says about a rank without a dump, in a sentence: that one is missing may be as it has to be."""
    if any(source.rank in ranks and source.usable for source in case.records.sources):
        return ()
    libraries = {source.producer for source in case.records.sources if source.usable and source.producer}
    told = {producer_of(library).no_dump for library in libraries}
    return tuple(f"{text}." for text in sorted(told) if text) if len(told) == 1 else ()


def _first(case: Case, ranks: Sequence[int], who: str) -> str:
    """What to compare first: where all dumps were read to their end nothing of how they were collected."""
    if not _read(case) >= set(ranks):
        return compare_first(Kind.NOT_OBSERVED, who)
    dumps, tell = agrees(who, "its dump was", "their dumps were"), agrees(who, "does", "do")
    return f"the logs and stacks of {who}: {dumps} read and {tell} not reach this call; whether the process lived"


def _next(case: Case, ranks: Sequence[int]) -> str:
    """What may tell of ranks that nothing tells of."""
    read = _read(case)
    if not read & set(ranks):
        return "finding the missing dumps or logs is the next step"
    if read >= set(ranks):
        return "what these dumps do not tell may stand in the ranks' logs and stacks"
    return "finding the missing dumps is the next step, and the logs and stacks of the others"


def _read(case: Case) -> set[int]:
    """Ranks whose dumps were read to their end: no other copy of them would tell more."""
    return {source.rank for source in case.records.sources if source.usable and not source.partial and source.rank is not None}


def _explained(case: Case) -> set[int]:
    """Waiting ranks whose chain ends at an observed lead, a mismatch, a held call or a cycle."""
    good = set(case.graph.sinks) | {r for c in (*case.graph.cycles, *case.graph.paired) for r in c}
    good |= {r for r, ends in case.graph.ends.items() if any(e in (End.MISMATCH, End.DEVICE) for e in ends.values())}
    return good | case.graph.behind(good)


def _running(case: Case, rank: int, place: Place, waiters: int) -> bool:
    """Whether an older dump is what dumps of a running job look like: seconds older, and only a few wait at this call, of which
    it is not known that it stands still."""
    if any(stands(case.still, place, edge.rank) for edge in case.graph.blind.get(rank, ()) if edge.place == place):
        return False
    stall = case.stalls.get((place[0], place[2])) if place[1] == COLLECTIVE else None
    seen = sum(case.windows[place[0], r].source is not None for r in case.groups[place[0]].ranks)
    asked = [row["created_ns"] for row in (stall.rows if stall else ()) if row["created_ns"] is not None]
    newest = case.records.entries.filter(case.records.entries["rank"] == rank)["created_ns"].max()
    close = bool(asked) and isinstance(newest, int) and min(asked) - newest < _ALIVE_NS
    return close and 2 * waiters <= seen
