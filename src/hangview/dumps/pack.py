"""Packs: many dumps in one parquet file, which is opened like a folder that holds them (docs/pack.md).

The rows are the entries, source after source, as the decoder has them. What the ids in them stand for, and the ledger with one
line a source, are JSON in the file's own metadata. Nothing in a pack can run, and nothing is believed before it was looked at:
the file has a checksum, every value of the ledger its type, every id its table. A path in it is for people to read; no file is
ever opened by it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zlib
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
import polars as pl

from hangview._version import __version__
from hangview.dumps.bundles import Unusable
from hangview.dumps.decoded import ID_COLUMNS, INT_COLUMNS, NONE, Decoded, RawConfig, RawStatus
from hangview.dumps.facts import facts_of
from hangview.dumps.find import Found
from hangview.dumps.interning import share_tables
from hangview.dumps.narrow import Part, cut, part_of, put
from hangview.dumps.result import FileRead, failed
from hangview.dumps.told import KINDS, tables_in, tables_out
from hangview.schema import SourceKind, SourceStatus
from hangview.text import size as size_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.schema import Limits

T = TypeVar("T")

#: Changes when an older hangview could not read what is written.
FORMAT = 1
#: In the file's metadata: the checksum of all bytes with the digits of this one being zeros, and the ledger.
_CHECK, _LEDGER = "hangview.checksum", "hangview.ledger"
_MARK = b"hangview blake2b "
_DIGITS = 32
_MAGIC = b"PAR1"
#: Bytes that one entry takes when it is unpacked.
ENTRY = sum(np.dtype(kind).itemsize for kind in KINDS.values())

_STATUSES = frozenset(SourceStatus) - {
    *(SourceStatus.SUPERSEDED, SourceStatus.OTHER_ATTEMPT, SourceStatus.GROWING, SourceStatus.UNFINISHED),
}
_DECODED = frozenset({SourceStatus.READ, SourceStatus.CUT})
_INT64 = range(-(2**63), 2**63)
_INT31 = range(2**31)


class NotAPackError(Exception):
    """A parquet file of somebody else's."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a pack's ledger. ``file.found`` is that of the source it was made of, with its path as it was then.

    ``sha256`` is that of the source's bytes, hexadecimal (of the bundle, for a member of one); None: it was not taken, or the
    source changed while it was read. ``whole`` is the size of the file that the source is or lies in, ``member`` what follows
    the file's name in the source's, for a member of a bundle.
    """

    file: FileRead
    sha256: str | None = None
    whole: int = 0
    member: str = ""

    @property
    def key(self) -> tuple[str, int, int, int]:
        """That of the file, see :attr:`~hangview.dumps.find.Found.key`."""
        found = self.file.found
        return found.path, self.whole, found.mtime_ns, found.inode


@dataclass(frozen=True, slots=True)
class Pack:
    """What a pack holds, and who wrote it: with which version, and within which limits."""

    rows: tuple[Row, ...]
    version: str
    limits: tuple[int, ...]


# --- writing


def write(rows: Sequence[Row], limits: Limits) -> bytes:
    """The bytes of a pack. ``limits`` are those that the sources were read with."""
    shared = share_tables([row.file.decoded for row in rows if row.file.decoded is not None])
    decoded = iter(shared)
    members: dict[tuple[int, ...], int] = {}  # of groups: the same in most sources, and long
    ledger = {
        "format": FORMAT,
        "hangview": __version__,
        "limits": astuple(limits),
        "sources": [_describe(row, None if row.file.decoded is None else next(decoded), members) for row in rows],
        "members": list(members),
        "tables": tables_out(shared[0]) if shared else None,
    }
    told = base64.b64encode(zlib.compress(json.dumps(ledger, separators=(",", ":")).encode(), 6)).decode()
    out = io.BytesIO()
    check = _MARK.decode() + "0" * _DIGITS
    _frame(shared).write_parquet(out, compression="zstd", metadata={_CHECK: check, _LEDGER: told})
    data = bytearray(out.getvalue())
    at = data.rindex(_MARK) + len(_MARK)
    data[at : at + _DIGITS] = _digest(data)
    return bytes(data)


def _frame(dumps: Sequence[Decoded]) -> pl.DataFrame:
    """The entries of all dumps; what is absent is null."""
    total = sum(one.count for one in dumps)
    columns = [pl.Series("source", np.repeat(np.arange(len(dumps), dtype=np.uint32), [one.count for one in dumps]))]
    for name, kind in KINDS.items():
        column = np.empty(total, kind)
        at = 0
        for one in dumps:
            put(one.columns, name, column[at : at + one.count])
            at += one.count
        series = pl.Series(name, column)
        if name in INT_COLUMNS and (absent := column == NONE).any():
            series = series.set(pl.Series(absent), None)
        columns.append(series.fill_nan(None) if name == "duration_ms" else series)
    return pl.DataFrame(columns)


def _describe(row: Row, decoded: Decoded | None, members: dict[tuple[int, ...], int]) -> dict[str, Any]:
    file, found = row.file, row.file.found
    out: dict[str, Any] = {
        "path": found.path,
        "shown": found.shown,
        "member": row.member,
        "size": found.size,
        "file_size": row.whole,
        "mtime_ns": found.mtime_ns,
        "inode": found.inode,
        "sha256": row.sha256,
        "kind": file.kind.value,
        "status": file.status.value,
        "reason": file.reason,
        "opened": file.opened,
        "listed": file.listed,
    }
    if decoded is not None:
        out["dump"] = {
            "entries": decoded.count,
            "complete": decoded.complete,
            "encoding": decoded.encoding,
            "version": decoded.version,
            "library": decoded.library,
            "configs": [(c.key, c.name, c.desc, members.setdefault(c.ranks, len(members))) for c in decoded.configs],
            "statuses": [(s.pg_id, s.enqueued, s.started, s.completed) for s in decoded.statuses],
            "has_entries_key": decoded.has_entries_key,
            "unknown_keys": decoded.unknown_keys,
            "notes": decoded.notes,
        }
    return out


def _digest(data: bytearray) -> bytes:
    """The checksum of a file in which its digits are zeros."""
    return hashlib.blake2b(data, digest_size=_DIGITS // 2).hexdigest().encode()


# --- reading


def members(found: Found, file: BinaryIO, limits: Limits) -> tuple[FileRead, ...]:
    """The sources in a pack that was found, or a line on what is wrong with it. Raises :class:`NotAPackError`, ``OSError``."""
    try:
        pack = read(bytes_of(file, limits), limits)
    except Unusable as error:
        status = SourceStatus.REFUSED if error.limit else SourceStatus.UNREADABLE
        return (FileRead(found, SourceKind.OTHER, status, str(error)),)
    return tuple(replace(row.file, pack=found.shown) for row in pack.rows)


def bytes_of(file: BinaryIO, limits: Limits) -> bytes:
    """The whole file, once its end says that it is a pack. Raises as :func:`read` and :func:`members`."""
    total = file.seek(0, io.SEEK_END)
    if total > limits.unpacked_bytes:
        raise Unusable(f"{size_text(total)}, {_past(limits.unpacked_bytes)}", limit=True)
    file.seek(max(0, total - 8))
    end = file.read(8)
    if len(end) < 8 or end[4:] != _MAGIC:
        raise Unusable("a damaged pack: it ends early")
    file.seek(max(0, total - 8 - int.from_bytes(end[:4], "little")))
    if _MARK not in file.read(total):
        raise NotAPackError
    file.seek(0)
    return file.read(total)


def read(data: bytes, limits: Limits) -> Pack:
    """What the bytes of a pack hold. Raises :class:`~hangview.dumps.bundles.Unusable` with the reason in one line."""
    try:
        return _read(data, limits)
    except (Unusable, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        # somebody made it up, checksum and all: whatever that brings about in layers of others, it costs this file and no other
        raise Unusable(f"no pack that hangview has written ({type(error).__name__})") from None


def _read(data: bytes, limits: Limits) -> Pack:
    at = data.rfind(_MARK) + len(_MARK)
    blank = bytearray(data)
    blank[at : at + _DIGITS] = b"0" * _DIGITS
    if at < len(_MARK) or _digest(blank) != data[at : at + _DIGITS]:
        raise Unusable("a damaged pack: its checksum does not fit its bytes")
    del blank
    told = _unpacked(pl.read_parquet_metadata(io.BytesIO(data))[_LEDGER], limits)
    version = _text(told["hangview"])
    if told["format"] != FORMAT:
        raise Unusable(f"a pack in a format that this hangview does not know, written by hangview {version}: update this one")
    counts = [_number(one["dump"]["entries"], range(2**40)) for one in told["sources"] if "dump" in one]
    rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
    if rows != sum(counts):
        raise ValueError("rows")
    if rows * ENTRY > limits.unpacked_bytes:
        raise Unusable(f"{rows:,} entries, {size_text(rows * ENTRY)} unpacked, {_past(limits.unpacked_bytes)}", limit=True)
    tables = _checked(told["tables"])
    parts = {name: _part(data, name, tables) for name in KINDS}
    ranks = [_each(one, lambda rank: _number(rank, _INT31)) for one in told["members"]]
    out = []
    start = 0
    for one in told["sources"]:
        out.append(_row(one, parts, start, tables, ranks, limits))
        start += one["dump"]["entries"] if "dump" in one else 0
    return Pack(tuple(out), version, _each(told["limits"], _integer))


def _past(limit: int) -> str:
    return f"more than the limit of {size_text(limit)}; --max-file-size raises it"


def _unpacked(told: str, limits: Limits) -> dict[str, Any]:
    inner = zlib.decompressobj()
    text = inner.decompress(base64.b64decode(told, validate=True), limits.file_bytes)
    if not inner.eof:
        raise Unusable(f"its ledger is {_past(limits.file_bytes)}", limit=True)
    ledger: dict[str, Any] = json.loads(text)
    return ledger


def _part(data: bytes, name: str, tables: dict[str, Any]) -> Part:
    """One column, narrow. One after the other: wide and side by side they take three times as much."""
    series = pl.read_parquet(io.BytesIO(data), columns=[name])[name]
    if name in INT_COLUMNS:
        series = series.fill_null(NONE)
    elif name == "duration_ms":
        series = series.fill_null(float("nan"))
    column = series.to_numpy()
    if series.null_count() or column.dtype.str != KINDS[name]:
        raise ValueError(name)
    if name in ID_COLUMNS and len(column) and int(column.max()) >= len(tables[_TABLES[name]]):
        raise ValueError(name)
    return part_of(column)


_TABLES = {"op": "ops", "label": "labels", "signature": "signatures", "stack": "stacks", "thread": "threads"}


def _row(
    one: dict[str, Any],
    parts: dict[str, Part],
    at: int,
    tables: dict[str, Any],
    ranks: Sequence[tuple[int, ...]],
    limits: Limits,
) -> Row:
    kind, status, listed = SourceKind(one["kind"]), SourceStatus(one["status"]), _bool(one["listed"])
    if (
        status not in _STATUSES
        or ("dump" in one) != (kind is SourceKind.DUMP and status in _DECODED)
        or (listed and "dump" in one)
    ):
        raise ValueError("status")
    if kind is SourceKind.LOG:
        raise ValueError("log")  # it is not in here, and the path is not to be followed
    path, shown = _text(one["path"]), _text(one["shown"])
    size, mtime_ns, inode = (_number(one[name], _INT64) for name in ("size", "mtime_ns", "inode"))
    found = Found(path, shown, kind, size, mtime_ns, inode)
    about = _maybe(one["sha256"], _text), _number(one["file_size"], _INT64), _text(one["member"])
    file = FileRead(found, kind, status, _maybe(one["reason"], _text), opened=_bool(one["opened"]), listed=listed)
    if "dump" not in one:
        return Row(file, *about)
    count = one["dump"]["entries"]
    if count > limits.entries:
        reason = f"has {count:,} entries, more than the limit of {limits.entries:,}; --max-entries raises it"
        return Row(failed(found, SourceStatus.REFUSED, reason), *about)
    decoded = _decoded(one["dump"], parts, at, tables, ranks)
    return Row(replace(file, decoded=decoded, facts=facts_of(decoded)), *about)


def _decoded(
    told: dict[str, Any], parts: dict[str, Part], at: int, tables: dict[str, Any], ranks: Sequence[tuple[int, ...]]
) -> Decoded:
    return Decoded(
        complete=_bool(told["complete"]),
        encoding=_text(told["encoding"]),
        version=_maybe(told["version"], _text),
        library=_maybe(told["library"], _text),
        configs=tuple(
            RawConfig(_text(key), _text(name), _text(desc), ranks[_number(i, range(len(ranks)))])
            for key, name, desc, i in told["configs"]
        ),
        statuses=tuple(
            RawStatus(_integer(pg_id), *(_maybe(number, _integer) for number in numbers))
            for pg_id, *numbers in told["statuses"]
        ),
        count=told["entries"],
        columns=cut(parts, at, told["entries"]),
        has_entries_key=_bool(told["has_entries_key"]),
        unknown_keys=_each(told["unknown_keys"], _text),
        notes=_each(told["notes"], _text),
        **tables,
    )


# --- values of the ledger: what they are said to be, or an exception of some kind


def _checked(told: dict[str, Any] | None) -> dict[str, Any]:
    if told is None:
        return {"ops": (), "labels": (), "signatures": (), "stacks": ((),), "threads": ()}
    frames = range(len(told["frames"]))
    for stack in told["stacks"]:
        _each(stack, lambda i: _number(i, frames))
    tables = tables_in(told)
    _each(tables["ops"], _text)
    for pair in tables["labels"]:
        _each(pair, _text)
    for one in tables["signatures"]:
        for sizes in (*one.input_sizes, *one.output_sizes):
            _each(sizes, _integer)
        for dtypes in (one.input_dtypes, one.output_dtypes):
            _maybe(dtypes, lambda names: _each(names, _text))
    for name, filename, line in told["frames"]:
        _text(name), _text(filename), _integer(line)
    for thread in tables["threads"]:
        _text(thread.id), _text(thread.name)
    if not tables["stacks"] or tables["stacks"][0]:
        raise ValueError("stack 0")
    return tables


def _each(values: Any, check: Callable[[Any], T]) -> tuple[T, ...]:
    if not isinstance(values, list | tuple):
        raise TypeError
    return tuple(map(check, values))


def _maybe(value: Any, check: Callable[[Any], T]) -> T | None:
    return None if value is None else check(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _number(value: Any, within: range) -> int:
    if type(value) is not int or value not in within:
        raise ValueError
    return value


def _integer(value: Any) -> int:
    return _number(value, _INT64)
