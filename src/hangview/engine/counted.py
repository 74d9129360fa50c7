"""Calls that are open by a rank's own counters, and of which its file holds no record any more.

An open call is the oldest record of a rank that goes on with others (a thread that saves checkpoints, a heartbeat): after as
many calls as the ring buffer holds, all that is left is over. The counters (``pg_status``) stand elsewhere and remember it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.words import agrees, not_concluded
from hangview.terms import Evidence, Finding, Kind, Role, Side
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from hangview.schema import GroupStatus, Records

#: Ranks that get a line of evidence each.
_LINES = 8


def open_by_counters(records: Records, entries: pl.DataFrame, past: AbstractSet[tuple[int, int]]) -> tuple[Finding, ...]:
    """A note for each process group of which no record is left on a rank whose counters say that a call is open there.

    A rank is compared with itself only, so it does not matter what a recorder counts. ``past``: (source, pg_id) of groups that
    the rank has left.
    """
    of_group: dict[tuple[int, str | None], list[GroupStatus]] = defaultdict(list)
    for status in records.statuses:
        if records.sources[status.source].rank is not None and (status.source, status.pg_id) not in past:
            of_group[status.pg_id, status.name].append(status)
    asked = {one.source for told in of_group.values() for one in told if _is_open(one)}
    if not asked:
        return ()
    held = entries.lazy().filter(pl.col("source").is_in(asked)).select("source", "pg_id").unique()
    recorded = set(held.collect(engine="streaming").iter_rows())
    out = []
    for _, told in sorted(of_group.items(), key=lambda each: (each[0][0], each[0][1] or "")):
        lost = [one for one in told if _is_open(one) and (one.source, one.pg_id) not in recorded]
        if lost:
            out.append(_finding(records, told, lost))
    return tuple(out)


def _is_open(status: GroupStatus) -> bool:
    """Whether less was completed than requested. -1 is "none yet" where completion is counted at all."""
    enqueued, _, completed = status.raw
    if enqueued is None or completed is None or (completed < 0 and status.completed is None):
        return False
    if status.enqueued is not None and (status.completed or 0) > 0:
        return False  # they count what sequence numbers count: the rank's window in the group knows
    return max(completed, 0) < enqueued


def _finding(records: Records, told: Sequence[GroupStatus], lost: Sequence[GroupStatus]) -> Finding:
    ranks = sorted({_rank(records, one) for one in lost})
    who, first = name_ranks(ranks, 12), lost[0]
    has, by = agrees(who, "has", "have"), agrees(who, "its", "their")
    group = f"process group {first.pg_id}" if first.name is None else f"group {first.desc or first.name}"
    wrapped = all(records.sources[one.source].wrapped for one in lost)
    by_numbers: dict[tuple[int | None, int | None], list[GroupStatus]] = defaultdict(list)
    for one in told:
        by_numbers[one.raw[0], one.raw[2]].append(one)
    lines = [
        Evidence(
            f"{name_ranks(sorted(_rank(records, one) for one in alike), 12)}, counters of {group}: last enqueued {enqueued}, "
            f"last completed {completed}",
            alike[0].source,
        )
        for (enqueued, completed), alike in sorted(by_numbers.items(), key=lambda each: _rank(records, each[1][0]))
    ]
    return Finding(
        Kind.NOT_OBSERVED, Role.NOTE, tuple(ranks), (), None, None, None, None, Side.UNKNOWN,
        f"{who} {has} a call of {group} open, by {by} counters, and no record of it is left",
        tuple(lines[:_LINES]),
        f"the stacks of {who} and of the others of that group: is somebody missing there?"
        + (" A larger TORCH_FR_BUFFER_SIZE keeps the record" if wrapped else ""),
        ("that the call stands still: when it was requested is not recorded", *not_concluded(Kind.NOT_OBSERVED, who)[1:]),
    )  # fmt: skip


def _rank(records: Records, status: GroupStatus) -> int:
    rank = records.sources[status.source].rank
    assert rank is not None
    return rank
