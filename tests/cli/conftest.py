"""A screen that only notes what it was opened with."""

from __future__ import annotations

import pytest

from hangview import cli


@pytest.fixture
def screens(monkeypatch):
    """What the screen was opened with, as if there were a terminal."""
    seen = []

    def run(paths, options, ui):
        seen.append((paths, options, ui))
        return 0

    monkeypatch.setattr("hangview.tui.run", run)
    monkeypatch.setattr(cli, "not_terminal", lambda *names: None)
    monkeypatch.setattr(cli, "is_terminal", lambda *names: True)
    return seen
