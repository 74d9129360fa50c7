"""What processes raise that somebody was ending names nobody, whatever its type; what was raised before that does."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs import conclude, leads_of
from hangview.logs.shut import told_to_end
from tests.logs.support import read_text

_AGENT = "2211 torch/distributed/elastic/multiprocessing/api.py:"


def closing(at: str = "09:20:34", pids: tuple[int, ...] = (900, 901, 903)) -> str:
    return "".join(f"W1129 {at}.000000 {_AGENT}897] Sending process {pid} closing signal SIGTERM\n" for pid in pids)


def failed(code: int = 1, *, local: int = 2, at: str = "09:20:34") -> str:
    return (
        f"E1129 {at}.918000 {_AGENT}869] failed (exitcode: {code}) local_rank: {local} (pid: {900 + local}) of binary: python\n"
    )


def summary(code: int = 1, *others: int) -> str:
    parts = [(2, code), *((rank, -15) for rank in others)]
    return "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + "=" * 60 + "\nFailures:\n" + "".join(
        f"[{n}]:\n  time      : 2025-11-29_09:20:33\n  host      : a\n  rank      : {rank} (local_rank: {rank})\n"
        f"  exitcode  : {each} (pid: {900 + rank})\n  error_file: <N/A>\n"
        for n, (rank, each) in enumerate(parts)
    )  # fmt: skip


def raised(last: str, head: str = "", line: int = 98) -> str:
    text = f'Traceback (most recent call last):\n  File "/job/train.py", line 212, in <module>\n    main()\n  File "/job/train.py", line {line}, in fit\n    run.step()\n{last}\n'
    return "".join(f"{head}{each}\n" for each in text.splitlines())


LATE = ("concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly", "wandb.errors.CommError: x", "AttributeError: 'NoneType' object has no attribute 'flush'")  # fmt: skip


@pytest.mark.parametrize("late", LATE)
def test_what_stands_behind_the_launchers_lines_follows(tmp_path, late):
    culprit, waiter = raised("ValueError: bad shard", "[rank2]: "), raised(late, "[rank0]: ", 120)
    text = culprit + closing() + waiter + failed() + summary(1, 0)
    assert leads_of(conclude(read_text(tmp_path, job_log=text))) == (2,)
    killed = closing() + waiter + failed(-9) + summary(-9)
    assert leads_of(conclude(read_text(tmp_path, job_log=killed))) == (2,)


def test_what_stands_above_them_or_is_the_same_does_not(tmp_path):
    culprit, other = raised("ValueError: bad shard", "[rank2]: "), raised("KeyError: 'x'", "[rank0]: ", 120)
    assert leads_of(conclude(read_text(tmp_path, job_log=culprit + other + closing() + failed() + summary(1, 0)))) == (0, 2)
    same = raised("ValueError: bad shard", "[rank0]: ")
    assert leads_of(conclude(read_text(tmp_path, job_log=culprit + closing() + same + failed() + summary(1, 0)))) == (0, 2)


def test_who_failed_by_the_end_of_a_wait_shows_nothing_of_the_others(tmp_path):
    """The launcher saw first who waited; the rank that it ended then is the one that was late."""
    waiter = raised("RuntimeError: peer group is not healthy", "[rank2]: ")
    own = raised("KeyError: 'x'", "[rank0]: ", 120)
    assert 0 in leads_of(conclude(read_text(tmp_path, job_log=waiter + closing() + own + failed() + summary(1, 0))))


@pytest.mark.parametrize(("at", "leads"), [("09:20:40", (2,)), ("09:20:20", (0, 2))])
def test_in_files_of_their_own_the_times_tell(tmp_path, at, leads):
    logs = {
        "rank_0_log": f"2025-11-29 {at},000 ERROR train: stopped\n" + raised(LATE[0], line=120).replace("<module>", "run"),
        "rank_2_log": "2025-11-29 09:20:30,000 ERROR train: stopped\n" + raised("ValueError: bad shard"),
        "torchrun_log": closing() + failed() + summary(),
    }
    assert leads_of(conclude(read_text(tmp_path, **logs))) == leads


@pytest.mark.parametrize("line", ["Received signal 15 from launcher, shutting down", "Received SIGTERM: 15", "Caught SIGUSR1: job about to hit time limit, requeueing"])  # fmt: skip
def test_who_says_that_it_was_told_to_end_is_not_named_for_what_follows(tmp_path, line):
    step = "2025-11-29 09:09:{:02},000 INFO train: step {} loss 2.9\n"
    steps = "".join(step.format(n, n) for n in range(10, 14))
    told = f"2025-11-29 09:10:05,000 WARNING train: {line}\n"
    logs = {
        "rank_0_log": steps + told + step.format(58, 14) + raised(LATE[0], line=120),
        "rank_1_log": steps + told,
        "rank_2_log": steps + "2025-11-29 09:10:00,000 ERROR train: stopped\n" + raised("ValueError: bad shard"),
    }
    assert leads_of(conclude(read_text(tmp_path, **logs))) == (2,)
    logs["rank_0_log"] = steps + told + raised(LATE[0], line=120).replace("<module>", "run")
    assert leads_of(conclude(read_text(tmp_path, **logs))) == (2,)
    # It worked on, and failed later.
    on = "".join(f"2025-11-29 09:{n},000 INFO train: step {n} loss 2.8\n" for n in range(20, 26))
    logs["rank_0_log"] = steps + told + on + raised("KeyError: 'x'", line=120)
    assert leads_of(conclude(read_text(tmp_path, **logs))) == (0, 2)


@pytest.mark.parametrize("code", [143, 130])
def test_an_exit_code_of_a_signal_is_told_from_outside(tmp_path, code):
    exits = {f"rank_{rank}_log": raised(f"SystemExit: {code}", line=120) for rank in (0, 1, 3)}
    assert leads_of(conclude(read_text(tmp_path, **exits, rank_2_log="step 1\n"))) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[rank: 0] Received SIGTERM: 15", True),
        ("SIGTERM received, attempting graceful shutdown", True),
        ("exiting program after receiving SIGTERM.", True),
        ("Signal handler called with signal 15", True),
        ("registered handler for SIGTERM", False),
        ("will save when SIGTERM is received", False),
        ("child process 7 received signal 15", False),
        ("received signal strength 15 dB", False),
    ],
)
def test_which_lines_say_so(text, told):
    assert told_to_end(text) is told


def test_who_says_that_it_waited_until_its_time_out_is_not_named_for_its_cleanup(tmp_path):
    said = "2025-11-29 09:50:00,000 ERROR train: Timed out waiting 1800000ms for recv operation to complete; cleaning up\n"
    logs = {f"rank_{rank}_log": said + raised("AttributeError: 'Run' object has no attribute 'finish'") for rank in (0, 1, 2)}
    assert leads_of(conclude(read_text(tmp_path, **logs, rank_3_log="step 1\n"))) == ()
    calm = "2025-11-29 09:50:00,000 WARNING train: slow data loader\n" + raised(
        "AttributeError: 'Run' object has no attribute 'finish'"
    )
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=calm, rank_3_log="step 1\n"))) == (0,)


@pytest.mark.parametrize(("timed", "leads"), [((0, 1, 2), ()), ((0, 1, 3), (2,))])
def test_who_may_have_timed_out_by_its_number_is_not_named_for_its_cleanup(tmp_path, timed, leads):
    """torch ≤ 2.1: the watchdog's lines have the number within the group alone, and tracebacks none."""
    caught = "".join(
        f"[E ProcessGroupNCCL.cpp:475] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=33, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 60002{rank} milliseconds before timing out.\n"
        for rank in timed
    )
    own = raised("PermissionError: [Errno 13] Permission denied: '/ckpt/last.pt'")
    assert leads_of(conclude(read_text(tmp_path, job_log=caught + own + failed() + summary()))) == leads
