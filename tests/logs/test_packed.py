"""Compressed logs: the same evidence as from the log itself, whatever the size, and up to a cut."""

from __future__ import annotations

import gzip
import random
from typing import TYPE_CHECKING

import pytest

from hangview.logs import LogFile, conclude, leads_of, read_logs
from tests.logs.support import caught, read_text, signalled

if TYPE_CHECKING:
    from hangview.logs.evidence import LogEvidence

JOB = "".join(signalled(2, 41, 41) if rank == 2 else caught(rank, 42) for rank in range(4))
NOISE = "gpu01:4042:5042 [2] NCCL INFO Channel {0:02}/0 : 12[4] -> 13[5] via P2P/CUMEM/read {0}\n"


def positions(evidence: LogEvidence) -> list[tuple[int, int | None, int | None, int, str, int]]:
    return [
        (row.rank, row.enqueued, row.timed_out_seq, row.line.number, row.line.text, row.line.offset) for row in evidence.groups
    ]


def noise(lines: int) -> str:
    rng = random.Random(3)
    return "".join(NOISE.format(rng.randrange(100_000)) for _ in range(lines))


@pytest.mark.parametrize("lines", [0, 100, 40_000])
@pytest.mark.parametrize("where", ["start", "middle", "end"])
def test_a_compressed_log_says_what_the_log_says(tmp_path, lines, where):
    some = noise(lines)
    half = len(some) // 2 + some[len(some) // 2 :].find("\n") + 1
    text = {"start": JOB + some, "middle": some[:half] + JOB + some[half:], "end": some + JOB}[where]
    plain = read_text(tmp_path, job_log=text)
    packed = read_text(tmp_path, **{"job.log_gz": gzip.compress(text.encode(), 1)})
    assert positions(packed) == positions(plain)
    assert leads_of(conclude(packed)) == (2,)
    assert (packed.logs[0].lines, packed.logs[0].size) == (text.count("\n"), len(text))
    assert "compressed" in packed.logs[0].notes


def test_several_members_are_one_log(tmp_path):
    data = b"".join(gzip.compress(line.encode()) for line in JOB.splitlines(keepends=True))
    assert leads_of(conclude(read_text(tmp_path, **{"job.log_gz": data}))) == (2,)


def test_zstd(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    text = noise(20_000) + JOB
    evidence = read_text(tmp_path, **{"job.log_zst": zstandard.compress(text.encode())})
    assert leads_of(conclude(evidence)) == (2,)


@pytest.mark.parametrize("lines", [0, 40_000])
def test_what_comes_before_a_cut_is_read(tmp_path, lines):
    data = gzip.compress((JOB + noise(lines)).encode(), 1)
    evidence = read_text(tmp_path, **{"job.log_gz": data[:-200] if lines else data[:-9]})
    assert evidence.logs[0].problem == "ends early: read up to there"
    assert [row.rank for row in evidence.groups] == [0, 1, 2, 3]


def test_damage_is_one_line(tmp_path):
    data = bytearray(gzip.compress((JOB + noise(40_000)).encode(), 1))
    data[len(data) // 2] ^= 0xFF
    data[len(data) // 2 + 1] ^= 0xFF
    (tmp_path / "job.log.gz").write_bytes(data)
    evidence = read_logs([LogFile(0, tmp_path / "job.log.gz", "job.log.gz")])
    assert evidence.logs[0].problem is None or "\n" not in evidence.logs[0].problem
    assert [row.rank for row in evidence.groups] == [0, 1, 2, 3]
