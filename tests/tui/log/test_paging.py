"""Rows from any place of a file are those of the whole file, with their numbers."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangview.tui.log import paging
from hangview.tui.log.paging import Pages
from tests.tui.log.support import InMemory, never

UNIT = 8
TEXTS = st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\r", b"x" * 9, b"y" * 40, b"\n\n"]), max_size=30).map(b"".join)


def pages(data: bytes, keep=None) -> Pages:
    return Pages(InMemory(data), never, keep)  # type: ignore[arg-type]


@given(TEXTS)
def test_forwards_everything_is_there_once(data):
    with patch.object(paging, "UNIT", UNIT):
        stretch = pages(data).after(0, 1, 10**6)
        spans = sorted({(row.offset, row.end) for row in stretch.rows})
        assert b"".join(data[start:end] for start, end in spans) == data
        starts = {start for start, _ in spans}
        assert {at + 1 for at in range(len(data) - 1) if data[at : at + 1] == b"\n"} <= starts
        assert all(end - start <= 2 * UNIT for start, end in spans)
        assert all(row.number == data[: row.offset].count(b"\n") + 1 for row in stretch.rows)
        assert all(row.first == (row.part == 0 and data[: row.offset][-1:] in (b"", b"\n")) for row in stretch.rows)
        assert (stretch.low, stretch.high, stretch.high_number) == (0, len(data), data.count(b"\n") + 1)


@given(TEXTS, st.integers(0, 200))
def test_backwards_and_forwards_agree_wherever_reading_begins(data, offset):
    with patch.object(paging, "UNIT", UNIT):
        whole = pages(data).after(0, 1, 10**6).rows
        there = pages(data)
        at = there.row_start(min(offset, len(data)))
        assert at in {row.offset for row in whole} | {0}
        number = there.number_at(at, ((0, 1),))
        joined = there.before(at, number, 10**6).joined(there.after(at, number, 10**6))
        assert joined.rows == whole
        assert (joined.low, joined.low_number) == (0, 1)


def test_a_row_starts_at_the_last_start_before_a_byte():
    there = pages(b"one\ntwo\nthree")
    assert [there.row_start(at) for at in (0, 3, 4, 7, 8, 12, 99)] == [0, 0, 4, 4, 8, 8, 8]
    assert pages(b"").row_start(0) == 0


def test_a_number_is_counted_from_the_nearest_line_that_is_known():
    data = b"line\n" * 100
    assert pages(data).number_at(250, ((100, 21),)) == 51
    assert pages(data).number_at(50, ((100, 21),)) == 11
    with patch.object(paging, "NEAR", 100):
        assert pages(data).number_at(250, ((100, 21),)) is None
    assert pages(data).number_at(250, ()) is None


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        (b"plain\n", ["plain"]),
        (b"windows\r\n", ["windows"]),
        (b"\x1b[31mred\x1b[0m\n", ["red"]),
        (b" 10%\r 20%\rdone\n", [" 10%", " 20%", "done"]),
        (b"a\tb\n", ["a   b"]),
        (b"bell\x07 \x1b\n", ["bell\\x07 \\x1b"]),
        (b"\xff\n", ["\ufffd"]),
        ("漢字\n".encode(), ["漢字"]),
        (b"\n", [""]),
        (b"\r\n", [""]),
    ],
)
def test_what_a_line_shows(raw, texts):
    assert [row.text for row in pages(raw).after(0, 1, 10).rows] == texts


def test_only_rows_that_are_kept_count_and_their_numbers_are_the_files():
    data = b"".join(b"%s %d\n" % (b"mine" if n % 10 == 0 else b"other", n) for n in range(1, 101))
    found = pages(data, lambda line: line.startswith(b"mine")).after(0, 1, 3)
    assert [(row.number, row.text) for row in found.rows] == [(10, "mine 10"), (20, "mine 20"), (30, "mine 30")]
    above = pages(data, lambda line: line.startswith(b"mine")).before(len(data), 101, 2)
    assert [row.number for row in above.rows] == [90, 100]
    assert (above.low, above.low_number) == (above.rows[0].offset, 90)


def test_reading_ends_where_it_is_stopped():
    told = iter([False, False, True])
    stretch = Pages(InMemory(b"line\n" * 100), lambda: next(told)).after(0, 1, 50)  # type: ignore[arg-type]
    assert len(stretch.rows) == 3
    assert stretch.high == 15


def test_long_rows_do_not_pile_up():
    data = b"z" * (64 << 20)
    stretch = pages(data).after(0, 1, 10**6)
    assert sum(len(row.text) for row in stretch.rows) <= paging.MOST_BYTES + 2 * paging.UNIT
