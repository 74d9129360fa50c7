"""What stands in the middle: the grid, the files, or what there is before the first call."""

from __future__ import annotations

from dataclasses import replace

from hangview.schema import SourceStatus
from hangview.tui.looker import Looked
from hangview.tui.prose import plain
from tests.support import incidents
from tests.tui.screens import showing


def text(app) -> str:
    return plain(app.main.prose("text").prose)


async def look(app, pilot, incident) -> None:
    app.post_message(Looked(incident, final=True))
    await pilot.pause()


async def test_the_list_of_files_is_that_of_the_newest_look():
    async with showing(incidents.missing_dump(), (100, 30)) as (app, pilot):
        await pilot.press("i")
        assert "3 files looked at" in text(app)
        assert "no dump: rank 2" in text(app)
        await look(app, pilot, incidents.four_ranks())
        assert "4 files looked at" in text(app)
        assert "no dump" not in text(app)
        assert app.main.center == "text"
        await pilot.press("escape")
        assert app.main.focused is app.main.grid


async def test_a_list_that_became_shorter_is_still_in_sight():
    few = incidents.four_ranks()
    many = tuple(replace(few.records.sources[0], reason=f"note {number}", status=SourceStatus.CUT) for number in range(30))
    async with showing(replace(few, records=replace(few.records, sources=many)), (100, 30)) as (app, pilot):
        await pilot.press("i", "G")
        assert app.main.prose("text").topmost > 0
        await look(app, pilot, few)
        assert app.main.prose("text").topmost == 0


async def test_before_the_first_call_the_list_of_files_stays_and_leads_back():
    async with showing(incidents.nothing_called(), (100, 30)) as (app, pilot):
        before = text(app)
        assert "no collective call was recorded" in before
        for back in ("escape", "2"):
            await pilot.press("i")
            assert text(app).startswith("3 files looked at")
            await look(app, pilot, incidents.nothing_called())
            assert text(app).startswith("3 files looked at")
            await pilot.press(back)
            assert text(app) == before
            assert app.is_running
        await look(app, pilot, incidents.four_ranks())
        assert app.main.center == "grid"


async def test_the_grid_comes_when_it_was_asked_for_while_reading():
    async with showing(None, (100, 30)) as (app, pilot):
        await pilot.press("2")
        await look(app, pilot, incidents.four_ranks())
        assert app.main.center == "grid"
        assert app.main.pane("grid").display


async def test_one_key_leaves_the_files_however_deep_one_was_below_the_grid():
    """What is out of sight is not left level by level."""
    async with showing(incidents.four_ranks(), (100, 30)) as (app, pilot):
        await pilot.press("enter", "enter", "i")
        assert app.main.center == "text"
        await pilot.press("escape")
        assert app.main.center == "grid"
        assert app.main.level == 2
