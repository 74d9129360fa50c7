"""Decodes one dump: as torch writes it the fast way, else entry by entry; out of its wrappers, and as far as it goes."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hangview.dumps.decode import keys
from hangview.dumps.decode.columns import Tables, from_entries
from hangview.dumps.decode.header import read_header, split
from hangview.dumps.decode.known import Known
from hangview.dumps.decode.machine import count_steps, entry_limit, interpret, refuse_text_pickle
from hangview.dumps.decode.rows import Rows, decode_rows
from hangview.dumps.decode.text import read_json
from hangview.dumps.decoded import ZEROS, Decoded, NotADump, Refused

if TYPE_CHECKING:
    from hangview.schema import Limits

__all__ = ["decode"]

#: Wrappers (a pickle of the bytes of a pickle of ...) that are taken off before giving up.
MAX_WRAPPERS = 4
#: Names of unknown entry keys that are kept.
_UNKNOWN_KEYS = 50
#: A file whose last block was never written ends in zeros; a whole dump ends in a full stop or a brace.
_ZEROS = b"\0" * 16
_PICKLE_STARTS = (
    *(b"\x80\x02}(X" + len(k).to_bytes(4, "little") + k.encode() for k in sorted(keys.TOP_KEYS)),
    *(b"\x80\x02](}(X" + len(k).to_bytes(4, "little") + k.encode() for k in sorted(keys.ENTRY_KEYS)),
)
_JSON_STARTS = tuple(b'{"' + k.encode() + b'"' for k in sorted(keys.DUMP_KEYS))


def decode(data: bytes, limits: Limits, known: Known | None = None) -> Decoded:
    """Decode one dump. ``known`` remembers what it has in common with others; give the same one to all of them.

    A file that ends early gives its whole entries and ``complete=False``. Entries without ``process_group`` (versions before
    2.0) get the label (str(pg_id), ""), which is also how their ``pg_config`` names groups. Raises NotADump if the bytes are
    no dump, Refused if they ask for code or go past a limit; never anything else, whatever the bytes.
    """
    if len(data) > limits.file_bytes:
        raise Refused(f"has {len(data):,} bytes, more than the limit of {limits.file_bytes:,}; --max-file-size raises it")
    if known is None or known.limits != limits:
        known = Known(limits)
    known.begin()
    collecting = gc.isenabled()
    gc.disable()  # no value here can refer to itself; collecting while millions are made costs five times the decoding
    try:
        return _decode(data, limits, known, wrappers=0)
    finally:
        if collecting:
            gc.enable()


def _decode(data: bytes, limits: Limits, known: Known, wrappers: int) -> Decoded:
    if not data:
        raise NotADump("the file is empty")
    notes: list[str] = []
    if data.endswith(_ZEROS):
        short = data.rstrip(b"\0")
        notes.append(f"its last {len(data) - len(short):,}{ZEROS}")
        data = short
    if data[:1] == b"\x80":
        return _decode_pickle(data, limits, known, wrappers, notes)
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"["):
        root, stop = read_json(data, limits)
        if stop is not None:
            notes.append(stop)
        if stop is not None and not root and _is_start_of(data, _JSON_STARTS):
            return _assemble({}, [], 0, limits, known, notes, complete=False, encoding="json", has_key=False)
        top, entries, has_key = split(root, cut_pickle=False)
        return _assemble(top, entries, len(data), limits, known, notes, complete=stop is None, encoding="json", has_key=has_key)
    if start == b'"':
        root, _ = read_json(data, limits)
        if type(root) is str:
            return _unwrap(root.encode("utf-8", "replace"), limits, known, wrappers, notes, "json of text", complete=True)
    refuse_text_pickle(data)
    raise NotADump("not a flight-recorder dump")


def _decode_pickle(data: bytes, limits: Limits, known: Known, wrappers: int, notes: list[str]) -> Decoded:
    steps = count_steps(limits, len(data))
    rows = decode_rows(data, limits, known, steps)
    if rows is not None:
        return _finish(rows, limits, notes, "pickle 2")
    machine = interpret(data, limits, steps)
    root, complete = machine.root(), machine.complete
    encoding = f"pickle {data[1]}"
    if machine.damage:
        notes.append(machine.damage)
    if type(root) in (bytes, str):
        kind = "bytes" if type(root) is bytes else "text"
        inner = root if type(root) is bytes else root.encode()
        return _unwrap(inner, limits, known, wrappers, notes, f"{encoding} of {kind}", complete=complete)
    if not complete and not root and not machine.damage and _is_start_of(data, _PICKLE_STARTS):
        return _assemble({}, [], 0, limits, known, notes, complete=False, encoding=encoding, has_key=False)
    if data == b"\x80\x02](e.":  # an empty recorder of torch 2.2
        return _assemble({}, [], 0, limits, known, notes, complete=True, encoding=encoding)
    top, entries, has_key = split(root, cut_pickle=not complete)
    return _assemble(top, entries, len(data), limits, known, notes, complete=complete, encoding=encoding, has_key=has_key)


def _is_start_of(data: bytes, starts: tuple[bytes, ...]) -> bool:
    """Whether the bytes of a cut file are those of a dump as torch writes it, as far as they go."""
    return len(data) > 1 and any(start.startswith(data) or data.startswith(start) for start in starts)


def _unwrap(
    data: bytes, limits: Limits, known: Known, wrappers: int, notes: list[str], encoding: str, *, complete: bool
) -> Decoded:
    if wrappers >= MAX_WRAPPERS:
        raise Refused(f"is wrapped more than {MAX_WRAPPERS} times")
    inner = _decode(data, limits, known, wrappers + 1)
    return replace(inner, complete=complete and inner.complete, encoding=encoding, notes=(*notes, *inner.notes))


def _assemble(
    top: dict[Any, Any],
    entries: list[Any],
    size: int,
    limits: Limits,
    known: Known,
    notes: list[str],
    *,
    complete: bool,
    encoding: str,
    has_key: bool = True,
) -> Decoded:
    if len(entries) > limits.entries:
        raise Refused(f"has {len(entries):,} entries, more than the limit of {limits.entries:,}; --max-entries raises it")
    if len(entries) > entry_limit(size):
        raise Refused(f"has {len(entries):,} entries in {size:,} bytes, which no recorder writes")
    tables = Tables(limits, size, known)
    columns, present = from_entries(entries, tables)
    decoded = _finish(Rows(complete, top, columns, tables, present), limits, notes, encoding)
    return decoded if has_key else replace(decoded, has_entries_key=False)


def _finish(rows: Rows, limits: Limits, notes: list[str], encoding: str) -> Decoded:
    header, tables = read_header(rows.header, limits), rows.tables.finish()
    return Decoded(
        complete=rows.complete,
        encoding=encoding,
        version=header.version,
        library=header.library,
        configs=header.configs,
        statuses=header.statuses,
        count=len(rows.columns["state"]),
        columns=rows.columns,
        ops=tables.ops,
        labels=tables.labels,
        signatures=tables.signatures,
        stacks=tables.stacks,
        threads=tables.threads,
        unknown_keys=tuple(sorted(map(_printable, rows.keys - keys.ENTRY_KEYS))[:_UNKNOWN_KEYS]),
        notes=(*notes, *header.notes),
    )


def _printable(key: Any) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(key)[:100])
