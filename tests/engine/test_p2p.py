"""Sends and receives: one lane per ordered pair of world ranks, numbered from the first record of the lane."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import hangview
from hangview.schema import STATE, CellState, ReadOptions
from tests.engine.support import OPEN, PAIR, STARTED, WORLD, Pg, lost, rank, steps

if TYPE_CHECKING:
    from hangview.engine.p2p import P2PLane, Traffic
    from hangview.schema import Source
    from tests.engine.support import Dump


FIXTURES = Path(__file__).parents[2] / "fixtures"


def traffic(*dumps: Dump | Source) -> Traffic:
    return steps(*dumps).traffic


def lane(source: int, target: int, *dumps: Dump | Source) -> P2PLane:
    return next(found for (_, s, t), found in traffic(*dumps).lanes.items() if (s, t) == (source, target))


def test_one_lane_for_each_direction():
    found = traffic(rank(0).send(1, 1).recv(1, 2), rank(1).recv(0, 1).send(0, 2))
    assert sorted(found.lanes) == [(0, 0, 1), (0, 1, 0)]


def test_a_job_without_sends_has_no_lanes():
    assert traffic(rank(0).call("all_reduce", 1)).lanes == {}


def test_names_give_group_ranks_and_lanes_world_ranks():
    """The group's own order counts: its rank 0 is world rank 3."""
    odd = Pg("5", "pp", (3, 1))
    dump = rank(3).send(1, 1, group=odd)
    assert dump.entries[0]["op"] == "nccl:send 0->1"
    assert list(traffic(dump, rank(1).recv(3, 1, group=odd)).lanes) == [(0, 3, 1)]


def test_both_ends_are_counted():
    found = lane(0, 1, rank(0).send(1, 1).send(1, 2).send(1, 3, OPEN).send(1, 4, OPEN), rank(1).recv(0, 1).recv(0, 2, STARTED))
    assert (found.send.count, found.send.done, [r.number for r in found.send.open]) == (4, 2, [3, 4])
    assert (found.recv.count, found.recv.done, [r.number for r in found.recv.open]) == (2, 1, [2])
    assert (found.end(0), found.end(1)) == (found.send, found.recv)


def test_a_lane_is_numbered_by_itself():
    """p2p_seq_id counts all neighbours of a rank: it is no number of a lane."""
    middle = rank(1).recv(0, 1).send(2, 2).recv(0, 3).send(2, 4, OPEN)
    found = steps(middle, rank(0).send(1, 1).send(1, 2), rank(2).recv(1, 1))
    (request,) = found.traffic.lanes[0, 1, 2].send.open
    assert (request.number, request.p2p_seq, request.peer, request.rank) == (2, 4, 2, 1)


def test_equal_ranks_in_two_groups_are_two_lanes():
    pipe = Pg("1", "pp", (0, 1))
    found = traffic(rank(0).send(1, 1, group=PAIR).send(1, 1, group=pipe), rank(1).knows(PAIR, pipe))
    assert sorted(found.lanes) == [(0, 0, 1), (1, 0, 1)]


def test_a_lane_that_only_one_end_recorded_has_an_empty_other_end():
    found = lane(0, 1, rank(0).send(1, 1, OPEN, group=PAIR), rank(1).knows(PAIR))
    assert (found.recv.rank, found.recv.count, found.recv.open) == (1, 0, ())


def test_members_of_a_batch_are_requests_like_any_other():
    found = traffic(rank(1).batch(1, to=(2,), of=(0,)).batch(2, to=(2,), of=(0,), how=OPEN))
    assert (found.lanes[0, 1, 2].send.done, len(found.lanes[0, 1, 2].send.open)) == (1, 1)
    assert (found.lanes[0, 0, 1].recv.done, len(found.lanes[0, 0, 1].recv.open)) == (1, 1)


def test_records_from_the_first_one_on_can_be_counted():
    assert lane(0, 1, rank(0).send(1, 1), rank(1).recv(0, 1)).counted


def test_what_lost_its_first_records_cannot():
    whole = rank(0).send(1, 1)
    assert not lane(0, 1, whole, rank(1).wrapped().recv(0, 1)).counted
    assert not lane(0, 1, whole, rank(1).only_active().recv(0, 1, OPEN)).counted
    assert not lane(0, 1, whole, rank(1).recv(0, 1).cut()).counted
    assert not lane(0, 1, whole, lost(1)).counted


def test_receives_from_any_source_belong_to_no_lane_and_leave_it_unjudged():
    found = lane(0, 1, rank(0).send(1, 1, OPEN), rank(1).recv(None, 1, OPEN))
    assert not found.judged
    assert "any source" in found.note
    assert found.recv.count == 0


def test_only_lanes_to_that_rank_are_unjudged():
    found = traffic(rank(0).send(1, 1, OPEN), rank(1).recv(None, 1, OPEN).send(2, 2, OPEN))
    assert {key[1:]: one.judged for key, one in found.lanes.items()} == {(0, 1): False, (1, 2): True}


def test_sends_whose_peers_are_not_in_their_name_stay_out():
    """torchcomms."""
    assert traffic(rank(0, "ncclx").call("send", 1, OPEN)).lanes == {}


def test_a_peer_that_the_group_does_not_have_makes_no_lane():
    """A name that says "0->9" in a group of four."""
    assert traffic(rank(0).call("send 0->9", 0, OPEN, is_p2p=True, p2p_seq=1)).lanes == {}


def test_the_order_of_records_counts_and_not_that_of_times():
    dump = rank(0).send(1, 1, at=50).send(1, 2, OPEN, at=10).knows(WORLD)
    assert [r.number for r in lane(0, 1, dump, rank(1).knows(WORLD)).send.open] == [2]


def test_members_of_a_pair_are_laid_beside_each_other_by_their_common_count():
    """Rank 1's records begin a send later; its open receive is the one after the newest that rank 0 sent."""
    sends = rank(0).wrapped().send(1, 4, group=PAIR).send(1, 5, group=PAIR).send(1, 6, group=PAIR)
    receives = rank(1).wrapped().recv(0, 5, group=PAIR).recv(0, 6, group=PAIR).recv(0, 7, OPEN, group=PAIR)
    found = lane(0, 1, sends, receives)
    assert (found.send.before, found.send.newest) == (0, 3)
    assert (found.recv.before, found.recv.newest) == (1, 4)
    assert [request.number for request in found.recv.open] == [4]


def test_with_more_members_the_newest_that_are_over_meet():
    sends = rank(0).wrapped().send(1, 40).send(2, 41).send(1, 42).send(1, 43, OPEN)
    receives = rank(1).wrapped().recv(0, 7).recv(0, 8).recv(0, 9).recv(0, 10)
    found = lane(0, 1, sends, receives, rank(2).recv(0, 1))
    assert (found.send.before, found.recv.before) == (2, 0)
    assert [request.number for request in found.send.open] == [5]


def test_a_file_that_ends_early_tells_nothing_about_its_newest():
    sends = rank(0).wrapped().send(1, 40).send(2, 41).send(1, 42)
    found = lane(0, 1, sends, rank(1).recv(0, 7).cut(), rank(2).recv(0, 1))
    assert (found.send.before, found.recv.before) == (0, 0)


def test_what_goes_back_to_the_start_needs_no_laying_beside():
    found = lane(0, 1, rank(0).send(1, 1).send(1, 2), rank(1).recv(0, 1))
    assert (found.send.before, found.recv.before) == (0, 0)


def test_cells_of_a_wrapped_lane_stand_where_their_pair_stands():
    """By hand from the records: rank 3's sends have p2p_seq 1285, 1286, 1289, 1290 and 1293, all over; rank 11's receives 1286,
    1289, 1290 and 1293, and the open 1294."""
    incident = hangview.load(str(FIXTURES / "nccl-stuck-wrapped"), options=ReadOptions(cache=False))
    group = next(each.id for each in incident.groups if set(each.ranks) == {3, 11})
    cells = [
        [CellState(row[column] & STATE).name for row in incident.view.grid(group, "p2p 3->11").rows] for column in range(6)
    ]
    assert cells == [["COMPLETED", "OVERWRITTEN"], *[["COMPLETED", "COMPLETED"]] * 4, ["NOT_REQUESTED", "REQUESTED"]]
    finding = next(each for each in incident.findings if each.lane == "p2p 3->11")
    told = [line.text for line in finding.evidence]
    assert "its newest p2p_seq is 1293" in told[0]
    assert "p2p_seq 1294, requested and not over" in told[1]
