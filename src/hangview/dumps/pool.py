"""Reads many files, in other processes when there is much to read.

It is known at any moment which files a process has in hand. One that dies (out of memory, killed) costs only the file that
killed it: the files it had are tried again one by one.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from hangview.dumps import processes
from hangview.dumps.allocator import import_numpy
from hangview.dumps.calling_off import Cancelled
from hangview.dumps.kinds import PACK
from hangview.dumps.result import failed
from hangview.schema import SourceStatus
from hangview.text import size as size_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    from hangview.dumps.find import Found
    from hangview.dumps.processes import Child
    from hangview.dumps.result import FileRead
    from hangview.schema import Limits, ReadOptions

    Done = Callable[[Sequence[tuple[Found, tuple[FileRead, ...]]]], None]

#: Below this, starting processes takes longer than it saves: each takes 0.1 s of a processor and 50 MB before its first file.
SMALL = 32 << 20
MAX_WORKERS = 4
TASK_FILES = 32
TASK_BYTES = 8 << 20
#: The first task of each process is small: something to show within a second.
FIRST_FILES = 8
_BOOT = """import sys; sys.path[:] = {path!r}
from multiprocessing.connection import Connection
from hangview.dumps.worker import serve
serve(Connection({handle}), {space}, gentle={gentle})"""
_POLL = 0.1
#: Seconds in which a screen draws what there is before the first file is read.
SCREEN = 0.2
#: Threads take address space, which is limited, and a pack is read column by column.
_ALONE = {
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1", "POLARS_ASYNC_THREAD_COUNT": "1",
}  # fmt: skip


@dataclass(slots=True)
class _Worker:
    child: Child
    ready: bool = False
    task: tuple[Found, ...] = field(default=())


def read_all(
    files: Sequence[Found],
    options: ReadOptions,
    done: Done,
    cancelled: Callable[[], bool] = lambda: False,
    *,
    gentle: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> None:
    """Read ``files``, handing over results with ``done`` as they come: in any order, each file once, in the calling thread.

    ``gentle``: other processes give way to this one, which has a screen to draw first. ``meanwhile`` is called in a thread
    while others read, and not at all when none do.

    Packs are always read in another process: polars, which reads them, ends the program that it is in over some bytes that
    somebody made up, or prints a backtrace on its screen.

    Raises :class:`Cancelled` soon after ``cancelled()`` says so. Never raises for what is in a file.
    """
    total = sum(found.size for found in files)
    number = _workers(options.workers, total)
    apart = [found for found in files if number or found.path.endswith(PACK)]
    if apart:
        here = [found for found in files if not number and not found.path.endswith(PACK)]
        with contextlib.ExitStack() as stack:
            pool = _Pool(options.limits, stack, gentle=gentle)
            if pool.start(number or 1):
                if meanwhile is not None:
                    _start(meanwhile, SCREEN if gentle else 0)
                files = [*here, *pool.run(_tasks(apart, number or 1), done, cancelled)]
    if files:
        _read_here(files, options, done, cancelled)


def _read_here(files: Sequence[Found], options: ReadOptions, done: Done, cancelled: Callable[[], bool]) -> None:
    # Imported where nobody else reads: what these need takes as long to import as the other processes to start.
    import_numpy()
    from hangview.dumps.decode.known import Known
    from hangview.dumps.worker import read_together

    known = Known(options.limits)
    for found in files:
        if cancelled():
            raise Cancelled
        done(list(zip((found,), read_together((found,), options.limits, known), strict=True)))


def _start(meanwhile: Callable[[], object], delay: float) -> None:
    thread = threading.Timer(delay, meanwhile)
    thread.name, thread.daemon = "hangview-meanwhile", True
    thread.start()


def _workers(asked: int | None, total: int) -> int:
    """How many processes to start; 0 reads in this one."""
    if total < SMALL or asked == 1 or not sys.executable:
        return 0
    return min(asked or MAX_WORKERS, asked or processes.cores(), -(-total // TASK_BYTES))


def _tasks(files: Sequence[Found], number: int) -> deque[tuple[Found, ...]]:
    tasks: deque[tuple[Found, ...]] = deque()
    task: list[Found] = []
    size = 0
    for found in files:
        most = FIRST_FILES if len(tasks) < number else TASK_FILES
        if task and (len(task) >= most or size + found.size > TASK_BYTES):
            tasks.append(tuple(task))
            task, size = [], 0
        task.append(found)
        size += found.size
    if task:
        tasks.append(tuple(task))
    return tasks


class _Pool:
    def __init__(self, limits: Limits, stack: contextlib.ExitStack, *, gentle: bool) -> None:
        self.limits = limits
        self.gentle = gentle
        self.stack = stack
        self.space = max(4 << 30, 16 * limits.file_bytes)
        self.workers: list[_Worker] = []

    def start(self, number: int) -> bool:
        """Start processes; False when not even one can be."""
        for _ in range(number):
            try:
                self.workers.append(self._spawn())
            except OSError:  # no more processes or descriptors for this user
                break
        return bool(self.workers)

    def _spawn(self) -> _Worker:
        if processes.can_fork():
            import_numpy()
            from hangview.dumps.worker import serve

            def go_on(connection: Connection) -> None:
                serve(connection, self.space, gentle=self.gentle)

            child = processes.fork(go_on, _ALONE, [worker.child for worker in self.workers])
        else:
            child = processes.start(_BOOT, _ALONE, space=self.space, gentle=self.gentle)
        self.stack.callback(child.end)
        return _Worker(child)

    def run(self, tasks: deque[tuple[Found, ...]], done: Done, cancelled: Callable[[], bool]) -> list[Found]:
        """Work through the tasks. What is left, when no process can be started any more, is returned."""
        while True:
            if cancelled():
                raise Cancelled
            for worker in self.workers:
                if worker.ready and not worker.task and tasks:
                    self._give(worker, tasks.popleft())
            busy = [worker for worker in self.workers if worker.task or not worker.ready]
            if not tasks and not any(worker.task for worker in self.workers):
                return []
            if not busy:
                return [found for task in tasks for found in task]
            by_connection = {worker.child.connection: worker for worker in busy}
            for connection in wait(list(by_connection), timeout=_POLL):
                self._take(by_connection[connection], tasks, done)  # type: ignore[index]  # wait() gives back what it got

    def _give(self, worker: _Worker, task: tuple[Found, ...]) -> None:
        worker.task = task
        with contextlib.suppress(OSError):  # it died: _take notices
            worker.child.connection.send((task, self.limits))

    def _take(self, worker: _Worker, tasks: deque[tuple[Found, ...]], done: Done) -> None:
        try:
            answer = worker.child.connection.recv()
        except (EOFError, OSError):
            self._bury(worker, tasks, done)
            return
        if answer == processes.READY:
            worker.ready = True
            return
        task, worker.task = worker.task, ()
        done(list(zip(task, answer, strict=True)))

    def _bury(self, worker: _Worker, tasks: deque[tuple[Found, ...]], done: Done) -> None:
        """A process is gone: try its files one by one, and give up on the one that it had alone."""
        self.workers.remove(worker)
        code = worker.child.ended(1)  # it closed its end first: let it tell how it ends
        worker.child.end()
        if len(worker.task) == 1:
            reason = f"the process that read it ended ({_how(code)}); memory limit {size_text(self.space)}"
            done([(worker.task[0], (failed(worker.task[0], SourceStatus.UNREADABLE, reason),))])
        else:
            tasks.extendleft((found,) for found in reversed(worker.task))
        if worker.ready:  # one that never was would not be the next time either
            with contextlib.suppress(OSError):
                self.workers.append(self._spawn())


def _how(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
