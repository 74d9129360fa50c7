"""A real scheduler with two real worker processes; skipped where Dask is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hangview import cli
from hangview._version import __version__
from hangview.dumps import farm, pack
from hangview.dumps.find import find
from hangview.dumps.packing import make
from hangview.loading import load
from hangview.schema import Limits, ReadOptions
from tests.dumps.job import plain, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

distributed = pytest.importorskip("distributed", reason="hangview[dask] is not installed")

OPTIONS = ReadOptions(cache=False)
RANKS = 40


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        self.wait_for(self.file.exists)
        self.address: str = json.loads(self.file.read_text())["address"]
        self.workers = [self.worker() for _ in range(2)]
        self.wait_for_workers(2)

    def start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(self.file), "--no-dashboard"]
        process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start("dask_worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")

    def wait_for_workers(self, number: int) -> None:
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=60)

    @staticmethod
    def wait_for(there) -> None:
        end = time.monotonic() + 60
        while not there():
            assert time.monotonic() < end
            time.sleep(0.1)

    def kill(self, *workers: subprocess.Popen[bytes]) -> None:
        for process in workers:
            process.kill()
            process.wait()


def run(folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.kill(*reversed(cluster.processes))


@pytest.fixture(scope="module")
def steady(tmp_path_factory) -> Iterator[Cluster]:
    """One whose workers nobody kills."""
    yield from run(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def running(tmp_path) -> Iterator[Cluster]:
    yield from run(tmp_path)


@pytest.fixture
def job(tmp_path):
    """Rank 7 did not request the last call, rank 8's file asks for code, rank 9's is cut."""
    for rank in range(RANKS):
        write(tmp_path / "job" / f"rank_{rank}", plain(RANKS, count=19 if rank == 7 else 20, open_last=rank != 7))
    (tmp_path / "job" / "rank_8").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    data = (tmp_path / "job" / "rank_9").read_bytes()
    (tmp_path / "job" / "rank_9").write_bytes(data[: len(data) // 2])
    return tmp_path / "job"


def test_two_workers_make_the_pack_that_this_process_makes(steady, job, tmp_path, capsys):
    target = tmp_path / "x.hvpack"
    assert cli.run(["pack", "--dask", steady.address, str(job), "-o", str(target)]) == 0
    assert "39 dumps" in capsys.readouterr().out
    assert target.read_bytes() == make([str(job)], OPTIONS, str(tmp_path / "other.hvpack")).data
    one, other = load(str(job), options=OPTIONS), load(str(target), options=OPTIONS)
    assert (one.records.sources, one.findings, one.leads) == (other.records.sources, other.findings, (7,))


def test_a_worker_that_is_killed_half_way_has_its_files_read_by_the_other(running, job, tmp_path, monkeypatch):
    monkeypatch.setattr(farm, "TASK_FILES", 2)
    with farm.cluster(running.address) as reader:

        def killing(files, options, told):
            def first(results):
                told(results)
                running.kill(*running.workers[:1])

            reader(files, options, first)

        made = make([str(job)], OPTIONS, str(tmp_path / "x.hvpack"), killing)
    assert running.workers[0].poll() is not None
    assert made.data == make([str(job)], OPTIONS, str(tmp_path / "other.hvpack")).data


def test_what_is_left_when_all_workers_are_gone_is_named_and_read_the_next_time(running, job, tmp_path, monkeypatch):
    monkeypatch.setattr(farm, "TASK_FILES", 2)
    monkeypatch.setattr(farm, "PATIENCE", 2.0)
    target = tmp_path / "x.hvpack"
    with farm.cluster(running.address) as reader:

        def killing(files, options, told):
            def first(results):
                told(results)
                running.kill(*running.workers)

            reader(files, options, first)

        made = make([str(job)], OPTIONS, str(target), killing)
    target.write_bytes(made.data)
    lost = [source for source in made.sources if source.reason == "no Dask worker was left to read it"]
    assert 0 < len(lost) < RANKS
    assert made.dumps + len(lost) + 1 >= RANKS  # all are there; rank 8 is refused, or lost too
    found = load(str(target), options=OPTIONS)
    assert {source.path for source in found.records.sources} == {f"rank_{rank}" for rank in range(RANKS)}
    assert not set(found.leads) & {source.rank for source in lost}
    whole = make([str(job)], OPTIONS, str(target))
    assert whole.taken_over == RANKS - len(lost)
    assert whole.data == make([str(job)], OPTIONS, str(tmp_path / "other.hvpack")).data


def test_a_file_that_ends_its_worker_costs_itself_alone(running, job, tmp_path, monkeypatch):
    """Workers here are restarted by hand, as a nanny or the batch system would."""
    (job / "sitecustomize.py").write_text(
        "import os\nimport hangview.dumps.worker as worker\n_real = worker.read_file\n"
        "def read_file(found, *rest):\n"
        "    if found.path.endswith('rank_5'):\n        os._exit(1)\n"
        "    return _real(found, *rest)\n"
        "worker.read_file = read_file\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(job))
    running.kill(*running.workers)
    running.workers = [running.worker() for _ in range(2)]
    monkeypatch.setattr(farm, "TASK_FILES", 20)
    monkeypatch.setattr(farm, "FETCH", 2.0)
    with farm.cluster(running.address) as reader:

        def restarting(files, options, told):
            real = farm._Farm.workers

            def workers(self):
                for i, process in enumerate(running.workers):
                    if process.poll() is not None:
                        running.workers[i] = running.worker()
                return real(self)

            monkeypatch.setattr(farm._Farm, "workers", workers)
            reader(files, options, told)

        made = make([str(job)], OPTIONS, str(tmp_path / "x.hvpack"), restarting)
    assert {source.path: source.reason for source in made.failed if source.status.value == "unreadable"} == {
        "rank_5": "the Dask workers that were to read it ended"
    }
    assert made.dumps == RANKS - 2


def test_files_that_a_worker_does_not_see_are_named(steady, job):
    listing = find([str(job)], OPTIONS).dumps
    (job / "rank_3").unlink()
    rows = {}
    with farm.cluster(steady.address) as reader:
        reader(listing, OPTIONS, lambda results: rows.update({found.shown: group for found, group in results}))
    assert len(rows) == RANKS
    (row,) = rows["rank_3"]
    assert (row.file.reason, row.file.opened, row.sha256) == ("No such file or directory", False, None)


def test_what_a_worker_sends_is_not_believed(job):
    (found,) = find([str(job / "rank_0")], OPTIONS).dumps
    version, data = farm.read_part((found,), Limits())
    assert len(pack.read(data, Limits()).rows) == 1
    for part, words in (
        (("0.0.0", data), f"the Dask worker that read it has hangview 0.0.0, this is {__version__}"),
        (
            (version, data[:-30]),
            "what the Dask worker sent cannot be used: a damaged pack: its checksum does not fit its bytes",
        ),
    ):
        ((_, (row,)),) = farm._results((found,), part, Limits())
        assert (row.file.reason, row.file.opened) == (words, False)


def test_a_worker_without_hangview_is_said_before_anything_is_read(steady, job, tmp_path, capsys, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['hangview'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    odd = steady.worker()
    try:
        steady.wait_for_workers(3)
        code = cli.run(["pack", "--dask", steady.address, str(job), "-o", str(tmp_path / "x.hvpack")])
    finally:
        steady.kill(odd)
    assert code == 3
    assert f" has no hangview, and needs hangview {__version__} as it is here\n" in capsys.readouterr().err
    assert not (tmp_path / "x.hvpack").exists()


def test_no_scheduler_is_one_line(job, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(farm, "_CONNECT", 1)
    code = cli.run(["pack", "--dask", "tcp://127.0.0.1:9", str(job), "-o", str(tmp_path / "x.hvpack")])
    err = capsys.readouterr().err
    assert code == 3
    assert err.count("\n") == 1
    assert err.startswith("hangview: --dask tcp://127.0.0.1:9: cannot be reached: ")
    assert not (tmp_path / "x.hvpack").exists()
