"""A field in the person's editor; the editor here is a script."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from hangview.tui.worksheet.editor import EditorError, edit, editor_command

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Sets $VISUAL to a shell script with ``$1`` as the file."""

    def set_to(script: str) -> None:
        path = tmp_path / "my editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("VISUAL", f"{shlex.quote(str(path))} --wait")
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    return set_to


def test_what_the_editor_leaves_is_taken(editor, tmp_path: Path) -> None:
    editor('printf "and more\\n" >> "$2"')
    assert edit("typed ") == "typed and more"
    assert list(tmp_path.glob("*.md")) == []


def test_nothing_is_added_to_a_text_that_is_left_as_it_is(editor) -> None:
    editor("true")
    for text in ("", "a", "a\n", "a\n\n", "# x\r\ny"):
        assert edit(text) == text


def test_an_editor_that_fails_keeps_what_it_wrote(editor, tmp_path: Path) -> None:
    editor('echo written > "$2"; exit 3')
    with pytest.raises(EditorError, match="ended with 3; what it wrote is in") as caught:
        edit("x")
    (left,) = tmp_path.glob("hangview-*.md")
    assert str(left) in str(caught.value)
    assert left.read_text() == "written\n"


def test_an_editor_that_gives_up_leaves_nothing_behind(editor, tmp_path: Path) -> None:
    editor("exit 1")
    with pytest.raises(EditorError, match="ended with 1; the field is as it was"):
        edit("typed\n")
    editor('rm "$2"; exit 1')
    with pytest.raises(EditorError, match="ended with 1; the field is as it was"):
        edit("typed")
    assert list(tmp_path.glob("*.md")) == []


def test_an_editor_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    with pytest.raises(EditorError, match="/nowhere/editor cannot be started"):
        edit("x")


def test_which_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    assert editor_command() == ["vi"]
    monkeypatch.setenv("EDITOR", "nano -w")
    assert editor_command() == ["nano", "-w"]
    monkeypatch.setenv("VISUAL", "code --wait")
    assert editor_command() == ["code", "--wait"]
    monkeypatch.setenv("VISUAL", "'unclosed")
    with pytest.raises(EditorError, match="VISUAL"):
        editor_command()
