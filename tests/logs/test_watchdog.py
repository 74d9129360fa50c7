"""The watchdog's words, version by version."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.logs.evidence import EndKind, StatusFrom
from tests.logs.support import caught, read_text, signalled

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.logs.evidence import GroupByLog


def rows(tmp_path: Path, text: str) -> tuple[GroupByLog, ...]:
    return read_text(tmp_path, job_log=text).groups


@pytest.mark.parametrize(
    ("bracket", "name", "desc", "member"),
    [
        ("[PG ID 4 PG GUID 20(mesh_tp) Rank 1] ", "20", "mesh_tp", 1),
        ("[PG ID 1 PG GUID 1 Rank 0] ", "1", None, 0),
        ("[PG ID 2 PG GUID a3f9c(mesh_dp) Rank 3] ", "a3f9c", "mesh_dp", 3),
        ("[PG ID 2 PG GUID (mesh_dp) Rank 3] ", None, "mesh_dp", 3),
        ("[PG ID 2 PG GUID 7(undefined) Rank 3] ", "7", None, 3),
        ("[PG 0 (default_pg) Rank 5] ", "0", "default_pg", 5),
        ("[PG 7 Rank 0] ", "7", None, 0),
    ],
)
def test_brackets_from_2_4_on(tmp_path, bracket, name, desc, member):
    text = (
        f"[rank15]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:1709] {bracket}Timeout at NCCL work: 12, "
        "last enqueued NCCL work: 14, last completed NCCL work: 11.\n"
    )
    [row] = rows(tmp_path, text)
    assert (row.rank, row.name, row.desc, row.group_rank) == (15, name, desc, member)
    assert (row.timed_out_seq, row.enqueued, row.completed) == (12, 14, 11)


def test_numbers_of_2_3_count_per_process_and_are_no_names(tmp_path):
    line = "[rank{0}]:[E ProcessGroupNCCL.cpp:1537] [PG {1} Rank 0] Timeout at NCCL work: 4, last enqueued NCCL work: 5, last completed NCCL work: 3.\n"
    found = rows(tmp_path, line.format(0, 5) + line.format(4, 5) + line.format(1, 0))
    assert [(row.rank, row.name, row.desc, row.pg_id) for row in found] == [
        (0, None, None, 5), (1, "0", "default_pg", 0), (4, None, None, 5),
    ]  # fmt: skip


@pytest.mark.parametrize(("enqueued", "completed"), [("5570036741", "3904955349522264369"), ("3", "94850624599232")])
def test_uninitialised_counters_of_2_3_are_not_taken(tmp_path, enqueued, completed):
    text = (
        f"[rank0]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 0] Timeout at NCCL work: 1, last enqueued NCCL work: {enqueued}, "
        f"last completed NCCL work: {completed}.\n"
    )
    [row] = rows(tmp_path, text)
    assert (row.enqueued, row.completed) == (None, None)
    assert row.timed_out_seq == 1


def test_minus_one_means_none_yet_for_completed_and_timing_off_for_started(tmp_path):
    text = (
        "[rank0]:[E901 11:00:09.014157106 ProcessGroupNCCL.cpp:2334] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by "
        "watchdog at work sequence id: 1 PG status: last enqueued work: 1, last started work: -1, last completed work: -1\n"
    )
    [row] = rows(tmp_path, text)
    assert row.completed == -1
    assert row.started is None


def test_a_work_is_counted_once_however_often_it_is_printed(tmp_path):
    work = "WorkNCCL(SeqNum=8, OpType=_ALLGATHER_BASE, NumelIn=4, NumelOut=16, Timeout(ms)=300000) ran for 300003 milliseconds before timing out."
    again = f"[Rank 1] Watchdog caught collective operation timeout: {work}"
    text = (
        f"[rank1]:[E1014 02:11:09.287940086 ProcessGroupNCCL.cpp:733] {again}\n"
        f"[rank1]:[E1014 02:12:09.288230215 ProcessGroupNCCL.cpp:2117] [PG ID 3 PG GUID 5(tp) Rank 1] Process group watchdog thread "
        f"terminated with exception: {again}\n"
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        f"  what():    what():  [PG ID 3 PG GUID 5(tp) Rank 1] Process group watchdog thread terminated with exception: {again}\n"
    )
    evidence = read_text(tmp_path, job_log=text)
    [row] = evidence.groups
    # The group of a work whose failure line is lost is the one that the last words name.
    assert (row.name, row.desc, row.timed_out_seq, row.timed_out_op, row.enqueued) == ("5", "tp", 8, "all_gather", None)
    assert evidence.unplaced == ()
    assert evidence.ends == ()


def test_a_dump_signal_tells_of_the_default_group_alone(tmp_path):
    bracket = "PG ID 3 PG GUID 5(mesh_tp)"
    found = rows(tmp_path, caught(4, 17, group=bracket, member=0) + signalled(4, 8, 8))
    assert {(row.desc, row.enqueued, row.completed, row.timed_out_seq) for row in found} == {
        ("mesh_tp", 17, 16, 17), ("default_pg", 8, 8, None),
    }  # fmt: skip
    assert {row.status_from for row in found} == {StatusFrom.FAILURE_LINE, StatusFrom.DUMP_SIGNAL}


def test_the_failure_line_wins_over_the_dump_signal_of_the_same_group(tmp_path):
    [row] = rows(tmp_path, signalled(4, 9, 8) + caught(4, 9))
    assert row.status_from is StatusFrom.FAILURE_LINE
    assert row.timed_out_seq == 9
    assert row.signal_from == 2


def test_unset_element_counts_are_unknown(tmp_path):
    [row] = rows(tmp_path, caught(0, 3, "COALESCED", numel_in=2**64 - 1, numel_out=2**64 - 1))
    assert (row.numel_in, row.numel_out, row.timed_out_op) == (None, None, "coalesced")


def test_element_counts_may_exceed_32_bits(tmp_path):
    [row] = rows(tmp_path, caught(0, 3, numel_in=2**33, numel_out=2**33))
    assert row.numel_in == 2**33


def test_2_1_prints_sizes_but_no_rank(tmp_path):
    text = (
        "[E ProcessGroupNCCL.cpp:475] [Rank 7] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=BROADCAST, "
        "NumelIn=10, NumelOut=10, Timeout(ms)=1800000) ran for 1800500 milliseconds before timing out.\n"
    )
    evidence = read_text(tmp_path, job_log=text)
    assert evidence.groups == ()
    [row] = evidence.unplaced
    assert (row.group_rank, row.timed_out_seq, row.numel_in, row.timed_out_op) == (7, 88, 10, "broadcast")
    [fact] = [fact for fact in evidence.facts if fact.name == "torch"]
    assert fact.value.startswith("2.1")


def test_1_12_tensor_shapes_do_not_hide_the_work(tmp_path):
    text = (
        "[E ProcessGroupNCCL.cpp:719] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, "
        "TensorShape=[10, 4], Timeout(ms)=1800000) ran for 1800500 milliseconds before timing out.\n"
    )
    [row] = read_text(tmp_path, job_log=text).unplaced
    assert row.timed_out_seq == 5


def test_a_headless_copy_is_still_read(tmp_path):
    text = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milli\n"
    evidence = read_text(tmp_path, rank_4_log=text)
    [row] = evidence.groups
    assert (row.rank, row.timed_out_seq, row.ran_ms, row.rank_from) == (4, 5, 600001, "file name")


def test_nccl2_gives_group_and_milliseconds_only(tmp_path):
    text = (
        "[rank3]:[E1129 14:02:40.777203795 WorkNCCL.cpp:312] [TC][rank=1][name=20] Operation timed out after 600739 ms\n"
        "[rank3]:[E1129 14:02:40.777203795 ProcessGroupNCCL.cpp:498] [TC][rank=1][name=20] Aborting process on rank 3 due to timeout - "
        "timeout watchdog detected operation timeout\n"
    )
    evidence = read_text(tmp_path, job_log=text)
    [row] = evidence.groups
    assert (row.rank, row.name, row.group_rank, row.ran_ms) == (3, "20", 1, 600739)
    assert row.timed_out
    assert (row.timed_out_seq, row.timed_out_op, row.enqueued, row.timeout_ms) == (None, None, None, None)
    assert ("backend", "nccl2") in {(fact.name, fact.value) for fact in evidence.facts}


def test_announced_and_written_dumps(tmp_path):
    head = "[rank2]:[I626 05:14:36.393067540 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 2] "
    text = (
        f"{head}ProcessGroupNCCL dumping nccl trace to /var/fr/trace_2\n"
        "[rank2]:[I626 05:14:37.393067540 FlightRecorder.cpp:9] Finished writing Flight Recorder debug info to /var/fr/trace_2\n"
    )
    evidence = read_text(tmp_path, job_log=text)
    [dump] = evidence.dumps
    assert (dump.rank, dump.began, dump.path, dump.finished) == (2, True, "/var/fr/trace_2", True)
    assert ("dump_path", "/var/fr/trace_2", (2,)) in {(fact.name, fact.value, fact.ranks) for fact in evidence.facts}


def test_a_dump_that_could_not_be_written(tmp_path):
    text = "[rank2]:[E626 05:14:37.393067540 FlightRecorder.cpp:9] Error opening file for writing Flight Recorder debug info: /nope/trace_2\n"
    [dump] = read_text(tmp_path, job_log=text).dumps
    assert dump.finished is False


def test_the_time_is_as_printed_and_without_a_year(tmp_path):
    [row] = rows(tmp_path, caught(0, 5).replace("E626", "E1103"))
    assert row.at == "11-03 05:14:36"


def test_the_monitor_of_2_5_and_newer_ends_its_process(tmp_path):
    head = "[rank1]:[{}429 14:03:49.385461578 ProcessGroupNCCL.cpp:1554] [PG ID 0 PG GUID 0(default_pg) Rank 1] "
    text = (
        head.format("F")
        + "[PG ID 0 PG GUID 0(default_pg) Rank 1] Terminating the process after attempting to dump debug info, due to {}.\n"
    )
    [end] = read_text(tmp_path, job_log=text.format("ProcessGroupNCCL watchdog hang")).ends
    assert (end.rank, end.kind, end.follower) == (1, EndKind.HEARTBEAT, True)
    assert read_text(tmp_path, job_log=text.format("collective timeout or exception")).ends == ()


def test_the_watchdog_of_torch_npu(tmp_path):
    text = (
        "[rank1]:[E324 13:00:25.428029551 compiler_depend.ts:574] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkHCCL(SeqNum=196, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=1800000) ran for 1800123 milliseconds before timing out.\n"
    )
    [row] = rows(tmp_path, text)
    assert (row.rank, row.timed_out_seq, row.timed_out_op, row.timeout_ms) == (1, 196, "all_reduce", 1_800_000)


@pytest.mark.parametrize(
    "text",
    [
        "Memory access fault by GPU node-4 (Agent handle: 0x5581d0c3e2a0) on address 0x7f1c9c600000. Reason: Unknown.",
        "HW Exception by GPU node-9 (Agent handle: 0x631351bb5a20) reason :GPU Hang",
    ],
)
def test_rocm_s_runtime_ends_its_process_without_a_head(tmp_path, text):
    [end] = read_text(tmp_path, rank_2_log=f"step 1\n{text}\n").ends
    assert (end.rank, end.kind, end.follower) == (2, EndKind.DEVICE, False)
    assert read_text(tmp_path, rank_2_log=f"step 1\nseen: {text}\n").ends == ()
