"""Records in, Incident out: the order in which the parts of the engine are put to work."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine import calls as calls_room
from hangview.engine import (
    callsites,
    clocks,
    contradicted,
    counted,
    findings,
    groups,
    live,
    older,
    overwritten,
    p2p,
    readings,
    recorders,
    shifted,
    stalls,
    still,
    torn_down,
    turns,
    uncompared,
    unrecorded,
    waits,
    windows,
)
from hangview.engine.view import View
from hangview.incident import Incident
from hangview.schema import CellState, SourceKind, SourceStatus
from hangview.terms import COLLECTIVE, Coverage, Fact, Kind, Lane, Role, Side, Verdict, Wait, p2p_lane
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.calls import Calls
    from hangview.engine.groups import Grouping
    from hangview.engine.p2p import P2PLane, Traffic
    from hangview.engine.stalls import Stall
    from hangview.engine.waits import Graph
    from hangview.engine.windows import Windows
    from hangview.logs.evidence import LogEvidence
    from hangview.schema import Records
    from hangview.terms import Finding, Group


def analyse(records: Records, logs: LogEvidence | None = None, paths: Sequence[str] = ()) -> Incident:
    """Line the ranks up, find the first disagreement of every group, and where the waiting ends."""
    grouping = groups.resolve(records, logs.ranks if logs is not None else ())
    entries = recorders.one_recorder(records, readings.read(records, grouping))
    names = readings.families(records)
    calls = calls_room.line_up(records, entries, names, grouping.earlier)
    judged = calls.without(grouping.earlier)
    now = entries.filter(~pl.col("group").is_in(list(grouping.earlier))) if grouping.earlier else entries
    traffic = p2p.traffic(records, grouping.groups, now)
    early = p2p.sent_later(records, grouping.groups, traffic)
    known = older.take_back(windows.windows(records, grouping, calls, entries), records, grouping.groups, calls, early)
    timed_out: frozenset[tuple[int, int, int]] = frozenset()
    barred: frozenset[int] = frozenset()
    if logs is not None:
        # without logs all that reads them takes longer to import than a small set to analyse
        from hangview.engine import bylog, logs_alone, logs_beside
        from hangview.logs import judge

        anew = {grouping.groups[i].name for i in grouping.earlier}  # of which generation a log tells is not known
        filled = tuple(group for group in grouping.groups if group.name not in anew)
        known = bylog.fill(known, filled, logs, frozenset(g for g, *_ in traffic.lanes))
        timed_out, barred = bylog.timed_out(filled, logs), bylog.in_a_barrier(logs)
    stand = still.standing(now, timed_out)
    since = live.Since(now, judged, stand)
    common = clocks.newest(judged)
    hosts, late = clocks.clocks(records, common), clocks.stragglers(common)
    del common  # what is kept while others work is memory at the peak
    known = live.reaching(known, since, hosts)
    open_calls = live.without_running(records, stalls.stalls(records, grouping.groups, calls, known, names), since)
    lost = overwritten.open_ones_lost(records, known, entries)
    apart = uncompared.open_uncompared(records, entries, calls)
    single = frozenset(group.id for group in grouping.groups if len(group.ranks) == 1 and not group.inferred)
    graph = waits.build(records, known, open_calls, traffic, lost, apart, single)
    moved = callsites.shifts(judged)
    case = findings.Case(
        records=records,
        groups=grouping.groups,
        windows=known,
        stalls=open_calls,
        traffic=traffic,
        graph=graph,
        quiet=_quiet(records, grouping.groups, calls, known, open_calls),
        disputes=grouping.disputes,
        sizes=grouping.sizes,
        world=grouping.world,
        ops=_ops_at(calls, names, {(s.group, s.seq) for s in moved} | {(x.group, x.since) for x in late}),
        maybe_open=windows.maybe_open(calls, known),
        maybe_failed=windows.maybe_failed(calls, known),
        barred=barred,
        shifted=shifted.shifted(judged, open_calls),
        shifts=moved,
        late=late,
        still=stand,
        turns=turns.turns(grouping.groups, judged, graph),
        clocks=hosts,
        clock_ns=clocks.uncertainty_ns(hosts),
    )
    left_out = unrecorded.unrecorded(records, entries)
    found, of_groups = unrecorded.hedge(findings.find(case), grouping.groups, left_out), grouping.groups
    alone = logs is not None and not any(s.usable for s in records.sources)
    if logs is not None:
        if not alone:
            logs = logs_beside.beside_open_calls(logs, open_calls)
            found = logs_beside.join(found, of_groups, open_calls, logs)
            if all(finding.role is not Role.LEAD for finding in found):
                found += logs_alone.conclude(logs, of_groups, known)
            found += logs_alone.of_later(logs)
        else:
            of_groups = judge.groups_by_log(logs)
            found = judge.conclude(logs, of_groups)
            known = bylog.fill(windows.blank(records, of_groups), of_groups, logs, frozenset())
    unclear = (
        *contradicted.contradicted(records, grouping.groups, judged, known, names),
        *torn_down.torn_down(grouping.groups, judged, known, names),
        *counted.open_by_counters(records, entries, windows.of_earlier(records, grouping)),
    )
    found = findings.ordered((*found, *unclear))
    verdict = _verdict(records, calls, traffic, found)
    coverage = _coverage(records, of_groups, grouping.world, logs)
    gone = () if alone else overwritten.gone(records, of_groups, entries)
    lanes = _lanes(of_groups, calls, known, traffic, found, {} if alone else open_calls)
    unsaid = unclear or _open_behind(grouping, entries) or _nothing_beside(coverage, known, traffic)
    unseen = bool(coverage.missing) or _cut_off(records, known) or any(f.kind is Kind.GROUP_ABSENT for f in found)
    if verdict is Verdict.NO_HANG and (unsaid or unseen or _still_open(found, graph)):
        verdict = Verdict.NOT_ENOUGH_EVIDENCE
    return Incident(
        paths=tuple(paths),
        verdict=verdict,
        leads=judge.leads_of(found) if alone else findings.leads(found),
        findings=found,
        coverage=replace(coverage, unrecorded=(*unrecorded.limits(left_out, verdict), *gone)),
        groups=of_groups,
        lanes=lanes,
        waits=_waits(graph),
        clocks=hosts,
        facts=(*_facts(records), *(logs.facts if logs is not None else ())),
        records=records,
        entries=entries,
        view=View(records, of_groups, entries, calls, known, traffic, graph, lanes, names),
        logs=logs,
    )


_DIVERGES = frozenset({Kind.DIFFERENT_OP, Kind.DIFFERENT_SIZE, Kind.DIFFERENT_DTYPE, Kind.DIFFERENT_CALL_SITE})


def _ops_at(calls: Calls, families: tuple[str, ...], places: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
    out = {}
    for group, seq in places:
        found = calls.at(group, seq)["family"].to_list()
        if found:
            out[group, seq] = families[max(sorted(set(found)), key=found.count)]
    return out


def _facts(records: Records) -> tuple[Fact, ...]:
    """What the dumps themselves say about the software: producer, communication library, schema version."""
    said: dict[tuple[str, str], list[int]] = {}
    for source in records.sources:
        if not source.usable or source.rank is None:
            continue
        for name, value in (("backend", source.producer), ("library", source.library), ("schema", source.version)):
            if value:
                said.setdefault((name, value), []).append(source.rank)
    return tuple(
        Fact(name, value, tuple(sorted(ranks)), "written in the dumps") for (name, value), ranks in sorted(said.items())
    )


def _verdict(records: Records, calls: Calls, traffic: Traffic, found: Sequence[Finding]) -> Verdict:
    if any(f.role is not Role.NOTE or f.kind in _DIVERGES for f in found):
        return Verdict.DIVERGENCE
    if not any(s.usable for s in records.sources) or (calls.rows.is_empty() and not traffic.lanes):
        return Verdict.NOT_ENOUGH_EVIDENCE
    return Verdict.NO_HANG


def _still_open(found: Sequence[Finding], graph: Graph) -> bool:
    """Whether somebody is in a call that is not over: in a job that runs, or in one that stands still; which, is not told."""
    return bool(graph.edges or graph.lagging or graph.ends) or any(f.kind in findings.OF_OPEN_CALLS for f in found)


def _open_behind(grouping: Grouping, entries: pl.DataFrame) -> bool:
    """Whether calls are open, and a rank is not known to be in the generation of a group that others are in."""
    return bool(grouping.behind) and bool(entries["reading"].is_in(readings.OPEN).any())


def _cut_off(records: Records, known: Windows) -> bool:
    """Whether a rank's newest calls may be among what its file has lost: what it waits in would be. So may the newest call of a
    group of which counters alone tell, on all ranks: what its records say of how it ended is not known."""
    if any(window.above is CellState.CUT for window in known.values()):
        return True
    front: dict[int, int] = {}
    for window in known.values():
        front[window.group] = max(window.newest or 0, front.get(window.group, 0))
    cut = {w.group for w in known.values() if w.source is not None and records.sources[w.source].partial}
    told = {w.group for w in known.values() if w.newest_from == "entry" and w.newest == front[w.group]}
    return any(front[group] for group in cut - told)


def _nothing_beside(coverage: Coverage, known: Windows, traffic: Traffic) -> bool:
    """Whether no two ranks of a group left records to be set beside each other: what is compared with nothing shows nothing."""
    told = Counter(window.group for window in known.values() if window.source is not None and window.newest is not None)
    paired = any({lane.source, lane.target} <= set(coverage.read) for lane in traffic.lanes.values())
    return len(coverage.expected) > 1 and max(told.values(), default=0) < 2 and not paired


def _coverage(records: Records, found: tuple[Group, ...], world: frozenset[int], logs: LogEvidence | None) -> Coverage:
    read = {s.rank for s in records.sources if s.usable and s.rank is not None}
    expected = read | world | {r for g in found for r in g.ranks} | set(logs.ranks if logs is not None else ())
    expected |= set(range(logs.proven or 0) if logs is not None else ())
    expected |= {
        s.rank
        for s in records.sources
        if s.rank is not None and s.kind is SourceKind.DUMP and s.status is not SourceStatus.OTHER_ATTEMPT
    }
    missing = {rank: windows.why_no_dump(records, rank) for rank in sorted(expected - read)}
    partial = tuple(sorted(s.rank for s in records.sources if s.partial and s.rank is not None))
    return Coverage(tuple(sorted(expected)), tuple(sorted(read)), missing, partial)


#: Of one group, so many calls whose requests are not the same are looked at one by one.
_LOOKED_AT = 200


def _quiet(
    records: Records, found: tuple[Group, ...], calls: Calls, known: Windows, open_calls: dict[tuple[int, int], Stall]
) -> tuple[findings.Quiet, ...]:
    """Calls that differ between ranks although they are not open, by group and kind of difference."""
    table = calls.by_seq.filter(pl.col("differs") | (pl.col("exchange") & (pl.col("sent") != pl.col("received"))))
    bound: dict[int, int] = {}  # from its stalled mismatch on, a group's calls are no news
    for (group, seq), stall in open_calls.items():
        if stall.mismatch is not None:
            bound[group] = min(seq, bound.get(group, seq))
    places: dict[int, list[int]] = {}
    for group, seq in table.select("group", "seq").iter_rows():
        if group not in calls.unjudged and seq < bound.get(group, seq + 1):
            places.setdefault(group, []).append(seq)
    looked = {(group, seq) for group, seqs in places.items() for seq in seqs[:_LOOKED_AT]}
    out: dict[tuple[int, Kind], findings.Quiet] = {}
    for (group, seq), rows in sorted(stalls.rows_at(calls, looked).items()):
        without = stalls.without_record(found[group], seq, {row["rank"] for row in rows}, known)
        differs = stalls.mismatch(records, found[group], rows, calls, len(without.unobserved))
        if differs is not None:
            over = not any(row["issued"] for row in rows)
            first = out.get((group, differs.kind), findings.Quiet(group, seq, 0, over, differs))
            out[group, differs.kind] = replace(first, calls=first.calls + 1, over=first.over and over)
    return tuple(out[key] for key in sorted(out))


def _waits(graph: Graph) -> tuple[Wait, ...]:
    sides = {
        waits.Arrow.HOST: Side.HOST,
        waits.Arrow.DEVICE: Side.DEVICE,
        waits.Arrow.PAIRED: Side.DEVICE,
        waits.Arrow.UNKNOWN: Side.UNKNOWN,
    }
    return tuple(
        Wait(e.rank, e.on, *e.place, side=sides[e.arrow], observed=e.arrow is not waits.Arrow.UNKNOWN)
        for edges in graph.edges.values()
        for e in edges
    )


def _unseen(group: Group, known: Windows) -> str:
    """Why a group cannot be called agreed although nothing differs: members of which nothing tells."""
    blind = [r for r in group.ranks if (group.id, r) in known and known[group.id, r].newest is None]
    return f"no usable record of {name_ranks(blind, 12)}" if blind else ""


def _unseen_ends(lane: P2PLane, known: Windows) -> str:
    """The same for sends and receives: an end that left no record, and whose rank left none that could tell."""
    blind = set()
    for end in (lane.send, lane.recv):
        window = known.get((lane.group, end.rank))
        if not end.count and window is not None and window.blind:
            blind.add(end.rank)
    return f"no usable record of {name_ranks(blind, 12)}" if blind else ""


def _lanes(
    found: tuple[Group, ...],
    calls: Calls,
    known: Windows,
    traffic: Traffic,
    told: Sequence[Finding],
    open_calls: dict[tuple[int, int], Stall],
) -> tuple[Lane, ...]:
    """Lanes with what was found on them: leads first, then waiting, then the rest by group."""
    roles: dict[tuple[int, str], tuple[Role, int | None]] = {}
    rank_of = {Role.LEAD: 0, Role.WAITING: 1, Role.NOTE: 2}
    for finding in told:
        if finding.group is None or finding.lane is None:
            continue
        key = (finding.group, finding.lane)
        if key not in roles or rank_of[finding.role] < rank_of[roles[key][0]]:
            roles[key] = (finding.role, finding.seq)
    spans = {
        g: (a, b) for g, a, b in calls.by_seq.group_by("group").agg(a=pl.col("seq").min(), b=pl.col("seq").max()).iter_rows()
    }
    still: dict[int, int] = {}
    for g, s in sorted(open_calls):
        still.setdefault(g, s)
    out = []
    for group in found:
        newest = max((known[group.id, r].newest or 0 for r in group.ranks if (group.id, r) in known), default=0)
        role, seq = roles.get((group.id, COLLECTIVE), (None, None))
        if group.id in spans or newest or role:
            counted = max(newest, 1)  # where there is no record, by counters and logs
            first, front = spans.get(group.id, (min(counted, seq or counted), newest))
            reason = calls.unjudged.get(group.id, "") or _unseen(group, known)
            if role is None and group.id in still:
                role, seq = Role.WAITING, still[group.id]
            out.append(Lane(group.id, COLLECTIVE, first, max(front, newest, seq or 0), seq, role, not reason, reason))
    for (g, src, dst), lane in traffic.lanes.items():
        role, seq = roles.get((g, p2p_lane(src, dst)), (None, None))
        count = max(lane.send.newest, lane.recv.newest)
        reason = lane.note or _unseen_ends(lane, known)
        out.append(Lane(g, p2p_lane(src, dst), 1, max(count, seq or 0), seq, role, lane.judged and not reason, reason))
    order = {Role.LEAD: 0, Role.WAITING: 1, Role.NOTE: 2, None: 3}
    out.sort(key=lambda lane: (order[lane.role], lane.lane != COLLECTIVE, lane.group, lane.lane))
    return tuple(out)
