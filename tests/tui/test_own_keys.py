"""Theme and keys of a person's own, as the configuration hands them over."""

from __future__ import annotations

from hangview.settings import BY_NAME
from hangview.tui import UiOptions
from hangview.tui.app import HangviewApp
from hangview.tui.main.screen import MainScreen
from hangview.tui.worksheet.screen import WorksheetScreen
from tests.support import incidents

KEYS = BY_NAME["keys"].type.check(
    {"next_finding": ["ctrl+n", "z"], "worksheet": "n", "sheet_close": "x", "pane_findings": [], "search": "f9"}
)


async def test_keys_and_theme_of_the_configuration():
    app = HangviewApp((), UiOptions(keys=KEYS, theme="light"), incident=incidents.four_ranks())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert app.theme == "light"
        for key in ("4", "slash", "w"):  # no longer theirs
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, MainScreen)
            assert app.focused is None or app.focused.id != "prompt"
        await pilot.press("n")
        await pilot.pause()
        assert isinstance(app.screen, WorksheetScreen)
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, WorksheetScreen)
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)


async def test_without_a_word_all_is_as_it_was():
    app = HangviewApp((), UiOptions(), incident=incidents.four_ranks())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert app.theme == "dark"
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(app.screen, WorksheetScreen)
