"""The other end of :mod:`hangview.dumps.pool`: a process that reads and decodes files, and may die of one.

Imports numpy, but not polars: it starts in a tenth of a second and needs 100 MB of address space instead of 900.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.dumps import processes
from hangview.dumps.decode.known import Known
from hangview.dumps.interning import share_tables
from hangview.dumps.narrow import narrow
from hangview.dumps.read import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from hangview.dumps.decoded import Decoded
    from hangview.dumps.find import Found
    from hangview.dumps.result import FileRead
    from hangview.schema import Limits

#: How much nicer than its parent a process is that must not hold up what a person does meanwhile.
NICER = 10
#: Pages that this process has mapped, and more (Linux).
_STATM = Path("/proc/self/statm")


def read_together(files: Sequence[Found], limits: Limits, known: Known | None = None) -> list[tuple[FileRead, ...]]:
    """Read files one by one; those that could be decoded share their tables, and their columns take little room.

    The dumps of a pack do so already.
    """
    results = [read_file(found, limits, known) for found in files]
    decoded = [result.decoded for group in results for result in group if result.decoded is not None and not result.pack]
    shared = iter(share_tables(decoded))
    return [
        tuple(r if r.decoded is None or r.pack else replace(r, decoded=_narrow(next(shared))) for r in group)
        for group in results
    ]


def serve(connection: Connection, address_space: int, *, gentle: bool) -> None:
    """Answer ``(files, limits)`` with results until the other end closes or sends None.

    ``address_space``: bytes that may be taken beside what is in use. ``gentle``: give way to other processes on the same
    processors, of which one may have a key to answer.
    """
    if gentle:
        os.nice(NICER)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the program that shows something; it ends this one
    _limit(address_space)
    gc.disable()  # nothing here has cycles, and a collection walks over everything decoded so far
    with connection:
        connection.send(processes.READY)
        known: Known | None = None
        while (task := _receive(connection)) is not None:
            files, limits = task
            if known is None or known.limits != limits:
                known = Known(limits)
            connection.send(read_together(files, limits, known))


def _limit(address_space: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        in_use = int(_STATM.read_text().split()[0]) * resource.getpagesize() if _STATM.exists() else 0
        resource.setrlimit(resource.RLIMIT_AS, (in_use + address_space, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _narrow(decoded: Decoded) -> Decoded:
    """The same with columns that take little room while others are read, and on their way to another process."""
    return replace(decoded, columns=narrow(decoded.columns, decoded.count))


def _receive(connection: Connection) -> tuple[Sequence[Found], Limits] | None:
    try:
        task: tuple[Sequence[Found], Limits] | None = connection.recv()
    except (EOFError, OSError):
        return None
    return task
