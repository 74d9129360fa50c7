"""Decoded dumps of a large set, kept in the user's cache folder: opening the same set again takes a tenth of a second.

One file for a set (see :mod:`hangview.dumps.shelf`): the columns, each as Arrow IPC, then tables and headers as JSON. It is
found by path, size, time and inode of every file, by the limits and by the decoder itself, so it is never out of date. Whatever
is wrong with it means that the dumps are read, and nothing else.
"""

from __future__ import annotations

import io
import json
import struct
import threading
import zlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from hangview.dumps import shelf
from hangview.dumps.allocator import import_polars
from hangview.dumps.decoded import Decoded, RawConfig, RawStatus
from hangview.dumps.facts import Facts
from hangview.dumps.interning import share_tables
from hangview.dumps.names import Inside
from hangview.dumps.narrow import Narrow, Part, cut, part_of, put
from hangview.dumps.result import FileRead
from hangview.dumps.told import KINDS, tables_in, tables_out
from hangview.schema import SourceKind, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from hangview.dumps.find import Found
    from hangview.schema import Limits, ReadOptions

    Array = npt.NDArray[Any]
    Key = tuple[str, int, int, int]

_LENGTH = struct.Struct("<Q")


def load(files: Sequence[Found], limits: Limits) -> dict[Key, tuple[FileRead, ...]] | None:
    """What was stored for exactly these files; None when there is nothing, or nothing usable. Never raises."""
    return shelf.fetch(shelf.dumps_name(files, limits), lambda body: _unpack(body, files))


def store(files: Sequence[Found], options: ReadOptions, results: Mapping[Key, tuple[FileRead, ...]]) -> bool:
    """Keep what was read of these files. False when it cannot be, or when some file was not read to its end; never raises."""
    if any(found.key not in results or not final(results[found.key]) for found in files):
        return False
    groups = [results[found.key] for found in files]
    return shelf.keep(shelf.dumps_name(files, options.limits), lambda: _pack(files, groups), options.cache_bytes)


def final(results: Iterable[FileRead]) -> bool:
    """Whether what was read of a file stays as it is while the file does. A pack is no slower than what is kept of it."""
    return all(file.opened and not file.pack and file.status is not SourceStatus.GROWING for file in results)


def store_later(files: Sequence[Found], options: ReadOptions, results: Mapping[Key, tuple[FileRead, ...]]) -> threading.Thread:
    """The same in a thread that does not hold up the end of the program: an unfinished file is dropped the next time."""
    thread = threading.Thread(target=store, args=(files, options, results), name="hangview-cache", daemon=True)
    thread.start()
    return thread


# --- bytes


def _pack(files: Sequence[Found], groups: Sequence[tuple[FileRead, ...]]) -> Iterator[bytes]:
    """One column after the other: together and wide they would take as much memory as all else."""
    from hangview.dumps.sharing import runs  # with polars, which a process that reads dumps does without

    shared = share_tables([file.decoded for group in groups for file in group if file.decoded is not None])
    decoded = iter(shared)
    members: dict[tuple[int, ...], int] = {}  # of groups: the same in most files, and long
    listed = [
        [_describe(file, found, None if file.decoded is None else next(decoded), members) for file in group]
        for found, group in zip(files, groups, strict=True)
    ]
    told: dict[str, tuple[Any, bool, int]] = {}
    parts = runs(shared)
    for name in KINDS:
        least, holes, data = _column_out(parts, name)
        told[name] = least, holes, len(data)
        yield data
    meta = {
        "files": listed,
        "members": list(members),
        "tables": tables_out(shared[0]) if shared else None,
        "parts": told,
    }
    head = zlib.compress(json.dumps(meta, separators=(",", ":")).encode(), 1)
    yield head
    yield _LENGTH.pack(len(head))


def _whole(parts: Sequence[tuple[Mapping[str, Array], int]], name: str) -> Array:
    """One column of all dumps; no copy where they lie in one frame."""
    import numpy as np

    if len(parts) == 1:
        return parts[0][0][name]
    column = np.empty(sum(length for _, length in parts), KINDS[name])
    at = 0
    for columns, length in parts:
        put(columns, name, column[at : at + length])
        at += length
    return column


def _column_out(parts: Sequence[tuple[Mapping[str, Array], int]], name: str) -> tuple[Any, bool, bytes]:
    """One column of all dumps: what its codes count from, whether some are none, and their bytes; none where all are equal."""
    import polars as pl

    part = part_of(_whole(parts, name))
    data = io.BytesIO()
    if part.codes is not None:
        pl.DataFrame([pl.Series(name, part.codes)]).write_ipc(data, compression="zstd")
    return part.least, part.holes, data.getvalue()


def _column_in(name: str, least: Any, holes: bool, data: memoryview) -> Part:
    import polars as pl

    codes = pl.read_ipc(io.BytesIO(data))[name].to_numpy() if len(data) else None
    return Part(KINDS[name], codes, least, holes)


def _describe(file: FileRead, found: Found, decoded: Decoded | None, members: dict[tuple[int, ...], int]) -> list[Any]:
    head = [file.found.shown[len(found.shown) :], file.found.size, file.kind.value, file.status.value, file.reason]
    facts = file.facts
    if decoded is None or facts is None:
        return [*head, None]
    return [
        *head,
        [
            decoded.complete,
            decoded.encoding,
            decoded.version,
            decoded.library,
            [(c.key, c.name, c.desc, members.setdefault(c.ranks, len(members))) for c in decoded.configs],
            [(s.pg_id, s.enqueued, s.started, s.completed) for s in decoded.statuses],
            decoded.count,
            decoded.has_entries_key,
            decoded.unknown_keys,
            decoded.notes,
            _facts_out(facts, members),
        ],
    ]


def _facts_out(facts: Facts, members: dict[tuple[int, ...], int]) -> dict[str, Any]:
    out = {field.name: getattr(facts, field.name) for field in fields(facts)}
    common = None if facts.inside.members is None else tuple(sorted(facts.inside.members))
    out["default"], common_at = (None if r is None else members.setdefault(r, len(members)) for r in (facts.default, common))
    out["inside"] = [common_at, facts.inside.own]
    return out


def _facts_in(told: dict[str, Any], members: list[tuple[int, ...]]) -> Facts:
    default, (common, own) = told["default"], told["inside"]
    told["default"] = None if default is None else members[default]
    told["inside"] = Inside(None if common is None else frozenset(members[common]), own)
    return Facts(**told)


def _unpack(body: memoryview, files: Sequence[Found]) -> dict[Key, tuple[FileRead, ...]]:
    import_polars()
    (length,) = _LENGTH.unpack(body[-_LENGTH.size :])
    end = len(body) - _LENGTH.size - length
    meta = json.loads(zlib.decompress(body[end : end + length]))
    parts = {}
    at = 0
    for name, (least, holes, size) in meta["parts"].items():
        parts[name] = _column_in(name, least, holes, body[at : at + size])
        at += size
    tables = tables_in(meta["tables"])
    members = [tuple(ranks) for ranks in meta["members"]]
    results: dict[Key, tuple[FileRead, ...]] = {}
    at = 0
    for found, group in zip(files, meta["files"], strict=True):
        out = []
        for shown, size, kind, status, reason, told in group:
            decoded = facts = None
            if told is not None:
                facts = _facts_in(told.pop(), members)
                decoded = _decoded(told, cut(parts, at, told[6]), tables, members)
                at += told[6]
            one = found if not shown else replace(found, shown=found.shown + shown, size=size)
            out.append(FileRead(one, SourceKind(kind), SourceStatus(status), reason, decoded, facts))
        results[found.key] = tuple(out)
    return results


def _decoded(told: list[Any], columns: Narrow, tables: dict[str, Any], members: list[tuple[int, ...]]) -> Decoded:
    complete, encoding, version, library, configs, statuses, number, has_entries_key, unknown_keys, notes = told
    return Decoded(
        complete=complete,
        encoding=encoding,
        version=version,
        library=library,
        configs=tuple(RawConfig(key, name, desc, members[i]) for key, name, desc, i in configs),
        statuses=tuple(RawStatus(*status) for status in statuses),
        count=number,
        columns=columns,
        has_entries_key=has_entries_key,
        unknown_keys=tuple(unknown_keys),
        notes=tuple(notes),
        **tables,
    )
