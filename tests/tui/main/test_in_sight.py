"""Keys go to no pane that is out of sight, at whatever size and by whatever way."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tests.support import incidents
from tests.tui.screens import screen_text, showing

WAYS = ("1", "2", "3", "4", "5", "tab", "shift+tab", "enter", "escape")


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_the_focus_is_on_a_pane_in_sight(size):
    async with showing(incidents.eight_in_five_groups(), size) as (app, pilot):
        for keys in product("12345", WAYS):
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
                focused = app.focused
                assert focused is not None, keys
                assert focused.region.area > 0, keys
                assert focused.is_on_screen, keys


async def test_the_call_takes_the_place_of_the_finding_where_there_is_no_room_for_both():
    async with showing(incidents.eight_in_five_groups(), (80, 24)) as (app, pilot):
        await pilot.press("4")
        await pilot.pause()
        assert "─ finding 1 of" in screen_text(app)
        await pilot.press("3")
        await pilot.pause()
        assert "3:call 6 of TP1" in screen_text(app)
        assert "─ finding 1 of" not in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "ENTRY" in screen_text(app)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert app.focused is app.main.choices("findings")
        assert "─ finding 1 of" in screen_text(app)


async def test_escape_leaves_the_findings_also_where_the_call_was_read_deeper_before():
    """It went up levels of a call pane that was out of sight, and seemed dead."""
    async with showing(incidents.eight_in_five_groups(), (80, 24)) as (app, pilot):
        await pilot.press("enter", "enter", "enter", "4", "escape")
        await pilot.pause()
        assert app.main.center == "grid"


async def test_a_pane_that_a_smaller_terminal_takes_away_gives_up_the_focus():
    async with showing(incidents.eight_in_five_groups(), (130, 40)) as (app, pilot):
        app.main.prose("finding").focus()
        await pilot.pause()
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.focused is not None
        assert app.focused.region.area > 0


async def test_the_group_that_stands_first_by_now_is_in_sight():
    """A new answer sorts another group to the top, and the list stayed scrolled down to the one that the grid shows."""
    incident = incidents.eight_in_five_groups()
    async with showing(replace(incident, findings=(), leads=()), (80, 24)) as (app, pilot):
        groups = app.main.choices("groups")
        groups.action_bottom()
        await pilot.press("1", "enter")
        await pilot.pause()
        app.main.take(incident, final=True)
        await pilot.pause()
        assert groups.topmost == 0
