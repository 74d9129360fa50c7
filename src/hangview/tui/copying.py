"""Copying text out of the program: OSC 52 asks the terminal, a file is sure, tmux has a buffer of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_state_dir

from hangview.tui.patience import within

if TYPE_CHECKING:
    from collections.abc import Callable

#: Terminals cut or ignore longer OSC 52 requests (xterm and tmux near 75 kB of base64).
MOST_OSC52 = 50_000


@dataclass(frozen=True, slots=True)
class Copied:
    """Where a text went. ``file`` is None when it could not be written, with the reason in ``trouble``."""

    file: Path | None
    tmux: bool
    trouble: str = ""


def state_folder() -> Path:
    """Where the program keeps what it writes for itself; made only when something is written."""
    return Path(user_state_dir("hangview", appauthor=False))


def keep(text: str) -> Copied:
    """Write ``text`` to ``copied.txt`` in the state folder and, inside tmux, to tmux's paste buffer. Never raises."""
    path = state_folder() / "copied.txt"
    troubles: list[str] = []

    def write() -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            troubles.append(f"{path}: {error.strerror or error}")

    if not within(write):
        troubles.append(f"{path}: the disk does not answer")
    return Copied(None if troubles else path, _to_tmux(text), "".join(troubles))


def _to_tmux(text: str) -> bool:
    program = shutil.which("tmux") if os.environ.get("TMUX") else None
    if program is None:
        return False
    try:
        done = subprocess.run([program, "load-buffer", "-"], input=text.encode(), timeout=2, check=False, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def copied(text: str, offer: Callable[[str], object]) -> tuple[str, ...]:
    """Copy ``text`` every way there is; ``offer`` hands it to the terminal. Where it went, and the same shorter."""
    sent = len(text) <= MOST_OSC52
    if sent:
        offer(text)
    return say(keep(text), sent=sent)


def say(copied: Copied, *, sent: bool) -> tuple[str, ...]:
    """One line that claims no more than what is known, a terminal does not tell whether it took OSC 52; and shorter ones."""
    parts, short = [], []
    if copied.file is not None:
        parts.append(f"written to {copied.file}")
        short.append(_from_home(copied.file))
    if copied.tmux:
        parts.append("in tmux's buffer (prefix ])")
        short.append("tmux")
    parts.append("offered to the terminal by OSC 52" if sent else "too long for OSC 52")
    short.append("OSC 52" if sent else "too long for OSC 52")
    if copied.trouble:
        parts.append(f"not written: {copied.trouble}")
        short.append(f"not written: {copied.trouble}")
    name = [copied.file.name, *short[1:]] if copied.file is not None else short
    return "copied: " + "; ".join(parts), f"copied: {', '.join(short)}", f"copied: {', '.join(name)}"


def _from_home(path: Path) -> str:
    """A path as a person would type it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
