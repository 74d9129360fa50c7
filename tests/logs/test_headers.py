"""Tracebacks that are no end of a rank's process, by what stands around them. The headers are Python's own, 3.11 to 3.14."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.logs import conclude, leads_of
from hangview.terms import Kind, Role
from tests.engine.support import alike, look, lost
from tests.logs.support import caught, read_text

if TYPE_CHECKING:
    from pathlib import Path

RAISED = """Traceback (most recent call last):
  File "/job/upload.py", line 31, in work
    send(batch)
ValueError: quota exceeded
"""
BOOT = 'Traceback (most recent call last):\n  File "/opt/env/lib/python3.11/threading.py", line 1045, in _bootstrap_inner\n'
CHILD = (
    'Traceback (most recent call last):\n  File "/opt/env/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap\n'
)
PINNED = (
    "Traceback (most recent call last):\n"
    '  File "/opt/env/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py", line 41, in do_one_step\n'
)
HEADERS = [
    "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f4dc1a3a9d0>\n",
    "Exception ignored in atexit callback: <function _exit_function at 0x7f4dc1a3a9d0>\n",
    "Exception ignored while calling deallocator <function A.__del__ at 0x7f4dc1a3a9d0>:\n",
    "Exception in thread NetworkThr:\n",
    "Exception in thread Thread-4 (_pin_memory_loop):\n",
    "Process SpawnProcess-1:\n",
    "Process ForkPoolWorker-2:1:\n",
    "Task exception was never retrieved\nfuture: <Task finished name='Task-2' coro=<send() done>>\n",
    "--- Logging error ---\n",
    "Error in atexit._run_exitfuncs:\n",
]
WAITS = caught(0, 42) + caught(1, 42)


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("prefix", ["", "[default2]:", "2: ", "2026-06-26T05:14:36.000000001Z stderr F ", "trainer-2  | "])
def test_a_traceback_that_python_itself_says_is_of_something_else_is_no_end(tmp_path, header, prefix):
    text = "".join(f"{prefix}{line}\n" for line in (header + RAISED).splitlines())
    evidence = read_text(tmp_path, rank_2_log=text)
    assert evidence.ends == ()
    [handled] = evidence.handled
    assert (handled.rank, handled.type) == (2, "ValueError")
    assert "by the line before it" in handled.beside or "exit handler" in handled.beside


@pytest.mark.parametrize("start", [BOOT, CHILD, PINNED])
def test_the_first_frame_tells_where_the_header_is_lost(tmp_path, start):
    text = start + '  File "/job/upload.py", line 31, in work\nEOFError\n'
    evidence = read_text(tmp_path, rank_2_log=text)
    assert (evidence.ends, [end.type for end in evidence.handled]) == ((), ["EOFError"])
    assert "by its first frame" in evidence.handled[0].beside


@pytest.mark.parametrize(("file", "counts"), [("nn/parallel/distributed.py", True), ("distributed/checkpoint/utils.py", False)])
def test_a_process_that_another_one_started_is_a_rank_where_it_stands_in_a_ranks_code(tmp_path, file, counts):
    """``mp.Process(target=train, args=(rank,))``; a checkpoint may be written by a helper."""
    frames = f'  File "/opt/env/lib/python3.11/site-packages/torch/{file}", line 1643, in forward\n    x\n'
    evidence = read_text(tmp_path, rank_2_log="Process SpawnProcess-3:\n" + CHILD + frames + "ValueError: bad shape\n")
    assert [end.rank for end in evidence.ends] == ([2] if counts else [])


def test_an_error_of_a_thread_that_the_main_thread_raised_again_counts(tmp_path):
    """concurrent.futures: the frames begin in the main thread."""
    text = (
        'Traceback (most recent call last):\n  File "/job/train.py", line 9, in main\n    future.result()\n'
        '  File "/opt/env/lib/python3.11/concurrent/futures/_base.py", line 401, in __get_result\n'
        '  File "/opt/env/lib/python3.11/concurrent/futures/thread.py", line 58, in run\nOSError: shard 3\n'
    )
    assert [end.type for end in read_text(tmp_path, rank_2_log=text).ends] == ["OSError"]


@pytest.mark.parametrize(
    "before",
    [
        "Exception in thread MainThread:\n",
        "Process 4417: python train.py\n",
        "2026-06-26 05:14:36 WARNING the process group is slow\n",
        "Exception in thread NetworkThr:\nsomething else\n",
        "Exception in thread NetworkThr:\n" + RAISED,
    ],
)
def test_any_other_line_before_it_takes_nothing_away(tmp_path, before):
    own = RAISED.replace("ValueError: quota exceeded", "OSError: shard 3")
    assert [end.type for end in read_text(tmp_path, rank_2_log=before + own).ends] == ["OSError"]


def test_what_a_side_thread_and_the_main_thread_raise_alike_counts(tmp_path):
    evidence = read_text(tmp_path, rank_2_log="Exception in thread NetworkThr:\n" + RAISED + RAISED)
    assert [end.line.number for end in evidence.ends] == [9]


def test_the_header_of_one_process_is_not_of_the_next_one_s_traceback(tmp_path):
    text = "[default1]:Exception in thread NetworkThr:\n" + "".join(f"[rank3]: {line}\n" for line in RAISED.splitlines())
    assert [end.rank for end in read_text(tmp_path, job_log=text).ends] == [3]


def test_a_side_thread_is_told_by_its_header_in_a_big_log(tmp_path):
    """Of a big file only lines that matter are looked at: the header is one."""
    filler = b"".join(b"loss %7d is fine and so is everything else in this line\n" % n for n in range(40_000))
    text = b"Exception in thread NetworkThr:\n" + RAISED.encode()
    evidence = read_text(tmp_path, rank_2_log=filler + text + filler)
    assert (evidence.ends, [end.type for end in evidence.handled]) == ((), ["ValueError"])


def test_logs_alone_name_nobody_for_it_and_show_the_line(tmp_path):
    evidence = read_text(tmp_path, job_log=WAITS, rank_2_log=HEADERS[0] + RAISED)
    found = conclude(evidence)
    [finding] = found
    assert (finding.kind, finding.role, finding.ranks, leads_of(found)) == (Kind.NOT_OBSERVED, Role.LEAD, (2,), ())
    assert any("rank 2 raised this; Python ignored it" in line.text and "quota" in line.text for line in finding.evidence)


def test_beside_dumps_nobody_is_named_for_it_either(tmp_path: Path):
    incident = look(*alike((0, 1, 3), "all_reduce", 42), lost(2), logs=read_text(tmp_path, rank_2_log=HEADERS[3] + RAISED))
    assert incident.leads == ()
    [finding] = incident.findings
    assert finding.kind is Kind.NOT_OBSERVED
    assert any("it is of the side thread NetworkThr" in line.text for line in finding.evidence)
