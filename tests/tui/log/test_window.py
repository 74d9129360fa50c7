"""The rows that are held stay few, whole lines, and in order."""

from __future__ import annotations

from hangview.tui.log.paging import Pages
from hangview.tui.log.window import EMPTY, grown_above, grown_below, index_at
from tests.tui.log.support import InMemory, never

DATA = b"".join(b"line %d\ranother part\n" % number for number in range(1, 501))
MOST = 101


def test_going_down_and_up_again_holds_no_more_than_it_may():
    pages = Pages(InMemory(DATA), never)  # type: ignore[arg-type]
    whole = pages.after(0, 1, 10**6)
    held = pages.after(0, 1, 20)
    while held.high < len(DATA):
        held = grown_below(held, pages.after(held.high, held.high_number, 20), MOST)
        assert len(held.rows) <= MOST
        assert held.rows == tuple(row for row in whole.rows if held.low <= row.offset < held.high)
        assert held.rows[0].number == held.low_number
    while held.low > 0:
        held = grown_above(held, pages.before(held.low, held.low_number, 20), MOST)
        assert len(held.rows) <= MOST + 1  # the parts of a line stay together
        assert held.rows == tuple(row for row in whole.rows if held.low <= row.offset < held.high)
    assert held.low_number == 1


def test_the_row_at_an_offset():
    rows = Pages(InMemory(DATA), never).after(0, 1, 10).rows  # type: ignore[arg-type]
    assert index_at(rows, rows[2].offset) == 2
    assert index_at(rows, rows[2].offset, "another") == 3
    assert index_at(rows, rows[2].offset, "nowhere") == 2
    assert index_at(rows, rows[2].offset + 1) == 4
    assert index_at(rows, 10**6) == len(rows) - 1
    assert index_at(EMPTY.rows, 0) == 0
