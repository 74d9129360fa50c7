"""Off by one: a rank that skipped or repeated a call goes on one call apart, and only the stacks show it.

Operations and sizes may agree for a long time after that (a loss and a gradient of one shape). What gives it away is that
the rank's call sites are the majority's, moved by one. A rank that merely reaches the same call from another line of code is
no such case: nothing is concluded from a different stack alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from hangview.engine.calls import Calls

#: Calls that agree before the parting, and that must fit the shift after it.
_BEFORE, _AFTER = 3, 3
_SHARE = 0.9
#: Others that must agree where one rank made a call more.
_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Shift:
    """From ``seq`` on, ``rank``'s call sites are the majority's moved by ``by``: +1 it skipped a call, -1 it repeated one, 0 it
    did either, which a loop of two call sites does not tell apart."""

    group: int
    rank: int
    seq: int
    by: int
    fits: int  #: calls after the parting whose call site fits the shift and not the majority
    stack: int  #: its stack at ``seq``
    majority_stack: int
    extra: bool = False  #: at ``seq`` it alone made a call of a place that nobody else ever called from


def shifts(calls: Calls) -> tuple[Shift, ...]:
    """Ranks whose call sites run ahead of or behind the majority's, by group and rank."""
    suspects = calls.by_seq.filter("parted").select("group").unique()
    if suspects.is_empty():
        return ()
    rows = calls.rows.select("group", "seq", "rank", "stack").join(suspects, on="group", how="semi")
    rows = rows.filter(pl.col("stack") > 0)
    parted = calls.by_seq.select("group", "seq", n="n_stacks")
    majority = (
        rows.group_by("group", "seq", "stack")
        .agg(votes=pl.len().cast(pl.Int32))
        .join(parted, on=["group", "seq"])
        .filter(2 * pl.col("votes") > pl.col("n"))
        .select("group", "seq", majority="stack")
    )
    voted = rows.join(majority, on=["group", "seq"])
    off = pl.col("stack") != pl.col("majority")
    found = (
        voted.group_by("group", "rank")
        .agg(start=pl.col("seq").filter(off).min(), oldest=pl.col("seq").min(), n_off=off.sum())
        .filter((pl.col("n_off") >= _AFTER) & (pl.col("start") >= pl.col("oldest") + _BEFORE))
        .sort("group", "rank")
    )
    out = []
    for group, rank, start, *_ in found.iter_rows():
        shift = _shift(voted, majority, group, rank, start)
        if shift is not None:
            out.append(shift)
    known = {(shift.group, shift.rank) for shift in out}
    return (*out, *(extra for extra in _extras(rows, majority) if (extra.group, extra.rank) not in known))


def _extras(rows: pl.DataFrame, majority: pl.DataFrame) -> list[Shift]:
    """Ranks one call ahead of all others of a group, which made one call from a place of their own and are the others', one
    number later, in all that follow.

    ``fits`` may be 0: in a loop of one call site a call more looks like the same call from another line.
    """
    newest = rows.group_by("group", "rank").agg(pl.col("seq").max())
    ahead = (
        newest.group_by("group")
        .agg(
            rank=pl.col("rank").get(pl.col("seq").arg_max()),
            front=pl.col("seq").max(),
            least=pl.col("seq").min(),
            n=pl.len(),
            n_behind=(pl.col("seq") == pl.col("seq").max() - 1).sum(),
        )
        .filter((pl.col("n_behind") == pl.col("n") - 1) & (pl.col("n_behind") >= _OTHERS))
    )
    near = rows.join(ahead.select("group"), on="group", how="semi")
    lone = near.group_by("group", "stack").agg(pl.len(), rank=pl.col("rank").first(), seq=pl.col("seq").first())
    found = lone.filter(pl.col("len") == 1).join(ahead.select("group", "rank", "front"), on=["group", "rank"])
    found = (
        found.filter(pl.col("seq") < pl.col("front")).group_by("group", "rank").agg(pl.len(), pl.col("seq", "stack").first())
    )
    out = []
    for group, rank, number, seq, stack in found.sort("group", "rank").iter_rows():
        here = pl.col("group") == group
        most = dict(majority.filter(here).select("seq", "majority").iter_rows())
        mine = dict(near.filter(here & (pl.col("rank") == rank)).select("seq", "stack").iter_rows())
        others = near.filter(here & (pl.col("rank") != rank) & (pl.col("seq") == seq))["stack"]
        before = [s for s in mine if s < seq]
        after = [s for s in mine if s > seq]
        same = all(mine[s] == most.get(s) for s in before) and all(mine[s] == most.get(s - 1) for s in after)
        if number == 1 and before and same and len(others) >= _OTHERS and others.n_unique() == 1:
            telling = sum(s in most and mine[s] != most[s] for s in after)
            out.append(Shift(group, rank, seq, -1, telling, stack, others[0], extra=True))
    return out


def _shift(voted: pl.DataFrame, majority: pl.DataFrame, group: int, rank: int, start: int) -> Shift | None:
    after = (pl.col("group") == group) & (pl.col("seq") >= start - 1)
    most = dict(majority.filter(after).select("seq", "majority").iter_rows())
    mine = dict(voted.filter(after & (pl.col("rank") == rank)).select("seq", "stack").iter_rows())
    fitting = {by: _fits(mine, most, start, by) for by in (1, -1)}
    if not any(fitting.values()):
        return None
    both = all(fitting.values())  # a loop of two call sites looks the same moved either way
    by = 1 if fitting[1] else -1
    return Shift(group, rank, start, 0 if both else by, fitting[by], mine[start], most[start])


def _fits(mine: dict[int, int], most: dict[int, int], start: int, by: int) -> int:
    """How many calls fit a shift and not the same number; 0 where the shift does not hold."""
    judged = [s for s in mine if s >= start and s + by in most and s in most]
    fitting = [s for s in judged if mine[s] == most[s + by]]
    telling = [s for s in fitting if mine[s] != most[s]]
    holds = len(telling) >= _AFTER and len({most[s + by] for s in telling}) >= 2 and len(fitting) >= _SHARE * len(judged)
    return len(telling) if holds else 0
