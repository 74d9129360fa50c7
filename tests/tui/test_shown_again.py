"""A pane that was hidden draws what it holds now, not what it held when it was last seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.app import App

from hangview.tui import prose_view
from hangview.tui.prose import Tone, line, wrap
from hangview.tui.prose_view import ProseView
from tests.support import incidents
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult

    from hangview.tui.app import HangviewApp
    from hangview.tui.prose import Line, Prose


def stale(app: HangviewApp) -> list[str]:
    """Views in sight whose rows on the screen are not the rows that they hold."""
    screen = screen_text(app).splitlines()
    found = []
    for view in app.main.query(ProseView):
        region = view.region
        if not view.display or not region.area or any(not parent.display for parent in view.ancestors_with_self):
            continue
        drawn = [row[region.x : region.right].rstrip() for row in screen[region.y : region.bottom]]
        held = [row.text.rstrip() for row in view.laid()[view.topmost : view.topmost + region.height]]
        if drawn != held + [""] * (len(drawn) - len(held)):
            found.append(f"{view.id}: {drawn} is not {held}")
    return found


@pytest.mark.parametrize(("small", "between"), [((100, 30), "N"), ((80, 24), "4jj2"), ((60, 20), "\r\rjn"), ((39, 11), "N")])
async def test_every_pane_that_comes_back_holds_what_is_true_by_then(small, between):
    async with showing(incidents.eight_in_five_groups(), (160, 48)) as (app, pilot):
        await pilot.press("N")
        assert stale(app) == []
        await pilot.resize_terminal(*small)
        await pilot.pause()
        await pilot.press(*("enter" if key == "\r" else key for key in between))
        await pilot.resize_terminal(160, 48)
        await pilot.pause()
        assert stale(app) == []


async def test_what_is_hidden_is_not_wrapped(monkeypatch):
    """It has no width, so each character would be a row of its own: half a second for the lists of a thousand ranks."""
    widths: list[int] = []

    def wrap_and_see(prose: Iterable[Line], width: int) -> list[Line]:
        widths.append(width)
        return wrap(prose, width)

    monkeypatch.setattr(prose_view, "wrap", wrap_and_see)
    async with showing(incidents.eight_in_five_groups(), (80, 24)) as (app, pilot):
        assert any(not view.size.width for view in app.main.query(ProseView))
        app.main.show_all()
        await pilot.press("4")
    assert widths
    assert min(widths) > 10


async def test_a_pane_that_is_hidden_keeps_its_place():
    class Hiding(App[None]):
        def compose(self) -> ComposeResult:
            yield ProseView()

    def lines(number: int) -> Prose:
        return tuple(line((f"line {at}", Tone.PLAIN)) for at in range(number))

    async with Hiding().run_test(size=(40, 10)) as pilot:
        view = pilot.app.query_one(ProseView)
        view.show(lines(30))
        view.scroll_to_row(12)
        view.display = False
        await pilot.pause()
        assert not view.size.width
        view.show(lines(40), top=False)
        view.display = True
        await pilot.pause()
        assert view.topmost == 12
        view.show(lines(15), top=False)
        assert view.topmost == 5  # ten rows are in sight
