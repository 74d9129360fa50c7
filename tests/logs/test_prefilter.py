"""The filter over big files: nothing that matters is missed, line numbers are exact, memory is bounded."""

from __future__ import annotations

import os
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hangview.logs import LogFile, conclude, leads_of, prefilter, read_logs
from hangview.logs.lines import raw_lines
from tests.logs.support import caught, signalled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOISE = b"gpu01:4042:5042 [2] NCCL INFO Channel 07/0 : 12[4] -> 13[5] via P2P/CUMEM/read error: none\n"


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def lines_read(path: Path) -> dict[int, bytes]:
    """Line number → line, of all that is read line by line."""
    with opened(path) as fd:
        found = prefilter.find_windows(fd, path.stat().st_size)
        return {line.number: line.data for line in raw_lines(fd, found.windows)}


def test_phrases_are_long_enough_for_any_alignment():
    assert all(len(phrase) >= 15 for phrase in prefilter.PHRASES)


@pytest.mark.parametrize("phrase", prefilter.PHRASES)
def test_every_phrase_is_found_at_every_alignment(tmp_path, phrase):
    path = tmp_path / "big.log"
    count = 60_000
    body = [NOISE] * count
    wanted = {}
    for shift in range(8):
        number = 8_000 + shift * 5_000
        body[number] = b"x" * shift + phrase + (b"" if phrase.endswith(b"\n") else b" tail\n")
        wanted[number + 1] = body[number][:-1]
    path.write_bytes(b"".join(body))
    read = lines_read(path)
    for number, line in wanted.items():
        assert read.get(number) == line
    assert len(read) < count // 2


def test_a_phrase_across_the_edge_of_a_chunk(tmp_path):
    path = tmp_path / "big.log"
    phrase = b"Watchdog caught collective operation timeout"
    for shift in range(0, len(phrase), 5):
        before = 2 * prefilter.CHUNK - shift
        lines = [NOISE] * (before // len(NOISE))
        lines.append(b"y" * (before - sum(map(len, lines)) - 1) + b"\n")
        target = len(lines) + 1
        path.write_bytes(b"".join(lines) + phrase + b" end\n" + NOISE * 20_000)
        assert lines_read(path).get(target) == phrase + b" end"


def test_an_ordinary_big_file_is_hardly_read(tmp_path):
    path = tmp_path / "big.log"
    path.write_bytes(NOISE * 100_000)
    with opened(path) as fd:
        found = prefilter.find_windows(fd, path.stat().st_size)
    assert found.lines == 100_000
    assert sum(window.end - window.start for window in found.windows) <= prefilter.HEAD + prefilter.TAIL


def test_two_threads_find_the_same(tmp_path, monkeypatch):
    path = tmp_path / "big.log"
    path.write_bytes((NOISE * 9_000 + caught(3, 42).encode()) * 4 + NOISE * 9_000)
    with opened(path) as fd:
        alone = prefilter.find_windows(fd, path.stat().st_size)
        monkeypatch.setattr(prefilter, "_PARALLEL", 1)
        monkeypatch.setattr(prefilter, "_idle_core", lambda: True)
        both = prefilter.find_windows(fd, path.stat().st_size)
    assert alone == both


def test_a_small_file_is_read_whole_and_an_empty_one_not_at_all(tmp_path):
    path = tmp_path / "small.log"
    path.write_bytes(b"a\nb\n")
    with opened(path) as fd:
        assert prefilter.find_windows(fd, 4).windows == (prefilter.Window(0, 4, 1),)
        assert prefilter.find_windows(fd, 0).windows == ()


def test_what_is_over_the_budget_is_left_out_in_the_middle_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(prefilter, "BUDGET_FIRST", 100_000)
    monkeypatch.setattr(prefilter, "BUDGET_LAST", 200_000)
    path = tmp_path / "big.log"
    path.write_bytes(b"".join(caught(number % 8, number).encode() for number in range(1, 6_000)))
    evidence = read_logs([LogFile(0, path, "big.log")])
    [log] = evidence.logs
    assert any("left out" in note for note in log.notes)
    assert {row.rank for row in evidence.groups} == set(range(8))


def big_job(path: Path, lines: int) -> None:
    """64 interleaved ranks, mostly NCCL INFO; rank 37 is behind, the others time out; more noise behind the end."""
    noise = b"".join(NOISE.replace(b"12[4]", b"%d[4]" % (number % 64)) for number in range(1_000))
    end = "".join(signalled(37, 41, 41) if rank == 37 else caught(rank, 42) for rank in range(64))
    with path.open("wb") as file:
        for _ in range(lines // 1_000):
            file.write(noise)
        file.write(end.encode())
        file.write(noise * 20)


def test_a_big_log_of_many_ranks_in_bounded_memory(tmp_path):
    path = tmp_path / "job.log"
    big_job(path, 300_000)
    file = LogFile(0, path, "job.log")
    read_logs([file])  # imports and tables are not the file's
    tracemalloc.start()
    evidence = read_logs([file])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 25_000_000
    assert peak < 12_000_000
    assert leads_of(conclude(evidence)) == (37,)
    [behind] = [row for row in evidence.groups if row.rank == 37]
    with opened(path) as fd:
        os.lseek(fd, behind.line.offset, os.SEEK_SET)
        assert os.read(fd, 9) == b"[rank37]:"
    assert evidence.logs[0].lines == path.read_bytes().count(b"\n")
    assert path.read_bytes()[: behind.line.offset].count(b"\n") == behind.line.number - 1
