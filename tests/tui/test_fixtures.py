"""Every real dump set that we have can be looked at: no pane fails, no line carries a control character, no cell is a blank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hangview
from hangview.schema import CellState
from hangview.tui.grid.plane import Plane, fold, standing_of
from hangview.tui.place import Place, opening_of, ranks_of
from hangview.tui.prose import plain, to_ascii, wrap
from hangview.tui.search import search
from hangview.tui.text.banner import banner
from hangview.tui.text.details import LEVELS, details
from hangview.tui.text.finding import finding_lines
from hangview.tui.text.groups import columns_of, lane_line, sorted_lanes
from hangview.tui.text.source import ledger_lines
from hangview.tui.text.start import start_lines
from hangview.tui.text.waits import wait_lines

if TYPE_CHECKING:
    from hangview.terms import Lane

FIXTURES = Path(__file__).parents[2] / "fixtures"
SETS = sorted(path.parent.name for path in FIXTURES.glob("*/EXPECT.json"))


def everything(incident: hangview.Incident) -> str:
    """All that the panes can say, at the places where lanes open."""
    prose = [*banner(incident, None, incident.paths, ""), *ledger_lines(incident), *start_lines(incident)]
    prose += [each for _, each in wait_lines(incident)]
    for finding in incident.findings:
        prose += finding_lines(incident, finding)
    for lane in sorted_lanes(incident)[:12]:
        prose.append(lane_line(incident, lane, 30, columns_of(incident)))
        for rank in ranks_of(incident, lane.group, lane.lane)[:4]:
            place = opening_of(incident, lane)._replace(rank=rank)
            for level in range(len(LEVELS)):
                title, lines = details(incident, place, level)
                assert title
                assert lines, (place, level)
                prose += lines
    return plain(wrap(prose, 78))


def plane_of(incident: hangview.Incident, lane: Lane) -> Plane:
    rows = incident.view.grid(lane.group, lane.lane)
    standing = standing_of(incident, lane.group, lane.lane)
    return Plane(rows, standing, lambda seq: incident.view.call(lane.group, lane.lane, seq).sides)


@pytest.mark.parametrize("name", SETS)
def test_can_be_looked_at(name):
    incident = hangview.load(str(FIXTURES / name))
    text = everything(incident)
    assert not [char for char in text if char != "\n" and (ord(char) < 32 or ord(char) == 127)]
    assert to_ascii(text).isascii()
    for lane in incident.lanes[:12]:
        plane = plane_of(incident, lane)
        rows = fold(plane, plane.data(1), 0, plane.columns)
        assert sorted(rank for row in rows for rank in row.ranks) == sorted(plane.ranks)
        if lane.divergence is not None:  # nobody's state is a blank where the members diverge
            column = lane.divergence - plane.first
            assert all(row.data[column] for row in rows)


def test_operations_and_functions_are_found():
    incident = hangview.load(str(FIXTURES / "two-groups"))
    here = Place(0, "collective", 0, 0)
    operations = search(incident, "all_reduce", here)
    assert operations
    for place in operations[:20]:
        call = incident.view.call(place.group, place.lane, place.seq)
        assert "all_reduce" in {entry.op.family for cell in call.cells for entry in cell.entries} or place.seq in {
            finding.seq for finding in incident.findings
        }
    frame = incident.view.newest_entries(7, 1)[0].stack[-1]
    assert search(incident, frame.filename.rsplit("/", 1)[-1], here)


def test_states_have_one_vocabulary():
    assert len({state.word for state in CellState}) == len(CellState)
