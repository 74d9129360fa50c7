"""The smallest terminal: the grid and the call take turns, and neither is a frame around nothing."""

from __future__ import annotations

import pytest

from hangview.tui.grid.widget import HEADER
from hangview.tui.layout import SMALLEST
from hangview.tui.prose import plain
from tests.support import incidents
from tests.tui.screens import screen_text, showing


def shows_grid(app) -> bool:
    """The row of the rank that did not call, under its header."""
    return any(row.startswith("│! 7") and "-" in row for row in screen_text(app).splitlines())


def shows_call(app) -> bool:
    words = screen_text(app)
    return "3:call 6 of TP1" in words and "│started, not completed" in words


@pytest.mark.parametrize("there", ["enter", "tab", "3"])
async def test_the_grid_and_the_call_take_turns(there):
    async with showing(incidents.eight_in_five_groups(), SMALLEST) as (app, pilot):
        assert shows_grid(app)
        assert not shows_call(app)
        await pilot.press(there)
        await pilot.pause()
        assert shows_call(app)
        assert app.main.level == 0  # the call comes before one rank's entry
        await pilot.press("enter", "escape", "escape")
        await pilot.pause()
        assert shows_grid(app)
        assert app.main.focused is app.main.grid


@pytest.mark.parametrize("back", ["n", "2", "slash r a n k space 7 enter", "shift+tab"])
async def test_every_way_back_to_the_grid_shows_it(back):
    async with showing(incidents.eight_in_five_groups(), SMALLEST) as (app, pilot):
        await pilot.press("enter", *back.split())
        await pilot.pause()
        assert "│  rank" in screen_text(app)
        assert app.main.grid.size.height >= HEADER + 2
        assert app.main.focused is app.main.grid


async def test_a_finding_that_is_read_has_all_lines():
    async with showing(incidents.eight_in_five_groups(), SMALLEST) as (app, pilot):
        await pilot.press("4")
        await pilot.pause()
        assert "4:findings" in screen_text(app)
        assert "finding 1 of" in screen_text(app)
        await pilot.press("tab")
        await pilot.pause()
        assert "4:findings" not in screen_text(app)
        assert app.main.prose("finding").size.height == 5


@pytest.mark.parametrize("size", [SMALLEST, (60, 20), (80, 24), (120, 40)])
async def test_below_a_list_without_findings_stands_the_call(size):
    async with showing(incidents.healthy(), size) as (app, pilot):
        await pilot.press("4")
        await pilot.pause()
        assert "no finding" in screen_text(app)
        assert "3:call" in screen_text(app)
        assert plain(app.main.prose("details").prose).strip()
        await pilot.press("tab")
        await pilot.pause()
        assert app.main.focused is app.main.prose("details")
