"""Byte strings at many places of one buffer -> ids of the distinct ones, without making an object of each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

#: Longer ones go through a dictionary: they are few, or hashing them is most of the work anyway.
_SHORT = 160
#: The low 0 to 8 bytes of a word.
_LOW = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


class SpanTable(dict[bytes, int]):
    """Bytes -> id, in the order of first use; ``distinct`` are the bytes by id."""

    def __init__(self, before: Iterable[bytes] = ()) -> None:
        self.distinct: list[bytes] = list(before)
        self.update(zip(self.distinct, count()))

    def __missing__(self, key: bytes) -> int:
        n = self[key] = len(self)
        self.distinct.append(key)
        return n


@dataclass(frozen=True, slots=True)
class Span:
    """A list field of all rows: ``ids`` of the rows into ``values``, its distinct bytes; ``ends`` in the data."""

    ids: Ints
    values: list[bytes]
    ends: Ints


def find_all(buffer: npt.NDArray[np.uint8], token: bytes, rare: int) -> Ints:
    """All places of a token. ``rare`` is the index of a byte in it that is rare in the buffer."""
    places = np.flatnonzero(buffer[rare : len(buffer) - len(token) + rare] == token[rare])
    for i, byte in enumerate(token):
        if i != rare:
            places = places[buffer.take(places + i) == byte]
    return places


def intern(data: bytes, words: Words, begins: Ints, ends: Ints, table: SpanTable) -> Ints:
    """Ids in ``table`` of the bytes from begins to ends. ``words[i]`` are the eight bytes at i, little-endian."""
    lengths = ends - begins
    long = lengths > _SHORT
    if not long.any():
        return _intern_short(data, words, begins, lengths, table)
    ids = np.empty(len(begins), np.int64)
    ids[long] = [table[data[x:y]] for x, y in zip(begins[long].tolist(), ends[long].tolist(), strict=True)]
    short = ~long
    ids[short] = _intern_short(data, words, begins[short], lengths[short], table)
    return ids


def _intern_short(data: bytes, words: Words, begins: Ints, lengths: Ints, table: SpanTable) -> Ints:
    """Group by a 64-bit hash, then compare every member with the first one of its group: exact, whatever the bytes."""
    if not len(begins):
        return np.empty(0, np.int64)
    shortest, longest = int(lengths.min()), int(lengths.max())
    code: Words = lengths.astype(np.uint64)
    columns: list[Words] = []
    for offset in range(0, longest, 8):
        word: Words = words[begins + offset]
        if offset + 8 > shortest:
            word &= _LOW.take(lengths - offset, mode="clip")
        columns.append(word)
        code = (code ^ word) * _FACTOR
        code ^= code >> _SHIFT
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    of_first = first[inverse]
    same = lengths.take(of_first) == lengths
    for word in columns:
        same &= word.take(of_first) == word
    if not same.all():
        pairs = zip(begins.tolist(), lengths.tolist(), strict=True)
        return np.array([table[data[x : x + n]] for x, n in pairs], np.int64)
    pairs = zip(begins[first].tolist(), lengths[first].tolist(), strict=True)
    ids: Ints = np.array([table[data[x : x + n]] for x, n in pairs], np.int64)[inverse]
    return ids
