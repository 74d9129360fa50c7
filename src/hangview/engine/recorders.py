"""Records of one group that different recorders wrote: each library numbers its own calls, so they are never lined up.

A default group of two backends ("cpu:gloo,cuda:nccl") leaves nccl's dump on one rank and gloo's on another where the dumps were
collected from different files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from hangview.schema import Records


def one_recorder(records: Records, entries: pl.DataFrame) -> pl.DataFrame:
    """``entries`` with ``group`` null where all that a source recorded of the group is of another library than the one of most
    of its ranks (then of most records, then by name)."""
    libraries = [op.library for op in records.ops]
    if len(set(libraries) - {""}) < 2:
        return entries
    by_group: dict[int, dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    counts = entries.filter(pl.col("group").is_not_null()).group_by("group", "source", "op").len()
    for group, source, op, number in counts.iter_rows():
        by_group[group][source][libraries[op]] += number
    foreign = [
        (group, source)
        for group, sources in by_group.items()
        for source, told in sources.items()
        if not {"", _of_most(sources)} & set(told)
    ]
    if not foreign:
        return entries
    places = pl.DataFrame(foreign, schema={"group": entries.schema["group"], "source": entries.schema["source"]}, orient="row")
    apart = entries.select("group", "source").join(
        places.with_columns(apart=pl.lit(value=True)), on=["group", "source"], how="left", maintain_order="left"
    )["apart"]
    return entries.with_columns(group=pl.when(apart.is_null()).then(pl.col("group")))


def _of_most(sources: dict[int, Counter[str]]) -> str:
    ranks: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for told in sources.values():
        ranks.update(told.keys())
        number.update(told)
    return min(ranks, key=lambda name: (-ranks[name], -number[name], name))
