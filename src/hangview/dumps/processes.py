"""Starts this program's own helpers: processes that answer over a connection.

They are programs of their own rather than multiprocessing's: a script that calls ``hangview.load`` must not be imported again
by each of them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from multiprocessing import Pipe
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection


#: Sent by a process that reads files once its imports are done.
READY = "ready"


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start(
    boot: str, environment: Mapping[str, str] | None = None, **values: object
) -> tuple[subprocess.Popen[bytes], Connection]:
    """Run the Python text ``boot`` in a new process; the near end of a connection to it.

    ``{path!r}`` in it stands for where modules are, ``{handle}`` for the far end; other names are in ``values``. Nothing that
    the process prints is seen. Raises ``OSError`` when this user has no more processes or descriptors.
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
    return process, here


def end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    """Let go of a process, whatever it is doing."""
    connection.close()
    if process.poll() is None:
        process.kill()
    process.wait()
