from __future__ import annotations

import pytest

from hangview.dumps.ops import parse_op
from hangview.schema import Op


@pytest.mark.parametrize(
    ("text", "library", "name", "family"),
    [
        ("nccl:all_reduce", "nccl", "all_reduce", "all_reduce"),
        ("nccl2:allreduce_coalesced", "nccl2", "allreduce_coalesced", "all_reduce"),
        ("gloo:sparse_all_reduce", "gloo", "sparse_all_reduce", "all_reduce"),
        ("nccl:all_reduce_sparse", "nccl", "all_reduce_sparse", "all_reduce"),
        ("nccl:all_reduce_barrier", "nccl", "all_reduce_barrier", "barrier"),
        ("nccl2:barrier", "nccl2", "barrier", "barrier"),
        ("nccl:_all_gather_base", "nccl", "_all_gather_base", "all_gather"),
        ("nccl:all_gather", "nccl", "all_gather", "all_gather"),
        ("ncclx:all_gather_single", "ncclx", "all_gather_single", "all_gather"),
        ("ncclx:all_gather_v", "ncclx", "all_gather_v", "all_gather"),
        ("nccl2:all_gather_into_tensor_coalesced", "nccl2", "all_gather_into_tensor_coalesced", "all_gather"),
        ("gloo:allgather_coalesced", "gloo", "allgather_coalesced", "all_gather"),
        ("nccl:_reduce_scatter_base", "nccl", "_reduce_scatter_base", "reduce_scatter"),
        ("nccl:reduce_scatter_tensor_coalesced", "nccl", "reduce_scatter_tensor_coalesced", "reduce_scatter"),
        ("nccl:all_to_all", "nccl", "all_to_all", "all_to_all"),
        ("ncclx:all_to_all_v_single", "ncclx", "all_to_all_v_single", "all_to_all"),
        ("nccl:_broadcast_oop", "nccl", "_broadcast_oop", "broadcast"),
        ("nccl:_reduce_oop", "nccl", "_reduce_oop", "reduce"),
        ("nccl:gather_single", "nccl", "gather_single", "gather"),
        ("xccl:scatter", "xccl", "scatter", "scatter"),
        ("nccl-lazy:reduce", "nccl-lazy", "reduce", "reduce"),
        ("ncclx:split", "ncclx", "split", "control"),
        ("ncclx:new_window", "ncclx", "new_window", "control"),
        ("ncclx:batch_op_issue", "ncclx", "batch_op_issue", "control"),
        ("a:b:all_reduce", "a:b", "all_reduce", "all_reduce"),
        ("all_reduce", "", "all_reduce", "all_reduce"),
        ("nccl:all_to_some", "nccl", "all_to_some", "all_to_some"),
        ("?", "", "?", "?"),
        ("", "", "call", "call"),
        ("nccl:", "nccl", "call", "nccl:"),
    ],
)
def test_collectives(text, library, name, family):
    assert parse_op(text) == Op(text, library, name, family)


@pytest.mark.parametrize(
    ("text", "name", "source", "target"),
    [
        ("nccl:send 0->1", "send", 0, 1),
        ("nccl:send 10 -> 7", "send", 10, 7),
        ("nccl:recv 1<-0", "recv", 0, 1),  # the receiver stands first
        ("nccl2:recv 3<-?", "recv", None, 3),
        ("ncclx:send", "send", None, None),
        ("ncclx:recv", "recv", None, None),
        ("nccl:recvAnySource", "recvAnySource", None, None),
        ("nccl:send to somebody", "send", None, None),
        ("nccl:send 1->99999999999999999999", "send", None, None),
        ("nccl:send -1->2", "send", None, None),
    ],
)
def test_sends_and_receives(text, name, source, target):
    op = parse_op(text)
    assert (op.name, op.source, op.target) == (name, source, target)
    assert op.family == ("send" if name == "send" else "recv")
    assert not op.closes_batch


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("nccl:coalesced", "batch_end"),
        ("xccl:coalesced", "batch_end"),
        ("nccl:COALESCED_coalesced", "batch_end"),
        ("nccl:UNKNOWN_coalesced", "batch_end"),
        ("nccl:ALLREDUCE_coalesced", "all_reduce"),
        ("nccl:ALLGATHER_coalesced", "all_gather"),
        ("nccl:_ALLGATHER_BASE_coalesced", "all_gather"),
        ("nccl:REDUCE_SCATTER_coalesced", "reduce_scatter"),
        ("nccl:_REDUCE_SCATTER_BASE_coalesced", "reduce_scatter"),
        ("nccl:ALLTOALL_coalesced", "all_to_all"),
        ("nccl:ALLTOALL_BASE_coalesced", "all_to_all"),
    ],
)
def test_what_closes_a_batch(text, family):
    op = parse_op(text)
    assert op.closes_batch
    assert op.family == family


@pytest.mark.parametrize(
    "name",
    [
        "allreduce_coalesced",
        "allgather_coalesced",
        "all_gather_into_tensor_coalesced",
        "reduce_scatter_tensor_coalesced",
        "my_coalesced",
    ],
)
def test_calls_of_several_tensors_close_nothing(name):
    for library in ("nccl2", "gloo", "nccl"):
        assert not parse_op(f"{library}:{name}").closes_batch


def test_any_text_is_taken():
    for text in ("\x1b[31m", " : ", "::", "send ", "nccl: send 0->1", "nccl:recv ٣<-1", "x" * 100_000):
        assert parse_op(text).text == text
