"""Ranks whose ring buffer may have dropped a call that is still open: what they wait in first is then not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.readings import OPEN
from hangview.text import count, name_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.windows import Windows
    from hangview.schema import Records
    from hangview.terms import Group

#: Parts of a rank list that are said.
_RANKS = 8
#: Groups without a record that are named.
_GROUPS = 4


def open_ones_lost(records: Records, windows: Windows, entries: pl.DataFrame) -> frozenset[int]:
    """Ranks with a wrapped ring buffer of which all records are open, or whose counters say that an older call of a group is.

    A ring buffer drops the oldest records, and those that are open are the newest: as long as one that is over is left, and no
    counter speaks against it, all that are open are there.
    """
    wrapped = {i: s.rank for i, s in enumerate(records.sources) if s.usable and s.wrapped and s.rank is not None}
    if not wrapped:
        return frozenset()
    over = entries.filter(pl.col("source").is_in(list(wrapped)) & ~pl.col("reading").is_in(OPEN))["source"].unique().to_list()
    out = {rank for source, rank in wrapped.items() if source not in over}
    for window in windows.values():
        if window.source not in wrapped or window.open_seq is None:
            continue
        counted = window.oldest is None or (window.last_done is not None and window.last_done + 1 < window.oldest)
        if counted and (window.oldest is None or window.oldest == window.open_seq):
            out.add(window.rank)
    return frozenset(out)


def gone(records: Records, groups: Sequence[Group], entries: pl.DataFrame) -> tuple[str, ...]:
    """Groups of which no record is left, neither of a call nor of a message, where other groups took the ring buffers: a
    sentence each, for so many as are worth it."""
    wrapped = {s.rank for s in records.sources if s.usable and s.wrapped and s.rank is not None}
    if not wrapped:
        return ()
    left = set(entries["group"].unique().to_list())
    driven = [(group, sorted(wrapped.intersection(group.ranks))) for group in groups if group.id not in left]
    told = [
        f"{group.label} on {name_ranks(ranks, _RANKS)}: other groups filled the ring buffers, and no record of it is left"
        for group, ranks in driven
        if ranks
    ]
    more = len(told) - _GROUPS
    return (*told[:_GROUPS], *((f"{count(more, 'more group')} of that kind",) if more > 0 else ()))
