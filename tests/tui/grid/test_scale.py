"""How much fits: by hand."""

from __future__ import annotations

import pytest

from hangview.tui.grid.scale import scale_of


@pytest.mark.parametrize(
    ("width", "seqs", "level", "label", "block", "cell", "columns", "across"),
    [
        (100, 30, 0, 24, 1, 2, 30, 38),  # two cells for each seq
        (100, 30, 1, 24, 1, 1, 30, 76),
        (100, 30, 9, 24, 1, 1, 30, 76),  # no farther than what shows all
        (60, 300, 2, 16, 2, 1, 150, 44),
        (40, 0, 0, 10, 1, 2, 0, 15),  # no lane yet
    ],
)
def test_what_fits(width, seqs, level, label, block, cell, columns, across):
    scale = scale_of(width, 20, seqs, level)
    assert (scale.label_width, scale.block, scale.cell_width, scale.columns, scale.across) == (
        label,
        block,
        cell,
        columns,
        across,
    )
    assert scale.down == 20


def test_hidden_it_holds_one_cell():
    scale = scale_of(0, -2, 30, 0)
    assert (scale.across, scale.down) == (1, 1)
