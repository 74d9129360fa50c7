"""The cells of grids as one table: as many rows as grids have cells with a call, each saying what its cell says."""

from __future__ import annotations

from hangview.engine import cells
from hangview.schema import BY_LOG, DIFFERS, NO_CALL, CellState
from hangview.terms import COLLECTIVE, GridRows
from tests.engine.support import alike, look, rank


def test_every_code_becomes_its_word_and_its_flags():
    codes = bytes([CellState.COMPLETED, CellState.REQUESTED | DIFFERS, CellState.NOT_REQUESTED | BY_LOG, NO_CALL])
    found = cells.table([GridRows(3, COLLECTIVE, 41, (5,), (codes,))])
    assert found.schema == cells.COLUMNS
    assert found.rows() == [
        (3, COLLECTIVE, 41, 5, "completed", False, False),
        (3, COLLECTIVE, 42, 5, "requested", True, False),
        (3, COLLECTIVE, 43, 5, "not requested", False, True),
    ]


def test_each_state_has_its_own_word():
    codes = bytes(range(1, len(CellState) + 1))
    assert cells.table([GridRows(0, COLLECTIVE, 1, (0,), (codes,))])["state"].to_list() == [state.word for state in CellState]


def test_no_grid_is_an_empty_table_with_the_same_columns():
    assert cells.table([]).schema == cells.COLUMNS
    assert cells.table([]).is_empty()


def test_an_incident_says_of_its_cells_what_its_grids_say():
    incident = look(*alike((0, 1, 2), "all_reduce", 4), rank(3).calls("all_reduce", 1, 3))
    table = incident.cells
    assert {(lane.group, lane.lane) for lane in incident.lanes} == set(table.select("group", "lane").unique().iter_rows())
    for group, lane, seq, member, state, differs, by_log in table.iter_rows():
        cell = incident.view.cell(group, lane, seq, member)
        assert (cell.state.word, cell.differs, cell.by_log) == (state, differs, by_log)
    missing = table.filter(lane=COLLECTIVE, state="not requested")
    assert missing.select("seq", "rank").rows() == [(4, 3)]
