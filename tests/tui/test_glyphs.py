"""One glyph for each state, in the grid, the map and the legend alike."""

from __future__ import annotations

from itertools import combinations
from unicodedata import east_asian_width

import pytest
from rich.cells import cell_len

from hangview.schema import CellState
from hangview.tui.glyphs import GLYPHS, words_of

#: Signs that are taken for each other on a small screen.
ALIKE = ({"∘", "◦", "o", "○", "O", "0"}, {"⋅", "·", ".", "∙", "•"}, {":", "⁚", "∶"}, {"✕", "x", "×"}, {"▸", ">"})


@pytest.mark.parametrize("name", ["unicode", "ascii"])
def test_no_two_states_look_alike(name):
    signs = {state: getattr(GLYPHS[state], name) for state in CellState}
    for one, other in combinations(CellState, 2):
        assert signs[one] != signs[other], (one, other)
        for family in ALIKE:
            assert not {signs[one], signs[other]} <= family, (one, other)


def test_every_glyph_is_one_cell_wide_everywhere():
    for glyph in GLYPHS.values():
        assert cell_len(glyph.unicode) == 1
        assert east_asian_width(glyph.unicode) in ("N", "Na")
        assert glyph.ascii.isascii()


def test_a_side_of_a_tie_is_not_said_to_differ_from_a_majority():
    assert words_of(CellState.STARTED | 0x20) == "started, differs from the majority"
    assert words_of(CellState.STARTED | 0x20, "A") == "started, side A of a tie"
