"""Which open calls are known to stand still.

A dump shows what is not over when it is written: of a job that hangs, or of one that runs and was asked a moment too early.
What tells the two apart is time: a call that its recorder gave up, one that was open while its own rank's records went on for
a minute, one that a watchdog's line reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.readings import COLLECTIVE as COLLECTIVE_LANE
from hangview.engine.readings import OPEN, P2P
from hangview.schema import CellState
from hangview.terms import COLLECTIVE

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from hangview.engine.waits import Place

#: Nanoseconds that no call of a job that runs is open while its rank goes on with others.
LONG = 60 * 1_000_000_000

#: Nanoseconds; who has waited no longer than this when its dump is written may be in the midst of a step.
MOMENT = 2 * 1_000_000_000
#: Nanoseconds by which a file may seem to be older than what is in it, where a file server's clock is behind.
_BEHIND = LONG
#: A file that is so much younger than a request (in nanoseconds) was copied without its time.
_COPIED = 3600 * 1_000_000_000

#: (group, lane, seq, rank) of an open call; of sends and receives lane and seq are "" and 0.
OpenCall = tuple[int, str, int, int]


def a_moment(waited_ns: int | None) -> bool:
    """Whether somebody had waited a moment only when the dump was written, by the file's time."""
    return waited_ns is not None and -_BEHIND < waited_ns < MOMENT


def long_since(waited_ns: int | None) -> bool:
    """The contrary, of a file that bears the time of its writing. Neither is so where that is not known."""
    return waited_ns is not None and MOMENT <= waited_ns < _COPIED


def stands(still: AbstractSet[OpenCall], place: Place, rank: int) -> bool:
    """Whether the rank's request at that place is one of those that are known to stand still."""
    lane, seq = (place[1], place[2]) if place[1] == COLLECTIVE else ("", 0)
    return (place[0], lane, seq, rank) in still


def newest_times(entries: pl.LazyFrame) -> pl.LazyFrame:
    """``source`` and ``newest``: the newest time of a request or of an end that its file tells, in nanoseconds since 1970; null
    where it tells none."""
    newest = pl.max_horizontal(pl.col("created_ns").max(), pl.col("completed_ns").max())
    return entries.group_by("source").agg(newest=newest)


def standing(entries: pl.DataFrame, timed_out: AbstractSet[tuple[int, int, int]] = frozenset()) -> frozenset[OpenCall]:
    """The open calls that stand still, of what ``readings.read`` gave.

    ``timed_out``: (group, seq, rank) of collectives whose end by a watchdog is in a log.
    """
    lane = pl.col("lane")
    opened = entries.lazy().filter(
        pl.col("reading").is_in(OPEN) & pl.col("group").is_not_null() & lane.is_in([COLLECTIVE_LANE, P2P])
    )
    rows = opened.select("source", "group", "lane", "seq", "rank", "reading", "created_ns").collect()
    told: set[OpenCall] = {(group, COLLECTIVE, seq, rank) for group, seq, rank in timed_out}
    if rows.is_empty():
        return frozenset(told)
    of_these = entries.lazy().filter(pl.col("source").is_in(rows["source"].unique().implode()))
    newest = newest_times(of_these).collect()
    old = (pl.col("newest") - pl.col("created_ns") >= LONG).fill_null(value=False)
    found = rows.join(newest, on="source").filter((pl.col("reading") == int(CellState.FAILED)) | old)
    for group, kind, seq, rank in found.select("group", "lane", "seq", "rank").iter_rows():
        told.add((group, COLLECTIVE, seq, rank) if kind == COLLECTIVE_LANE else (group, "", 0, rank))
    return frozenset(told)
