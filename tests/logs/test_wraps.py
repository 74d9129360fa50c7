"""Wrapped copies are joined again, and logs whose lines are of one length are not taken for them."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangview.logs import conclude, leads_of
from hangview.logs.lines import RawLine
from hangview.logs.wraps import unwrap, wrap_width
from tests.logs.support import caught, read_text

LONG = (
    "[rank1]:[E ProcessGroupNCCL.cpp:523] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5920, "
    + "x" * 120
)


@given(st.integers(60, 210))
def test_wrapped_copies_are_joined_again(width):
    text = LONG * 4
    cut = [text[start : start + width] for start in range(0, len(text), width)]
    lines = [(RawLine(number, 0, b""), line) for number, line in enumerate([*cut, "[rank2]:[E x.cpp:1] next"], 1)]
    found = wrap_width([line for _, line in lines])
    if len(cut) < 4:
        return
    assert found is not None
    joined = [line for _, line in unwrap(lines, found)]
    assert joined[-1] == "[rank2]:[E x.cpp:1] next"
    # A cut may fall right before something that looks like a start; then the parts stay apart rather than glue two messages.
    assert "".join(joined[:-1]) == text


def test_ordinary_lines_are_not_taken_for_a_wrapped_copy():
    assert wrap_width(["short", "a bit longer", "x" * 100]) is None
    assert wrap_width(["x" * 300] * 9) is None


def joined(lines: list[str]) -> list[str]:
    width = wrap_width(lines)
    return lines if width is None else [text for _, text in unwrap([(RawLine(1, 0, b""), line) for line in lines], width)]


def test_a_box_is_not_taken_for_a_wrapped_text():
    box = ["╭" + "─" * 78 + "╮", *["│" + " " * 78 + "│"] * 3, "╰" + "─" * 78 + "╯", "KeyError: 'a'"]
    lines = [(RawLine(number, 0, b""), text) for number, text in enumerate(box)]
    assert [text for _, text in unwrap(lines, 80)] == box


#: Lines of a loop, each as long as the others and longer than any other line.
STEPS = [
    [f"2026-06-26 05:04:{second} INFO train: step {second} loss 2.9610 lr 3.0e-04 {'x' * 60}" for second in range(10, 40)],
    [f"step {number} | loss 2.9610 | lr 3.0e-04 | tokens per second {number * 333} {'x' * 60}" for number in range(10, 30)],
    [f"[2026-06-26 05:04:{second}] step {second} loss 2.9610 lr 3.0e-04 {'x' * 60}" for second in range(10, 13)],
]
TRACEBACK = ["Traceback (most recent call last):", '  File "/srv/job/data.py", line 80, in close', "    self.fd.flush()"]
RAISED = "AttributeError: 'NoneType' object has no attribute 'flush'"


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize(
    "after",
    [
        "Exception ignored in: <function Reader.__del__ at 0x7f0e5c1f8a60>", "Exception in thread Thread-7 (upload):", "Process Process-2:",
        "Process SpawnProcess-2:1:", "Error in atexit._run_exitfuncs:", "--- Logging error ---", "Fatal Python error: Segmentation fault",
        "Segmentation fault (core dumped)", "saved what there was",
    ],
)  # fmt: skip
def test_lines_of_a_loop_are_no_wrapped_copy(steps, after):
    assert joined([*steps, after, *TRACEBACK, RAISED]) == [*steps, after, *TRACEBACK, RAISED]


def test_a_destructor_behind_lines_of_one_length_names_nobody(tmp_path):
    ignored = ["Exception ignored in: <function Reader.__del__ at 0x7f0e5c1f8a60>", *TRACEBACK, RAISED]
    waits = {f"rank_{rank}_log": caught(rank, 80) for rank in (1, 2, 3)}
    found = conclude(read_text(tmp_path, rank_0_log="\n".join([*STEPS[0], *ignored]), **waits))
    assert leads_of(found) == ()


@pytest.mark.parametrize("steps", STEPS)
def test_a_crash_behind_lines_of_one_length_is_read(tmp_path, steps):
    crash = ["Fatal Python error: Segmentation fault", "", "Current thread 0x00007f0e5c1f8a60 (most recent call first):"]
    text = "\n".join([*steps, *crash, '  File "/srv/job/data.py", line 80 in decode', ""])
    waits = {f"rank_{rank}_log": caught(rank, 80) for rank in (0, 1, 3)}
    assert leads_of(conclude(read_text(tmp_path, rank_2_log=text, **waits))) == (2,)


def test_code_of_equal_length_in_a_traceback_stays_apart_from_the_frames():
    code = "    works = [dist.all_reduce(r.load_batch(), async_op=True) for _ in range(4)]"
    frames = [text for number in range(3) for text in (f'  File "/srv/job/{number}.py", line 80, in run', code)]
    lines = ["Traceback (most recent call last):", *frames, "KeyError: 'a'"]
    assert joined(lines) == lines


def test_lines_that_fit_exactly_do_not_hide_that_a_copy_is_wrapped():
    """A loop's lines are as long as the copy is wide; the watchdog's are cut."""
    text = caught(1, 5920).splitlines()[0]
    cut = [text[start : start + 80] for start in range(0, len(text), 80)]
    fits = f"2026-06-26 05:04:10 INFO train: step 10 {'x' * 40}"
    assert len(fits) == 80
    assert joined([fits, *cut, *cut]) == [fits, text, text]
