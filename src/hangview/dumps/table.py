"""Many decoded dumps → one frame of entries, with one set of ids for all strings, signatures, stacks and threads.

No loop over entries: each dump's ids are renumbered by an array lookup. Ids are those of first use in the order of the files,
whatever tables the dumps came with, so that neither the number of workers nor the order of reading shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hangview.dumps.decoded import BOOL_COLUMNS, ID_COLUMNS, INT_COLUMNS, NONE
from hangview.dumps.interning import Tables
from hangview.dumps.narrow import put
from hangview.schema import entries_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded
    from hangview.schema import Signature, StackFrame, Thread

    Ids = npt.NDArray[np.uint32]


#: Columns that are taken as they are, by their types in a dump.
_KINDS: dict[str, type[Any]] = {
    **dict.fromkeys(INT_COLUMNS, np.int64),
    **dict.fromkeys(BOOL_COLUMNS, np.bool_),
    "state": np.uint8,
    "duration_ms": np.float64,
}


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
    ends = np.cumsum(counts, dtype=np.int64)
    at = [slice(end - count, end) for end, count in zip(ends.tolist(), counts, strict=True)]
    schema = entries_schema()
    columns: dict[str, pl.Series] = {}

    def keep(name: str, values: pl.Series | npt.NDArray[Any]) -> None:
        # a number that no recorder would write, such as a pg_id above 2**31, becomes null
        columns[name] = pl.Series(name, values).cast(schema[name], strict=False)

    keep("source", np.repeat(np.array([source for source, _, _ in dumps], np.uint32), counts))
    keep("rank", np.repeat(np.array([rank for _, rank, _ in dumps], np.int32), counts))
    keep("position", (np.arange(sum(counts)) - np.repeat(ends - counts, counts)).astype(np.uint32))
    values: dict[str, tuple[Any, ...]] = {}
    for name in ID_COLUMNS:
        ids = np.empty(sum(counts), np.uint32)
        for place, (_, _, decoded) in zip(at, dumps, strict=True):
            ids[place] = tables.renumber(decoded, name)
        ids, values[name] = _by_first_use(ids, tables.values[name], keep_first=name == "stack")
        keep(name, ids)
    for name, kind in _KINDS.items():
        out = np.empty(sum(counts), kind)
        for place, (source, _, decoded) in zip(at, dumps, strict=True):
            if name == "seq" and source in seqs:
                out[place] = seqs[source]
            else:
                put(decoded.columns, name, out[place])
        if kind is np.int64:
            keep(name, _with_nulls(out))
        else:
            keep(name, pl.Series(out).fill_nan(None) if kind is np.float64 else out)
    return Table(pl.DataFrame([columns[name] for name in schema]), values)


def _with_nulls(numbers: npt.NDArray[np.int64]) -> pl.Series:
    """A column without a copy where nothing is absent, as in most."""
    absent = numbers == NONE
    series = pl.Series(numbers)
    return series.set(pl.Series(absent), None) if absent.any() else series


def _by_first_use(column: Ids, values: list[Any], *, keep_first: bool) -> tuple[Ids, tuple[Any, ...]]:
    """Renumber ids in the order in which they occur; values that do not occur are dropped."""
    first = np.full(len(values), len(column), np.int64)
    first[column[::-1]] = np.arange(len(column) - 1, -1, -1)  # of several writes to one place the last one stays
    if keep_first:
        first[0] = -1
    used = np.argsort(first)[: np.count_nonzero(first < len(column))]
    to_new = np.zeros(len(values), np.uint32)
    to_new[used] = np.arange(len(used), dtype=np.uint32)
    return to_new[column], tuple(values[i] for i in used.tolist())
