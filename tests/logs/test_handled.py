"""Errors that were handled, by the logger's own words; and what stays named beside them."""

from __future__ import annotations

import json

import pytest

from hangview.logs import conclude, leads_of
from hangview.logs.headers import handled, logger, succeeded
from hangview.terms import Kind
from tests.engine.support import alike, look, lost
from tests.logs.support import caught, read_text

WAITS = caught(0, 42) + caught(1, 42)
#: As a logger prints it: from the frame that caught it on. The second is what nobody caught: it went through the whole program.
LOGGED = 'Traceback (most recent call last):\n  File "/job/reader.py", line 61, in read\n    f()\nOSError: shard_17\n'
UNCAUGHT = LOGGED.replace('  File "/job/reader', '  File "/job/train.py", line 9, in <module>\n    main()\n  File "/job/reader')
GOES_ON = [
    "2026-06-26 05:04:30,100 WARNING reader: read of shard_17 failed (attempt 1/5), retrying in 2 s\n",
    "2026-06-26 05:04:30,100 ERROR reader: attempt 4 of 5 failed\n",
    "WARNING:reader:skipping corrupt sample 8123, continuing\n",
    "[2026-06-26 05:04:30][reader][ERROR] - bad record, ignored\n",
    "ERROR reader: upload failed, will retry\n",
    "WARNING reader: could not read shard_17, skipping it\n",
    "WARNING urllib3: ('Connection aborted.', quota exceeded), trying again\n",
    "INFO reader: cache unreadable, falling back to the network\n",
    "WARNING reader: read failed (retry 1/3), skipping\n",
    "WARNING loader: skipping corrupt checkpoint, falling back to the one before\n",
    "INFO reader: read of shard_17 failed, skipping it\n",
]
#: No word of a logger that goes on, or one that takes it back.
ENDS = [
    "2026-06-26 05:04:30,100 ERROR reader: read of shard_17 failed (attempt 5/5)\n",
    "ERROR reader: retrying failed 5 times, giving up\n",
    "ERROR reader: retries exhausted, was retrying shard_17\n",
    "ERROR reader: cannot continue, skipping is not allowed\n",
    "ERROR reader: not retrying\n",
    "ERROR reader: shard_17 cannot be skipped\n",
    "ERROR reader: will not be retried, was skipping\n",
    "ERROR reader: retrying: maximum of 5 attempts exceeded\n",
    "ERROR reader: last attempt 4/5 failed, aborting\n",
    "ERROR trainer: stopping, ignoring what is left\n",
    "CRITICAL reader: skipping shard_17\n",
    "ERROR reader: read of shard_17 failed\n",
    "WARNING reader: read failed (retry 3/3)\n",
    "ERROR reader: read failed, try 5 of 5\n",
    "ERROR trainer: Training failed, skipping final checkpoint\n",
    "ERROR trainer: CUDA failure in step, skipping cleanup\n",
    "ERROR engine: Uncaught exception, ignoring KeyboardInterrupt during teardown\n",
    "INFO reader: skipping 3 empty samples\n",  # ordinary work, of something else
    "[2026-06-26 05:04:30,123] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 2 Skipping step.\n",
    "retrying in 2 s\n",  # of no logger
    "",
]


@pytest.mark.parametrize("before", GOES_ON)
def test_what_a_logger_says_to_have_been_handled_names_nobody_and_is_told(tmp_path, before):
    told = read_text(tmp_path, job_log=WAITS, rank_2_log=before + LOGGED, rank_3_log="")
    assert (told.ends, [end.type for end in told.handled]) == ((), ["OSError"])
    found = conclude(told)
    assert (leads_of(found), [one.kind for one in found]) == ((), [Kind.NOT_OBSERVED])
    incident = look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=read_text(tmp_path, rank_2_log=before + LOGGED))
    assert incident.leads == ()
    assert any("it was handled, by the line before it" in line.text for line in incident.findings[0].evidence)


@pytest.mark.parametrize("before", ENDS)
def test_without_such_words_it_names_its_rank(tmp_path, before):
    told = read_text(tmp_path, job_log=WAITS, rank_2_log=before + LOGGED, rank_3_log="")
    assert leads_of(conclude(told)) == (2,)
    told = read_text(tmp_path, rank_2_log=before + LOGGED)
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == (2,)


@pytest.mark.parametrize("before", GOES_ON)
def test_what_nobody_caught_names_its_rank_whatever_was_logged_before(tmp_path, before):
    """The line may be hours older: nothing else was printed since. A later error than the handled one counts, too."""
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=before + UNCAUGHT))) == (2,)
    both = before + LOGGED + UNCAUGHT
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=both))) == (2,)


def test_python_m_is_the_first_frame_of_what_nobody_caught(tmp_path):
    runpy = '  File "<frozen runpy>", line 198, in _run_module_as_main\n  File "/job/train'
    text = GOES_ON[0] + UNCAUGHT.replace('  File "/job/train', runpy)
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=text))) == (2,)


def test_what_was_saved_on_a_later_attempt_had_failed_to_be_saved(tmp_path):
    failed = "ERROR writer: checkpoint upload failed\n"
    saved = "INFO writer: checkpoint uploaded on attempt 2\n"
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=failed + LOGGED + saved, rank_3_log=""))) == ()


HEAD = "2026-06-26 05:04:30,100 ERROR reader: read of shard_17 failed\n"


@pytest.mark.parametrize(
    ("after", "leads"),
    [
        ("2026-06-26 05:04:33,100 INFO reader: shard_17 read on attempt 2\n", ()),
        ("2026-06-26 05:04:33,100 INFO reader: recovered\n", ()),
        ("2026-06-26 05:04:33,100 INFO writer: saved successfully\n", (2,)),  # another logger: an emergency checkpoint, say
        ("2026-06-26 05:04:33,100 INFO reader: shard_17 read successfully\n", ()),
        # Of the same logger, and of something else.
        ("2026-06-26 05:04:33,100 INFO reader: emergency checkpoint saved successfully to /ckpt/r2\n", (2,)),
        ("2026-06-26 05:04:33,100 INFO reader: wandb run successfully closed\n", (2,)),
        ("2026-06-26 05:04:33,100 INFO reader: uploaded crash report on attempt 1\n", (2,)),
        ("2026-06-26 05:04:33,100 INFO reader: notification sent successfully\n", (2,)),
        ("2026-06-26 05:04:33,100 INFO reader: closing\n", (2,)),
        ("2026-06-26 05:04:33,100 INFO reader: failed on attempt 2\n", (2,)),
        ("", (2,)),
    ],
)
def test_a_line_of_the_same_logger_that_tells_of_success_shows_that_it_was_handled(tmp_path, after, leads):
    told = read_text(tmp_path, job_log=WAITS, rank_2_log=HEAD + LOGGED + after, rank_3_log="")
    assert leads_of(conclude(told)) == leads
    told = read_text(tmp_path, rank_2_log=HEAD + LOGGED + after)
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == leads


def test_who_wrote_a_line():
    lines = ["05:04:30 INFO reader: x", "INFO:a.reader:x", "[05:04:30][reader][INFO] - x", "05:04:30 - reader - INFO - x"]
    assert [logger(line) for line in lines] == ["reader", "a.reader", "reader", "reader"]
    assert logger("step 300 done") == ""
    assert (handled(""), succeeded("", "")) == ("", False)


# -- printed by the program itself ---------------------------------------------------------------------------------------

TRIED = LOGGED.replace("in read", "in try_flash").replace("OSError: shard_17", "ImportError: libcudart.so.11.0")
ORDINARY = "model has 7.1e9 parameters\nusing bf16\n"


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        (TRIED + ORDINARY, ()),
        (TRIED, (2,)),  # nothing shows that it went on
        (TRIED + "Training failed, exiting\n\nwandb: run at https://x\n", (2,)),
        (LOGGED + ORDINARY, (2,)),
        ("no checkpoint, starting from scratch\n" + LOGGED + ORDINARY, ()),
        ("could not read it, using the slow one\n" + LOGGED + ORDINARY, ()),
        ("could not read it, using the slow one\n" + LOGGED, (2,)),
        ("starting from scratch failed, giving up\n" + LOGGED + ORDINARY, (2,)),
        ("no checkpoint, starting from scratch\n" + UNCAUGHT + ORDINARY, (2,)),
        # The words are of a line of the message.
        (TRIED.replace("ImportError: libcudart.so.11.0", "RuntimeError: build of the kernel") + ORDINARY, (2,)),
    ],
)
def test_what_says_to_be_a_try_was_caught_where_ordinary_lines_follow(tmp_path, text, leads):
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=text, rank_3_log=""))) == leads
    told = read_text(tmp_path, rank_2_log=text)
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == leads


def test_in_a_console_such_lines_may_be_of_anybody(tmp_path):
    labelled = "".join(f"[default2]:{line}\n" for line in TRIED.splitlines())
    first = "[default0]:[rank0]:[W626 05:10:00.000000001 socket.cpp:1] hello\n"
    assert [end.rank for end in read_text(tmp_path, job_log=WAITS + first + labelled + ORDINARY).ends] == [2]


def test_a_warning_in_front_of_a_traceback_may_say_what_is_used_instead(tmp_path):
    before = "/opt/x.py:12: UserWarning: could not load the fast tokenizer, using the slow one\n"
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=before + LOGGED, rank_3_log=""))) == ()


def test_a_logger_s_line_of_json_says_the_same(tmp_path):
    def line(message: str) -> str:
        return json.dumps({"level": "WARNING", "logger": "reader", "message": message, "exc_info": LOGGED}) + "\n"

    handled_ = line("read of shard_17 failed, retrying")
    assert leads_of(conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=handled_, rank_3_log=""))) == ()
    assert leads_of(
        conclude(read_text(tmp_path, job_log=WAITS, rank_2_log=line("read of shard_17 failed"), rank_3_log=""))
    ) == (2,)


# -- a traceback of another program in a rank's file, and of the hook that shows them ---------------------------------------

OF_A_CHILD = (
    'Traceback (most recent call last):\n  File "{}", line 1, in <module>\n'
    '  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode\n'
    "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n"
)
IN_A_CALL = "".join(
    f"[rank{{0}}]: {line}\n"
    for line in (
        "Traceback (most recent call last):",
        '  File "/job/train.py", line 64, in <module>',
        "    main()",
        '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 7, in all_reduce',
        "    work.wait()",
        "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete",
    )
)


@pytest.mark.parametrize("file", ["<string>", "/job/tools/probe.py"])
def test_a_traceback_of_another_program_ends_no_process_that_waits_later(tmp_path, file):
    text = OF_A_CHILD.format(file) + IN_A_CALL.format(0)
    told = read_text(tmp_path, rank_0_log=text, rank_1_log=IN_A_CALL.format(1), rank_2_log="step 1\n")
    assert [end.rank for end in told.handled] == [0]
    [found] = conclude(told)
    assert (found.ranks, found.others) == ((2,), (0, 1))
    assert found.compare_first == "what rank 2 printed last, and whether the process is over"


def test_one_of_the_same_program_or_without_a_later_wait_is_the_rank_s_own(tmp_path):
    own = OF_A_CHILD.format("/job/train.py") + IN_A_CALL.format(0)
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=own, rank_1_log=IN_A_CALL.format(1)))) == (0,)
    alone = OF_A_CHILD.format("<string>")
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=alone, rank_1_log=IN_A_CALL.format(1)))) == (0,)


def test_what_a_hook_raises_that_shows_an_exception_is_not_what_ended_the_program(tmp_path):
    hook = (
        'Error in sys.excepthook:\nTraceback (most recent call last):\n  File "/job/hooks.py", line 20, in hook\n    dump()\n'
        "FileNotFoundError: [Errno 2] No such file or directory: '/dumps/rank_2'\n\nOriginal exception was:\n"
    )
    waited = IN_A_CALL.replace("[rank{0}]: ", "")
    assert leads_of(conclude(read_text(tmp_path, rank_2_log=hook + waited, rank_1_log="step 1\n"))) == ()
    own = OF_A_CHILD.format("/job/train.py")
    finding, *_ = conclude(read_text(tmp_path, rank_2_log=hook + own, rank_1_log="step 1\n"))
    assert finding.ranks == (2,)
    assert "JSONDecodeError" in finding.summary
