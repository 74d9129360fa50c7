"""Whether a process lived on for long after an exception: steps tell it, an ending script's last words do not."""

from __future__ import annotations

import pytest

from hangview.logs import conclude, leads_of
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
    assert lines == len(later) or all("it]" in text for text in later)
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


def bar(count: int) -> str:
    return f"{count:4}/900 [00:41<00:59, 1.0s/it]"


@pytest.mark.parametrize(
    ("before", "later", "lines"),
    [
        ([bar(41)], [bar(41)], 0),  # drawn once more when it is closed
        (["step 41"], [bar(41)], 0),
        ([bar(41)], [bar(42)], 1),
        ([bar(900)], [bar(0)], 1),  # of the next epoch
        ([bar(41)], [bar(41), "step 42"], 1),
    ],
)
def test_a_progress_bar_that_stands_still_shows_no_life(before, later, lines):
    output = Output()
    for number, text in enumerate((*before, *later)):
        output.add(number, text)
    assert output.after(len(before) - 1)[0] == lines


def raised_by(rank: int, first: str = "<module>") -> str:
    text = RAISED.replace("in read", f"in {first}").replace("OSError: shard 3", "KeyError: 'tokens'")
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


AFTERWARDS = {
    "torch's warning": "[rank2]:[W626 05:10:00.0 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not "
    "called before program exit, which can leak resources. For more info, please see https://pytorch.org\n",
    "a launcher": "[2026-06-26 05:10:01,210] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 4711\n",
    "elastic": "INFO:torch.distributed.elastic.agent.server.api:[default] rank 2 is one of 4 workers\n",
    "NCCL": "n1:4713:4999 [2] NCCL INFO [Service thread] channel 0 of localRank 2\n",
    "a bar": bar(41) + "\n",
    "last words": "[rank2]: INFO saving what there is\n",
}


@pytest.mark.parametrize("line", AFTERWARDS.values(), ids=AFTERWARDS)
def test_an_uncaught_exception_with_one_more_line_behind_it_names_its_rank(tmp_path, line):
    evidence = read_text(tmp_path, job_log=raised_by(2) + line, rank_0_log="step 41\n", rank_1_log="step 41\n")
    assert leads_of(conclude(evidence)) == (2,)


@pytest.mark.parametrize("line", ["[rank2]: INFO loss 2.1\n", "[rank2]: step 42\n"])
def test_with_a_line_as_of_one_that_lives_it_does_where_a_launcher_says_that_it_failed(tmp_path, line):
    texts = {"job_log": raised_by(2) + line, "rank_0_log": "step 41\n", "rank_1_log": "step 41\n"}
    assert leads_of(conclude(read_text(tmp_path, **texts))) == ()
    summary = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + "=" * 60 + "\nFailures:\n[0]:\n"
        "  time      : 2026-06-26_05:14:47\n  host      : n1\n  rank      : 2 (local_rank: 2)\n  exitcode  : 1 (pid: 4713)\n"
    )
    assert leads_of(conclude(read_text(tmp_path, **texts, console_log=summary))) == (2,)
    # By SIGTERM it may have ended while it lived on.
    ended = summary.replace("exitcode  : 1 ", "exitcode  : -15 ")
    assert leads_of(conclude(read_text(tmp_path, **texts, console_log=ended))) == ()


def test_the_last_words_of_who_logged_an_exception_may_be_of_any_program(tmp_path):
    text = raised_by(2, "upload") + "[rank2]: INFO training has finished\n"
    assert leads_of(conclude(read_text(tmp_path, job_log=text, rank_0_log="step 41\n"))) == ()


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
