"""Packing on the workers of a Dask cluster, which see the same files as this process: each worker makes packs of some, and this
process puts them together.

What comes back is the bytes of a pack, read as strictly as one from a disk. A worker that ends has its files read by others; a
file that ends every worker it is given to is named as failed, and so is everything that is left when there are no workers.
"""

from __future__ import annotations

import logging
import queue
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hangview._version import __version__
from hangview.dumps.bundles import Unusable
from hangview.dumps.pack import Row, read, write
from hangview.dumps.result import failed
from hangview.schema import SourceStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hangview.dumps.find import Found
    from hangview.dumps.packing import Reader, Told
    from hangview.schema import Limits

#: Files and bytes of one task: small enough to be read again when its worker ends.
TASK_FILES = 16
TASK_BYTES = 32 << 20
#: Seconds without any worker after which the rest is given up.
PATIENCE = 30.0
#: Seconds within which what a task has made is here, unless it is lost; a few megabytes.
FETCH = 10.0
_CONNECT = 10
_LEFT = "no Dask worker was left to read it"
_POLL = 0.5


class NoClusterError(Exception):
    """There is no cluster to be had; the message is one line."""


@contextmanager
def cluster(address: str) -> Iterator[Reader]:
    """What reads files on the workers of the scheduler at ``address``. Raises :class:`NoClusterError`."""
    try:
        from distributed import Client
    except ImportError:
        raise NoClusterError("--dask needs the module distributed: pip install 'hangview[dask]'") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said here, in one line
    try:
        with warnings.catch_warnings(action="ignore"):  # of versions of Dask: the one that matters is asked for below
            client = Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NoClusterError(f"--dask {address}: cannot be reached: {' '.join(str(error).split())}") from None
    with client:
        for who, told in _versions(client):
            if told != __version__:
                raise NoClusterError(f"--dask {address}: {who} has {told}, and needs hangview {__version__} as it is here")
        yield lambda files, options, told: _Farm(client, options.limits, told).read(files)


def _versions(client: Any) -> Iterator[tuple[str, str]]:
    """Which hangview the scheduler and each worker have, in words where it is none."""

    def version() -> str:  # goes there as it is, and not by its name: there may be no hangview to look it up in
        try:
            from hangview import __version__ as told
        except ImportError:
            return "no hangview"
        return told

    yield "its scheduler", client.run_on_scheduler(version)
    for worker, told in client.run(version, on_error="return").items():
        if isinstance(told, str):
            yield f"worker {worker}", told  # else it has just ended


class _Farm:
    def __init__(self, client: Any, limits: Limits, told: Told) -> None:
        self.client = client
        self.limits = limits
        self.told = told
        self.over: queue.Queue[Any] = queue.Queue()
        self.tasks: dict[Any, tuple[Found, ...]] = {}  # by their futures

    def read(self, files: Sequence[Found]) -> None:
        """Read all, and say of each what became of it."""
        for task in _tasks(files):
            self.submit(task)
        seen = time.monotonic()
        while self.tasks:
            try:
                busy = self.take(self.over.get(timeout=_POLL))
            except queue.Empty:
                busy = False
            if busy or self.workers():
                seen = time.monotonic()
            elif time.monotonic() - seen >= PATIENCE:
                self.give_up()

    def submit(self, task: tuple[Found, ...]) -> None:
        future = self.client.submit(read_part, task, self.limits, pure=False, retries=0)
        self.tasks[future] = task
        future.add_done_callback(self.over.put)

    def take(self, future: Any) -> bool:
        """Deal with a task that is over. False when what it made was lost with its worker, so that it is made again."""
        task = self.tasks[future]
        try:
            part = future.result(timeout=FETCH)
        except TimeoutError:
            self.over.put(future)
            return False
        except Exception as error:  # whatever was raised on the worker, or by Dask on its behalf
            if _ended(error) and len(task) > 1:
                for found in task:  # one by one: the others should not be lost with the one that ends workers
                    self.submit((found,))
            else:
                self.fail(task, _why(error))
        else:
            self.told(_results(task, part, self.limits))
        del self.tasks[future]
        future.release()
        return True

    def workers(self) -> bool:
        """Whether there is anybody to read."""
        try:
            return self.client.status == "running" and bool(self.client.scheduler_info()["workers"])
        except (OSError, TimeoutError):  # the scheduler is gone
            return False

    def give_up(self) -> None:
        for future, task in self.tasks.items():
            future.cancel()
            self.fail(task, _LEFT)
        self.tasks.clear()

    def fail(self, task: Sequence[Found], reason: str) -> None:
        self.told([(found, (_lost(found, reason),)) for found in task])


def _tasks(files: Sequence[Found]) -> Iterator[tuple[Found, ...]]:
    task: list[Found] = []
    for found in files:
        if task and (len(task) >= TASK_FILES or sum(one.size for one in task) + found.size > TASK_BYTES):
            yield tuple(task)
            task = []
        task.append(found)
    if task:
        yield tuple(task)


def read_part(files: Sequence[Found], limits: Limits) -> tuple[str, bytes]:
    """On a worker: a pack of some files, and which hangview made it."""
    from hangview.dumps.packing import rows_of
    from hangview.dumps.worker import read_together

    results = zip(files, read_together(files, limits), strict=True)
    return __version__, write([row for found, group in results for row in rows_of(found, group, limits)], limits)


def _results(files: Sequence[Found], part: tuple[str, bytes], limits: Limits) -> list[tuple[Found, tuple[Row, ...]]]:
    version, data = part
    if version != __version__:
        reason = f"the Dask worker that read it has hangview {version}, this is {__version__}"
        return [(found, (_lost(found, reason),)) for found in files]
    try:
        rows = read(data, limits).rows
    except Unusable as error:
        return [(found, (_lost(found, f"what the Dask worker sent cannot be used: {error}"),)) for found in files]
    return [(found, tuple(row for row in rows if row.key == found.key)) for found in files]


def _lost(found: Found, reason: str) -> Row:
    """The row of a file that was not read: the next run tries again."""
    return Row(replace(failed(found, SourceStatus.UNREADABLE, reason), opened=False), None, found.size)


def _ended(error: Exception) -> bool:
    """Whether the workers that had the task ended, as opposed to the task failing on one that goes on."""
    from distributed import CancelledError, KilledWorker

    return isinstance(error, KilledWorker | CancelledError)


def _why(error: Exception) -> str:
    if _ended(error):
        return "the Dask workers that were to read it ended"
    return f"the Dask worker failed ({type(error).__name__}: {' '.join(str(error).split())})"
