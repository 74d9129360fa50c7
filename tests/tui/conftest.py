"""Snapshots of screens as text and as SVG, on syrupy; and an environment that looks the same everywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.css.stylesheet import Stylesheet

from tests.tui import quick

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syrupy.assertion import SnapshotAssertion


class _Text(SingleFileSnapshotExtension):
    """One text file a screen: diffs can be read in review, and a new theme changes nothing."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT


class _Svg(SingleFileSnapshotExtension):
    file_extension = "svg"
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Any, **options: Any) -> Any:
        return re.sub(r"terminal-\d+-", "terminal-", str(super().serialize(data, **options)))


@pytest.fixture
def screen(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(_Text)


@pytest.fixture
def picture(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(_Svg)


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No colours, locale, tmux or state folder of whoever runs the tests."""
    for name in ("NO_COLOR", "COLORTERM", "TMUX", "TEXTUAL_THEME", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="session", autouse=True)
def quickly() -> Iterator[None]:
    """No second of sleep and no second parsing that checks nothing."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("app", "pilot"):
            patch.setattr(f"textual.{module}.wait_for_idle", quick.wait_for_idle)
        patch.setattr(Stylesheet, "_parse_rules", quick.parse_rules)
        yield
