"""The worksheet from the main screen: open, send, save, and the word before quitting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.tui.prose import plain
from tests.support.incidents import eight_in_five_groups, four_ranks
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from hangview.tui.app import HangviewApp


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def on_top(app: HangviewApp) -> str:
    """The name of the screen that is on top."""
    return type(app.screen).__name__


async def test_opens_and_comes_back():
    async with showing(four_ranks()) as (app, pilot):
        await pilot.press("w")
        await pilot.pause()
        assert on_top(app) == "WorksheetScreen"
        assert "Run identifier" in screen_text(app)
        await pilot.press("q")
        await pilot.pause()
        assert on_top(app) == "MainScreen"


async def test_a_finding_is_sent_with_one_key():
    async with showing(eight_in_five_groups()) as (app, pilot):
        await pilot.press("W")  # the first finding is what the hypothesis is filled in with
        assert "already" in plain(app.main.prose("status").prose)
        await pilot.press("n", "W")
        assert "sent to the worksheet" in plain(app.main.prose("status").prose)
        sheet = app.sheet()
        assert sheet is not None
        assert sheet.unsaved


async def test_quitting_with_an_unsaved_worksheet_asks_first():
    async with showing(eight_in_five_groups()) as (app, pilot):
        await pilot.press("n", "W", "q")
        assert on_top(app) == "LeaveDialog"
        assert "not saved" in screen_text(app)
        await pilot.press("escape")
        assert on_top(app) == "MainScreen"
        await pilot.press("q", "s")
        assert on_top(app) == "SaveDialog"
        await pilot.press("escape")
        assert on_top(app) == "MainScreen"  # not saved, so not quit
        await pilot.press("q", "y")
    assert app.return_value == 1


async def test_quitting_with_an_untouched_worksheet_does_not_ask():
    async with showing(four_ranks()) as (app, pilot):
        await pilot.press("w")
        await pilot.pause()
        await pilot.press("q")
        await pilot.pause()
        await pilot.press("q")
    assert app.return_value == 1


async def test_the_draft_is_kept_when_quitting_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with showing(eight_in_five_groups()) as (_, pilot):
        await pilot.press("n", "W", "ctrl+q")
    drafts = list((tmp_path / "state").rglob("*.md"))
    assert len(drafts) == 1
    assert "rank 0 waits" in drafts[0].read_text(encoding="utf-8")


async def test_no_worksheet_before_there_is_an_incident():
    async with showing(None) as (app, pilot):
        await pilot.press("w")
        assert on_top(app) == "MainScreen"
        assert "no worksheet yet" in plain(app.main.prose("status").prose)
