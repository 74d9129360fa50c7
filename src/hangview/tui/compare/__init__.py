"""The screen of ``hangview compare``: two dump sets side by side.

``cli.py`` calls :func:`run`. Importing the package is cheap: textual is imported when :func:`run` is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hangview.schema import ReadOptions
    from hangview.tui import UiOptions

__all__ = ["run"]


def run(a: str, b: str, options: ReadOptions, ui: UiOptions) -> int:
    """Show what the sets under ``a`` and ``b`` have in common and where they part, until the user quits.

    Returns the exit code: 0 every call that both hold agrees, 1 one differs, 3 no call is held by both, or the user left before
    the files were read, or they cannot be read; that is said in a line on stderr. 128 + n: ended by signal n. There has to be a
    terminal (:func:`hangview.tui.start.no_screen`).
    """
    from hangview.tui.compare.start import start

    return start(a, b, options, ui)
