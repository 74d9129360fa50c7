"""Errors of those who waited, in words that are known and in words that are not; and what is still named beside them."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs import conclude, leads_of
from hangview.terms import Kind, Role, Side
from tests.engine.support import alike, look, lost
from tests.logs.support import caught, read_text

DIST = "/opt/env/lib/python3.11/site-packages/torch/distributed/"
GRAPH = ("/opt/env/lib/python3.11/site-packages/torch/autograd/graph.py", "_engine_run_backward", "return Variable.run()")
WAIT = ("/job/train.py", "step", "for w in works: w.wait()")
FUTURE = ("/usr/lib/python3.11/concurrent/futures/_base.py", "result", "raise TimeoutError()")
RPC = (DIST + "rpc/api.py", "wrapper", "return func(*args, **kwargs)")
DEEP_EP = ("/opt/env/lib/python3.11/site-packages/deep_ep/buffer.py", "dispatch", "self.runtime.intranode_dispatch(")
STORE = (DIST + "distributed_c10d.py", "_store_based_barrier", "raise RuntimeError(")
NET = (
    "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2251, unhandled system "
    "error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclSystemError: System call (e.g. socket, malloc) or "
    "external library call failed or device error.\nLast error:\nNET/IB: Got completion from peer 10.0.0.7<42211> with status=12"
)
CUDA = "RuntimeError: CUDA error: {}\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."


def raised(last: str, *frames: tuple[str, str, str]) -> str:
    """A traceback; ``frames``: (file, function, source line), outermost first."""
    lines = ["Traceback (most recent call last):", '  File "/job/train.py", line 64, in <module>', "    main()"]
    for file, name, source in frames:
        lines += [f'  File "{file}", line 7, in {name}', f"    {source}"]
    return "\n".join((*lines, last)) + "\n"


WAITERS = {
    "gloo's other time-out": raised("RuntimeError: Application timeout caused pair closure", WAIT),
    "backward of DDP": raised(NET, GRAPH),
    "a future": raised("TimeoutError", FUTURE),
    "rpc": raised("RuntimeError: eof (this error originated at tensorpipe/transport/shm/connection_impl.cc:259)", RPC),
    "deep_ep's kernel": raised(CUDA.format("unspecified launch failure"), DEEP_EP),
    "store based barrier": raised(
        "RuntimeError: Timed out initializing process group in store based barrier on rank: {rank}, for key: "
        "store_based_barrier_key:1 (world_size=4, worker_count=3, timeout=0:30:00)",
        STORE,
    ),
    "the store": raised(
        "TimeoutError: The client socket has timed out after 1800s while trying to connect to (node1, 29500).",
        (DIST + "rendezvous.py", "_create_c10d_store", "return TCPStore("),
    ),
}


@pytest.mark.parametrize("text", WAITERS.values(), ids=WAITERS)
def test_an_error_of_who_waited_names_nobody_also_where_one_rank_alone_has_it(tmp_path, text):
    found = conclude(read_text(tmp_path, rank_0_log=text, rank_3_log=""))
    assert leads_of(found) == ()
    assert [finding.kind for finding in found] == [Kind.NOT_OBSERVED]  # it is shown
    told = read_text(tmp_path, rank_2_log=text)
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == ()


#: Words that hangview has never heard of, as of a library of one's own.
BOOM = raised("RuntimeError: peer group is not healthy (7f{rank})", WAIT)
ENGINE = raised("engine.EngineDeadError: see the stack above", ("/job/serve.py", "step", "raise EngineDeadError()"))
DEVICE = raised(CUDA.format("unspecified launch failure"), WAIT)


@pytest.mark.parametrize("text", [BOOM, ENGINE, DEVICE])
def test_what_half_of_the_ranks_raise_while_another_says_nothing_names_nobody(tmp_path, text):
    logs = {f"rank_{rank}_log": text.replace("{rank}", str(rank)) for rank in (0, 1)}
    found = conclude(read_text(tmp_path, **logs, rank_2_log="", rank_3_log=""))
    assert leads_of(found) == ()
    assert [(finding.kind, finding.ranks) for finding in found] == [(Kind.NOT_OBSERVED, (2, 3))]
    told = read_text(tmp_path, **logs)
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == ()
    told = read_text(tmp_path, rank_1_log=text, rank_2_log=text)
    assert look(*alike((0,), "all_reduce", 42), lost(1), lost(2), lost(3), logs=told).leads == ()


@pytest.mark.parametrize("text", [BOOM, ENGINE, DEVICE])
def test_where_one_alone_raises_it_or_nobody_is_silent_it_names_who_raised(tmp_path, text):
    alone = (
        (2,) if text is DEVICE else ()
    )  # what the others say tells of other processes: one that is silent, or waits for none
    assert leads_of(conclude(read_text(tmp_path, rank_0_log="", rank_2_log=text))) == alone
    waited = caught(0, 42) + caught(1, 42)
    assert leads_of(conclude(read_text(tmp_path, job_log=waited, rank_2_log=text, rank_3_log=""))) == alone
    assert leads_of(conclude(read_text(tmp_path, job_log=waited, rank_2_log=text, rank_3_log=text))) == (2, 3)
    told = read_text(tmp_path, rank_2_log=text)
    assert look(*alike((0, 1), "all_reduce", 42), lost(2), lost(3), logs=told).leads == alone
    assert look(*alike((0, 1, 3), "all_reduce", 42), lost(2), logs=told).leads == (2,)


CONSOLE = "".join(
    f"W0626 05:14:47.400000 4000 torch/distributed/elastic/multiprocessing/api.py:900] Sending process {pid} closing signal SIGTERM\n"
    for pid in (4712, 4713, 4714)
) + (
    "E0626 05:14:47.466000 4000 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 0 (pid: "
    "4711) of binary: python\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + "=" * 60 + "\nFailures:\n"
) + "".join(
    f"[{rank}]:\n  time      : 2026-06-26_05:14:47\n  host      : n1\n  rank      : {rank} (local_rank: {rank})\n  exitcode  : "
    f"{-15 if rank else 1} (pid: {4711 + rank})\n  error_file: <N/A>\n"
    for rank in range(4)
)  # fmt: skip


@pytest.mark.parametrize("text", [BOOM, ENGINE, DEVICE])
def test_that_a_launcher_ended_a_rank_is_no_word_of_it(tmp_path, text):
    logs = {f"rank_{rank}_log": text.replace("{rank}", str(rank)) for rank in (0, 1, 2)}
    [found] = conclude(read_text(tmp_path, **logs, rank_3_log="", console_log=CONSOLE))
    assert (found.kind, found.ranks, found.others) == (Kind.NOT_OBSERVED, (3,), (0, 1, 2))
    assert "of rank 3 no log says what happened, but how its process ended" in found.summary
    assert any("half or more of the ranks raised the same" in step for step in found.steps)
    # Of its own it says something else.
    own = raised("OSError: shard", ("/job/a.py", "f", "g()"))
    assert 3 in leads_of(conclude(read_text(tmp_path, **logs, rank_3_log=own, console_log=CONSOLE)))


@pytest.mark.parametrize(
    "last", ["OSError: [Errno 5] Input/output error: '/data/a.bin'", "KeyError: 'tokens'", "zlib.error: x"]
)
def test_what_no_wait_ends_in_is_of_each_rank_itself(tmp_path, last):
    text = raised(last, ("/job/a.py", "f", "g()"))
    found = conclude(read_text(tmp_path, rank_0_log=text, rank_1_log=text, rank_2_log="", rank_3_log="", console_log=CONSOLE))
    assert leads_of(found) == (0, 1)


def test_a_lack_of_memory_is_of_each_rank_itself(tmp_path):
    text = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ("/job/a.py", "f", "y = x @ x"))
    found = conclude(read_text(tmp_path, rank_0_log=text, rank_1_log=text, rank_2_log="", rank_3_log=""))
    assert leads_of(found) == (0, 1)


# -- outside any collective ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        raised("ValueError: shard_3.bin", ("/job/reader.py", "read", "return int(text)")),
        raised("RuntimeError: shard_3.bin", ("/job/reader.py", "read", 'raise RuntimeError("shard_3.bin")')),
        raised(
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x4 and 5x2)",
            ("/opt/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", "forward", "return F.linear(x)"),
        ),
        raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ("/job/a.py", "f", "y = x @ x")),
    ],
)
def test_outside_any_collective_is_said_where_it_is_proven(tmp_path, text):
    finding, *_ = conclude(read_text(tmp_path, job_log=caught(0, 42) + caught(1, 42), rank_2_log=text))
    assert (finding.ranks, finding.side) == ((2,), Side.HOST)
    assert "outside any collective" in finding.summary


@pytest.mark.parametrize(
    "text",
    [
        raised("RuntimeError: something", WAIT),
        raised("RuntimeError: something", GRAPH),
        raised("torch.AcceleratorError: CUDA error: an illegal memory access was encountered", WAIT),
        raised(CUDA.format("device-side assert triggered"), ("/job/a.py", "f", "raise RuntimeError(text)")),
        raised("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, invalid usage", WAIT),
    ],
)
def test_outside_any_collective_is_not_said_where_it_is_not_proven(tmp_path, text):
    finding, *_ = conclude(read_text(tmp_path, job_log=caught(0, 42) + caught(1, 42), rank_2_log=text))
    assert finding.ranks == (2,)  # it is named all the same
    assert finding.side is not Side.HOST
    assert "outside any collective" not in finding.summary


# -- an error of the device beside a wait of the same rank ---------------------------------------------------------------


def test_a_device_error_of_a_rank_that_waited_is_told_and_neither_follows_nor_leads(tmp_path):
    text = raised(CUDA.format("an illegal memory access was encountered"), WAIT)
    told = read_text(tmp_path, rank_1_log=caught(1, 42) + text)
    [end] = told.ends
    assert (end.follower, end.before_communication, end.inside) == (False, False, False)
    found = conclude(told)
    assert leads_of(found) == ()
    assert [(one.role, one.ranks) for one in found if one.kind is Kind.PROCESS_ENDED] == [(Role.NOTE, (1,))]
    incident = look(*alike((0, 1), "all_reduce", 42), lost(2), logs=told)
    assert incident.leads == ()
    [line] = [one.text for one in incident.findings[0].evidence if "illegal memory" in one.text]
    assert "whether it met that before or after this call is not known" in line
    assert look(*alike((0,), "all_reduce", 42), lost(1), lost(2), logs=told).leads == ()


# -- what proves to be a rank's own, of many -------------------------------------------------------------------------------

READ = ("/job/data.py", "load", "x = reader(path)")
FUNCTIONAL = ("/opt/env/lib/python3.11/site-packages/torch/functional.py", "einsum", "return _VF.einsum(equation, operands)")
SEGV = 'Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n  File "/job/data.py", line 20 in load\n'
OWN = {
    "a missing file": raised("FileNotFoundError: [Errno 2] No such file or directory: '/local/shard{rank}.bin'", READ),
    "no permission": raised("PermissionError: [Errno 13] Permission denied: '/local/x.lock'", READ),
    "an assertion": raised("AssertionError: expected 1024 tokens, got 0", READ),
    "a bad file": raised("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", READ),
    "a library's own type": raised("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", READ),
    "a program's raise": raised("job.errors.DataCorruption: bad shard {rank}", ("/job/data.py", "load", "raise DataCorruption(path)")),
    "too many files": raised("RuntimeError: unable to open shared memory object </torch_1_2>: Too many open files (24)", READ),
    "a worker's bus error": raised("RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error.", READ),
    "memory of the device": raised(CUDA.format("uncorrectable ECC error encountered"), READ),
    "an address": raised(CUDA.format("an illegal memory access was encountered"), WAIT),
    "no call that waits": raised("RuntimeError: The size of tensor a (4097) must match tensor b (4096)", FUNCTIONAL),
    "a fault": SEGV,
}  # fmt: skip


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_what_proves_to_be_of_each_rank_names_them_however_many_they_are(tmp_path, text):
    logs = {f"rank_{rank}_log": text.replace("{rank}", str(rank)) for rank in (2, 3)}
    waited = read_text(tmp_path, **logs, rank_0_log=caught(0, 42), rank_1_log="")
    assert leads_of(conclude(waited)) == (2, 3)
    alone = read_text(tmp_path, **logs, rank_0_log="", rank_1_log="")  # a node whose data is missing, and silence of the other
    assert leads_of(conclude(alone)) == (2, 3)
    told = read_text(tmp_path, **logs)
    assert look(*alike((0,), "all_reduce", 42), lost(1), lost(2), lost(3), logs=told).leads == (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        SEGV.replace('"/job/data.py", line 20 in load', f'"{DIST}distributed_c10d.py", line 20 in all_reduce'),
        raised("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, unhandled cuda error", WAIT),
        raised("job.PeerError: rank is gone", ("/job/data.py", "load", "raise PeerError(rank)")),
        raised("RuntimeError: workers timed out", ("/job/data.py", "load", "raise RuntimeError(text)")),
    ],
)
def test_within_a_call_or_with_a_word_of_others_it_may_be_of_one_wait(tmp_path, text):
    found = conclude(read_text(tmp_path, rank_2_log=text, rank_3_log=text, rank_0_log=caught(0, 42), rank_1_log=""))
    assert leads_of(found) == ()


def test_a_signal_is_of_each_rank_itself(tmp_path):
    killed = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + "=" * 60 + "\nFailures:\n"
        + "".join(
            f"[{place}]:\n  time      : 2026-06-26_05:04:47\n  host      : n1\n  rank      : {rank} (local_rank: {rank})\n"
            f"  exitcode  : -9 (pid: {4711 + rank})\n  error_file: <N/A>\n"
            for place, rank in enumerate((2, 3))
        )
    )  # fmt: skip
    found = conclude(read_text(tmp_path, console_log=killed, rank_0_log=caught(0, 42), rank_1_log=""))
    assert leads_of(found) == (2, 3)


@pytest.mark.parametrize(
    "text", [BOOM, DEVICE, raised("TimeoutError", FUTURE)], ids=["unknown words", "a kernel that may trap", "a future"]
)
def test_of_an_error_that_is_none_of_communication_no_wait_in_a_call_is_said(tmp_path, text):
    logs = {f"rank_{rank}_log": text.replace("{rank}", str(rank)) for rank in (0, 1)}
    [found] = conclude(read_text(tmp_path, **logs, rank_2_log=""))
    assert (found.kind, found.ranks, found.others) == (Kind.NOT_OBSERVED, (2,), (0, 1))
    assert "wait" not in found.summary
    assert "ranks 0-1 raised" in found.summary


def test_of_an_error_of_communication_it_is_said(tmp_path):
    text = WAITERS["gloo's other time-out"]
    [found] = conclude(read_text(tmp_path, rank_0_log=text, rank_1_log=text, rank_2_log=""))
    assert "ranks 0-1 wait in a call that the logs do not name" in found.summary


TASK = ("/usr/lib/python3.11/asyncio/tasks.py", "wait_for", "raise exceptions.TimeoutError() from exc")
ALL_OTHERS = "".join(caught(rank, 42) for rank in (0, 1, 3))


@pytest.mark.parametrize("frame", [FUTURE, TASK])
def test_a_time_out_of_a_thread_of_its_own_names_a_rank_for_which_all_others_wait(tmp_path, frame):
    text = raised("TimeoutError", READ, frame)
    finding, *_ = conclude(read_text(tmp_path, job_log=ALL_OTHERS, rank_2_log=text))
    assert (finding.kind, finding.ranks, finding.others) == (Kind.PROCESS_ENDED, (2,), (0, 1, 3))
    assert finding.side is Side.UNKNOWN
    assert finding.compare_first.startswith("what the thread or task does that rank 2 waited for")
    assert "that what it waited for is known" in finding.not_concluded
    assert any("the log does not say what that one waited for" in step for step in finding.steps)
    told = read_text(tmp_path, rank_2_log=text)
    assert look(*alike((0, 1, 3), "all_reduce", 42), lost(2), logs=told).leads == (2,)


def test_it_names_nobody_where_another_rank_is_silent_or_the_frames_are_of_communication(tmp_path):
    text = raised("TimeoutError", READ, FUTURE)
    silent = read_text(tmp_path, job_log=caught(0, 42) + caught(1, 42), rank_2_log=text, rank_3_log="")
    assert leads_of(conclude(silent)) == ()
    saved = raised("TimeoutError", (DIST + "checkpoint/state_dict_saver.py", "result", "self.future.result()"), FUTURE)
    assert leads_of(conclude(read_text(tmp_path, job_log=ALL_OTHERS, rank_2_log=saved, rank_3_log=""))) == ()


# -- one rank alone, and nobody waits --------------------------------------------------------------------------------------

ALL_REDUCE = (DIST + "distributed_c10d.py", "all_reduce", "work = group.allreduce([tensor], opts)")
ALARM = ("/job/train.py", "on_alarm", 'raise StepTimeout("step 841")')
MAY_HAVE_WAITED = {
    "a driver's call": raised("TimeoutError: RPC call to execute_model timed out", ("/job/serve.py", "step", "raise TimeoutError(")),
    "zmq": raised("zmq.error.Again: Resource temporarily unavailable", ("/job/serve.py", "step", "self.socket.recv()")),
    "a queue": raised("_queue.Empty", ("/job/serve.py", "step", "self.out.get(timeout=600)")),
    "gRPC": raised(
        "RuntimeError: <_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.DEADLINE_EXCEEDED\n>",
        ("/job/serve.py", "step", "stub.step(request)"),
    ),
    "the second line": raised("RuntimeError: step failed\nworker 3 did not respond", WAIT),
    "C++": "terminate called after throwing an instance of 'std::runtime_error'\n  what():  peer 3 timed out\n",
}  # fmt: skip


@pytest.mark.parametrize("text", MAY_HAVE_WAITED.values(), ids=MAY_HAVE_WAITED)
def test_who_may_have_waited_is_named_only_where_others_wait(tmp_path, text):
    [found] = conclude(read_text(tmp_path, rank_0_log="step 1\n", rank_1_log=text, rank_2_log="step 1\n"))
    assert (found.kind, found.ranks, found.others) == (Kind.NOT_OBSERVED, (0, 2), (1,))
    assert any("no log shows that anybody waits for it" in step for step in found.steps)
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=caught(0, 42), rank_1_log=text))) == (1,)


@pytest.mark.parametrize(
    "text",
    [
        raised("ValueError: connection table is empty", ("/job/data.py", "load", "raise ValueError(text)")),
        raised("OSError: [Errno 28] No space left on device: '/scratch/peer.bin'", READ),
        raised("RuntimeError: DataLoader timed out after 60 seconds", (READ[0].replace("/job", "/opt/torch/utils/data"), *READ[1:])),
        raised("RuntimeError: Caught TimeoutError in DataLoader worker process 0.", READ),
        raised("TimeoutError: The read operation timed out", READ, ("/opt/env/site-packages/urllib3/response.py", "read", "x")),
    ],
)  # fmt: skip
def test_an_error_that_is_shown_to_be_of_the_rank_itself_names_it_whatever_its_words(tmp_path, text):
    assert leads_of(conclude(read_text(tmp_path, rank_0_log="step 1\n", rank_1_log=text))) == (1,)


HCCL = "RuntimeError: OPS function error: HcclAllreduce, error code is 6\nEI0006: Getting socket times out. Remote Rank did not send"


@pytest.mark.parametrize(
    "text",
    [raised(HCCL, ALL_REDUCE), raised("job.StepTimeout: step 841", ALL_REDUCE, ALARM)],
    ids=["the library", "an alarm of the program"],
)
def test_what_was_raised_inside_a_call_shows_that_its_rank_stood_there(tmp_path, text):
    told = read_text(tmp_path, rank_1_log=text)
    assert [(end.follower, end.why_follower) for end in told.ends] == [
        (True, "it was raised inside a call, in which the rank stood until then")
    ]
    assert leads_of(conclude(told)) == ()
    assert look(*alike((0,), "all_reduce", 42), lost(1), lost(2), logs=told).leads == ()


@pytest.mark.parametrize(
    "text",
    [
        raised("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, invalid usage", ALL_REDUCE),
        raised("RuntimeError: Tensors must be contiguous", ALL_REDUCE),
        raised(
            "job.NotSent: peer of this process",
            (DIST + "distributed_c10d.py", "all_gather_object", "x"),
            ("/job/a.py", "__getstate__", "raise NotSent(self)"),
        ),
        raised("ValueError: bad op", (ALL_REDUCE[0], "_check", "raise ValueError(text)")),
    ],
)
def test_what_a_call_refuses_names_who_asked(tmp_path, text):
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=caught(0, 42), rank_1_log=text))) == (1,)


GATHERED = {
    "accelerate": "accelerate.utils.operations.DistributedOperationException: Cannot apply desired operation due to shape mismatches. "
    "All shapes across devices must be valid.\n\nInput shapes:\n  - Process 0: [2, 350]\n  - Process 1: [2, 512]",
    "DDP": "RuntimeError: DDP expects same model across all ranks, but Rank {rank} has 212 params, while rank 2 has 210 params.",
    "of a type of one's own": "ValueError: inconsistent values across ranks: [1, 2]",
}


@pytest.mark.parametrize("last", GATHERED.values(), ids=GATHERED)
def test_what_every_rank_raises_of_what_was_gathered_from_all_names_nobody(tmp_path, last):
    text = raised(last, ("/job/a.py", "f", "raise Different(text)"))
    logs = {f"rank_{rank}_log": text.replace("{rank}", str(rank)) for rank in (0, 1, 2)}
    [found] = conclude(read_text(tmp_path, **logs))
    assert (found.kind, found.ranks, found.others) == (Kind.NOT_OBSERVED, (), (0, 1, 2))
    assert leads_of(conclude(read_text(tmp_path, **logs, rank_3_log=""))) == ()
    other = raised("ValueError: shard 3", READ)
    assert leads_of(conclude(read_text(tmp_path, **logs, rank_3_log=other))) != ()


SITE = "/opt/env/lib/python3.11/site-packages/"
RESET = "requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"


@pytest.mark.parametrize(
    ("frames", "leads"),
    [
        ((READ, (SITE + "requests/adapters.py", "send", "raise ConnectionError(err)")), (1,)),
        ((READ, (SITE + "botocore/httpsession.py", "send", "raise ConnectionClosedError(")), (1,)),
        ((READ,), ()),
        # The rendezvous of a launcher, and what reports to a service.
        ((READ, (DIST + "elastic/rendezvous/etcd.py", "get", "x"), (SITE + "urllib3/connectionpool.py", "urlopen", "x")), ()),
        ((READ, (SITE + "wandb/sdk/api.py", "send", "x"), (SITE + "requests/adapters.py", "send", "raise x")), ()),
    ],
)
def test_a_connection_to_a_service_is_of_the_rank_that_reads(tmp_path, frames, leads):
    text = raised(RESET, *frames)
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=caught(0, 42), rank_1_log=text))) == leads
    told = read_text(tmp_path, rank_1_log=text)
    assert look(*alike((0,), "all_reduce", 42), lost(1), logs=told).leads == leads
