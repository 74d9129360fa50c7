"""Errors that other processes brought about, by their texts, types and frames; and how a log shows that a run began anew."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs import conclude, leads_of
from hangview.terms import Kind
from tests.engine.support import alike, look, lost
from tests.logs.support import caught, read_text

WAITS = caught(0, 42) + caught(1, 42)
CLOSED = "W1129 15:40:40.321000 6177 torch/distributed/elastic/multiprocessing/api.py:1015] Sending process {} closing signal SIGTERM\n"
FAILED = "E1129 15:40:41.321000 6177 torch/distributed/elastic/multiprocessing/api.py:989] failed (exitcode: {}) local_rank: {} (pid: {}) of binary: python\n"
LOADER = "/opt/env/lib/python3.11/site-packages/torch/utils/data/"


def raised(last: str, *frames: tuple[str, str]) -> str:
    """A traceback of rank 2's main thread; ``frames``: (file, function), outermost first."""
    lines = ["Traceback (most recent call last):", '  File "/job/train.py", line 64, in main']
    lines += [f'  File "{file}", line 7, in {name}' for file, name in frames]
    return "".join(f"[rank2]: {line}\n" for line in (*lines, last))


TERMINATED = raised(
    "RuntimeError: DataLoader worker (pid 7311) is killed by signal: Terminated. ",
    (LOADER + "_utils/signal_handling.py", "handler"),
)
KILLED = TERMINATED.replace("Terminated", "Killed")
GONE = raised("RuntimeError: DataLoader worker (pid(s) 7311) exited unexpectedly", (LOADER + "dataloader.py", "_try_get_data"))
PIPE = raised("EOFError", ("/opt/env/lib/python3.11/multiprocessing/connection.py", "_recv"))
CLOSED_PIPE = raised(
    "OSError: [Errno 9] Bad file descriptor", ("/opt/env/lib/python3.11/multiprocessing/connection.py", "_send")
)
EXIT = raised("SystemExit: 1", ("/job/train.py", "leave"))


@pytest.mark.parametrize(
    "text",
    [
        TERMINATED,
        raised("SystemExit: received SIGTERM, checkpointing", ("/job/signals.py", "leave")),
        raised("SystemExit: 143", ("/job/signals.py", "on_sigterm")),
        raised("job.errors.Preempted", ("/job/signals.py", "signal_handler"), ("/job/signals.py", "stop")),
        raised("lightning.pytorch.utilities.exceptions.SIGTERMException"),
        raised("nvidia_resiliency_ext.inprocess.exception.RankShouldRestart"),
        raised("horovod.common.exceptions.HostsUpdatedInterrupt"),
        raised("asyncio.exceptions.CancelledError"),
        raised("RuntimeError: MPI_Allreduce failed: MPI_ERR_PROC_FAILED: Process Failure"),
        raised("ray.exceptions.GetTimeoutError: Get timed out: some object(s) not ready."),
        raised("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."),
        raised("ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task."),
    ],
)
def test_what_others_brought_about_names_nobody(tmp_path, text):
    evidence = read_text(tmp_path, job_log=WAITS, rank_2_log=text)
    [end] = evidence.ends
    assert (end.rank, end.follower, bool(end.why_follower)) == (2, True, True)
    found = conclude(evidence)
    assert leads_of(found) == ()
    assert [finding.kind for finding in found] == [Kind.NOT_OBSERVED]
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), logs=read_text(tmp_path, rank_2_log=text)).leads == ()


@pytest.mark.parametrize(
    "text",
    [
        KILLED,
        GONE,
        PIPE,
        EXIT,
        raised("OSError: shard 3", ("/job/reader.py", "handler")),
        raised("OSError: shard 3", ("/job/audio.py", "load_signal")),
        raised("OSError: shard 3", ("/job/signals.py", "on_sigterm"), ("/job/a.py", "b"), ("/job/a.py", "c")),
        raised("job.RestartAborted: x"),
    ],
)
def test_what_may_have_begun_it_names_its_rank(tmp_path, text):
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=text))) == (2,)


@pytest.mark.parametrize("text", [GONE, PIPE, CLOSED_PIPE, EXIT])
@pytest.mark.parametrize(
    "ending",
    [
        "".join(CLOSED.format(pid) for pid in (6202, 6203)) + FAILED.format(-6, 0, 6200),
        "slurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2026-06-26T05:20:00 DUE TO TIME LIMIT ***\nsrun: error: n1: tasks 0-3: Terminated\n",
        "".join(f"{n}: [rank{n}]: step 1\n" for n in range(3))
        + "slurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2026-06-26T05:20:00 DUE TO TIME LIMIT ***\nsrun: error: n1: task 2: Exited with exit code 1\n",
    ],
)
def test_what_sigterm_leaves_behind_names_nobody(tmp_path, text, ending):
    """A launcher or a scheduler was ending the processes, and says of none but rank 0 that it failed by itself."""
    evidence = read_text(tmp_path, job_log=WAITS, rank_2_log=text, launcher_log=ending)
    assert leads_of(conclude(evidence)) == ()


@pytest.mark.parametrize("text", [GONE, PIPE, EXIT])
def test_of_whom_the_launcher_says_that_it_failed_by_itself_is_named(tmp_path, text):
    ending = "".join(CLOSED.format(pid) for pid in (6200, 6201)) + FAILED.format(1, 2, 6202)
    ranks = "".join(f"[default{n}]:[rank{n}]:[W626 05:10:00.000000001 socket.cpp:1] hello\n" for n in range(3))
    evidence = read_text(tmp_path, job_log=WAITS + ranks, rank_2_log=text, launcher_log=ending)
    assert leads_of(conclude(evidence)) == (2,)


OOM = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB.", ("/job/model.py", "forward"))


@pytest.mark.parametrize(
    "after",
    [
        "start of training, attempt 1\nloaded checkpoint step 1200\n",
        "Resuming from snapshot 17\n",
        "checkpoint loaded in 12 s\n",
        "host-3:1:1 [0] NCCL INFO NCCL version 2.27.3+cuda12.8\n",
        "[rank2]:[W626 05:10:00.000000001 socket.cpp:1] process group initialised\n",
    ],
)
def test_an_exception_before_a_new_start_in_the_same_log_is_over(tmp_path, after):
    evidence = read_text(tmp_path, job_log=WAITS, rank_2_log=OOM + after)
    assert leads_of(conclude(evidence)) == ()
    assert [end.beside for end in evidence.handled] == ["it went on: a new start follows it"]


@pytest.mark.parametrize(
    "after",
    [
        "saving checkpoint of step 1200\n",
        "the job can be resumed from checkpoint 1200\n",
        "checkpoint 1200 will be loaded at the next start\n",
        "restart from the last checkpoint\n",
    ],
)
def test_the_last_words_of_a_script_are_no_new_start(tmp_path, after):
    evidence = read_text(tmp_path, job_log=WAITS, rank_2_log="start of training\n" + OOM + after)
    assert [end.type for end in evidence.ends] == ["torch.OutOfMemoryError"]
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), logs=evidence).leads == (2,)
