"""Driving the app in tests: start it on an incident, press keys, read the screen as text."""

from __future__ import annotations

import io
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from hangview.tui import UiOptions
from hangview.tui.app import HangviewApp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.app import App
    from textual.pilot import Pilot

    from hangview.incident import Incident

Driver = "tuple[HangviewApp, Pilot[int]]"


@asynccontextmanager
async def showing(
    incident: Incident | None, size: tuple[int, int] = (80, 24), *, ascii_only: bool = False, colours: bool = True, **ui: object
) -> AsyncIterator[tuple[HangviewApp, Pilot[int]]]:
    """The app with ``incident`` on its screen; the call pane follows the cursor at once, so that nothing waits for a clock."""
    paths = incident.paths if incident is not None else ("run-4711",)
    app = HangviewApp(paths, UiOptions(**ui), ascii_only=ascii_only, colours=colours, incident=incident, rest=0)  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def screen_text(app: App[int]) -> str:
    """What is on the screen, without colours, blanks at the ends of lines dropped."""
    width, height = app.size
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    console = Console(
        width=width,
        height=height,
        file=io.StringIO(),
        force_terminal=True,
        record=True,
        legacy_windows=False,
        color_system=None,
    )
    console.print(update)
    return "\n".join(row.rstrip() for row in console.export_text().splitlines()) + "\n"
