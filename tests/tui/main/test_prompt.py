"""A prompt that is shown has the focus: whatever arrives meanwhile, what is typed goes into it and is no command."""

from __future__ import annotations

import pytest
from textual import events

from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.dialogs.palette import PaletteDialog
from hangview.tui.looker import Begun, Failed, Looked
from hangview.tui.main.prompt import Prompt
from tests.support import incidents
from tests.tui.screens import screen_text, showing
from tests.tui.text.test_heads import HEADS


async def arrives(app, pilot, what) -> None:
    app.post_message(what)
    await pilot.pause()
    await pilot.pause()


def arrivals():
    return (
        Begun(HEADS),
        Looked(incidents.nothing_called(), final=False),
        Looked(incidents.missing_dump(), final=False),
        Looked(incidents.eight_in_five_groups(), final=True),
        Failed("gone"),
        Looked(incidents.nothing_called(), final=True),
        Looked(incidents.four_ranks(), final=True),
    )


async def test_a_search_that_is_typed_while_files_are_read_gets_every_key():
    async with showing(None) as (app, pilot):
        await pilot.press("slash", "r")
        prompt = app.main.query_one(Prompt)
        typed = "r"
        for number, what in enumerate(arrivals()):
            await arrives(app, pilot, what)
            assert prompt.display
            assert app.main.focused is prompt.input
            await pilot.press("q")  # it would quit
            typed += "q"
            assert prompt.input.value == typed, number
            assert app.is_running
            assert not app.main.query_one("#keys").display
        prompt.input.value = "rank 1"
        await pilot.press("enter")
        assert app.main.place is not None
        assert app.main.place.rank == 1
        assert not prompt.display
        assert app.main.focused is app.main.grid
        assert app.main.query_one("#keys").display


async def test_a_search_that_comes_too_early_is_not_lost():
    async with showing(None) as (app, pilot):
        await pilot.press("slash", *"rank 1", "enter")
        prompt = app.main.query_one(Prompt)
        assert prompt.display
        assert prompt.input.value == "rank 1"
        assert "files are being read; what was typed stays" in screen_text(app)
        await arrives(app, pilot, Looked(incidents.four_ranks(), final=True))
        await pilot.press("enter")
        assert app.main.place is not None
        assert app.main.place.rank == 1
        assert not prompt.display


async def test_escape_closes_it_after_findings_came():
    async with showing(None) as (app, pilot):
        await pilot.press("slash", "r")
        await arrives(app, pilot, Looked(incidents.four_ranks(), final=True))
        await pilot.press("escape")
        assert not app.main.query_one(Prompt).display
        assert app.main.focused is app.main.grid
        assert "?:help" in screen_text(app)


async def test_a_filter_is_typed_on_when_another_look_has_come():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("f", "4")
        for what in (Looked(incidents.nothing_called(), final=True), Looked(incidents.eight_in_five_groups(), final=True)):
            await arrives(app, pilot, what)
        await pilot.press("minus", "5", "enter")
        assert app.main.filter_text == "4-5"


async def test_nor_does_a_terminal_that_lost_the_focus_meanwhile_take_it_away():
    async with showing(None) as (app, pilot):
        await pilot.press("slash", "r")
        app.post_message(events.AppBlur())
        await arrives(app, pilot, Looked(incidents.four_ranks(), final=True))
        app.post_message(events.AppFocus())
        await pilot.pause()
        await pilot.press("a")
        assert app.main.query_one(Prompt).input.value == "ra"


async def test_a_click_beside_it_leaves_it_the_focus():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("slash", "r")
        await pilot.click("#grid", offset=(10, 3))
        await pilot.press("q")
        assert app.main.query_one(Prompt).input.value == "rq"


@pytest.mark.parametrize(("key", "dialog"), [("colon", PaletteDialog), ("question_mark", HelpDialog)])
async def test_a_dialog_stays_on_top_and_keeps_what_was_typed(key, dialog):
    async with showing(None) as (app, pilot):
        await pilot.press(key)
        if dialog is PaletteDialog:
            await pilot.press("q")
        for what in arrivals():
            await arrives(app, pilot, what)
            assert isinstance(app.screen, dialog)
        if dialog is PaletteDialog:
            await pilot.press("u")
            field = app.screen.focused
            assert field is not None
            assert field.value == "qu"  # type: ignore[attr-defined]
        await pilot.press("escape")
        assert app.screen is app.main
        assert app.main.focused is not None


@pytest.mark.parametrize(("key", "name"), [("1", "groups"), ("4", "findings"), ("5", "waits")])
async def test_a_pane_that_was_gone_to_while_files_are_read_keeps_the_focus(key, name):
    async with showing(None, (120, 40)) as (app, pilot):
        await pilot.press(key)
        for what in arrivals()[:4]:
            await arrives(app, pilot, what)
            assert app.main.focused is app.main.query_one(f"#{name}")
            assert app.main.pane(name).display


async def test_keys_have_somewhere_to_go_when_the_pane_with_the_focus_is_taken_away():
    async with showing(None, (120, 40)) as (app, pilot):
        await pilot.press("3")
        for what in arrivals():
            await arrives(app, pilot, what)
            assert app.main.focused is not None
