"""Starts this program's own helpers: processes that answer over a connection.

They are programs of their own, or, where that is safe, copies of this process (``fork``), which need not import again what it
has imported: a tenth of a second of a processor each. multiprocessing's other ways are no good here: a script that calls
``hangview.load`` must not be imported again by each of them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    Serve = Callable[[Connection], None]

#: Sent by a process that reads files once its imports are done.
READY = "ready"
#: The threads of this process, those that libraries have started outside Python among them (Linux).
_THREADS = Path("/proc/self/task")


@dataclass(frozen=True, slots=True)
class Child:
    """A process that was started here, and the near end of a connection to it."""

    connection: Connection
    process: subprocess.Popen[bytes] | BaseProcess

    def ended(self, patience: float) -> int | None:
        """Its exit code, or minus the signal that ended it, if it ends within so many seconds."""
        if not isinstance(self.process, subprocess.Popen):
            self.process.join(patience)
            return self.process.exitcode
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        return self.process.returncode

    def end(self) -> None:
        """Let go of it, whatever it is doing."""
        self.connection.close()
        if self.ended(0) is None:
            self.process.kill()
        if isinstance(self.process, subprocess.Popen):
            self.process.wait()
        else:
            self.process.join()


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    """Whether a copy of this process can go on: only where no other thread can hold a lock that the copy would wait for."""
    try:
        return sys.platform == "linux" and len(list(_THREADS.iterdir())) == 1
    except OSError:
        return False


def fork(serve: Serve, environment: Mapping[str, str], others: Iterable[Child] = ()) -> Child:
    """Have a copy of this process call ``serve`` with the far end of a connection. Only where :func:`can_fork` says so.

    ``others`` were started before: the copy lets go of their connections, so that they notice when this process ends. Nothing
    that it prints is seen, and ctrl-C is not for it. Raises ``OSError`` when this user has no more processes or descriptors.
    """
    here, there = Pipe()
    near = [here, *(child.connection for child in others)]
    process = multiprocessing.get_context("fork").Process(
        target=_go_on, args=(serve, there, near, dict(environment)), daemon=True
    )
    with there, contextlib.ExitStack() as unless_started:
        unless_started.callback(here.close)
        with _uninterrupted():
            process.start()
        unless_started.pop_all()
    return Child(here, process)


def _go_on(serve: Serve, there: Connection, near: Iterable[Connection], environment: Mapping[str, str]) -> None:
    """What the copy does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    for connection in near:
        connection.close()
    os.environ.update(environment)
    serve(there)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals that would end this process wait, so that a copy of it does not get them before it knows what to do then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(boot: str, environment: Mapping[str, str] | None = None, **values: object) -> Child:
    """Run the Python text ``boot`` in a new process.

    ``{path!r}`` in it stands for where modules are, ``{handle}`` for the far end of a connection, a connected socket; other
    names are in ``values``. Nothing that the process prints is seen. Raises ``OSError`` when this user has no more processes or
    descriptors.
    """
    here, there = Pipe()
    with there, contextlib.ExitStack() as unless_started:
        unless_started.callback(here.close)
        handle = there.fileno()
        path = [entry or os.getcwd() for entry in sys.path]  # noqa: PTH109 - what an empty entry means
        process = subprocess.Popen(
            [sys.executable, "-c", boot.format(path=path, handle=handle, **values)],
            pass_fds=(handle,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
        unless_started.pop_all()
    return Child(here, process)
