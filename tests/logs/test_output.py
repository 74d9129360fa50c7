"""Whether a process lived on for long after an exception: steps tell it, an ending script's last words do not."""

from __future__ import annotations

import pytest

from hangview.logs.output import Output
from tests.logs.support import read_text

RAISED = 'Traceback (most recent call last):\n  File "/srv/data.py", line 64, in read\n    f.read()\nOSError: shard 3\n'


def after(before: list[str], later: list[str]) -> str:
    output = Output()
    for number, text in enumerate(before):
        output.add(number, text)
    for number, text in enumerate(later):
        output.add(1000 + number, text)
    lines, why = output.after(500)
    assert lines == len(later)
    return why


@pytest.mark.parametrize(
    ("before", "later"),
    [
        (["step 4"], [f"step {n}" for n in range(5, 41)]),
        ([], ["step 5", "step 6", "step 7"]),
        (["INFO step 300"], ["INFO retry ok", "INFO step 323 done"]),
        (["epoch 1 step 900"], ["epoch 2 step 0", "epoch 2 step 1", "epoch 2 step 2"]),
        (["4/100 [00:04<01:36, 1.0s/it]"], ["9/100 [00:09<01:31, 1.0s/it]"]),
        ([], ["INFO loss 2.1"] * 20),
    ],
)
def test_steps_that_go_on_show_that_it_was_dealt_with(before, later):
    assert after(before, later)


@pytest.mark.parametrize(
    ("before", "later"),
    [
        ([], []),
        (["step 41"], []),
        (["step 41"], ["INFO saving an emergency checkpoint at step 41", "INFO reached the end of the script"]),
        (["step 41"], ["INFO failed in step 42", "INFO saved step 42", "INFO bye"]),
        (["step 41"], ["step 41 failed"] * 5),
        ([], ["INFO resume from step 12", "INFO bye"]),
        (["41/100 [00:41<00:59, 1.0s/it]"], ["41/100 [00:41<00:59, 1.0s/it]"]),
    ],
)
def test_the_last_words_of_a_script_show_nothing(before, later):
    assert after(before, later) == ""


def steps(first: int, last: int) -> str:
    return "".join(f"2026-11-28 21:07:{n:02},100 INFO [rank 3] step {n}\n" for n in range(first, last + 1))


def test_an_exception_that_was_handled_is_no_end(tmp_path):
    evidence = read_text(tmp_path, rank_3_log=steps(0, 4) + RAISED + steps(5, 40))
    assert evidence.ends == ()
    [handled] = evidence.handled
    assert (handled.rank, handled.lived) == (3, "steps up to 40 follow it")


def test_the_same_exception_again_ends_the_process_where_nothing_follows_the_last_one(tmp_path):
    """A loader tries again and again; the last time nobody catches it."""
    evidence = read_text(tmp_path, rank_3_log=steps(0, 4) + RAISED + steps(5, 40) + RAISED)
    [end] = evidence.ends
    assert (end.rank, end.line.number, evidence.handled) == (3, 49, ())


def test_steps_of_other_ranks_say_nothing_of_this_one(tmp_path):
    others = "".join(f"[rank1]: step {n}\n" for n in range(5, 41))
    text = "".join(f"[rank3]: {line}\n" for line in RAISED.splitlines())
    [end] = read_text(tmp_path, job_log=text + others).ends
    assert (end.rank, end.lived) == (3, "")
    first = "[rank1]: step 4\n"
    [end] = read_text(tmp_path, job_log=first + text + others).ends  # by some micro-batches it may be ahead
    assert (end.rank, end.lived) == (3, "")


def test_steps_of_another_rank_that_go_far_on_show_that_one_was_caught_further_in(tmp_path):
    def text(first: str) -> str:
        lines = RAISED.replace("in read", f"in {first}").splitlines()
        raised = "".join(f"[rank3]: {line}\n" for line in lines)
        return "[rank1]: step 4\n" + raised + "".join(f"[rank1]: step {n}\n" for n in range(5, 85))

    [handled] = read_text(tmp_path, job_log=text("fetch")).handled
    assert (handled.rank, handled.lived) == (3, "another rank's steps up to 84 follow it")
    [end] = read_text(tmp_path, job_log=text("<module>")).ends  # which nobody caught
    assert (end.rank, end.lived) == (3, "")


def test_a_process_that_is_killed_after_an_exception_was_handled_ended_by_the_signal(tmp_path):
    launcher = (
        "E1128 21:10:00.466000 77 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -9) local_rank: 3 "
        "(pid: 4410) of binary: /usr/bin/python\n"
    )
    texts = {"rank_3_log": steps(0, 4) + RAISED + steps(5, 40)}
    offset = "[default0]:[rank0]:[W1128 21:00:00.000000001 socket.cpp:1] x\n"
    evidence = read_text(tmp_path, launcher_log=offset + launcher, **texts)
    assert [(end.rank, end.what) for end in evidence.ends] == [(3, "signal 9 (SIGKILL)")]
