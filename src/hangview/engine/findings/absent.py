"""Ranks that others wait for and that wait for nobody."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.engine.evidence import Telling
from hangview.engine.findings.case import Case, loose, lost, most_wait, place_order, silent_ns
from hangview.engine.findings.differing import call_site, quietly
from hangview.engine.findings.first import first_to_tell
from hangview.engine.still import a_moment, long_since, stands
from hangview.engine.waits import Arrow
from hangview.engine.words import agrees, compare_first, not_concluded
from hangview.producers import producer_of
from hangview.schema import DEFAULT_DESC, CellState
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side
from hangview.text import fold_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.evidence import Telling
    from hangview.engine.findings.case import Quiet
    from hangview.engine.waits import Edge, Place
    from hangview.terms import Group

_NONE_OPEN = "no unfinished request is recorded in any group"
_OWN_OVER = "what is unfinished there, the others it needs have requested too"
#: What to compare first where it is not known that ``{ranks}`` are missed.
_SECOND_SET = "a second set of dumps, all written at one moment: is this call open there too, and {stop} below it?"
_STACKS = "the stacks and logs of {ranks}: still inside the newest call, or past it?"
_BARRIER = "who did not come to the monitored_barrier in which {ranks} waited: the logs and stacks of its other members"
_MEMBERS = "which ranks make up this group, by the program that creates it: does it take in {ranks} and those that wait?"


def not_requested(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    arrows: dict[int, dict[Place, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for out in case.graph.edges.values():
        for edge in out:
            if edge.on in case.graph.sinks and edge.arrow is Arrow.HOST:
                arrows[edge.on][edge.place].append(edge)
    by_primary: dict[tuple[Place, Kind], list[int]] = defaultdict(list)
    for rank, primary in first_to_tell(case, arrows).items():
        by_primary[primary, _kind_of_absence(case, rank, primary)].append(rank)
    findings: list[Finding] = []
    for (place, kind), every in sorted(by_primary.items(), key=lambda x: (place_order(case, x[0][0]), x[1])):
        told.add(place)
        ranks = [rank for rank in every if rank not in case.barred] or every
        if not _on_device(case):
            # Who is in an earlier call that others completed is about to leave it, or wrote its dump earlier: no device holds
            # it there, and the rest stayed away.
            ranks = [rank for rank in ranks if rank not in case.graph.lagging] or ranks
        waiters = sorted({e.rank for r in ranks for e in arrows[r][place]})
        ahead = {s.rank: s for s in case.shifts if s.group == place[0] and s.by <= 0 and s.fits}
        if place[1] == COLLECTIVE and set(waiters) <= set(ahead):
            findings.extend(call_site(case, tell, ahead[r], Role.LEAD, ranks) for r in waiters)
            continue
        parted = _parted(case, place, ranks, waiters)
        if parted is not None:
            findings.append(quietly(case, tell, parted, Role.LEAD))
            continue
        doubt = _doubt(case, tell, place, ranks, waiters)
        if doubt is not None:
            findings.append(_undecided(case, tell, place, sorted(ranks), waiters, doubt))
            continue
        findings.append(_absence(case, tell, place, kind, sorted(ranks), waiters, Role.LEAD))
        for other in sorted({p for r in ranks for p in arrows[r]} - {place}, key=lambda p: place_order(case, p)):
            if other in told or any(r in ranks for (p, _), rs in by_primary.items() if p == other for r in rs):
                continue
            told.add(other)
            short = [r for r in ranks if other in arrows[r]]
            waiters = sorted({e.rank for r in short for e in arrows[r][other]})
            findings.append(_absence(case, tell, other, _kind_of_absence(case, short[0], other), short, waiters, Role.WAITING))
    return findings


def _parted(case: Case, place: Place, ranks: Sequence[int], waiters: Sequence[int]) -> Quiet | None:
    """An earlier call of the group in which just those who wait now asked for something else than those they wait for.

    They skipped or repeated a call, or took another branch, and are a call ahead since: the others have no call to make up for.
    """
    if place[1] != COLLECTIVE:
        return None
    for quiet in case.quiet:
        found = quiet.mismatch
        apart = found.kind is not Kind.DIFFERENT_DTYPE and set(waiters) <= set(found.minority)
        if quiet.group == place[0] and quiet.seq < place[2] and apart and set(ranks) <= set(found.sides[0].ranks):
            return quiet
    return None


def _one_ahead(case: Case, place: Place, ranks: Sequence[int], waiters: Sequence[int]) -> bool:
    """Whether a few stand one call ahead of all others, who are more and stand at one place: the few may be the odd ones."""
    if place[1] != COLLECTIVE or len(waiters) >= len(ranks):
        return False
    return all(case.windows[place[0], rank].newest == place[2] - 1 for rank in ranks)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """``older``: the members whose dumps are shown to be of an earlier moment; ``first``: what to compare first."""

    role: Role
    why: str
    first: str = _SECOND_SET
    older: tuple[int, ...] = ()


def _doubt(case: Case, tell: Telling, place: Place, ranks: Sequence[int], waiters: Sequence[int]) -> _Doubt | None:
    """Why these ranks may not be named although they are waited for, and how much weight the finding then has.

    Dumps taken one after the other while the job runs look like a hang in its newest calls. What tells a hang is that it
    stands still: the others wait together, and nobody's dump is shown to be older than what came after it.
    """
    group = case.groups[place[0]]
    mine = [case.windows[group.id, r] for r in group.ranks]
    older = tuple(w.rank for w in mine if w.above is CellState.BEFORE_DUMP)
    seen = sum(w.source is not None for w in mine) - len(older)
    weight = Role.LEAD if any(stands(case.still, place, rank) for rank in waiters) else Role.NOTE
    if place[1] == COLLECTIVE and older and 2 * len(waiters) <= seen:
        return _Doubt(weight, "the dumps of this group were not written at one moment", older=older)
    if len(case.graph.behind(ranks)) < 2 and any(r in case.graph.lagging for r in ranks):
        return _Doubt(weight, "their dump may have been written just before the call")
    waited = tell.waited_ns(case.stalls, place, waiters)
    behind = all(rank in case.graph.lagging for rank in ranks)  # a dump that was written a moment earlier looks so
    if weight is Role.NOTE and a_moment(waited) and (behind or not most_wait(case)):
        told = max(0, waited or 0) / 1e9
        return _Doubt(weight, f"none of them had waited longer than {told:.1f} s when its dump was written")
    if weight is Role.NOTE and waited is None and _of_counters(case, place, waiters):
        silent = silent_ns(case, ranks)
        if a_moment(silent) or (not long_since(silent) and 2 * len(waiters) <= seen):
            return _Doubt(weight, "of those who wait counters alone are left, and since when they wait is not recorded")
    if set(ranks) & case.barred:
        return _Doubt(Role.LEAD, "by their logs they waited in a monitored_barrier themselves", _BARRIER)
    if set(ranks) & case.maybe_open:
        return _Doubt(Role.LEAD, "their recorder does not note completion, they may still be in their newest call", _STACKS)
    failed = _maybe_failed(case, tell, ranks)
    if failed:
        return _Doubt(Role.LEAD, failed, _STACKS)
    if group.inferred and group.desc != DEFAULT_DESC and len(ranks) > 1 and not group.name.isdecimal():
        return _Doubt(Role.LEAD, "the members of this group are not recorded: it may be several groups of one name", _MEMBERS)
    return None


def _maybe_failed(case: Case, tell: Telling, ranks: Sequence[int]) -> str:
    """That the newest call of one of these ranks may have failed, and the rank so have waited itself; ""."""
    for rank in ranks:
        if rank not in case.maybe_failed:
            continue
        at, seq, untold = case.maybe_failed[rank]
        group, gone = case.groups[at], lost(case)
        newest = f"the newest call of {tell.ranks((rank,))}, {seq} of {group.label}, may have failed"
        if untold:
            return f"{newest}: of {tell.ranks(untold)}, nothing tells"
        if gone and loose(case, group):
            return f"{newest}: of another member, which may be {tell.ranks(gone)}, nothing tells"
        if (size := case.sizes.get(at, 0)) > len(group.ranks):
            return f"{newest}: by its all_gathers it has {size} members, and of {size - len(group.ranks)} there is no record"
        if _smaller_than_its_like(case, group):
            return f"{newest}: nobody else recorded that group, and others of its description have more members"
    return ""


def _smaller_than_its_like(case: Case, group: Group) -> bool:
    """Whether one rank alone recorded a group whose members are inferred, while groups of its description have several."""
    if not group.inferred or len(group.ranks) > 1:
        return False
    return any(other.desc == group.desc and len(other.ranks) > 1 for other in case.groups)


def _of_counters(case: Case, place: Place, waiters: Sequence[int]) -> bool:
    """Whether counters alone tell that these ranks wait there."""
    if place[1] != COLLECTIVE:
        return False
    return all(rank not in case.stalls[place[0], place[2]].positions for rank in waiters)


def _undecided(case: Case, tell: Telling, place: Place, ranks: Sequence[int], waiters: Sequence[int], doubt: _Doubt) -> Finding:
    group, op = case.groups[place[0]], tell.op_at(case.stalls, place)
    who, wait = tell.ranks(ranks), tell.ranks(waiters)
    verb = "wait" if len(waiters) > 1 else "waits"
    call = tell.call(case.stalls, place)
    stand = "requested" if tell.over(case.stalls, place, waiters) else f"{verb} in"
    return Finding(
        Kind.NOT_OBSERVED, doubt.role, tuple(ranks), tuple(waiters), group.id, place[1], place[2], op, Side.UNKNOWN,
        f"{wait} {stand} {call}; whether {who} should have requested it cannot be told: {doubt.why}",
        (*tell.absent(place, ranks), *tell.unseen(place, doubt.older), *tell.requests(case.stalls, place, waiters)),
        doubt.first.format(ranks=who, stop=agrees(who, "does it still stop", "do they still stop")),
        not_concluded(Kind.NOT_OBSERVED, who),
        (f"{wait} requested {call}; {tell.how_far(case.stalls, place, waiters)}.", f"{who} did not, but {doubt.why}."),
    )  # fmt: skip


def _on_device(case: Case) -> bool:
    """Whether communicators are made at the first call of a group (NCCL and its like), and not with the group (gloo)."""
    return any(producer_of(source.producer).on_device for source in case.records.sources if source.usable and source.producer)


def _kind_of_absence(case: Case, rank: int, place: Place) -> Kind:
    if place[1] != COLLECTIVE:
        return Kind.UNPAIRED_P2P
    if rank in case.stalls[place[0], place[2]].absent:
        name = case.groups[place[0]].name
        disputed = any(d.about == "members" and d.name == name and rank in d.minority for d in case.disputes)
        return Kind.GROUP_MISMATCH if disputed else Kind.GROUP_ABSENT
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
    verb, over = "wait" if len(waiters) > 1 else "waits", tell.over(case.stalls, place, waiters)
    if kind is Kind.UNPAIRED_P2P:
        other = "receive" if place[1].startswith(f"p2p {waiters[0]}->") else "send"
        summary = f"{who} did not request the {other} that {wait} {verb} for ({place[1]}, number {place[2]}, {group.label})"
    elif kind is Kind.GROUP_ABSENT:
        summary = (
            f"{who} {agrees(who, 'has', 'have')} no record of the group {group.label}; {wait} {verb} in {op} {place[2]} for it"
        )
    elif kind is Kind.GROUP_MISMATCH:
        summary = (
            f"{who} {agrees(who, 'gives', 'give')} the group named {group.name!r} other members; {wait} {verb} in {call} for it"
        )
    elif kind is Kind.NO_COLLECTIVE:
        summary = f"{who} requested no collective at all; {wait} {verb} in {call} for it"
    else:
        summary = f"{who} did not request {call}; {wait} {f'requested it, and {over}' if over else f'{verb} for it'}"
    alone = _one_ahead(case, place, ranks, waiters)
    if alone:
        odd = agrees(wait, "is the odd one", "are the odd ones")
        summary += f", a call ahead of all others: it may be {wait} that {odd}"
    late = _late(case, ranks) if role is Role.LEAD else []
    lag = tell.lag(late, case.graph.lagging[late[0]][0]) if late else None
    evidence: list[Evidence] = [*tell.absent(place, ranks)]
    if lag is not None:
        evidence.append(lag)
        summary += f"; an earlier call that others completed is not over on {tell.ranks(late)}"
    evidence += tell.requests(case.stalls, place, waiters)
    steps = [
        f"{wait} requested {call}; {tell.how_far(case.stalls, place, waiters)}.",
        *(e.text[0].upper() + e.text[1:] + "." for e in tell.absent(place, ranks)),
    ]
    if role is Role.LEAD:
        if set(ranks) <= {source.rank for source in case.records.sources if source.usable}:
            open_ = _OWN_OVER if any(case.graph.ends.get(r) for r in ranks) else _NONE_OPEN
            steps.append(f"{who}: {open_}: by these records {agrees(who, 'it waits', 'they wait')} for nobody.")
        if lag is not None:
            steps.append(f"{lag.text}.")
        behind = sorted(case.graph.behind(ranks) - set(waiters))
        if behind:
            steps.append(f"Through these, {len(behind)} more ranks wait: {fold_ranks(behind)}.")
        unseen = case.stalls[place[0], place[2]].unobserved if place[1] == COLLECTIVE else ()
        evidence.extend(tell.unseen(place, unseen))
        evidence.extend(tell.call_site(s) for s in case.shifts if alone and s.extra and s.group == place[0])
    kept = not_concluded(kind, who)
    if alone:
        kept += (f"that {who} should have requested it: {wait} {agrees(wait, 'is', 'are')} a call ahead of all others",)
    if role is Role.LEAD and kind is Kind.NOT_REQUESTED and len(ranks) > 1 and _on_device(case):
        kept += (f"that each of {who} waits for nobody: to make a communicator, at a group's first call, leaves no record",)
    waited = tell.waited_ns(case.stalls, place, waiters)
    if waited is not None and a_moment(waited):
        kept += (f"that the job stands still: {wait} had waited {waited / 1e9:.1f} s at most when the dumps were written",)
    return Finding(
        kind, role, tuple(ranks), tuple(waiters), group.id, place[1], place[2], op,
        # it may not have come because its device does not get on, or what waits for it is known from a counter alone
        Side.UNKNOWN if late or _of_counters(case, place, waiters) else Side.HOST,
        summary, tuple(evidence),
        _first(case, tell, compare_first(kind, who), late), kept, tuple(steps),
    )  # fmt: skip


def _late(case: Case, ranks: Sequence[int]) -> list[int]:
    """Those of the ranks on which one earlier call is not over although others completed it."""
    places = [case.graph.lagging[rank][0] for rank in ranks if case.graph.lagging.get(rank)]
    return [rank for rank in ranks if places and places[0] in case.graph.lagging.get(rank, ())]


def _first(case: Case, tell: Telling, first: str, late: Sequence[int]) -> str:
    """What to compare first, and what else where a rank may have stopped because its own earlier call is not over."""
    if not late:
        return first
    device = compare_first(Kind.PARTLY_COMPLETED, tell.ranks(late), on_device=_on_device(case))
    also = " Also" if first.endswith("?") else "; also"
    return f"{first}{also}, as to the earlier call that others completed: {device}"
