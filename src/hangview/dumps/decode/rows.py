"""All entries of a dump in torch's own layout at once, with numpy.

The entries of a dump differ only in numbers and in which strings they refer to, so one cursor per entry walks all of them
together, field by field, in the order that the first entry shows. A row counts only if it ends at the byte where the next one
starts; all other rows (first uses of strings, keys that the first one lacks, the end of a cut dump) are joined behind the
header and interpreted one by one. So the result is exact, or there is none and the caller interprets the whole file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hangview.dumps.decode import keys
from hangview.dumps.decode.columns import Column, Entry, Table, Tables, first_of, from_entries, scaled, state_code
from hangview.dumps.decode.machine import interpret
from hangview.dumps.decoded import INT_COLUMNS, NONE, NotADump, Refused

if TYPE_CHECKING:
    from hangview.schema import Limits

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Below this, interpreting is as fast.
MIN_ROWS = 32

# Token sizes by opcode: of memo gets, of integers, and of both and the marks of lists.
_GET = np.zeros(256, np.int64)
_GET[[0x68, 0x6A]] = 2, 5
_INT = np.zeros(256, np.int64)
_INT[[0x4B, 0x4D, 0x4A, 0x8A]] = 2, 3, 5, 10
_WALK = _GET + _INT
_WALK[[0x5D, 0x28, 0x65]] = 1
_MASK = np.zeros(256, np.uint64)
_MASK[[0x4B, 0x4D, 0x4A, 0x8A]] = 0xFF, 0xFFFF, 0xFFFFFFFF, 2**64 - 1
_U32 = np.uint64(0xFFFFFFFF)
_LONG1, _BININT, _NONE_OP = 0x8A, 0x4A, 0x4E
_PARTS = re.compile(rb"(\]\()|(e)|h(.)|j(....)|K(.)|M(..)|J(....)|\x8a\x08(.{8})", re.S)
_FIRST = re.compile(rb"(?:X\x07\0\0\0entries(?:q.|r....)|\A\x80\x02)\]\(\}\(X(.{4})", re.S)


class _OtherLayoutError(Exception):
    """The dump is to be interpreted as a whole."""


class Rows(NamedTuple):
    complete: bool
    header: dict[Any, Any]
    columns: dict[str, Column]
    tables: Tables
    keys: set[Any]


def decode_rows(data: bytes, limits: Limits) -> Rows | None:
    """The dump's header and columns, or None if it is not in the layout that torch's own pickler writes."""
    try:
        return _decode(data, limits)
    except (_OtherLayoutError, NotADump, Refused, IndexError, KeyError, OverflowError, TypeError):
        # Whatever is odd, even a limit: the interpreter says so about the file as it is.
        return None


def _decode(data: bytes, limits: Limits) -> Rows:
    starts = _find_starts(data)
    if len(starts) < MIN_ROWS or len(starts) >= limits.entries:
        raise _OtherLayoutError
    prefix = interpret(data[: starts[0]], limits)  # the header and the first entry, which shows the layout
    first = _entries_of(prefix.root)
    if prefix.damage or len(first) != 1:
        raise _OtherLayoutError
    cursors = _Cursors(data, starts)
    cursors.read(first[0])
    is_good = cursors.good()
    cuts = [*starts, len(data)]
    odd = np.flatnonzero(~is_good)
    pieces = [data[: starts[0]], *(data[cuts[i] : cuts[i + 1]] for i in odd.tolist())]
    read = interpret(b"".join(pieces), limits)
    entries = _entries_of(read.root)
    lost = len(odd) + 1 - len(entries)
    if read.damage or lost not in ((0,) if read.complete else (0, 1)):
        raise _OtherLayoutError
    tables = Tables(limits, len(data))
    columns, present = from_entries(entries, tables)
    where = np.append(0, odd + 1)[: len(entries)]
    good = np.flatnonzero(is_good)
    columns = cursors.merge(columns, tables, where, good, read.memo, len(starts) + 1 - lost)
    header = {} if type(read.root) is list else {k: v for k, v in read.root.items() if k != keys.ENTRIES}
    return Rows(read.complete, header, columns, tables, present)


def _find_starts(data: bytes) -> list[int]:
    """Where entries start, but for the first one: after the end of another, with the key that the first one starts with."""
    first = _FIRST.search(data)
    if not first:
        return []
    key = data[first.end() : first.end() + int.from_bytes(first[1], "little")]
    token = _token(data, key)
    if not token:
        return []
    return [m.end() - len(token) - 2 for m in re.finditer(rb"u\}\(" + re.escape(token), data)]


def _token(data: bytes, key: bytes) -> bytes | None:
    """The memo get that stands for a key: its memo number follows its first use."""
    pattern = b"X" + len(key).to_bytes(4, "little") + key
    i = data.find(pattern) + len(pattern)
    if i < len(pattern):
        return None
    return {b"q": b"h" + data[i + 1 : i + 2], b"r": b"j" + data[i + 1 : i + 5]}.get(data[i : i + 1])


def _entries_of(root: Any) -> list[Entry]:
    entries = root if type(root) is list else root.get(keys.ENTRIES) if type(root) is dict else None
    if type(entries) is not list or not all(type(e) is dict for e in entries):
        raise _OtherLayoutError
    return entries


def _lists(raw: bytes, memo: list[Any]) -> list[Any]:
    """The lists in the bytes of several list fields, with the keys between them."""
    root: list[Any] = []
    open_ = [root]
    at = 0
    for m in _PARTS.finditer(raw):
        group, value = m.lastindex or 0, m[m.lastindex or 0]
        if group == 1:
            new: list[Any] = []
            open_[-1].append(new)
            open_.append(new)
        elif group == 2:
            open_.pop()
            if not open_:
                raise _OtherLayoutError
        elif group == 3:
            open_[-1].append(memo[value[0]])
        elif group == 4:
            open_[-1].append(memo[int.from_bytes(value, "little")])
        else:
            open_[-1].append(int.from_bytes(value, "little", signed=group >= 7))
        at += len(m[0])
    if at != len(raw) or len(open_) != 1:
        raise _OtherLayoutError
    return root


class _Cursors:
    """One position per row; each step reads one field of all rows."""

    def __init__(self, data: bytes, starts: list[int]) -> None:
        self.data, self.last = data, len(data)
        padded = data + b"\0" * 32
        self.bytes = np.frombuffer(padded, np.uint8)
        self.u8: npt.NDArray[np.uint64] = np.ndarray((len(padded) - 8,), "<u8", buffer=padded, strides=(1,))
        self.f8: npt.NDArray[np.float64] = np.ndarray((len(padded) - 8,), ">f8", buffer=padded, strides=(1,))
        self.starts = np.array(starts, np.int64)
        self.count = len(starts)
        self.at: Ints = self.starts + 2
        self.ok: Bools = np.ones(self.count, np.bool_)
        self.numbers: dict[str, Column] = {}  # by key
        self.gets: dict[str, Ints] = {}  # by key: memo ids; for the group two of them
        self.spans: dict[str, tuple[Ints, Ints]] = {}  # of "stack" and "signature": begin, end
        self.list_keys: list[str] = []  # the keys inside a signature's span, in order
        self.duration: npt.NDArray[np.float64] = np.full(self.count, np.nan)

    # -- steps

    def _step(self, size: Any) -> None:
        self.at = np.minimum(self.at + size, self.last)

    def _expect(self, token: bytes) -> None:
        self.ok &= self._has(token)
        self._step(len(token))

    def _has(self, token: bytes) -> Bools:
        """Where the next bytes are these, 8 at most."""
        mask = np.uint64((1 << 8 * len(token)) - 1)
        same: Bools = (self.u8[self.at] & mask) == np.uint64(int.from_bytes(token, "little"))
        return same

    def _integer(self) -> Ints:
        at, op = self.at, self.bytes[self.at]
        size = _INT[op]
        long = op == _LONG1
        value: Ints = (self.u8[at + 1 + long] & _MASK[op]).view(np.int64)
        negative = (op == _BININT) & (value > 0x7FFFFFFF)
        if negative.any():
            value = np.where(negative, value - (1 << 32), value)
        none = op == _NONE_OP
        if none.any():
            value, size = np.where(none, NONE, value), np.where(none, 1, size)
        self.ok &= (size > 0) & (~long | (self.bytes[at + 1] == 8))
        self._step(size)
        return value

    def _get(self) -> Ints:
        op = self.bytes[self.at]
        value = np.where(op == 0x68, self.bytes[self.at + 1], self.u8[self.at + 1] & _U32).astype(np.int64)
        size = _GET[op]
        self.ok &= size > 0
        self._step(size)
        return value

    def _boolean(self) -> Bools:
        op = self.bytes[self.at]
        true: Bools = op == 0x88
        self.ok &= true | (op == 0x89)
        self._step(1)
        return true

    def _walk_to(self, stop: bytes) -> None:
        """Over integers, memo gets and lists to the token ``stop``."""
        live, at = np.arange(self.count), self.at.copy()
        want, mask = np.uint64(int.from_bytes(stop, "little")), np.uint64((1 << 8 * len(stop)) - 1)
        while len(live):
            x = at[live]
            end = (self.u8[x] & mask) == want
            size = _WALK[self.bytes[x]]
            bad = (size == 0) | (x >= self.last)
            self.ok[live[bad & ~end]] = False
            go = ~(end | bad)
            live = live[go]
            at[live] = x[go] + size[go]
        self.at = np.minimum(at, self.last)

    def _maybe_float(self, token: bytes) -> None:
        has = self._has(token + b"G")
        size = len(token) + 1
        self.duration[has] = self.f8[self.at[has] + size]
        self._step(np.where(has, size + 8, 0))

    # -- all fields

    def read(self, example: Entry) -> None:
        """All fields, in the order and of the kinds of an example entry."""
        tokens: dict[str, bytes] = {}
        for key in example:
            token = _token(self.data, key.encode()) if type(key) is str else None
            if not token:
                raise _OtherLayoutError
            tokens[key] = token
        optional = None if keys.DURATION in example else _token(self.data, keys.DURATION.encode())
        order = list(example)
        i = 0
        while i < len(order):
            key = order[i]
            if optional and i and order[i - 1] == "time_created_ns":
                self._maybe_float(optional)
                optional = None
            if key == keys.DURATION:
                self._maybe_float(tokens[key])
            elif key in keys.LISTS:
                self._expect(tokens[key])
                begin = self.at
                self.list_keys = [key]
                while i + 1 < len(order) and order[i + 1] in keys.LISTS:
                    i += 1
                    self.list_keys.append(order[i])
                if i + 1 == len(order) or "signature" in self.spans:
                    raise _OtherLayoutError
                self._walk_to(tokens[order[i + 1]])
                self.spans["signature"] = begin, self.at
            else:
                self._expect(tokens[key])
                self._field(key, example[key])
            i += 1
        self._expect(b"u")

    def _field(self, key: str, value: Any) -> None:
        if key == keys.FRAMES:
            self._expect(b"](")
            begin = self.at
            while (size := _GET[self.bytes[self.at]]).any():
                self._step(size)
            self.spans["stack"] = begin, self.at
            self._expect(b"e")
        elif key == keys.GROUP:
            name, desc = self._get(), self._get()
            self.gets[key] = name << 32 | desc
            self._expect(b"\x86")
        elif key in keys.STRINGS:
            self.gets[key] = self._get()
        elif key in keys.BOOLS:
            self.numbers[key] = self._boolean()
        elif key in keys.INTS:
            self.numbers[key] = self._integer()
        elif type(value) is str:  # a key of a later version: read over it
            self._get()
        elif type(value) is bool:
            self._boolean()
        elif type(value) is int or value is None:
            self._integer()
        else:
            raise _OtherLayoutError

    def good(self) -> Bools:
        """The rows that were read to their very end."""
        good: Bools = self.ok & (self.at == np.append(self.starts[1:], -1))
        return good

    # -- joining with the rows that were interpreted

    def merge(
        self, columns: dict[str, Column], tables: Tables, where: Ints, good: Ints, memo: list[Any], total: int
    ) -> dict[str, Column]:
        parts: dict[str, Any] = {"duration_ms": self.duration[good], **self._ids(tables, good, memo)}
        for key, (name, factor) in keys.INTS.items():
            if key in self.numbers:
                values = scaled(self.numbers[key][good], name, factor)
                parts[name] = first_of(parts[name], values) if name in parts else values
        for name in INT_COLUMNS:
            parts.setdefault(name, NONE)
        for name in keys.BOOLS:
            parts[name] = self.numbers[name][good] if name in self.numbers else False
        result = {}
        for name, values in columns.items():
            out = np.empty(total, values.dtype)
            out[where] = values
            out[good + 1] = parts[name]
            result[name] = out
        return result

    def _ids(self, tables: Tables, good: Ints, memo: list[Any]) -> dict[str, Any]:
        def text(i: int) -> str:
            value = memo[i]
            if type(value) is not str:
                raise _OtherLayoutError
            return value

        def table(codes: Ints, dtype: type, to_id: Any) -> Column:
            distinct, inverse = np.unique(codes, return_inverse=True)
            return np.array([to_id(c) for c in distinct.tolist()], dtype)[inverse]

        def strings(key: str, dtype: type, to_id: Any) -> Any:
            if key not in self.gets:
                return to_id(None)
            return table(self.gets[key][good], dtype, lambda c: to_id(text(c)))

        ids: dict[str, Any] = {
            "op": strings("profiling_name", np.uint32, tables.op),
            "state": strings("state", np.uint8, state_code),
            "signature": self._span_ids("signature", good, lambda raw: self._signature(raw, tables, memo)),
            "stack": self._span_ids("stack", good, lambda raw: tables.stack(_lists(b"](" + raw + b"e", memo)[0])),
        }
        if keys.GROUP in self.gets:
            ids["label"] = table(
                self.gets[keys.GROUP][good], np.uint32, lambda c: tables.label((text(c >> 32), text(c & 0xFFFFFFFF)))
            )
        elif "pg_id" in self.numbers:
            ids["label"] = table(self.numbers["pg_id"][good], np.uint32, lambda c: tables.label(None, None if c == NONE else c))
        else:
            ids["label"] = tables.label(None)
        thread = [self.gets[k][good] if k in self.gets else np.full(len(good), -1) for k in ("thread_id", "thread_name")]
        ids["thread"] = table(
            (thread[0] + 1) << 32 | (thread[1] + 1),
            np.uint32,
            lambda c: tables.thread(*(text(i - 1) if i else None for i in (c >> 32, c & 0xFFFFFFFF))),
        )
        return ids

    def _span_ids(self, name: str, good: Ints, to_id: Any) -> Any:
        begin, end = self.spans.get(name, (None, None))
        if begin is None or end is None:
            return 0 if name == "stack" else to_id(None)
        seen, data = Table(), self.data
        inverse = [seen[data[x:y]] for x, y in zip(begin[good].tolist(), end[good].tolist(), strict=True)]
        return np.array([to_id(raw) for raw in seen], np.uint32)[inverse]

    def _signature(self, raw: bytes | None, tables: Tables, memo: list[Any]) -> int:
        lists: dict[str, Any] = {}
        if raw is not None:
            parts = _lists(raw, memo)
            if parts[1::2] != self.list_keys[1:] or len(parts) != 2 * len(self.list_keys) - 1:
                raise _OtherLayoutError
            lists = dict(zip(self.list_keys, parts[::2], strict=True))
        return tables.signature(*(lists.get(k) for k in keys.LISTS))
