"""Lines and columns for every size: nothing negative, the grid keeps its rows, essentials survive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hangview.tui.layout import SMALLEST, plan


@given(
    st.integers(SMALLEST[0], 300), st.integers(SMALLEST[1], 120), st.integers(2, 4), st.integers(1, 400), st.integers(0, 900),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_sizes_add_up(width, height, banner, rows, lanes, drilled, reads):
    layout = plan(width, height, banner=banner, rows=rows, lanes=lanes, drilled=drilled, reads=reads)
    main = height - banner - 2
    assert layout.fits
    assert layout.middle is (main > layout.bottom)
    if layout.middle:
        assert main - layout.bottom - 4 - layout.map >= 2  # frame and header apart, two rows of cells
    if layout.bottom:
        assert layout.bottom >= 3
    assert (layout.middle and layout.bottom > 0) or height < 15
    if height >= 20:
        assert main - layout.bottom - 4 - layout.map >= 2  # frame and header apart, two rows of cells
    assert layout.groups < width


def test_too_small():
    assert not plan(39, 24, banner=3, rows=6, lanes=1, drilled=False).fits
    assert not plan(80, 11, banner=3, rows=6, lanes=1, drilled=False).fits


def test_narrow_has_no_groups_pane_and_wide_shows_the_finding():
    assert plan(60, 20, banner=3, rows=6, lanes=9, drilled=False).groups == 0
    assert not plan(80, 24, banner=3, rows=6, lanes=9, drilled=False).finding
    assert plan(120, 40, banner=3, rows=6, lanes=9, drilled=False).finding


def test_details_grow_when_they_are_read():
    read = plan(80, 24, banner=3, rows=6, lanes=9, drilled=True)
    assert read.bottom > plan(80, 24, banner=3, rows=6, lanes=9, drilled=False).bottom


@given(st.integers(24, 120), st.integers(76, 115))
def test_what_is_chosen_from_a_short_list_has_room_to_be_read(height, width):
    lines = plan(width, height, banner=4, rows=30, lanes=30, drilled=True, chooses=True)
    assert lines.bottom - 2 >= 9  # three lines of summary, what to compare first, what must not be concluded
    assert height - 4 - 2 - lines.bottom - 2 >= 3  # the list with one whole finding
