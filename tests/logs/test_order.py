"""Ends that came after the others' time-outs, or after a launcher began to end the processes: they follow; those before do not."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs import conclude, leads_of
from hangview.logs.evidence import EndKind
from hangview.terms import Kind, Role
from tests.engine.support import alike, look, lost
from tests.logs.support import caught, read_text

WAITED = caught(0, 42) + caught(1, 42)  # printed on 06-26 at 05:14:36


def failed(clock: str, code: int, local: int) -> str:
    return f"E0626 {clock}.466000 4000 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: {code}) local_rank: {local} (pid: {4711 + local}) of binary: python\n"


def summary(*entries: tuple[str, int, int]) -> str:
    """torchelastic's summary; ``entries``: (time of the day, rank, exit code)."""
    blocks = [
        f"[{place}]:\n  time      : 2026-06-26_{clock}\n  host      : n1\n  rank      : {rank} (local_rank: {rank})\n"
        f"  exitcode  : {code} (pid: {4711 + rank})\n  error_file: <N/A>\n  traceback : Signal {-code} received by PID {4711 + rank}\n"
        for place, (clock, rank, code) in enumerate(entries)
    ]
    rule = "-" * 60 + "\n"
    head = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + "=" * 60 + "\ntrain.py FAILED\n" + rule
    return f"{head}Failures:\n{''.join(blocks[1:]) or '  <NO_OTHER_FAILURES>' + chr(10)}{rule}Root Cause (first observed failure):\n{blocks[0]}{'=' * 60}\n"


@pytest.mark.parametrize("code", [-11, -9, -7])
def test_a_signal_after_the_others_time_outs_names_nobody(tmp_path, code):
    console = failed("05:14:47", code, 2) + summary(("05:14:47", 2, code))
    told = read_text(tmp_path, job_log=WAITED, console_log=console)
    assert leads_of(conclude(told)) == ()
    assert [end.follower for end in told.ends if end.rank == 2] == [True]
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == ()


@pytest.mark.parametrize("code", [-11, -9, -7])
def test_a_signal_before_them_or_at_an_unknown_time_names_its_rank(tmp_path, code):
    console = failed("05:04:47", code, 2) + summary(("05:04:47", 2, code))
    told = read_text(tmp_path, job_log=WAITED, console_log=console)
    assert leads_of(conclude(told)) == (2,)
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == (2,)
    no_time = failed("05:14:47", code, 2).split("] ", 1)[1]
    told = read_text(tmp_path, job_log=WAITED, console_log=no_time + summary(("05:04:47", 2, code)))
    assert leads_of(conclude(told)) == (2,)


def test_what_the_kernel_killed_for_memory_names_its_rank_whenever_it_was(tmp_path):
    kernel = "Jun 26 05:14:47 n1 kernel: Out of memory: Killed process 4713 (python) total-vm:1kB\n"
    told = read_text(tmp_path, job_log=WAITED, console_log=summary(("05:14:47", 2, -9)), kern_log=kernel)
    assert [(end.kind, end.follower) for end in told.ends if end.rank == 2] == [(EndKind.OOM_KILLER, False)]
    assert leads_of(conclude(told)) == (2,)


def test_what_a_launcher_wrote_down_long_after_its_first_failure_names_nobody(tmp_path):
    """It ends by SIGKILL what SIGTERM did not end in 30 s; the lines about SIGTERM are warnings, which may be hidden."""
    entries = summary(("05:14:38", 0, -6), ("05:15:08", 1, -9), ("05:15:08", 2, -9))
    assert leads_of(conclude(read_text(tmp_path, console_log=entries))) == ()
    assert leads_of(conclude(read_text(tmp_path, console_log=caught(0, 42) + entries))) == ()


@pytest.mark.parametrize("clock", ["05:04:31", "05:04:35"])
def test_the_first_in_the_summary_and_what_failed_with_it_name_their_rank(tmp_path, clock):
    """An exception has its own time, an exit the time at which the agent saw it, some seconds later."""
    others = (("05:05:01", 0, -9), ("05:05:01", 1, -9))
    told = read_text(tmp_path, console_log=summary((clock, 2, -9), *others))
    assert leads_of(conclude(told)) == (2,)
    told = read_text(tmp_path, console_log=summary(("05:04:30", 3, 1), (clock, 2, -9), *others))
    assert leads_of(conclude(told)) == (2,)


TIMER = """[default0]:Timeout (0:05:00)!
[default0]:Thread 0x00007f3b22c00740 (most recent call first):
[default0]:  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2810 in all_reduce
[default0]:  File "/job/train.py", line 64 in step
"""


def test_an_exit_after_the_timer_of_faulthandler_names_nobody(tmp_path):
    console = failed("05:14:47", 1, 0) + summary(("05:14:47", 0, 1))
    told = read_text(tmp_path, console_log=TIMER + console)
    [end] = told.ends
    assert (end.rank, end.kind, end.follower, end.lines[-1].text) == (0, EndKind.EXIT_CODE, True, "Timeout (0:05:00)!")
    assert leads_of(conclude(told)) == ()
    assert leads_of(conclude(read_text(tmp_path, console_log=console))) == (0,)  # no timer: the one process that failed
    other = TIMER + failed("05:04:47", -9, 0) + summary(("05:04:47", 0, -9))
    assert leads_of(conclude(read_text(tmp_path, console_log=other))) == (0,)  # the timer does not kill


def test_the_summaries_of_two_agents_are_of_two_clocks(tmp_path):
    """The second node's clock is ahead: its rank 2 was killed first, and rank 0 aborted for the lost connection."""
    console = summary(("05:14:38", 0, -6)) + summary(("05:15:08", 2, -9))
    assert leads_of(conclude(read_text(tmp_path, console_log=console))) == (2,)


def at(clock: str, rank: int, last: str) -> str:
    """A traceback behind the times that a container's log has."""
    lines = ["Traceback (most recent call last):", '  File "/job/train.py", line 64, in <module>', last]
    return "".join(f"2026-06-26T{clock}.000000001 [rank{rank}]: {line}\n" for line in lines)


def test_an_error_of_a_cleanup_is_a_note_beside_the_end_that_others_waited_for(tmp_path):
    first = at("05:04:30", 3, "ValueError: bad sample")
    late = at("05:14:50", 2, "AttributeError: 'NoneType' object has no attribute 'close'")
    found = conclude(read_text(tmp_path, job_log=WAITED, rank_2_log=late, rank_3_log=first))
    assert leads_of(found) == (3,)
    assert [(one.kind, one.ranks) for one in found if one.role is Role.NOTE] == [(Kind.PROCESS_ENDED, (2,))]
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITED, rank_2_log=late, rank_3_log=""))) == (2,)
    before = at("05:10:00", 2, "AttributeError: 'NoneType' object has no attribute 'close'")
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITED, rank_2_log=before, rank_3_log=first))) == (2, 3)
