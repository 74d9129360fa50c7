"""Seq labels: whole, at the right column."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hangview.tui.grid.header import ticks, whole_labels


@given(st.integers(0, 99_999), st.integers(1, 120), st.sampled_from([1, 2]), st.integers(0, 9))
def test_each_label_stands_over_its_own_column(first, count, cell_width, spare):
    room = count * cell_width + spare
    text = whole_labels(first, count, 1, cell_width, room)
    assert len(text) == room
    for found in re.finditer(r"\d+", text):
        assert int(found[0]) == first + found.start() // cell_width
        assert found.start() % cell_width == 0


@given(st.integers(0, 9_999), st.integers(1, 60), st.sampled_from([2, 5, 10, 20, 50]))
def test_labels_of_blocks_lie_inside_their_block(first, count, block):
    for found in re.finditer(r"\d+", whole_labels(first, count, block, 1, count)):
        start = first + found.start() * block
        assert start <= int(found[0]) < start + block


def test_a_label_that_does_not_fit_is_left_out():
    assert whole_labels(95, 6, 1, 1, 6) == "95    "  # 100 would have to be cut
    assert whole_labels(95, 6, 1, 1, 9) == "95   100 "
    assert whole_labels(1234, 1, 1, 1, 1) == " "


def test_one_seq_has_its_label():
    assert whole_labels(1999, 1, 1, 2, 10) == "1999      "


def test_ticks_mark_the_labelled_columns():
    assert ticks(0, 11, 1, 1) == "+----+----+"
    assert len(ticks(3, 9, 1, 2)) == 18
