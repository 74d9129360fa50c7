"""Where output goes: stdout as data, files whole or not at all, progress on a terminal's stderr only."""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hangview.cli_errors import Complaint, Exit
from hangview.replacing import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from hangview.report.lines import Line


def is_terminal(*names: str) -> bool:
    """Whether all of the standard streams named ("stdin", "stdout", "stderr") are terminals; a closed one is none."""
    return not_terminal(*names) is None


def not_terminal(*names: str) -> str | None:
    """The first of the standard streams named that is no terminal."""
    for name in names:
        try:
            if not getattr(sys, name).isatty():
                return name
        except (AttributeError, ValueError):  # None or closed
            return name
    return None


def put(text: str) -> None:
    """Write to stdout. A pipe or a file gets UTF-8 whatever the locale, so that the bytes do not depend on it."""
    try:
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is None or is_terminal("stdout"):
            _lenient()
            sys.stdout.write(text)
        else:
            sys.stdout.flush()
            buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError:
        raise gone() from None
    except (OSError, AttributeError, ValueError) as error:  # a full disk behind ">"; stdout closed by the caller
        raise Complaint(f"stdout: {getattr(error, 'strerror', None) or 'is closed'}") from None


def put_lines(lines: Sequence[Line]) -> None:
    """Write lines to stdout: folded and coloured on a terminal, plain into anything else."""
    from hangview.report.lines import plain, show

    if os.environ.get("TERM") == "dumb" or not is_terminal("stdout"):
        put(plain(lines))
        return
    _lenient()
    show(lines, sys.stdout)
    put("")


def deliver(text: str, output: str | None) -> None:
    """Write ``text`` to where ``--output`` says; None: stdout."""
    put(text) if output is None else save(text, output)


def deliver_lines(lines: Sequence[Line], output: str | None) -> None:
    """The same for lines, which are plain in a file."""
    from hangview.report.lines import plain

    put_lines(lines) if output is None else save(plain(lines), output)


def save(text: str, target: str) -> None:
    """Write ``text`` to a file by a temporary file beside it and a rename, so that nobody ever sees half of it.

    "-" is stdout. A device or a pipe is written to directly. An existing file keeps its mode and a link its target.
    Raises :class:`Complaint` with the path and the reason.
    """
    if target == "-":
        put(text)
    else:
        save_bytes(text.encode("utf-8", "backslashreplace"), target)


def save_bytes(data: bytes, target: str) -> None:
    """The same for bytes, which never go to stdout."""
    path = Path(os.path.realpath(target))
    try:
        mode = None
        with suppress(FileNotFoundError):
            mode = Path(target).stat().st_mode  # by its own name: /dev/stdout leads to a pipe that has no path
        if mode is None or stat.S_ISREG(mode):
            with replacing(path, None if mode is None else stat.S_IMODE(mode)) as file:
                file.write(data)
        elif stat.S_ISDIR(mode):
            raise Complaint(f"{target}: is a folder, not a file to write")
        else:
            Path(target).write_bytes(data)
    except BrokenPipeError:  # whoever read has seen enough
        raise Complaint("", Exit.PIPE) from None
    except OSError as error:
        raise Complaint(f"{target}: cannot be written: {error.strerror or error}") from None


def gone() -> Complaint:
    """Quiet end after the reader of stdout went away; what is still in the buffers goes nowhere."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)
    return Complaint("", Exit.PIPE)


class Progress:
    """``reading 12 of 64`` on a terminal's stderr, rewritten in place and gone at the end; nothing anywhere else."""

    def __init__(self) -> None:
        self._on = is_terminal("stderr") and os.environ.get("TERM") != "dumb"
        self._next = 0.0
        self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._write(" " * self._shown + "\r")

    def __call__(self, read: int, found: int) -> None:
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + 0.1
        text = f"reading {read:,} of {found:,}"
        self._write(f"{text:<{self._shown}}\r")
        self._shown = len(text)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _lenient() -> None:
    """A terminal whose encoding lacks a sign shows its escape instead of ending the program."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
