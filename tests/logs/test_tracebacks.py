"""Tracebacks and stacks taken from outside, put together line by line."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs.evidence import EndKind
from tests.logs.support import read_text

LOADER = """Traceback (most recent call last):
  File "/srv/job/fit.py", line 97, in main
    for batch in loader:
  File "/srv/job/reader.py", line 88, in next
    raise ValueError(
ValueError: shard_3.bin: checksum differs
"""
IN_COLLECTIVE = """Traceback (most recent call last):
  File "/srv/job/fit.py", line 97, in main
    dist.all_reduce(x)
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252, in all_reduce
    work.wait()
{}
"""


def label(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" if line else "\n" for line in text.splitlines())


def test_an_exception_before_communication(tmp_path):
    [end] = read_text(tmp_path, rank_3_log=LOADER).ends
    assert (end.rank, end.type, end.message, end.kind) == (3, "ValueError", "shard_3.bin: checksum differs", EndKind.EXCEPTION)
    assert end.where == "next (/srv/job/reader.py:88)"
    assert end.before_communication
    assert not end.follower
    assert [frame.name for frame in end.frames] == ["next", "main"]
    assert end.line.number == 6


@pytest.mark.parametrize(
    ("last", "follower", "kind"),
    [
        ("RuntimeError: [/x/gloo/transport/tcp/pair.cc:561] Connection closed by peer [10.0.0.1]:4000", True, EndKind.EXCEPTION),
        ("RuntimeError: [/x/unbound_buffer.cc:78] Timed out waiting 15000ms for recv operation to complete", True, EndKind.EXCEPTION),
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited or there was a network error", True, EndKind.EXCEPTION),
        ("torch.distributed.DistBackendError: Watchdog caught collective operation timeout: NCCL operation timed out", True, EndKind.EXCEPTION),
        ("torch.distributed.DistBackendError: NCCL communicator was aborted after a previous error", True, EndKind.EXCEPTION),
        ("torch.distributed.DistNetworkError: failed to recv, got 0 bytes", True, EndKind.EXCEPTION),
        ("torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cpu//0/", True, EndKind.EXCEPTION),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", False, EndKind.DEVICE),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", False, EndKind.DEVICE),
        ("ValueError: input tensor must have the same size", False, EndKind.EXCEPTION),
        ("KeyboardInterrupt", True, EndKind.EXCEPTION),
    ],
)  # fmt: skip
def test_exceptions_inside_a_collective(tmp_path, last, follower, kind):
    [end] = read_text(tmp_path, rank_3_log=IN_COLLECTIVE.format(last)).ends
    assert not end.before_communication
    assert end.follower is follower
    assert bool(end.why_follower) is follower
    assert end.kind is kind


def test_the_worker_of_a_data_loader_is_named_and_its_own_exception_kept(tmp_path):
    text = """Traceback (most recent call last):
  File "/srv/job/fit.py", line 97, in main
    for batch in loader:
  File "/opt/env/lib/python3.11/site-packages/torch/_utils.py", line 706, in reraise
    raise exception
OSError: Caught OSError in DataLoader worker process 2.
Original Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 309, in _worker_loop
    data = fetcher.fetch(index)
  File "/srv/job/shards.py", line 61, in __getitem__
    blob = open(path).read()
OSError: [Errno 5] Input/output error
"""
    [end] = read_text(tmp_path, rank_1_log=text).ends
    assert end.what == "OSError: [Errno 5] Input/output error"
    assert end.where == "DataLoader worker process 2, __getitem__ (/srv/job/shards.py:61)"


def test_of_a_chain_the_first_exception_counts(tmp_path):
    text = (
        LOADER
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + IN_COLLECTIVE.format("RuntimeError: Broken pipe")
    )
    [end] = read_text(tmp_path, rank_3_log=text).ends
    assert end.type == "ValueError"
    assert end.before_communication


def test_tracebacks_of_two_ranks_line_by_line_in_one_log(tmp_path):
    other = LOADER.replace("shard_3", "shard_5").replace("ValueError", "KeyError")
    mixed = [
        line
        for pair in zip(label(LOADER, "[rank3]: ").splitlines(), label(other, "[rank5]: ").splitlines(), strict=True)
        for line in pair
    ]
    noise = "[rank1]:[W1129 13:52:02.001912437 socket.cpp:1] Warning: something else (function operator())"
    text = "\n".join(line for number, line in enumerate(mixed) for line in ([line, noise] if number % 3 == 0 else [line]))
    ends = read_text(tmp_path, job_log=text).ends
    assert [(end.rank, end.what) for end in ends] == [
        (3, "ValueError: shard_3.bin: checksum differs"), (5, "KeyError: shard_5.bin: checksum differs"),
    ]  # fmt: skip


def test_a_traceback_behind_a_launcher_label(tmp_path):
    text = label(LOADER, "[default3]:[rank11]: ") + "[default3]:[rank11]:[E626 05:14:36.393067540 socket.cpp:1] x\n"
    [end] = read_text(tmp_path, job_log=text).ends
    assert (end.rank, end.type) == (11, "ValueError")


def test_a_traceback_cut_off_by_the_end_of_the_file_says_nothing(tmp_path):
    assert read_text(tmp_path, rank_3_log="".join(LOADER.splitlines(keepends=True)[:-1])).ends == ()


def test_the_same_exception_again_and_again_is_one(tmp_path):
    ends = read_text(tmp_path, rank_3_log=LOADER * 50).ends
    assert len(ends) == 1
    assert ends[0].line.number == 6


def test_a_rank_that_goes_on_after_an_exception(tmp_path):
    [end] = read_text(tmp_path, rank_3_log=LOADER + "2026-11-29T16:31:51.593Z rank 3 INFO next epoch\n").ends
    assert end.went_on
    [end] = read_text(tmp_path, rank_3_log="step 12\n" + LOADER).ends
    assert not end.went_on


def test_an_unlabelled_traceback_in_a_log_of_many_ranks_is_nobody_s(tmp_path):
    heads = "".join(f"[rank{rank}]:[W1129 13:52:02.001912437 socket.cpp:1] Warning: x\n" for rank in range(4))
    evidence = read_text(tmp_path, job_log=heads + LOADER)
    assert evidence.ends == ()
    [end] = evidence.unplaced_ends
    assert end.type == "ValueError"


def test_an_unlabelled_traceback_is_not_the_one_labelled_rank_s(tmp_path):
    # A console where one rank's watchdog speaks and another rank's traceback bears no rank (torch 2.2).
    text = "[rank1]:[E ProcessGroupNCCL.cpp:523] something\n" + LOADER
    evidence = read_text(tmp_path, console_txt=text)
    assert evidence.ends == ()
    assert len(evidence.unplaced_ends) == 1


def test_a_fatal_error_with_its_stack(tmp_path):
    text = """Fatal Python error: Segmentation fault

Current thread 0x00007f3a51fff640 (most recent call first):
  File "/srv/job/native/pack.py", line 33 in pack_tokens
  File "/srv/job/loader.py", line 120 in __iter__

Thread 0x00007f3b22c00740 (most recent call first):
  File "/srv/job/train.py", line 88 in main
"""
    evidence = read_text(tmp_path, rank_1_log=text)
    [end] = evidence.ends
    assert (end.kind, end.type, end.where) == (EndKind.FATAL, "Segmentation fault", "pack_tokens (/srv/job/native/pack.py:33)")
    assert [(stack.thread, stack.frames[0].name) for stack in evidence.stacks] == [("0x00007f3b22c00740", "main")]


def test_an_uncaught_cpp_exception(tmp_path):
    text = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
    [end] = read_text(tmp_path, rank_1_log=text).ends
    assert end.kind is EndKind.ABORT
    assert not end.follower
    assert "std::bad_alloc" in end.what


def test_a_device_error_that_the_watchdog_met(tmp_path):
    text = (
        "[rank5]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:1899] [PG ID 0 PG GUID 0(default_pg) Rank 5] Process group watchdog "
        "thread terminated with exception: CUDA error: an illegal memory access was encountered\n"
    )
    [end] = read_text(tmp_path, job_log=text).ends
    assert (end.rank, end.kind, end.follower) == (5, EndKind.DEVICE, False)


def test_an_asynchronous_nccl_error_is_no_beginning(tmp_path):
    text = (
        "[rank5]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:99] [Rank 5] Collective WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) raised the following async exception: NCCL error: unhandled system error, NCCL version 2.26.2\n"
    )
    [end] = read_text(tmp_path, job_log=text).ends
    assert end.follower


PY_SPY = """Process 4417: python train.py --config big
Python v3.11.7 (/opt/env/bin/python3.11)

Thread 4417 (idle): "MainThread"
    wait (threading.py:320)
    next (reader.py:88)
    main (train.py:64)
Thread 4500 (active): "pin_memory"
    do_one_step (torch/utils/data/_utils/pin_memory.py:31)
"""
PYSTACK = """Traceback for thread 4417 (python) [Has the GIL] (most recent call last):
    (Python) File "/srv/job/train.py", line 64, in main
        batch = next(reader)
    (Python) File "/srv/job/reader.py", line 88, in next
        self.lock.acquire()
"""
FAULT = """Thread 0x00007f3b22c00740 (most recent call first):
  File "/srv/job/reader.py", line 88 in next
  File "/srv/job/train.py", line 64 in main
"""


@pytest.mark.parametrize(
    ("text", "tool", "pid"), [(PY_SPY, "py-spy", 4417), (PYSTACK, "pystack", None), (FAULT, "faulthandler", None)]
)
def test_stacks_from_outside_are_innermost_first(tmp_path, text, tool, pid):
    evidence = read_text(tmp_path, rank_6_txt=text)
    stack = evidence.stacks[0]
    assert (stack.rank, stack.tool, stack.pid) == (6, tool, pid)
    assert [frame.name for frame in stack.frames if frame.name != "wait"] == ["next", "main"]
    assert stack.frames[-1].line == 64
    assert evidence.ends == ()


def test_the_rank_of_an_outside_stack_by_its_pid(tmp_path):
    ray = "(RayTrainWorker pid=4417, ip=10.0.0.9) [rank6]:[W402 10:20:31.187157275 socket.cpp:1] Warning: x\n"
    evidence = read_text(tmp_path, driver_log=ray, spy_txt=PY_SPY)
    assert {(stack.rank, stack.thread) for stack in evidence.stacks} == {(6, "MainThread"), (6, "pin_memory")}


@pytest.mark.parametrize(
    "last", ["grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC", "job.errors.corrupt_sample: shard 3"]
)
def test_types_that_do_not_start_with_a_capital(tmp_path, last):
    [end] = read_text(tmp_path, rank_3_log=LOADER.replace("ValueError: shard_3.bin: checksum differs", last)).ends
    assert end.type == last.partition(":")[0]
    [end] = read_text(tmp_path, rank_3_log=IN_COLLECTIVE.format("job.reader: shard 3 is late\nValueError: x")).ends
    assert end.type == "ValueError"  # a logger's line among those of a traceback


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/srv/job/fit.py", line 212, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/job/reader.py", line 88, in load_batch
    |     meta = self.index[name]
    | KeyError: 'shard-00412'
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/srv/job/reader.py", line 90, in other
    |     raise ValueError(x)
    | ValueError: x
    +------------------------------------
"""
BOX = """╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /srv/job/fit.py:212 in <module>                                              │
│                                                                              │
│ ❱ 212 main()                                                                 │
│                                                                              │
│ /srv/job/reader.py:88 in load_batch                                          │
│ ❱  88 {0:<71}│
╰──────────────────────────────────────────────────────────────────────────────╯
KeyError: 'shard-00412'
"""


@pytest.mark.parametrize(
    "text", [GROUP, label(GROUP, "[rank3]: "), BOX.format("meta = self.index[name]"), BOX.format("raise KeyError(name)")]
)
def test_a_group_of_exceptions_and_a_box_of_rich(tmp_path, text):
    [end] = read_text(tmp_path, rank_3_log="step 1\n" + text).ends
    assert (end.rank, end.type, end.message) == (3, "KeyError", "'shard-00412'")
    assert [frame.name for frame in end.frames] == ["load_batch", "<module>"]
    assert end.where == "load_batch (/srv/job/reader.py:88)"
