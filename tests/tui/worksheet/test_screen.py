"""The worksheet's form, driven by keys in a small app at the sizes of a login node."""

from __future__ import annotations

import os
import re
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.events import Paste
from textual.geometry import Region
from textual.widgets import Input, TextArea

from hangview.tui import UiOptions
from hangview.tui.app import HangviewApp
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.offers import ChangesDialog, DraftDialog, PreviewDialog
from hangview.tui.worksheet.paper import answers_of
from hangview.tui.worksheet.paper_view import Paper
from hangview.tui.worksheet.saving import OpenDialog, SaveDialog
from hangview.tui.worksheet.screen import WorksheetScreen
from hangview.worksheet import Mark, from_markdown, prefill, to_markdown
from hangview.worksheet.hypothesis import with_finding
from hangview.worksheet.store import SheetStore
from tests.support.incidents import eight_in_five_groups, four_ranks, missing_dump
from tests.tui.screens import screen_text
from tests.tui.worksheet.host import Host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from hangview.incident import Incident

#: Where a worksheet of the folder run-4711 is saved unless told otherwise.
DEFAULT_NAME = "hangview-worksheet-run-4711.md"
INCIDENT = four_ranks()
OTHER = replace(missing_dump(), paths=INCIDENT.paths)


def store_in(tmp_path: Path) -> SheetStore:
    return SheetStore(state_dir=tmp_path / "state", fallback_dir=tmp_path / "fallback", cwd=tmp_path)


@asynccontextmanager
async def form(
    tmp_path: Path,
    incident: Incident = INCIDENT,
    *,
    size: tuple[int, int] = (80, 24),
    ascii_only: bool = False,
    colours: bool = True,
) -> AsyncIterator[tuple[Host, WorksheetScreen, Pilot[int]]]:
    app = Host(store_in(tmp_path), incident, ascii_only=ascii_only, colours=colours)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield app, app.sheet, pilot


def dialog_text(app: Host) -> str:
    """The words inside the frame of the dialog on top, as one line: what shows beside the frame is not the dialog's."""
    inside = [row.split("│")[1] for row in screen_text(app).splitlines() if row.count("│") == 2]
    return re.sub(r"\s+", " ", " ".join(inside))


def rows_of(sheet: WorksheetScreen, key: str) -> str:
    """The rows of a field as they are drawn."""
    return sheet.form.shown(key)


def value(sheet: WorksheetScreen, key: str) -> str:
    """What a one-line field shows behind its label."""
    return rows_of(sheet, key).splitlines()[0][32:]


def mark(sheet: WorksheetScreen, key: str) -> Mark:
    return sheet.session.sheet[key].mark


def on_top(app: Host) -> type:
    return type(app.screen)


def said(app: Host) -> str:
    """What the worksheet says of what was just done, wherever it stands; nothing ever stands over a field."""
    assert not app._notifications
    return " ".join(screen_text(app).split())


async def until(pilot: Pilot[int], condition) -> None:
    """Wait for a thread's work; no longer than the test's patience."""
    for _ in range(400):
        await pilot.pause()
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError("it did not come to that")


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_every_section_and_field_can_be_reached(tmp_path: Path, size: tuple[int, int]) -> None:
    async with form(tmp_path, size=size) as (app, sheet, pilot):
        for number in range(1, 9):
            await pilot.press(str(number))
            await pilot.pause()
            assert f" {number}. " in screen_text(app)
        await pilot.press("g", "tab")
        keys = [field.key for field in sheet.session.sheet if not field.hidden]
        reached = []
        for _ in sheet.form.stops:  # a checklist has a stop for each of its lines and one for a text
            focused, at = app.focused, sheet.form.at
            assert focused is not None
            assert at is not None
            reached.append(at.key)
            assert sheet.form.region.contains_region(focused.region)
            await pilot.press("tab")
        assert list(dict.fromkeys(reached)) == keys
        assert sheet.form.at is not None
        assert sheet.form.at.key == keys[0]  # round the end


async def test_blank_prefilled_and_typed_look_different_without_colour(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, _, pilot):
        shown = screen_text(app)
        assert re.search(r"_ Run identifier +____", shown)
        assert re.search(r"= Backend +nccl", shown)
        assert "from profiling names of nccl_trace_rank_0" in shown
        await pilot.press("tab", "4", "7")
        assert re.search(r"\* Run identifier +47", screen_text(app))


async def test_what_is_typed_is_on_the_disk_soon_and_at_once_when_the_field_is_left(tmp_path: Path) -> None:
    async with form(tmp_path) as (_, sheet, pilot):
        await pilot.press("tab", "a", "b")
        assert sheet.session.sheet["run"].typed == "ab"
        await until(pilot, lambda: not sheet.session.unkept)
        (draft,) = store_in(tmp_path).drafts(INCIDENT)
        assert draft.sheet["run"].typed == "ab"
        assert draft.open_elsewhere
        await pilot.press("c", "tab")
        await until(pilot, lambda: not sheet.session.unkept)
        (draft,) = store_in(tmp_path).drafts(INCIDENT)
        assert draft.sheet["run"].typed == "abc"


async def test_flush_keeps_at_once_what_was_typed_this_moment(tmp_path: Path) -> None:
    async with form(tmp_path) as (_, sheet, pilot):
        await pilot.press("tab", "x")
        assert sheet.flush() == ""
        (draft,) = store_in(tmp_path).drafts(INCIDENT)
        assert draft.sheet["run"].typed == "x"


async def test_leaving_the_app_keeps_what_was_typed(tmp_path: Path) -> None:
    async with form(tmp_path) as (_, _, pilot):
        await pilot.press("tab", "x")
    (draft,) = store_in(tmp_path).drafts(INCIDENT)
    assert draft.sheet["run"].typed == "x"
    assert not draft.open_elsewhere


async def test_closing_and_opening_again_loses_nothing(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("tab", "x", "escape", "escape")
        assert on_top(app) is not WorksheetScreen
        (draft,) = store_in(tmp_path).drafts(INCIDENT)
        assert draft.sheet["run"].typed == "x"
        app.push_screen("worksheet")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert value(sheet, "run") == "x"


async def test_letters_are_keys_only_outside_of_fields(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("tab", *"sqpw18")
        assert on_top(app) is WorksheetScreen
        assert sheet.session.sheet["run"].typed == "sqpw18"
        await pilot.press("escape")
        assert app.focused is None
        await pilot.press("q")
        assert on_top(app) is not WorksheetScreen


async def test_saving_asks_where_once_and_says_which_file_was_written(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("tab", "4", "2", "escape", "s")
        assert on_top(app) is SaveDialog
        assert DEFAULT_NAME in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        path = tmp_path / DEFAULT_NAME
        assert path.read_text() == to_markdown(sheet.session.sheet)
        assert f"savedto{path}" in said(app).replace(" ", "")  # broken into rows
        assert not sheet.unsaved
        assert f"saved to {DEFAULT_NAME}" in screen_text(app)
        await pilot.press("tab", "3", "f5")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert "- **Run identifier:** 423" in path.read_text()
        assert "- **Run identifier:** 42\n" in path.with_name(f"{DEFAULT_NAME}~").read_text()


async def test_a_folder_is_no_file_and_the_name_in_it_can_be_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("s", "ctrl+u", *"notes", "enter")
        field = app.screen.query_one(Input)
        assert field.value == f"notes/{DEFAULT_NAME}"
        assert field.cursor_position == len(field.value)
        text = dialog_text(app).replace(" ", "")  # a path is broken at its slashes
        assert f"{tmp_path}/notes is a folder".replace(" ", "") in text
        assert f"enter saves it here instead: {tmp_path}/notes/{DEFAULT_NAME}".replace(" ", "") in text
        await pilot.press("~", "enter")
        await pilot.pause()
        assert (tmp_path / "notes" / f"{DEFAULT_NAME}~").read_text() == to_markdown(sheet.session.sheet)


async def test_a_folder_that_is_not_there_leaves_what_was_typed(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    async with form(tmp_path) as (app, _, pilot):
        await pilot.press("s", "ctrl+u", *"notse/a.md", "enter")
        field = app.screen.query_one(Input)
        assert field.value == "notse/a.md"
        assert field.cursor_position == len(field.value)
        text = "".join(screen_text(app).replace("│", "").split())
        assert "the folder does not exist" in dialog_text(app)
        assert f"{tmp_path}/notse/a.md could not be written".replace(" ", "") in text
        assert "enter saves it here".replace(" ", "") not in text
        assert on_top(app) is SaveDialog


async def test_a_file_of_someone_else_is_replaced_only_when_told_so(tmp_path: Path) -> None:
    path = tmp_path / DEFAULT_NAME
    path.write_text("Bob's\n")
    async with form(tmp_path) as (app, _, pilot):
        await pilot.press("s", "enter")
        await pilot.pause()
        assert path.read_text() == "Bob's\n"
        assert "is not from this worksheet" in dialog_text(app)
        await pilot.press("enter", "enter")  # a second enter is no answer
        assert path.read_text() == "Bob's\n"
        await pilot.press("r")
        await pilot.pause()
        assert path.read_text().startswith("# Incident worksheet")
        assert path.with_name(f"{DEFAULT_NAME}~").read_text() == "Bob's\n"


async def test_a_file_that_was_changed_meanwhile_is_said_at_once(tmp_path: Path) -> None:
    """Who saves again and looks elsewhere must see first that nothing was saved, and why."""
    path = tmp_path / DEFAULT_NAME
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("tab", "4", "2", "escape", "s", "enter")
        await pilot.pause()
        path.write_text("Bob's\n")
        await pilot.press("tab", "3", "f5")
        await pilot.pause()
        assert on_top(app) is SaveDialog
        assert "was changed by someone else since" in dialog_text(app)
        assert app.focused is None  # no field takes the answer
        await pilot.press("r")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert path.read_text() == to_markdown(sheet.session.sheet)
        assert path.with_name(f"{DEFAULT_NAME}~").read_text() == "Bob's\n"


async def test_a_saved_file_that_became_a_folder_is_said_at_once_and_the_field_has_another_place(tmp_path: Path) -> None:
    path = tmp_path / DEFAULT_NAME
    async with form(tmp_path) as (app, _, pilot):
        await pilot.press("tab", "4", "2", "escape", "s", "enter")
        await pilot.pause()
        path.unlink()
        path.mkdir()
        await pilot.press("tab", "3", "f5")
        await pilot.pause()
        assert "is a folder" in dialog_text(app)
        assert isinstance(app.focused, Input)


@pytest.mark.parametrize("key", ["s", "o", "p", "f1"])
async def test_control_c_closes_the_dialogs_as_escape_does(tmp_path: Path, key: str) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press(key)
        assert app.screen is not sheet
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.screen is sheet


async def test_control_c_leaves_a_field_and_then_the_worksheet(tmp_path: Path) -> None:
    """A line and an area, the first with its evidence selected: nothing is copied instead."""
    async with form(tmp_path) as (app, sheet, pilot):
        for key in ("evidence", "groups"):
            sheet.form.enter(key)
            await pilot.press("ctrl+c")
            assert sheet.form.at is None
        await pilot.press("ctrl+c")
        assert app.screen is not sheet


async def test_another_name_instead_of_replacing(tmp_path: Path) -> None:
    (tmp_path / DEFAULT_NAME).write_text("Bob's\n")
    async with form(tmp_path) as (app, _, pilot):
        await pilot.press("s", "enter", "o")
        await pilot.press("home", "m", "y", "-", "enter")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert (tmp_path / f"my-{DEFAULT_NAME}").exists()
        assert (tmp_path / DEFAULT_NAME).read_text() == "Bob's\n"


async def test_a_save_that_fails_says_why_and_offers_another_place(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    os.mkfifo(tmp_path / "here" / "sheet.md")
    async with form(tmp_path) as (app, _, pilot):
        await pilot.press("tab", "x", "escape", "S")
        app.screen.query_one(Input).value = "here/sheet.md"
        await pilot.press("enter")
        await pilot.pause()
        assert "it is no regular file" in dialog_text(app)
        assert app.screen.query_one(Input).value == "sheet.md"
        await pilot.press("enter")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert (tmp_path / "sheet.md").exists()


async def test_a_draft_that_cannot_be_kept_is_said_at_once_and_stays_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder\n")
    (tmp_path / "fallback").write_text("no folder\n")
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("tab", "x")
        assert "is NOT kept" in sheet.flush()
        await pilot.pause()
        assert "the draft is NOT kept" in said(app)
        assert "the draft is NOT kept" in screen_text(app)
        head = sheet.query_one("#sheet-head", Lines)
        assert "not saved" in head.text
        assert "draft kept" not in head.text
        (tmp_path / "state").unlink()
        await pilot.press("y")
        assert sheet.flush() == ""
        await pilot.pause()
        assert "kept" not in sheet.query_one("#sheet-news", Lines).text
        assert "draft kept, not saved" in head.text


async def test_an_earlier_draft_is_offered_and_gone_on_with(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep(prefill(INCIDENT).with_text("driver", "580.65"), INCIDENT)
    store.close()
    async with form(tmp_path) as (app, _, pilot):
        assert on_top(app) is DraftDialog
        shown = screen_text(app)
        assert "1 field written" in shown
        assert "rank 3 did not request" in shown
        await pilot.press("enter")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert re.search(r"\* Driver +580\.65", screen_text(app))


async def test_two_drafts_of_one_minute_are_told_apart(tmp_path: Path) -> None:
    for number, text in enumerate(("580.65", "580.82")):
        store = store_in(tmp_path)
        store.keep(prefill(INCIDENT).with_text("driver", text), INCIDENT)
        store.close()
        (path,) = (draft.path for draft in store_in(tmp_path).drafts(INCIDENT) if text in draft.text)
        os.utime(path, (1_760_000_040 + number, 1_760_000_040 + number))  # at 54:00 and 54:01
    async with form(tmp_path, size=(120, 40)) as (app, _, _pilot):
        assert on_top(app) is DraftDialog
        shown = screen_text(app)
        assert "1 field written (Driver: 580.65)" in shown
        assert "1 field written (Driver: 580.82)" in shown
        assert len(re.findall(r"\d\d:54:0[01] ", shown)) == 2


async def test_an_earlier_draft_may_be_left_where_it_is(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep(prefill(INCIDENT).with_text("driver", "580.65"), INCIDENT)
    store.close()
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("n")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert sheet.session.sheet == prefill(INCIDENT)
        await pilot.press("d")
        assert on_top(app) is DraftDialog
    assert len(store_in(tmp_path).drafts(INCIDENT)) == 1


async def test_a_draft_is_deleted_only_by_two_keys(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep(prefill(INCIDENT).with_text("driver", "580.65"), INCIDENT)
    async with form(tmp_path) as (app, _, pilot):
        await pilot.press("D", "y")
        await pilot.pause()
        assert "not deleted: it is open in another hangview" in screen_text(app)
        store.close()
        await pilot.press("D")
        await pilot.pause()
        assert "for good?" in dialog_text(app)
        assert "y:delete it" in dialog_text(app)
        await pilot.press("y")
        await pilot.pause()
        assert on_top(app) is not DraftDialog
    assert store_in(tmp_path).drafts(INCIDENT) == ()


@pytest.mark.parametrize("key", ["D", "n", "o", "enter", "escape", "x"])
async def test_any_other_key_keeps_the_draft_and_does_no_more(tmp_path: Path, key: str) -> None:
    store = store_in(tmp_path)
    store.keep(prefill(INCIDENT).with_text("driver", "580.65"), INCIDENT)
    store.close()
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("y")  # no question is asked yet
        await pilot.press("D", key)
        await pilot.pause()
        assert on_top(app) is DraftDialog
        assert not sheet.session.begun
        if key != "x":  # bound to nothing: the question is still there
            assert "the draft stays" in dialog_text(app)
            await pilot.press("y")
            assert on_top(app) is DraftDialog
    assert len(store_in(tmp_path).drafts(INCIDENT)) == 1


async def test_new_evidence_fills_an_untouched_form_by_itself(tmp_path: Path) -> None:
    async with form(tmp_path) as (_, sheet, pilot):
        sheet.update_incident(OTHER)
        await pilot.pause()
        assert value(sheet, "expected") == prefill(OTHER)["expected"].value
        assert sheet.query_one("#sheet-news", Lines).text == ""


async def test_new_evidence_never_touches_what_is_being_typed(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("missing")
        await pilot.press(*"node", "space", *"down")
        area = app.focused
        assert isinstance(area, TextArea)
        await pilot.press("left", "left")
        sheet.update_incident(OTHER)
        await pilot.pause()
        assert app.focused is area
        assert area.text == "node down"
        assert area.cursor_location[1] == len(area.text) - 2
        assert "by now: c looks" in screen_text(app)
        await pilot.press("escape", "c")
        assert on_top(app) is ChangesDialog
        await pilot.press("enter")
        await pilot.pause()
        assert sheet.session.changes == ()
        assert sheet.session.sheet["missing"].typed == area.text
        assert sheet.session.sheet["missing"].prefilled == prefill(OTHER)["missing"].prefilled
        assert "rank 2: no file of rank 2" in rows_of(sheet, "missing")


async def test_changes_that_are_unticked_are_left_and_shown_again_to_who_asks(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("tab", "x", "escape")
        sheet.update_incident(OTHER)
        await pilot.pause()
        offered = len(sheet.session.changes)
        await pilot.press("c")
        assert f"{offered} of {offered} ticked" in screen_text(app)
        await pilot.press("a")
        assert f"none of {offered} ticked: nothing is taken over" in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert on_top(app) is WorksheetScreen
        assert sheet.session.changes == ()
        assert sheet.session.sheet["missing"].prefilled == prefill(INCIDENT)["missing"].prefilled
        assert f"nothing taken over from the evidence; {offered} left as before: c shows" in said(app)
        await pilot.press("c")
        assert on_top(app) is ChangesDialog
        assert "declined before" in screen_text(app)
        await pilot.press("a", "enter")
        await pilot.pause()
        assert sheet.session.declined == ()
        assert sheet.session.sheet["missing"].prefilled == prefill(OTHER)["missing"].prefilled
        await pilot.press("c")
        assert "has not changed" in said(app)


async def test_a_ticks_all_where_some_are_not(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("tab", "x", "escape")
        sheet.update_incident(OTHER)
        await pilot.pause()
        offered = len(sheet.session.changes)
        await pilot.press("c", "space")
        assert f"{offered - 1} of {offered} ticked" in screen_text(app)
        await pilot.press("a")
        assert f"{offered} of {offered} ticked" in screen_text(app)


async def test_a_finding_is_sent_before_and_while_the_form_is_shown(tmp_path: Path) -> None:
    incident = eight_in_five_groups()
    app = Host(store_in(tmp_path), incident)
    first, second = incident.findings[1:3]
    assert app.sheet.add_finding(first) == "sent to the worksheet: Hypothesis 2"
    assert app.sheet.add_finding(first) == "it is in the worksheet already: Hypothesis 2"
    assert app.sheet.unsaved
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.sheet.add_finding(second)
        await pilot.pause()
        assert second.summary in " ".join(rows_of(app.sheet, "hypothesis.3").split())
        await pilot.press("h")
        assert app.sheet.form.at is not None
        assert app.sheet.form.at.key == "hypothesis.4"
        await pilot.press(*"mine")
        assert app.sheet.session.sheet["hypothesis.4"].typed == "mine"


async def test_a_digit_on_a_choice_is_its_answer_and_no_other_section(tmp_path: Path) -> None:
    """As in a numbered list. It led away to that section, and the next tab back into a field of it."""
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("changed_count")
        assert app.focused is not None
        answers = answers_of(sheet.session.sheet["changed_count"])
        for number in (2, 1, 9):
            await pilot.press(str(number))
            assert sheet.form.at is not None
            assert sheet.form.at.key == "changed_count"
        assert sheet.session.sheet["changed_count"].typed == answers[0]  # there is no ninth
        order = [stop.key for stop in sheet.form.stops]
        await pilot.press("tab")
        assert getattr(sheet.form.at, "key", "") == order[order.index("changed_count") + 1]


async def test_choices_ticks_and_undo(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("restore")
        await pilot.press("down", "space")
        await pilot.pause()
        assert sheet.session.sheet["restore"].typed == "restored, not verified"
        assert "(x) restored, not verified" in screen_text(app)
        await pilot.press("up", "up")
        assert sheet.session.sheet["restore"].typed == "restored and verified"
        await pilot.press("backspace")
        await pilot.pause()
        assert mark(sheet, "restore") is Mark.BLANK
        sheet.form.enter("trials")
        await pilot.press("space", "tab", "space", "space")
        await pilot.pause()
        assert [item.checked for item in sheet.session.sheet["trials"].items] == [True, False, False]
        assert "[x] groups were made" in screen_text(app)
        sheet.form.enter("backend")
        await pilot.press("end", *"-patched")
        assert mark(sheet, "backend") is Mark.EDITED
        await pilot.press("ctrl+z")
        await pilot.pause()
        assert mark(sheet, "backend") is Mark.PREFILLED


async def test_an_emptied_prefilled_line_says_again_what_the_evidence_says(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("backend")
        await pilot.press("end", "ctrl+u")
        await pilot.pause()
        assert isinstance(app.focused, Input)
        assert app.focused.value == ""
        await pilot.press("tab")
        await pilot.pause()
        assert value(sheet, "backend") == "nccl"
        assert not sheet.session.begun


async def test_opening_a_saved_worksheet_goes_on_where_it_stopped(tmp_path: Path) -> None:
    text = to_markdown(prefill(INCIDENT).with_text("driver", "1").with_text("model", "two\nlines"))
    text = text.replace("## 4.", "## Call with Bob\n\nhe restarted it\n\n## 4.")
    (tmp_path / "old.md").write_text(text)
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("o")
        assert on_top(app) is OpenDialog
        app.screen.query_one(Input).value = "nowhere.md"
        await pilot.press("enter")
        await pilot.pause()
        assert "there is no such file" in dialog_text(app)
        app.screen.query_one(Input).value = "old.md"
        await pilot.press("enter")
        await pilot.pause()
        assert sheet.session.sheet == from_markdown(text)
        assert not sheet.unsaved
        assert value(sheet, "driver") == "1"
        assert "he restarted it" in rows_of(sheet, "devices")
        sheet.form.enter("model")
        area = app.focused
        assert isinstance(area, TextArea)
        assert area.text == "two\nlines"


async def test_white_space_that_a_terminal_cannot_show_is_no_edit(tmp_path: Path) -> None:
    odd = "a\r\nb\x0bc\u2028d"
    text = to_markdown(prefill(INCIDENT).with_text("against", odd))
    (tmp_path / "old.md").write_bytes(text.encode())
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("o")
        app.screen.query_one(Input).value = "old.md"
        await pilot.press("enter")
        await pilot.pause()
        await pilot.pause()
        assert sheet.session.sheet["against"].typed == odd
        assert not sheet.unsaved


async def test_preview_shows_the_markdown_and_goes_away(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, _, pilot):
        await pilot.press("p")
        await pilot.pause()
        assert on_top(app) is PreviewDialog
        assert "Incident worksheet: run-4711" in screen_text(app)
        await pilot.press("escape")
        assert on_top(app) is WorksheetScreen


async def test_ascii_alone_where_asked_for(tmp_path: Path) -> None:
    async with form(tmp_path, ascii_only=True) as (app, _, pilot):
        for number in "12345678":
            await pilot.press(number)
            await pilot.pause()
            shown = screen_text(app)
            assert shown.isascii(), number
        await pilot.press("s")
        await pilot.pause()
        assert screen_text(app).isascii()


async def test_in_ascii_what_is_cut_ends_with_three_dots(tmp_path: Path) -> None:
    """The sign is three cells wide there: cut for one, a value would end like a sentence, with a single dot."""
    long = replace(INCIDENT, paths=(f"run-{'7' * 90}",))
    async with form(tmp_path, long, ascii_only=True, size=(60, 24)) as (_, sheet, pilot):
        await pilot.press("j")  # the control of no field covers what is drawn
        shown = [row.text.rstrip() for row in sheet.query_one(Paper).render_lines(Region(0, 0, 60, 12))]
        assert any(re.search(r"run-7+\.\.\.$", row) for row in shown), shown
        assert not any(re.search(r"run-7+\.$", row) for row in shown)
        head = sheet.query_one("#sheet-head", Lines)
        assert head.size.height == 1
        assert head.text.endswith("...")


async def test_without_colours_every_field_still_has_a_place(tmp_path: Path) -> None:
    async with form(tmp_path, colours=False) as (app, sheet, pilot):
        await pilot.press("7")
        sheet.form.enter("against")
        await pilot.pause()
        assert "____" in screen_text(app)


@pytest.mark.parametrize("field", ["run", "changed_count", "against", "trials"])
async def test_without_colours_the_field_with_the_focus_can_be_told(
    tmp_path: Path, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Backgrounds are gone there: something that the cursor is in must be reversed or underlined."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with form(tmp_path, colours=False) as (app, sheet, pilot):
        sheet.form.enter(field)
        await pilot.pause()
        assert app.focused is not None
        region = app.focused.region
        strips = app.screen._compositor.render_strips()[region.y : region.bottom]
        styles = [style for strip in strips for _, style, _ in strip.crop(region.x, region.right)]
        assert any(style is not None and (style.reverse or style.underline) for style in styles)


async def test_without_colours_the_draft_that_would_be_taken_can_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    store = store_in(tmp_path)
    store.keep(prefill(INCIDENT).with_text("driver", "580.65"), INCIDENT)
    store.close()
    async with form(tmp_path, colours=False) as (app, _, _):
        assert on_top(app) is DraftDialog
        assert app.focused is not None
        top = app.focused.region.y
        (style,) = {style for text, style, _ in app.screen._compositor.render_strips()[top] if "1 field written" in text}
        assert style is not None
        assert style.underline


async def test_the_editor_is_refused_where_the_terminal_cannot_be_handed_over(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        await pilot.press("f4")
        assert "go to a text field first" in said(app)
        sheet.form.enter("against")
        await pilot.press("x", "f4")
        await pilot.pause()
        assert "cannot be handed to an editor" in said(app)
        assert sheet.session.sheet["against"].typed == "x"


async def test_names_from_files_are_no_markup(tmp_path: Path) -> None:
    odd = replace(INCIDENT, paths=("run[/bold][red]x", "[@click=app.bell]y"))
    async with form(tmp_path, odd) as (app, _, pilot):
        await pilot.press("s")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert "run[/bold][red]x" in screen_text(app)


async def test_the_key_line_says_what_keys_do_now(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):

        def last() -> str:
            return screen_text(app).splitlines()[-1]

        assert last().startswith("[keys]")
        await pilot.press("tab")
        assert last().startswith("[typing] Run identifier  esc:leave the field")
        await pilot.press("escape")
        assert last().startswith("[keys]")
        assert "leave the field" not in last()
        sheet.form.enter("restore")
        await pilot.pause()
        assert re.match(r"\[choosing\] \S.*  down:next answer", last())
        sheet.form.enter("trials")
        await pilot.pause()
        assert re.match(r"\[ticking\] \S.*  space:tick", last())
        await pilot.press("7")
        assert last().startswith("[keys]")
        await pilot.press("S")
        assert on_top(app) is SaveDialog
        await pilot.press("escape")
        await pilot.pause()
        assert last().startswith("[keys]")


async def test_what_is_typed_on_evidence_stands_in_its_place(tmp_path: Path) -> None:
    """Not behind it: "nccl" and "gloo" make no "ncclgloo"."""
    async with form(tmp_path) as (_, sheet, pilot):
        sheet.form.enter("backend")
        await pilot.press(*"gloo")
        assert sheet.session.sheet["backend"].typed == "gloo"
        assert "the evidence says nccl" in rows_of(sheet, "backend")
        await pilot.press("tab", "shift+tab", *"2")  # one's own words are gone on with
        assert sheet.session.sheet["backend"].typed == "gloo2"
        sheet.form.enter("missing")
        await pilot.press("a", "enter", "b", "escape")
        sheet.form.enter("missing")
        await pilot.press("c")
        assert sheet.session.sheet["missing"].typed == "a\nbc"


@pytest.mark.parametrize("lines", [12, 40])
async def test_undo_and_redo_of_many_lines_go_back_and_forth(tmp_path: Path, lines: int) -> None:
    """textual looks for the cursor on a line that its undo has just taken away, where the scrollbar goes with it."""
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("missing")
        await pilot.pause()
        text = "\n".join(f"line {number}" for number in range(lines))
        field = app.screen.query_one(TextArea)
        before = field.text
        app.post_message(Paste(text))
        for _ in range(5):
            await pilot.pause()
        after = field.text
        assert after.endswith(text)
        for key, told in (("ctrl+z", before), ("ctrl+y", after), ("ctrl+z", before)):
            await pilot.press(key)
            await pilot.pause()
            assert field.text == told


async def test_a_saved_file_that_is_gone_is_unsaved(tmp_path: Path) -> None:
    async with form(tmp_path) as (_, sheet, pilot):
        sheet.form.enter("driver")
        await pilot.press("5", "escape", "s", "enter")
        await pilot.pause()
        assert not sheet.unsaved
        (tmp_path / DEFAULT_NAME).unlink()
        assert sheet.unsaved


async def test_that_typing_replaces_what_the_evidence_says_is_said_with_the_way_back(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("driver")
        await pilot.press("5")
        assert "in place of the evidence" not in screen_text(app)  # there was none
        sheet.form.enter("backend")
        await pilot.press("x")
        assert "what is typed stands in place of the evidence (nccl); ^Z restores it" in screen_text(app)
        await pilot.press("ctrl+z")
        assert "in place of the evidence" not in screen_text(app)
        assert (value(sheet, "backend"), mark(sheet, "backend")) == ("nccl", Mark.PREFILLED)
        await pilot.press("end", "x", "tab")
        assert "in place of the evidence" not in screen_text(app)  # another field by now


async def test_leaving_the_question_about_a_draft_opens_no_worksheet_and_is_asked_again(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep(prefill(INCIDENT).with_text("driver", "580.65"), INCIDENT)
    store.close()
    async with form(tmp_path) as (app, sheet, pilot):
        for _ in range(2):
            assert on_top(app) is DraftDialog
            await pilot.press("escape")
            await pilot.pause()
            assert len(app.screen_stack) == 1
            assert not sheet.session.begun
            app.push_screen("worksheet")
            await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert value(sheet, "driver") == "580.65"
        store = store_in(tmp_path)
        store.keep(prefill(INCIDENT).with_text("driver", "1"), INCIDENT)
        store.close()
        await pilot.press("d")
        assert on_top(app) is DraftDialog
        await pilot.press("escape")  # asked for by hand, it leads back to the worksheet
        await pilot.pause()
        assert on_top(app) is WorksheetScreen


async def test_what_is_typed_last_belongs_to_the_field_that_is_left(tmp_path: Path) -> None:
    """One control serves all fields: its news must never be taken for the next field's."""
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("run")
        control = app.focused
        assert isinstance(control, Input)
        control.value = "first"  # its message is not heard before the next field is entered
        sheet.form.enter("driver")
        control.value = "second"
        sheet.form.leave()
        await pilot.pause()
        assert [(field.key, field.typed) for field in sheet.session.sheet if field.typed] == [
            ("run", "first"),
            ("driver", "second"),
        ]


async def test_a_click_enters_a_field_ticks_a_line_and_chooses_an_answer(tmp_path: Path) -> None:
    async with form(tmp_path, size=(100, 60)) as (app, sheet, pilot):

        def place(words: str) -> tuple[int, int]:
            return next((row.index(words), y) for y, row in enumerate(screen_text(app).splitlines()) if words in row)

        await pilot.click(offset=place("____"))
        await pilot.press("x")
        assert sheet.session.sheet["run"].typed == "x"
        await pilot.press("escape", "8")
        await pilot.click(offset=place("( ) failed"))
        await pilot.pause()
        assert sheet.session.sheet["restore"].typed == "failed"
        await pilot.click(offset=place("[ ] every participant"))
        await pilot.pause()
        assert [item.checked for item in sheet.session.sheet["trials"].items] == [False, True, False]


async def test_a_long_text_is_shown_to_twelve_rows_and_says_so(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("against")
        area = app.focused
        assert isinstance(area, TextArea)
        area.text = "\n".join(f"line {number}" for number in range(20))
        await pilot.pause()
        assert area.size.height == 12
        await pilot.press("escape")
        await pilot.pause()
        assert "… 9 more rows" in rows_of(sheet, "against")
        assert sheet.session.sheet["against"].typed.endswith("line 19")


async def test_a_draft_in_which_nothing_was_written_is_not_offered(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep(prefill(INCIDENT), INCIDENT)
    store.close()
    assert len(store_in(tmp_path).drafts(INCIDENT)) == 1
    async with form(tmp_path) as (app, _, pilot):
        assert on_top(app) is WorksheetScreen
        await pilot.press("d")  # asked for, it is there
        assert on_top(app) is DraftDialog


async def test_a_draft_that_findings_were_sent_to_is_offered(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    incident = eight_in_five_groups()
    sheet, _ = with_finding(prefill(incident), incident.findings[2], incident)
    store.keep(sheet, incident)
    store.close()
    async with form(tmp_path, incident) as (app, _, _pilot):
        assert on_top(app) is DraftDialog
        assert "0 fields" not in screen_text(app)


async def test_the_end_of_a_pasted_text_is_in_sight(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        sheet.form.enter("missing")
        await pilot.pause()
        app.post_message(Paste("\n".join(f"line {number}" for number in range(300)) + "\nthe end"))
        for _ in range(5):
            await pilot.pause()
        assert sheet.session.sheet["missing"].typed.endswith("line 299\nthe end")
        assert "the end" in screen_text(app)


@pytest.mark.parametrize("size", [(40, 14), (80, 24), (160, 48)])
async def test_what_is_said_stands_over_no_field_and_leaves_with_the_next_key(tmp_path: Path, size: tuple[int, int]) -> None:
    """In the key line, or above the form where it is too long for that; the mode stays in sight."""
    app = HangviewApp(INCIDENT.paths, UiOptions(), incident=INCIDENT, rest=0)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press("w")
        await pilot.pause()
        sheet = app.screen
        assert isinstance(sheet, WorksheetScreen)
        for key, word in (("c", "has not changed"), ("x", "x does nothing here")):
            await pilot.press(key)
            text = screen_text(app)
            assert word in " ".join(text.split()), key
            assert "[keys]" in text
            assert not app._notifications
            await pilot.press("j")
            assert word not in " ".join(screen_text(app).split()), key
        sheet.form.enter("model")
        await pilot.pause()
        sheet.say("a long notice " * 12)
        await pilot.pause()
        assert app.focused is not None
        assert app.screen.get_widget_at(*app.focused.region.offset)[0] is app.focused  # nothing lies over the field
        assert "[typing]" in screen_text(app)


async def test_enter_begins_at_the_first_blank(tmp_path: Path) -> None:
    async with form(tmp_path) as (app, sheet, pilot):
        assert "enter:first blank" in screen_text(app)
        await pilot.press("enter", *"abc")
        blank = next(field.key for field in prefill(INCIDENT) if field.mark is Mark.BLANK)
        assert sheet.session.sheet[blank].typed == "abc"
        await pilot.press("escape", "7", "enter")  # from the section that was gone to
        assert sheet.form.at is not None
        assert sheet.session.sheet[sheet.form.at.key].mark is Mark.BLANK
        assert sheet.form.current_section >= 7
