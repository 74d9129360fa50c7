"""Open requests that cannot be set beside those of other ranks. Who made one waits too, and for whom is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.readings import COLLECTIVE, OPEN, P2P

if TYPE_CHECKING:
    from hangview.engine.calls import Calls
    from hangview.schema import Records


def open_uncompared(records: Records, entries: pl.DataFrame, calls: Calls) -> frozenset[int]:
    """Ranks with an open collective of a group that is not judged or not known, or an open send or receive without its other
    end: torchcomms records none, and a receive may be from any source."""
    peerless = [i for i, op in enumerate(records.ops) if op.source is None or op.target is None]
    group, lane = pl.col("group"), pl.col("lane")
    alone = group.is_null() | group.is_in(list(calls.unjudged))
    apart = ((lane == COLLECTIVE) & alone) | ((lane == P2P) & (group.is_null() | pl.col("op").is_in(peerless)))
    return frozenset(entries.filter(pl.col("reading").is_in(OPEN) & apart)["rank"].drop_nulls().unique().to_list())
