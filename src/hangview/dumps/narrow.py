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


class _Part(NamedTuple):
    """One column: ``values`` as type ``code`` from byte ``start`` on, each less ``least``; its largest code is NONE where
    ``holes``. A column of one value has no bytes at all (``code`` is empty) and ``least`` is that value."""

    kind: str
    code: str
    start: int
    least: Any
    holes: bool


class Narrow(Mapping[str, "Array"]):
    """Columns by name, made anew whenever they are asked for."""

    __slots__ = ("_count", "_data", "_parts")

    def __init__(self, columns: Mapping[str, Array], count: int) -> None:
        self._count = count
        self._parts: dict[str, _Part] = {}
        pieces: list[bytes] = []
        at = 0
        for name, column in columns.items():
            kind = column.dtype.str
            least, code, codes, holes = _code(column)
            self._parts[name] = _Part(kind, code, at, least, holes)
            if codes is not None:
                pieces.append(codes.tobytes())
                at += len(pieces[-1])
        self._data = b"".join(pieces)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, name: str) -> Array:
        out = np.empty(self._count, self._parts[name].kind)
        self.put(name, out)
        return out

    def put(self, name: str, out: Array) -> None:
        """Write a column into an array of its length."""
        part = self._parts[name]
        if not part.code:
            out[...] = part.least
            return
        codes = np.frombuffer(self._data, part.code, self._count, part.start)
        out[...] = codes
        if part.least is None:
            return
        out += out.dtype.type(part.least)
        if part.holes:
            out[codes == np.iinfo(codes.dtype).max] = NONE


def put(columns: Mapping[str, Array], name: str, out: Array) -> None:
    """Write a column into an array of its length."""
    if isinstance(columns, Narrow):
        columns.put(name, out)
    else:
        out[...] = columns[name]


def _code(column: Array) -> tuple[Any, str, Array | None, bool]:
    """A column's least value, the type of its codes, the codes (None: one value only), and whether some are NONE."""
    if len(column) and (column == column[0]).all():
        return column[0].item(), "", None, False
    if column.dtype.kind == "f":
        if np.isnan(column).all() and len(column):
            return float("nan"), "", None, False
        return None, column.dtype.str, column, False
    if column.dtype.kind == "b" or not len(column):
        return None, column.dtype.str, column, False
    holes = False
    known = column
    if column.dtype == np.int64:
        absent = column == NONE
        holes = bool(absent.any())
        known = column[~absent] if holes else column
    least, most = int(known.min()), int(known.max())
    for code in ("<u1", "<u2", "<u4"):
        if most - least < np.iinfo(code).max:
            codes = (column - column.dtype.type(least)).astype(code)
            if holes:
                codes[absent] = np.iinfo(code).max
            return least, code, codes, holes
    return None, column.dtype.str, column, False
