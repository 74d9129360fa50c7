from typing import Any

import pytest

from hangview.dumps.decode.dump import decode
from hangview.dumps.facts import facts_of
from hangview.producers import TORCHCOMMS, Completion
from hangview.schema import Limits
from tests.dumps.job import START, calls, config, dump, entry, plain, write

GROUPS = config(default_pg=range(4), tp=[2, 3])


@pytest.fixture
def facts(tmp_path):
    def make(content):
        return facts_of(decode(write(tmp_path / "x", content).read_bytes(), Limits()))

    return make


def p2p(name: str, seq: int = 1, **changes: Any) -> dict[str, Any]:
    return entry(seq, profiling_name=name, is_p2p=True, p2p_seq_id=seq, process_group=("1", "tp"), pg_id=1, **changes)


def test_a_plain_dump(facts):
    one = facts(plain(4))
    assert (one.library, one.torchcomms, one.has_stacks, one.holes) == ("nccl", False, True, False)
    assert (one.first_record, one.completed, one.issued_only) == (0, True, False)
    assert (one.oldest_ns, one.newest_ns) == (START + 10**9, START + 4 * 10**9)
    assert one.default == (0, 1, 2, 3)
    assert one.inside.members == {0, 1, 2, 3}
    assert one.inside.own is None


def test_an_empty_dump_is_read_as_the_others_are(facts):
    one = facts(dump([], GROUPS))
    assert (one.library, one.newest_ns, one.first_record) == (None, None, None)
    assert one.producer(None) is None
    assert one.producer("gloo").completion is Completion.RETIRED


def test_members_are_what_all_groups_have_in_common(facts):
    assert facts(dump([], GROUPS)).inside.members == {2, 3}
    assert facts(dump([], {})).inside.members is None
    assert facts(dump([], config(default_pg=[0, 1], tp=[2, 3]))).inside.members == frozenset()


@pytest.mark.parametrize(
    ("names", "own"),
    [
        (["nccl:send 1->0"], 3),
        (["nccl:recv 0<-1"], 2),
        (["nccl:send 1->0", "nccl:recv 1<-0"], 3),
        (["nccl:send 1->0", "nccl:recv 0<-1"], None),  # two positions: it is nobody's word
        (["nccl:recv 1<-?"], 3),
        (["nccl:send 7->0"], None),
        (["ncclx:send"], None),
    ],
)
def test_sends_and_receives_show_the_position_in_the_group(facts, names, own):
    assert facts(dump([p2p(name, i + 1) for i, name in enumerate(names)], GROUPS)).inside.own == own


def test_gloos_unnamed_configuration_is_not_believed(facts):
    groups = {"": {"name": "", "desc": "", "ranks": "[0, 1]"}}
    one = facts(dump(calls(2), groups))
    assert one.inside.members is None
    assert one.default is None


def test_holes_in_the_record_ids(facts):
    assert facts(dump([entry(1), entry(5)], GROUPS)).holes
    assert facts(dump(calls(3)[1:], GROUPS)).first_record == 1


def test_issued_only(facts):
    assert facts(dump([entry(1, state="scheduled", retired=True)], GROUPS)).issued_only


def test_the_library_of_most_entries(facts):
    assert facts(dump([*calls(3), entry(4, profiling_name="gloo:all_reduce")], GROUPS)).library == "nccl"


def torchcomms(comm: str, seq: int, **changes: Any) -> dict[str, Any]:
    return entry(seq, profiling_name="ncclx:all_reduce", process_group=(comm, "ncclx"), collective_seq_id=seq, **changes)


def test_torchcomms_is_told_by_its_habits(facts):
    one = facts(dump([torchcomms("a", 0), torchcomms("b", 1)], {}))
    assert one.torchcomms
    assert one.producer(None) is TORCHCOMMS
    assert not facts(dump([torchcomms("a", 0)], {}, {"0": {"last_enqueued_collective": 1}})).torchcomms
    assert not facts(dump([torchcomms("a", 0), torchcomms("b", 1, is_p2p=True)], {})).torchcomms
    assert not facts(plain(2)).torchcomms
