"""A lead that has no record and that its log names: every way on the screen leads to that log, and the panes agree."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hangview
from hangview.schema import ReadOptions
from hangview.tui.log.screen import LogScreen
from hangview.tui.prose import plain
from hangview.tui.search import rank_typed, rankless
from tests.tui.log.support import settled
from tests.tui.screens import showing

if TYPE_CHECKING:
    from hangview.incident import Incident

FIXTURES = Path(__file__).parents[3] / "fixtures"


@cache
def out_of_memory() -> Incident:
    """Logs alone: rank 11 ran out of memory (anvil02.log, line 17), nine others wait in all_reduce 3301."""
    return hangview.load(str(FIXTURES / "logs/tee-2.9"), options=ReadOptions(cache=False))


def status(app) -> str:
    return plain(app.main.prose("status").prose).strip()


def opened(app) -> tuple[int, str, int]:
    screen = app.screen
    assert isinstance(screen, LogScreen)
    assert screen.target.line is not None
    return screen.target.rank, screen.target.shown, screen.target.line.number


async def test_the_log_of_the_lead_opens_at_its_exception():
    async with showing(out_of_memory()) as (app, pilot):
        await pilot.press("L")
        await settled(pilot)
        assert opened(app) == (11, "anvil02.log", 17)


async def test_the_log_is_that_of_the_rank_under_the_cursor_once_it_was_moved():
    async with showing(out_of_memory()) as (app, pilot):
        await pilot.press("u", "j", "L")
        await settled(pilot)
        assert opened(app)[0] == 3


@pytest.mark.parametrize("keys", [("slash", *"rank", "space", "1", "1", "enter"), ("slash", "1", "1", "enter"),
                                  ("colon", *"rank", "space", "1", "1", "enter")])  # fmt: skip
async def test_searching_for_the_lead_says_that_it_has_no_record_and_how_its_log_opens(keys):
    async with showing(out_of_memory()) as (app, pilot):
        await pilot.press("u", "j", *keys)
        assert status(app) == "rank 11 has no record in the dumps, so no row in the grid: L opens its log"
        await pilot.press("L")
        await settled(pilot)
        assert opened(app) == (11, "anvil02.log", 17)
        await pilot.press("q", "j", "L")  # the cursor was moved since
        await settled(pilot)
        assert opened(app)[0] == 4


def test_of_a_rank_that_no_file_names_nothing_is_made_up():
    assert rankless(out_of_memory(), "rank 77", "L") == ()
    assert rankless(out_of_memory(), "rank 11 group dp", "L") == ()
    assert [rank_typed(each) for each in ("rank 7", " 7 ", "seq 7", "seven")] == [7, 7, None, None]


async def test_who_waits_for_whom_agrees_with_the_findings():
    async with showing(out_of_memory()) as (app, pilot):
        await pilot.press("5")
        shown = [line.text for choice in app.main.choices("waits").choices for line in choice.lines]
        assert shown[0] == "rank 11  look here first: others wait, and no dump tells whether it waits"
        assert "ranks 0,3-4,6-8,12,14-15 wait in default_pg 3301 for rank 11" in shown[1]
        assert "no record could tell whether it asked" in shown[1]


async def test_the_grid_stands_where_the_finding_is():
    async with showing(out_of_memory()) as (app, _):
        main = app.main
        assert main.place is not None
        assert main.by_call[main.place[:3]] == [0, 1]
        assert main.grid_is_at() == ""


async def test_that_the_lead_has_no_row_is_said_where_the_cursor_stands_for_it():
    async with showing(out_of_memory(), (120, 40)) as (app, pilot):
        await pilot.press("z")  # what is said to who is new here goes
        await pilot.press("ctrl+l")
        first = plain(app.main.prose("details").prose).splitlines()[0]
        assert first == "rank 11 has no record in the dumps, so no row in the grid: L opens its log"
        assert status(app).startswith("no row for rank 11 · rank ")
        await pilot.press("u", "j")
        assert "no row for" not in status(app)
        assert "rank 11 has no record" not in plain(app.main.prose("details").prose)
        await pilot.press("k")  # back to the cell that the finding opened at, for its own sake
        assert status(app).startswith("rank 0 · ")
        await pilot.press("n", "N")
        assert status(app).startswith("no row for rank 11 · rank ")
