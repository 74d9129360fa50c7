"""Sends whose receive asks for another amount of data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.engine.waits import End
from hangview.schema import DIFFERS
from hangview.terms import Kind, Role, Verdict
from tests.engine.support import OPEN, PAIR, How, look, of_kind, rank, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.support import Dump

DONE = How.DONE


def pair(sent: Sequence[int], received: Sequence[int], last: How = DONE, library: str = "nccl") -> list[Dump]:
    """Rank 0 sends messages of these sizes and rank 1 receives such; ``last``: what became of the last one."""
    sender, taker = rank(0, library), rank(1, library)
    for number, (size, wanted) in enumerate(zip(sent, received, strict=True), start=1):
        how = last if number == len(sent) else DONE
        sender = sender.send(1, number, how, group=PAIR, size=size)
        taker = taker.recv(0, number, how, group=PAIR, size=wanted)
    return [sender, taker]


def test_a_message_that_is_stuck_and_whose_ends_differ_is_a_lead_that_names_nobody():
    incident = look(*pair((8, 8), (8, 16), OPEN))
    (found,) = of_kind(incident, Kind.DIFFERENT_SIZE, Role.LEAD)
    assert (found.lane, found.seq, found.ranks, found.others) == ("p2p 0->1", 2, (0, 1), ())
    assert "rank 0 sends 8 × Float where rank 1 receives 16 × Float" in found.summary
    assert [line.text for line in found.evidence] == [
        "rank 0 sends 8 × Float (trace_rank_0, record 1)",
        "rank 1 receives 16 × Float (trace_rank_1, record 1)",
    ]
    assert incident.leads == ()
    assert not of_kind(incident, Kind.NOT_COMPLETED)


def test_so_it_is_where_only_the_larger_end_is_still_open():
    sender = rank(0).send(1, 1, group=PAIR, size=8)
    found = look(sender, rank(1).recv(0, 1, OPEN, group=PAIR, size=16))
    assert [f.role for f in of_kind(found, Kind.DIFFERENT_SIZE)] == [Role.LEAD]


def test_who_waits_for_such_an_end_waits_for_somebody_who_waits():
    """Rank 2 is in a call that rank 1 did not come to, because of its message."""
    dumps = pair((8,), (16,), OPEN)
    graph = steps(dumps[0], dumps[1], rank(2).call("all_reduce", 1, OPEN).knows(PAIR)).graph
    assert set(graph.ends[0].values()) == set(graph.ends[1].values()) == {End.MISMATCH}
    assert {0, 1}.isdisjoint(graph.sinks)


def test_a_message_that_is_over_is_a_note():
    incident = look(*pair((8, 8, 8, 8), (8, 16, 16, 8)))
    (found,) = of_kind(incident, Kind.DIFFERENT_SIZE)
    assert (found.role, found.seq) == (Role.NOTE, 2)
    assert found.summary.endswith("; the message is over all the same, and 1 more like it")
    assert (incident.verdict, incident.leads) == (Verdict.DIVERGENCE, ())


def test_equal_sizes_are_silent():
    assert look(*pair((8, 9), (8, 9))).verdict is Verdict.NO_HANG


def test_a_view_of_another_dtype_is_the_same_message():
    """512 half floats are received as 1,024 bytes."""
    sender, taker = rank(0), rank(1).recv(0, 1, group=PAIR, size=1024, dtype="Byte")
    assert not of_kind(look(sender.send(1, 1, group=PAIR, size=512, dtype="Half"), taker), Kind.DIFFERENT_SIZE)


def test_a_dtype_that_no_list_knows_is_not_judged():
    taker = rank(1).recv(0, 1, group=PAIR, size=1024, dtype="Byte")
    sender = rank(0).send(1, 1, group=PAIR, size=512, dtype="QInt4")
    assert not of_kind(look(sender, taker), Kind.DIFFERENT_SIZE)


def test_an_end_without_sizes_is_not_judged():
    taker = rank(1).recv(0, 1, group=PAIR, size=None)
    assert not of_kind(look(rank(0).send(1, 1, group=PAIR, size=8), taker), Kind.DIFFERENT_SIZE)


def test_backends_that_may_go_by_a_tag_are_not_judged():
    assert of_kind(look(*pair((8,), (16,), library="nccl2")), Kind.DIFFERENT_SIZE)
    assert not of_kind(look(*pair((8,), (16,), library="mpi")), Kind.DIFFERENT_SIZE)


def test_where_nothing_proves_which_send_meets_which_receive_nothing_is_compared():
    sender = rank(0).wrapped().send(1, 7, group=PAIR, size=8)
    assert not of_kind(look(sender, rank(1).wrapped().recv(0, 6, group=PAIR, size=16)), Kind.DIFFERENT_SIZE)


def test_its_cells_are_marked():
    incident = look(*pair((8, 8), (8, 16)))
    rows = incident.view.grid(0, "p2p 0->1").rows
    assert [[bool(code & DIFFERS) for code in row] for row in rows] == [[False, True], [False, True]]
    assert [cell.differs for cell in incident.view.call(0, "p2p 0->1", 2).cells] == [True, True]


def test_ranks_that_hold_both_ends_of_a_message_have_their_records_as_evidence():
    (found,) = of_kind(look(*pair((8,), (8,), OPEN)), Kind.NOT_COMPLETED)
    assert [line.text for line in found.evidence] == [
        "rank 0: nccl:send 0->1, requested and not over (trace_rank_0, record 0)",
        "rank 1: nccl:recv 1<-0, requested and not over (trace_rank_1, record 0)",
    ]
