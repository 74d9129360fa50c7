"""From two paths to the running screen of a comparison, and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.start import answer_soon, drawing_for, run_app

if TYPE_CHECKING:
    from hangview.schema import ReadOptions
    from hangview.tui import UiOptions


def start(a: str, b: str, options: ReadOptions, ui: UiOptions) -> int:
    """See :func:`hangview.tui.compare.run`."""
    answer_soon()
    from hangview.tui.compare.app import CompareApp
    from hangview.tui.compare.reader import Reader

    app = CompareApp((a, b), ui, reader=lambda post: Reader((a, b), options, post), **drawing_for(ui))
    return run_app(app, ui)
