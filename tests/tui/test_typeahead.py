"""Keys that arrive in one write do what they do one by one: nothing is lost, and no text becomes a command."""

from __future__ import annotations

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.widgets import Input

from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.worksheet.keys import Mode
from hangview.tui.worksheet.screen import WorksheetScreen
from hangview.worksheet.layout import FieldKind
from tests.support.incidents import eight_in_five_groups, four_ranks
from tests.tui.screens import screen_text, showing

_NAMED = {"\t": "tab", "\r": "enter", "\x1b": "escape"}


async def at_once(app, pilot, typed: str) -> None:
    """All keys of ``typed`` before the program has answered the first."""
    for char in typed:
        key = _NAMED.get(char) or (char if char.isalnum() else _character_to_key(char))
        app.post_message(events.Key(key, char if char.isprintable() else None))
    await at_rest(app, pilot)


async def at_rest(app, pilot) -> None:
    for _ in range(500):
        await pilot.pause()
        if app._ahead._in_hand is None and not app._ahead._waiting:
            await pilot.pause()
            return
    raise AssertionError("keys are still on their way")


def on_top(app) -> str:
    return type(app.screen).__name__


async def test_a_section_then_tab_then_text_in_one_write():
    """The section's first field gets the text, also where the section does not reach the top of a high screen."""
    async with showing(four_ranks(), (160, 48)) as (app, pilot):
        await at_once(app, pilot, "w")
        sheet = app.screen
        assert isinstance(sheet, WorksheetScreen)
        typed = {}
        for number in range(1, 9):
            section = sheet.session.sheet.sections[number - 1]
            first = next(field for field in section.fields if not field.hidden)
            await at_once(app, pilot, f"{number}\tsq w{number}")
            typed[first.key] = f"sq w{number}"
            assert {field.key: field.typed for field in sheet.session.sheet if field.typed} == typed
            assert sheet.mode is Mode.TYPING
            await at_once(app, pilot, "\x1b")


async def test_from_the_grid_into_all_sections_in_one_write():
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, "w" + "".join(f"{number}\ttext {number}\x1b" for number in range(1, 9)))
        sheet = app.screen
        assert isinstance(sheet, WorksheetScreen)
        typed = [[field.typed for field in section.fields if field.typed] for section in sheet.session.sheet.sections]
        assert typed == [[f"text {number}"] for number in range(1, 9)]
        assert sheet.mode is Mode.KEYS


async def test_a_search_in_one_write():
    async with showing(eight_in_five_groups()) as (app, pilot):
        await at_once(app, pilot, "/rank 5\r")
        assert app.main.place is not None
        assert app.main.place.rank == 5
        await at_once(app, pilot, "/rank 6\r\x1b4")
        assert app.main.place.rank == 6
        assert app.main.center == "findings"


async def test_a_paste_after_tab_goes_into_the_field():
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, "w")
        sheet = app.screen
        assert isinstance(sheet, WorksheetScreen)
        app.post_message(events.Key("tab", None))
        app.post_message(events.Paste("from the ticket"))
        app.post_message(events.Key("x", "x"))
        await at_rest(app, pilot)
        assert sheet.session.sheet["run"].typed == "from the ticketx"


DIALOGS = {
    "help": "?",
    "commands": ":",
    "save": "s",
    "worksheet: save as": "wS",
    "worksheet: open": "wo",
    "worksheet: preview": "wp",
    "quit?": "W\x1bnWq",
}


@pytest.mark.parametrize("name", DIALOGS)
@pytest.mark.parametrize("twice", ["\r\r", "\x1b\x1b"])
async def test_enter_or_escape_twice_in_one_go_and_the_app_goes_on(name, twice, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with showing(eight_in_five_groups()) as (app, pilot):
        await at_once(app, pilot, DIALOGS[name])
        assert on_top(app) not in ("MainScreen", "WorksheetScreen")
        await at_once(app, pilot, twice)
        for _ in range(4):  # what the first of them was for a dialog that stays
            if on_top(app) not in ("MainScreen", "WorksheetScreen"):
                await at_once(app, pilot, "\x1b")
        assert on_top(app) in ("MainScreen", "WorksheetScreen")
        while on_top(app) == "WorksheetScreen":
            await at_once(app, pilot, "\x1b")
        await at_once(app, pilot, "4")
        assert app.main.center == "findings"
        assert app.is_running
        assert "findings" in screen_text(app)


async def test_a_palette_command_in_one_write():
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, ":waits\r")
        assert on_top(app) == "MainScreen"
        assert app.main.center == "waits"


async def test_a_key_whose_widget_is_gone_holds_up_nothing(monkeypatch):
    monkeypatch.setattr("hangview.tui.typeahead.PATIENCE", 0.05)
    async with showing(four_ranks()) as (app, pilot):
        await pilot.press("slash")
        assert isinstance(app.focused, Input)
        lost = events.Key("x", "x")
        app._ahead._in_hand = lost  # as if it had been sent to something that is gone
        app.post_message(events.Key("y", "y"))
        for _ in range(200):
            await pilot.pause(0.01)
            if app.main.query_one(Input).value == "y":
                break
        assert app.main.query_one(Input).value == "y"


async def test_a_second_dismissal_is_complete_at_once():
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, "?")
        dialog = app.screen
        assert isinstance(dialog, HelpDialog)
        dialog.dismiss()
        second = dialog.dismiss()
        assert second.is_done
        await second
        await at_rest(app, pilot)
        assert on_top(app) == "MainScreen"


async def test_a_long_text_typed_in_one_go_costs_few_keys(monkeypatch):
    """Without a bracketed paste a terminal sends pasted text as keys; they come out as they were, in a handful of turns."""
    lines = [f"[rank{number}] ERROR collective timed out é→ {number}" for number in range(60)]
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, "w")
        sheet = app.screen
        assert isinstance(sheet, WorksheetScreen)
        sheet.form.enter(next(stop.key for stop in sheet.form.stops if stop.kind is FieldKind.TEXT))
        await pilot.pause()
        sent = []
        hand_on = app._ahead._send

        async def count(event):
            sent.append(event)
            await hand_on(event)

        monkeypatch.setattr(app._ahead, "_send", count)
        await at_once(app, pilot, "\r".join(lines) + "\x1bq")
        assert [field.typed for field in sheet.session.sheet if field.typed] == ["\n".join(lines)]
        assert on_top(app) == "MainScreen"
        assert len(sent) < 20


async def test_a_line_typed_in_one_go_stays_a_line():
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, "/rank 2\r")
        assert app.main.place is not None
        assert app.main.place.rank == 2


async def test_of_pasted_lines_a_field_of_one_line_takes_all():
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, "w1\t")
        app.post_message(events.Paste("job 42\n  node-03\n\nnode-04\n"))
        await at_rest(app, pilot)
        sheet = app.screen
        assert isinstance(sheet, WorksheetScreen)
        assert sheet.session.sheet["run"].typed == "job 42 node-03 node-04"


async def test_of_more_than_a_line_can_hold_it_is_said_how_much_was_left_out():
    async with showing(four_ranks()) as (app, pilot):
        await at_once(app, pilot, "w1\t")
        app.post_message(events.Paste("1234\n" * 20_000))
        await at_rest(app, pilot)
        sheet = app.screen
        assert isinstance(sheet, WorksheetScreen)
        assert len(sheet.session.sheet["run"].typed) == 10_000
        assert "89,999 characters left out" in " ".join(screen_text(app).split())


async def test_pasted_lines_in_a_search_are_looked_for_as_one():
    async with showing(eight_in_five_groups()) as (app, pilot):
        await at_once(app, pilot, "/")
        app.post_message(events.Paste("rank\n5\n"))
        await at_once(app, pilot, "\r")
        assert app.main.place is not None
        assert app.main.place.rank == 5
