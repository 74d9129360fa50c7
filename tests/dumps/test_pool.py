import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hangview.dumps import pool, processes
from hangview.dumps.calling_off import Cancelled
from hangview.dumps.find import Found, find
from hangview.dumps.pool import read_all
from hangview.dumps.read import read_file
from hangview.dumps.result import FileRead
from hangview.schema import ReadOptions, SourceStatus
from tests.dumps.job import plain, write

#: A worker in which one file ends the process, and another makes it raise.
_DEADLY = """
import multiprocessing.connection, os, sys
sys.path[:] = {path!r}
from hangview.dumps import worker
read = worker.read_file
def read_or_die(found, limits, known):
    if found.shown == "rank_3":
        os.kill(os.getpid(), 9)
    if found.shown == "rank_5":
        raise SystemExit(4)
    return read(found, limits, known)
worker.read_file = read_or_die
worker.serve(multiprocessing.connection.Connection({handle}), {space}, gentle={gentle})
"""


@pytest.fixture
def files(tmp_path):
    for rank in range(7):
        write(tmp_path / f"rank_{rank}", plain(7, count=20 + rank))
    return find([str(tmp_path)], ReadOptions()).dumps


@pytest.fixture
def eager(monkeypatch):
    """Start programs for a few small files, and no copies of this process: of those tells test_processes."""
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    monkeypatch.setattr(pool, "SMALL", 0)
    monkeypatch.setattr(pool, "TASK_BYTES", 1 << 14)
    monkeypatch.setattr(pool, "FIRST_FILES", 2)


def collect(files: Sequence[Found], **options: Any) -> dict[str, Any]:
    got = {}

    def done(results):
        for found, read in results:
            assert found.shown not in got
            got[found.shown] = read

    read_all(files, ReadOptions(**options), done)
    return got


def same(one: FileRead, other: FileRead) -> bool:
    """Equal values behind ids that may differ."""
    a, b = one.decoded, other.decoded
    assert a is not None
    assert b is not None
    return (
        (one.status, one.reason, one.facts, a.count, a.configs, a.statuses)
        == (other.status, other.reason, other.facts, b.count, b.configs, b.statuses)
        and [a.ops[i] for i in a.columns["op"]] == [b.ops[i] for i in b.columns["op"]]
        and [a.stacks[i] for i in a.columns["stack"]] == [b.stacks[i] for i in b.columns["stack"]]
        and all((a.columns[name] == b.columns[name]).all() for name in ("seq", "created_ns", "state", "retired"))
    )


def test_processes_read_what_this_one_reads(files, eager):
    got = collect(files, workers=2)
    assert sorted(got) == [found.shown for found in files]
    for found in files:
        (here,) = read_file(found, ReadOptions().limits)
        (there,) = got[found.shown]
        assert same(here, there)


def test_little_is_read_here(files, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    assert len(collect(files)) == 7
    monkeypatch.setattr(pool, "SMALL", 0)
    assert len(collect(files, workers=1)) == 7


def test_a_file_that_ends_its_process_costs_only_itself(files, eager, monkeypatch):
    monkeypatch.setattr(pool, "_BOOT", _DEADLY)
    got = collect(files, workers=2)
    statuses = {name: read[0].status for name, read in got.items()}
    assert {name for name, status in statuses.items() if status is not SourceStatus.READ} == {"rank_3", "rank_5"}
    assert got["rank_3"][0].reason.startswith("the process that read it ended (SIGKILL)")
    assert got["rank_5"][0].reason.startswith("the process that read it ended (exit 4)")


def test_without_processes_everything_is_read_here(files, eager, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert len(collect(files, workers=2)) == 7


def test_processes_that_cannot_even_start_are_no_misfortune(files, eager, monkeypatch):
    monkeypatch.setattr(pool, "_BOOT", "raise SystemExit(1)")
    got = collect(files, workers=2)
    assert {read[0].status for read in got.values()} == {SourceStatus.READ}


@pytest.mark.parametrize("workers", [1, 2])
def test_reading_can_be_called_off(files, eager, workers):
    got: list[Any] = []
    with pytest.raises(Cancelled):
        read_all(files, ReadOptions(workers=workers), got.append, lambda: bool(got))
    assert len(got) == 1


def test_no_process_is_left_behind(files, eager):
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()  # noqa: PTH112, PTH208
    collect(files, workers=2)
    with pytest.raises(RuntimeError):
        read_all(files, ReadOptions(workers=2), lambda _: (_ for _ in ()).throw(RuntimeError()))
    if before:
        assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_thread_may_read(files, eager):
    got = {}
    thread = threading.Thread(target=lambda: got.update(collect(files, workers=2)))
    thread.start()
    thread.join()
    assert len(got) == 7


def test_tasks_start_small_and_stay_below_the_limits(tmp_path):
    for rank in range(100):
        (tmp_path / f"rank_{rank}").write_bytes(b"x" * 10)
    (tmp_path / "rank_100").write_bytes(b"x" * (pool.TASK_BYTES + 1))
    found = find([str(tmp_path)], ReadOptions()).dumps
    tasks = list(pool._tasks(found, 2))
    assert [one for task in tasks for one in task] == list(found)
    assert [len(task) for task in tasks] == [8, 8, 32, 32, 20, 1]


def test_a_script_that_loads_is_not_run_again_by_the_processes(tmp_path, files):
    """multiprocessing would import it once more in each of them."""
    script = tmp_path / "script.py"
    script.write_text(
        "from hangview.dumps import pool\n"
        "from hangview.dumps.find import find\n"
        "from hangview.schema import ReadOptions\n"
        "pool.SMALL = 0\n"
        "pool.TASK_BYTES = 1 << 14\n"
        f"files = find([{str(tmp_path)!r}], ReadOptions()).dumps\n"
        "seen = []\n"
        "pool.read_all(files, ReadOptions(workers=2), lambda results: seen.extend(results))\n"
        "print(len([1 for _, read in seen if read[0].decoded]))\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("7\n", "")


def test_workers_import_neither_polars_nor_a_terminal():
    code = "import sys, hangview.dumps.worker; print(*{'polars', 'textual', 'click', 'rich'}.intersection(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to ask")
@pytest.mark.parametrize(("gentle", "nicer"), [(True, 10), (False, 0)])
def test_processes_beside_a_screen_give_way(files, eager, gentle, nicer):
    """The children's niceness as the kernel tells it, while they have work in hand."""
    seen = set()

    def done(results):
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()  # from the state on: ppid is the 2nd, nice the 17th
                if int(fields[1]) == os.getpid() and b"worker" in (path.parent / "cmdline").read_bytes():
                    seen.add(int(fields[16]) - os.getpriority(os.PRIO_PROCESS, 0))

    pool.read_all(files, ReadOptions(workers=2), done, gentle=gentle)
    assert max(seen) == nicer  # one that is still starting has not come to it yet
