"""What explains no hang (notes), and what a lead explains (waiting)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.engine.evidence import Telling
from hangview.engine.findings.case import Case, place_order
from hangview.engine.findings.differing import call_site, other_apis, quietly
from hangview.engine.findings.of_groups import disputes, not_made
from hangview.engine.waits import Arrow, Edge, End, Place, closure
from hangview.engine.words import agrees, compare_first, not_concluded
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.engine.clocks import Late
    from hangview.engine.evidence import Telling
    from hangview.engine.waits import Edge, Place


#: Requests of who waits that stand as evidence: the others are like them.
_SHOWN = 2


def _late(case: Case, tell: Telling, late: Late) -> Finding:
    group, who = case.groups[late.group], tell.ranks((late.rank,))
    clock = f" (clocks: ±{case.clock_ns / 1e9:.3f} s)" if case.clock_ns is not None else " (clocks of hosts were not measured)"
    summary = (
        f"{who} comes about {late.by_ns / 1e6:,.0f} ms after the others to {group.label} from {late.since} on{clock}; "
        "everything was completed all the same"
    )
    source = case.windows[late.group, late.rank].source
    calls = f"{late.calls} calls from {late.since} on" if late.calls > 1 else f"call {late.since}"
    after = f"{late.by_ns / 1e6:,.0f} ms after the median of the members"
    told = Evidence(f"{who}: {calls} requested {after}, by the records{tell.file(source, None)}", source)
    return Finding(
        Kind.STRAGGLER, Role.NOTE, (late.rank,), tuple(r for r in sorted(group.ranks) if r != late.rank), group.id, COLLECTIVE,
        late.since, tell.op_of(late.group, late.since), Side.HOST, summary, (told,), compare_first(Kind.STRAGGLER, who),
        not_concluded(Kind.STRAGGLER, who),
    )  # fmt: skip


def notes(case: Case, tell: Telling, so_far: Sequence[Finding]) -> list[Finding]:
    leads = {(f.group, f.seq, f.kind) for f in so_far}
    out = [
        quietly(case, tell, quiet, Role.NOTE)
        for quiet in case.quiet
        if (quiet.group, quiet.seq, quiet.mismatch.kind) not in leads
    ]
    told = {f.ranks for f in so_far if f.kind is Kind.DIFFERENT_CALL_SITE}
    parted = (shift for shift in case.shifts if not shift.extra and (shift.rank,) not in told)
    out += [call_site(case, tell, shift, Role.NOTE, ()) for shift in parted]
    if any(f.role is Role.LEAD for f in so_far):  # by itself it is nothing that went wrong
        out += other_apis(case, tell)
    out += [_late(case, tell, late) for late in case.late]
    return [*out, *disputes(case, tell, so_far), *not_made(case, tell)]


def waiting(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    by_place: dict[Place, list[Edge]] = defaultdict(list)
    for out_edges in case.graph.edges.values():
        for edge in out_edges:
            if edge.place not in told and edge.arrow is not Arrow.UNKNOWN:
                by_place[edge.place].append(edge)
    nearest: dict[tuple[int, str, int], Place] = {}
    for group, lane, seq in sorted(by_place):
        waiter = by_place[group, lane, seq][0].rank
        nearest.setdefault((group, lane, seq if lane == COLLECTIVE else waiter), (group, lane, seq))
    odd, targets = _odd_ones(case), case.graph.targets()
    out = []
    for place in sorted(nearest.values(), key=lambda p: place_order(case, p)):
        edges = by_place[place]
        waiters, on = sorted({e.rank for e in edges}), sorted({e.on for e in edges})
        ends = _leads_behind(case, on, odd, targets)
        end = f" (in the end for {tell.ranks(ends)})" if ends and ends != on else ""
        tail = _too(case, tell, on) + end
        side = Side.HOST if any(e.arrow is Arrow.HOST for e in edges) else Side.DEVICE
        verb = "wait" if len(waiters) > 1 else "waits"
        out.append(
            Finding(
                Kind.WAITING, Role.WAITING, tuple(waiters), tuple(on), place[0], place[1], place[2],
                tell.op_at(case.stalls, place), side,
                f"{tell.ranks(waiters)} {verb} in {tell.call(case.stalls, place)} for {tell.ranks(on)}{tail}",
                tell.requests(case.stalls, place, waiters[:_SHOWN]),
                compare_first(Kind.WAITING, ""), not_concluded(Kind.WAITING, ""),
            )
        )  # fmt: skip
    return out


def _too(case: Case, tell: Telling, on: Sequence[int]) -> str:
    """Who of those that are waited for waits too: not those that are to be looked at first."""
    held = [r for r in on if case.graph.edges.get(r) or any(e is not End.LAG for e in case.graph.ends.get(r, {}).values())]
    if len(held) < len(on):
        return f", of which {tell.ranks(held)} {agrees(tell.ranks(held), 'waits', 'wait')} too" if held else ""
    return f", which {'wait' if len(on) > 1 else 'waits'} too"


def _odd_ones(case: Case) -> dict[int, frozenset[int]]:
    """rank in a call whose requests differ -> those that differ from the majority in it."""
    return {
        rank: frozenset(r for (g, _, s), end in ends.items() if end is End.MISMATCH for r in _minority(case, g, s))
        for rank, ends in case.graph.ends.items()
    }


def _minority(case: Case, group: int, seq: int) -> tuple[int, ...]:
    stall = case.stalls.get((group, seq))  # none where a send and its receive differ
    return stall.mismatch.minority if stall is not None and stall.mismatch is not None else ()


def _leads_behind(
    case: Case, ranks: Sequence[int], odd: Mapping[int, frozenset[int]], targets: Mapping[int, set[int]]
) -> list[int]:
    """Where the waiting ends: ranks that wait for nobody, and those whose request differs from the majority's."""
    chain = closure(ranks, targets).union(ranks)
    return sorted((chain & set(case.graph.sinks)).union(*(odd[rank] for rank in chain if rank in odd)))
