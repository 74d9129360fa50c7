"""What findings are drawn from, and the order in which places are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.still import newest_times
from hangview.schema import CellState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hangview.engine.callsites import Shift
    from hangview.engine.clocks import Late
    from hangview.engine.groups import Dispute
    from hangview.engine.p2p import Traffic
    from hangview.engine.shifted import Shifted
    from hangview.engine.stalls import Mismatch, Stall
    from hangview.engine.still import OpenCall
    from hangview.engine.turns import Turn
    from hangview.engine.waits import Graph, Place
    from hangview.engine.windows import Windows
    from hangview.schema import Records
    from hangview.terms import Clock, Group


@dataclass(frozen=True, slots=True)
class Quiet:
    """Calls of one group whose requests differ although none of them is open: the first of them, and how many there are."""

    group: int
    seq: int
    calls: int
    over: bool  #: known to be over; of some recorders' calls it is only known that they were issued
    mismatch: Mismatch


@dataclass(frozen=True, slots=True)
class Case:
    """Everything the findings are drawn from."""

    records: Records
    groups: tuple[Group, ...]
    windows: Windows
    stalls: dict[tuple[int, int], Stall]
    traffic: Traffic
    graph: Graph
    quiet: tuple[Quiet, ...]
    disputes: tuple[Dispute, ...]
    ops: Mapping[tuple[int, int], str]  #: family of the calls at which shifts and late ranks begin
    sizes: Mapping[int, int] = field(default_factory=dict)  #: members of inferred groups, where their number is proved
    world: frozenset[int] = frozenset()  #: every rank that is known of, where members had to be inferred
    maybe_open: frozenset[int] = frozenset()  #: ranks that may still be in their newest call: it is only known to be issued
    #: rank -> (group, seq, members of whom nothing tells) of ranks whose newest call is over, well or badly is not recorded
    maybe_failed: Mapping[int, tuple[int, int, tuple[int, ...]]] = field(default_factory=dict)
    barred: frozenset[int] = frozenset()  #: ranks that waited in a monitored_barrier, by their logs: it leaves no record
    #: (group, seq) of an open call whose requests differ -> ranks of the minority whose requests fit the others' when moved
    shifted: Mapping[tuple[int, int], tuple[Shifted, ...]] = field(default_factory=dict)
    shifts: tuple[Shift, ...] = ()
    late: tuple[Late, ...] = ()
    still: frozenset[OpenCall] = frozenset()  #: open calls of which it is known that they stand still
    turns: Mapping[int, Turn] = field(default_factory=dict)  #: of ranks that wait in a circle: by which way they came there
    clocks: tuple[Clock, ...] = ()  #: by how much those of ranks or hosts are ahead, where that is known
    clock_ns: int | None = None  #: within which times of two ranks cannot be told apart


def place_order(case: Case, place: Place) -> tuple[int, int, str, int]:
    group = case.groups[place[0]]
    return (-len(group.ranks), place[0], place[1], place[2])


def most_wait(case: Case) -> bool:
    """Whether half of the ranks whose dumps were read wait for those that are waited for and wait for nobody. Dumps of a job
    that runs, taken in the midst of a step, seldom look so."""
    read = {source.rank for source in case.records.sources if source.usable and source.rank is not None}
    ends = set(case.graph.sinks)
    return 2 * len(case.graph.behind(ends) - ends) >= len(read - ends)


def silent_ns(case: Case, ranks: Collection[int]) -> int | None:
    """How long the one of these ranks that did something last had done nothing when its file was written; None where no time is
    recorded."""
    entries = case.records.entries.lazy().filter(pl.col("rank").is_in(sorted(ranks)))  # lazy: copies what it needs only
    times = newest_times(entries).drop_nulls().collect()
    return min((case.records.sources[at].mtime_ns - last for at, last in times.iter_rows()), default=None)


def older(case: Case, rank: int) -> bool:
    return any(w.above is CellState.BEFORE_DUMP for (_, r), w in case.windows.items() if r == rank)


def loose(case: Case, group: Group) -> bool:
    """Whether a member may have left no record: members are known from who recorded the group, and nothing proves how many
    there are."""
    return group.inferred and case.sizes.get(group.id) != len(group.ranks)


def lost(case: Case) -> list[int]:
    """Ranks that are known of and left no usable dump."""
    return sorted(case.world - {source.rank for source in case.records.sources if source.usable})
