"""Files of every sort: unreadable, odd, hostile; and what the worksheet gets."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hangview.logs import LogFile, conclude, read_logs, scan_log
from hangview.logs.reading import combine
from tests.logs.support import FIXTURES, caught, files_under, read_text, signalled


def test_importing_the_package_costs_nothing():
    code = "import sys, hangview.logs, hangview.logs.evidence; print(sorted({'numpy', 'polars', 'textual'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_needs_no_polars():
    code = (
        "import sys; from pathlib import Path; from hangview.logs import LogFile, read_logs, conclude;"
        f"p = Path({str(FIXTURES / 'logs' / 'sizes-differ-2.5' / 'all.log')!r}); conclude(read_logs([LogFile(0, p, 'all.log')]));"
        "print('polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_no_logs_at_all():
    evidence = read_logs([])
    assert (evidence.groups, evidence.ends, evidence.attempts) == ((), (), ())
    assert conclude(evidence) == ()


def test_a_file_that_is_gone_is_one_line_and_the_rest_goes_on(tmp_path):
    (tmp_path / "a.log").write_text(caught(0, 42))
    evidence = read_logs([LogFile(0, tmp_path / "gone.log", "gone.log"), LogFile(1, tmp_path / "a.log", "a.log")])
    assert evidence.logs[0].problem == "cannot be read: No such file or directory"
    assert evidence.logs[1].problem is None
    assert [row.rank for row in evidence.groups] == [0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("x")
    path.chmod(0)
    assert scan_log(LogFile(0, path, "a.log")).problem == "cannot be read: Permission denied"


def test_a_fifo_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe.log")
    assert scan_log(LogFile(0, tmp_path / "pipe.log", "pipe.log")).problem == "no regular file: left alone"


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\0" * 5_000, b"\xff\xfe\x00bad", b"\r\n" * 900, b"x" * 2_000_000, b"\x80\x04\x95" * 99]
)
def test_odd_files_say_nothing(tmp_path, data):
    evidence = read_text(tmp_path, job_log=data)
    assert (evidence.groups, evidence.ends, evidence.unplaced) == ((), (), ())
    assert evidence.logs[0].problem is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_log_in_utf_16_is_read(tmp_path, encoding):
    text = "\ufeffstep 1\r\n" + "".join(caught(rank, 42).replace("\n", "\r\n") for rank in range(2))
    data = text.encode(encoding)
    evidence = read_text(tmp_path, job_log=data)
    assert [row.rank for row in evidence.groups] == [0, 1]
    assert evidence.logs[0].notes == ("UTF-16",)
    line = evidence.groups[0].line
    assert data[line.offset :].decode(encoding).startswith("[rank0]:[E626")


TEXTS = [
    path.path.read_bytes()
    for name in ("restart-2.12", "tee-2.9", "ray-2.6", "two-groups-2.7")
    for path in files_under(FIXTURES / "logs" / name)
]


@settings(deadline=None, max_examples=60, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(TEXTS), st.integers(0, 20_000), st.integers(0, 20_000), st.binary(max_size=30))
def test_damaged_logs_never_raise(tmp_path, text, start, end, middle):
    start, end = sorted((start % (len(text) + 1), end % (len(text) + 1)))
    evidence = read_text(tmp_path, job_log=text[:start] + middle + text[end:])
    for finding in conclude(evidence):
        assert finding.summary


@settings(deadline=None, max_examples=40, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(24)))
def test_the_order_of_lines_in_a_mixed_log_changes_no_position(tmp_path, order):
    lines = [
        line
        for rank in range(8)
        for line in (signalled(rank, 41, 41) * 3 if rank == 5 else caught(rank, 42) + signalled(rank, 42, 41)).splitlines()
    ]
    assert len(lines) == 24
    evidence = read_text(tmp_path, job_log="\n".join(lines[number] for number in order) + "\n")
    assert {(row.rank, row.enqueued, row.completed, row.timed_out_seq) for row in evidence.groups} == {
        (rank, 41 if rank == 5 else 42, 41, None if rank == 5 else 42) for rank in range(8)
    }


def test_control_characters_of_a_log_are_escaped(tmp_path):
    text = 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in f\n    x\nValueError: \x9b2J \u202e bad\n'
    [end] = read_text(tmp_path, rank_0_log=text).ends
    assert "\u202e" not in end.what + end.line.text
    assert "\\u202e" in end.what


def test_crlf_and_no_final_newline(tmp_path):
    text = caught(0, 42).replace("\n", "\r\n").rstrip("\r\n")
    [row] = read_text(tmp_path, job_log=text).groups
    assert (row.timed_out_seq, row.completed) == (42, 41)


def test_a_wrong_number_for_a_rank_costs_no_memory(tmp_path):
    evidence = read_text(tmp_path, job_log=caught(9_999_999, 3) + "world size 9999999\n")
    assert len(evidence.silent) <= 1 << 17


def test_used_lines_and_logs_are_named(tmp_path):
    evidence = read_text(tmp_path, a_log=caught(0, 42), b_log="nothing here\n" * 3)
    assert [(log.shown, log.lines, log.used) for log in evidence.logs] == [("a.log", 2, 2), ("b.log", 3, 0)]
    assert [(line.source, line.number) for line in evidence.lines] == [(0, 1), (0, 2)]
    assert evidence.shown(evidence.lines[1]) == "a.log, line 2"


def test_scans_of_unchanged_files_can_be_kept(tmp_path):
    files = files_under(FIXTURES / "logs" / "restart-2.12")
    assert combine([scan_log(file) for file in files]) == read_logs(files)


def test_progress_is_told(tmp_path):
    seen = []
    read_logs(files_under(FIXTURES / "logs" / "nccl2-2.15"), on_progress=lambda done, of: seen.append((done, of)))
    assert seen == [(number, 5) for number in range(1, 6)]


FACTS = """gpu01:4040:5040 [0] NCCL INFO cudaDriverVersion 12020
NCCL version 2.21.5+cuda12.4
gpu01:4040:5040 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0
gpu01:4041:5041 [1] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0.
gpu01:4040:5050 [0] NCCL INFO comm 0x55d0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x1f2e3d - Init COMPLETE
[2026-04-02 10:20:30] gpu01:4041:5051 [1] NCCL INFO ncclCommInitRank comm 0x55d1 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 43000 commId 0x1f2e3d - Init COMPLETE
gpu01:4041:5052 [1] NCCL INFO comm 0x55d2 rank 0 nranks 1 cudaDev 1 nvmlDev 1 busId 43000 commId 0x99 - Init COMPLETE
PyTorch version: 2.6.0+cu124
Nvidia driver version: 550.90.07
TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_NCCL_TRACE_BUFFER_SIZE=2000 HF_TOKEN=secret NCCL_AUTH_KEY=secret
"""


def test_facts_for_the_worksheet(tmp_path):
    evidence = read_text(tmp_path, job_log=FACTS)
    facts = {(fact.name, fact.value) for fact in evidence.facts}
    assert {
        ("nccl", "2.21.5"), ("cuda", "12.4"), ("cuda_driver_api", "12.2"), ("torch", "2.6.0+cu124"), ("driver", "550.90.07"),
        ("env NCCL_SOCKET_IFNAME", "eth0"), ("env TORCH_NCCL_DUMP_ON_TIMEOUT", "1"), ("env TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"),
        ("host", "gpu01"), ("device", "cuda:0 (bus 1b000)"), ("device", "cuda:1 (bus 43000)"),
    } <= facts  # fmt: skip
    assert "secret" not in str(evidence)
    assert [(place.rank, place.host, place.pid, place.device, place.bus_id) for place in evidence.places] == [
        (0, "gpu01", 4040, 0, "1b000"), (1, "gpu01", 4041, 1, "43000"),
    ]  # fmt: skip
    assert all(fact.origin.endswith(")") for fact in evidence.facts)
