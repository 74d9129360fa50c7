"""Errors whose words tell of other ranks or of a wait: they name nobody beside whom they may be about."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs import conclude, followers, leads_of
from hangview.logs.followers import ranks_in
from tests.engine.support import alike, look, lost
from tests.logs.support import caught, read_text, said
from tests.logs.test_together import CUDA, DIST, READ, SEGV, WAIT, raised

#: What a program says of rank 2, whoever raises it.
OF_RANK_2 = {
    "it failed": raised("RuntimeError: rank 2 failed: CUDA out of memory", WAIT),
    "why one gives up": raised("RuntimeError: Rank {rank} gives up because rank 2 met an error", WAIT),
    "it did not send": raised("RuntimeError: no metrics from ranks [2]", WAIT),
    "it is the one that is left": raised("RuntimeError: not all ranks have come: [2]", WAIT),
    "an assertion": raised("AssertionError: Rank 2 holds 17 tokens, expected 16", WAIT),
    "a value": raised("ValueError: rank 2 gave an empty batch", ("/job/a.py", "f", "raise ValueError(text)")),
    "a file": raised("FileNotFoundError: /tmp/a.pt: see the log of rank 2", ("/job/a.py", "f", "raise FileNotFoundError(text)")),
    "two of one device": raised("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, invalid usage\nDuplicate GPU detected : rank 2 and rank 5 both on CUDA device 1000", WAIT),
}  # fmt: skip
OOM = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ("/job/a.py", "f", "y = x @ x"))


@pytest.mark.parametrize("text", OF_RANK_2.values(), ids=OF_RANK_2)
def test_who_tells_of_another_rank_is_not_named(tmp_path, text):
    logs = {f"rank_{rank}_log": text.replace("{rank}", str(rank)) for rank in (0, 1, 3)}
    silent = read_text(tmp_path, **logs, rank_2_log="step 1\n")
    assert leads_of(conclude(silent)) == ()
    assert "the log of rank 2 shows neither a wait nor an end" in said(conclude(silent))
    one = read_text(tmp_path, job_log=caught(1, 42) + caught(3, 42), rank_0_log=logs["rank_0_log"], rank_2_log="step 1\n")
    assert leads_of(conclude(one)) == ()
    assert look(*alike((1, 3), "all_reduce", 42), lost(0), lost(2), logs=one).leads == ()
    # Nor where the other one waits, for whatever.
    waits = read_text(tmp_path, **logs, rank_2_log=caught(2, 42))
    assert leads_of(conclude(waits)) == ()


@pytest.mark.parametrize("text", OF_RANK_2.values(), ids=OF_RANK_2)
def test_of_whom_others_tell_is_named_for_what_it_met_itself(tmp_path, text):
    logs = {f"rank_{rank}_log": text.replace("{rank}", str(rank)) for rank in (0, 1, 3)}
    assert leads_of(conclude(read_text(tmp_path, **logs, rank_2_log=OOM))) == (2,)


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("rank 3: bad sample", [3]),
        ("rank 3 lost rank 5", [3, 5]),
        ("ranks 1, 2 and 3 are late", [1, 2, 3]),
        ("rank: 4, worker_count=3", [4]),
        ("3/4 ranks arrived, missing [2]", [2]),
        ("the shapes across ranks differ: [4]", [4]),
        ("the shape differs from rank 0", [0]),
        ("input from rank 5 is empty", [5]),
        ("lost rank5 at this step", [5]),
        ("cannot step rank-5", [5]),
        # Numbers that are none of the world's.
        ("local rank 1 has no device", []),
        ("tp rank 0: loss is nan", []),
        ("LoRA rank 8 is above 4", []),
        ("/ckpt/rank_5.pt", []),
        ("/ckpt/rank 5.pt", []),
        ("rank5.pt is missing", []),
        ("expected a tensor of rank 4", []),
        ("rank 4 tensor expected", []),
        ("the input must have rank 4", []),
        ("Tensor rank 4 does not match expected rank 3", []),
        ("rank-3 tensor given, rank 4 expected", []),
        ("the index rank must be 2, got rank 1", []),
        ("the rank of the input is 3 and rank 4 is needed", []),
        ("ranks hold 3 shards of shape [16, 4]", []),
    ],
)
def test_numbers_of_ranks_in_a_message(text, ranks):
    assert sorted(ranks_in(text)) == ranks


def test_who_names_itself_and_another_one_is_named_only_where_all_others_wait(tmp_path):
    text = raised("AssertionError: rank 0 and rank 2 disagree: [3, 4] and [3, 5]", ("/job/a.py", "check", "assert same"))
    two = caught(0, 42) + caught(3, 42)
    assert leads_of(conclude(read_text(tmp_path, job_log=two + caught(1, 42), rank_2_log=text))) == (2,)
    assert leads_of(conclude(read_text(tmp_path, job_log=two, rank_1_log="step 1\n", rank_2_log=text))) == ()
    assert leads_of(conclude(read_text(tmp_path, job_log=two, rank_1_log=OOM, rank_2_log=text))) == (1,)


RECV = ("/opt/env/lib/python3.11/multiprocessing/connection.py", "_recv", "raise EOFError")
WAITED = {
    "a plain one": raised("TimeoutError", ("/job/ctl.py", "ask", "raise TimeoutError()")),
    "a queue": raised("_queue.Empty", ("/job/ctl.py", "ask", "inbox.get(timeout=60)")),
    "zmq": raised("zmq.error.Again: Resource temporarily unavailable", WAIT),
    "a socket": raised("socket.timeout: timed out", ("/job/ctl.py", "ask", "s.recv(1)")),
    "a pipe": raised("EOFError", ("/job/ctl.py", "ask", "pipe.recv()"), RECV),
    "a barrier": raised("threading.BrokenBarrierError", WAIT),
    "a lock": raised("filelock._error.Timeout: The file lock '/data/a.lock' could not be acquired.", WAIT),
    "gRPC": raised("grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that ended with:\n\tstatus = StatusCode.DEADLINE_EXCEEDED", WAIT),
}  # fmt: skip


@pytest.mark.parametrize("text", WAITED.values(), ids=WAITED)
def test_a_wait_that_ended_names_its_rank_only_where_all_others_wait(tmp_path, text):
    two = caught(0, 42) + caught(3, 42)
    beside = read_text(tmp_path, job_log=two, rank_1_log=text, rank_2_log=OOM)
    assert leads_of(conclude(beside)) == (2,)
    assert look(*alike((0, 3), "all_reduce", 42), lost(1), lost(2), logs=beside).leads == (2,)
    assert leads_of(conclude(read_text(tmp_path, job_log=two, rank_1_log=text, rank_2_log="step 1\n"))) == ()
    assert leads_of(conclude(read_text(tmp_path, job_log=two + caught(2, 42), rank_1_log=text, rank_2_log=""))) == (1,)


def test_the_end_of_a_file_is_no_wait(tmp_path):
    text = raised("EOFError: Ran out of input", ("/opt/env/lib/python3.11/site-packages/torch/serialization.py", "load", "x"))
    found = conclude(read_text(tmp_path, job_log=caught(0, 42) + caught(3, 42), rank_1_log=text, rank_2_log="step 1\n"))
    assert leads_of(found) == (1,)


#: What most ranks raise alike may be of one wait, or of half an object that they were sent.
ALIKE = {
    "a failed launch": raised(CUDA.format("unspecified launch failure"), WAIT),
    "half an object": raised("_pickle.UnpicklingError: pickle data was truncated", (DIST + "distributed_c10d.py", "_tensor_to_object", "x")),
}  # fmt: skip


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("own", [OOM, SEGV, raised("KeyError: 'tokens'", READ)], ids=["memory", "a fault", "a type"])
def test_what_most_ranks_raise_alike_follows_where_another_met_what_no_wait_ends_in(tmp_path, text, own):
    logs = {f"rank_{rank}_log": text for rank in (0, 1, 3)}
    assert leads_of(conclude(read_text(tmp_path, **logs, rank_2_log=own))) == (2,)
    assert leads_of(conclude(read_text(tmp_path, **logs, rank_2_log=text))) == (0, 1, 2, 3)


def test_a_message_of_many_ranks_is_read_once():
    """Each number looks at what stands right before it: all that is in front of it took minutes for a tenth of a megabyte."""
    seen = []

    class Watched:
        def search(self, text: str, start: int, end: int) -> None:
            seen.append(end - start)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(followers, "_OF_A_TENSOR", Watched())
        assert ranks_in("rank 1, rank 2: " * 500) == {1, 2}
    assert max(seen) <= 120
