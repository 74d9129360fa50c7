"""Groups that other groups drove out of the ring buffers: that nothing is left of them is said."""

from __future__ import annotations

from tests.engine.support import OPEN, Pg, look, rank

TP = Pg("7", "tp", (0, 1, 2, 3))


def job(*, wrapped: bool):
    dumps = [rank(r).calls("all_reduce", 2000, 2009, group=TP).knows(Pg("0", "default_pg", (0, 1, 2, 3))) for r in range(4)]
    return look(*(each.wrapped() if wrapped else each for each in dumps))


def test_a_group_without_a_record_in_wrapped_ring_buffers_is_told():
    assert job(wrapped=True).coverage.unrecorded == (
        "default_pg on ranks 0-3: other groups filled the ring buffers, and no record of it is left",
    )


def test_a_group_that_nobody_called_is_nothing_where_nothing_was_dropped():
    assert job(wrapped=False).coverage.unrecorded == ()


def test_so_is_one_of_which_messages_are_left():
    pair = Pg("9", "pp", (0, 1))
    dumps = [rank(r).calls("all_reduce", 2000, 2009, group=TP).wrapped() for r in range(4)]
    dumps[0].send(1, 1, group=pair)
    dumps[1].recv(0, 1, group=pair)
    assert look(*dumps).coverage.unrecorded == ()


def test_many_such_groups_are_counted():
    others = [Pg(str(n), f"g{n}", (0, 1, 2, 3)) for n in range(10, 17)]
    dumps = [rank(r).calls("all_reduce", 2000, 2009, group=TP).knows(*others).wrapped() for r in range(4)]
    told = look(*dumps).coverage.unrecorded
    assert len(told) == 5
    assert told[-1] == "3 more groups of that kind"


def test_calls_that_are_queued_behind_an_open_one_are_told_with_it():
    """The first open one is what the stream stands in."""
    dumps = [rank(r).calls("all_reduce", 1, 4).calls("all_reduce", 5, 12, OPEN) for r in range(4)]
    (finding, *_) = look(*dumps).findings
    assert finding.evidence[0].text.startswith("rank 0: all_reduce 5 requested, not completed; 6-12 queued behind it (")
