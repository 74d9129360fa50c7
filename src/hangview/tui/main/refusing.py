"""Keys that can do nothing where they were pressed: each says why, in the status line."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

from hangview.keymap import all_actions

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.tui.main.base import BaseScreen

Stepping = TypeVar("Stepping", bound="BaseScreen")


def in_grid(method: Callable[[Stepping], None]) -> Callable[[Stepping], None]:
    """An action on the rows and columns of the grid: where that is out of sight it says so instead of changing it there."""
    name = method.__name__.removeprefix("action_")

    @wraps(method)
    def run(screen: Stepping) -> None:
        why = no_grid(screen, name)
        if why:
            screen.say(why)
        else:
            method(screen)

    return run


def no_grid(screen: BaseScreen, name: str) -> str:
    """Why the action ``name`` has no grid to work on; "" where it has one."""
    if screen.incident is None:
        return no_incident(screen)
    if screen.grid.plane is None:
        return "there is no grid: no call was recorded"
    if screen.center != "grid":
        return f"{screen.key(name)} ({all_actions()[name].label}) works in the grid: {screen.key('pane_grid')} goes there"
    return ""


def no_incident(screen: BaseScreen) -> str:
    return "there is nothing to look at: no file was read" if screen.trouble else "nothing to look at yet: files are being read"
