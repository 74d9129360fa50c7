"""Reads both sets in a thread of its own and compares them. A daemon: quitting must not wait for a dead file server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.compare import Comparison
    from hangview.incident import Incident
    from hangview.schema import ReadOptions


class Both(NamedTuple):
    """What the screen shows: the comparison, and the sets for what lies below it."""

    comparison: Comparison
    a: Incident
    b: Incident


class ReadSoFar(Message):
    """So many files of a set ("A" or "B") were read of so many found."""

    def __init__(self, name: str, done: int, total: int) -> None:
        super().__init__()
        self.name, self.done, self.total = name, done, total

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ReadSoFar)


class Compared(Message):
    """Both sets were read and compared."""

    def __init__(self, both: Both) -> None:
        super().__init__()
        self.both = both


class NotRead(Message):
    """A set cannot be read; ``reason`` is one line."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class Reader:
    """``post`` is called from the thread with the messages above."""

    def __init__(self, paths: tuple[str, str], options: ReadOptions, post: Callable[[Message], object]) -> None:
        self._paths = paths
        self._options = options
        self._post = post
        self._end = threading.Event()

    def start(self) -> None:
        """Begin to read; returns at once."""
        threading.Thread(target=self._run, name="hangview-read", daemon=True).start()

    def stop(self) -> None:
        """Let the thread end; waits for nobody."""
        self._end.set()

    def _run(self) -> None:
        from hangview.compare import compare
        from hangview.dumps.calling_off import Cancelled

        at = self._paths[0]
        try:
            a = self._read("A", at)
            at = self._paths[1]
            b = self._read("B", at)
            self._tell(Compared(Both(compare(a, b), a, b)))
        except Cancelled:
            return  # the screen is closing
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._tell(NotRead(f"{getattr(error, 'filename', None) or at}: {reason}"))
        except Exception as error:
            # A fault of ours must not leave a screen that reads for ever: it is said in a line, and the exit code says it too.
            self._tell(NotRead(f"internal error while comparing: {type(error).__name__}: {error}"))

    def _read(self, name: str, path: str) -> Incident:
        from hangview.session import Session

        return Session((path,), self._options, keep=False).look(
            on_progress=lambda done, total: self._tell(ReadSoFar(name, done, total)), cancelled=self._end.is_set
        )

    def _tell(self, message: Message) -> None:
        if not self._end.is_set():
            self._post(message)
