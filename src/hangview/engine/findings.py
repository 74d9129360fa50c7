"""From the wait graph to findings: leads first, then notes, then what only waits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.engine import compare
from hangview.engine.evidence import Telling
from hangview.engine.waits import Arrow, Edge, End, Place
from hangview.engine.words import compare_first, not_concluded
from hangview.incident import COLLECTIVE, Finding, Kind, Role, Side
from hangview.text import fold_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.engine.groups import Dispute
    from hangview.engine.p2p import Traffic
    from hangview.engine.stalls import Mismatch, Stall
    from hangview.engine.waits import Graph
    from hangview.engine.windows import Windows
    from hangview.incident import Evidence, Group
    from hangview.schema import Records

#: A dump whose newest record is this much older than the others' request may have been written while the job still ran.
_ALIVE_NS = 60 * 10**9


@dataclass(frozen=True, slots=True)
class Case:
    """Everything the findings are drawn from."""

    records: Records
    groups: tuple[Group, ...]
    windows: Windows
    stalls: dict[tuple[int, int], Stall]
    traffic: Traffic
    graph: Graph
    quiet: tuple[tuple[int, int, int, Mismatch], ...]  #: (group, seq, how many calls) that differ but are over
    disputes: tuple[Dispute, ...]


def find(case: Case) -> tuple[tuple[Finding, ...], tuple[int, ...]]:
    """All findings in the order of the contract, and the ranks to look at first."""
    tell = Telling(case.records, case.groups, case.windows, case.traffic)
    out: list[Finding] = []
    told: set[Place] = set()
    out += _not_requested(case, tell, told)
    out += _mismatches(case, tell, told)
    out += _held(case, tell, told)
    out += _cycles(case, tell, told)
    named = {r for f in out for r in _names(f)}
    out += _not_observed(case, tell, told, bool(named))
    out += _notes(case, tell)
    out += _waiting(case, tell, told)
    order = {Role.LEAD: 0, Role.NOTE: 1, Role.WAITING: 2}
    out.sort(key=lambda f: (order[f.role], _group_order(case, f), f.lane or "", f.seq or 0, f.kind.value, f.ranks))
    return tuple(out), tuple(sorted({r for f in out for r in _names(f)}))


def _group_order(case: Case, finding: Finding) -> tuple[int, str, tuple[int, ...]]:
    if finding.group is None:
        return (0, "", ())
    group = case.groups[finding.group]
    return (finding.group, group.name, group.ranks)


#: Kinds that name ranks by themselves: where nobody may be named, these findings carry an empty minority.
_NAMING = frozenset(
    {
        Kind.NOT_REQUESTED, Kind.NO_COLLECTIVE, Kind.GROUP_ABSENT, Kind.UNPAIRED_P2P, Kind.DIFFERENT_OP, Kind.DIFFERENT_SIZE,
        Kind.DIFFERENT_DTYPE, Kind.PARTLY_COMPLETED, Kind.DIFFERENT_CALL_SITE, Kind.PROCESS_ENDED,
    }
)  # fmt: skip


def _names(finding: Finding) -> tuple[int, ...]:
    """The ranks that a finding makes leads; a side that is no minority names nobody (its ``others`` are then empty)."""
    if finding.role is not Role.LEAD or finding.kind not in _NAMING or not finding.others:
        return ()
    return finding.ranks


# -- ranks that others wait for and that wait for nobody --------------------------------------------------------------


def _not_requested(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    arrows: dict[int, dict[Place, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for out in case.graph.edges.values():
        for edge in out:
            if edge.on in case.graph.sinks and edge.arrow is Arrow.HOST:
                arrows[edge.on][edge.place].append(edge)
    by_primary: dict[tuple[Place, Kind], list[int]] = defaultdict(list)
    for rank, places in arrows.items():
        primary = min(places, key=lambda p: (p[1] != COLLECTIVE, -len(places[p]), _place_order(case, p)))
        by_primary[primary, _kind_of_absence(case, rank, primary)].append(rank)
    findings = []
    for (place, kind), ranks in sorted(by_primary.items(), key=lambda x: (_place_order(case, x[0][0]), x[1])):
        told.add(place)
        waiters = sorted({e.rank for r in ranks for e in arrows[r][place]})
        findings.append(_absence(case, tell, place, kind, sorted(ranks), waiters, Role.LEAD))
        for other in sorted({p for r in ranks for p in arrows[r]} - {place}, key=lambda p: _place_order(case, p)):
            if other in told or any(r in ranks for (p, _), rs in by_primary.items() if p == other for r in rs):
                continue
            told.add(other)
            short = [r for r in ranks if other in arrows[r]]
            waiters = sorted({e.rank for r in short for e in arrows[r][other]})
            findings.append(_absence(case, tell, other, _kind_of_absence(case, short[0], other), short, waiters, Role.WAITING))
    return findings


def _place_order(case: Case, place: Place) -> tuple[int, int, str, int]:
    group = case.groups[place[0]]
    return (-len(group.ranks), place[0], place[1], place[2])


def _kind_of_absence(case: Case, rank: int, place: Place) -> Kind:
    if place[1] != COLLECTIVE:
        return Kind.UNPAIRED_P2P
    if rank in case.stalls[place[0], place[2]].absent:
        return Kind.GROUP_ABSENT
    mine = [w for (_, r), w in case.windows.items() if r == rank]
    if all(not w.newest for w in mine) and not case.records.sources[mine[0].source or 0].entries:
        return Kind.NO_COLLECTIVE
    return Kind.NOT_REQUESTED


def _absence(
    case: Case, tell: Telling, place: Place, kind: Kind, ranks: Sequence[int], waiters: Sequence[int], role: Role
) -> Finding:
    group = case.groups[place[0]]
    op = tell.op_at(case.stalls, place)
    call = f"{op} {place[2]} of {group.label}"
    who, wait = tell.ranks(ranks), tell.ranks(waiters)
    verb = "wait" if len(waiters) > 1 else "waits"
    if kind is Kind.UNPAIRED_P2P:
        other = "receive" if place[1].startswith(f"p2p {waiters[0]}->") else "send"
        summary = f"{who} did not request the {other} that {wait} {verb} for ({place[1]}, number {place[2]}, {group.label})"
    elif kind is Kind.GROUP_ABSENT:
        summary = f"{who} has no record of the group {group.label}; {wait} {verb} in {op} {place[2]} for it"
    elif kind is Kind.NO_COLLECTIVE:
        summary = f"{who} requested no collective at all; {wait} {verb} in {call} for it"
    else:
        summary = f"{who} did not request {call}; {wait} {verb} for it"
    evidence: list[Evidence] = [*tell.absent(place, ranks), *tell.requests(case.stalls, place, waiters)]
    steps = [
        f"{wait} requested {call}; the request is not over.",
        *(e.text[0].upper() + e.text[1:] + "." for e in tell.absent(place, ranks)),
    ]
    if role is Role.LEAD:
        steps.append(f"{who}: no unfinished request in any group, so it waits for nobody.")
        lag = [p for r in ranks for p in case.graph.lagging.get(r, ())]
        if lag:
            note = tell.lag(ranks, lag[0])
            evidence.append(note)
            steps.append(note.text)
        behind = sorted(r for r in case.graph.edges if set(ranks) & case.graph.reach(r) and r not in waiters)
        if behind:
            steps.append(f"Through these, {len(behind)} more ranks wait: {fold_ranks(behind)}.")
        unseen = case.stalls[place[0], place[2]].unobserved if place[1] == COLLECTIVE else ()
        evidence.extend(tell.unseen(place, unseen))
    return Finding(
        kind, role, tuple(ranks), tuple(waiters), group.id, place[1], place[2], op, Side.HOST, summary, tuple(evidence),
        compare_first(kind, who), not_concluded(kind, who), tuple(steps),
    )  # fmt: skip


# -- requests that differ ----------------------------------------------------------------------------------------------


def _mismatches(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    out = []
    for (group, seq), stall in sorted(case.stalls.items()):
        if stall.mismatch is not None:
            place = (group, COLLECTIVE, seq)
            told.add(place)
            out.append(_mismatch(case, tell, place, stall.mismatch, Role.LEAD, stall.family))
    return out


def _mismatch(case: Case, tell: Telling, place: Place, found: Mismatch, role: Role, op: str, calls: int = 1) -> Finding:
    group = case.groups[place[0]]
    call = f"{group.label} {place[2]}"
    everyone = sorted(r for side in found.sides for r in side.ranks)
    what = {Kind.DIFFERENT_OP: "operation", Kind.DIFFERENT_SIZE: "size", Kind.DIFFERENT_DTYPE: "dtype"}[found.kind]
    if found.minority:
        ranks: Sequence[int] = found.minority
        others: Sequence[int] = found.sides[0].ranks
        summary = (
            "; ".join([f"{tell.ranks(side.ranks)} requested {_request(side.op, side.text)}" for side in found.sides[1:]])
            + f" where {tell.ranks(found.sides[0].ranks)} requested {_request(found.sides[0].op, found.sides[0].text)} ({call})"
        )
    elif found.detail:
        ranks, others = everyone, ()
        summary = f"{op} {place[2]} of {group.label}: {found.detail}"
    else:
        ranks, others = everyone, ()
        told_sides = "; ".join(f"{tell.ranks(s.ranks)}: {_request(s.op, s.text)}" for s in found.sides)
        summary = f"{what} differs at {call} and no side is the majority: {told_sides}"
    if role is Role.NOTE:
        summary += "; the call is over all the same" + (f", and {calls - 1} more like it" if calls > 1 else "")
    who = tell.ranks(ranks)
    evidence = tell.sides(place, found.sides)
    steps = [
        f"All requests of {op} {place[2]} in {group.label} are lined up by sequence number.",
        *(f"{tell.ranks(s.ranks)} ({len(s.ranks)}) requested {_request(s.op, s.text)}." for s in found.sides),
        f"{tell.ranks(found.sides[0].ranks)} is the majority, so {who} is where to look first."
        if found.minority
        else "No side is a majority, so nobody is named.",
    ]
    return Finding(
        found.kind, role, tuple(sorted(ranks)), tuple(others), group.id, place[1], place[2], op, Side.HOST, summary, evidence,
        compare_first(found.kind, who), not_concluded(found.kind, who), tuple(steps),
    )  # fmt: skip


def _request(op: str, text: str) -> str:
    return f"{op} of {text}" if text else op


# -- all requested, not all completed ----------------------------------------------------------------------------------


def _held(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    out = []
    held = {p for ends in case.graph.ends.values() for p, e in ends.items() if e is End.DEVICE and p[1] == COLLECTIVE}
    for place in sorted(held, key=lambda p: _place_order(case, p)):
        told.add(place)
        out.append(_stuck(case, tell, place, case.stalls[place[0], place[2]]))
    by_place: dict[Place, list[int]] = defaultdict(list)
    for rank, places in sorted(case.graph.lagging.items()):
        if rank not in case.graph.sinks and not _older(case, rank):
            by_place[places[0]].append(rank)
    for place, ranks in sorted(by_place.items(), key=lambda x: _place_order(case, x[0])):
        told.add(place)
        out.append(_lagging(case, tell, place, ranks))
    return out


def _older(case: Case, rank: int) -> bool:
    return any(w.above.name == "BEFORE_DUMP" for (_, r), w in case.windows.items() if r == rank)


def _stuck(case: Case, tell: Telling, place: Place, stall: Stall) -> Finding:
    group = case.groups[place[0]]
    call = f"{stall.family} {stall.seq} of {group.label}"
    if stall.done:
        kind = Kind.PARTLY_COMPLETED
        rooted = "; the root is not recorded" if stall.family in compare.ROOTED else ""
        summary = (
            f"every member requested {call}; {tell.ranks(stall.done)} finished it, {tell.ranks(stall.waiting)} did not{rooted}"
        )
    else:
        kind = Kind.NOT_COMPLETED
        summary = (
            f"every member requested {call} with equal arguments and none completed it: device or network, not a missing rank"
        )
    who = tell.ranks(stall.waiting)
    return Finding(
        kind, Role.LEAD, stall.waiting, (), group.id, COLLECTIVE, stall.seq, stall.family, Side.DEVICE, summary,
        tell.requests(case.stalls, place, stall.waiting), compare_first(kind, who), not_concluded(kind, who),
        (
            f"All {len(group.ranks)} members requested {call}, with equal arguments.",
            f"{who} did not finish it, and no earlier request of theirs is unfinished.",
            "So no rank is missing on the host side, and nobody is named.",
        ),
    )  # fmt: skip


def _lagging(case: Case, tell: Telling, place: Place, ranks: Sequence[int]) -> Finding:
    """Ranks that have not finished what others finished: named if they are the minority, or if the others went on with them."""
    stall = case.stalls[place[0], place[2]]
    group = case.groups[place[0]]
    late = [r for r in stall.waiting if r in ranks] or list(ranks)
    others = stall.done
    went_on = any(len(case.graph.lagging.get(r, ())) > 1 or _passed_further(case, r, place) for r in late)
    named = 2 * len(stall.waiting) < len(group.ranks) or went_on
    who = tell.ranks(late)
    call = f"{stall.family} {stall.seq} of {group.label}"
    summary = f"{who} requested {call} but did not finish it; {tell.ranks(others)} finished it"
    return Finding(
        Kind.PARTLY_COMPLETED, Role.LEAD if named else Role.NOTE, tuple(late), others if named else (), group.id, COLLECTIVE,
        stall.seq, stall.family, Side.DEVICE, summary, (tell.lag(late, place),),
        compare_first(Kind.PARTLY_COMPLETED, who), not_concluded(Kind.PARTLY_COMPLETED, who),
        (
            f"Every member requested {call}.",
            f"{tell.ranks(others)} completed it, which needs every member's part.",
            f"On {who} it is not over: what is unfinished there is its own.",
        ),
    )  # fmt: skip


def _passed_further(case: Case, rank: int, place: Place) -> bool:
    """Whether others finished later calls of the group that needed this rank too."""
    mine = case.windows[place[0], rank].newest or 0
    ahead = [w.last_done or 0 for (g, r), w in case.windows.items() if g == place[0] and r != rank]
    return place[2] < min(max(ahead, default=0), mine)


# -- cycles ------------------------------------------------------------------------------------------------------------


def _cycles(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    out = []
    for ranks in case.graph.cycles:
        inside = set(ranks)
        arrows = [e for r in ranks for e in case.graph.edges[r] if e.on in inside]
        told.update(e.place for e in arrows)
        place = min((e.place for e in arrows), key=lambda p: _place_order(case, p))
        who = tell.ranks(ranks)
        shown = arrows[: 2 * len(ranks)][:10]
        chain = "; ".join(f"rank {e.on} holds up rank {e.rank} in {tell.call(case.stalls, e.place)}" for e in shown[:4])
        out.append(
            Finding(
                Kind.ORDER_CYCLE, Role.LEAD, ranks, (), place[0], place[1], place[2], tell.op_at(case.stalls, place),
                Side.HOST if any(e.arrow is Arrow.HOST for e in arrows) else Side.DEVICE,
                f"{who} wait for each other in a circle: {chain}",
                tell.order(ranks, [e.place for e in arrows]),
                compare_first(Kind.ORDER_CYCLE, who), not_concluded(Kind.ORDER_CYCLE, who),
                tuple(f"Rank {e.rank} waits for rank {e.on} in {tell.call(case.stalls, e.place)}." for e in shown),
            )
        )  # fmt: skip
    for ranks in case.graph.paired:
        arrows = [e for r in ranks for e in case.graph.edges[r] if e.on in set(ranks)]
        told.update(e.place for e in arrows)
        place = min((e.place for e in arrows), key=lambda p: _place_order(case, p))
        who = tell.ranks(ranks)
        out.append(
            Finding(
                Kind.NOT_COMPLETED, Role.LEAD, ranks, (), place[0], place[1], place[2], tell.op_at(case.stalls, place),
                Side.DEVICE, f"{who} requested both ends of {place[1]} ({case.groups[place[0]].label}) and neither is over", (),
                compare_first(Kind.NOT_COMPLETED, who), not_concluded(Kind.NOT_COMPLETED, who),
            )
        )  # fmt: skip
    return out


# -- what nothing tells of ---------------------------------------------------------------------------------------------


def _not_observed(case: Case, tell: Telling, told: set[Place], named: bool) -> list[Finding]:
    """Members without a usable record that somebody waits for: a lead to the files, never to the rank."""
    arrows: dict[int, dict[Place, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for rank, edges in case.graph.blind.items():
        for edge in edges:
            arrows[rank][edge.place].append(edge)
    explained = _explained(case)
    by_primary: dict[Place, list[int]] = defaultdict(list)
    for rank, places in arrows.items():
        if _older(case, rank) and all(_just_before(case, rank, p) for p in places):
            continue
        primary = min(places, key=lambda p: (p[1] != COLLECTIVE, -len(places[p]), _place_order(case, p)))
        by_primary[primary].append(rank)
    out = []
    for place, ranks in sorted(by_primary.items(), key=lambda x: _place_order(case, x[0])):
        waiters = sorted({e.rank for r in ranks for e in arrows[r][place]})
        open_chain = any(r not in explained for rs in (waiters,) for r in rs)
        role = Role.LEAD if open_chain or not named else Role.NOTE
        for rank in ranks:
            told.update(p for p in arrows[rank] if p not in told)
        group, op, who = case.groups[place[0]], tell.op_at(case.stalls, place), tell.ranks(ranks)
        verb = "wait" if len(waiters) > 1 else "waits"
        call = f"{op} {place[2]} of {group.label}"
        why = tell.reasons(place, ranks)
        out.append(
            Finding(
                Kind.NOT_OBSERVED, role, tuple(sorted(ranks)), tuple(waiters), group.id, place[1], place[2], op, Side.UNKNOWN,
                f"{tell.ranks(waiters)} {verb} in {call}; whether {who} requested it is not observed: {why}",
                (*tell.unseen(place, ranks), *tell.requests(case.stalls, place, waiters)),
                compare_first(Kind.NOT_OBSERVED, who), not_concluded(Kind.NOT_OBSERVED, who),
                (
                    f"{tell.ranks(waiters)} requested {call}; the request is not over.",
                    f"{who} is a member, and nothing tells whether it requested it: {why}.",
                    "So the rank cannot be named; finding its dump or its log is the next step.",
                ),
            )
        )  # fmt: skip
    return out


def _explained(case: Case) -> set[int]:
    """Waiting ranks whose chain ends at an observed lead, a mismatch, a held call or a cycle."""
    good = set(case.graph.sinks) | {r for c in (*case.graph.cycles, *case.graph.paired) for r in c}
    good |= {r for r, ends in case.graph.ends.items() if any(e in (End.MISMATCH, End.DEVICE) for e in ends.values())}
    return {r for r in case.graph.edges if r in good or case.graph.reach(r) & good} | good


def _just_before(case: Case, rank: int, place: Place) -> bool:
    """Whether an older dump is only seconds older than the request: a job that was still running when it was dumped."""
    stall = case.stalls.get((place[0], place[2])) if place[1] == COLLECTIVE else None
    asked = [row["created_ns"] for row in (stall.rows if stall else ()) if row["created_ns"] is not None]
    newest = case.records.entries.filter(case.records.entries["rank"] == rank)["created_ns"].max()
    return bool(asked) and isinstance(newest, int) and min(asked) - newest < _ALIVE_NS


# -- notes and waiting -------------------------------------------------------------------------------------------------


def _notes(case: Case, tell: Telling) -> list[Finding]:
    out = [
        _mismatch(case, tell, (group, COLLECTIVE, seq), found, Role.NOTE, found.sides[0].op, calls)
        for group, seq, calls, found in case.quiet
    ]
    for dispute in case.disputes:
        ranks = sorted({r for _, said, _ in dispute.views for r in said})
        views = "; ".join(f"{tell.ranks(said)}: members {fold_ranks(members)}" for members, said, _ in dispute.views)
        out.append(
            Finding(
                Kind.GROUP_MISMATCH, Role.NOTE, tuple(ranks), (), None, None, None, None, Side.HOST,
                f"ranks disagree on the members of the group named {dispute.name!r}: {views}", (),
                compare_first(Kind.GROUP_MISMATCH, tell.ranks(ranks)), not_concluded(Kind.GROUP_MISMATCH, tell.ranks(ranks)),
            )
        )  # fmt: skip
    return out


def _waiting(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    by_place: dict[Place, list[Edge]] = defaultdict(list)
    for out_edges in case.graph.edges.values():
        for edge in out_edges:
            if edge.place not in told and edge.arrow is not Arrow.UNKNOWN:
                by_place[edge.place].append(edge)
    nearest: dict[tuple[int, str, int], Place] = {}
    for group, lane, seq in sorted(by_place):
        waiter = by_place[group, lane, seq][0].rank
        nearest.setdefault((group, lane, seq if lane == COLLECTIVE else waiter), (group, lane, seq))
    out = []
    for place in sorted(nearest.values(), key=lambda p: _place_order(case, p)):
        edges = by_place[place]
        waiters, on = sorted({e.rank for e in edges}), sorted({e.on for e in edges})
        ends = _leads_behind(case, on)
        tail = f", which {'wait' if len(on) > 1 else 'waits'} too" + (f" (in the end for {tell.ranks(ends)})" if ends else "")
        side = Side.HOST if any(e.arrow is Arrow.HOST for e in edges) else Side.DEVICE
        verb = "wait" if len(waiters) > 1 else "waits"
        out.append(
            Finding(
                Kind.WAITING, Role.WAITING, tuple(waiters), tuple(on), place[0], place[1], place[2],
                tell.op_at(case.stalls, place), side,
                f"{tell.ranks(waiters)} {verb} in {tell.call(case.stalls, place)} for {tell.ranks(on)}{tail}",
                (), compare_first(Kind.WAITING, ""), not_concluded(Kind.WAITING, ""),
            )
        )  # fmt: skip
    return out


def _leads_behind(case: Case, ranks: Iterable[int]) -> list[int]:
    found: set[int] = set()
    for rank in ranks:
        found |= ({rank} | case.graph.reach(rank)) & set(case.graph.sinks)
    return sorted(found)
