"""Calls that ended late, as the last thing where they ended, and that a member's whole dump does not hold.

Who tears communicators down, by hand or in a framework, has their open calls end as if they were completed; before any time-out
nothing in the records tells. A member that never came to such a call has a dump that ends below it, and so has one whose dump
was written before the call. Which of the two it is, is not known: nobody is named for it, nor is it said that nothing hangs.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.words import agrees, not_concluded
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side
from hangview.text import lasted, name_ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hangview.engine.calls import Calls
    from hangview.engine.windows import Window, Windows
    from hangview.terms import Group

#: Nanoseconds after which somebody may lose patience with a call. Of quicker ones that are the last in their files many are
#: there where the dumps of a job that runs were written one after the other.
_LONG = 20 * 1_000_000_000
#: Ranks that get a line of evidence each.
_LINES = 8


def torn_down(groups: Sequence[Group], calls: Calls, known: Windows, families: tuple[str, ...]) -> tuple[Finding, ...]:
    """A note for each call that was long and the last where it completed, where a member's dump ends directly below it."""
    below: dict[tuple[int, int], list[Window]] = defaultdict(list)
    for window in known.values():
        if window.above is CellState.BEFORE_DUMP and window.newest is not None:
            below[window.group, window.newest + 1].append(window)
    if not below:
        return ()
    whole = calls.by_seq.filter(pl.col("full") & (pl.col("n_completed") > 0)).select("group", "seq")
    newest = dict(calls.entries.group_by("source").agg(pl.col("created_ns").max()).iter_rows())
    out = []
    for place in sorted(set(whole.iter_rows()) & set(below)):
        rows = [row for row in calls.at_all([place]).iter_rows(named=True) if row["reading"] == CellState.COMPLETED]
        if all(_took(row) >= _LONG and row["completed_ns"] >= newest[row["source"]] for row in rows):
            out.append(_finding(groups[place[0]], families[rows[0]["family"]], rows, below[place]))
    return tuple(out)


def _took(row: Mapping[str, Any]) -> int:
    """Nanoseconds from request to completion, as far as both are recorded; else 0."""
    return (row["completed_ns"] or 0) - (row["created_ns"] or 0) if row["created_ns"] else 0


def _finding(group: Group, family: str, rows: Sequence[Mapping[str, Any]], below: Sequence[Window]) -> Finding:
    ranks, done = sorted(window.rank for window in below), tuple(row["rank"] for row in rows)
    who, over, seq = name_ranks(ranks, 12), name_ranks(done, 12), rows[0]["seq"]
    took = lasted(max(_took(row) for row in rows) / 1e9)
    dumps = agrees(who, "dump ends", "dumps end")
    return Finding(
        Kind.NOT_OBSERVED, Role.NOTE, tuple(ranks), done, group.id, COLLECTIVE, seq, family, Side.UNKNOWN,
        f"{family} {seq} of {group.label} ended on {over} after {took}, as the last thing there, and {who}'s {dumps} before "
        f"it: either {agrees(who, 'it is', 'they are')} older, or the call was torn down before {who} came to it",
        (
            *(Evidence(f"rank {w.rank}: newest here is {w.newest}", w.source, w.newest_record) for w in below[:_LINES]),
            *(Evidence(f"rank {row['rank']}: {family} {seq} ended {lasted(_took(row) / 1e9)} after it was requested",
                       row["source"], row["record_id"]) for row in rows[:_LINES]),
        ),
        f"when the {agrees(who, 'dump', 'dumps')} of {who} {agrees(who, 'was', 'were')} written, and whether anything aborted "
        f"the communicators; then the path of {who} before the call",
        (f"that {over} completed the call: it may have been aborted", *not_concluded(Kind.NOT_OBSERVED, who)),
    )  # fmt: skip
