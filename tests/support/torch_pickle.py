"""Writes dumps with the bytes that torch writes: an imitation of ``torch::jit::Pickler`` for the values of a dump.

Its habits, checked against files of torch 2.13 and 2.15: protocol 2; strings are memoised at their first use, by value; every
container has a MARK and its items at once, empty ones too; of the containers only the root and the frames that occur more than
once are memoised, behind their items; integers are BININT1, BININT2, BININT or LONG1 of eight bytes; memo ids above 255 take
LONG_BINPUT and LONG_BINGET.
"""

from __future__ import annotations

import struct
from typing import Any


def dump_bytes(top: Any) -> bytes:
    """The file for a dump's dictionary (or list: torch 2.2). Equal frames must be one object, as the recorder shares them."""
    pickler = _Pickler(_shared(top))
    pickler.write(top)
    return bytes(pickler.out + b".")


def _shared(top: Any) -> set[int]:
    """ids of the dictionaries that occur more than once, and of the root."""
    seen: set[int] = set()
    shared = {id(top)}
    todo = [top]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            if id(value) in seen:
                shared.add(id(value))
                continue
            seen.add(id(value))
            todo.extend(value.values())
        elif isinstance(value, (list, tuple)):
            todo.extend(value)
    return shared


class _Pickler:
    def __init__(self, shared: set[int]) -> None:
        self.out = bytearray(b"\x80\x02")
        self._shared = shared
        self._gets: dict[Any, bytes] = {}  # text, or id of a dictionary -> how to refer to it

    def write(self, value: Any) -> None:
        out = self.out
        if isinstance(value, str):
            if value in self._gets:
                out += self._gets[value]
                return
            raw = value.encode()
            out += b"X" + struct.pack("<I", len(raw)) + raw
            self._put(value)
        elif value is None:
            out += b"N"
        elif isinstance(value, bool):
            out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            out += _integer(value)
        elif isinstance(value, float):
            out += b"G" + struct.pack(">d", value)
        elif isinstance(value, dict):
            if id(value) in self._gets:
                out += self._gets[id(value)]
                return
            out += b"}("
            for key, item in value.items():
                self.write(key)
                self.write(item)
            out += b"u"
            if id(value) in self._shared:
                self._put(id(value))
        elif isinstance(value, list):
            out += b"]("
            for item in value:
                self.write(item)
            out += b"e"
        elif isinstance(value, tuple) and len(value) == 2:
            self.write(value[0])
            self.write(value[1])
            out += b"\x86"
        else:
            raise TypeError(f"torch's recorder writes no {type(value).__name__}")

    def _put(self, key: Any) -> None:
        n = len(self._gets)
        self.out += b"q" + bytes((n,)) if n < 256 else b"r" + struct.pack("<I", n)
        self._gets[key] = b"h" + bytes((n,)) if n < 256 else b"j" + struct.pack("<I", n)


def _integer(value: int) -> bytes:
    if 0 <= value <= 0xFF:
        return b"K" + bytes((value,))
    if 0 <= value <= 0xFFFF:
        return b"M" + struct.pack("<H", value)
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)
