"""Copying says where the text went and claims no more."""

from __future__ import annotations

from pathlib import Path

from hangview.tui.copying import Copied, keep, say
from hangview.tui.titles import fitting
from tests.support.incidents import four_ranks
from tests.tui.screens import screen_text, showing


def test_writes_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    copied = keep("rank 3 → look first\n")
    assert copied.file == tmp_path / "hangview" / "copied.txt"
    assert copied.file is not None
    assert copied.file.read_text(encoding="utf-8") == "rank 3 → look first\n"
    assert not copied.tmux


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    copied = keep("x")
    assert copied.file is None
    assert "not written:" in say(copied, sent=True)[0]


def test_claims_no_more_than_is_known():
    assert say(Copied(Path("/s/copied.txt"), tmux=False), sent=True)[0] == (
        "copied: written to /s/copied.txt; offered to the terminal by OSC 52"
    )
    assert "too long for OSC 52" in say(Copied(None, tmux=True, trouble="/s: no space"), sent=False)[0]


async def test_y_copies_the_call_with_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with showing(four_ranks(), (120, 30)) as (app, pilot):
        await pilot.press("y")
        assert "copied: " in screen_text(app)
        text = (tmp_path / "hangview" / "copied.txt").read_text(encoding="utf-8")
        assert text == app.clipboard
        assert "LOOK FIRST  rank 3" in text
        assert "rank 3 · default_pg 42 · not requested" in text
        assert "started, not completed" in text


async def test_y_copies_a_whole_finding(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with showing(four_ranks()) as (app, pilot):
        await pilot.press("4", "y")
        assert "must not be concluded" in app.clipboard
        assert "that the network is sound" in app.clipboard


def test_it_is_said_shorter_where_there_is_no_room():
    forms = say(Copied(Path("/a/long/way/from/anywhere/state/hangview/copied.txt"), tmux=True), sent=True)
    assert fitting(forms, 80) == "copied: /a/long/way/from/anywhere/state/hangview/copied.txt, tmux, OSC 52"
    assert fitting(forms, 40) == "copied: copied.txt, tmux, OSC 52"
