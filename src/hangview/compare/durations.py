"""How long calls took in both sets, where both record it: medians side by side, worth a look and no verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hangview.compare.values import Duration
from hangview.engine.readings import COLLECTIVE, families

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.compare.beside import Input


def durations(a: Input, b: Input, ranks: Sequence[int]) -> tuple[Duration, ...]:
    """Median duration by group and op over the collective records that hold one (NCCL with ``TORCH_NCCL_ENABLE_TIMING=1``), by
    pair and op. The farther apart, the further up: no order of importance is claimed."""
    one, other = _medians(a, ranks), _medians(b, ranks)
    both = one.join(other, on=["pair", "op"], how="inner", suffix="_b")
    found = [
        Duration(pair, op, a_ms, b_ms, a_count, b_count)
        for pair, op, a_ms, a_count, b_ms, b_count in both.select("pair", "op", "ms", "count", "ms_b", "count_b").iter_rows()
    ]
    return tuple(sorted(found, key=lambda each: (-_apart(each), each.pair, each.op)))


def _medians(side: Input, ranks: Sequence[int]) -> pl.DataFrame:
    names = families(side.incident.records)
    medians = (
        side.incident.entries.select("group", "lane", "rank", "family", "duration_ms")
        .filter((pl.col("lane") == COLLECTIVE) & pl.col("duration_ms").is_not_null() & pl.col("rank").is_in(ranks))
        .with_columns(pl.col("group").cast(pl.Int32))
        .join(side.pairs(), on="group", how="inner")
        .group_by("pair", "family")
        .agg(ms=pl.col("duration_ms").median(), count=pl.len())
        .sort("pair", "family")
    )
    op = pl.Series("op", names, dtype=pl.String).gather(medians["family"])
    return medians.with_columns(op)


def _apart(duration: Duration) -> float:
    """How far the ratio is from 1, the same for twice as long and half as long."""
    ratio = duration.ratio
    return max(ratio, 1 / ratio) if ratio else 1.0
