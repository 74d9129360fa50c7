"""A field in the editor that the person has set."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from hangview.worksheet.failures import Said
from hangview.worksheet.files import reason


class EditorError(Exception):
    """The editor could not be used; ``said`` says why in one line."""

    def __init__(self, said: Said) -> None:
        super().__init__(said)
        self.said = said


def editor_command() -> list[str]:
    """``$VISUAL``, else ``$EDITOR``, else vi, with its options."""
    for name in ("VISUAL", "EDITOR"):
        try:
            command = shlex.split(os.environ.get(name, ""))
        except ValueError as error:
            raise EditorError(Said("editor_setting", name=name, why=error)) from error
        if command:
            return command
    return ["vi"]


def edit(text: str) -> str:
    """What the editor leaves of ``text``; the line end that editors add is taken off again. Raises EditorError.

    The terminal has to be free for it. Where the editor failed, what it wrote until then stays in its file, which is named; a
    text that it left as it was is in the field still, and its file is removed.
    """
    command = editor_command()
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="hangview-", suffix=".md", encoding="utf-8", newline="", delete=False
        ) as file:
            file.write(text)
        path = Path(file.name)
    except OSError as error:
        raise EditorError(Said("editor_file", why=reason(error))) from error
    try:
        code = subprocess.run([*command, str(path)], check=False).returncode
    except OSError as error:
        path.unlink(missing_ok=True)
        raise EditorError(Said("editor_start", command=command[0], why=error.strerror)) from error
    if code and _holds(path, text):
        path.unlink(missing_ok=True)
        raise EditorError(Said("editor_gave_up", command=command[0], code=code))
    if code:
        raise EditorError(Said("editor_ended", command=command[0], code=code, path=path))
    try:
        after = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EditorError(Said("editor_left", command=command[0], path=path)) from error
    path.unlink(missing_ok=True)
    return after if text.endswith("\n") else after.removesuffix("\n")


def _holds(path: Path, text: str) -> bool:
    """Whether the file is as it was handed over, or has gone."""
    try:
        return path.read_bytes() == text.encode()
    except FileNotFoundError:
        return True
    except OSError:
        return False
