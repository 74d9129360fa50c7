"""Searching a log of any size, a chunk at a time, forwards and backwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hangview.logs.lines import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hangview.tui.log.data import LogData

CHUNK = 1 << 20


class Hit(NamedTuple):
    """``offset`` of what was found (of its line where colours stand in between); ``lines`` end between it and the start."""

    offset: int
    lines: int


class Needle:
    """What was typed; small letters stand for capitals too, as long as no capital was typed."""

    def __init__(self, typed: str) -> None:
        self.typed = typed
        self._any_case = typed == typed.lower()
        self.text = re.compile(re.escape(typed), re.IGNORECASE if self._any_case else 0)
        self._data = typed.encode("utf-8", "surrogateescape")
        self.length = len(self._data)

    def in_lines(self, chunk: bytes) -> Iterator[tuple[int, int, int]]:
        """(hit, start, end) of each line that holds it; not by a pattern, which takes ten times as long."""
        hay = chunk.lower() if self._any_case else chunk  # ASCII alone, so that places stay what they are
        at = hay.find(self._data)
        while at >= 0:
            begin, end = _line_around(chunk, at)
            yield at, begin, end
            at = hay.find(self._data, end)


class Search:
    """One search in an open log. ``stopped`` is asked and ``told`` the offset for every chunk; ``keep`` sees a hit's line."""

    def __init__(
        self,
        data: LogData,
        needle: Needle,
        *,
        keep: Callable[[bytes], bool] | None = None,
        stopped: Callable[[], bool] = lambda: False,
        told: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._data, self._needle, self._keep, self._stopped, self._told = data, needle, keep, stopped, told

    def first(self, low: int, high: int) -> Hit | None:
        """The first hit that begins from ``low`` on and before ``high``; both are starts of rows or the ends of the file."""
        passed = 0
        for at, chunk in self._forwards(low, high):
            for hit in self._hits(chunk):
                if at + hit < high:
                    return Hit(at + hit, passed + chunk.count(b"\n", 0, hit))
            passed += chunk.count(b"\n")
        return None

    def last(self, low: int, high: int) -> Hit | None:
        """The last one; ``lines`` are counted from ``high`` backwards."""
        if self._data.packed:  # unpacked from the start each time: once through is faster than chunk by chunk from the end
            return self._last_of_packed(low, high)
        passed = 0
        for at, chunk in self._backwards(low, high):
            found = [hit for hit in self._hits(chunk) if at + hit < high]
            if found:
                return Hit(at + found[-1], passed + chunk.count(b"\n", found[-1]))
            passed += chunk.count(b"\n")
        return None

    def _last_of_packed(self, low: int, high: int) -> Hit | None:
        last: Hit | None = None
        passed = 0
        for at, chunk in self._forwards(low, high):
            found = [hit for hit in self._hits(chunk) if at + hit < high]
            if found:
                last = Hit(at + found[-1], passed + chunk.count(b"\n", 0, found[-1]))
            passed += chunk.count(b"\n")
        return None if last is None else Hit(last.offset, passed - last.lines)

    def _forwards(self, low: int, high: int) -> Iterator[tuple[int, bytes]]:
        """Whole lines, a chunk at a time; a line that is longer comes in pieces that overlap by what was typed."""
        while low < high and not self._stopped():
            self._told(low)
            chunk = self._data.stream(low, min(CHUNK, high - low))
            if not chunk:
                return
            cut = chunk.rfind(b"\n") + 1
            if low + len(chunk) >= high:
                cut = len(chunk)
            elif cut == 0:
                yield low, chunk
                low += max(1, len(chunk) - self._needle.length + 1)
                continue
            yield low, chunk[:cut]
            low += cut

    def _backwards(self, low: int, high: int) -> Iterator[tuple[int, bytes]]:
        while low < high and not self._stopped():
            self._told(high)
            begin = max(low, high - CHUNK)
            chunk = self._data.stream(begin, high - begin)
            cut = chunk.find(b"\n") + 1 if begin > low else 0
            if cut == len(chunk):
                cut = 0
            yield begin + cut, chunk[cut:]
            high = begin + cut
            if begin > low and cut == 0:
                high = min(begin + self._needle.length - 1, high + len(chunk) - 1)

    def _hits(self, chunk: bytes) -> list[int]:
        """Where in the chunk lines begin to fit, ascending, one for each line."""
        lines = self._needle.in_lines(chunk)
        found = [hit for hit, begin, end in lines if self._keep is None or self._keep(chunk[begin:end])]
        if b"\x1b" in chunk:
            found = sorted({*found, *self._coloured(chunk, found)})
        return found

    def _coloured(self, chunk: bytes, found: list[int]) -> Iterator[int]:
        """Lines in which only colours keep the bytes of a hit apart."""
        known = {_line_around(chunk, hit)[0] for hit in found}
        at = chunk.find(b"\x1b")
        while at >= 0:
            begin, end = _line_around(chunk, at)
            line = chunk[begin:end]
            fits = begin not in known and any(self._needle.text.search(text) for text in clean(line))
            if fits and (self._keep is None or self._keep(line)):
                yield begin
            at = chunk.find(b"\x1b", end)


def _line_around(chunk: bytes, at: int) -> tuple[int, int]:
    end = chunk.find(b"\n", at)
    return chunk.rfind(b"\n", 0, at) + 1, len(chunk) if end < 0 else end
