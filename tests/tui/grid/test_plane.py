"""Folding, order, changes, problems: the grid without a screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hangview.schema import BY_LOG, DIFFERS, CellState
from hangview.terms import GridRows, Kind, Role
from hangview.tui.glyphs import BY_LOG_CODE, DIFFERS_CODE, SIDE_CODES, drawn, words_of
from hangview.tui.grid.plane import Plane, Standing, fold, label_ranks, standing_of
from tests.support.builder import Builder
from tests.support.incidents import eight_in_five_groups, large, missing_dump, tie

C, R, N = int(CellState.COMPLETED), int(CellState.REQUESTED), int(CellState.NOT_REQUESTED)


def plane(rows: dict[int, list[int]], *, first: int = 0, leads: tuple[int, ...] = ()) -> Plane:
    ranks = tuple(sorted(rows))
    grid = GridRows(0, "collective", first, ranks, tuple(bytes(rows[rank]) for rank in ranks))
    return Plane(grid, dict.fromkeys(leads, Standing.LEAD))


def folded(shown: Plane, low: int = 0, high: int | None = None, **how) -> list[tuple[int, ...]]:
    return [row.ranks for row in fold(shown, shown.data(1), low, shown.columns if high is None else high, **how)]


def test_equal_ranks_share_a_row_and_leads_come_first():
    shown = plane({0: [C, C, R], 1: [C, C, R], 2: [C, C, N], 3: [C, C, R]}, leads=(2,))
    assert folded(shown) == [(2,), (0, 1, 3)]


def test_only_columns_in_sight_count():
    shown = plane({0: [C, C, R], 1: [C, C, N], 2: [C, C, N]}, leads=(1,))
    assert folded(shown, 0, 2) == [(1,), (0, 2)]


def test_unfolded_keeps_every_rank_in_order_of_standing():
    shown = plane({0: [C, R], 1: [C, R], 2: [C, R | DIFFERS], 3: [C, N], 4: [C, C]}, leads=(3,))
    assert folded(shown, unfolded=True) == [(3,), (2,), (0,), (1,), (4,)]


def test_marked_ranks_have_rows_of_their_own():
    shown = plane({0: [C], 1: [C], 2: [C]})
    rows = fold(shown, shown.data(1), 0, 1, pinned=(1,))
    assert [(row.ranks, row.pinned) for row in rows] == [((0, 2), False), ((1,), True)]


def test_filter_leaves_the_others_out():
    assert folded(plane({0: [C], 1: [C], 2: [R]}), only=(1, 2)) == [(2,), (1,)]


def test_a_thousand_ranks_of_which_three_differ_are_two_rows():
    incident = large(ranks=1024, seqs=50)
    shown = Plane(incident.view.grid(0, "collective"), standing_of(incident, 0, "collective"))
    assert [len(row.ranks) for row in fold(shown, shown.data(1), 0, shown.columns)] == [3, 1021]


def test_standing_of_a_waiting_rank_and_of_one_without_a_dump():
    incident = eight_in_five_groups()
    shown = Plane(incident.view.grid(3, "collective"), standing_of(incident, 3, "collective"))
    assert dict(zip(shown.ranks, shown.standing, strict=True)) == {0: Standing.WAITING, 4: Standing.PROBLEM}
    incident = missing_dump()
    shown = Plane(incident.view.grid(0, "collective"), standing_of(incident, 0, "collective"))
    assert shown.standing[2] is Standing.PROBLEM
    assert Standing.LEAD not in shown.standing


def test_sides_of_a_tie_are_rows_of_their_own():
    incident = tie()
    shown = Plane(incident.view.grid(0, "collective"), {}, lambda seq: incident.view.call(0, "collective", seq).sides)
    rows = fold(shown, shown.data(1), 0, shown.columns)
    assert [(row.ranks, row.data[-1]) for row in rows] == [((0, 1), SIDE_CODES[0]), ((2, 3), SIDE_CODES[1])]


def test_a_clear_minority_is_no_tie():
    shown = plane({0: [C, R], 1: [C, R], 2: [C, R | DIFFERS]})
    assert shown.drawn[2][1] == DIFFERS_CODE


def test_a_member_whose_dtype_was_not_recorded_makes_no_majority():
    """It requested the call and differs from nobody; that no side is the majority is then known from the finding alone."""
    incident = tie()
    rows = incident.view.grid(0, "collective")
    unknown = replace(rows, ranks=(*rows.ranks, 4), rows=(*rows.rows, bytes([C] * (len(rows.rows[0]) - 1) + [R])))
    shown = Plane(unknown, {}, lambda seq: incident.view.call(0, "collective", seq).sides, (42,))
    assert [row[-1] for row in shown.drawn[:4]] == [SIDE_CODES[0]] * 2 + [SIDE_CODES[1]] * 2
    assert shown.drawn[4][-1] not in SIDE_CODES


def test_changes_of_state_in_a_row():
    shown = plane({5: [C, C, C, R, R]}, first=10)
    assert shown.next_change(5, 10, 1) == 13
    assert shown.next_change(5, 13, 1) is None
    assert shown.next_change(5, 14, -1) == 12
    assert shown.next_change(5, 11, -1) is None


def test_first_problem_of_a_rank():
    shown = plane({0: [C, C, R], 1: [C, R | DIFFERS, N]}, first=7)
    assert shown.problem_of(0) is None
    assert shown.problem_of(1) == 8


def test_cells_outside_the_lane_are_no_call():
    shown = plane({0: [C]}, first=3)
    assert (shown.code(0, 2), shown.code(0, 4), shown.code(9, 3)) == (0, 0, 0)


def test_codes_that_no_state_has_are_drawn_as_not_recorded():
    assert drawn(0x1F) == CellState.NOT_RECORDED
    assert drawn(R | BY_LOG) == R | BY_LOG_CODE


def test_words_say_what_colour_and_glyph_say():
    assert words_of(R | DIFFERS) == "requested, differs from the majority"
    assert words_of(N | BY_LOG) == "not requested, by its log"


@pytest.mark.parametrize(
    ("ranks", "width", "text"),
    [
        ((3,), 8, "3"),
        ((0, 1, 2, 8), 8, "0-2,8"),
        ((0, 1, 2, 8, 10, 12), 9, "0-2,8 +2"),
        (tuple(range(0, 64, 2)), 5, "0 +31"),
        (tuple(range(1000, 1064, 2)), 8, "1000 +31"),
        (tuple(range(1000, 1064, 2)), 7, "x32"),
        (tuple(range(0, 64, 2)), 9, "0,2,4 +29"),
    ],
)
def test_labels_are_folded_and_never_cut(ranks, width, text):
    assert label_ranks(ranks, width) == text


def test_a_rank_that_looks_like_a_lead_is_not_marked_as_one():
    """In a group where the lead only waits like others, the sign before its row is for the lead alone."""
    builder = Builder(4)
    world = builder.group("default_pg", range(4), name="0")
    pair = builder.group("tp", (0, 1), name="1")
    builder.lane(world, 0, 4)
    builder.lane(pair, 0, 4)
    builder.put(world, 4, range(4), CellState.STARTED)
    builder.put(pair, 4, (0,), CellState.STARTED)
    builder.put(pair, 4, (1,), CellState.NOT_REQUESTED, reason="dump is whole")
    builder.finding(Kind.NOT_REQUESTED, Role.LEAD, (1,), (0,), pair, 4, "rank 1 did not request all_reduce 4 of tp")
    incident = builder.build()
    assert incident.leads == (1,)
    plane = Plane(incident.view.grid(0, "collective"), standing_of(incident, 0, "collective"))
    rows = fold(plane, plane.data(1), 0, plane.columns)
    assert [(row.ranks, row.standing.mark) for row in rows] == [((1,), "!"), ((0, 2, 3), "w")]
