"""Calls on which no side is the majority."""

from __future__ import annotations

from pathlib import Path

import hangview
from hangview.schema import ReadOptions
from hangview.tui.sides import disagree, tied_seqs

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_two_against_two_is_a_tie_and_three_against_one_is_none():
    tie = hangview.load(str(FIXTURES / "size-tie"), options=ReadOptions(cache=False))
    assert [(lane.group, tied_seqs(tie, lane.group, lane.lane)) for lane in tie.lanes] == [(0, frozenset({3}))]
    clear = hangview.load(str(FIXTURES / "nccl-dtype"), options=ReadOptions(cache=False))
    assert not any(tied_seqs(clear, lane.group, lane.lane) for lane in clear.lanes)
    assert disagree(tie.view.call(0, "collective", 3).sides)
    assert not disagree(tie.view.call(0, "collective", 2).sides)
