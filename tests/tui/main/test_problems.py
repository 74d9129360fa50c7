"""The step from one problem to the next: what a finding of the lane is about is one, whatever its cells look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.schema import CellState
from hangview.terms import Kind, Role
from tests.support.builder import Builder
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from hangview.incident import Incident

LANE = "p2p 1->0"


def message_left_out() -> Incident:
    """Rank 0 waits for the second message of rank 1, whose dump leaves finished entries out."""
    builder = Builder(2)
    group = builder.group("pp", range(2))
    builder.lane(group, 1, 2, lane=LANE, op="send")
    builder.put(group, 2, (0,), CellState.REQUESTED, lane=LANE, op="recv")
    builder.put(group, 2, (1,), CellState.OMITTED, lane=LANE, reason="its dump leaves completed entries out")
    builder.wait((0,), (1,), group, 2, lane=LANE, observed=False)
    return builder.finding(
        Kind.NOT_OBSERVED, Role.NOTE, (1,), (0,), group, 2, "whether rank 1 requested it is not observed: omitted", lane=LANE
    ).build()


async def test_a_rank_that_a_finding_of_the_lane_is_about_is_a_problem():
    async with showing(message_left_out(), (120, 40)) as (app, pilot):
        await pilot.press("u", "G", "home")
        assert (app.main.grid.cursor.rank, app.main.grid.cursor.seq) != (1, 2)
        await pilot.press("e")
        assert (app.main.grid.cursor.rank, app.main.grid.cursor.seq) == (1, 2)
        assert "has a problem" not in screen_text(app)


async def test_who_only_waits_is_no_problem():
    builder = Builder(2)
    group = builder.group("dp", range(2))
    builder.lane(group, 1, 3).put(group, 3, (0, 1), CellState.REQUESTED)
    builder.finding(Kind.WAITING, Role.WAITING, (0, 1), (), group, 3, "ranks 0-1 wait in all_reduce 3 of dp")
    async with showing(builder.build(), (120, 40)) as (app, pilot):
        await pilot.press("e")
        assert "no rank of this lane has a problem" in screen_text(app)
