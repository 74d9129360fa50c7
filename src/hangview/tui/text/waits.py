"""Who waits for whom, across groups: leads at the top, below them those that wait; cycles are drawn as cycles."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.engine.components import components
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, Role, Side, Wait
from hangview.text import count, name_ranks
from hangview.tui.place import Place, lane_at, place_of, ranks_of
from hangview.tui.prose import Line, Tone, line
from hangview.tui.sides import MISMATCHES
from hangview.tui.text.common import DONE_BY_LOG, NOBODY, NOBODY_RECORDED, UNTOLD, lane_name, over_there, waits_for_nobody
from hangview.tui.waiting import for_whom_unknown, waits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.incident import Incident
    from hangview.terms import Finding

    Differing = tuple[Finding, frozenset[int]]

#: The tree stops here; what was left out is counted.
LINES = 400
PARTS = 10
#: So many calls whose requests differ are looked at.
MOST_DIFFERING = 20
_OPEN = (CellState.REQUESTED, CellState.STARTED)


@dataclass(frozen=True, slots=True)
class Knot:
    """Ranks that wait at one call for the same ranks."""

    group: int
    lane: str
    seq: int
    ranks: tuple[int, ...]
    on: frozenset[int]
    side: str
    observed: bool


WaitLine = tuple[Place | None, Line]


def knots_of(waits: Iterable[Wait]) -> list[Knot]:
    """Waits gathered: 1,023 ranks that wait for one are one knot."""
    on: defaultdict[tuple[int, str, int, int], set[int]] = defaultdict(set)
    told: dict[tuple[int, str, int, int], tuple[str, bool]] = {}
    for wait in waits:
        key = (wait.group, wait.lane, wait.seq, wait.rank)
        on[key].add(wait.on)
        side, observed = told.get(key, (wait.side.value, True))
        told[key] = (side, observed and wait.observed)
    gathered: defaultdict[tuple[int, str, int, frozenset[int], str, bool], list[int]] = defaultdict(list)
    for key, ranks in on.items():
        gathered[(*key[:3], frozenset(ranks), *told[key])].append(key[3])
    knots = [
        Knot(group, lane, seq, tuple(sorted(ranks)), targets, side, observed)
        for (group, lane, seq, targets, side, observed), ranks in gathered.items()
    ]
    return sorted(knots, key=lambda knot: (knot.group, knot.lane, knot.seq, knot.ranks))


def cycles_of(waits: Iterable[Wait]) -> list[tuple[int, ...]]:
    """Sets of ranks that reach each other by waiting and wait for nobody else, lowest rank first. Where one of them waits for a
    rank outside, that one explains all of them."""
    graph: defaultdict[int, set[int]] = defaultdict(set)
    for wait in waits:
        graph[wait.rank].add(wait.on)
    found = components({rank: sorted(on) for rank, on in graph.items()})
    return sorted(
        tuple(sorted(ranks)) for ranks in found if len(ranks) > 1 and all(graph[rank] <= set(ranks) for rank in ranks)
    )


def wait_lines(incident: Incident) -> list[WaitLine]:
    """The tree as lines, each with where it leads."""
    waits = waits_of(incident)
    knots = knots_of(waits)
    if not knots:
        return _unexplained(incident)
    by_target: defaultdict[int, list[Knot]] = defaultdict(list)
    for knot in knots:
        for target in knot.on:
            by_target[target].append(knot)
    lines: list[WaitLine] = []
    drawn: set[Knot] = set()
    waiting = {wait.rank for wait in waits}
    differing = _differing_calls(incident)
    roots: defaultdict[tuple[Knot, ...], list[int]] = defaultdict(list)
    for target in sorted(set(by_target) - waiting):
        roots[tuple(by_target[target])].append(target)
    leads = [ranks for ranks in roots.values() if set(ranks) & set(incident.leads)]
    others = [ranks for ranks in roots.values() if ranks not in leads]
    for ranks in sorted(leads):
        lines.append(_root(incident, ranks, by_target[ranks[0]][0], differing))
        lines += _below(incident, ranks, by_target, drawn)
    for members in cycles_of(waits):
        lines += _cycle(incident, members, knots, drawn)
        lines += _below(incident, members, by_target, drawn)
    for ranks in sorted(others):
        lines.append(_root(incident, ranks, by_target[ranks[0]][0], differing))
        lines += _below(incident, ranks, by_target, drawn)
    lines += [(place_of(incident, each), line((each.summary, Tone.WAITING), hang=2)) for each in for_whom_unknown(incident)]
    if len(lines) > LINES:
        more = len(lines) - LINES
        lines = [*lines[:LINES], (None, line((f"and {count(more, 'more line')}", Tone.DIM)))]
    return lines


def _unexplained(incident: Incident) -> list[WaitLine]:
    """What findings say of ranks that wait, where nothing tells for whom."""
    found = [finding for finding in incident.findings if finding.role is Role.WAITING]
    if not found:
        return [(None, line(("nobody is known to wait for anybody", Tone.DIM)))]
    return [
        (place_of(incident, each), line((each.summary, Tone.WAITING), "  for whom, no file tells", hang=2)) for each in found
    ]


def _place(incident: Incident, knot: Knot, rank: int) -> Place:
    """The rank's cell of the call, where the grid has it; of a rank that logs alone tell of, which has no row, another's."""
    lane = lane_at(incident, knot.group, knot.lane)
    seq = knot.seq if lane is None else min(max(knot.seq, lane.first), lane.front)
    if knot.lane == COLLECTIVE:
        rows = ranks_of(incident, knot.group, knot.lane)
        rank = next((each for each in (rank, *knot.ranks) if each in rows), rank)
    return Place(knot.group, knot.lane, seq, rank)


def _root(incident: Incident, ranks: Sequence[int], knot: Knot, differing: Sequence[Differing]) -> WaitLine:
    place = _place(incident, knot, ranks[0])
    if set(ranks) & set(incident.leads):
        return place, line(
            (name_ranks(ranks, PARTS), Tone.LEAD),
            f"  look here first: others wait, and {_for_nobody(incident, ranks)}",
            hang=2,
        )
    missing = [rank for rank in ranks if rank in incident.coverage.missing]
    inside = next((finding for finding, held in differing if held.issuperset(ranks)), None)
    if inside is not None and not missing:
        assert inside.group is not None
        where = f"{inside.op or 'call'} {inside.seq} of {lane_name(incident, inside.group, inside.lane)}"
        who = f" ({name_ranks(inside.ranks, PARTS)})" if inside.others else ""  # without a majority there is no other side
        said = f"  {'is' if len(ranks) == 1 else 'are'} in {where}, in which the requests differ{who}"
        place = Place(inside.group, inside.lane or "", inside.seq or 0, ranks[0])
        return place, line((name_ranks(ranks, PARTS), Tone.WAITING), said, hang=2)
    why = (
        f"no dump, so what {'it waits' if len(ranks) == 1 else 'they wait'} for is not known"
        if missing
        else f"{'waits' if len(ranks) == 1 else 'wait'} for nobody as far as was recorded; not named as a lead"
    )
    return place, line((name_ranks(ranks, PARTS), Tone.UNKNOWN), f"  {why}", hang=2)


def _for_nobody(incident: Incident, ranks: Sequence[int]) -> str:
    told = {waits_for_nobody(incident, rank) for rank in ranks}
    if len(ranks) == 1:
        return told.pop()
    if UNTOLD in told:
        return "of some no dump tells whether they wait" if len(told) > 1 else UNTOLD.replace("it waits", "they wait")
    if told == {DONE_BY_LOG}:
        return "by their logs nothing that they enqueued is unfinished"
    if told <= {NOBODY, NOBODY_RECORDED}:
        return told.pop().replace("it waits", "they wait")
    return "none of their own open requests waits for another rank"


def _differing_calls(incident: Incident) -> list[Differing]:
    """The first findings about calls whose requests differ, each with the ranks that are held in its call."""
    held = []
    for finding in incident.findings:
        if finding.kind in MISMATCHES and finding.group is not None and finding.lane is not None and finding.seq is not None:
            cells = incident.view.call(finding.group, finding.lane, finding.seq).cells
            held.append((finding, frozenset(cell.rank for cell in cells if cell.state in _OPEN)))
            if len(held) == MOST_DIFFERING:
                break
    return held


def _words(incident: Incident, knot: Knot) -> Line:
    verb = "waits" if len(knot.ranks) == 1 else "wait"
    unseen = "" if knot.observed else f", no record could tell whether {'it' if len(knot.on) == 1 else 'they'} asked"
    side = f", {knot.side} side" if knot.side != "unknown" else ""
    place, on, seen = (knot.group, knot.lane, knot.seq), min(knot.on), knot.observed
    over = over_there(incident, [Wait(rank, on, *place, Side(knot.side), observed=seen) for rank in knot.ranks])
    if over:
        return line(
            (name_ranks(knot.ranks, PARTS), Tone.WAITING),
            f" requested {lane_name(incident, knot.group, knot.lane)} {knot.seq} without {name_ranks(knot.on, PARTS)}: {over}",
        )
    return line(
        (name_ranks(knot.ranks, PARTS), Tone.WAITING),
        f" {verb} in {lane_name(incident, knot.group, knot.lane)} {knot.seq} for {name_ranks(knot.on, PARTS)}{side}{unseen}",
        (f"  {count(len(knot.ranks), 'rank')}" if len(knot.ranks) > 1 else "", Tone.DIM),
    )


def _indented(each: Line, depth: int) -> Line:
    lead = "  " * depth + "← "
    return line(lead, *each.spans, hang=len(lead))


def _below(
    incident: Incident, ranks: Sequence[int], by_target: Mapping[int, Sequence[Knot]], drawn: set[Knot]
) -> list[WaitLine]:
    """Everything that waits for ``ranks``, depth first, each knot once."""
    lines: list[WaitLine] = []
    work: list[tuple[Sequence[int], int]] = [(ranks, 1)]
    pending: list[tuple[Knot, int]] = []
    while work or pending:
        if work:
            targets, depth = work.pop()
            fresh = [knot for target in targets for knot in by_target.get(target, ()) if knot not in drawn]
            fresh = list(dict.fromkeys(fresh))
            drawn.update(fresh)
            pending = [*((knot, depth) for knot in fresh), *pending]
        if pending:
            knot, depth = pending.pop(0)
            place = _place(incident, knot, knot.ranks[0])
            lines.append((place, _indented(_words(incident, knot), min(depth, 12))))
            work.append((knot.ranks, depth + 1))
    return lines


def _cycle(incident: Incident, members: Sequence[int], knots: Sequence[Knot], drawn: set[Knot]) -> list[WaitLine]:
    """The calls in which the members wait for each other, and the way round."""
    inside = set(members)
    ring = [knot for knot in knots if set(knot.ranks) & inside and knot.on & inside]
    place = Place(ring[0].group, ring[0].lane, ring[0].seq, members[0]) if ring else None
    head = line(
        (f"cycle of {count(len(members), 'rank')}: {name_ranks(members, PARTS)}", Tone.LEAD),
        "  each waits for another; no single rank is named",
        hang=2,
    )
    lines: list[WaitLine] = [(place, head)]
    for knot in ring:
        drawn.add(knot)
        lines.append((Place(knot.group, knot.lane, knot.seq, knot.ranks[0]), _indented(_words(incident, knot), 1)))
    way = _way_round(members[0], {knot.ranks: knot.on & inside for knot in ring})
    if way:
        lines.append((place, line("  round: ", (" → ".join(str(rank) for rank in way), Tone.STRONG), hang=9)))
    return lines


def _way_round(start: int, arrows: Mapping[tuple[int, ...], frozenset[int]], most: int = 12) -> list[int]:
    """The shortest way from ``start`` back to itself; empty when it is longer than ``most``."""
    targets = {rank: on for ranks, on in arrows.items() for rank in ranks}
    ways = [[start]]
    seen = {start}
    while ways and len(ways[0]) <= most:
        way = ways.pop(0)
        for target in sorted(targets.get(way[-1], ())):
            if target == start:
                return [*way, start]
            if target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return []
