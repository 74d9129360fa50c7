"""Who waits for whom across groups and lanes, where the arrows end, and where they go in a circle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.engine.waits import Arrow, Edge, End, Graph, closure
from hangview.terms import COLLECTIVE
from tests.engine.support import OPEN, PAIR, WORLD, Pg, alike, look, lost, rank, steps

if TYPE_CHECKING:
    from hangview.schema import Source
    from tests.engine.support import Dump

LEFT, RIGHT = Pg("1", "left", (0, 1)), Pg("2", "right", (1, 2))


def graph(*dumps: Dump | Source) -> Graph:
    return steps(*dumps).graph


def arrows(found: Graph) -> set[tuple[int, int, str]]:
    return {(edge.rank, edge.on, edge.arrow.value) for out in found.edges.values() for edge in out}


def ends(found: Graph) -> dict[int, set[End]]:
    return {r: set(places.values()) for r, places in found.ends.items()}


# -- host side -----------------------------------------------------------------------------------------------------------


def test_a_waiting_rank_points_at_each_member_that_did_not_request():
    found = graph(*alike((0, 1), "all_reduce", 42), *(rank(r).calls("all_reduce", 1, 41) for r in (2, 3)))
    assert arrows(found) == {(0, 2, "host"), (0, 3, "host"), (1, 2, "host"), (1, 3, "host")}
    assert found.sinks == (2, 3)


def test_a_member_that_nothing_tells_of_is_pointed_at_in_another_way():
    found = graph(*alike((0, 1, 2), "all_reduce", 42), lost(3))
    assert arrows(found) == {(0, 3, "unknown"), (1, 3, "unknown"), (2, 3, "unknown")}
    assert found.sinks == ()
    assert list(found.blind) == [3]


def test_arrows_go_on_in_another_group():
    """Rank 0 waits for 1 in one group, 1 waits for 2 in another: 2 is where it ends."""
    found = graph(
        rank(0).call("all_reduce", 1, OPEN, group=LEFT),
        rank(1).knows(LEFT).call("all_reduce", 1, OPEN, group=RIGHT),
        rank(2).knows(RIGHT),
    )
    assert arrows(found) == {(0, 1, "host"), (1, 2, "host")}
    assert found.sinks == (2,)
    assert closure((0,), found.targets()) == {1, 2}
    assert closure((2,), found.targets()) == frozenset()


def test_a_rank_behind_that_waits_itself_is_no_end():
    """Rank 3 did not come because it is in a call of its own that waits for rank 4."""
    big, side = Pg("0", "default_pg", (0, 1, 2, 3, 4)), Pg("5", "side", (3, 4))
    found = graph(
        *(rank(r).call("all_reduce", 1, OPEN, group=big) for r in range(3)),
        rank(3).knows(big).call("broadcast", 1, OPEN, group=side),
        rank(4).knows(big, side),
    )
    assert found.sinks == (4,)


# -- device side ---------------------------------------------------------------------------------------------------------


def test_where_all_requested_the_same_and_nobody_is_held_it_ends_on_the_device():
    found = graph(*alike(range(4), "all_reduce", 42))
    assert arrows(found) == set()
    assert ends(found) == {r: {End.DEVICE} for r in range(4)}
    assert found.sinks == ()


def test_a_member_held_by_an_earlier_call_of_its_own_holds_the_others():
    """All requested the call of LEFT; rank 1 did so behind one of RIGHT that rank 2 never made."""
    found = graph(
        rank(0).call("all_reduce", 1, OPEN, group=LEFT),
        rank(1).call("all_reduce", 1, OPEN, group=RIGHT).call("all_reduce", 1, OPEN, group=LEFT),
        rank(2).knows(RIGHT),
    )
    assert arrows(found) == {(0, 1, "device"), (1, 2, "host")}
    assert found.sinks == (2,)


def test_a_later_request_of_a_member_holds_nobody():
    found = graph(
        rank(0).call("all_reduce", 1, OPEN, group=LEFT),
        rank(1).call("all_reduce", 1, OPEN, group=LEFT).call("all_reduce", 1, OPEN, group=RIGHT),
        rank(2).knows(RIGHT),
    )
    assert (0, 1, "device") not in arrows(found)


def test_a_member_that_has_finished_the_call_holds_nobody_in_it():
    """Rank 1 has sent its broadcast and waits elsewhere: rank 0, still in the broadcast, does not wait for it."""
    found = graph(
        rank(0).call("broadcast", 1, OPEN, group=LEFT),
        rank(1).call("broadcast", 1, group=LEFT).call("all_reduce", 1, OPEN, group=RIGHT),
        rank(2).knows(RIGHT),
    )
    assert arrows(found) == {(1, 2, "host")}


def test_requests_that_differ_end_there_for_everyone_in_the_call():
    dumps = alike((0, 1, 2), "all_reduce", 42)
    found = graph(*dumps, rank(3).calls("all_reduce", 1, 41).call("all_gather", 42, OPEN, out=4096))
    assert ends(found) == {r: {End.MISMATCH} for r in range(4)}
    assert arrows(found) == set()


def test_a_call_that_others_completed_is_the_ranks_own():
    found = graph(*(rank(r).calls("all_reduce", 1, 42) for r in (0, 1, 2)), *alike((3,), "all_reduce", 42))
    assert ends(found) == {3: {End.LAG}}
    assert list(found.lagging) == [3]
    assert arrows(found) == set()


def test_what_a_rank_has_behind_its_own_delay_points_at_nobody():
    """Ranks 0-2 completed 42; rank 3 has not, nor the receive that it issued behind it."""
    dumps = [rank(r).calls("all_reduce", 1, 42) for r in (0, 1)]
    found = graph(
        *dumps,
        rank(2).calls("all_reduce", 1, 42).send(3, 1),
        rank(3).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN).recv(2, 1, OPEN),
    )
    assert arrows(found) == set()
    assert found.sinks == ()


def test_who_waits_behind_a_ranks_own_delay_waits_for_that_rank():
    """All requested 43; rank 3 has not finished 42, which the others did: 43 is held up there, and by nothing between them."""
    dumps = [rank(r).calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN) for r in (0, 1, 2)]
    found = graph(*dumps, rank(3).calls("all_reduce", 1, 41).calls("all_reduce", 42, 43, OPEN))
    assert arrows(found) == {(r, 3, "device") for r in (0, 1, 2)}
    assert ends(found) == {3: {End.LAG}}


def test_a_call_that_others_completed_waits_for_no_member_whose_dump_is_missing():
    """Ranks 0 and 1 completed 42, so rank 3, of which nothing tells, had requested it too."""
    found = graph(*(rank(r).calls("all_reduce", 1, 42) for r in (0, 1)), *alike((2,), "all_reduce", 42), lost(3))
    assert arrows(found) == set()
    assert ends(found) == {2: {End.LAG}}


# -- circles -------------------------------------------------------------------------------------------------------------


def test_ranks_that_wait_for_each_other_on_the_host_side_are_a_circle():
    a, b = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1))
    found = graph(rank(0).knows(b).call("all_reduce", 1, OPEN, group=a), rank(1).knows(a).call("all_reduce", 1, OPEN, group=b))
    assert arrows(found) == {(0, 1, "host"), (1, 0, "host")}
    assert (found.cycles, found.sinks) == (((0, 1),), ())


def test_opposite_orders_of_two_requested_calls_are_a_circle_on_the_device_side():
    a, b = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1))
    found = graph(
        rank(0).call("all_reduce", 1, OPEN, group=a).call("all_reduce", 1, OPEN, group=b),
        rank(1).call("all_reduce", 1, OPEN, group=b).call("all_reduce", 1, OPEN, group=a),
    )
    assert arrows(found) == {(0, 1, "device"), (1, 0, "device")}
    assert found.cycles == ((0, 1),)


def test_a_circle_over_three_ranks():
    third = Pg("3", "third", (2, 0))
    found = graph(
        rank(0).knows(third).call("all_reduce", 1, OPEN, group=LEFT),
        rank(1).knows(LEFT).call("all_reduce", 1, OPEN, group=RIGHT),
        rank(2).knows(RIGHT).call("all_reduce", 1, OPEN, group=third),
    )
    assert found.cycles == ((0, 1, 2),)


def test_a_circle_that_something_outside_explains_is_none():
    """Rank 1 waits for 0 and also for 2, which waits for nobody."""
    a, b = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1, 2))
    found = graph(
        rank(0).knows(b).call("all_reduce", 1, OPEN, group=a),
        rank(1).knows(a).call("all_reduce", 1, OPEN, group=b),
        rank(2).knows(b),
    )
    assert found.cycles == ()
    assert found.sinks == (2,)


def test_arrows_that_nothing_tells_of_close_no_circle():
    """Rank 0 waits for 1, whose file ends early, and 1 for 0, whose file does too: neither was seen not to have come."""
    a, b = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1))
    found = graph(
        rank(0).knows(b).call("all_reduce", 1, OPEN, group=a).cut(),
        rank(1).knows(a).call("all_reduce", 1, OPEN, group=b).cut(),
    )
    assert arrows(found) == {(0, 1, "unknown"), (1, 0, "unknown")}
    assert found.cycles == ()


def test_a_circle_of_thousands_needs_no_recursion():
    size = 1500  # beyond the interpreter's own limit of 1,000 calls
    groups = [Pg(str(i), f"ring {i}", (i, (i + 1) % size)) for i in range(size)]
    found = graph(*(rank(i).knows(groups[i - 1]).call("all_reduce", 1, OPEN, group=groups[i]) for i in range(size)))
    assert found.cycles == (tuple(range(size)),)


# -- sends and receives --------------------------------------------------------------------------------------------------


def test_a_send_that_the_receiver_never_asked_for_waits_for_it():
    found = graph(rank(0).send(1, 1, OPEN, group=PAIR), rank(1).knows(PAIR))
    assert arrows(found) == {(0, 1, "host")}
    assert found.sinks == (1,)


def test_a_receive_waits_for_its_sender():
    found = graph(rank(0).send(1, 1, group=PAIR), rank(1).recv(0, 1, group=PAIR).recv(0, 2, OPEN, group=PAIR))
    assert arrows(found) == {(1, 0, "host")}


def test_the_kth_send_meets_the_kth_receive():
    """The receiver is one behind: the second send has no partner, the first one had."""
    dumps = (
        rank(0).send(1, 1, group=PAIR).send(1, 2, OPEN, group=PAIR).send(1, 3, OPEN, group=PAIR),
        rank(1).recv(0, 1, group=PAIR),
    )
    found = graph(*dumps)
    (edge,) = found.edges[0]
    assert (edge.on, edge.place) == (1, (0, "p2p 0->1", 2))


def test_what_is_queued_behind_on_the_same_lane_adds_nothing():
    found = graph(*(rank(0).send(1, n, OPEN, group=PAIR) for n in (1,)), rank(1).knows(PAIR))
    many = rank(0)
    for n in range(1, 6):
        many.send(1, n, OPEN, group=PAIR)
    assert len(graph(many, rank(1).knows(PAIR)).edges[0]) == len(found.edges[0]) == 1


def test_both_ends_there_and_neither_over_wait_for_each_other():
    found = graph(rank(0).send(1, 1, OPEN, group=PAIR), rank(1).recv(0, 1, OPEN, group=PAIR))
    assert arrows(found) == {(0, 1, "paired"), (1, 0, "paired")}
    assert (found.cycles, found.paired, found.sinks) == ((), ((0, 1),), ())


def test_a_send_whose_receive_is_over_is_the_senders_own():
    found = graph(rank(0).send(1, 1, OPEN, group=PAIR), rank(1).recv(0, 1, group=PAIR))
    assert arrows(found) == set()
    assert ends(found) == {0: {End.LAG}}


def test_a_peer_without_a_dump_or_with_a_cut_one_is_not_observed():
    assert arrows(graph(rank(0).send(1, 1, OPEN, group=PAIR), lost(1))) == {(0, 1, "unknown")}
    assert arrows(graph(rank(0).send(1, 1, OPEN, group=PAIR), rank(1).knows(PAIR).cut())) == {(0, 1, "unknown")}


def test_receives_from_any_source_are_not_judged():
    found = graph(rank(0).send(1, 1, OPEN), rank(1).recv(None, 1, OPEN), rank(2).knows(WORLD))
    assert arrows(found) == set()
    assert ends(found)[0] == {End.UNJUDGED}


def test_an_only_active_survivor_that_nothing_tells_of_is_not_judged():
    survivor = rank(0).batch(4, to=(1,), how=None, seq=9, group=PAIR).only_active()
    survivor.counts(None, None, group=PAIR, raw=(10, 9)).call("all_reduce", 10, OPEN, group=PAIR)
    found = graph(survivor, rank(1).knows(PAIR).wrapped())
    assert End.UNJUDGED in ends(found)[0]


# -- sends and receives whose beginning is lost --------------------------------------------------------------------------


def test_open_ends_are_paired_backwards_where_the_beginning_is_lost():
    """Rank 1 lost its first receives: counted from the start, its only one would meet the first send."""
    sender = rank(0)
    for n in range(1, 10):
        sender.send(1, n, group=PAIR)
    found = graph(sender.send(1, 10, OPEN, group=PAIR), rank(1).wrapped().recv(0, 10, OPEN, group=PAIR))
    assert arrows(found) == {(0, 1, "paired"), (1, 0, "paired")}


def test_a_send_without_an_open_receive_waits_where_the_beginning_is_lost_too():
    sender = rank(0).wrapped().send(1, 9, group=PAIR).send(1, 10, OPEN, group=PAIR)
    found = graph(sender, rank(1).wrapped().recv(0, 8, group=PAIR).recv(0, 9, group=PAIR))
    assert arrows(found) == {(0, 1, "host")}


def test_two_members_count_the_same_sends_so_a_higher_number_shows_that_it_is_over():
    sender = rank(0).wrapped().send(1, 10, OPEN, group=PAIR)
    found = graph(sender, rank(1).wrapped().recv(0, 10, group=PAIR).send(0, 11, group=PAIR))
    assert arrows(found) == set()
    assert ends(found)[0] == {End.LAG}


def test_a_batch_of_the_same_number_without_the_other_end_shows_nothing_over():
    """Rank 1 made a micro-batch less: in its batch 10 there is a receive, and no send."""
    first = rank(0).wrapped().batch(10, to=[1], of=[1], how=OPEN, group=PAIR)
    found = graph(first, rank(1).wrapped().batch(10, of=[0], group=PAIR))
    assert arrows(found) == {(0, 1, "host")}
    assert found.sinks == (1,)
    whole = graph(first, rank(1).wrapped().batch(10, to=[0], of=[0], group=PAIR))
    assert (arrows(whole), ends(whole)[0]) == (set(), {End.LAG})


def test_where_both_send_before_they_receive_one_number_is_two_messages():
    """Rank 0's send 9 meets rank 1's receive 10, which is over: nobody is missed for what stands under 9 there."""
    first = rank(0).wrapped().send(1, 9, OPEN, group=PAIR).recv(1, 10, group=PAIR)
    found = graph(first, rank(1).wrapped().send(0, 9, group=PAIR).recv(0, 10, group=PAIR))
    assert found.sinks == ()


def test_of_three_members_each_counts_other_messages():
    """Rank 1's higher number is one of its messages with rank 2."""
    three = Pg("5", "pp", (0, 1, 2))
    sender = rank(0).wrapped().send(1, 10, OPEN, group=three)
    found = graph(sender, rank(1).wrapped().recv(0, 9, group=three).recv(2, 20, group=three), rank(2).knows(three))
    assert arrows(found) == {(0, 1, "host")}


def running(number: int, first: int, last: int) -> Dump:
    """A rank of a pair that runs on: each step a message from 0 to 1, then an all_reduce; its records begin at ``first``."""
    dump = rank(number).wrapped()
    for step in range(first, last + 1):
        dump = dump.send(1, step, group=PAIR3) if number == 0 else dump.recv(0, step, group=PAIR3)
        dump = dump.call("all_reduce", step, group=PAIR3, p2p_seq=step, at=step + 0.5)
    return dump


PAIR3 = Pg("0", "default_pg", (0, 1, 2))


def test_what_an_older_dump_had_open_waits_for_nobody():
    """Rank 1's dump is from step 40, while ranks 0 and 2 completed 60 with it: what it waited for then came long ago."""
    third = rank(2).wrapped().calls("all_reduce", 50, 60, group=PAIR3)
    found = graph(running(0, 50, 60), running(1, 30, 40).recv(0, 41, OPEN, group=PAIR3), third)
    assert arrows(found) == set()
    assert found.sinks == ()


# -- a pipeline ----------------------------------------------------------------------------------------------------------


def test_a_chain_of_stages_ends_at_the_one_that_waits_for_nobody():
    """Stage 3 waits for 2, 2 for 1, 1 for 0; rank 0 is in its own code."""
    found = graph(
        rank(0).send(1, 1).knows(WORLD),
        rank(1).recv(0, 1).send(2, 2).recv(0, 3, OPEN),
        rank(2).recv(1, 1).send(3, 2).recv(1, 3, OPEN),
        rank(3).recv(2, 1).recv(2, 2, OPEN),
    )
    assert arrows(found) == {(1, 0, "host"), (2, 1, "host"), (3, 2, "host")}
    assert found.sinks == (0,)
    assert closure((3,), found.targets()) == {0, 1, 2}


def test_a_stage_that_is_in_a_collective_holds_its_neighbour():
    """Rank 2 waits for a send of rank 1, which is in an all_reduce of its own that rank 0 did not request."""
    found = graph(
        rank(0).knows(LEFT),
        rank(1).knows(RIGHT).call("all_reduce", 1, OPEN, group=LEFT),
        rank(2).recv(1, 1, OPEN, group=RIGHT),
    )
    assert arrows(found) == {(1, 0, "host"), (2, 1, "host")}
    assert found.sinks == (0,)


def test_a_batch_waits_for_each_of_its_members():
    """A ring of three: rank 0's send was answered, but not its receive, which rank 2 has queued behind what holds it. Rank 1 is
    done with that step, and waits for both of them."""
    ring = Pg("0", "default_pg", (0, 1, 2))
    dumps = [rank(r).batch(1, to=[(r + 1) % 3], of=[(r - 1) % 3], group=ring) for r in range(3)]
    dumps[0].batch(2, to=[1], of=[2], how=OPEN, group=ring)
    dumps[1].batch(2, to=[2], of=[0], group=ring).call("all_reduce", 1, OPEN, group=ring)
    dumps[2].batch(2, to=[0], of=[1], how=OPEN, group=ring)
    incident = look(*dumps)
    assert incident.leads == ()
    found = graph(*dumps)
    assert (0, 2, "paired") in arrows(found)
    assert found.sinks == ()


def test_who_is_behind_whom_is_the_same_chain_from_its_other_end():
    edges = {r: (Edge(r, r + 1, (0, COLLECTIVE, 1), Arrow.HOST),) for r in range(3)}
    found = Graph(edges, {}, (3,), {})
    assert closure((0, 2), found.targets()) == {1, 2, 3}
    assert found.behind((3,)) == {0, 1, 2}
    assert found.behind((1, 2)) == {0, 1}
    assert found.behind(()) == frozenset()


def test_a_batch_that_a_file_ends_in_closes_no_circle():
    """Rank 0's last batch has lost its closing entry, so nothing tells whether it still waits for rank 1."""
    whole = [rank(0).batch(1, to=(1,), group=PAIR).batch(2, to=(1,), how=OPEN, group=PAIR)]
    cut = [rank(0).batch(1, to=(1,), group=PAIR).batch(2, to=(1,), how=None, group=PAIR).cut()]
    other = rank(1).batch(1, of=(0,), group=PAIR).batch(2, of=(0,), how=OPEN, group=PAIR)
    assert steps(*whole, other).graph.paired == ((0, 1),)
    graph = steps(*cut, other).graph
    assert graph.paired == ()
    assert [(e.rank, e.on, e.arrow) for e in graph.edges[1]] == [(1, 0, Arrow.UNKNOWN)]


# -- records that are gone -----------------------------------------------------------------------------------------------


def test_a_message_whose_other_record_was_overwritten_may_be_open_there_too():
    """Both members of a group of two count alike: rank 1 made its fifth send, and whether it is over its file has forgotten."""
    waiting = rank(0).recv(1, 5, OPEN, group=PAIR)
    forgot = graph(waiting, rank(1).wrapped().recv(0, 7, OPEN, group=PAIR))
    assert (0, 1, "unknown") in arrows(forgot)
    remembers = graph(waiting, rank(1).wrapped().send(0, 4, group=PAIR).send(0, 5, group=PAIR).recv(0, 7, OPEN, group=PAIR))
    assert (0, 1, "unknown") not in arrows(remembers)
    assert ends(remembers)[0] == {End.LAG}


def test_a_call_of_one_rank_waits_for_nobody():
    alone = Pg("7", "dp", (3,))
    dumps = [*alike((0, 1, 2), "all_reduce", 42), rank(3).calls("all_reduce", 1, 41).call("all_reduce", 1, OPEN, group=alone)]
    incident = look(*dumps)
    assert incident.leads == (3,)
