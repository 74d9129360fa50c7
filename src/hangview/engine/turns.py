"""Of ranks that wait for each other in a circle: who came to its open call in the order it always had, and who did not.

Each waits in a group that another one has yet to come to, so the order in which they use these groups is not the same. Where a
rank's own earlier calls in the groups that all of them share went one way every time, its last step shows whether it turned.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from hangview.terms import COLLECTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.calls import Calls
    from hangview.engine.waits import Graph
    from hangview.terms import Group

#: So often a rank must have gone the same way before that is its way.
_TIMES = 2


@dataclass(frozen=True, slots=True)
class Turn:
    """``rank`` came from its call ``after`` to the call ``to``, both (group, seq) of groups of the whole circle; all ``times``
    times before it had gone from the group of ``after`` to the group ``usual``."""

    rank: int
    after: tuple[int, int]
    to: tuple[int, int]
    usual: int
    times: int

    @property
    def another(self) -> bool:
        """Whether it went another way this time."""
        return self.to[0] != self.usual


def turns(groups: Sequence[Group], calls: Calls, graph: Graph) -> dict[int, Turn]:
    """The last step of each rank of a circle over several groups, where its earlier ones were all the same."""
    out = {}
    for ranks in graph.cycles:
        inside = set(ranks)
        arrows = [edge for rank in ranks for edge in graph.edges[rank] if edge.on in inside]
        held = {edge.place[0] for edge in arrows if edge.place[1] == COLLECTIVE}
        shared = [group.id for group in groups if inside <= set(group.ranks) and group.id not in calls.unjudged]
        if len(held) < 2 or not held <= set(shared):
            continue
        rows = calls.rows.filter(pl.col("rank").is_in(ranks) & pl.col("group").is_in(shared)).sort("row")
        made: dict[int, list[tuple[int, int]]] = {rank: [] for rank in ranks}
        for rank, group, seq in rows.select("rank", "group", "seq").iter_rows():
            made[rank].append((group, seq))
        for rank in ranks:
            waits_in = {(edge.place[0], edge.place[2]) for edge in arrows if edge.rank == rank}
            turn = _turn(rank, made[rank], waits_in)
            if turn is not None:
                out[rank] = turn
    return out


def _turn(rank: int, made: list[tuple[int, int]], waits_in: set[tuple[int, int]]) -> Turn | None:
    at = next((i for i, call in enumerate(made) if call in waits_in), 0)
    if at == 0:
        return None
    after, to = made[at - 1], made[at]
    before = [there[0] for here, there in pairwise(made[:at]) if here[0] == after[0]]
    if len(before) < _TIMES or len(set(before)) > 1:
        return None
    return Turn(rank, after, to, before[0], len(before))
