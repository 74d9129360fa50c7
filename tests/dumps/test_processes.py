"""Copies of this process: only where that is safe, and none that outlives it, prints for it or keeps a neighbour alive.

Each test is a program of its own, as what runs tests has threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from hangview.dumps import processes
from tests.dumps.job import plain, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="whether another thread runs is asked of Linux only")
WAIT = 20.0


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def gone(pid: int) -> bool:
    """Whether a process ends soon; one that nobody has asked how it ended counts as ended."""
    end = time.monotonic() + WAIT
    stat = Path(f"/proc/{pid}/stat")
    while time.monotonic() < end:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


_POOL = """
    import contextlib, sys
    from hangview.dumps import pool, processes
    from hangview.dumps.find import find
    from hangview.schema import ReadOptions
    from hangview.dumps.allocator import import_numpy
    import_numpy()  # without threads
    pool.SMALL, pool.TASK_BYTES, pool.FIRST_FILES = 0, 1 << 14, 2
    def refuse(*_, **__):
        raise OSError("no program may be started")
    processes.subprocess.Popen = type("Popen", (), {"__init__": refuse})
    files = find([sys.argv[1]], ReadOptions()).dumps
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for rank in range(7):
        write(tmp_path / f"rank_{rank}", plain(7, count=20 + rank))
    return tmp_path


def test_copies_read_what_one_process_reads(folder):
    code = """
        read = {}
        def done(results):
            read.update((found.shown, dumps[0].decoded.count) for found, dumps in results)
        pool.read_all(files, ReadOptions(workers=2), done)
        print(sorted(read.items()), processes.can_fork())
    """
    done = run(textwrap.dedent(_POOL) + textwrap.dedent(code), str(folder))
    assert (done.stdout, done.stderr) == (f"{[(f'rank_{rank}', 20 + rank) for rank in range(7)]} True\n", "")


def test_a_file_that_ends_its_copy_costs_only_itself(folder):
    code = """
        import os
        from hangview.dumps import worker
        read_file = worker.read_file
        def read_or_die(found, limits, known):
            if found.shown == "rank_3":
                os.kill(os.getpid(), 9)
            return read_file(found, limits, known)
        worker.read_file = read_or_die
        got = {}
        pool.read_all(files, ReadOptions(workers=2), lambda results: got.update((f.shown, r[0]) for f, r in results))
        print(sorted(got), got["rank_3"].reason.partition(";")[0])
    """
    done = run(textwrap.dedent(_POOL) + textwrap.dedent(code), str(folder))
    names = [f"rank_{rank}" for rank in range(7)]
    assert (done.stdout, done.stderr) == (f"{names} the process that read it ended (SIGKILL)\n", "")


def test_no_copy_outlives_a_process_that_is_killed():
    """Neither the last one nor one started before it, whose connection the last one must have let go of."""
    code = """
        import os, sys
        from hangview.dumps import processes
        def serve(connection):
            connection.send(os.getpid())
            try:
                connection.recv()
            except EOFError:
                pass
        children = []
        for _ in range(3):
            children.append(processes.fork(serve, {}, children))
        print(*(child.connection.recv() for child in children), flush=True)
        os.kill(os.getpid(), 9)
    """
    done = run(code)
    assert done.returncode == -9
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 3
    assert all(gone(pid) for pid in pids)


def test_a_copy_prints_nothing_and_keeps_no_output_open():
    """Neither what this process had printed and not written yet nor anything of its own."""
    code = """
        import os, sys
        from hangview.dumps import processes
        def serve(connection):
            print("of the copy", flush=True)
            print("of the copy", file=sys.stderr, flush=True)
            connection.send(os.environ["TOLD"])
        sys.stdout.write("once ")
        child = processes.fork(serve, {"TOLD": "to the copy"})
        print(child.connection.recv(), child.ended(10), "TOLD" in os.environ)
    """
    done = run(code)
    assert (done.stdout, done.stderr) == ("once to the copy 0 False\n", "")


def test_an_interrupt_and_the_handlers_of_this_process_are_not_for_a_copy():
    code = """
        import os, signal, time
        from hangview.dumps import processes
        signal.signal(signal.SIGTERM, lambda *_: None)
        def serve(connection):
            os.kill(os.getpid(), signal.SIGINT)
            connection.send("goes on")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        child = processes.fork(serve, {})
        print(child.connection.recv(), child.ended(30), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        child.end()
        child.end()
    """
    done = run(code)
    assert (done.stdout, done.stderr) == ("goes on -15 set()\n", "")


def test_a_process_with_a_second_thread_is_not_copied():
    assert run("from hangview.dumps import processes; print(processes.can_fork())").stdout == "True\n"
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert not processes.can_fork()
    finally:
        over.set()
        thread.join()


def test_where_threads_cannot_be_counted_nothing_is_copied(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "_THREADS", tmp_path / "no such folder")
    assert not processes.can_fork()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not processes.can_fork()


def test_a_program_that_ends_tells_how():
    child = processes.start("import os; os._exit(7)")
    assert child.ended(WAIT) == 7
    child.end()
    child = processes.start("import time; time.sleep(600)")
    assert child.ended(0) is None
    child.end()
    assert child.ended(0) == -9
    assert not os.path.exists(f"/proc/{child.process.pid}")  # noqa: PTH110 - as the kernel tells it
