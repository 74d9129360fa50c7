"""Headers that another process reads: what they would say here, nothing where they say nothing, and never a wait for ever."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hangview.dumps import early as early_room
from hangview.dumps import heads, pool, processes
from hangview.dumps.early import ask_early
from hangview.dumps.find import find
from hangview.schema import ReadOptions
from hangview.session import Session

FIXTURES = Path(__file__).parents[2] / "fixtures"
OPTIONS = ReadOptions(cache=False, logs=False)


def never() -> bool:
    return False


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 2)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Sixteen ranks, and a file without a byte in it that makes the set one that somebody waits for."""
    folder = tmp_path / "large"
    shutil.copytree(FIXTURES / "nccl-stuck", folder)
    with (folder / "nccl_trace_rank_16").open("wb") as file:
        file.truncate(pool.SMALL)
    return folder


@pytest.fixture
def stopped(large):
    """A process that was asked and does nothing, as one that waits for a dead file server."""
    early = ask_early([str(large)], OPTIONS)
    assert early is not None
    early.child.process.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]  # a program, no copy
    yield early
    early.drop()


def test_another_process_says_what_this_one_would(large):
    early = ask_early([str(large)], OPTIONS)
    assert early is not None
    answer = early.take(never)
    assert answer == heads.heads_of(find([str(large)], OPTIONS), OPTIONS)
    assert answer is not None
    assert answer.read == tuple(range(16))  # all but the file without a byte
    assert early.child.ended(0) is not None


@pytest.mark.parametrize("path", [str(FIXTURES / "nccl-stuck"), str(FIXTURES / "no such folder")])
def test_a_small_set_and_a_path_that_is_not_there_say_nothing(path):
    early = ask_early([path], OPTIONS)
    assert early is not None
    assert early.take(never) is None


def test_a_process_that_ends_is_an_answer_too(stopped):
    stopped.child.process.kill()
    assert stopped.take(never) is None


def test_nobody_waits_for_a_process_that_hangs(stopped, monkeypatch):
    monkeypatch.setattr(early_room, "PATIENCE", 0.1)
    assert stopped.take(never) is None
    assert stopped.child.ended(0) == -signal.SIGKILL


def test_who_closes_the_screen_does_not_wait(stopped, monkeypatch):
    monkeypatch.setattr(early_room, "PATIENCE", 1000)
    assert stopped.take(lambda: True) is None


def test_without_a_process_nothing_is_read_early(large, monkeypatch):
    def none_left(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", none_left)
    assert ask_early([str(large)], OPTIONS) is None


def test_on_one_processor_nothing_is_read_early(large, monkeypatch):
    """It would only take the time in which the screen is imported."""
    monkeypatch.setattr(processes, "cores", lambda: 1)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    assert ask_early([str(large)], OPTIONS) is None


def test_a_session_tells_what_was_read_early_and_reads_no_header_itself(large, monkeypatch):
    early = ask_early([str(large)], OPTIONS)
    monkeypatch.setattr(heads, "read_heads", lambda *_: pytest.fail("it read them itself"))
    told: list[heads.Heads] = []
    Session([str(large)], OPTIONS, early=early).look(on_heads=told.append)
    assert [each.read for each in told] == [tuple(range(16))]


def test_a_session_over_a_small_set_ends_the_process(stopped, monkeypatch):
    told: list[heads.Heads] = []
    Session([str(FIXTURES / "nccl-stuck")], OPTIONS, early=stopped).look(on_heads=told.append)
    assert told == []
    assert stopped.child.ended(0) == -signal.SIGKILL


def test_headers_are_read_without_numpy():
    """It takes as long to import as four hundred headers take to be read."""
    code = (
        "import sys, hangview.dumps.early, hangview.dumps.find, hangview.dumps.heads, hangview.dumps.names\n"
        "import hangview.dumps.decode.begin\n"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'polars', 'textual', 'click')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
