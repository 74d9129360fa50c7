"""Dumps that were written before the others' last calls: what proves it, and what they then do not show."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.schema import DEFAULT_DESC, CellState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.engine.calls import Calls
    from hangview.engine.windows import Window, Windows
    from hangview.schema import Records
    from hangview.terms import Group


def take_back(
    found: Windows, records: Records, groups: Sequence[Group], calls: Calls, early: frozenset[int] = frozenset()
) -> Windows:
    """Take back "not requested" where the dump is older than what the others completed with that rank. ``early``: ranks whose
    dump is known to be older.

    A completed call of the kind that needs every member (schema.FULL) proves that each member had requested it. A member
    whose records stop below was written before; one that has no records at all was not recording. Where the members are
    inferred from who recorded a name, those behind may be another group of that name, in which some wait for others, one call
    beyond these: then nothing is proved. Else nobody is named for it: either the dump is older, or the call did not need that
    rank.
    """
    inferred = {group.id for group in groups if group.inferred and group.desc != DEFAULT_DESC}
    limit = _proved(found, calls, frozenset(i for i, source in enumerate(records.sources) if source.only_active))
    behind: dict[int, list[Window]] = defaultdict(list)
    for (group, _), window in found.items():
        observed = window.above in (CellState.NOT_REQUESTED, CellState.GROUP_ABSENT)
        if observed and window.newest is not None and window.newest < limit.get(group, 0):
            behind[group].append(window)
    apart = {group for group in inferred if _wait_for_one_another(behind[group])}
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


def _wait_for_one_another(behind: Sequence[Window]) -> bool:
    """Whether some of these stand in the very call to which others of them have not come."""
    newest = {window.newest for window in behind}
    return any(window.open_seq is not None and window.open_seq - 1 in newest for window in behind)


def ended_well(calls: Calls, found: Windows) -> pl.DataFrame:
    """``group``, ``rank``, ``seq``: the newest call of each rank that needed all members, of those that a recorder says are
    over, not how, after which the rank ended another one, in whatever group: after one that failed it would not have gone on
    (gloo: failed work raises)."""
    went_on = _went_on(calls, found).filter(pl.col("row") < pl.col("last"))
    return went_on.group_by("group", "rank").agg(pl.col("seq").max())


def ended_well_with_all(calls: Calls, found: Windows, sizes: Mapping[int, int]) -> pl.DataFrame:
    """The same of calls that all members are recorded to have requested (``sizes``: members by group), also where what the rank
    requested later in the group is still open.

    Where a member did not come, calls that stand side by side fail together, and one that is made for another pair of ranks
    stays open although the connection of this one is lost.
    """
    went_on = _went_on(calls, found)
    went_on = went_on.filter((pl.col("row") < pl.col("last")) | (pl.col("row") < pl.col("still")).fill_null(value=False))
    size = pl.DataFrame({"group": list(sizes), "size": list(sizes.values())}, schema={"group": pl.Int32, "size": pl.Int64})
    came = calls.by_seq.select("group", "seq", "n").join(size, on="group").filter(pl.col("n") == pl.col("size"))
    return went_on.join(came, on=["group", "seq"], how="semi").group_by("group", "rank").agg(pl.col("seq").max())


def _went_on(calls: Calls, found: Windows) -> pl.DataFrame:
    """Requests that needed all members and are over, not told how: ``group``, ``rank``, ``seq``, ``row``, the ``last`` row of
    the rank that is over, and the last one of it in this group that is ``still`` open, or null. Without those that failed.

    One failed whose next record came only after its time-out, where a member is not seen in it: the error was caught. So did
    all of its group that came after it. Where every member came, the program paused.
    """
    over = (pl.col("reading") == int(CellState.ENDED)) & ~pl.col("issued")
    opened = pl.col("reading").is_in([int(CellState.REQUESTED), int(CellState.STARTED)])
    rows = calls.rows.lazy().filter(over | opened).select("group", "rank", "seq", "row", "reading").collect()
    ended = rows.filter(~opened).drop("reading")
    if ended.is_empty():
        return ended.with_columns(last=pl.col("row"), still=pl.col("row"))
    last = ended.group_by("rank").agg(last=pl.col("row").max())
    still = rows.filter(opened).group_by("group", "rank").agg(still=pl.col("row").max())
    whole = calls.by_seq.filter(pl.col("full")).select("group", "seq")
    mine = ended.join(whole, on=["group", "seq"], how="semi").join(last, on="rank")
    mine = mine.join(still, on=["group", "rank"], how="left")
    broken = _broken(calls, found, mine.filter(pl.col("row") < pl.max_horizontal("last", "still")))
    mine = mine.join(broken, on=["group", "rank"], how="left")
    return mine.filter(pl.col("broken").is_null() | (pl.col("row") < pl.col("broken"))).drop("broken")


def _broken(calls: Calls, found: Windows, went_on: pl.DataFrame) -> pl.DataFrame:
    """``group``, ``rank`` and the row of the first call that failed by its time-out, of ``went_on``: requests behind which the
    file has another record."""
    short: dict[int, int] = {}
    for window in found.values():
        if window.newest is not None:
            short[window.group] = min(window.newest, short.get(window.group, window.newest))
    least = pl.DataFrame({"group": list(short), "least": list(short.values())}, schema={"group": pl.Int32, "least": pl.Int64})
    at = went_on["row"].to_numpy()
    asked = calls.entries["created_ns"]
    pause, patience = asked.gather(at + 1) - asked.gather(at), calls.entries["timeout_ms"].gather(at) * 1_000_000
    paused = went_on.with_columns(late=((pause >= patience) & (patience > 0)).fill_null(value=False)).filter("late")
    failed = paused.join(least, on="group").filter(pl.col("seq") > pl.col("least"))
    return failed.group_by("group", "rank").agg(broken=pl.col("row").min())


def _proved(found: Windows, calls: Calls, only_active: frozenset[int]) -> dict[int, int]:
    """group -> newest seq that every member is proved to have requested.

    By a completed record of a call that needs all members; by the counters of at least half of the members where completed
    records are left out; and, where a recorder only says "over", by :func:`ended_well`.
    """
    whole = calls.by_seq.filter((pl.col("n_completed") > 0) & pl.col("full"))
    limit: dict[int, int] = dict(whole.group_by("group").agg(pl.col("seq").max()).iter_rows())
    for group, _, seq in ended_well(calls, found).iter_rows():
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
