"""Evidence lines: what was seen, in which file, at which record, and how many lines there may be."""

from __future__ import annotations

import pytest

from hangview.engine.evidence import Telling, user_frame
from hangview.schema import StackFrame
from tests.engine.support import ISSUED, OPEN, STARTED, WORLD, Pg, alike, look, rank, stack, steps

COLLECTIVE = "collective"


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (stack("step@train.py:12"), "step (train.py:12)"),
        (stack("step@train.py:12")[:1], "an unrecorded place"),  # torch's own frames only
        ((), "an unrecorded place"),
        ((StackFrame("run", "<frozen runpy>", 88), StackFrame("main", "/job/main.py", 3)), "main (main.py:3)"),
        ((StackFrame("f", "/job/a.py", 0), StackFrame("g", "/job/b.py", 4)), "g (b.py:4)"),  # no line: not a place
        ((StackFrame("a\x1b[31m", "/job/evil\n.py", 4),), "a\\x1b[31m (evil\\n.py:4)"),
    ],
)
def test_the_innermost_frame_of_the_user(frames, said):
    assert user_frame(frames) == said


def telling(*dumps) -> Telling:
    found = steps(*dumps)
    return Telling(found.records, found.grouping.groups, found.windows, found.traffic, {})


def test_ranks_in_words():
    tell = telling(rank(0).knows(WORLD))
    assert [tell.ranks(r) for r in ((), (3,), (3, 1, 2), (0, 2))] == ["no rank", "rank 3", "ranks 1-3", "ranks 0,2"]
    assert tell.ranks(range(0, 1000, 2)).endswith("(500 ranks)")


def test_eight_ranks_have_a_line_each_and_the_rest_one_together():
    world = Pg("0", "default_pg", tuple(range(40)))
    dumps = [rank(r).calls("all_reduce", 1, 3, group=world) for r in range(20)]
    dumps += alike(range(20, 40), "all_reduce", 4, group=world)
    (finding,) = look(*dumps).findings
    texts = [line.text for line in finding.evidence]
    assert len([t for t in texts if t.startswith("rank ")]) == 16
    assert "and 12 more of the same kind: ranks 8-19" in texts
    assert "and 12 more of the same kind: ranks 28-39" in texts


def test_who_is_said_to_be_of_the_same_kind_is():
    """Ten started it, four only requested it, and of one the counters alone tell."""
    world = Pg("0", "default_pg", tuple(range(16)))
    dumps = [rank(r).calls("all_reduce", 1, 3, group=world).call("all_reduce", 4, STARTED, group=world) for r in range(10)]
    dumps += alike(range(10, 14), "all_reduce", 4, group=world)
    dumps.append(rank(14).knows(world).counts(4, 3, group=world).cut())
    (finding, *_) = look(*dumps, rank(15).calls("all_reduce", 1, 3, group=world)).findings
    texts = [line.text for line in finding.evidence]
    assert "and 6 more of the same kind: ranks 4-9" in texts
    assert [t.partition(":")[0] for t in texts if " 4 requested, not completed" in t] == [f"rank {r}" for r in range(10, 14)]
    assert any(t.startswith("rank 14: its counters show 4 requested") for t in texts)


def test_a_record_is_named_by_its_file_and_number():
    found = steps(*alike((0, 1, 2), "all_reduce", 42), rank(3).wrapped(900).calls("all_reduce", 40, 41))
    tell = Telling(found.records, found.grouping.groups, found.windows, found.traffic, {})
    (line,) = tell.absent((0, COLLECTIVE, 42), (3,))
    assert (line.text, line.source, line.record_id) == (
        "rank 3: dump is whole, newest entry is 41 (trace_rank_3, record 901)",
        3,
        901,
    )
    (asked,) = tell.requests(found.stalls, (0, COLLECTIVE, 42), (1,))
    assert asked.text == "rank 1: all_reduce 42 requested, not completed (trace_rank_1, record 41)"


def test_a_request_that_only_counters_tell_of_names_no_record():
    found = steps(*alike((0, 1), "all_reduce", 42), rank(2).only_active().knows(WORLD).counts(42, 41), rank(3).knows(WORLD))
    tell = Telling(found.records, found.grouping.groups, found.windows, found.traffic, {})
    (line,) = tell.requests(found.stalls, (0, COLLECTIVE, 42), (2,))
    assert (line.text, line.record_id) == ("rank 2: its counters show 42 requested and not completed", None)


def test_a_request_over_in_a_way_that_is_not_recorded_says_so():
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 42) for r in range(3)]
    (finding,) = look(*dumps, rank(3, "gloo").calls("all_reduce", 1, 41)).findings
    assert "rank 0: all_reduce 42 requested, ended (well or badly is not recorded) (trace_rank_0, record 41)" in [
        line.text for line in finding.evidence
    ]


def test_who_requested_what_another_did_not_is_not_said_to_wait_where_its_recorder_has_the_call_as_over():
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 42) for r in range(3)]
    (finding,) = look(*dumps, rank(3, "gloo").calls("all_reduce", 1, 41)).findings
    over = "it is over there, well or badly is not recorded"
    assert finding.ranks == (3,)
    assert finding.summary.endswith(f"; ranks 0-2 requested it, and {over}")
    assert finding.steps[0] == f"ranks 0-2 requested all_reduce 42 of default_pg; {over}."


def test_where_it_is_over_on_some_of_them_each_is_told():
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in (0, 1)]
    (finding,) = look(*dumps, *(rank(r, "gloo").calls("all_reduce", 1, n) for r, n in ((2, 42), (3, 41)))).findings
    assert finding.summary.endswith("; ranks 0-2 wait for it")
    assert finding.steps[0].endswith("it is not over on ranks 0-1; on rank 2 it is over, well or badly is not recorded.")


def test_a_recorder_that_marks_requests_as_over_at_once_tells_nothing_of_their_end():
    """xccl's records are retired as they are issued (producers.py)."""
    dumps = [rank(r, "xccl").calls("all_reduce", 1, 42, ISSUED) for r in range(3)]
    (finding, *_) = look(*dumps, rank(3, "xccl").calls("all_reduce", 1, 41, ISSUED)).findings
    assert "rank 0: all_reduce 42 requested (whether it is over is not recorded) (trace_rank_0, record 41)" in [
        line.text for line in finding.evidence
    ]
    assert "ended" not in finding.summary


def test_messages_are_counted_on_the_side_that_is_missed():
    incident = look(rank(0).send(1, 1).send(1, 2), rank(1).recv(0, 1).recv(0, 2).recv(0, 3, OPEN))
    assert (
        incident.findings[0].evidence[0].text == "rank 0: 2 sends on p2p 0->1 in its records, none of them open (trace_rank_0)"
    )
