"""A pane that was hidden draws what it holds now, not what it held when it was last seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.tui.prose_view import ProseView
from tests.support import incidents
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from hangview.tui.app import HangviewApp


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
