"""Rows of a log from any offset, forwards and backwards, without reading what lies before.

A row is a line, or a piece of a line that is longer than a terminal will ever show. Where a long line is cut must not depend on
where reading began: it is cut at every multiple of ``UNIT`` bytes whose unit before it holds no line's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hangview.logs.lines import clean
from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hangview.tui.log.data import LogData

#: Half of the longest row: a row is shorter than the longest text that ``hangview.logs.lines.clean`` gives.
UNIT = 1 << 13
_UNITS_KEPT = 4096
#: How far from a line of known number others are counted.
NEAR = 1 << 20
#: Bytes that rows of one stretch may hold in all, however long they are.
MOST_BYTES = 1 << 20
#: A tab in a log; terminals that the log was written to had wider ones, but room is dear.
_TAB = 4


class Row(NamedTuple):
    """One row. ``number`` is its line's, None where nobody knows it. Of a line with carriage returns each part is a row."""

    offset: int
    end: int  #: offset of what follows
    part: int  #: of the parts of the bytes from ``offset`` to ``end``
    number: int | None
    first: bool  #: the line begins here
    text: str

    @property
    def key(self) -> tuple[int, int]:
        return self.offset, self.part


class Stretch(NamedTuple):
    """Rows that follow each other; ``low`` and ``high`` are the offsets up to which was read, with their lines' numbers."""

    rows: tuple[Row, ...]
    low: int
    high: int
    low_number: int | None
    high_number: int | None

    def joined(self, below: Stretch) -> Stretch:
        return Stretch((*self.rows, *below.rows), self.low, below.high, self.low_number, below.high_number)


class Pages:
    """Rows of an open log. ``stopped`` is asked for every piece that is read; then what was read so far is what there is."""

    def __init__(self, data: LogData, stopped: Callable[[], bool], keep: Callable[[bytes], bool] | None = None) -> None:
        """``keep`` tells from a row's bytes whether it is shown."""
        self._data = data
        self._stopped = stopped
        self._keep = keep
        self._units: dict[int, tuple[int, ...]] = {}

    def starts(self, unit: int) -> tuple[int, ...]:
        """Offsets at which rows start, of one unit of the file."""
        known = self._units.get(unit)
        if known is None:
            known = tuple(self._find_starts(unit))
            if len(self._units) >= _UNITS_KEPT:
                self._units.clear()
            self._units[unit] = known
        return known

    def _find_starts(self, unit: int) -> Iterator[int]:
        base = unit * UNIT
        data = self._data.read(base, UNIT)
        if not data:
            return
        before = self._data.read(base - UNIT, UNIT) if unit else b"\n"
        if before.endswith(b"\n") or b"\n" not in before:
            yield base
        at = data.find(b"\n")
        while 0 <= at < len(data) - 1:
            yield base + at + 1
            at = data.find(b"\n", at + 1)

    def row_start(self, offset: int) -> int:
        """Where the row that holds this byte starts; 0 in an empty file."""
        unit = max(0, min(offset, self._data.size - 1)) // UNIT
        for back in (unit, unit - 1, unit - 2):
            found = [start for start in self.starts(back) if start <= offset] if back >= 0 else []
            if found:
                return found[-1]
        return 0

    def number_at(self, offset: int, anchors: Sequence[tuple[int, int]]) -> int | None:
        """The number of the line at ``offset``, counted from the nearest line of known number; None when none is near."""
        anchor, number = min(anchors, key=lambda each: abs(each[0] - offset), default=(offset + 2 * NEAR, 0))
        if abs(anchor - offset) > NEAR:
            return None
        between = self._data.read(min(anchor, offset), abs(anchor - offset)).count(b"\n")
        return number + between if anchor < offset else number - between

    def after(self, offset: int, number: int | None, most: int) -> Stretch:
        """At least ``most`` rows from the start of a row on, fewer at the end of the file."""
        rows: list[Row] = []
        low, low_number, used = offset, number, 0
        for start, end in self._forwards(offset):
            data = self._data.read(start, end - start)
            if self._keep is None or self._keep(data):
                rows.extend(self._rows(start, end, number, data))
                used += end - start
            number = number + 1 if number is not None and data.endswith(b"\n") else number
            offset = end
            if len(rows) >= most or used >= MOST_BYTES or self._stopped():
                break
        return Stretch(tuple(rows), low, offset, low_number, number)

    def before(self, offset: int, number: int | None, most: int) -> Stretch:
        """At least ``most`` rows that end where a row starts, fewer at the start of the file."""
        groups: list[list[Row]] = []
        high, high_number, used, got = offset, number, 0, 0
        for start, end in self._backwards(offset):
            data = self._data.read(start, end - start)
            number = number - 1 if number is not None and data.endswith(b"\n") else number
            if self._keep is None or self._keep(data):
                groups.append(self._rows(start, end, number, data))
                used += end - start
                got += len(groups[-1])
            offset = start
            if got >= most or used >= MOST_BYTES or self._stopped():
                break
        return Stretch(tuple(row for group in reversed(groups) for row in group), offset, high, number, high_number)

    def _forwards(self, begin: int) -> Iterator[tuple[int, int]]:
        size, unit = self._data.size, begin // UNIT
        while unit * UNIT < size:
            for start in self.starts(unit):
                if start > begin:
                    yield begin, start
                    begin = start
            unit += 1
        if begin < size:
            yield begin, size

    def _backwards(self, end: int) -> Iterator[tuple[int, int]]:
        unit = (end - 1) // UNIT
        while end > 0 and unit >= 0:
            for start in reversed(self.starts(unit)):
                if start < end:
                    yield start, end
                    end = start
            unit -= 1

    def _rows(self, start: int, end: int, number: int | None, data: bytes) -> list[Row]:
        first = start == 0 or self._data.read(start - 1, 1) == b"\n"
        texts = clean(data.removesuffix(b"\n")) or [""]
        return [
            Row(start, end, part, number, first and part == 0, escape(text.expandtabs(_TAB))) for part, text in enumerate(texts)
        ]
