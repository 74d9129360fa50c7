"""Zooming out: the worst cell of each block, the same as looking at every cell."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from hangview.schema import CellState
from hangview.tui.glyphs import DIFFERS_CODE, SEVERITY, SIDE_CODES
from hangview.tui.grid.zoom import Zoomed, zoom_levels

CODES = [0, *map(int, CellState), DIFFERS_CODE, *SIDE_CODES]


def worst(codes: bytes) -> int:
    """The plain way."""
    return next(code for group in SEVERITY for code in group if code in codes)


@pytest.mark.parametrize("block", [1, 2, 7, 50, 200])
def test_blocks_hold_their_worst_cell(block):
    chance = random.Random(block)
    rows = [bytes(chance.choices(CODES, k=101)) for _ in range(5)]
    zoomed = Zoomed(rows, 101, block)
    for row, drawn in zip(rows, zoomed.rows, strict=True):
        assert list(drawn) == [worst(row[at : at + block]) for at in range(0, 101, block)]


def test_every_code_has_a_severity():
    assert sorted(code for group in SEVERITY for code in group) == sorted(CODES)


def test_overview_merges_rows_and_loses_no_divergence():
    rows = [bytes([1, 1, 1])] * 1000 + [bytes([1, CellState.NOT_REQUESTED, 1])] + [bytes([1, 1, CellState.STARTED])] * 20
    zoomed = Zoomed(rows, 3, 1)
    assert zoomed.overview(1, range(len(rows))) == [bytes([1, CellState.NOT_REQUESTED, CellState.STARTED])]
    assert len(zoomed.overview(8, range(len(rows)))) == 3


def test_levels_go_on_until_the_lane_fits():
    assert zoom_levels(7, 40) == [(1, 2), (1, 1)]
    levels = zoom_levels(2000, 40)
    assert levels[:2] == [(1, 2), (1, 1)]
    assert -(-2000 // levels[-1][0]) <= 40
    assert all(first[0] <= second[0] for first, second in pairwise(levels))
