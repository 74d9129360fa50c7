"""The rows that are held of a log, of a file that may be any size: grown at one end, let go at the other. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.log.paging import Stretch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.tui.log.paging import Row

EMPTY = Stretch((), 0, 0, 1, 1)


def grown_below(held: Stretch, more: Stretch, most: int) -> Stretch:
    """``held`` and what follows it; of the first rows as many are let go as are over ``most``."""
    joined = held.joined(more)
    cut = _line_start(joined.rows, len(joined.rows) - most)
    if cut <= 0 or cut >= len(joined.rows):
        return joined
    first = joined.rows[cut]
    return joined._replace(rows=joined.rows[cut:], low=first.offset, low_number=first.number)


def grown_above(held: Stretch, more: Stretch, most: int) -> Stretch:
    """The same with what is before it; the last rows are let go."""
    joined = more.joined(held)
    cut = _line_start(joined.rows, most)
    if cut >= len(joined.rows):
        return joined
    first = joined.rows[cut]
    return joined._replace(rows=joined.rows[:cut], high=first.offset, high_number=first.number)


def _line_start(rows: Sequence[Row], at: int) -> int:
    """The index from ``at`` on where the bytes of a row begin: parts of one line stay together."""
    while 0 < at < len(rows) and rows[at].part:
        at += 1
    return at


def index_at(rows: Sequence[Row], offset: int, text: str = "") -> int:
    """The row at an offset, of its parts the one that holds ``text``; where it is not there the next one, or the last."""
    here = [index for index, row in enumerate(rows) if row.offset == offset]
    if here:
        return next((index for index in here if text and text in rows[index].text), here[0])
    return next((index for index, row in enumerate(rows) if row.offset > offset), max(0, len(rows) - 1))
