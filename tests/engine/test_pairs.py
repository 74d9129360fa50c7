"""Which send meets which receive where a ring buffer has dropped the first ones, or an only-active dump left out what was over.

The ring of the tests: each step every rank sends to the next and receives from the one before, in one batch. Rank 2 does not
come to step 4: ranks 1 and 3 wait there with their whole batch, and rank 0, whose both neighbours came, has finished it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.terms import Kind
from tests.engine.support import OPEN, WORLD, How, Pg, look, of_kind, rank, steps

if TYPE_CHECKING:
    from hangview.engine.p2p import P2PLane
    from tests.engine.support import Dump

DONE = How.DONE
LAST = {0: DONE, 1: OPEN, 3: OPEN}
THREE = Pg("0", "default_pg", (0, 1, 2))


def batches(number: int, first: int, *, last: How | None = None, step_s: float = 1.0) -> Dump:
    """A rank's batches from ``first`` to 3, and the one of step 4 if it came to it."""
    dump = rank(number)
    to, of = ((number + 1) % 4,), ((number - 1) % 4,)
    for step in range(first, 4):
        dump = dump.batch(step, to=to, of=of, at=step * step_s)
    return dump if last is None else dump.batch(4, to=to, of=of, how=last, at=4 * step_s)


def ring(first: int, *, step_s: float = 1.0) -> list[Dump]:
    return [batches(number, first, last=LAST.get(number), step_s=step_s).wrapped() for number in range(4)]


def arrows(*dumps: Dump) -> set[tuple[int, int, str]]:
    graph = steps(*dumps).graph
    return {(edge.rank, edge.on, edge.arrow.value) for out in graph.edges.values() for edge in out}


def lane(source: int, target: int, *dumps: Dump) -> P2PLane:
    return next(found for (_, s, t), found in steps(*dumps).traffic.lanes.items() if (s, t) == (source, target))


# -- by the times of what is over ----------------------------------------------------------------------------------------


def test_a_rank_that_has_finished_its_batch_is_not_waited_for_by_a_neighbour_that_is_held_in_it():
    """Rank 1's receive from 0 is as open as its send to 2: they end together."""
    assert arrows(*ring(2)) == {(1, 2, "host"), (3, 2, "host")}
    assert look(*ring(2)).leads == (2,)


def test_ends_lie_as_their_times_say():
    """Send 4 was made a second after receive 3 was over, so it met the open one; send 3 of rank 2 was over a second before."""
    answered, missing = lane(0, 1, *ring(2)), lane(2, 3, *ring(2))
    assert (answered.laid, answered.send.newest, answered.recv.newest) == (True, 3, 3)
    assert (missing.laid, missing.send.newest, missing.recv.newest) == (True, 2, 3)


def test_where_no_pair_of_records_is_left_nobody_is_named():
    """Of the ring's last batch alone it cannot be told which of its two members has no partner."""
    dumps = [batches(number, 4, last=last).wrapped() for number, last in LAST.items()]
    dumps.append(batches(2, 3).wrapped())
    assert arrows(*dumps) == {(1, 0, "unknown"), (1, 2, "unknown"), (3, 0, "unknown"), (3, 2, "unknown")}
    incident = look(*dumps)
    assert incident.leads == ()
    assert {text for f in of_kind(incident, Kind.NOT_OBSERVED) for text in f.summary.split("not observed: ")[1:]} == {
        "overwritten"
    }


def test_steps_that_are_shorter_than_clocks_are_apart_hide_no_rank():
    """20 ms: rank 2 is far enough from the open ones; whether rank 0 answered cannot be told, and is not needed."""
    assert arrows(*ring(1, step_s=0.02)) == {(1, 2, "host"), (3, 2, "host")}
    assert not lane(0, 1, *ring(1, step_s=0.02)).laid


def receiver(until: int, step_s: float, *, calls: bool) -> list[Dump]:
    """Rank 0 sends and rank 1 receives, step by step, the receive of the last step still open, with an all_reduce after each
    of the other steps where ``calls``."""
    sender, taker = rank(0).wrapped(), rank(1).wrapped()
    for step in range(1, until + 1):
        at, over = step * step_s, step < until
        sender = sender.send(1, step, group=THREE, seq=step - 1, at=at, took=0.001)
        taker = taker.recv(0, step, DONE if over else OPEN, group=THREE, seq=step - 1, at=at, took=0.001)
        if calls and over:
            sender, taker = (d.call("all_reduce", step, group=THREE, at=at + 0.005, took=0.002) for d in (sender, taker))
    return [sender, taker]


def test_a_receive_whose_send_is_over_waits_for_nobody_where_calls_bound_the_clocks():
    """Steps of 20 ms; the calls that both completed leave the clocks 2 ms."""
    found = lane(0, 1, *receiver(6, 0.02, calls=True))
    assert (found.laid, found.recv.newest, found.send.newest) == (True, 6, 6)
    assert arrows(*receiver(6, 0.02, calls=True)) == set()


def test_without_such_calls_it_is_not_known_whom_it_waits_for():
    """Clocks that are 20 ms apart would look the same with a send that is missing."""
    assert lane(0, 1, *receiver(6, 0.02, calls=False)).doubtful
    assert arrows(*receiver(6, 0.02, calls=False)) == {(1, 0, "unknown")}


def test_other_sizes_speak_against_a_pair():
    """Sends of 10, 20, 30, 40 elements, all over, none with a time that tells; the receives lost the first one."""
    sender, taker = rank(0).wrapped(), rank(1).wrapped()
    for step, size in enumerate((10, 20, 30, 40), start=1):
        sender = sender.send(1, step, group=THREE, size=size, at=1 + step / 1000, took=1)
        if step > 1:
            taker = taker.recv(0, step, group=THREE, size=size, at=1 + step / 1000, took=1)
    taker = taker.recv(0, 5, OPEN, group=THREE, size=10, at=1.006)
    found = lane(0, 1, sender, taker)
    assert (found.laid, found.send.newest, found.recv.newest) == (True, 4, 5)


# -- by p2p_seq ----------------------------------------------------------------------------------------------------------


def test_sends_and_receives_that_begin_with_number_1_are_all_there():
    """The ring buffer has dropped older records, and none of a send or receive."""
    dump = rank(0).call("all_reduce", 7).batch(1, to=(1,), seq=7).wrapped()
    assert lane(0, 1, dump, rank(1).batch(1, of=(0,))).counted


def test_a_batch_at_the_beginning_of_a_file_may_have_lost_members():
    dump = rank(0).batch(1, to=(1,)).batch(2, to=(1,)).wrapped()
    assert not lane(0, 1, dump, rank(1).batch(1, of=(0,))).counted


def only_active(number: int, last: How | None, done: int) -> Dump:
    """What is left of :func:`batches`: the members of all batches, which never move, and the end of an open one."""
    dump = rank(number)
    to, of = ((number + 1) % 4,), ((number - 1) % 4,)
    for step in range(1, 4 if last is None else 5):
        dump = dump.batch(step, to=to, of=of, how=OPEN if step == 4 and last is OPEN else None)
    asked = 3 if last is None else 4
    return dump.counts(None, None, raw=(asked, done)).only_active()


def test_an_only_active_dump_that_keeps_all_members_counts_from_the_start():
    dumps = [only_active(0, DONE, 4), only_active(1, OPEN, 3), only_active(2, None, 3), only_active(3, OPEN, 3)]
    assert lane(0, 1, *dumps).counted
    assert arrows(*dumps) == {(1, 2, "host"), (3, 2, "host")}


def test_it_does_not_where_its_counter_speaks_of_later_ones():
    """Send 5 was over by itself and left out."""
    dump = rank(0).batch(1, to=(1,), how=None).counts(None, None, raw=(2, 2)).only_active()
    assert not lane(0, 1, dump, rank(1).batch(1, of=(0,))).counted


# -- what may be held by another request -----------------------------------------------------------------------------------


def hooked(number: int) -> Dump:
    return rank(number, "nccl2").only_active().knows(WORLD)


def test_one_open_receive_is_held_by_nothing_else():
    assert arrows(hooked(0), hooked(1), hooked(2), hooked(3).recv(2, 8, OPEN)) == {(3, 2, "host")}


def test_the_hook_records_no_batches_so_two_open_ones_may_be_one():
    both = hooked(1).send(2, 7, OPEN).recv(0, 8, OPEN)
    assert arrows(hooked(0), both, hooked(2), hooked(3)) == {(1, 0, "unknown"), (1, 2, "unknown")}


def test_where_all_others_of_a_batch_have_their_answer_it_is_the_last_one_that_is_waited_for():
    """Rank 0's send meets the receive of rank 1's batch, and nothing else holds it."""
    both = hooked(1).send(2, 7, OPEN).recv(0, 8, OPEN)
    found = arrows(hooked(0).send(1, 8, OPEN), both, hooked(2), hooked(3))
    assert found == {(0, 1, "paired"), (1, 2, "host")}


def test_an_answer_that_is_held_itself_does_not_count_for_that():
    """Rank 0's send is of a batch with a receive from 3, which may be what holds all of them."""
    both = hooked(1).send(2, 7, OPEN).recv(0, 8, OPEN)
    found = arrows(hooked(0).recv(3, 7, OPEN).send(1, 8, OPEN), both, hooked(2), hooked(3))
    assert (1, 2, "unknown") in found
