"""Launchers, schedulers and the kernel: who ended, by what, and whose end only follows."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import json

import pytest

from hangview.logs import conclude, ends_by_rank, leads_of
from hangview.logs.evidence import EndKind
from hangview.terms import Kind
from tests.logs.support import caught, read_text

OLD = "ERROR:torch.distributed.elastic.multiprocessing.api:"
MIDDLE = "[2024-01-02 10:11:12,345] torch.distributed.elastic.multiprocessing.api: [ERROR] "
NEW = "E0816 01:45:43.466000 340200 site-packages/torch/distributed/elastic/multiprocessing/api.py:833] "


def summary(*entries: tuple[int, int, int, int], error: str = "<N/A>") -> str:
    """torchelastic's summary; entries are (rank, local rank, exit code, pid)."""
    rule, thin = "=" * 60 + "\n", "-" * 60 + "\n"
    blocks = "".join(
        f"[{number}]:\n  time      : 2026-11-29_14:02:47\n  host      : flint.local\n  rank      : {rank} (local_rank: {local})\n"
        f"  exitcode  : {code} (pid: {pid})\n  error_file: <N/A>\n  traceback : {error}\n"
        for number, (rank, local, code, pid) in enumerate(entries)
    )
    return f"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{rule}train.py FAILED\n{thin}Failures:\n{blocks}{rule}"


@pytest.mark.parametrize("head", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize(("code", "name"), [(-9, "SIGKILL"), (-11, "SIGSEGV"), (-7, "SIGBUS")])
def test_a_failed_process_by_every_version(tmp_path, head, code, name):
    text = f"{head}failed (exitcode: {code}) local_rank: 1 (pid: 340264) of binary: /opt/env/bin/python\n" + summary(
        (9, 1, code, 340264)
    )
    [end] = read_text(tmp_path, launcher_log=text).ends
    assert (end.rank, end.code, end.pid, end.local_rank, end.kind) == (9, code, 340264, 1, EndKind.SIGNAL)
    assert name in end.what
    assert not end.follower


@pytest.mark.parametrize("code", [-15, -6])
def test_signals_that_only_follow(tmp_path, code):
    [end] = read_text(tmp_path, launcher_log=summary((2, 2, code, 904))).ends
    assert end.follower
    assert conclude(read_text(tmp_path, launcher_log=summary((2, 2, code, 904)))) == ()


def test_a_process_that_the_launcher_killed_after_sigterm_follows(tmp_path):
    text = (
        f"{NEW}Sending process 904 closing signal SIGTERM\n"
        f"{NEW}Unable to shutdown process 904 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL\n"
    )
    [end] = read_text(tmp_path, launcher_log=text + summary((2, 2, -9, 904))).ends
    assert end.follower
    assert end.why_follower == "the launcher ended it"


def test_what_a_process_raised_itself_counts_although_the_launcher_ended_it(tmp_path):
    traceback = 'Traceback (most recent call last):\n  File "/srv/job/a.py", line 3, in f\n    x\nValueError: bad\n'
    launcher = f"{NEW}Sending process 904 closing signal SIGTERM\n" + summary((2, 2, -15, 904))
    evidence = read_text(tmp_path, launcher_log=launcher, rank_2_log=traceback)
    [end] = ends_by_rank(evidence)[2]
    assert (end.type, end.follower, end.code) == ("ValueError", False, -15)


def test_the_first_failure_of_the_summary_is_not_the_answer(tmp_path):
    # Ranks 0 and 1 timed out and aborted, rank 2 was ended by the launcher; the summary's last block names rank 0.
    logs = {f"rank_{rank}_log": caught(rank, 8) for rank in (0, 1)}
    evidence = read_text(tmp_path, **logs, launcher_log=summary((1, 1, -6, 11), (2, 2, -15, 12), (0, 0, -6, 10)))
    assert leads_of(conclude(evidence)) == ()
    assert all(end.follower for end in evidence.ends)
    assert "waited itself" in ends_by_rank(evidence)[0][0].why_follower


def test_a_traceback_in_the_summary(tmp_path):
    error = """Traceback (most recent call last):
    File "/opt/env/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 355, in wrapper
      return f(*args, **kwargs)
    File "/srv/job/train.py", line 10, in main
      raise KeyError("optimizer")
  KeyError: 'optimizer'
  """
    [end] = read_text(tmp_path, launcher_log=summary((3, 3, 1, 40), error=error)).ends
    assert (end.rank, end.type, end.where) == (3, "KeyError", "main (/srv/job/train.py:10)")
    assert end.before_communication


def test_error_json_of_a_torchrun_tree(tmp_path):
    stack = 'Traceback (most recent call last):\n  File "/srv/job/train.py", line 10, in main\n    x\nRuntimeError: no such column\n'
    error = {
        "message": {"message": "RuntimeError: no such column", "extraInfo": {"py_callstack": stack, "timestamp": "1795966986"}}
    }
    evidence = read_text(
        tmp_path,
        logs__run_x1__attempt_0__1__error_json=json.dumps(error),
        logs__run_x1__attempt_0__0__stderr_log=caught(4, 8),
    )
    [end] = evidence.ends
    assert (end.rank, end.what, end.where) == (5, "RuntimeError: no such column", "main (/srv/job/train.py:10)")


@pytest.mark.parametrize("text", ["{", "[]", '{"message": 3', '{"note": "x"}', '{"message": {"note": 1}}', "[" * 5000])
def test_another_json_is_left_alone(tmp_path, text):
    evidence = read_text(tmp_path, rank_0__error_json=text)
    assert evidence.ends == ()
    assert evidence.logs[0].problem == "no error.json of torchelastic"


def test_the_local_rank_needs_a_known_node(tmp_path):
    text = f"{NEW}failed (exitcode: -9) local_rank: 3 (pid: 77) of binary: /opt/env/bin/python\n"
    evidence = read_text(tmp_path, launcher_log=text)
    assert evidence.ends == ()
    [end] = evidence.unplaced_ends
    assert (end.local_rank, end.pid, end.code) == (3, 77, -9)
    [finding] = conclude(evidence)
    assert finding.ranks == ()
    labelled = "[default0]:[rank8]:[W626 05:14:36.393067540 socket.cpp:1] x\n"
    [end] = read_text(tmp_path, node_log=labelled + text).ends
    assert end.rank == 11
    assert "first rank is 8" in end.rank_from


def test_local_ranks_of_two_nodes_in_one_log_are_not_guessed(tmp_path):
    labels = "".join(
        f"[default{local}]:[rank{rank}]:[W626 05:14:36.393067540 socket.cpp:1] x\n" for local, rank in ((0, 0), (0, 8))
    )
    evidence = read_text(tmp_path, all_log=labels + f"{NEW}failed (exitcode: -9) local_rank: 3 (pid: 77) of binary: python\n")
    assert evidence.ends == ()


def test_an_unlabelled_exception_and_the_one_process_that_failed(tmp_path):
    # torch 2.1: tracebacks bear no rank; the launcher names the process that ended with an exit code.
    text = (
        'Traceback (most recent call last):\n  File "/srv/job/a.py", line 3, in load\n    x\nOSError: [Errno 5] Input/output error\n'
        f"{OLD}failed (exitcode: 1) local_rank: 2 (pid: 77) of binary: python\n"
    )
    [end] = read_text(tmp_path, launcher_log=text + summary((2, 2, 1, 77))).ends
    assert (end.rank, end.type, end.code) == (2, "OSError", 1)
    assert "only exception" in end.rank_from
    other = 'Traceback (most recent call last):\n  File "/srv/job/b.py", line 9, in save\n    x\nKeyError: 7\n'
    evidence = read_text(tmp_path, launcher_log=other + text + summary((2, 2, 1, 77)))
    assert {end.type for end in evidence.unplaced_ends} == {"OSError", "KeyError"}
    assert [(end.rank, end.kind) for end in evidence.ends] == [(2, EndKind.EXIT_CODE)]


def labelled_tasks(count: int) -> str:
    return "".join(f"{rank:2}: [rank{rank}]:[W626 05:14:36.393067540 socket.cpp:1] x\n" for rank in range(count))


ECC = "[E ProcessGroupNCCL.cpp:916] [Rank {}] NCCL watchdog thread terminated with exception: CUDA error: uncorrectable ECC error\n"


@pytest.mark.parametrize(
    ("numbers", "code", "leads"),
    [
        ((1,), -6, (1,)),
        ((0,), -6, ()),  # within its group, or another process
        ((0, 1), -6, ()),
        ((1,), -15, ()),
    ],
)
def test_a_watchdog_s_error_of_a_device_and_the_one_process_that_aborted(tmp_path, numbers, code, leads):
    """Before torch 2.2 a watchdog's line bears the number within the group alone."""
    ended = f"{MIDDLE}failed (exitcode: {code}) local_rank: 1 (pid: 905) of binary: python\n" + summary((1, 1, code, 905))
    text = "".join(ECC.format(number) for number in numbers) + ended
    assert leads_of(conclude(read_text(tmp_path, job_log=text))) == leads


def test_what_a_task_raised_is_told_where_the_task_is_known_to_be_no_rank(tmp_path):
    text = (
        '5: Traceback (most recent call last):\n5:   File "/job/train.py", line 9, in <module>\n5: KeyError: 17\n'
        "srun: error: n2: task 5: Exited with exit code 1\nsrun: Terminating StepId=103.0\n"
        "slurmstepd: error: *** STEP 103.0 ON n2 CANCELLED AT 2026-06-26T05:20:00 ***\nsrun: error: n2: task 4: Terminated\n"
    )
    [found] = conclude(read_text(tmp_path, slurm_out=text))
    assert found.ranks == ()
    assert found.summary == "a process, whose rank the logs do not give, raised KeyError: 17"


@pytest.mark.parametrize(
    ("what", "code", "follower", "kind"),
    [
        ("Killed", -9, False, EndKind.SIGNAL), ("Segmentation fault (core dumped)", -11, False, EndKind.SIGNAL),
        ("Out Of Memory", -9, False, EndKind.OOM_KILLER), ("Exited with exit code 1", 1, False, EndKind.EXIT_CODE),
        ("Aborted (core dumped)", -6, True, EndKind.SIGNAL), ("Terminated", -15, True, EndKind.SIGNAL),
        ("Exited with exit code 137", 137, False, EndKind.SIGNAL),
    ],
)  # fmt: skip
def test_what_slurm_says_about_a_task(tmp_path, what, code, follower, kind):
    [end] = read_text(tmp_path, slurm_out=labelled_tasks(4) + f"srun: error: basalt07: task 3: {what}\n").ends
    assert (end.rank, end.code, end.follower, end.kind, end.host) == (3, code, follower, kind, "basalt07")


def test_a_cancelled_job_ends_healthy_tasks(tmp_path):
    text = (
        labelled_tasks(8)
        + "slurmstepd: error: *** STEP 55120.0 ON basalt07 CANCELLED AT 2026-02-27T08:16:20 DUE TO TIME LIMIT ***\n"
    )
    ends = read_text(tmp_path, slurm_out=text + "srun: error: basalt07: tasks 4-5,7: Killed\n").ends
    assert [(end.rank, end.follower) for end in ends] == [(4, True), (5, True), (7, True)]


STARTED = (
    "2: [rank2]:[W626 05:14:36.393067540 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 2]  using GPU 2 to perform barrier as devices used by this process are currently unknown.\n",
    "0: n1:100:100 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n",
)
CANCELLED = (
    "slurmstepd: error: *** STEP 55120.0 ON basalt07 CANCELLED AT 2026-02-27T08:16:20 DUE TO TIME LIMIT ***\n"
    "srun: error: basalt07: tasks 0-3: Terminated\n"
)


@pytest.mark.parametrize("start", STARTED)
def test_what_ends_after_a_requeued_job_started_again_ended_by_itself(tmp_path, start):
    told = read_text(tmp_path, slurm_out=labelled_tasks(4) + CANCELLED + start + "srun: error: basalt07: task 3: Killed\n")
    ends = [(end.rank, end.code, end.follower) for end in told.ends if end.rank == 3]
    assert ends == [(3, -9, False)]
    assert leads_of(conclude(told)) == (3,)


@pytest.mark.parametrize("between", ["", "3: NCCL error in: NCCLUtils.hpp:317, remote process exited, NCCL version 2.21.5\n"])
def test_without_a_new_start_a_cancelled_job_stays_cancelled(tmp_path, between):
    told = read_text(tmp_path, slurm_out=labelled_tasks(4) + CANCELLED + between + "srun: error: basalt07: task 3: Killed\n")
    assert all(end.follower for end in told.ends)
    assert leads_of(conclude(told)) == ()


def deepspeed(clock: str, code: int, local: int = 3) -> str:
    """What deepspeed/launcher/launch.py prints when one of its processes failed; the command is always that of its last one."""
    head = f"[2026-06-26 {clock},123] "
    return (
        f"{head}[INFO] [launch.py:335:sigkill_handler] Killing subprocess 66\n{head}[ERROR] [launch.py:341:sigkill_handler] "
        f"['/usr/bin/python3', '-u', 'train.py', '--local_rank={local}'] exits with return code = {code}\n"
    )


def test_deepspeed_says_how_a_process_ended_and_not_which(tmp_path):
    waits = "".join(caught(rank, 42) for rank in (0, 1, 2))
    told = read_text(tmp_path, ds_log=deepspeed("05:04:36", -9) + waits)
    assert ([end.rank for end in told.ends], [end.code for end in told.unplaced_ends]) == ([], [-9])
    found = conclude(told)
    assert leads_of(found) == ()
    [one] = [one for one in found if one.kind is Kind.PROCESS_ENDED]
    assert one.summary == "a process, whose rank the logs do not give, ended: signal 9 (SIGKILL)"
    assert any("the process of this command" in text for text in one.not_concluded)


@pytest.mark.parametrize("text", [deepspeed("05:04:36", 1), deepspeed("05:14:47", -9), deepspeed("05:14:47", -6)])
def test_an_exit_code_of_deepspeed_and_what_it_saw_after_the_time_outs_tell_nothing(tmp_path, text):
    waits = "".join(caught(rank, 42) for rank in (0, 1, 2))
    found = conclude(read_text(tmp_path, ds_log=text + waits))
    assert [(one.kind, one.ranks) for one in found] == [(Kind.NOT_COMPLETED, ())]


HYDRA = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {} PID 41237 RUNNING AT gpu-03\n=   KILL{} SIGNAL: {} (x)\n"


@pytest.mark.parametrize("ed", ["", "ED BY"])
def test_hydra_tells_of_a_signal_in_two_lines(tmp_path, ed):
    tags = "".join(f"[{rank}] [rank{rank}]: step 1\n" for rank in range(4)) + caught(0, 42)
    [end] = read_text(tmp_path, job_log=tags + HYDRA.format(2, ed, 9)).ends
    assert (end.rank, end.code, end.kind, end.follower) == (2, -9, EndKind.SIGNAL, True)  # below a time-out
    [end] = read_text(tmp_path, job_log=HYDRA.format(2, ed, 9) + tags).ends
    assert (end.rank, end.host, end.follower) == (2, "gpu-03", False)
    assert read_text(tmp_path, job_log=HYDRA.format(2, ed, 9)).ends == ()  # no line shows that its numbers are ranks


OLD_WATCHDOG = "{}[E ProcessGroupNCCL.cpp:475] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=841, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.\n"
UNLABELLED = ("Traceback (most recent call last):", '  File "/job/a.py", line 3, in f', "ValueError: bad")


@pytest.mark.parametrize("front", ["{}: ", "[1,{}]<stderr>:", "[{}] "])
def test_tags_are_ranks_where_three_processes_call_themselves_so(tmp_path, front):
    def waited(*pairs: tuple[int, int]) -> str:
        whole = "-" * 300 + "\n"  # no copy of a screen: nothing in it is wrapped
        return whole + "".join(OLD_WATCHDOG.format(front.format(tag), number) for tag, number in pairs)

    raised = "".join(f"{front.format(2)}{line}\n" for line in UNLABELLED)
    assert leads_of(conclude(read_text(tmp_path, job_log=waited((0, 0), (1, 1), (3, 3)) + raised))) == (2,)
    assert leads_of(conclude(read_text(tmp_path, job_log=waited((0, 0), (1, 1)) + raised))) == ()
    assert leads_of(conclude(read_text(tmp_path, job_log=waited((0, 0), (1, 1), (3, 3), (4, 0)) + raised))) == ()


def test_a_task_is_no_rank_where_it_is_a_node(tmp_path):
    text = "".join(
        f"{node}: [rank{node * 8 + local}]:[W626 05:14:36.393067540 socket.cpp:1] x\n" for node in (0, 1) for local in (0, 3)
    )
    evidence = read_text(tmp_path, slurm_out=text + "srun: error: basalt07: task 1: Killed\n")
    assert evidence.ends == ()
    one_line = "0: [rank0]:[W626 05:14:36.393067540 socket.cpp:1] x\nsrun: error: basalt07: task 1: Killed\n"
    assert read_text(tmp_path, slurm_out=one_line).ends == ()


@pytest.mark.parametrize(
    "line",
    [
        "May 12 17:40:02 flint kernel: Memory cgroup out of memory: Killed process 41877 (python) total-vm:412733408kB, anon-rss:1kB",
        "[12345.678] Out of memory: Killed process 41877 (python) total-vm:4kB",
        "[12345.678] Out of memory: Kill process 41877 (python) score 981 or sacrifice child",
    ],
)
def test_the_kernel_and_the_launcher_by_pid(tmp_path, line):
    evidence = read_text(tmp_path, kern_log=line + "\n", job_log=summary((3, 3, -9, 41877)))
    [end] = evidence.ends
    assert (end.rank, end.kind, end.follower) == (3, EndKind.OOM_KILLER, False)
    alone = read_text(tmp_path, kern_log=line + "\n")
    assert alone.ends == ()
    assert alone.unplaced_ends[0].pid == 41877


@pytest.mark.parametrize(("host", "kind"), [("kiln-04", EndKind.SIGNAL), ("flint", EndKind.OOM_KILLER)])
def test_a_kernel_line_is_of_no_process_of_another_host(tmp_path, host, kind):
    line = f"May 12 17:40:02 {host} kernel: Memory cgroup out of memory: Killed process 143 (python) total-vm:1kB\n"
    init = "[rank2]: flint:143:160 [2] NCCL INFO comm 0x55 rank 2 nranks 4 cudaDev 2 busId 1 commId 0x1 - Init COMPLETE\n"
    named = [end.rank for end in read_text(tmp_path, kern_log=line, job_log=init).ends]
    assert named == ([2] if host == "flint" else [])
    [end] = read_text(tmp_path, kern_log=line, job_log=summary((3, 3, -9, 143))).ends
    assert end.kind is kind


@pytest.mark.parametrize(
    ("code", "host", "ranks"), [(79, "flint", [2]), (48, "flint", [2]), (79, "kiln-04", []), (45, "flint", [])]
)
def test_what_the_driver_reports_of_a_device_is_of_the_process_that_had_it(tmp_path, code, host, ranks):
    line = f"Jun 26 05:04:36 {host} kernel: [884.1] NVRM: Xid (PCI:0000:c1:00): {code}, pid=143, name=python, GPU has fallen off the bus.\n"
    init = "[rank2]: flint:143:160 [2] NCCL INFO comm 0x55 rank 2 nranks 4 cudaDev 2 busId 1 commId 0x1 - Init COMPLETE\n"
    ends = read_text(tmp_path, kern_log=line, job_log=init).ends
    assert [(end.rank, end.kind, end.follower) for end in ends] == [(rank, EndKind.DEVICE, False) for rank in ranks]
    assert {end.by for end in ends} <= {"by the kernel's log"}


def test_a_signal_that_open_mpi_handled(tmp_path):
    text = "step 1\n[gpu-03:17074] *** Process received signal ***\n[gpu-03:17074] Signal: {} (11)\n[gpu-03:17074] [ 0] /lib/x.so(+0x1)[0x7f]\n"
    [end] = read_text(tmp_path, rank_2_log=text.format("Segmentation fault")).ends
    assert (end.rank, end.kind, end.follower) == (2, EndKind.FATAL, False)
    assert read_text(tmp_path, rank_2_log=text.format("Aborted")).ends == ()


def test_sigkill_without_the_kernel_is_not_out_of_memory(tmp_path):
    [finding] = conclude(read_text(tmp_path, job_log=summary((3, 3, -9, 41877))))
    assert finding.ranks == (3,)
    assert "memory" not in finding.summary
    assert any("memory" in text for text in finding.not_concluded)


def test_attempts_of_one_launcher_log(tmp_path):
    fail = "E1014 0{0}:52:41.661000 6177 torch/distributed/elastic/multiprocessing/api.py:989] failed (exitcode: {1}) local_rank: 1 (pid: {2}) of binary: p\n"
    text = fail.format(1, -11, 6201) + fail.format(2, -9, 6411) + summary((1, 1, -9, 6411))
    evidence = read_text(tmp_path, launcher_log=text)
    assert (evidence.attempts, evidence.attempt) == ((0, 1), 1)
    assert [(end.rank, end.code, end.attempt) for end in evidence.ends] == [(1, -9, 1)]
    assert [(end.rank, end.code, end.attempt) for end in evidence.earlier_ends] == [(1, -11, 0)]


def test_two_agents_that_fail_once_each_are_one_attempt(tmp_path):
    fail = "E1014 02:52:41.661000 {0} torch/distributed/elastic/multiprocessing/api.py:989] failed (exitcode: -6) local_rank: 1 (pid: 62{0}) of binary: p\n"
    assert read_text(tmp_path, slurm_out=fail.format(1) + fail.format(2)).attempts == (0,)


def test_counters_of_an_earlier_attempt_are_not_mixed_in(tmp_path):
    evidence = read_text(
        tmp_path,
        logs__r__attempt_0__0__stderr_log=caught(0, 900),
        logs__r__attempt_0__1__stderr_log=caught(1, 900),
        logs__r__attempt_1__0__stderr_log=caught(0, 8),
        logs__r__attempt_1__1__stderr_log=caught(1, 8),
    )
    assert [(row.rank, row.timed_out_seq) for row in evidence.groups] == [(0, 8), (1, 8)]
    assert evidence.attempts == (0, 1)


def test_lines_of_one_length_that_each_have_a_head_are_no_wrapped_copy(tmp_path):
    """Three of the longest lines of a log are as long as each other: the launcher ends three processes."""
    head = "W1129 15:40:40.321000 6177 torch/distributed/elastic/multiprocessing/api.py:1032] "
    text = "".join(
        f"{head}Unable to shutdown process {pid} via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL\n"
        for pid in (6200, 6201, 6202)
    )
    text += "E" + head[1:] + "failed (exitcode: 1) local_rank: 3 (pid: 6203) of binary: python\n"
    ends = read_text(tmp_path, launcher_log=text).unplaced_ends
    assert [(end.pid, end.follower) for end in ends] == [(6203, False), (6200, True), (6201, True), (6202, True)]


def test_slurm_s_lines_are_not_the_rest_of_the_line_before_them(tmp_path):
    """Three lines as long as each other, and then srun's."""
    head = "[rank0]:[E1129 15:40:40.321000000 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 0] "
    text = "".join(f"{head}something that is written {n} times over and over again here\n" for n in range(3))
    said = read_text(tmp_path, job_log=text + "srun: error: mica-2: task 3: Exited with exit code 1\n")
    assert [line.text for end in (*said.ends, *said.unplaced_ends) for line in (end.line,)] == [
        "srun: error: mica-2: task 3: Exited with exit code 1"
    ]
