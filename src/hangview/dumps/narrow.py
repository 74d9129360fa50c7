"""Columns of a dump in as few bytes as their values need: a third of what they are in memory.

A thousand dumps wait side by side, in the worker's message and in this process, until the frame is made of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hangview.dumps.decoded import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Part(NamedTuple):
    """One column: ``codes`` are its values less ``least``, and their type's largest value is NONE where ``holes``.

    Of a column of one value there are no codes: ``least`` is that value. Where ``least`` is None the codes are the values.
    """

    kind: str
    codes: Array | None
    least: Any
    holes: bool


class Narrow(Mapping[str, "Array"]):
    """Columns by name, made anew whenever they are asked for."""

    __slots__ = ("_count", "_parts")

    def __init__(self, parts: Mapping[str, Part], count: int) -> None:
        self._parts, self._count = parts, count

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, name: str) -> Array:
        out = np.empty(self._count, self._parts[name].kind)
        self.put(name, out)
        return out

    def __getstate__(self) -> tuple[int, list[tuple[str, str, str, Any, bool]], bytes]:
        """One string of bytes for all codes: a thousand dumps have eighteen columns each."""
        told = [
            (name, p.kind, "" if p.codes is None else p.codes.dtype.str, p.least, p.holes) for name, p in self._parts.items()
        ]
        return self._count, told, b"".join(p.codes.tobytes() for p in self._parts.values() if p.codes is not None)

    def __setstate__(self, state: tuple[int, list[tuple[str, str, str, Any, bool]], bytes]) -> None:
        self._count, told, data = state
        self._parts = {}
        at = 0
        for name, kind, code, least, holes in told:
            codes = np.frombuffer(data, code, self._count, at) if code else None
            self._parts[name] = Part(kind, codes, least, holes)
            at += 0 if codes is None else codes.nbytes

    def put(self, name: str, out: Array) -> None:
        """Write a column into an array of its length."""
        part = self._parts[name]
        if part.codes is None:
            out[...] = part.least
            return
        out[...] = part.codes
        if part.least is None:
            return
        out += out.dtype.type(part.least)
        if part.holes:
            out[part.codes == np.iinfo(part.codes.dtype).max] = NONE


def narrow(columns: Mapping[str, Array], count: int) -> Narrow:
    """The same columns, narrow."""
    return Narrow({name: part_of(column) for name, column in columns.items()}, count)


def put(columns: Mapping[str, Array], name: str, out: Array) -> None:
    """Write a column into an array of its length."""
    if isinstance(columns, Narrow):
        columns.put(name, out)
    else:
        out[...] = columns[name]


def cut(parts: Mapping[str, Part], at: int, count: int) -> Narrow:
    """The columns of one dump out of those of many, from row ``at`` on."""
    return Narrow({n: p if p.codes is None else p._replace(codes=p.codes[at : at + count]) for n, p in parts.items()}, count)


def part_of(column: Array) -> Part:
    """A column as narrow as it can be."""
    kind = column.dtype.str
    if not len(column):
        return Part(kind, column, None, holes=False)
    if column.dtype.kind == "f":
        empty = bool(np.isnan(column).all())
        return Part(kind, None, float("nan"), holes=False) if empty else Part(kind, column, None, holes=False)
    least, most = column.min().item(), column.max().item()
    if least == most:
        return Part(kind, None, least, holes=False)
    if column.dtype.kind == "b":
        return Part(kind, column, None, holes=False)
    holes = least == NONE  # the least number there is
    if holes:
        absent = column == NONE
        least = column.min(where=~absent, initial=most).item()
    for code in ("<u1", "<u2", "<u4"):
        if most - least < np.iinfo(code).max:
            codes = np.empty(len(column), code)
            np.subtract(column, column.dtype.type(least), out=codes, casting="unsafe")  # no copy of its own width
            if holes:
                codes[absent] = np.iinfo(code).max
            return Part(kind, codes, least, holes)
    return Part(kind, column, None, holes=False)
