"""The headers of a large set, read by a process of its own while this one still imports what draws the screen.

To import textual takes about as long as to read a thousand headers, and a second processor has nothing else to do meanwhile.
"""

from __future__ import annotations

import contextlib
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from hangview.dumps import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.dumps.heads import Heads
    from hangview.dumps.processes import Child
    from hangview.schema import ReadOptions

_BOOT = "import sys; sys.path[:] = {path!r}; from hangview.dumps.early import serve; serve({handle})"
#: Seconds that the reading of the whole files waits for an answer: as long as headers are read at most, and a little.
PATIENCE = 1.5
_POLL = 0.05


@dataclass(frozen=True, slots=True)
class Early:
    """An answer that is on its way."""

    child: Child

    def take(self, cancelled: Callable[[], bool]) -> Heads | None:
        """The answer, once: None when there is nothing to say, when it takes too long, and when ``cancelled()`` says so."""
        end = time.monotonic() + PATIENCE
        try:
            while not self.child.connection.poll(_POLL):
                if cancelled() or time.monotonic() >= end:
                    return None
            answer: Heads | None = self.child.connection.recv()
        except (EOFError, OSError):  # the process has ended
            return None
        else:
            return answer
        finally:
            self.drop()

    def drop(self) -> None:
        """Nobody wants the answer."""
        self.child.end()


def ask_early(paths: Sequence[str], options: ReadOptions) -> Early | None:
    """Have the headers under ``paths`` read from now on. None when no process can be started, or none could run meanwhile."""
    if processes.cores() < 2:
        return None
    try:
        early = Early(processes.start(_BOOT))
    except OSError:
        return None
    try:
        early.child.connection.send((tuple(paths), options))
    except OSError:  # it ended at once
        early.drop()
        return None
    return early


def serve(handle: int) -> None:
    """Answer ``(paths, options)`` with the heads of what lies there, or None. ``handle`` is a connected socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the program that shows something; it ends this one
    from hangview.dumps.find import find
    from hangview.dumps.heads import heads_of

    with Connection(handle) as connection, contextlib.suppress(EOFError, OSError):  # paths that went away are said elsewhere
        paths, options = connection.recv()
        connection.send(heads_of(find(paths, options), options))
