"""What the screen asks of a log, each in one go: open, read, close. For threads: a disk may take its time, or never answer."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from hangview.tui.log.data import LogData, place_on_disk
from hangview.tui.log.finding import Needle, Search
from hangview.tui.log.only import OnlyRank
from hangview.tui.log.paging import Pages, Stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.tui.log.target import Target

#: Rows that are read on each side of a place, and at most kept: several screens of the tallest terminal.
AROUND = 150
MOST_ROWS = 1500


class Read(NamedTuple):
    """``at`` is the offset that was asked for, as the start of a row; ``moved``: there is no line's start any more."""

    stretch: Stretch
    at: int
    size: int
    changed: bool = False
    moved: bool = False


class Found(NamedTuple):
    """``offset`` of the row with the hit; None when there is none. ``wrapped``: it lies beyond the end, or the start."""

    offset: int | None
    number: int | None = None
    wrapped: bool = False
    stopped: bool = False


class LogReader:
    """Reads one target. Every method opens the file anew and raises ``OSError`` where it is gone or cannot be read."""

    def __init__(self, paths: Sequence[str], target: Target) -> None:
        self.target = target
        self._paths = tuple(paths)
        self._lock = Lock()
        self._data: LogData | None = None
        self._only: OnlyRank | None = None
        self._hit: tuple[tuple[int, int], ...] = ()  #: offset and number of the last hit, if its number is known

    @property
    def taken(self) -> int:
        """Bytes read so far, but for searches."""
        return self._data.taken if self._data is not None else 0

    def around(self, offset: int | None, stopped: Callable[[], bool], *, only: bool = False, exact: bool = False) -> Read:
        """Rows around ``offset``, None for the end of the file. ``exact``: a line is known to start there."""
        with self._lock, self._opened() as data:
            pages = self._pages(data, stopped, only=only)
            end = offset is None or offset >= data.size
            at = data.size if offset is None or end else pages.row_start(offset)
            moved = exact and (end or at != offset) and offset != 0
            number = None if moved else pages.number_at(at, (*self.target.anchors, *self._hit))
            above = pages.before(at, number, AROUND)
            return Read(above.joined(pages.after(at, number, AROUND)), at, data.size, data.changed, moved)

    def below(self, offset: int, number: int | None, stopped: Callable[[], bool], *, only: bool = False) -> Read:
        with self._lock, self._opened() as data:
            stretch = self._pages(data, stopped, only=only).after(offset, number, 2 * AROUND)
            return Read(stretch, offset, data.size, data.changed)

    def above(self, offset: int, number: int | None, stopped: Callable[[], bool], *, only: bool = False) -> Read:
        with self._lock, self._opened() as data:
            stretch = self._pages(data, stopped, only=only).before(offset, number, 2 * AROUND)
            return Read(stretch, offset, data.size, data.changed)

    def find(
        self,
        needle: Needle,
        begin: tuple[int, int | None],
        end: tuple[int, int | None],
        stopped: Callable[[], bool],
        told: Callable[[int, int], None],
        *,
        backwards: bool = False,
        only: bool = False,
    ) -> Found:
        """The next row with a hit behind the present one, which ends at ``end``; or before it, where it begins at ``begin``.

        Both with the number of the line that starts there. Goes round the end of the file and gives the present row last. Reads
        beside the others: they need not wait for it. ``told`` gets an offset and the size.
        """
        with self._fresh() as data:
            keep = self._keep(data) if only else None
            search = Search(data, needle, keep=keep, stopped=stopped, told=lambda at: told(at, data.size))
            turns: tuple[tuple[int, int, int | None, bool], ...]
            if backwards:
                turns = ((0, begin[0], begin[1], False), (begin[0], data.size, None, True))
            else:
                turns = ((end[0], data.size, end[1], False), (0, end[0], 1, True))
            pages = Pages(data, stopped)
            for low, high, number, wrapped in turns:
                hit = search.last(low, high) if backwards else search.first(low, high)
                if hit is not None:
                    at = pages.row_start(hit.offset)
                    if number is not None:
                        number += -hit.lines if backwards else hit.lines
                    self._hit = ((at, number),) if number is not None else ()
                    return Found(at, number, wrapped)
                if stopped():
                    return Found(None, stopped=True)
            return Found(None)

    def _opened(self) -> LogData:
        if self._data is None:
            self._data = self._fresh()
        return self._data

    def _fresh(self) -> LogData:
        return LogData(place_on_disk(self._paths, self.target.shown), self.target.size)

    def _pages(self, data: LogData, stopped: Callable[[], bool], *, only: bool) -> Pages:
        return Pages(data, stopped, self._keep(data) if only else None)

    def _keep(self, data: LogData) -> OnlyRank:
        if self._only is None:
            self._only = OnlyRank(data, self.target)
        return self._only
