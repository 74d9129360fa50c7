"""Many decoded dumps → one frame of entries, with one set of ids for all strings, signatures, stacks and threads.

No loop over entries: each dump's ids are renumbered by an array lookup. Ids are those of first use in the order of the files,
whatever tables the dumps came with, so that neither the number of workers nor the order of reading shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hangview.dumps.decoded import ID_COLUMNS, INT_COLUMNS, NONE
from hangview.dumps.facts import ids
from hangview.schema import entries_schema

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded
    from hangview.schema import Signature, StackFrame, Thread

    Ids = npt.NDArray[np.uint32]

_TABLES = {"op": "ops", "label": "labels", "signature": "signatures", "stack": "stacks", "thread": "threads"}


class Tables:
    """The values behind the ids: ``values["op"][i]``. Stack 0 is the empty one."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = {name: [] for name in ID_COLUMNS}
        self._known: dict[str, dict[Hashable, int]] = {name: {} for name in ID_COLUMNS}
        self._frames: dict[tuple[str, str, int], int] = {}
        self._maps: dict[tuple[str, int], tuple[object, Ids]] = {}
        self.add("stack", ((),))

    def renumber(self, decoded: Decoded, name: str) -> Ids:
        """A dump's id column in the ids of this table. Dumps that share a table are mapped once."""
        table: tuple[Any, ...] = getattr(decoded, _TABLES[name])
        kept = self._maps.get((name, id(table)))
        if kept is None:
            kept = (table, self.add(name, table))  # holds the table, so that its id() stays taken
            self._maps[name, id(table)] = kept
        column = ids(decoded, name)
        return kept[1][column] if len(kept[1]) else column

    def add(self, name: str, table: tuple[Any, ...]) -> Ids:
        """The ids of some values, new ones added."""
        known, values = self._known[name], self.values[name]
        keys = self._keys(name, table)
        out = np.empty(len(table), np.uint32)
        for i, key in enumerate(keys):
            number = known.get(key)
            if number is None:
                number = known[key] = len(values)
                values.append(table[i])
            out[i] = number
        return out

    def _keys(self, name: str, table: tuple[Any, ...]) -> Sequence[Hashable]:
        """Hashable stand-ins, built from plain tuples: hashing dataclasses would be most of the work."""
        if name == "stack":
            return self._stack_keys(table)
        if name == "signature":
            return [(s.input_sizes, s.input_dtypes, s.output_sizes, s.output_dtypes) for s in table]
        if name == "thread":
            return [(t.id, t.name) for t in table]
        return table

    def _stack_keys(self, stacks: tuple[tuple[StackFrame, ...], ...]) -> list[tuple[int, ...]]:
        """Frames are shared between the stacks of a dump, so most are met by identity."""
        met: dict[int, int] = {}
        out = []
        for stack in stacks:
            key = []
            for frame in stack:
                number = met.get(id(frame))
                if number is None:
                    content = (frame.name, frame.filename, frame.line)
                    number = met[id(frame)] = self._frames.setdefault(content, len(self._frames))
                key.append(number)
            out.append(tuple(key))
        return out


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
    total = sum(counts)
    columns: dict[str, Any] = {
        "source": np.repeat(np.array([source for source, _, _ in dumps], np.uint32), counts),
        "rank": np.repeat(np.array([rank for _, rank, _ in dumps], np.int32), counts),
    }
    starts = np.cumsum([0, *counts[:-1]]) if counts else np.zeros(0, np.int64)
    columns["position"] = (np.arange(total) - np.repeat(starts, counts)).astype(np.uint32)
    for name in ID_COLUMNS:
        parts = [tables.renumber(decoded, name) for _, _, decoded in dumps]
        columns[name] = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
    values: dict[str, tuple[Any, ...]] = {}
    for name in ID_COLUMNS:
        columns[name], values[name] = _by_first_use(columns[name], tables.values[name], keep_first=name == "stack")
    plain: dict[str, Any] = {}
    for name in (*INT_COLUMNS, "duration_ms", "state", "retired", "is_p2p"):
        given: list[Any] = [seqs[source] if name == "seq" and source in seqs else d.columns[name] for source, _, d in dumps]
        plain[name] = np.concatenate(given) if given else np.zeros(0, np.int64)
    schema = entries_schema()
    frame = pl.DataFrame({name: pl.Series(name, column) for name, column in (columns | plain).items()})
    frame = frame.with_columns(
        *(_null_none(name) for name in INT_COLUMNS),
        pl.col("duration_ms").fill_nan(None),
    )
    # a number that no recorder would write, such as a pg_id above 2**31, becomes null
    return Table(frame.select(pl.col(name).cast(dtype, strict=False) for name, dtype in schema.items()), values)


def _null_none(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != NONE).then(name).alias(name)


def _by_first_use(column: Ids, values: list[Any], *, keep_first: bool) -> tuple[Ids, tuple[Any, ...]]:
    """Renumber ids in the order in which they occur; values that do not occur are dropped."""
    used = pl.Series(column).unique(maintain_order=True).to_numpy()
    if keep_first:
        used = np.concatenate([np.zeros(1, used.dtype), used[used != 0]])
    to_new = np.zeros(len(values), np.uint32)
    to_new[used] = np.arange(len(used), dtype=np.uint32)
    return to_new[column], tuple(values[i] for i in used.tolist())
