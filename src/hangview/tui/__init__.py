"""The terminal UI: reads an Incident, decides no verdict.

``cli.py`` calls :func:`run`; nothing else outside this package imports it. Importing the package is cheap: textual is
imported when :func:`run` is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.schema import ReadOptions

__all__ = ["UiOptions", "run"]


@dataclass(frozen=True, slots=True)
class UiOptions:
    """How the screen behaves; all from the command line or the configuration.

    ``mouse``: let the terminal report the mouse (F2 changes it while running). ``ascii``: draw with ASCII alone; None
    decides by the locale. ``watch``: look again when the files change. ``poll``: seconds between looks at the folder; None
    leaves it to the watcher (2 s on a local disk, 5 s on a shared one). ``demo``: say in the banner that this is the bundled
    incident, and remember no place in it. ``tour``: lead through it. ``language``: of a new worksheet, "en" or "ko".
    ``theme``: "dark", "light" or "contrast". ``keys``: an action's id and its keys by textual's names, for the actions whose
    keys a person changed (:mod:`hangview.keymap`).
    """

    mouse: bool = True
    ascii: bool | None = None
    watch: bool = True
    poll: float | None = None
    demo: bool = False
    tour: bool = False
    language: str = "en"
    theme: str = "dark"
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()


def run(paths: Sequence[str], options: ReadOptions, ui: UiOptions) -> int:
    """Show what lies under ``paths`` until the user quits, and return the exit code of the process.

    0: looked, no hang. 1: at least one divergence. 2: this is no terminal for a screen (stdin is no tty, or neither stdout nor
    stderr is one, or TERM is "dumb"); said in one line on stderr that names ``hangview report``. 3: nothing could be concluded,
    or the user left before the files were read; said in one line too. 128 + n: ended by signal n (HUP, TERM, INT, QUIT);
    the worksheet's draft is written and the terminal is restored first.

    ``paths`` must exist; one that vanishes later is said on the screen.
    """
    from hangview.tui.start import start

    return start(tuple(paths), options, ui)
