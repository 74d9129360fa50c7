"""The search finds what a plain search over the whole text finds, however it is cut into chunks."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangview.tui.log import finding
from hangview.tui.log.finding import Hit, Needle, Search
from tests.tui.log.support import InMemory

TEXTS = st.lists(st.sampled_from([b"ab", b"a", b"b", b"\n", b"c" * 7]), max_size=40).map(b"".join)


def search(data: bytes, typed: str, *, packed: bool = False, **more) -> Search:
    return Search(InMemory(data, packed=packed), Needle(typed), **more)  # type: ignore[arg-type]


def lines_with(data: bytes, typed: bytes) -> list[int]:
    """Where lines that hold it begin to."""
    found, at = [], 0
    for part in data.split(b"\n"):
        if typed in part:
            found.append(at + part.index(typed))
        at += len(part) + 1
    return found


@pytest.mark.parametrize("chunk", [4, 16, 1 << 20])
@given(TEXTS)
def test_first_and_last(chunk, data):
    with patch.object(finding, "CHUNK", chunk):
        expected = lines_with(data, b"ab")
        first, last = search(data, "ab").first(0, len(data)), search(data, "ab").last(0, len(data))
        assert (first is None, last is None) == (not expected, not expected)
        if first is not None and last is not None:
            assert first == Hit(expected[0], data[: expected[0]].count(b"\n"))
            line = data[: last.offset].count(b"\n")
            assert line == data[: expected[-1]].count(b"\n")  # the last line; where in it matters to nobody
            assert last.lines == data.count(b"\n") - line


@given(TEXTS)
def test_last_in_a_compressed_log(data):
    with patch.object(finding, "CHUNK", 16):
        expected = lines_with(data, b"ab")
        last = search(data, "ab", packed=True).last(0, len(data))
        lines = [data[:at].count(b"\n") for at in expected]
        assert (data[: last.offset].count(b"\n") if last else None) == (lines[-1] if lines else None)


def test_small_letters_find_capitals_and_capitals_only_themselves():
    data = b"watchdog\nWatchdog\n"
    assert search(data, "watchdog").last(0, len(data)) == Hit(9, 1)
    assert search(data, "Watchdog").first(0, len(data)) == Hit(9, 1)
    assert search(data, "WATCHDOG").first(0, len(data)) is None


def test_colours_inside_a_hit_do_not_hide_it():
    data = b"one\ntwo\n\x1b[31mWatch\x1b[0mdog\nWatchdog\n"
    assert search(data, "Watchdog").first(0, len(data)) == Hit(8, 2)


def test_signs_of_patterns_are_letters_like_others():
    assert search(b"a.b\n[x]\n", "[x]").first(0, 8) == Hit(4, 1)
    assert search(b"axb\n", "a.b").first(0, 4) is None


def test_a_hit_across_two_chunks_of_one_long_line():
    data = b"x" * ((1 << 20) - 3) + b"needle" + b"x" * 100
    found = search(data, "needle").first(0, len(data))
    assert found is not None
    assert found.offset == (1 << 20) - 3
    last = search(data, "needle").last(0, len(data))
    assert last is not None
    assert last.offset == (1 << 20) - 3


def test_only_lines_that_are_kept():
    data = b"1: hit\n2: hit\n3: hit\n"
    assert search(data, "hit", keep=lambda line: line.startswith(b"2")).first(0, len(data)) == Hit(10, 1)
    assert search(data, "hit", keep=lambda line: line.startswith(b"2")).last(0, len(data)) == Hit(10, 2)


def test_a_search_stops_and_says_where_it_is():
    told: list[int] = []
    data = b"line\n" * (1 << 20)
    assert search(data, "nothing", stopped=lambda: len(told) >= 2, told=told.append).first(0, len(data)) is None
    assert len(told) == 2
    assert told[0] == 0 < told[1] < len(data)
