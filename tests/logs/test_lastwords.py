"""A crash of which only a shell, the C library or a handler of signals tells: whose it is, and where it tells nothing."""

from __future__ import annotations

import pytest

from hangview.logs import conclude, leads_of
from tests.logs.support import caught, read_text

STEPS = "".join(f"2026-06-26 05:04:{second},100 INFO train: step {second} loss 2.9\n" for second in range(10, 20))
RAISED = (
    'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    main()\n'
    '  File "/job/reader.py", line 61, in read\n    f()\n{}\n'
)
CRASHES = [
    "Segmentation fault (core dumped)",
    "Segmentation fault",
    "Bus error (core dumped)",
    "Illegal instruction (core dumped)",
    "Floating point exception (core dumped)",
    "/job/run.sh: line 12: 88123 Segmentation fault      (core dumped) python train.py",
    '/job/run.sh: line 12: 88123 Bus error               "$@"',
    "double free or corruption (!prev)",
    "free(): invalid pointer",
    "malloc(): unaligned tcache chunk detected",
    "malloc_consolidate(): invalid chunk size",
    "corrupted size vs. prev_size",
    "*** stack smashing detected ***: terminated",
    "*** Error in `python': double free or corruption (fasttop): 0x00007f0e5c1f8a60 ***",
    "*** SIGSEGV (@0x0) received by PID 902 (TID 0x7f0e5c1f8a60) from PID 0; stack trace: ***",
    "*** SIGSEGV received at time=1782450876 on cpu 12 ***",
    "[n1:902  :0:1401] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)",
]
SEGV = CRASHES[0] + "\n"


def leads(folder, said: str, *ranks: int, **more: str) -> tuple[int, ...]:
    waits = {f"rank_{rank}_log": STEPS + caught(rank, 33) for rank in ranks or (0, 1, 3)}
    return leads_of(conclude(read_text(folder, **waits, **{"rank_2_log": STEPS + said, **more})))


@pytest.mark.parametrize("said", CRASHES)
def test_the_last_words_of_a_rank_for_which_others_wait_are_its_end(tmp_path, said):
    assert leads(tmp_path, said + "\n") == (2,)
    assert leads(tmp_path, said + "\nAborted (core dumped)\n") == (2,)


@pytest.mark.parametrize(
    "said",
    [
        *("Killed\n", "Aborted (core dumped)\n", "Terminated\n", "run.sh: line 12: 88123 Killed          python train.py\n"),
        "[n1:902  :0:1401] Caught signal 15 (Terminated)\n",
        # A helper's, or words in a sentence.
        *("run.sh: line 12: 88123 Segmentation fault      (core dumped) ffmpeg -i a.mp4\n", "no Segmentation fault seen\n"),
        SEGV + STEPS,
        # It was told to end, or raised something before.
        *(f"{why}\n{SEGV}" for why in ("Received signal 15, shutting down", "got SIGTERM", "preempted by the scheduler")),
        RAISED.format("torch.distributed.DistBackendError: Connection reset by peer") + SEGV,
        caught(2, 33) + SEGV,
    ],
)  # fmt: skip
def test_what_may_be_of_a_process_that_was_ended_or_of_a_helper_is_no_end(tmp_path, said):
    assert leads(tmp_path, said) == ()


def test_a_crash_beside_what_another_process_raised_is_not_named(tmp_path):
    assert leads(tmp_path, SEGV, 0, 1, rank_3_log=STEPS + RAISED.format("KeyError: 'labels'")) == (3,)
    refused = RAISED.format("torch.distributed.DistBackendError: Connection reset by peer")
    assert leads(tmp_path, SEGV, 0, 1, rank_3_log=STEPS + caught(3, 33) + refused) == (2,)


def test_a_crash_is_not_named_where_another_rank_may_be_the_one(tmp_path):
    assert leads(tmp_path, SEGV, 0, 1, rank_3_log=STEPS) == ()
    assert leads(tmp_path, SEGV, 0, 1, rank_3_log=STEPS + SEGV) == ()
    failed = "torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 3 (pid: 8003) of binary: python\n"
    assert leads(tmp_path, SEGV, 0, 1, agent_log=failed) == ()


def test_a_crash_at_the_end_of_a_job_for_which_nobody_waits_names_nobody(tmp_path):
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=STEPS, rank_1_log=STEPS + "Training completed\n" + SEGV))) == ()


def test_a_crash_in_a_log_of_several_ranks_is_nobody_s(tmp_path):
    text = "".join(caught(rank, 33) for rank in (0, 1, 3))
    assert leads_of(conclude(read_text(tmp_path, job_log=text + SEGV))) == ()
