"""A program in a pseudo-terminal, its screen as pyte sees it (the same as tmux shows, cell for cell)."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import pyte

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: How long anything may take before a test gives up; nothing is expected to come near it.
PATIENCE = 60.0

RUN = (sys.executable, "-m", "hangview")


@dataclass
class Terminal:
    """A running program. Use as a context manager: whatever happens, no process is left behind."""

    argv: Sequence[str]
    size: tuple[int, int] = (100, 30)
    env: Mapping[str, str] = field(default_factory=dict)
    drop: Sequence[str] = ()  #: variables of our own environment that the program must not see
    raw: bytes = b""  #: everything that it wrote
    status: int | None = None
    arrived: float = 0.0  #: when it last wrote something, by the monotonic clock

    def __enter__(self) -> Self:
        columns, rows = self.size
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        foreign = ("NO_COLOR", "COLORTERM", "TMUX", "COLUMNS", "LINES", "LC_ALL", "LC_CTYPE", *self.drop)
        env = {name: value for name, value in os.environ.items() if name not in foreign}
        # a state folder of its own: what one test leaves behind, a place or a draft, is nothing to the next
        self._state = tempfile.TemporaryDirectory(prefix="hangview-state-", ignore_cleanup_errors=True)
        env |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "XDG_STATE_HOME": self._state.name, **self.env}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(self.argv[0], list(self.argv), env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.fd >= 0:
            os.close(self.fd)
        self._state.cleanup()

    def read(self, quiet: float = 0.05) -> bool:
        """Take what there is within ``quiet`` seconds; False when the program has closed its side."""
        ready, _, _ = select.select([self.fd], [], [], quiet)
        if not ready:
            return True
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:
            return False
        self.arrived = time.monotonic()
        self.raw += chunk
        self._stream.feed(chunk)
        return bool(chunk)

    def wait_for(self, what: str | Callable[[], bool]) -> None:
        """Until a text is on the screen, or something is so."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if what() if callable(what) else what in self.text():
                return
            if not self.read():
                break
        raise AssertionError(f"never came: {what!r}\n{self.text()}")

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.screen.display) + "\n"

    def press(self, keys: str | bytes) -> None:
        os.write(self.fd, keys if isinstance(keys, bytes) else keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """The line drops: the kernel sends SIGHUP to the program and every write of it fails."""
        os.close(self.fd)
        self.fd = -1

    def finish(self) -> int:
        """Wait for its end and return the exit code, negative for a signal that killed it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.fd >= 0 and self.read() and select.select([self.fd], [], [], 0)[0]:
                    pass
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            if self.fd >= 0:
                self.read()
            else:
                time.sleep(0.02)
        raise AssertionError(f"did not end\n{self.text()}")

    def restored(self) -> bool:
        """Whether the terminal is as it was: main screen, cursor shown, mouse and bracketed paste off."""
        pairs = (
            (b"\x1b[?1049h", b"\x1b[?1049l"),
            (b"\x1b[?25l", b"\x1b[?25h"),
            (b"\x1b[?1003h", b"\x1b[?1003l"),
            (b"\x1b[?2004h", b"\x1b[?2004l"),
        )
        return all(self.raw.rfind(on) < self.raw.rfind(off) or on not in self.raw for on, off in pairs)
