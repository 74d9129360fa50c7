"""From two paths to the running screen of a comparison, and its exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hangview.cli_errors import narrate
from hangview.tui import escape
from hangview.tui.compare.app import CompareApp
from hangview.tui.compare.reader import Reader
from hangview.tui.start import drawing_driver, wants_ascii

if TYPE_CHECKING:
    from hangview.schema import ReadOptions
    from hangview.tui import UiOptions


def start(a: str, b: str, options: ReadOptions, ui: UiOptions) -> int:
    """See :func:`hangview.tui.compare.run`."""
    if not os.environ.get("NO_COLOR", "x"):
        del os.environ["NO_COLOR"]  # set but empty means colours (no-color.org); textual would take it as set
    escape.install()
    app = CompareApp(
        (a, b),
        ui,
        driver=drawing_driver(),
        ascii_only=wants_ascii(os.environ) if ui.ascii is None else ui.ascii,
        colours="NO_COLOR" not in os.environ,
        reader=lambda post: Reader((a, b), options, post),
    )
    code = app.run(mouse=ui.mouse)
    if app.fault is not None:
        raise app.fault
    if app.last_words:
        narrate(app.last_words)
    return code if code is not None else app.return_code or 0
