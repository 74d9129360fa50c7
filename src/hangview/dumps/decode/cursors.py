"""One position in every row of a dump at once; each step reads one field of many rows with a few numpy calls.

A step never raises on odd bytes: it clears ``ok`` of the rows that do not fit and walks on. A row fits only if it was read to
its very end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hangview.dumps.decode import keys
from hangview.dumps.decode.spans import Ints, Span, SpanTable, Words, find_all, intern
from hangview.dumps.decoded import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

Bools = npt.NDArray[np.bool_]


class OtherLayoutError(Exception):
    """The dump is to be interpreted as a whole."""


class Layout(NamedTuple):
    """The keys of a row in their order, the types of an example's values, and the memo gets of the keys."""

    keys: tuple[Any, ...]
    types: tuple[type, ...]
    tokens: dict[Any, bytes]


def layout_of(example: Mapping[Any, Any], tokens: dict[Any, bytes]) -> Layout:
    return Layout(tuple(example), tuple(map(type, example.values())), tokens)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of all rows; where a row does not fit, anything.

    ``gets`` are memo ids; of the group two of them in one number.
    """

    fits: Bools
    numbers: dict[str, npt.NDArray[Any]]
    gets: dict[str, Ints]
    duration: npt.NDArray[np.float64]
    frames: Span | None
    lists: Span | None
    list_keys: list[str]  #: the keys whose values are in ``lists``, in order
    places: dict[Any, Ints]  #: where the integers' opcodes are, also of those that are not in ``numbers``
    floats_at: Ints  #: where the bytes of the durations are; -1 where there is none


_K, _BININT, _LONG1, _NONE_OP, _BINGET, _LONG_BINGET = 0x4B, 0x4A, 0x8A, 0x4E, 0x68, 0x6A
_TRUE, _FALSE = 0x88, 0x89
# Token sizes by opcode, and which bits of the next eight bytes are an integer's.
_GET_SIZE = np.zeros(256, np.int64)
_GET_SIZE[[_BINGET, _LONG_BINGET]] = 2, 5
_INT_SIZE = np.zeros(256, np.int64)
_INT_SIZE[[_K, 0x4D, _BININT, _LONG1, _NONE_OP]] = 2, 3, 5, 10, 1
_INT_MASK = np.zeros(256, np.uint64)
_INT_MASK[[_K, 0x4D, _BININT, _LONG1]] = 0xFF, 0xFFFF, 0xFFFFFFFF, 2**64 - 1
_U32 = np.uint64(0xFFFFFFFF)

#: The bytes of list fields: lists, memo gets, integers. No token is the start of another one, so there is one reading at most.
_LIST_TOKENS = re.compile(rb"(?:\]\(|e|h.|j....|K.|M..|J....|\x8a\x08.{8})*+", re.S)
#: How often the token that ends list fields may turn up inside a number before the row is given up.
_FALSE_ENDS = 8
#: More than any field but a list takes, with its key.
_FIELD_BYTES = 16
#: For so many rows the next place of a token is sought row by row, and not for the whole buffer.
_FEW = 200
#: Rows at a time: enough that numpy's calls cost little, few enough that their columns stay in the processor's cache.
_BLOCK = 4096


class Buffer:
    """The bytes of a dump, seen as bytes, as words and as floats at every byte.

    Behind them is room for a row of so many ``fields``, which a reader may look for in vain.
    """

    def __init__(self, data: bytes, fields: int) -> None:
        padded = data + b"\0" * (_FIELD_BYTES * (fields + 4) + 8)
        self.data, self.size = data, len(data)
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(padded, np.uint8)
        self.words: Words = np.ndarray((len(padded) - 8,), "<u8", buffer=padded, strides=(1,))
        self.floats: npt.NDArray[np.float64] = np.ndarray((len(padded) - 8,), ">f8", buffer=padded, strides=(1,))


class Number(NamedTuple):
    """The integers of one field, in some rows."""

    at: Ints  #: where their values are
    mask: Words  #: which of the eight bytes there are theirs
    four: Bools  #: those of four bytes, of which the highest bit is a sign
    none: Bools  #: those that are None


def number_at(buffer: Buffer, at: Ints) -> Number:
    """What is at the places of some integers' opcodes."""
    op = buffer.bytes.take(at)
    return Number(at + 1 + (op == _LONG1), _INT_MASK.take(op), op == _BININT, op == _NONE_OP)


def read_numbers(buffer: Buffer, number: Number) -> Ints:
    """The values; NONE for None."""
    value: Ints = (buffer.words[number.at] & number.mask).view(np.int64)
    if number.four.any():
        value = np.where(number.four & (value > 0x7FFFFFFF), value - (1 << 32), value)
    return np.where(number.none, NONE, value) if number.none.any() else value


def read_fields(buffer: Buffer, starts: Ints, ends: Ints, layout: Layout, before: Fields | None = None) -> Fields:
    """All fields of the rows between starts and ends, in the order and of the kinds of a layout.

    The values of ``before``'s spans keep their ids. Raises OtherLayoutError if the layout has a field that is not understood.
    """
    tables = {name: _ListField(getattr(before, name, None)) for name in ("frames", "lists")}
    blocks = []
    for i in range(0, len(starts), _BLOCK):
        block = _Block(buffer, starts[i : i + _BLOCK], ends[i : i + _BLOCK], tables)
        block.read(layout)
        blocks.append(block)

    def span(name: str) -> Span | None:
        if name not in blocks[0].spans:
            return None
        ids, stops = (np.concatenate([b.spans[name][i] for b in blocks]) for i in (0, 1))
        return Span(ids, tables[name].table.distinct, stops)

    return Fields(
        np.concatenate([b.at_end() for b in blocks]),
        {k: np.concatenate([b.numbers[k] for b in blocks]) for k in blocks[0].numbers},
        {k: np.concatenate([b.gets[k] for b in blocks]) for k in blocks[0].gets},
        np.concatenate([b.duration for b in blocks]),
        span("frames"),
        span("lists"),
        blocks[0].list_keys,
        {k: np.concatenate([b.places[k] for b in blocks]) for k in blocks[0].places},
        np.concatenate([b.floats_at for b in blocks]),
    )


class _ListField:
    """What is known of one list field: the places of the token that ends it, and its distinct values."""

    def __init__(self, before: Span | None) -> None:
        self.table = SpanTable(before.values if before else ())
        self.places: Ints | None = None
        self.checked = 0  # how many of the values were looked at
        self.bad: list[int] = []  # ids of values that are not made of list tokens


class _Block:
    """Some rows."""

    def __init__(self, buffer: Buffer, starts: Ints, ends: Ints, tables: dict[str, _ListField]) -> None:
        self.buffer, self.starts, self.ends, self.tables = buffer, starts, ends, tables
        self.ok: Bools = np.ones(len(starts), np.bool_)
        self.numbers: dict[str, npt.NDArray[Any]] = {}
        self.gets: dict[str, Ints] = {}
        self.places: dict[Any, Ints] = {}
        self.duration: npt.NDArray[np.float64] = np.full(len(starts), np.nan)
        self.floats_at: Ints = np.full(len(starts), -1)
        self.spans: dict[str, tuple[Ints, Ints]] = {}
        self.list_keys: list[str] = []
        self._bytes, self._words = buffer.bytes, buffer.words
        self._at: Ints = starts + 2  # behind the dictionary and its mark

    def at_end(self) -> Bools:
        """The rows that were read to their very end."""
        whole: Bools = self.ok & (self._at == self.ends)
        return whole

    def read(self, layout: Layout) -> None:
        order, types, tokens = layout
        optional = None if keys.DURATION in order else tokens.get(keys.DURATION)
        i = 0
        while i < len(order):
            key = order[i]
            if optional and i and order[i - 1] == "time_created_ns":
                self._maybe_float(optional)
            if key == keys.DURATION:
                self._maybe_float(tokens[key])
            else:
                self._expect(tokens[key])
                if key in keys.LISTS:
                    if self.list_keys:
                        raise OtherLayoutError
                    self.list_keys.append(key)
                    while i + 1 < len(order) and order[i + 1] in keys.LISTS:
                        i += 1
                        self.list_keys.append(order[i])
                    self._span("lists", tokens[order[i + 1]] if i + 1 < len(order) else b"u")
                elif key == keys.FRAMES:
                    self._expect(b"](")
                    self._span("frames", b"e" + (tokens[order[i + 1]] if i + 1 < len(order) else b"u"))
                    self._at = self._at + 1
                else:
                    self._field(key, types[i])
            i += 1
        self._expect(b"u")

    # -- steps

    def _field(self, key: str, kind: type) -> None:
        if key == keys.GROUP:
            name, desc = self._get(), self._get()
            self.gets[key] = name << 32 | desc
            self._expect(b"\x86")
        elif key in keys.STRINGS:
            self.gets[key] = self._get()
        elif key in keys.BOOLS:
            self.numbers[key] = self._boolean()
        elif key in keys.INTS:
            self.numbers[key] = self._integer(key)
        elif kind is str:  # a key of a later version: read over it
            self._get()
        elif kind is bool:
            self._boolean()
        elif kind in (int, type(None)):
            self._integer(key)
        else:
            raise OtherLayoutError

    def _expect(self, token: bytes) -> None:
        at = self._at
        if len(token) > 2:
            self.ok &= self._has(token)
        else:
            for i, byte in enumerate(token):
                self.ok &= self._bytes.take(at + i if i else at) == byte
        self._at = at + len(token)

    def _has(self, token: bytes) -> Bools:
        """Where the next bytes are these, 8 at most."""
        mask = np.uint64((1 << 8 * len(token)) - 1)
        same: Bools = (self._words[self._at] & mask) == np.uint64(int.from_bytes(token, "little"))
        return same

    def _integer(self, key: Any) -> Ints:
        at = self.places[key] = self._at
        op = self._bytes.take(at)
        if op[0] == _K and (op == _K).all():  # most fields are alike in all rows
            value: Ints = self._bytes.take(at + 1).astype(np.int64)
            self._at = at + 2
            return value
        number = number_at(self.buffer, at)
        long = op == _LONG1
        if long.any():
            self.ok &= ~long | (self._bytes.take(at + 1) == 8)
        size = _INT_SIZE.take(op)
        self.ok &= size > 0
        self._at = at + size
        return read_numbers(self.buffer, number)

    def _get(self) -> Ints:
        at = self._at
        op = self._bytes.take(at)
        value: Ints = self._bytes.take(at + 1).astype(np.int64)
        if op[0] == _BINGET and (op == _BINGET).all():
            self._at = at + 2
            return value
        value = np.where(op == _BINGET, value, (self._words[at + 1] & _U32).view(np.int64))
        size = _GET_SIZE.take(op)
        self.ok &= size > 0
        self._at = at + size
        return value

    def _boolean(self) -> Bools:
        op = self._bytes.take(self._at)
        true: Bools = op == _TRUE
        self.ok &= true | (op == _FALSE)
        self._at = self._at + 1
        return true

    def _maybe_float(self, token: bytes) -> None:
        has = self._has(token + b"G")
        size = len(token) + 1
        self.floats_at = np.where(has, self._at + size, -1)
        self.duration[has] = self.buffer.floats[self.floats_at[has]]
        self._at = self._at + np.where(has, size + 8, 0)

    def _span(self, name: str, stop: bytes) -> None:
        """The bytes up to the token ``stop``, which stays unread."""
        known, begins = self.tables[name], self._at
        ends = self._next(known, stop)
        missing = ends >= self.ends
        if missing.any():
            self.ok &= ~missing
            ends = np.where(missing, begins, ends)
        ids = intern(self.buffer.data, self._words, begins, ends, known.table)
        if name == "lists":
            self._move_false_ends(known, stop, ids, ends)
        self._at = ends
        self.spans[name] = ids, ends

    def _next(self, known: _ListField, stop: bytes) -> Ints:
        """Where ``stop`` is next; at the row's end or behind it where it is not in the row."""
        begins, ends = self._at, self.ends
        if len(begins) <= _FEW:
            data = self.buffer.data
            found = np.array([data.find(stop, begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)])
            return np.where(found < 0, ends, found)
        if known.places is None:
            rare = min(len(stop) - 1, 1 + (stop[0] == 0x65))  # the number of the memo get, not its opcode
            known.places = np.append(find_all(self._bytes[: self.buffer.size], stop, rare), self.buffer.size)
        result: Ints = known.places.take(np.searchsorted(known.places, begins), mode="clip")
        return result

    def _move_false_ends(self, known: _ListField, stop: bytes, ids: Ints, ends: Ints) -> None:
        """Where ``stop`` lies inside a number, look further."""
        values = known.table.distinct
        known.bad += [i for i in range(known.checked, len(values)) if not _LIST_TOKENS.fullmatch(values[i])]
        known.checked = len(values)
        if not known.bad:
            return
        data = self.buffer.data
        for row in np.flatnonzero(np.isin(ids, known.bad)).tolist():
            begin, end, limit = int(self._at[row]), int(ends[row]), int(self.ends[row])
            for _ in range(_FALSE_ENDS):
                end = data.find(stop, end + 1, limit)
                if end < 0:
                    break
                if _LIST_TOKENS.fullmatch(data, begin, end):
                    ids[row], ends[row] = known.table[data[begin:end]], end
                    break
            else:
                end = -1
            self.ok[row] &= end >= 0
        known.checked = len(values)  # what was just added is made of list tokens
