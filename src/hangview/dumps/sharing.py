"""Memory between looks: dumps that are kept take their columns from the frame that was made of them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections import ChainMap, Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from hangview.dumps.decoded import ID_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from hangview.dumps.result import FileRead
    from hangview.schema import Records

#: Columns that the frame holds as a dump has them, unless it has nulls for what is absent.
_SHARED = ("record_id", "seq", "p2p_seq", "op_id", "created_ns", "started_ns", "completed_ns", "timeout_ms", "state")


#: The variable that the allocator inside polars (jemalloc) is told by.
_ALLOCATOR = "_RJEM_MALLOC_CONF"


def rebase(files: Sequence[FileRead], records: Records) -> list[FileRead]:
    """The same files, their columns being views of ``records.entries`` where that has the same bytes.

    Two million entries take 200 MB; without this a session would hold them twice.
    """
    starts = _starts(records.entries)
    where = {source.path: i for i, source in enumerate(records.sources) if i in starts}
    twice = {path for path, times in Counter(file.found.shown for file in files).items() if times > 1}
    columns = {name: array for name in (*_SHARED, *ID_COLUMNS) if (array := _view(records.entries, name)) is not None}
    tables: dict[str, Any] = {
        "ops": tuple(op.text for op in records.ops),
        "labels": records.labels,
        "signatures": records.signatures,
        "stacks": records.stacks,
        "threads": records.threads,
    }
    renumbered = set(ID_COLUMNS) <= columns.keys()
    out = []
    for file in files:
        decoded, source = file.decoded, where.get(file.found.shown)
        if decoded is None or source is None or file.found.shown in twice or not renumbered:
            out.append(file)
            continue
        start, length = starts[source]
        if length != decoded.count or file.facts is None or file.facts.torchcomms:
            out.append(file)
            continue
        views = {name: array[start : start + length] for name, array in columns.items()}
        out.append(
            replace(file, decoded=replace(decoded, columns=ChainMap(views, cast("dict[str, Any]", decoded.columns)), **tables))
        )
    return out


def _starts(entries: pl.DataFrame) -> dict[int, tuple[int, int]]:
    """First row and number of rows of each source; they lie together."""
    out: dict[int, tuple[int, int]] = {}
    at = 0
    for source, length in entries["source"].rle().struct.unnest().select("value", "len").iter_rows():
        out[source] = (at, length)
        at += length
    return out


def _view(entries: pl.DataFrame, name: str) -> Any:
    """A column's own memory, None where it would have to be copied."""
    column = entries[name]
    return None if column.null_count() or column.n_chunks() != 1 else column.to_numpy(allow_copy=False)


def import_polars() -> None:
    """Import polars, if nobody has yet, so that its allocator gives freed memory back at once instead of after a while.

    A third of what a thousand dumps take at most would be memory that nobody uses. The allocator reads the variable once.
    """
    if "polars" in sys.modules or _ALLOCATOR in os.environ:
        return
    os.environ[_ALLOCATOR] = "dirty_decay_ms:0,muzzy_decay_ms:0"
    try:
        import polars as pl  # noqa: F401 - for its effect
    finally:
        os.environ.pop(_ALLOCATOR, None)


def give_back() -> None:
    """Hand freed memory back to the system: of a thousand dumps' columns glibc keeps 200 MB otherwise."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
