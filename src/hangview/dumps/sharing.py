"""Dumps that are kept take their columns from the frame that was made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from hangview.dumps.decoded import NONE
from hangview.dumps.told import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded
    from hangview.dumps.result import FileRead
    from hangview.schema import Records

    Array = npt.NDArray[Any]


class _Frame:
    """The columns of a frame of entries as dumps have them: its own memory, or made anew where it has another type or nulls."""

    def __init__(self, entries: pl.DataFrame) -> None:
        self.entries = entries
        self._views = {name: view for name in KINDS if (view := _view(entries, name)) is not None}
        self._last: tuple[str, Array] | None = None  # who looks at dumps does so column by column

    def column(self, name: str) -> Array:
        view = self._views.get(name)
        if view is not None:
            return view
        last = self._last
        if last is None or last[0] != name:
            last = self._last = name, self._made(name)
        return last[1]

    def _made(self, name: str) -> Array:
        kind, column = KINDS[name], self.entries[name]
        if kind == "<i8":
            column = column.cast(pl.Int64).fill_null(NONE)
        elif kind == "<f8":
            column = column.fill_null(float("nan"))
        return column.to_numpy().astype(kind, copy=False)


class _Rows(Mapping[str, "Array"]):
    """The columns of one dump out of those of a frame."""

    __slots__ = ("frame", "rows")

    def __init__(self, frame: _Frame, start: int, end: int) -> None:
        self.frame, self.rows = frame, slice(start, end)

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)

    def __getitem__(self, name: str) -> Array:
        return self.frame.column(name)[self.rows]

    def follows(self, other: _Rows) -> bool:
        """Whether they are neighbours in one frame."""
        same: bool = self.frame is other.frame and self.rows.start == other.rows.stop
        return same


def runs(dumps: Sequence[Decoded]) -> list[tuple[Mapping[str, Array], int]]:
    """The columns of some dumps in their order, those that are neighbours in a frame as if they were one, and their lengths."""
    out: list[tuple[Mapping[str, Array], int]] = []
    for decoded in dumps:
        columns, length = decoded.columns, decoded.count
        last = out[-1][0] if out else None
        if isinstance(columns, _Rows) and isinstance(last, _Rows) and columns.follows(last):
            columns, length = _Rows(last.frame, last.rows.start, columns.rows.stop), out.pop()[1] + length
        out.append((columns, length))
    return out


def rebase(files: Sequence[FileRead], records: Records) -> list[FileRead]:
    """The same files, their columns being those of ``records.entries`` where that has what they have.

    Two million entries take 200 MB; without this they would be in memory twice. A number that no recorder writes, which the
    frame has as absent, is absent then.
    """
    starts = _starts(records.entries)
    where = {source.path: i for i, source in enumerate(records.sources) if i in starts}
    twice = {path for path, times in Counter(file.found.shown for file in files).items() if times > 1}
    frame = _Frame(records.entries)
    tables: dict[str, Any] = {
        "ops": tuple(op.text for op in records.ops),
        "labels": records.labels,
        "signatures": records.signatures,
        "stacks": records.stacks,
        "threads": records.threads,
    }
    out = []
    for file in files:
        decoded, source = file.decoded, where.get(file.found.shown)
        if decoded is None or source is None or file.found.shown in twice:
            out.append(file)
            continue
        start, length = starts[source]
        if length != decoded.count or file.facts is None or file.facts.torchcomms:
            out.append(file)
            continue
        out.append(replace(file, decoded=replace(decoded, columns=_Rows(frame, start, start + length), **tables)))
    return out


def _starts(entries: pl.DataFrame) -> dict[int, tuple[int, int]]:
    """First row and number of rows of each source; they lie together."""
    out: dict[int, tuple[int, int]] = {}
    at = 0
    for source, length in entries["source"].rle().struct.unnest().select("value", "len").iter_rows():
        out[source] = (at, length)
        at += length
    return out


def _view(entries: pl.DataFrame, name: str) -> Array | None:
    """A column's own memory; None where it has not what the dumps have, or would have to be copied."""
    column = entries[name]
    if column.null_count() or column.n_chunks() != 1 or column.dtype == pl.Boolean:
        return None
    array = column.to_numpy(allow_copy=False)
    return array if array.dtype.str == KINDS[name] else None
