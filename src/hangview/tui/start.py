"""From paths to a running screen: is this a terminal for it, which characters, which colours, and the exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TypedDict

from hangview.cli_errors import Exit, narrate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from textual.driver import Driver

    from hangview.schema import ReadOptions
    from hangview.tui import UiOptions
    from hangview.tui.base_app import BaseApp


def start(paths: tuple[str, ...], options: ReadOptions, ui: UiOptions) -> int:
    """See :func:`hangview.tui.run`."""
    trouble = no_screen(os.environ)
    if trouble:
        narrate(f"{trouble}; use: hangview report {' '.join(paths)}")
        return int(Exit.USAGE)
    answer_soon()
    from hangview.dumps.early import ask_early

    early = None if ui.demo else ask_early(paths, options)  # before textual is imported: that takes as long
    drawing = drawing_for(ui)
    from hangview.tui.app import HangviewApp
    from hangview.tui.copying import state_folder
    from hangview.tui.looker import Looker
    from hangview.tui.memory import Memory

    app = HangviewApp(
        paths,
        ui,
        looker=lambda post: Looker(paths, options, ui, post, early),
        memory=Memory(state_folder(), keeps=not ui.demo),
        **drawing,
    )
    return run_app(app, ui)


def answer_soon() -> None:
    """Before textual is imported: let a key be answered soon, also while another thread puts together what was read.

    textual waits for its next frame after each drawing, and of its usual 60 a second up to two pass by. A thread that computes
    in Python keeps the others waiting for 5 ms each time that they waited for something, by default.
    """
    os.environ.setdefault("TEXTUAL_FPS", "120")
    sys.setswitchinterval(0.0005)


class Drawing(TypedDict):
    """How an app draws on this terminal."""

    driver: type[Driver]
    ascii_only: bool
    colours: bool


def drawing_for(ui: UiOptions) -> Drawing:
    """By the terminal, the environment and the options."""
    if not os.environ.get("NO_COLOR", "x"):
        del os.environ["NO_COLOR"]  # set but empty means colours (no-color.org); textual would take it as set
    return {
        "driver": drawing_driver(),
        "ascii_only": wants_ascii(os.environ) if ui.ascii is None else ui.ascii,
        "colours": "NO_COLOR" not in os.environ,
    }


def run_app(app: BaseApp, ui: UiOptions) -> int:
    """Run it to its end; the exit code. A fault of ours is raised, last words are said on stderr."""
    from hangview.tui import driver

    driver.install()
    code = app.run(mouse=ui.mouse)
    if app.fault is not None:
        raise app.fault
    if code is None:  # 0 would promise that no hang was found
        raise RuntimeError("the screen ended, and nothing had ended it")
    if app.last_words:
        narrate(app.last_words)
    return code


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def drawing_driver() -> type[Driver]:
    """A driver that draws on stderr, as textual's own does, or on stdout where stderr goes elsewhere (``2>file``)."""
    from hangview.tui.driver import OnStdout, SteadyDriver

    return SteadyDriver if _is_terminal(sys.__stderr__) else OnStdout


def no_screen(environ: Mapping[str, str]) -> str:
    """Why there can be no screen here, or "". textual hangs without a terminal, and takes "dumb" for true colour."""
    if not _is_terminal(sys.stdin):
        return "stdin is no terminal"
    if not _is_terminal(sys.__stderr__) and not _is_terminal(sys.__stdout__):
        return "neither stdout nor stderr is a terminal"
    if environ.get("TERM", "") in ("", "dumb"):
        return f"TERM is {environ.get('TERM') or 'not set'}: this terminal cannot move its cursor"
    return ""


def wants_ascii(environ: Mapping[str, str]) -> bool:
    """Whether the locale has no UTF-8, by the variables that tmux goes by too.

    Python itself sets LC_CTYPE to C.UTF-8 when it starts in the C locale (PEP 538); that is not the user's word.
    """
    told = environ.get("LC_ALL")
    if not told:
        told = environ.get("LC_CTYPE")
        if told in ("C.UTF-8", "C.utf8") and environ.get("LANG", "") in ("", "C", "POSIX"):
            told = None
    told = told or environ.get("LANG", "")
    return "utf-8" not in told.lower() and "utf8" not in told.lower()
