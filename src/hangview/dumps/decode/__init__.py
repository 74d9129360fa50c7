"""Bytes of one file -> :class:`hangview.dumps.decoded.Decoded`, for every producer, version and container.

No pickle module is involved: see ``machine`` for what is read and what is refused, ``rows`` for the fast way through torch's
own layout, ``columns`` for how values become columns, ``text`` for JSON.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hangview.dumps.decode import keys
from hangview.dumps.decode.columns import Column, Tables, from_entries
from hangview.dumps.decode.header import read_header, split
from hangview.dumps.decode.machine import interpret, refuse_text_pickle
from hangview.dumps.decode.rows import decode_rows
from hangview.dumps.decode.text import read_json
from hangview.dumps.decoded import Decoded, NotADump, Refused

if TYPE_CHECKING:
    from hangview.schema import Limits

__all__ = ["decode"]

#: Wrappers (a pickle of the bytes of a pickle of ...) that are taken off before giving up.
MAX_WRAPPERS = 4
#: A file whose last block was never written ends in zeros; a whole dump ends in a full stop or a brace.
_ZEROS = b"\0" * 16
_PICKLE_STARTS = tuple(b"\x80\x02}(X" + len(k).to_bytes(4, "little") + k.encode() for k in sorted({*keys.TOP_KEYS, "version"}))


def decode(data: bytes, limits: Limits) -> Decoded:
    """Decode one dump.

    A file that ends early gives its whole entries and ``complete=False``. Entries without ``process_group`` (versions before
    2.0) get the label (str(pg_id), ""), which is also how their ``pg_config`` names groups. Raises NotADump if the bytes are
    no dump, Refused if they ask for code or go past a limit; never anything else, whatever the bytes.
    """
    if len(data) > limits.file_bytes:
        raise Refused(f"has {len(data):,} bytes, more than the limit of {limits.file_bytes:,}; --max-file-size raises it")
    return _decode(data, limits, wrappers=0)


def _decode(data: bytes, limits: Limits, wrappers: int) -> Decoded:
    if not data:
        raise NotADump("the file is empty")
    notes: list[str] = []
    if data.endswith(_ZEROS):
        short = data.rstrip(b"\0")
        if not short:
            raise NotADump("nothing but zero bytes")
        if short[:1] == b"\x80" or short[-1:] not in (b"}", b"]", b"."):
            notes.append(f"its last {len(data) - len(short):,} bytes are zeros: they were never written")
            data = short
    if data[:1] == b"\x80":
        return _decode_pickle(data, limits, wrappers, notes)
    start = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"["):
        root, stop = read_json(data, limits)
        if stop is not None:
            notes.append(f"stops being JSON at character {stop:,}; what came before is kept")
        return _assemble(root, limits, len(data), notes, complete=stop is None, encoding="json")
    if start == b'"' and wrappers < MAX_WRAPPERS:
        root, _ = read_json(data, limits)
        if type(root) is str:
            return _unwrap(root.encode(), limits, wrappers, notes, "json of text", complete=True)
    refuse_text_pickle(data)
    raise NotADump("not a flight-recorder dump")


def _decode_pickle(data: bytes, limits: Limits, wrappers: int, notes: list[str]) -> Decoded:
    rows = decode_rows(data, limits)
    if rows is not None:
        return _finish(rows.complete, "pickle 2", rows.header, rows.columns, rows.keys, rows.tables, notes)
    read = interpret(data, limits)
    encoding = f"pickle {read.protocol}"
    if read.damage:
        notes.append(f"damaged: {read.damage}; what came before is kept")
    if type(read.root) in (bytes, str):
        kind = "bytes" if type(read.root) is bytes else "text"
        inner = read.root if type(read.root) is bytes else read.root.encode()
        return _unwrap(inner, limits, wrappers, notes, f"{encoding} of {kind}", complete=read.complete)
    if not read.complete and not read.root and not read.damage and _starts_like_a_dump(data):
        return _assemble({}, limits, len(data), notes, complete=False, encoding=encoding, surely=True)
    if read.complete and read.root == [] and data == b"\x80\x02](e.":  # an empty recorder of torch 2.2
        return _assemble({keys.ENTRIES: []}, limits, len(data), notes, complete=True, encoding=encoding)
    return _assemble(read.root, limits, len(data), notes, complete=read.complete, encoding=encoding)


def _starts_like_a_dump(data: bytes) -> bool:
    """Whether the bytes end inside the first value of a dump as torch writes it."""
    return len(data) > 1 and any(start.startswith(data) or data.startswith(start) for start in _PICKLE_STARTS)


def _unwrap(data: bytes, limits: Limits, wrappers: int, notes: list[str], encoding: str, *, complete: bool) -> Decoded:
    if wrappers >= MAX_WRAPPERS:
        raise Refused(f"is wrapped more than {MAX_WRAPPERS} times")
    inner = _decode(data, limits, wrappers + 1)
    return replace(inner, complete=complete and inner.complete, encoding=encoding, notes=(*notes, *inner.notes))


def _assemble(
    root: Any, limits: Limits, size: int, notes: list[str], *, complete: bool, encoding: str, surely: bool = False
) -> Decoded:
    top, entries, has_key = ({}, [], False) if surely else split(root, complete=complete)
    if len(entries) > limits.entries:
        too_many_entries(len(entries), limits)
    tables = Tables(limits, size)
    columns, present = from_entries(entries, tables)
    decoded = _finish(complete, encoding, top, columns, present, tables, notes)
    return decoded if has_key else replace(decoded, has_entries_key=False)


def _finish(
    complete: bool,
    encoding: str,
    top: dict[Any, Any],
    columns: dict[str, Column],
    present: set[Any],
    tables: Tables,
    notes: list[str],
) -> Decoded:
    header, done = read_header(top), tables.finish()
    unknown = sorted(re.sub(r"\s+", " ", str(k))[:100] for k in present - keys.ENTRY_KEYS)
    return Decoded(
        complete=complete,
        encoding=encoding,
        version=header.version,
        library=header.library,
        configs=header.configs,
        statuses=header.statuses,
        count=len(columns["state"]),
        columns=columns,
        ops=done.ops,
        labels=done.labels,
        signatures=done.signatures,
        stacks=done.stacks,
        threads=done.threads,
        unknown_keys=tuple(unknown),
        notes=(*notes, *header.notes),
    )


def too_many_entries(count: int, limits: Limits) -> None:
    raise Refused(f"has {count:,} entries, more than the limit of {limits.entries:,}; --max-entries raises it")
