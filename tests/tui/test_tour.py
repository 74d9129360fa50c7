"""The tour: eight key presses, each of which shows what the tour says it shows."""

from __future__ import annotations

import pytest

from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import plain
from hangview.tui.tour import STEPS, Tour
from tests.support import incidents
from tests.tui.screens import screen_text, showing


def test_eight_keys():
    assert len(STEPS) == 8


def test_only_the_key_that_is_waited_for_goes_on():
    tour = Tour()
    assert not tour.press("j", USUAL)
    assert tour.at == 0
    for key in ("enter", "enter", "escape", "n", "5", "4", "w", "q"):
        assert tour.press(key, USUAL), key
    assert tour.done
    assert not tour.press("q", USUAL)


def test_it_names_the_live_keys():
    live = LiveKeys({"details": ("f9",)})
    tour = Tour()
    assert "Press F9" in tour.words(live).text
    assert tour.press("f9", live)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 60)])
async def test_it_leads_through_the_incident(size):
    async with showing(incidents.eight_in_five_groups(), size, tour=True, demo=True) as (app, pilot):
        assert "TOUR 1/8" in screen_text(app)
        for number, key in enumerate(("enter", "enter", "escape", "n", "5", "4", "w", "q"), 1):
            await pilot.press(key)
            await pilot.pause()
            text = " ".join(screen_text(app).split())
            assert key == "w" or ("TOUR " if number == 8 else f"TOUR {number + 1}/8") in text, key
            if key == "w":
                await pilot.pause()
                assert "worksheet" in screen_text(app)
        assert "That was the tour" in plain(app.main.prose("tour").prose)
        assert "LOOK FIRST" in screen_text(app)


async def test_a_key_that_leads_elsewhere_takes_the_words_along():
    """The words of a step are about what it shows: after another key they would be about something that is not there."""
    async with showing(incidents.eight_in_five_groups(), (100, 30), tour=True, demo=True) as (app, pilot):

        async def press(*keys: str) -> str:
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            return " ".join(plain(app.main.prose("tour").prose).split())

        first = await press()
        assert "The grid stands on that cell" in first
        away = await press("n")
        assert "TOUR 1/8 Off the tour's way" in away
        assert "The grid stands on that cell" not in away
        assert "TOUR 1/8" in await press("enter")  # a step deeper there is no step of the tour
        assert await press("escape", "N") == first  # and back again it goes on
        assert "TOUR 2/8" in await press("enter")
        assert "Off the tour's way" in await press("4")
        assert "TOUR 2/8" in await press("escape", "2", "3")


async def test_help_is_no_way_off():
    async with showing(incidents.eight_in_five_groups(), (100, 30), tour=True, demo=True) as (app, pilot):
        before = plain(app.main.prose("tour").prose)
        await pilot.press("question_mark", "n", "escape")
        await pilot.pause()
        assert plain(app.main.prose("tour").prose) == before


async def test_without_it_there_is_no_line_of_it():
    async with showing(incidents.four_ranks()) as (app, _):
        assert "TOUR" not in screen_text(app)
        assert not app.main.prose("tour").display
