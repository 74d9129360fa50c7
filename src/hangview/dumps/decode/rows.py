"""All entries of a dump in torch's own layout at once, with numpy.

The entries of a dump differ only in numbers and in which strings they refer to, so one cursor per entry walks all of them
together, field by field, in the order that the first entry shows. A row counts only if it ends at the byte where the next one
starts. All other rows (first uses of strings, keys that the first one lacks, the end of a cut dump) are joined behind the
first one and interpreted one by one; of rows whose stack alone is new, the stack. So the result is exact, or there is none
and the caller interprets the whole file.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hangview.dumps.decode import keys
from hangview.dumps.decode.columns import Column, Entry, Tables, finite, first_of, from_entries, scaled, state_code
from hangview.dumps.decode.cursors import Bools, Buffer, Fields, OtherLayoutError, layout_of
from hangview.dumps.decode.known import KnownStack
from hangview.dumps.decode.machine import Machine, interpret
from hangview.dumps.decode.spans import Ints, Span, find_all
from hangview.dumps.decoded import NONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.dumps.decode.known import Key, Known
    from hangview.dumps.decode.machine import Steps
    from hangview.schema import Limits

#: Below this, interpreting is as fast.
MIN_ROWS = 32

_PARTS = re.compile(rb"(\]\()|(e)|h(.)|j(....)|K(.)|M(..)|J(....)|\x8a\x08(.{8})", re.S)
_GETS = re.compile(rb"(?:h.|j....)*+", re.S)
_GET = re.compile(rb"h.|j....", re.S)
_FIRST = re.compile(rb"(?:X\x07\0\0\0entries(?:q.|r....)|\A\x80\x02)\]\(\}\(X(.{4})", re.S)


class Rows(NamedTuple):
    complete: bool
    header: dict[Any, Any]
    columns: dict[str, Column]
    tables: Tables
    keys: set[Any]


def decode_rows(data: bytes, limits: Limits, known: Known, steps: Steps | None = None) -> Rows | None:
    """The dump's header and columns, or None if it is not in the layout that torch's own pickler writes."""
    try:
        return _decode(data, limits, known, steps)
    except (OtherLayoutError, ValueError, IndexError, KeyError, OverflowError, TypeError):
        # Whatever is odd, even a limit: the interpreter says so about the file as it is.
        return None


def _decode(data: bytes, limits: Limits, known: Known, steps: Steps | None) -> Rows:
    starts = _find_starts(data)
    if len(starts) < MIN_ROWS or len(starts) >= limits.entries:
        raise OtherLayoutError
    machine = interpret(data[: int(starts[0])], limits, steps)  # the header and the first entry, which shows the layout
    first = _entries_of(machine.root())
    if machine.damage or len(first) != 1:
        raise OtherLayoutError
    tokens = {key: token for key in (*first[0], keys.DURATION) if (token := _token(data, str(key).encode()))}
    if not tokens.keys() >= first[0].keys():
        raise OtherLayoutError
    ends = np.append(starts[1:], len(data))
    layout = layout_of(first[0], tokens)
    fields = known.siblings.read(Buffer(data, len(layout.keys)), starts, ends, layout)
    fits = fields.fits.copy()
    fits[-1] = False  # where the last row ends, only the interpreter knows
    new_stack = fits & _new_stacks(fields)
    if layout.keys[0] != keys.FRAMES:
        fits &= ~new_stack
        new_stack[:] = False
    fields = replace(fields, fits=fits)
    rest = np.flatnonzero(~fits | new_stack)
    if len(rest) > len(starts) // 2 or fits.sum() < 2:
        raise OtherLayoutError
    stops = (fields.frames.ends if fields.frames else ends)[rest].tolist()
    pieces = [
        data[start : stop + 1] + b"u" if stack_only else data[start:end]
        for start, end, stop, stack_only in zip(
            starts[rest].tolist(), ends[rest].tolist(), stops, new_stack[rest].tolist(), strict=True
        )
    ]
    _feed(machine, pieces, new_stack[rest].tolist(), known)
    if any(machine.memo[_memo_id(token)] != key for key, token in tokens.items()):
        raise OtherLayoutError
    entries = _entries_of(machine.root())
    lost = len(rest) + 1 - len(entries)
    if lost not in ((0,) if machine.complete else (0, 1)):
        raise OtherLayoutError
    return _join(fields, new_stack, rest.tolist(), entries, machine, Tables(limits, len(data), known))


def _feed(machine: Machine, pieces: list[bytes], stack_only: list[bool], known: Known) -> None:
    """Interpret rows one by one; each must end where the next one can start, or the rows between them meant something else."""
    depth = len(machine.levels)
    known.share_frames(machine.memo, 0)
    for new_stack, group in groupby(zip(pieces[:-1], stack_only, strict=False), key=itemgetter(1)):
        rows = tuple(piece for piece, _ in group)
        if new_stack and known.feed_all(machine, rows):
            continue
        fed = []
        for row in rows:
            before, size = len(machine.levels[-1]), len(machine.memo)
            if new_stack:
                fed.append(known.feed(machine, row))
            else:
                machine.feed(row)
                known.share_frames(machine.memo, size)
            if machine.damage or len(machine.levels) != depth or len(machine.levels[-1]) != before + 1 or machine.mid_value:
                raise OtherLayoutError
        known.learn_all(rows, fed)
    machine.feed(pieces[-1])
    if machine.damage:
        raise OtherLayoutError


def _find_starts(data: bytes) -> Ints:
    """Where entries start, but for the first one: after the end of another, with the key that the first one starts with."""
    none = np.empty(0, np.int64)
    first = _FIRST.search(data)
    if not first:
        return none
    key = data[first.end() : first.end() + int.from_bytes(first[1], "little")]
    token = _token(data, key)
    if not token:
        return none
    return find_all(np.frombuffer(data, np.uint8), b"u}(" + token, 1) + 1


def _token(data: bytes, key: bytes) -> bytes | None:
    """The memo get that stands for a key: its memo number follows its first use."""
    pattern = b"X" + len(key).to_bytes(4, "little") + key
    i = data.find(pattern) + len(pattern)
    if i < len(pattern):
        return None
    return {b"q": b"h" + data[i + 1 : i + 2], b"r": b"j" + data[i + 1 : i + 5]}.get(data[i : i + 1])


def _memo_id(token: bytes) -> int:
    return int.from_bytes(token[1:], "little")


def _entries_of(root: Any) -> list[Entry]:
    entries = root if type(root) is list else root.get(keys.ENTRIES) if type(root) is dict else None
    if type(entries) is not list or not all(isinstance(e, dict) for e in entries):
        raise OtherLayoutError
    return entries


def _new_stacks(fields: Fields) -> Bools:
    """The rows with a frame that is written out."""
    if fields.frames is None:
        return np.zeros(len(fields.fits), np.bool_)
    new = np.array([not _GETS.fullmatch(raw) for raw in fields.frames.values], np.bool_)
    result: Bools = new[fields.frames.ids]
    return result


def _join(fields: Fields, new_stack: Bools, rest: list[int], entries: list[Entry], machine: Machine, tables: Tables) -> Rows:
    """All rows in file order. ``entries`` are the first entry and the rows of ``rest``, unless the last one was cut."""
    whole = [(0, entries[0])]
    stacks = []
    for row, entry in zip(rest, entries[1:], strict=False):
        if not new_stack[row]:
            whole.append((row + 1, entry))
        elif entry.keys() == {keys.FRAMES}:
            stacks.append((row + 1, tables.stack_of(_key(entry, tables))))
        else:
            raise OtherLayoutError
    columns, present = from_entries([entry for _, entry in whole], tables)
    places = [place for place, _ in whole]
    parts: dict[str, Any] = {"duration_ms": finite(fields.duration), **_Ids(fields, new_stack, tables, machine.memo).columns()}
    for key, (name, factor) in keys.INTS.items():
        if key in fields.numbers:
            values = fields.numbers[key]
            if factor != 1:  # what stands in the other rows could overflow
                values = np.where(fields.fits, values, NONE)
            values = scaled(values, name, factor)
            parts[name] = first_of(parts[name], values) if name in parts else values
    for name in keys.BOOLS:
        parts[name] = fields.numbers.get(name, False)
    count = len(fields.fits) + len(entries) - len(rest)
    result = {}
    for name, values in columns.items():
        out = np.empty(count, values.dtype)
        part = parts.get(name, NONE)
        out[1:] = part[: count - 1] if isinstance(part, np.ndarray) else part
        out[places] = values
        result[name] = out
    for place, stack in stacks:
        result["stack"][place] = stack
    root = machine.root()
    header = {} if type(root) is list else {k: v for k, v in root.items() if k != keys.ENTRIES}
    return Rows(machine.complete, header, result, tables, present)


def _key(entry: Entry, tables: Tables) -> Key:
    """The stack of an entry that has nothing else."""
    if type(entry) is not KnownStack:
        return tables.key(entry[keys.FRAMES])
    if entry.key is None:
        entry.key = tables.key(entry[keys.FRAMES])
    return entry.key


class _Ids:
    """Ids of the strings, groups, signatures and stacks of the rows that fit, from the bytes that stand for them."""

    def __init__(self, fields: Fields, new_stack: Bools, tables: Tables, memo: list[Any]) -> None:
        self.fields, self.tables, self.memo = fields, tables, memo
        self._new_stack = new_stack
        self._misfits = np.flatnonzero(~fields.fits)
        self._some = int(fields.fits.argmax())  # a row that fits lends its values to those that do not

    def columns(self) -> dict[str, Any]:
        f, tables = self.fields, self.tables
        group, pg_id = f.gets.get(keys.GROUP), f.numbers.get("pg_id")
        if group is not None:
            label: Any = self._distinct(group, lambda g: tables.label((self._text(g >> 32), self._text(g & 0xFFFFFFFF))))
        elif pg_id is not None:
            label = self._distinct(pg_id, lambda n: tables.label(None, None if n == NONE else n))
        else:
            label = tables.label(None)
        thread: Any = 0
        for key in ("thread_id", "thread_name"):
            thread = thread << 32 | (f.gets[key] + 1 if key in f.gets else 0)
        return {
            "op": self._strings("profiling_name", tables.op),
            "state": self._strings("state", state_code),
            "label": label,
            "thread": self._distinct(thread, self._thread) if isinstance(thread, np.ndarray) else self._thread(0),
            "signature": self._signatures(f.lists) if f.lists else tables.signature(None, None, None, None),
            "stack": self._stacks(f.frames) if f.frames else 0,
        }

    def _clean(self, values: Ints) -> Ints:
        values = values.copy()
        values[self._misfits] = values[self._some]
        return values

    def _text(self, i: int) -> str:
        value = self.memo[i]
        if type(value) is not str:
            raise OtherLayoutError
        return value

    def _thread(self, codes: int) -> int:
        id_, name = codes >> 32, codes & 0xFFFFFFFF
        return self.tables.thread(self._text(id_ - 1) if id_ else None, self._text(name - 1) if name else None)

    def _strings(self, key: str, to_id: Callable[[Any], int]) -> Any:
        gets = self.fields.gets.get(key)
        if gets is None:
            return to_id(None)
        return self._dense(self._clean(gets), len(self.memo), lambda i: to_id(self._text(i)))

    def _dense(self, codes: Ints, size: int, to_id: Callable[[int], int]) -> Ints:
        ids = np.zeros(size, np.int64)
        for i in _used(codes, size).tolist():
            ids[i] = to_id(i)
        return ids.take(codes)

    def _distinct(self, codes: Ints, to_id: Callable[[int], int]) -> Ints:
        distinct, inverse = np.unique(self._clean(codes), return_inverse=True)
        return np.array([to_id(code) for code in distinct.tolist()], np.int64).take(inverse)

    def _signatures(self, span: Span) -> Ints:
        return self._dense(self._clean(span.ids), len(span.values), lambda i: self._signature(span.values[i]))

    def _stacks(self, span: Span) -> Ints:
        # The stacks of rows with new frames come from the entries that were interpreted.
        known = self.fields.fits & ~self._new_stack
        if not known.any():
            return np.zeros(len(known), np.int64)
        codes = np.where(known, span.ids, span.ids[known.argmax()])
        used = _used(codes, len(span.values))
        ids = np.zeros(len(span.values), np.int64)
        ids[used] = list(map(self.tables.stack_of, self._keys(tuple(map(span.values.__getitem__, used.tolist())))))
        return ids.take(codes)

    def _keys(self, rows: tuple[bytes, ...]) -> tuple[Key, ...]:
        """The stacks that memo gets stand for."""
        known, memo = self.tables.known, self.memo
        keys_of = known.runs(rows, memo)
        if keys_of is None:
            places = [tuple(map(_memo_id, _GET.findall(raw))) for raw in rows]
            keys_of = tuple(tuple(self.tables.frame(memo[i]) for i in row) for row in places)
            known.learn_runs(rows, tuple(set(chain.from_iterable(places))), memo, keys_of)
        return keys_of

    def _signature(self, raw: bytes) -> int:
        parts = _lists(raw, self.memo)
        order = self.fields.list_keys
        if parts[1::2] != order[1:] or len(parts) != 2 * len(order) - 1:
            raise OtherLayoutError
        lists = dict(zip(order, parts[::2], strict=True))
        return self.tables.signature(*(lists.get(k) for k in keys.LISTS))


def _used(codes: Ints, size: int) -> Ints:
    """The distinct codes, ascending; all are below ``size``."""
    used = np.zeros(size, np.bool_)
    used[codes] = True
    return np.flatnonzero(used)


def _lists(raw: bytes, memo: list[Any]) -> list[Any]:
    """The lists in the bytes of several list fields, with the keys between them."""
    root: list[Any] = []
    open_ = [root]
    add = root.append
    for m in _PARTS.finditer(raw):
        group = m.lastindex or 0
        if group == 1:
            new: list[Any] = []
            add(new)
            open_.append(new)
            add = new.append
        elif group == 2:
            open_.pop()
            add = open_[-1].append
        elif group == 3:
            add(memo[m[3][0]])
        else:
            value = int.from_bytes(m[group], "little", signed=group >= 7)
            add(memo[value] if group == 4 else value)
    if len(open_) != 1:
        raise OtherLayoutError
    return root
