"""Dumps that were written before the others' last calls: what proves it, and what they then do not show."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.schema import CellState

if TYPE_CHECKING:
    from hangview.engine.calls import Calls
    from hangview.engine.windows import Window, Windows


def take_back(found: Windows, calls: Calls, inferred: set[int], only_active: frozenset[int], early: frozenset[int]) -> Windows:
    """Take back "not requested" where the dump is older than what the others completed with that rank.

    A completed call of the kind that needs every member (schema.FULL) proves that each member had requested it. A member
    whose records stop below was written before; one that has no records at all was not recording. Where the members are
    ``inferred`` from who recorded a name, those behind may be another group of that name, in which some wait for others: then
    nothing is proved. Else nobody is named for it: either the dump is older, or the call did not need that rank.
    """
    limit = _proved(found, calls, only_active)
    behind: dict[int, list[Window]] = defaultdict(list)
    for (group, _), window in found.items():
        observed = window.above in (CellState.NOT_REQUESTED, CellState.GROUP_ABSENT)
        if observed and window.newest is not None and window.newest < limit.get(group, 0):
            behind[group].append(window)
    apart = {group for group in inferred if len({window.open_seq is None for window in behind[group]}) > 1}
    stale = {(window.rank, window.newest == 0) for group, late in behind.items() if group not in apart for window in late}
    older = {rank for rank, never in stale if not never} | early
    silent = {rank for rank, never in stale if never} - older
    out = {}
    for key, window in found.items():
        changed = window
        if window.source is not None and window.rank in older and (window.covers or window.above is CellState.GROUP_ABSENT):
            changed = replace(
                window,
                above=CellState.BEFORE_DUMP,
                reason=f"its dump was written before calls that others completed with it; newest here is {window.newest}",
            )
        elif window.source is not None and window.rank in silent and window.newest == 0:
            changed = replace(
                window,
                newest=None,
                above=CellState.NOT_RECORDED,
                inside=CellState.NOT_RECORDED,
                below=CellState.NOT_RECORDED,
                reason="its dump has no record here, although others completed calls that needed it",
            )
        out[key] = changed
    return out


def ended_well(calls: Calls) -> pl.DataFrame:
    """``group``, ``rank``, ``seq``: the newest call of each rank that needed all members, of those that a recorder says are
    over, not how, and that did not fail (gloo: failed work raises, and breaks its group).

    After such a call the rank ended another one, in whatever group, or one that it requested later in this group is still
    open. Not where its next request came only after the time-out of the call: the call may have failed, and the error been
    caught. Then none of that group that came after it is known to have ended well.
    """
    over = (pl.col("reading") == int(CellState.ENDED)) & ~pl.col("issued")
    opened = pl.col("reading").is_in([int(CellState.REQUESTED), int(CellState.STARTED)])
    rows = calls.rows.lazy().filter(over | opened).select("group", "rank", "seq", "row", "reading").collect()
    ended = rows.filter(~opened)
    if ended.is_empty():
        return ended.select("group", "rank", "seq")
    last = ended.group_by("rank").agg(last=pl.col("row").max())
    still = rows.filter(opened).group_by("group", "rank").agg(still=pl.col("row").max())
    whole = calls.by_seq.filter(pl.col("full")).select("group", "seq")
    mine = (
        ended.join(whole, on=["group", "seq"], how="semi").join(last, on="rank").join(still, on=["group", "rank"], how="left")
    )
    went_on = mine.filter((pl.col("row") < pl.col("last")) | (pl.col("row") < pl.col("still")).fill_null(value=False))
    at = went_on["row"].to_numpy()
    asked = calls.entries["created_ns"]
    pause = asked.gather(at + 1) - asked.gather(at)  # the next record of the file: of a rank that went on there is one
    patience = calls.entries["timeout_ms"].gather(at) * 1_000_000
    went_on = went_on.with_columns(failed=((pause >= patience) & (patience > 0)).fill_null(value=False))
    broken = went_on.filter("failed").group_by("group", "rank").agg(broken=pl.col("row").min())
    well = went_on.join(broken, on=["group", "rank"], how="left").filter(
        pl.col("broken").is_null() | (pl.col("row") < pl.col("broken"))
    )
    return well.group_by("group", "rank").agg(pl.col("seq").max())


def _proved(found: Windows, calls: Calls, only_active: frozenset[int]) -> dict[int, int]:
    """group -> newest seq that every member is proved to have requested.

    By a completed record of a call that needs all members; by the counters of at least half of the members where completed
    records are left out; and, where a recorder only says "over", by :func:`ended_well`.
    """
    whole = calls.by_seq.filter((pl.col("n_completed") > 0) & pl.col("full"))
    limit: dict[int, int] = dict(whole.group_by("group").agg(pl.col("seq").max()).iter_rows())
    for group, _, seq in ended_well(calls).iter_rows():
        limit[group] = max(limit.get(group, 0), seq)
    unsaid = set(calls.by_seq.filter((pl.col("n_ended") > 0) & pl.col("full"))["group"].to_list())
    told: dict[int, list[int]] = defaultdict(list)
    members: dict[int, int] = defaultdict(int)
    for window in found.values():
        members[window.group] += 1
        if window.last_done is not None and window.group not in unsaid and window.source in only_active:
            told[window.group].append(window.last_done)
    for group, done in told.items():
        half = members[group] // 2
        if len(done) > half:
            limit[group] = max(limit.get(group, 0), sorted(done, reverse=True)[half])
    return {group: seq for group, seq in limit.items() if group not in calls.unjudged}
