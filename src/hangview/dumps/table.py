"""Many decoded dumps → one frame of entries, with one set of ids for all strings, signatures, stacks and threads.

No loop over entries: each dump's ids are renumbered by an array lookup. Ids are those of first use in the order of the files,
whatever tables the dumps came with, so that neither the number of workers nor the order of reading shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hangview.dumps.decoded import ID_COLUMNS, INT_COLUMNS, NONE
from hangview.dumps.interning import Tables
from hangview.schema import entries_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded
    from hangview.schema import Signature, StackFrame, Thread

    Ids = npt.NDArray[np.uint32]


class Table:
    """The frame of entries, and what its ids stand for."""

    def __init__(self, entries: pl.DataFrame, values: dict[str, tuple[Any, ...]]) -> None:
        self.entries = entries
        self.ops: tuple[str, ...] = values["op"]
        self.labels: tuple[tuple[str, str], ...] = values["label"]
        self.signatures: tuple[Signature, ...] = values["signature"]
        self.stacks: tuple[tuple[StackFrame, ...], ...] = values["stack"]
        self.threads: tuple[Thread, ...] = values["thread"]


def build(dumps: Sequence[tuple[int, int, Decoded]], seqs: dict[int, npt.NDArray[np.int64]]) -> Table:
    """The entries of dumps, given as (source, rank, decoded) in the order of their sources.

    ``seqs`` has the ``seq`` column of those sources whose own cannot be used as it is (:data:`~hangview.dumps.decoded.NONE` for
    none).
    """
    tables = Tables()
    counts = [decoded.count for _, _, decoded in dumps]
    starts = np.cumsum([0, *counts])[:-1]
    columns: dict[str, pl.Series] = {
        "source": pl.Series(np.repeat(np.array([source for source, _, _ in dumps], np.uint32), counts)),
        "rank": pl.Series(np.repeat(np.array([rank for _, rank, _ in dumps], np.int32), counts)),
        "position": pl.Series((np.arange(sum(counts)) - np.repeat(starts, counts)).astype(np.uint32)),
    }
    values: dict[str, tuple[Any, ...]] = {}
    for name in ID_COLUMNS:
        ids = _joined([tables.renumber(decoded, name) for _, _, decoded in dumps], np.uint32)
        ids, values[name] = _by_first_use(ids, tables.values[name], keep_first=name == "stack")
        columns[name] = pl.Series(ids)
    for name in INT_COLUMNS:
        parts = [seqs[source] if name == "seq" and source in seqs else d.columns[name] for source, _, d in dumps]
        columns[name] = _with_nulls(_joined(parts, np.int64))
    for name, kind in (("state", np.uint8), ("retired", np.bool_), ("is_p2p", np.bool_), ("duration_ms", np.float64)):
        columns[name] = pl.Series(_joined([d.columns[name] for _, _, d in dumps], kind))
    columns["duration_ms"] = columns["duration_ms"].fill_nan(None)
    schema = entries_schema()
    # a number that no recorder would write, such as a pg_id above 2**31, becomes null
    return Table(pl.DataFrame([columns[n].cast(dtype, strict=False).alias(n) for n, dtype in schema.items()]), values)


def _joined(parts: Sequence[Any], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _with_nulls(numbers: npt.NDArray[np.int64]) -> pl.Series:
    """A column without a copy where nothing is absent, as in most."""
    absent = numbers == NONE
    series = pl.Series(numbers)
    return series.set(pl.Series(absent), None) if absent.any() else series


def _by_first_use(column: Ids, values: list[Any], *, keep_first: bool) -> tuple[Ids, tuple[Any, ...]]:
    """Renumber ids in the order in which they occur; values that do not occur are dropped."""
    used = pl.Series(column).unique(maintain_order=True).to_numpy()
    if keep_first:
        used = np.concatenate([np.zeros(1, used.dtype), used[used != 0]])
    to_new = np.zeros(len(values), np.uint32)
    to_new[used] = np.arange(len(used), dtype=np.uint32)
    return to_new[column], tuple(values[i] for i in used.tolist())
