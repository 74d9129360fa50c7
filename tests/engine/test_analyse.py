"""Records in, incident out: the verdict, what is silent, coverage, lanes, waits."""

from __future__ import annotations

from pathlib import Path

import pytest

import hangview
from hangview.schema import ReadOptions, SourceStatus
from hangview.terms import COLLECTIVE, Kind, Role, Side, Verdict, Wait
from hangview.tui.text.groups import mark_of
from tests.engine.support import DONE, OPEN, PAIR, STARTED, WORLD, Dump, Pg, alike, look, lost, of_kind, rank, told

FIXTURES = Path(__file__).parents[2] / "fixtures"

TP = Pg("7", "tp", (0, 1, 2, 3))
PIPE = Pg("9", "pp", (0, 1, 2, 3))


# -- legal traffic is silent ---------------------------------------------------------------------------------------------


def uneven_exchange() -> list[Dump]:
    """Rank r sends r + 1 elements to each, and receives 1 + 2 + 3 + 4."""
    return [rank(r).calls("all_to_all", 1, 5, size=(r + 1,) * 4, out=(1, 2, 3, 4)) for r in range(4)]


def uneven_gather() -> list[Dump]:
    """all_gather of uneven parts as nccl records it: one broadcast a member, all of them scheduled for ever, and an end."""
    parts = [("_broadcast_oop", n) for n in (3, 5, 7, 9)]
    return [rank(r).coalesced("ALLGATHER_coalesced", parts, 1).calls("all_reduce", 2, 4) for r in range(4)]


def uneven_scatter() -> list[Dump]:
    parts = [("_reduce_oop", n) for n in (3, 5, 7, 9)]
    return [rank(r).coalesced("REDUCE_SCATTER_coalesced", parts, 1) for r in range(4)]


def coalesced_manager() -> list[Dump]:
    parts = [("all_reduce", 3), ("all_reduce", 5)]
    return [rank(r).coalesced("ALLREDUCE_coalesced", parts, 1).coalesced("ALLREDUCE_coalesced", parts, 2) for r in range(4)]


def hook_coalesced() -> list[Dump]:
    return [rank(r, "nccl2").calls("allreduce_coalesced", 1, 3, size=(3, 5)) for r in range(4)]


def equal_gaps() -> list[Dump]:
    """gloo's monitored_barrier is not recorded and takes two numbers, on all ranks alike."""
    return [rank(r, "gloo").calls("all_reduce", 1, 5).calls("all_reduce", 8, 12) for r in range(4)]


def outputs_on_the_root_only() -> list[Dump]:
    dumps = [rank(r).call("gather", 1, out=4096 if r == 2 else None) for r in range(4)]
    return [d.call("scatter", 2, size=4096 if d.number == 1 else None, out=1024) for d in dumps]


def root_ahead() -> list[Dump]:
    """The root of a broadcast does not wait for the others."""
    dumps = [rank(r).calls("broadcast", 1, 20) for r in range(4)]
    return [dumps[0].calls("broadcast", 21, 24), *dumps[1:]]


def reshaped_outputs() -> list[Dump]:
    outs: list[list[tuple[int, ...]]] = [[(4, 8)], [(32,)], [(8, 4)], [(2, 2, 8)]]
    return [rank(r).call("_all_gather_base", 1, size=8, out=outs[r]) for r in range(4)]


def bytes_by_other_names() -> list[Dump]:
    kinds = ("Byte", "Bool", "Float8_e4m3fn", "Byte")
    return [rank(r).call("all_gather", 1, size=8, out=32, dtype=kinds[r]) for r in range(4)]


def seconds_apart() -> list[Dump]:
    """A running job, each dump written a few calls after the other."""
    return [rank(r).calls("all_reduce", 1, n - 1).call("all_reduce", n, OPEN) for r, n in enumerate((60, 52, 57, 55))]


def wrapped_at_different_places() -> list[Dump]:
    return [rank(r).wrapped(100 * (r + 1)).calls("all_reduce", 30 + r, 60) for r in range(4)]


def clocks_apart() -> list[Dump]:
    return [rank(r).clock(r * 3600.0).calls("all_reduce", 1, 20) for r in range(4)]


def slow_but_within_its_time() -> list[Dump]:
    return [rank(r).calls("all_reduce", 1, 5, took=400.0) for r in range(4)]


def watchdog_is_late() -> list[Dump]:
    """Completed and not yet retired."""
    return [rank(r).calls("all_reduce", 1, 9).call("all_reduce", 10, written=(2, False)) for r in range(4)]


def pipeline() -> list[Dump]:
    """Three micro-batches down a chain of stages, each with numbers of its own."""
    dumps = [rank(r) for r in range(4)]
    for dump in dumps:
        number = 0
        for _ in range(3):
            if dump.number > 0:
                number += 1
                dump.recv(dump.number - 1, number, group=PIPE)
            if dump.number < 3:
                number += 1
                dump.send(dump.number + 1, number, group=PIPE)
        dump.call("all_reduce", 1, group=PIPE, p2p_seq=number)
    return dumps


def batches_both_ways() -> list[Dump]:
    dumps = []
    for r in range(4):
        near = [n for n in (r - 1, r + 1) if 0 <= n < 4]
        dump = rank(r).call("all_reduce", 1, group=PIPE)
        for number in range(1, 4):
            dump.batch(number, to=near, of=near, group=PIPE, seq=1)
        dumps.append(dump.call("all_reduce", 2, group=PIPE, p2p_seq=3))
    return dumps


def groups_of_one_name() -> list[Dump]:
    """ "7" is {0, 1} on the one side and {2, 3} on the other, at different calls."""
    low, high = Pg("7", "tp", (0, 1)), Pg("7", "tp", (2, 3))
    return [
        *(rank(r).calls("all_reduce", 1, 9, group=low, size=8) for r in (0, 1)),
        *(rank(r).calls("broadcast", 1, 30, group=high, size=4) for r in (2, 3)),
    ]


def groups_in_other_orders() -> list[Dump]:
    """Calls of two groups that complete in whatever order the threads came."""
    dumps = []
    for r in range(4):
        dump = rank(r)
        first, second = (WORLD, TP) if r % 2 else (TP, WORLD)
        dumps.append(dump.calls("all_reduce", 1, 5, group=first).calls("all_reduce", 1, 5, group=second))
    return dumps


def issued_only() -> list[Dump]:
    """A hook on a backend without completion: every record says no more than that it was issued."""
    return [rank(r, "fake").calls("all_reduce", 1, 9, written=(0, True)) for r in range(4)]


def two_threads() -> list[Dump]:
    return [
        rank(r, "nccl2").call("all_reduce", 2 - r % 2).call("all_reduce", 1 + r % 2).call("all_reduce", 3) for r in range(4)
    ]


def empty_last_group() -> list[Dump]:
    """A group that nobody has used."""
    return [rank(r).calls("all_reduce", 1, 5).knows(TP) for r in range(4)]


def only_active_with_nothing_open() -> list[Dump]:
    return [rank(r).only_active().knows(WORLD).counts(42, 42) for r in range(4)]


LEGAL = [
    uneven_exchange, uneven_gather, uneven_scatter, coalesced_manager, hook_coalesced, equal_gaps, outputs_on_the_root_only,
    root_ahead, reshaped_outputs, bytes_by_other_names, wrapped_at_different_places, clocks_apart,
    slow_but_within_its_time, watchdog_is_late, pipeline, batches_both_ways, groups_of_one_name, groups_in_other_orders,
    issued_only, two_threads, empty_last_group,
]  # fmt: skip


@pytest.mark.parametrize("job", LEGAL, ids=lambda job: job.__name__)
def test_legal_traffic_is_silent(job):
    incident = look(*job())
    assert incident.verdict is Verdict.NO_HANG
    assert [f.summary for f in incident.findings if f.role is not Role.NOTE] == []
    assert [f.kind for f in incident.findings if f.kind is not Kind.NOT_OBSERVED] == []


def test_a_running_job_is_told_from_a_hang_by_nothing_but_time():
    """Somebody is in a call that is not over: that is neither no hang nor a lead."""
    incident = look(*seconds_apart())
    assert (incident.verdict, incident.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, ())
    assert all(finding.role is Role.NOTE for finding in incident.findings)


def test_gloos_root_ahead_is_silent():
    """It is over on the root before the others come, well or badly: nothing says that anybody waits."""
    dumps = [rank(r, "gloo").calls("broadcast", 1, 20) for r in range(4)]
    dumps[0].calls("broadcast", 21, 22)
    incident = look(*dumps)
    assert incident.leads == ()


# -- verdict -------------------------------------------------------------------------------------------------------------


def test_no_dump_is_not_enough_evidence():
    assert look(lost(0), lost(1)).verdict is Verdict.NOT_ENOUGH_EVIDENCE


def test_dumps_without_any_call_are_not_enough_evidence():
    assert look(*(rank(r).knows(WORLD) for r in range(4))).verdict is Verdict.NOT_ENOUGH_EVIDENCE


def test_sends_alone_are_evidence():
    assert look(rank(0).send(1, 1, group=PAIR), rank(1).recv(0, 1, group=PAIR)).verdict is Verdict.NO_HANG


def test_a_call_that_nobody_can_be_named_for_is_a_divergence():
    assert look(*alike((0, 1, 2), "all_reduce", 42), lost(3)).verdict is Verdict.DIVERGENCE


def test_counters_alone_can_show_a_hang():
    """Only-active dumps that hold no entry any more; three are in 42, one is not."""
    dumps = [rank(r).only_active().knows(WORLD).counts(42, 41) for r in range(3)]
    incident = look(*dumps, rank(3).only_active().knows(WORLD).counts(41, 41))
    assert incident.leads == (3,)


def test_counters_that_are_even_show_no_hang():
    assert look(*only_active_with_nothing_open()).leads == ()


# -- coverage ------------------------------------------------------------------------------------------------------------


def test_expected_are_members_and_files_and_missing_have_a_reason():
    incident = look(*alike((0, 1), "all_reduce", 2), lost(3), lost(9, SourceStatus.UNREADABLE, "permission denied"))
    assert incident.coverage.expected == (0, 1, 2, 3, 9)
    assert incident.coverage.read == (0, 1)
    assert set(incident.coverage.missing) == {2, 3, 9}
    assert incident.coverage.missing[9] == "trace_rank_9: permission denied"
    assert all(incident.coverage.missing.values())


def test_files_of_another_attempt_expect_nobody():
    incident = look(*alike((0, 1), "all_reduce", 2, group=PAIR), lost(7, SourceStatus.OTHER_ATTEMPT))
    assert incident.coverage.expected == (0, 1)


# -- lanes ---------------------------------------------------------------------------------------------------------------


def test_lanes_with_leads_come_first_then_those_that_wait_then_the_rest():
    """Ranks 0-2 wait in tp for 3, which waits in a pair for 4; a group that completed all its calls is the largest."""
    pair, whole = Pg("5", "pair", (3, 4)), Pg("0", "default_pg", (0, 1, 2, 3, 4))
    dumps = [rank(r).call("all_reduce", 1, group=whole) for r in range(5)]
    for dump in dumps[:3]:
        dump.call("all_reduce", 1, OPEN, group=TP)
    dumps[3].knows(TP).call("all_reduce", 1, OPEN, group=pair)
    incident = look(*dumps[:4], dumps[4].knows(pair))
    assert [(incident.groups[lane.group].name, lane.role, lane.divergence) for lane in incident.lanes] == [
        ("5", Role.LEAD, 1),
        ("7", Role.WAITING, 1),
        ("0", None, None),
    ]


def test_a_lane_has_its_span_and_its_first_divergence():
    dumps = [rank(r).wrapped().calls("all_reduce", 30, 41).call("all_reduce", 42, OPEN) for r in range(3)]
    (lane,) = look(*dumps, rank(3).wrapped().calls("all_reduce", 25, 41)).lanes
    assert (lane.lane, lane.first, lane.front, lane.divergence, lane.role) == ("collective", 25, 42, 42, Role.LEAD)
    assert lane.judged


def test_a_lane_of_which_only_logs_tell_holds_the_call_that_is_waited_in():
    """Its logs: a time-out in 3301, 3304 enqueued. The screen's cursor has to find 3301."""
    incident = hangview.load(str(FIXTURES / "logs" / "tee-2.9"), options=ReadOptions(cache=False))
    (lane,) = incident.lanes
    assert (lane.first, lane.front, lane.divergence) == (3301, 3304, 3301)


def test_every_direction_of_sends_is_a_lane():
    incident = look(
        rank(0).send(1, 1, group=PAIR).recv(1, 2, group=PAIR), rank(1).recv(0, 1, group=PAIR).send(0, 2, group=PAIR)
    )
    assert {lane.lane for lane in incident.lanes} == {"p2p 0->1", "p2p 1->0"}


def test_what_is_not_judged_says_why():
    incident = look(rank(0).send(1, 1, group=PAIR), rank(1).recv(None, 1, group=PAIR))
    (lane,) = (lane for lane in incident.lanes if lane.lane == "p2p 0->1")
    assert (lane.judged, "any source" in lane.note) == (False, True)


def test_a_group_that_only_counters_tell_of_has_a_lane():
    (lane,) = look(*only_active_with_nothing_open()).lanes
    assert (lane.first, lane.front) == (42, 42)


# -- waits and facts -----------------------------------------------------------------------------------------------------


def test_waits_tell_sides():
    incident = look(*alike((0, 1), "all_reduce", 42), rank(2).calls("all_reduce", 1, 41), lost(3))
    assert Wait(0, 2, 0, "collective", 42, Side.HOST, observed=True) in incident.waits
    assert Wait(0, 3, 0, "collective", 42, Side.UNKNOWN, observed=False) in incident.waits


def test_facts_of_the_dumps():
    incident = look(*alike((0, 1), "all_reduce", 2, group=PAIR))
    assert [(f.name, f.value, f.ranks) for f in incident.facts] == [("backend", "nccl", (0, 1)), ("schema", "2.10", (0, 1))]


def test_entries_have_what_the_panes_ask_for():
    incident = look(rank(0).calls("all_reduce", 1, 3).send(1, 1), rank(1).knows(WORLD))
    assert {"group", "lane", "family", "reading"} <= set(incident.entries.columns)
    assert len(incident.entries) == 4


def test_clocks_are_measured():
    incident = look(*(rank(r).clock(5.0 if r == 3 else 0.0).calls("all_reduce", 1, 9) for r in range(4)))
    assert incident.clocks[0].ranks == (3,)


@pytest.mark.parametrize("how", [OPEN, STARTED, DONE])
def test_a_job_of_one_rank_waits_for_nobody(how):
    alone = Pg("0", "default_pg", (0,))
    incident = look(rank(0).call("all_reduce", 1, how, group=alone))
    assert incident.leads == ()
    assert of_kind(incident, Kind.NOT_REQUESTED) == []


def test_a_lane_of_which_one_end_left_no_dump_is_not_called_agreed():
    """The receive is over, and still nothing was seen of the sender: as for collectives of a group with such a member."""
    made = look(rank(0).calls("all_reduce", 1, 3).recv(1, 1).send(2, 2), lost(1), rank(2).calls("all_reduce", 1, 3).recv(0, 1))
    judged = {lane.lane: (lane.judged, lane.note) for lane in made.lanes if lane.lane != COLLECTIVE}
    assert judged == {"p2p 1->0": (False, "no usable record of rank 1"), "p2p 0->2": (True, "")}
    marks = {lane.lane: mark_of(made, lane)[0] for lane in made.lanes}
    assert (marks["p2p 1->0"], marks["p2p 0->2"]) == ("?", ".")


def test_nor_is_one_whose_end_stands_in_a_file_that_was_cut():
    made = look(rank(0).recv(1, 1), rank(1).cut())
    assert [lane.judged for lane in made.lanes if lane.lane != COLLECTIVE] == [False]


def test_one_dump_of_several_agrees_with_nothing():
    """The rank that the others wait for has nothing open, and is alone: that shows neither a hang nor that there is none."""
    incident = look(rank(3).calls("all_reduce", 1, 41))
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert incident.findings == ()


def test_ranks_of_different_groups_agree_with_nothing_either():
    left, right = Pg("1", "left", (0, 1)), Pg("2", "right", (2, 3))
    incident = look(rank(0).calls("all_reduce", 1, 4, group=left), rank(3).calls("all_reduce", 1, 4, group=right))
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE


def test_a_job_of_one_rank_is_whole():
    assert look(rank(0).calls("all_reduce", 1, 4, group=Pg("0", "default_pg", (0,)))).verdict is Verdict.NO_HANG


# -- what is not there to be read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "last",
    [
        (rank(3).calls("all_reduce", 1, 4).cut(),),  # what it requested last may be cut off, and it may wait in that
        (),  # it left no dump
        (rank(3).cut(),),
    ],
)
def test_where_a_rank_s_newest_calls_are_lost_no_hang_is_not_said(last):
    incident = look(*(rank(r).calls("all_reduce", 1, 4) for r in range(3)), *last)
    assert (incident.verdict, incident.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, ())


def test_a_cut_dump_whose_counters_say_that_all_is_over_lacks_nothing():
    dumps = [rank(r).calls("all_reduce", 1, 4) for r in range(3)]
    assert look(*dumps, rank(3).calls("all_reduce", 1, 2).counts(4, 4).cut()).verdict is Verdict.NO_HANG


def test_of_cut_dumps_the_counters_tell_who_waits():
    """They stand before the entries: ranks 0-2 requested 42 and had completed 41, rank 3's dump is whole and ends at 41."""
    cut = [rank(r).calls("all_reduce", 1, 20).counts(42, 41).cut() for r in range(3)]
    incident = look(*cut, rank(3).calls("all_reduce", 1, 41).counts(41, 41))
    assert told(incident) == [("lead", "not_requested", (3,), "0", 42)]
    assert [line.text for line in incident.findings[0].evidence[1:3]] == [
        f"rank {r}: its counters show 42 requested and not completed" for r in range(2)
    ]


def test_of_cut_dumps_a_record_tells_more_than_the_counters():
    """42 was over when its record was written, a moment after the counters."""
    cut = [rank(r).calls("all_reduce", 1, 42).counts(42, 41).cut() for r in range(3)]
    assert look(*cut, rank(3).calls("all_reduce", 1, 41).counts(41, 41)).leads == ()
