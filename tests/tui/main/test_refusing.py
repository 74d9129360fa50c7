"""A key that can do nothing where it is pressed says why: it is never silent, and never changes what is out of sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.tui.actions import ACTIONS, Where
from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.main.refusing import unbound
from hangview.tui.prose import plain
from tests.support import incidents
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from hangview.tui.app import HangviewApp

#: Keys that work on rows and columns of the grid.
IN_GRID = ("u", "plus", "minus", "m", "M", "e", "E", "greater_than_sign", "less_than_sign", "apostrophe", "f", "F")


def status(app: HangviewApp) -> str:
    return plain(app.main.prose("status").prose).strip()


@pytest.mark.parametrize("pane", ["4", "5", "i"])
async def test_keys_of_the_grid_say_so_where_the_grid_is_out_of_sight(pane):
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press(pane)
        grid = app.main.grid
        before = (grid.unfolded, grid.level, grid.pinned, grid.cursor, grid.only)
        for key in IN_GRID:
            if (pane, key) == ("i", "u"):
                continue  # unfolds the files
            await pilot.press(key)
            assert "works in the grid: 2 goes there" in status(app), key
            assert (grid.unfolded, grid.level, grid.pinned, grid.cursor, grid.only) == before, key
            assert not app.main.query_one("#prompt").display


@pytest.mark.parametrize("name", ["eight_in_five_groups", "healthy", "nothing_called", "no_files", "cycle"])
@pytest.mark.parametrize("pane", ["2", "4", "5", "i"])
async def test_no_key_is_silent(name, pane):
    """Whatever is pressed, something on the screen is another than before: at least what the status line says."""
    async with showing(getattr(incidents, name)()) as (app, pilot):
        for key in (*IN_GRID, "enter", "x", "f9", "apostrophe", "left_square_bracket"):
            await pilot.press(pane)
            before = screen_text(app)
            await pilot.press(key)
            if key == "enter" and pane == "2" and app.main.level:
                await pilot.press("escape")
                continue
            assert screen_text(app) != before, key
            if app.main.query_one("#prompt").display:
                await pilot.press("escape")


async def test_a_message_is_gone_with_the_next_key_whatever_it_is():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        for key in ("3", "j", "tab", "question_mark", "f6"):
            await pilot.press("2", "x")
            assert "x does nothing here" in status(app)
            await pilot.press(key)
            assert "does nothing" not in status(app), key
            await pilot.press(*["escape"] * (len(app.screen_stack) - 1))


async def test_a_key_says_in_which_pane_it_works():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("4", "l")
        assert status(app) == "l (right) works in the grid: 2 goes there"
        await pilot.press("f9")
        assert status(app) == "F9 does nothing here: ? lists the keys"


def test_a_changed_key_is_the_one_that_is_told():
    mine = LiveKeys({"move_right": ("x",), "help": ("f5",)})
    assert unbound("x", mine) == "x (right) works in the grid: 2 goes there"
    assert unbound("l", mine) == "l does nothing here: F5 lists the keys"
    assert unbound("h", USUAL, compared=True) == "h does nothing here: ? lists the keys"


def test_every_key_of_the_grid_alone_is_known():
    alone = {key for action in ACTIONS if action.where == (Where.GRID,) for key in action.keys}
    assert {"h", "l", "0"} <= alone
    for key in alone:
        assert "works in the grid" in unbound(key, USUAL) or "works in lists" in unbound(key, USUAL)


async def test_the_prompt_gives_the_focus_back_to_the_list():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("4", "slash", "escape")
        assert app.main.focused is app.main.choices("findings")
        await pilot.press("slash", *"zzz", "enter")
        assert "not found: zzz" in status(app)
        assert app.main.focused is app.main.choices("findings")


async def test_the_files_unfold_to_one_line_each():
    incident = incidents.eight_in_five_groups()
    async with showing(incident, (100, 40)) as (app, pilot):
        await pilot.press("i")
        text = screen_text(app)
        assert "u lists every one" in text
        assert "and 7 more" in text
        await pilot.press("u")
        text = screen_text(app)
        assert all(source.path in text for source in incident.records.sources)
        assert "more" not in text.split("looked at")[1].split("╰")[0]
        await pilot.press("u")
        assert "and 7 more" in screen_text(app)
