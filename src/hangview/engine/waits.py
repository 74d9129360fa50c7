"""Who waits for whom, across groups, and where the chains end.

An arrow from r to m means: r has an unfinished request that m did not make (host side), or that m made behind an earlier
unfinished one of its own (device side). Ranks at the end of the arrows that wait for nobody are where to look first.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from hangview.engine.components import components
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, p2p_lane

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from hangview.engine.p2p import LaneEnd, P2PLane, Request, Traffic
    from hangview.engine.stalls import Stall
    from hangview.engine.windows import Windows
    from hangview.schema import Records

Place = tuple[int, str, int]  #: (group, lane, seq)


class Arrow(Enum):
    HOST = "host"  #: the target was observed not to have requested the call
    DEVICE = "device"  #: the target requested it, but an earlier request of its own is unfinished
    PAIRED = "paired"  #: both ends of a send and receive are there, neither is over
    UNKNOWN = "unknown"  #: nothing tells whether the target requested it


class End(Enum):
    """Where a rank's own unfinished call leads when it leads to no other rank."""

    MISMATCH = "mismatch"
    DEVICE = "device"  #: all members requested the same, and none of them is held by an earlier call
    LAG = "lag"  #: others finished it: what is unfinished is this rank's own
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class Edge:
    rank: int
    on: int
    place: Place
    arrow: Arrow


@dataclass(frozen=True, slots=True)
class Graph:
    """``edges`` by waiting rank; ``ends``: rank -> {place: how it ends}; ``waiting``: ranks that wait for someone or sit in a
    call that cannot go on; ``sinks``: waited for on the host side, and waiting for nobody; ``lagging``: rank -> places."""

    edges: Mapping[int, tuple[Edge, ...]]
    ends: Mapping[int, Mapping[Place, End]]
    sinks: tuple[int, ...]
    lagging: Mapping[int, tuple[Place, ...]]
    cycles: tuple[tuple[int, ...], ...] = ()
    paired: tuple[tuple[int, ...], ...] = ()  #: cycles of nothing but paired sends and receives
    blind: Mapping[int, tuple[Edge, ...]] = field(default_factory=dict)  #: unobserved rank -> arrows to it

    def targets(self) -> dict[int, set[int]]:
        """rank -> the ranks that it waits for directly."""
        return {rank: {edge.on for edge in out} for rank, out in self.edges.items()}

    def behind(self, ranks: Iterable[int]) -> frozenset[int]:
        """Every rank that waits for one of ``ranks``, directly or through others."""
        waiters: dict[int, set[int]] = defaultdict(set)
        for rank, out in self.edges.items():
            for edge in out:
                waiters[edge.on].add(rank)
        return closure(ranks, waiters)


def closure(ranks: Iterable[int], steps: Mapping[int, set[int]]) -> frozenset[int]:
    """What is reached from ``ranks``; these themselves only where the steps come back to them."""
    seen: set[int] = set()
    todo = list(ranks)
    while todo:
        new = steps.get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    return frozenset(seen)


def build(
    records: Records,
    windows: Windows,
    found: Mapping[tuple[int, int], Stall],
    traffic: Traffic,
    lost: frozenset[int] = frozenset(),
    apart: frozenset[int] = frozenset(),
    single: frozenset[int] = frozenset(),
) -> Graph:
    """The wait graph of all stalls and open sends and receives. ``lost``: ranks whose first open call may not be recorded;
    ``apart``: ranks with an open request that cannot be set beside those of others; ``single``: groups of one rank, in which
    nobody waits for another."""
    first = _first_open(found, windows, traffic)
    late = _first_lag(found)
    lag_at: dict[int, list[Place]] = defaultdict(list)
    edges: dict[int, list[Edge]] = defaultdict(list)
    ends: dict[int, dict[Place, End]] = defaultdict(dict)
    for stall in found.values():
        _collective(stall, first, late, edges, ends, lag_at, lost)
    _sends_and_receives(records, windows, found, traffic, first, edges, ends, lag_at)

    hard = {r for r, places in ends.items() if any(e is not End.LAG and p[0] not in single for p, e in places.items())}
    waiting = {r for r, out in edges.items() if out} | hard | apart
    targets = {e.on for out in edges.values() for e in out if e.arrow is Arrow.HOST}
    blind: dict[int, list[Edge]] = defaultdict(list)
    for out in edges.values():
        for edge in out:
            if edge.arrow is Arrow.UNKNOWN:
                blind[edge.on].append(edge)
    cycles, paired = _cycles(edges, ends, lag_at.keys())
    return Graph(
        {r: tuple(sorted(out, key=_edge_order)) for r, out in sorted(edges.items())},
        ends,
        tuple(sorted(targets - waiting)),
        {r: tuple(sorted(set(places))) for r, places in sorted(lag_at.items())},
        cycles,
        paired,
        {r: tuple(sorted(out, key=_edge_order)) for r, out in sorted(blind.items())},
    )


def _edge_order(edge: Edge) -> tuple[int, int, str, int, str]:
    return edge.on, edge.place[0], edge.place[1], edge.place[2], edge.arrow.value


def _first_open(found: Mapping[tuple[int, int], Stall], windows: Windows, traffic: Traffic) -> dict[int, tuple[int, Place]]:
    """rank -> (position in its file, place) of its first unfinished request over all lanes."""
    first: dict[int, tuple[int, Place]] = {}

    def offer(rank: int, position: int | None, place: Place) -> None:
        if position is not None and (rank not in first or position < first[rank][0]):
            first[rank] = (position, place)

    for (group, seq), stall in found.items():
        for rank in stall.waiting:
            if not (stall.passed and not stall.missing):
                offer(rank, stall.positions.get(rank, windows[group, rank].open_position), (group, COLLECTIVE, seq))
    for lane in traffic.lanes.values():
        for end in (lane.send, lane.recv):
            for request in end.open[:1]:
                offer(end.rank, request.position, _place(lane, request))
    return first


def _first_lag(found: Mapping[tuple[int, int], Stall]) -> dict[int, int]:
    """rank -> position in its file of the first call that others finished and it did not: what it issued later is behind."""
    first: dict[int, int] = {}
    for stall in found.values():
        if stall.passed and not stall.missing:
            for rank in stall.waiting:
                if rank in stall.positions:
                    first[rank] = min(stall.positions[rank], first.get(rank, stall.positions[rank]))
    return first


def _place(lane: P2PLane, request: Request) -> Place:
    return lane.group, p2p_lane(lane.source, lane.target), request.number


def _collective(
    stall: Stall,
    first: Mapping[int, tuple[int, Place]],
    late: Mapping[int, int],
    edges: dict[int, list[Edge]],
    ends: dict[int, dict[Place, End]],
    lag_at: dict[int, list[Place]],
    lost: frozenset[int],
) -> None:
    place = (stall.group, COLLECTIVE, stall.seq)
    held = {
        m
        for m, position in stall.positions.items()
        if (m in first and first[m][1] != place and first[m][0] < position) or late.get(m, position) < position
    }
    for rank in stall.waiting:
        edges[rank].extend(Edge(rank, m, place, Arrow.HOST) for m in stall.missing)
        if not stall.passed:  # else it was completed somewhere, and so every member had requested it
            edges[rank].extend(Edge(rank, m, place, Arrow.UNKNOWN) for m in stall.unobserved)
        if stall.mismatch is not None:
            ends[rank][place] = End.MISMATCH
        elif stall.missing or (stall.unobserved and not stall.passed):
            continue
        elif stall.passed:
            ends[rank][place] = End.LAG
            lag_at[rank].append(place)
        elif first.get(rank, (0, place))[1] == place:
            if held:
                edges[rank].extend(Edge(rank, m, place, Arrow.DEVICE) for m in sorted(held) if m != rank)
            elif not lost.isdisjoint(stall.waiting):
                ends[rank][place] = End.UNJUDGED  # what holds it may be a call whose record is gone
            else:
                ends[rank][place] = End.DEVICE


def _sends_and_receives(
    records: Records,
    windows: Windows,
    found: Mapping[tuple[int, int], Stall],
    traffic: Traffic,
    first: Mapping[int, tuple[int, Place]],
    edges: dict[int, list[Edge]],
    ends: dict[int, dict[Place, End]],
    lag_at: dict[int, list[Place]],
) -> None:
    usable = {s.rank: s for s in records.sources if s.usable}
    blind = {r for _, r in windows if r not in usable or usable[r].partial}
    older = {w.rank for w in windows.values() if w.above is CellState.BEFORE_DUMP}
    blind |= older
    members: dict[int, int] = defaultdict(int)
    for group, _ in windows:
        members[group] += 1
    since = _lag_start(found, lag_at)
    batches = _first_batches(traffic, first)
    loose: list[Edge] = []
    doubted: set[int] = set()
    for lane in traffic.lanes.values():
        for mine, other in ((lane.send, lane.recv), (lane.recv, lane.send)):
            for i, request in enumerate(mine.open):
                place = _place(lane, request)
                answer = _answer(lane, other, i, request, pair=members[lane.group] == 2)
                stale = mine.rank in older and not lane.paired  # its peer's later ones may be what it waited for
                if not lane.judged or request.unclear or (stale and answer != "over"):
                    ends[mine.rank][place] = End.UNJUDGED
                elif traffic.stuck(lane, request.number) is not None:
                    ends[mine.rank][place] = End.MISMATCH
                elif answer == "over" or _own_delay(request, answer, since, lane):
                    ends[mine.rank].setdefault(place, End.LAG)
                elif answer == "open":
                    if first[mine.rank][1] == place or batches.get(mine.rank) == (lane.group, request.p2p_seq):
                        edges[mine.rank].append(Edge(mine.rank, other.rank, place, Arrow.PAIRED))
                    if any(asked.held for asked in other.open):
                        doubted.add(mine.rank)
                elif answer == "untold":
                    edges[mine.rank].append(Edge(mine.rank, other.rank, place, Arrow.UNKNOWN))
                else:
                    if other.rank not in blind and not lane.paired and (request.held or lane.doubtful):
                        doubted |= {mine.rank} if lane.doubtful else set()
                        loose.append(Edge(mine.rank, other.rank, place, Arrow.UNKNOWN))
                    else:
                        arrow = Arrow.UNKNOWN if other.rank in blind else Arrow.HOST
                        edges[mine.rank].append(Edge(mine.rank, other.rank, place, arrow))
                    break  # what is queued behind it on the same lane adds nothing
    _add_loose(loose, doubted, edges, ends)


def _first_batches(traffic: Traffic, first: Mapping[int, tuple[int, Place]]) -> dict[int, tuple[int, int]]:
    """rank -> (group, p2p_seq) of the batch that its first open request is a member of. A batch ends as one: the rank waits for
    every member that is not over, also where the first one was answered."""
    requests = ((lane, request) for lane in traffic.lanes.values() for end in (lane.send, lane.recv) for request in end.open)
    return {
        request.rank: (lane.group, request.p2p_seq)
        for lane, request in requests
        if request.p2p_seq and first[request.rank][0] == request.position and first[request.rank][1][0] == lane.group
    }


def _add_loose(
    loose: Iterable[Edge], doubted: set[int], edges: dict[int, list[Edge]], ends: Mapping[int, Mapping[Place, End]]
) -> None:
    """Arrows of requests without an answer that another request of the rank may hold, where nothing proves that none came.

    The peer may have answered long ago, and the other request be what the rank waits in. So they add nothing where it has an
    observed arrow; they are observed where all others are answered, by peers that nothing else holds, and no times speak for an
    answer (``doubted``: ranks of which that is not so); and else nothing tells.
    """
    by_rank: dict[int, list[Edge]] = defaultdict(list)
    for edge in loose:
        by_rank[edge.rank].append(edge)
    for rank, mine in by_rank.items():
        arrows = {edge.arrow for edge in edges[rank]}
        if arrows & {Arrow.HOST, Arrow.DEVICE}:
            continue
        answered = rank not in doubted and all(end is End.LAG for end in ends.get(rank, {}).values())
        alone = len(mine) == 1 and answered and Arrow.UNKNOWN not in arrows
        edges[rank] += [replace(edge, arrow=Arrow.HOST) for edge in mine] if alone else mine


def _lag_start(found: Mapping[tuple[int, int], Stall], lag_at: Mapping[int, Iterable[Place]]) -> dict[int, int]:
    """rank -> place in its file of the first request that others finished and it did not."""
    out: dict[int, int] = {}
    for rank, places in lag_at.items():
        positions = [found[p[0], p[2]].positions[rank] for p in places if rank in found[p[0], p[2]].positions]
        out[rank] = min(positions, default=0)
    return out


def _own_delay(request: Request, answer: str, since: Mapping[int, int], lane: P2PLane) -> bool:
    """Whether a send or receive is open because this rank itself is held, not because of its peer.

    What a rank issued behind a call that all others finished is held up by the rank's own device; and where nothing proves
    which send meets which receive, a missing answer may be one that the peer finished long ago.
    """
    if request.rank not in since or request.position < since[request.rank]:
        return False
    return answer == "open" or (answer == "none" and not lane.paired)


def _answer(lane: P2PLane, other: LaneEnd, index: int, request: Request, *, pair: bool) -> str:
    """Whether the other end has made the matching request: "open", "over" or "none"; "untold" where it may be over or open."""
    if lane.paired:
        if other.newest < request.number:
            return "none"
        match = next((r for r in other.open if r.number == request.number), None)
    else:
        match = other.open[index] if index < len(other.open) else None
    if match is not None:
        return "untold" if match.unclear else "open"
    if lane.paired:
        return "over"
    if pair and request.p2p_seq is not None and other.newest_p2p is not None and other.newest_p2p >= request.p2p_seq:
        # Two members count the same sends and receives. The record of this one may be gone, and the call open all the same.
        if request.met:
            return request.met
        gone = other.oldest_p2p is None or other.oldest_p2p > request.p2p_seq
        return "untold" if gone else "over"
    return "none"


def _cycles(
    edges: Mapping[int, Iterable[Edge]], ends: Mapping[int, Mapping[Place, End]], lagging: AbstractSet[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Cycles that nothing outside explains: groups of ranks that reach each other and nothing else.

    They close over observed arrows only: where nothing tells whether a request was made, nobody is known to wait in a circle.
    Nor where one of them has not finished what others finished: what it waits for since is behind that.
    """
    out_of = {r: sorted({e.on for e in out}) for r, out in edges.items()}
    seen = {r: sorted({e.on for e in out if e.arrow is not Arrow.UNKNOWN}) for r, out in edges.items()}
    hard = {(e.rank, e.on) for out in edges.values() for e in out if e.arrow in (Arrow.HOST, Arrow.DEVICE)}
    closed: list[tuple[int, ...]] = []
    soft: list[tuple[int, ...]] = []
    for component in components(seen):
        inside = set(component)
        leaves = any(on not in inside for r in component for on in out_of.get(r, ()))
        stuck = any(e is not End.LAG for r in component for e in ends.get(r, {}).values())
        if len(component) < 2 or leaves or stuck or not lagging.isdisjoint(component):
            continue
        real = any((r, on) in hard for r in component for on in out_of[r])
        (closed if real else soft).append(tuple(sorted(component)))
    return tuple(sorted(closed)), tuple(sorted(soft))
