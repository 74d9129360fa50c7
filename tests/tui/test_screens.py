"""How the screens look, as text that can be read in review; a few as pictures with their colours."""

from __future__ import annotations

import pytest

from tests.support import incidents
from tests.tui.screens import screen_text, showing

SCREENS = {
    "first-60x20": ("eight_in_five_groups", (60, 20), ""),
    "first-80x24": ("eight_in_five_groups", (80, 24), ""),
    "first-120x40": ("eight_in_five_groups", (120, 40), ""),
    "entry-80x24": ("four_ranks", (80, 24), "j enter"),
    "stack-100x30": ("different_dtype", (100, 30), "enter enter"),
    "rank-100x30": ("eight_in_five_groups", (100, 30), "enter enter enter enter"),
    "findings-100x30": ("eight_in_five_groups", (100, 30), "4"),
    "waits-100x30": ("cycle", (100, 30), "5"),
    "tie-80x24": ("tie", (80, 24), ""),
    "missing-dump-80x24": ("missing_dump", (80, 24), ""),
    "healthy-80x24": ("healthy", (80, 24), ""),
    "nothing-called-80x24": ("nothing_called", (80, 24), ""),
    "no-files-80x24": ("no_files", (80, 24), ""),
    "unfolded-100x30": ("every_state", (100, 30), "u"),
    "help-100x40": ("four_ranks", (100, 40), "question_mark"),
    "commands-100x30": ("four_ranks", (100, 30), "colon"),
}


@pytest.mark.parametrize("name", SCREENS)
async def test_text(name, screen):
    incident, size, keys = SCREENS[name]
    async with showing(getattr(incidents, incident)(), size) as (app, pilot):
        await pilot.press(*keys.split())
        await pilot.pause()
        assert screen_text(app) == screen


async def test_ascii(screen):
    async with showing(incidents.eight_in_five_groups(), (80, 24), ascii_only=True) as (app, _):
        assert screen_text(app) == screen


async def test_zoomed_out(screen):
    async with showing(incidents.large(64, 2000, behind=(7, 9)), (100, 30)) as (app, pilot):
        await pilot.press(*["minus"] * 8)
        await pilot.pause()
        assert screen_text(app) == screen


@pytest.mark.parametrize("theme", ["dark", "light", "contrast"])
async def test_picture(theme, picture):
    async with showing(incidents.different_dtype(), (100, 30)) as (app, pilot):
        app.theme = theme
        await pilot.pause()
        assert app.export_screenshot(simplify=True) == picture
