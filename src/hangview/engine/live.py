"""Beside a call that stands still a job may live on: another thread of the same ranks, a heartbeat, a group of others.

What is open there when the dumps are written is open as in any job that runs, and says nothing of the hang. What the ranks did
after the still call was requested shows, too, how far their dumps reach: who made calls minutes later had not missed it only
because its dump is a second older.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.still import LONG, MOMENT, newest_times
from hangview.schema import CellState
from hangview.terms import COLLECTIVE
from hangview.text import lasted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from hangview.engine.calls import Calls
    from hangview.engine.stalls import Stall
    from hangview.engine.still import OpenCall
    from hangview.engine.windows import Windows
    from hangview.schema import Records
    from hangview.terms import Clock


class Since:
    """Since when calls stand still, and how far each file reaches. Times are in nanoseconds since 1970."""

    def __init__(self, entries: pl.DataFrame, calls: Calls, still: AbstractSet[OpenCall]) -> None:
        places = {(group, seq) for group, lane, seq, _ in still if lane == COLLECTIVE}
        rows = calls.at_all(places).filter(pl.col("created_ns").is_not_null()) if places else calls.rows.clear()
        waiting = [row for row in rows.iter_rows(named=True) if (row["group"], COLLECTIVE, row["seq"], row["rank"]) in still]
        self.still: dict[tuple[int, int], int] = {}  #: (group, seq) of such a call -> its first request
        for row in waiting:
            place = (row["group"], row["seq"])
            self.still[place] = min(row["created_ns"], self.still.get(place, row["created_ns"]))
        self.standing = {row["rank"] for row in waiting}  #: ranks that are known to stand in one
        self.newest: dict[int, int] = {}  #: source -> its newest time
        if self.still:
            self.newest = dict(newest_times(entries.lazy()).drop_nulls().collect().iter_rows())


def reaching(known: Windows, since: Since, clocks: Sequence[Clock]) -> Windows:
    """Windows in which a dump that is older than others' calls tells all the same of a call that stood still long before it.

    A minute is more than clocks of one job are apart, but for what is known of them.
    """
    if not since.still:
        return known
    ahead = {rank: clock.offset_ns for clock in clocks for rank in clock.ranks}
    out = dict(known)
    for (group, seq), begun in since.still.items():
        for (of, rank), window in known.items():
            if of != group or window.above is not CellState.BEFORE_DUMP or window.source is None or window.newest is None:
                continue
            beyond = since.newest.get(window.source, 0) - begun - max(0, ahead.get(rank, 0))
            if window.newest < seq and beyond >= LONG:
                reason = (
                    f"newest here is {window.newest}, and its dump reaches {lasted(beyond / 1e9)} beyond the others' request"
                )
                out[of, rank] = replace(window, above=CellState.NOT_REQUESTED, reason=reason)
    return out


def without_running(records: Records, found: Mapping[tuple[int, int], Stall], since: Since) -> dict[tuple[int, int], Stall]:
    """Open calls but for those of a part of the job that runs on: requested, on all ranks that wait in it, long after a call
    that stands still and, by the files' times, a moment before the dump was written; some of its ranks stand in the still one.
    """
    if not since.still:
        return dict(found)
    begun = min(since.still.values())
    return {place: stall for place, stall in found.items() if place in since.still or not _runs(records, stall, since, begun)}


def _runs(records: Records, stall: Stall, since: Since, begun: int) -> bool:
    rows = {row["rank"]: row for row in stall.rows}
    if since.standing.isdisjoint((*stall.waiting, *stall.done)):
        return False
    for rank in stall.waiting:
        asked = rows[rank]["created_ns"] if rank in rows else None
        if asked is None:
            return False
        source = rows[rank]["source"]
        running = asked >= begun + LONG and asked >= since.newest.get(source, asked) - MOMENT
        # a file older than its request is one whose time is off: that is no knowing that it waited a moment only
        if not running or not 0 <= records.sources[source].mtime_ns - asked < MOMENT:
            return False
    return True
