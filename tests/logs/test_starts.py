"""Several runs in the same logs: the newest is what counts, and one run stays whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.logs.judge import conclude, leads_of
from tests.logs.support import caught, read_text, said

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.logs.evidence import LogEvidence

RANKS = range(4)


def wait(rank: int, seq: int, at: str, *, ran: int = 600_004, group: str = "PG ID 0 PG GUID 0(default_pg)") -> str:
    """Both lines about a work that timed out, of torch 2.6 … 2.12."""
    head = f"[rank{rank}]:[E626 {at}.393067540 ProcessGroupNCCL.cpp:"
    return (
        f"{head}632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, "
        f"NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for {ran} milliseconds before timing out.\n"
        f"{head}2268] [{group} Rank {rank}]  failure detected by watchdog at work sequence id: {seq} "
        f"PG status: last enqueued work: {seq}, last completed work: {seq - 1}\n"
    )


def behind(rank: int, newest: int, at: str) -> str:
    """The line of a rank that another one's time-out made dump."""
    return (
        f"[rank{rank}]:[E626 {at}.393067540 ProcessGroupNCCL.cpp:1870] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a "
        "dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. "
        f"Last enqueued NCCL work: {newest}, last completed NCCL work: {newest}.This is most likely caused by ...\n"
    )


def barrier(rank: int, at: str, group: str = "PG ID 0 PG GUID 0") -> str:
    return (
        f"[rank{rank}]:[W626 {at}.123456789 ProcessGroupNCCL.cpp:4561] [{group} Rank {rank}]  using GPU {rank} to perform "
        "barrier as devices used by this process are currently unknown. This can potentially cause a hang if ...\n"
    )


def raised(rank: int, what: str = "ValueError: shard_3.bin") -> str:
    return "".join(
        f"[rank{rank}]: {line}\n"
        for line in ("Traceback (most recent call last):", '  File "/srv/job/train.py", line 64, in step', "    batch()", what)
    )


def leads(evidence: LogEvidence) -> tuple[int, ...]:
    return leads_of(conclude(evidence))


def hang(at: str, seq: int, missing: int) -> dict[int, str]:
    return {rank: behind(rank, seq - 1, at) if rank == missing else wait(rank, seq, at) for rank in RANKS}


def one_each(folder: Path, *runs: dict[int, str]) -> LogEvidence:
    """A file for each rank, the runs one after the other."""
    return read_text(folder, **{f"rank_{rank}_log": "".join(run[rank] for run in runs) for rank in RANKS})


def shared(folder: Path, *runs: dict[int, str]) -> LogEvidence:
    return read_text(folder, train_log="".join(run[rank] for run in runs for rank in RANKS))


def test_a_rank_behind_in_the_newest_run_is_named_and_not_that_of_the_earlier_one(tmp_path: Path) -> None:
    for number, (first, second) in enumerate(((42, 120), (5000, 42), (42, 42))):
        for form in (one_each, shared):
            evidence = form(tmp_path / f"{number}{form.__name__}", hang("01:17:21", first, 3), hang("05:20:01", second, 2))
            findings = conclude(evidence)
            assert leads_of(findings) == (2,)
            assert f"all_reduce {second} of default_pg" in findings[0].summary
            assert findings[0].others == (0, 1, 3)


def test_each_file_says_that_it_holds_more_than_one_run(tmp_path: Path) -> None:
    evidence = shared(tmp_path, hang("01:17:21", 42, 3), hang("05:20:01", 120, 2))
    (aside,) = evidence.aside
    assert aside.text.startswith("holds more than one run, the newest from line 8 on")
    assert "the first is line 1, printed 06-26 01:17:21" in aside.text


def test_a_log_that_ends_with_the_earlier_run_tells_nothing_of_the_newest(tmp_path: Path) -> None:
    run, now = hang("01:17:21", 42, 3), hang("05:20:01", 120, 2)
    now[2] = ""
    evidence = one_each(tmp_path, run, now)
    findings = conclude(evidence)
    assert leads_of(findings) == ()
    assert findings[0].ranks == (2,)
    assert "of rank 2 no log says whether it came" in findings[0].summary
    assert "other logs go on to a newer one" in next(one.text for one in evidence.aside if one.ranks == (2,))


def test_the_last_words_of_an_aborted_process_bear_no_time_and_are_of_its_run(tmp_path: Path) -> None:
    run, now = hang("01:17:21", 42, 3), hang("05:20:01", 120, 2)
    run[2] += (
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        "  what():  [PG ID 0 PG GUID 0(default_pg) Rank 2] Process group watchdog thread terminated with exception: [Rank 2] "
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, "
        "Timeout(ms)=600000) ran for 600004 milliseconds before timing out.\n"
    )
    assert leads(one_each(tmp_path, run, now)) == (2,)


def test_two_groups_that_time_out_in_one_run_are_of_one_run(tmp_path: Path) -> None:
    """A shorter time-out ends first; the other wait had begun long before that."""
    evidence = read_text(
        tmp_path,
        rank_0_log=wait(0, 7, "05:14:36", ran=60_004, group="PG ID 1 PG GUID 1(tp)") + wait(0, 42, "05:23:30"),
        rank_1_log=wait(1, 42, "05:23:31"),
    )
    assert {(row.rank, row.timed_out_seq) for row in evidence.groups} == {(0, 7), (0, 42), (1, 42)}
    assert not evidence.aside


def test_works_of_one_group_that_time_out_one_after_the_other_are_of_one_run(tmp_path: Path) -> None:
    """They were enqueued together: the first one is where the rank stands."""
    text = wait(0, 42, "05:14:36") + wait(0, 43, "05:14:37")
    evidence = read_text(tmp_path, rank_0_log=text, rank_1_log=wait(1, 42, "05:14:36"))
    assert {row.timed_out_seq for row in evidence.groups if row.rank == 1} == {42}
    assert not evidence.aside


def test_a_first_barrier_that_is_told_of_again_is_a_new_start(tmp_path: Path) -> None:
    now = {rank: barrier(rank, "05:06:40") + (wait(rank, 42, "05:17:21") if rank < 2 else "") for rank in RANKS}
    run = {rank: barrier(rank, "04:51:40") for rank in RANKS}
    run[2] += raised(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    for form in (one_each, shared):
        evidence = form(tmp_path / form.__name__, run, now)
        assert leads(evidence) == ()
        assert not evidence.ends


def test_what_is_raised_after_the_new_start_is_how_the_newest_run_ended(tmp_path: Path) -> None:
    """Also where the run before ended by the very same words: those are kept once alone."""
    run = {rank: barrier(rank, "04:51:40") + (raised(2) if rank == 2 else "") for rank in RANKS}
    now = {rank: barrier(rank, "05:06:40") + (raised(2) if rank == 2 else wait(rank, 42, "05:17:21")) for rank in RANKS}
    for form in (one_each, shared):
        evidence = form(tmp_path / form.__name__, run, now)
        assert leads(evidence) == (2,)
        (end,) = evidence.ends
        assert end.line.number > (5 if form is one_each else 8)


def test_one_rank_that_starts_again_ends_no_run_of_the_others(tmp_path: Path) -> None:
    """Fault-tolerant jobs replace a process alone: what the others printed before that is of this run."""
    text = "".join(barrier(rank, "04:51:40") for rank in RANKS) + raised(2) + barrier(1, "05:06:40") + wait(0, 42, "05:17:21")
    text += wait(3, 42, "05:17:21")
    assert leads(read_text(tmp_path, train_log=text)) == (2,)
    own = text.replace("[rank2]: ", "[rank1]: ")
    assert leads(read_text(tmp_path, train_log=own)) == ()


def test_hosts_that_print_in_other_zones_are_told_apart_by_the_order_of_the_lines(tmp_path: Path) -> None:
    """Ranks 2 and 3 are on a host whose clock prints eight hours less."""
    run = "".join(barrier(rank, at) for rank, at in ((0, "12:51:40"), (1, "12:51:40"), (2, "04:51:40"), (3, "04:51:40")))
    now = "".join(barrier(rank, at) for rank, at in ((0, "13:06:40"), (1, "13:06:40"), (2, "05:06:40"), (3, "05:06:40")))
    now += wait(0, 42, "13:17:21") + wait(1, 42, "13:17:21") + wait(2, 42, "05:17:21") + behind(3, 41, "05:17:22")
    evidence = read_text(tmp_path, train_log=run + behind(2, 7, "04:59:00") + raised(3) + now)
    assert leads(evidence) == (3,)
    assert sorted(row.rank for row in evidence.groups) == [0, 1, 2, 3]
    assert not evidence.ends


def test_a_library_that_is_told_of_twice_is_no_new_start_of_the_others(tmp_path: Path) -> None:
    version = "{} NCCL version 2.21.5+cuda12.4\n"
    first, again = version.format("2026-06-26 04:51:40"), version.format("2026-06-26 05:06:40")
    failed = "2026-06-26 05:01:00 ERROR step failed\n" + raised(3)
    texts = {f"rank_{rank}_log": wait(rank, 42, "05:17:21") for rank in (1, 2)}
    assert leads(read_text(tmp_path, rank_0_log=first + again + wait(0, 42, "05:17:21"), rank_3_log=failed, **texts)) == (3,)


def test_the_first_barrier_of_another_group_is_no_new_start(tmp_path: Path) -> None:
    text = barrier(2, "04:51:40") + raised(2) + barrier(2, "05:06:40", "PG ID 1 PG GUID 1")
    evidence = read_text(tmp_path, rank_2_log=text, rank_0_log=wait(0, 42, "05:17:21"), rank_1_log=wait(1, 42, "05:17:21"))
    assert leads(evidence) == (2,)


def test_nccl_tells_its_version_once_a_process(tmp_path: Path) -> None:
    version = "node1:{pid}:4120 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
    waits = {f"rank_{rank}_log": wait(rank, 42, "05:17:21") for rank in (0, 1)}
    first, line = version.format(pid=41), behind(2, 41, "05:17:22")
    again = read_text(tmp_path / "a", rank_2_log=first + line + version.format(pid=77), **waits)
    assert [row.rank for row in again.groups] == [0, 1]
    same = read_text(tmp_path / "b", rank_2_log=first + line + first, **waits)
    assert leads(same) == (2,)


def at(text: str) -> str:
    return f"2026-06-26 {text},123 - m - INFO - world ok\n"


@pytest.mark.parametrize("last", [at("05:02:20"), ""])
def test_what_is_raised_without_a_time_behind_a_line_of_an_earlier_run_names_nobody(tmp_path: Path, last: str) -> None:
    """Rank 3 ended the earlier run; in the newest, 0 and 1 wait, and nothing is known of 2 and 3."""
    texts = {f"rank_{rank}_log": at("01:06:40") + wait(rank, 42, "01:17:21") + at("05:02:20") for rank in (0, 1, 2)}
    texts |= {f"rank_{rank}_log": texts[f"rank_{rank}_log"] + wait(rank, 52, "05:20:01") for rank in (0, 1)}
    evidence = read_text(tmp_path, rank_3_log=at("01:06:40") + raised(3) + last, **texts)
    assert leads(evidence) == ()
    assert {(row.rank, row.timed_out_seq) for row in evidence.groups} == {(0, 52), (1, 52)}


LEFT = (
    "[rank3]:[W626 05:03:40.123456789 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before "
    "we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group ...\n"
)


@pytest.mark.parametrize("texts", [(at("05:02:20"), ""), ("", LEFT), (at("05:02:20"), LEFT)])
def test_what_is_raised_in_the_newest_run_keeps_its_rank_named(tmp_path: Path, texts: tuple[str, str]) -> None:
    """By a line with a time before it, or by that of its process's end right behind it."""
    before, behind_it = texts
    waits = {f"rank_{rank}_log": wait(rank, 42, "01:17:21") + wait(rank, 52, "05:20:01") for rank in (0, 1, 2)}
    evidence = read_text(tmp_path, rank_3_log=at("01:06:40") + before + raised(3) + behind_it, **waits)
    assert leads(evidence) == (3,)


def test_who_waited_in_the_earlier_run_did_not_raise_in_it(tmp_path: Path) -> None:
    waits = {f"rank_{rank}_log": wait(rank, 42, "01:17:21") + wait(rank, 52, "05:20:01") for rank in (0, 1)}
    evidence = read_text(tmp_path, rank_2_log=at("01:06:40"), rank_3_log=wait(3, 42, "01:17:21") + raised(3), **waits)
    assert leads(evidence) == (3,)


@pytest.mark.parametrize(
    "again",
    [
        "2026-06-26 05:18:20,123 - trainer - ERROR - save failed: NCCL error in: NCCLUtils.hpp:268, NCCL version 2.21.5\n",
        "NCCL version 2.27.3+cuda12.9\n",
        "node1:41:4120 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n",
    ],
)
def test_another_communicator_is_no_new_start(tmp_path: Path, again: str) -> None:
    """NCCL 2.22.3 tells of its version for each; and what a rank raises after its own time-out follows from that."""
    first = again if "ERROR" not in again else "NCCL version 2.21.5+cuda12.4\n"
    own = first + wait(0, 42, "05:17:21") + again + raised(0, "RuntimeError: training did not finish")
    texts = {f"rank_{rank}_log": wait(rank, 42, "05:17:21") for rank in (1, 2)}
    evidence = read_text(tmp_path, rank_0_log=own, rank_3_log="", **texts)
    assert leads(evidence) == ()
    assert [row.rank for row in evidence.groups if row.timed_out] == [0, 1, 2]


def test_a_communicator_that_is_made_after_an_error_takes_the_error_of_nobody_away(tmp_path: Path) -> None:
    version = "{}: NCCL version 2.27.3+cuda12.9\n"
    failed = "".join(f"3: {line}\n" for line in raised(3).splitlines())
    waits = "".join(f"{rank}: {line}\n" for rank in (0, 1, 2) for line in wait(rank, 42, "05:17:21").splitlines())
    text = version.format(0) + failed + version.format(0) + version.format(2) + waits
    assert leads(read_text(tmp_path, slurm_1_out=text)) == (3,)


def test_processes_that_take_turns_are_none_that_was_started_again(tmp_path: Path) -> None:
    version = "node1:{}:4120 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n"
    text = version.format(41) + behind(2, 41, "05:17:22") + version.format(77) + version.format(41)
    waits = {f"rank_{rank}_log": wait(rank, 42, "05:17:21") for rank in (0, 1)}
    assert leads(read_text(tmp_path, rank_2_log=text, **waits)) == (2,)


@pytest.mark.parametrize("pids", [("", ""), (":41:50 [0] NCCL INFO ", ":77:90 [0] NCCL INFO ")])
def test_the_same_local_rank_of_two_nodes_is_no_process_that_was_started_again(tmp_path: Path, pids: tuple[str, str]) -> None:
    version = "[default{}]:{}NCCL version 2.21.5+cuda12.4\n"
    one, two = ("".join(version.format(local, pid and f"node{local}{pid}") for local in (0, 2)) for pid in pids)
    failed = "".join(f"[default1]:{line}\n" for line in raised(5).splitlines())
    waits = "".join(
        f"[default{rank % 4}]:{line}\n" for rank in (0, 1, 2, 3, 4, 6, 7) for line in wait(rank, 42, "05:17:21").splitlines()
    )
    assert leads(read_text(tmp_path, slurm_1_out=one + failed + two + waits)) == (5,)


def test_process_groups_that_are_made_anew_are_of_the_same_run(tmp_path: Path) -> None:
    """Rank 3 raised between them, and does not come to the second one: no job that was started again."""
    failed = "2026-06-26 05:02:20,123 - main - ERROR - evaluation failed\n" + raised(3).replace("[rank3]: ", "")
    texts = {f"rank_{rank}_log": barrier(rank, "05:00:40") + barrier(rank, "05:02:40") for rank in (0, 1, 2)}
    texts = {name: text + wait(int(name[5]), 2, "05:17:21") for name, text in texts.items()}
    evidence = read_text(tmp_path, rank_3_log=barrier(3, "05:00:40") + failed, **texts)
    assert leads(evidence) == (3,)
    assert not evidence.aside


RESTART = (
    "I0626 01:19:00.123000 4110 torch/distributed/elastic/agent/server/api.py:900] [default] Worker group FAILED. 2/3 attempts "
    "left; will restart worker group\n"
)


def test_a_launcher_that_starts_the_workers_again_ends_a_run(tmp_path: Path) -> None:
    run = raised(3) + wait(0, 42, "01:17:21")
    now = wait(1, 12, "01:40:21") + wait(0, 12, "01:40:21") + behind(2, 11, "01:40:22") + wait(3, 12, "01:40:21")
    assert leads(read_text(tmp_path, train_log=run + RESTART + now)) == (2,)


def test_a_launcher_in_a_file_of_its_own_ends_the_run_of_the_ranks_files(tmp_path: Path) -> None:
    """Where their lines are printed before it and behind it; what is raised behind it is of the newest run."""
    texts = {f"rank_{rank}_log": at("01:17:00") + at("01:19:10") for rank in (0, 1, 3)}
    waits = {name: text + wait(int(name[5]), 42, "01:30:21") for name, text in texts.items() if name != "rank_3_log"}
    two = at("01:17:00") + raised(2) + at("01:19:10")
    both = {**texts, **waits, "agent_log": RESTART}
    assert leads(read_text(tmp_path / "a", rank_2_log=two, **both)) == ()
    assert leads(read_text(tmp_path / "b", rank_2_log=at("01:17:00") + at("01:19:10") + raised(2), **both)) == (2,)


def test_ends_that_the_launcher_counts_by_attempts_stay_told_of(tmp_path: Path) -> None:
    failed = (
        "E0626 {}.123000 4110 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: {} "
        "(pid: {}) of binary: /usr/bin/python\n"
    )
    run = raised(2, "torch.OutOfMemoryError: CUDA out of memory.") + failed.format("01:18:59", 2, 203) + RESTART
    evidence = read_text(tmp_path, train_log=run + raised(3, "KeyError: 'k'") + failed.format("01:40:21", 3, 304))
    assert leads(evidence) == (3,)
    assert [end.rank for end in evidence.earlier_ends] == [2]
    assert "rank 2 of attempt 0" in said(conclude(evidence))


def test_processes_that_are_ended_go_on_to_print_behind_the_launchers_line(tmp_path: Path) -> None:
    run = wait(0, 42, "01:17:21") + raised(3)
    late = wait(2, 42, "01:19:20")
    now = wait(1, 12, "01:40:21") + wait(0, 12, "01:40:21") + wait(3, 12, "01:40:21")
    evidence = read_text(tmp_path, train_log=run + RESTART + late + now)
    assert [(row.rank, row.timed_out_seq) for row in evidence.groups] == [(0, 12), (1, 12), (3, 12)]


def test_a_launcher_that_starts_nothing_any_more_takes_nothing_away(tmp_path: Path) -> None:
    """What is known of the run before is all that is known."""
    run = raised(3) + wait(0, 42, "01:17:21") + wait(1, 42, "01:17:21")
    evidence = read_text(tmp_path, train_log=run + RESTART)
    assert leads(evidence) == (3,)
    assert not evidence.aside


CANCELLED = "slurmstepd: error: *** STEP 77.0 ON node1 CANCELLED AT 2026-06-26T01:19:00 DUE TO JOB REQUEUE ***\n"


def test_a_job_that_was_cancelled_and_goes_on_long_after_was_started_again(tmp_path: Path) -> None:
    run = behind(1, 7, "01:17:21") + raised(3) + CANCELLED + "srun: error: node1: tasks 0-3: Terminated\n"
    now = wait(0, 12, "05:40:21") + behind(2, 11, "05:40:22") + wait(1, 12, "05:40:21") + wait(3, 12, "05:40:21")
    evidence = read_text(tmp_path, slurm_77_out=run + now)
    assert leads(evidence) == (2,)
    assert not evidence.ends


def test_a_loop_in_a_batch_script_starts_the_job_again_at_once(tmp_path: Path) -> None:
    """Rank 3 raises a minute after all tasks of the run before were ended; what is raised until then follows from that."""
    ended = "srun: error: node1: tasks 0,2-3: Terminated\n"
    stopped = "".join(f"2: {line}\n" for line in raised(2).splitlines())
    failed = "".join(f"3: {line}\n" for line in ("2026-06-26 01:20:00,123 - INFO - built", *raised(3).splitlines()))
    waits = "".join(f"{rank}: {line}\n" for rank in (0, 1) for line in wait(rank, 2, "01:30:21").splitlines())
    text = "2026-06-26 01:18:50,123 - INFO - x\n" + CANCELLED
    assert leads(read_text(tmp_path / "a", slurm_77_out=text + ended + failed + waits)) == (3,)
    assert leads(read_text(tmp_path / "b", slurm_77_out=text + stopped + ended + waits)) == ()


def test_the_cancelling_of_the_run_before_makes_nothing_of_the_newest_follow(tmp_path: Path) -> None:
    begin = "".join(f"{rank}: {barrier(rank, '01:06:40')}" for rank in RANKS)
    again = "".join(f"{rank}: {barrier(rank, '05:06:40')}" for rank in RANKS)
    killed = "srun: error: node1: task 3: Killed\n"
    now = "".join(f"{rank}: {line}\n" for rank in (0, 1, 2) for line in wait(rank, 42, "05:17:21").splitlines())
    evidence = read_text(tmp_path / "a", slurm_77_out=begin + CANCELLED + again + killed + now)
    assert leads(evidence) == (3,)
    evidence = read_text(tmp_path / "b", slurm_77_out=begin + CANCELLED + killed + now)
    assert leads(evidence) == ()


def test_the_last_line_of_a_cancelled_job_takes_nothing_away(tmp_path: Path) -> None:
    text = "".join(hang("01:17:21", 42, 3).values()) + CANCELLED + "srun: error: node1: tasks 0-3: Terminated\n"
    assert leads(read_text(tmp_path, slurm_77_out=text)) == (3,)


def test_a_single_run_is_left_as_it_is(tmp_path: Path) -> None:
    evidence = read_text(tmp_path, train_log="".join(caught(rank, 42) for rank in (0, 1, 2)) + raised(3))
    assert leads(evidence) == (3,)
    assert "earlier run" not in said(conclude(evidence))
    assert not evidence.aside


def without_time(text: str) -> str:
    """As torch 2.3 prints it: no time, and the group's number counts per process."""
    return text.replace("PG ID 0 PG GUID 0(default_pg)", "PG 0").replace("E626 01:17:21.393067540", "E").replace(
        "E626 05:20:01.393067540", "E"
    ).replace("  failure detected by watchdog at work sequence id: ", " Timeout at NCCL work: ").replace(
        " PG status: last enqueued work: ", ", last enqueued NCCL work: "
    ).replace(", last completed work: ", ", last completed NCCL work: ")  # fmt: skip


def test_without_times_numbers_that_do_not_go_on_tell_the_runs_apart(tmp_path: Path) -> None:
    for number, (first, second) in enumerate(((42, 120), (5000, 42))):
        run = "".join(without_time(wait(rank, first, "01:17:21")) for rank in (0, 1, 2))
        now = "".join(without_time(wait(rank, second, "05:20:01")) for rank in (0, 1, 3))
        evidence = read_text(tmp_path / str(number), train_log=run + now)
        assert {(row.rank, row.timed_out_seq) for row in evidence.groups} == {(0, second), (1, second), (3, second)}


def test_without_times_works_that_time_out_one_after_the_other_are_of_one_run(tmp_path: Path) -> None:
    text = "".join(without_time(wait(0, seq, "01:17:21")) for seq in (42, 43, 44))
    evidence = read_text(tmp_path, train_log=text + without_time(wait(1, 42, "01:17:21")))
    assert not evidence.aside


def test_two_groups_that_no_line_names_are_of_one_run(tmp_path: Path) -> None:
    """Torch 2.2 prints neither times nor groups: each group counts for itself."""
    text = "".join(without_time(wait(2, seq, "01:17:21")).replace("[PG 0 Rank 2] ", "[Rank 2]") for seq in (5000, 300))
    others = {f"rank_{rank}_log": without_time(wait(rank, 300, "01:17:21")).replace("[PG 0 Rank", "[Rank") for rank in (0, 1)}
    evidence = read_text(tmp_path, rank_2_log=text, **others)
    assert {row.timed_out_seq for row in evidence.groups if row.rank == 2} == {300, 5000}
    assert not evidence.aside
