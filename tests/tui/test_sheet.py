"""The worksheet from the main screen: open, send, save, and the word before quitting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.widgets import Input

from hangview.tui import UiOptions
from hangview.tui.app import HangviewApp
from hangview.tui.looker import Failed, Looked
from hangview.tui.prose import plain
from hangview.tui.prose_view import ProseView
from hangview.worksheet import prefill
from hangview.worksheet.store import SheetStore
from tests.support.incidents import eight_in_five_groups, four_ranks, missing_dump
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from textual.pilot import Pilot


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


async def test_control_c_again_quits():
    """The draft is kept."""
    async with showing(eight_in_five_groups()) as (app, pilot):
        await pilot.press("n", "W", "ctrl+c")
        assert on_top(app) == "LeaveDialog"
        await pilot.press("ctrl+c")
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


class SlowLooker:
    """Reads until the test says what it found."""

    mode, watches = "not watching", False

    def __init__(self, post) -> None:
        self.post = post

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def look_again(self) -> None: ...

    def checked_ago(self) -> None: ...


def still_reading() -> HangviewApp:
    return HangviewApp(("run",), UiOptions(), rest=0, looker=SlowLooker)  # type: ignore[arg-type]


async def test_what_is_typed_for_the_worksheet_while_the_files_are_read_reaches_it():
    app = still_reading()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w")
        assert "the worksheet opens when the files are read" in screen_text(app)
        assert "esc cancels" in screen_text(app)
        app.post_message(events.Key("tab", None))
        for char in "q4?s run":
            app.post_message(events.Key(_character_to_key(char), char))
        await pilot.pause()
        assert on_top(app) == "MainScreen"
        app.post_message(Looked(four_ranks(), final=True))
        for _ in range(50):
            await pilot.pause()
        assert on_top(app) == "WorksheetScreen"
        sheet = app.sheet()
        assert sheet is not None
        assert sheet.session.sheet["run"].typed == "q4?s run"
        await pilot.press("escape", "q", "4")
        assert app.main.center == "findings"


async def test_escape_cancels_the_wait_for_the_worksheet():
    app = still_reading()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w", "x")
        await pilot.press("escape")
        assert "cancelled" in screen_text(app)
        app.post_message(Looked(four_ranks(), final=True))
        for _ in range(10):
            await pilot.pause()
        assert on_top(app) == "MainScreen"
        await pilot.press("4")
        assert app.main.center == "findings"


async def test_files_that_cannot_be_read_end_the_wait_for_the_worksheet():
    app = still_reading()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w", "x")
        app.post_message(Failed("/gone: No such file or directory"))
        for _ in range(10):
            await pilot.pause()
        await pilot.press("question_mark")
        await pilot.pause()
        assert on_top(app) == "HelpDialog"
        await pilot.press("escape", "ctrl+q")


async def test_a_look_that_was_asked_for_says_how_it_ended_and_what_is_said_of_files_ends_with_them():
    """``looking again`` stood there for as long as nothing was pressed."""
    app = still_reading()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f")
        assert "nothing to look at yet: files are being read" in screen_text(app)
        app.post_message(Looked(four_ranks(), final=True))
        await pilot.pause()
        assert "nothing to look at yet" not in screen_text(app)
        await pilot.press("r")
        assert "looking again" in screen_text(app)
        app.post_message(Looked(four_ranks(), final=True))
        await pilot.pause()
        assert "looking again" not in screen_text(app)
        assert "looked again: the files say what they said before" in screen_text(app)
        await pilot.press("h")
        assert "looked again" not in screen_text(app)
        app.post_message(Looked(four_ranks(), final=True))  # of itself: nothing is said
        await pilot.pause()
        assert "looked again" not in screen_text(app)


async def press_ahead(app: HangviewApp, typed: str) -> None:
    for char in typed:
        app.post_message(events.Key(_character_to_key(char) if not char.isalnum() else char, char))


async def write_while_reading(app: HangviewApp, pilot: Pilot[int], typed: str) -> None:
    """The worksheet is asked for and written in while files are read; then they are."""
    await pilot.press("w")
    await press_ahead(app, typed)
    await pilot.pause()
    app.post_message(Looked(four_ranks(), final=True))
    for _ in range(50):
        await pilot.pause()


def keep_a_draft(text: str = "580.65") -> SheetStore:
    incident = four_ranks()
    store = SheetStore()
    store.keep(prefill(incident).with_text("driver", text), incident)
    store.close()
    return store


async def test_what_is_typed_ahead_answers_no_question_about_a_draft():
    """``Date is 2026`` typed while the files were read deleted a draft by its D."""
    keep_a_draft()
    app = still_reading()
    async with app.run_test(size=(80, 24)) as pilot:
        await write_while_reading(app, pilot, "Date yes on 2026")
        assert on_top(app) == "DraftDialog"
        shown = " ".join(" ".join(row.split("│")[1] for row in screen_text(app).splitlines() if row.count("│") == 2).split())
        assert "Date yes on 2026" in shown  # said, so that it can be typed again
        assert len(SheetStore().drafts(four_ranks())) == 1
        await pilot.press("enter")  # a key that was pressed when the question was there
        await pilot.pause()
        assert on_top(app) == "WorksheetScreen"


async def test_keys_in_one_write_delete_no_draft_either():
    keep_a_draft()
    async with showing(four_ranks()) as (app, pilot):
        await press_ahead(app, "wDyDyn")
        for _ in range(50):
            await pilot.pause()
        assert on_top(app) == "DraftDialog"
        assert len(SheetStore().drafts(four_ranks())) == 1
        await press_ahead(app, "Dy")  # the question about deleting was not seen before its answer was typed
        for _ in range(50):
            await pilot.pause()
        assert on_top(app) == "DraftDialog"
        assert len(SheetStore().drafts(four_ranks())) == 1
        await pilot.press("y")
        for _ in range(10):
            await pilot.pause()
        assert SheetStore().drafts(four_ranks()) == ()


async def test_no_file_is_replaced_by_a_key_that_was_typed_ahead(tmp_path):
    (tmp_path / "mine.md").write_text("of somebody else", encoding="utf-8")
    async with showing(four_ranks()) as (app, pilot):
        await pilot.press("s")
        dialog = app.screen
        dialog.query_one(Input).value = str(tmp_path / "mine.md")
        app.post_message(events.Key("enter", None))
        await press_ahead(app, "r")
        for _ in range(50):
            await pilot.pause()
        assert on_top(app) == "SaveDialog"
        assert (tmp_path / "mine.md").read_text(encoding="utf-8") == "of somebody else"
        await pilot.press("r")
        for _ in range(10):
            await pilot.pause()
        assert (tmp_path / "mine.md~").read_text(encoding="utf-8") == "of somebody else"


async def test_text_typed_ahead_without_a_field_goes_into_the_first_blank():
    """Its letters were taken for keys of the worksheet: the s of ``Date is`` opened the save dialog."""
    app = still_reading()
    async with app.run_test(size=(80, 24)) as pilot:
        await write_while_reading(app, pilot, "Date is 2026")
        assert on_top(app) == "WorksheetScreen"
        sheet = app.sheet()
        assert sheet is not None
        assert sheet.session.sheet["run"].typed == "Date is 2026"


async def test_the_word_before_quitting_knows_of_a_file_that_was_saved(tmp_path):
    async with showing(eight_in_five_groups(), (100, 30)) as (app, pilot):
        await pilot.press("n", "W")
        sheet = app.sheet()
        assert sheet is not None
        assert sheet.session.save(tmp_path / "mine.md").ok
        await pilot.press("n", "W", "q")
        assert on_top(app) == "LeaveDialog"
        shown = plain(app.screen.query_one("#leave", ProseView).prose)
        assert "was changed since it was saved to" in shown
        assert "was not saved" not in shown


def part() -> Looked:
    """What the files of one group say, with a name that the whole does not change."""
    return Looked(replace(missing_dump(), paths=four_ranks().paths), final=False)


def flat(app: HangviewApp) -> str:
    return " ".join(screen_text(app).split())


async def test_a_worksheet_opened_while_files_are_read_follows_them(tmp_path):
    async with showing(None, (120, 40)) as (app, pilot):
        app.post_message(part())
        await pilot.pause()
        await pilot.press("w", "tab", *"4711", "escape")
        await pilot.pause()
        sheet = app.sheet()
        assert sheet is not None
        assert "evidence still being read" in flat(app)
        assert sheet.session.sheet["missing"].prefilled == prefill(part().incident)["missing"].prefilled
        await pilot.press("S", "enter")
        await pilot.pause()
        assert "the evidence was still being read" in flat(app)
        assert (tmp_path / sheet.session.store.saved_to).exists()
        await pilot.press("j", "k")
        assert "the saved file has what was read until then: F5 saves it again" in flat(app)
        app.post_message(Looked(four_ranks(), final=True))
        await pilot.pause()
        assert sheet.session.sheet["missing"].prefilled == prefill(four_ranks())["missing"].prefilled
        assert sheet.session.sheet["run"].typed == "4711"
        assert "still being read" not in flat(app)
        assert "changed since" in flat(app)
        await pilot.press("f5")
        await pilot.pause()
        assert "the saved file has" not in flat(app)
        assert "still being read" not in flat(app)


async def test_saving_with_evidence_that_is_offered_says_so():
    async with showing(four_ranks(), (120, 40)) as (app, pilot):
        await pilot.press("w", "tab", *"4711", "escape")
        sheet = app.sheet()
        assert sheet is not None
        app.post_message(Looked(part().incident, final=True))
        await pilot.pause()
        await pilot.press("S", "enter")
        await pilot.pause()
        assert f"without new evidence of {len(sheet.session.changes)} fields" in flat(app)
