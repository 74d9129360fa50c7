"""The smallest app that can show the worksheet, and its screen as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.geometry import Size

from hangview.tui.colours import DARK, LIGHT
from hangview.tui.worksheet.screen import WorksheetScreen

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.worksheet.store import SheetStore


class Host(App[int]):
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, store: SheetStore, incident: Incident, *, ascii_only: bool = False, colours: bool = True, language: str = "en"
    ) -> None:
        super().__init__(ansi_color=None if colours else True)
        self.animation_level = "none"
        self.sheet = WorksheetScreen(store, incident, ascii_only=ascii_only, language=language)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DARK if self.current_theme.dark else LIGHT

    def on_mount(self) -> None:
        self.install_screen(self.sheet, "worksheet")
        self.push_screen("worksheet")


def rows(app: App[int]) -> list[str]:
    """What the screen shows, row by row."""
    width, height = app.size
    strips = app.screen._compositor.render_strips(Size(width, height))
    return [strip.crop(0, width).text.rstrip() for strip in strips]
