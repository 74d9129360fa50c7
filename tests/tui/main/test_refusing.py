"""A key that can do nothing where it is pressed says why: it is never silent, and never changes what is out of sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.keys import _character_to_key

from hangview.tui.actions import ACTIONS, Where
from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import plain
from hangview.tui.text.help import unbound
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


async def test_a_move_where_there_is_no_grid_yet_is_not_lost_without_a_word():
    async with showing(None) as (app, pilot):
        for key in ("n", "L", "down", "up", "left", "right", "pagedown", "G", "home", "end"):
            await pilot.press(key)
            assert "files are being read" in status(app), key


@pytest.mark.parametrize("char", [*'!@#%&*(){}|;,.~_\\`"é'])
async def test_a_key_without_a_use_is_called_by_its_character(char):
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press(_character_to_key(char))
        assert status(app).startswith(f"{char} does nothing here")


async def test_a_filter_that_a_step_ends_is_said_to_be_over():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("f", *"lead", "enter")
        assert "only lead" in screen_text(app)
        await pilot.press("n")
        assert app.main.grid.only is None
        assert status(app).startswith("no longer only lead")
        await pilot.press("f", *"not requested", "enter", "slash", *"rank 0", "enter")
        assert app.main.grid.only is None
        assert "no longer only not requested" in status(app)
        assert f"{len(app.main.hits)} hits" in status(app)  # both are said


async def test_the_key_line_says_what_n_steps_through():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        keys = lambda: plain(app.main.prose("keys").prose)  # noqa: E731
        assert "n:next finding" in keys()
        await pilot.press("slash", *"rank 0", "enter")
        assert len(app.main.hits) > 1
        assert "n:next hit" in keys()
        await pilot.press("n")
        assert "n:next hit" in keys()
        await pilot.press("escape")
        assert "n:next finding" in keys()


async def test_a_marked_lead_keeps_its_sign():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("m")
        assert "!*7" in screen_text(app)


async def test_a_word_of_a_finding_is_found_as_the_banner_has_it():
    """``dtype`` was not found below a banner that begins with it."""
    incident = incidents.different_dtype()
    async with showing(incident) as (app, pilot):
        assert "dtype: " in screen_text(app)
        await pilot.press("slash", *"dtype", "enter")
        assert app.main.hits
        await pilot.press("escape", "slash", *"no such word", "enter")
        assert "rank, seq, group, op, func, host or any text" in screen_text(app)
