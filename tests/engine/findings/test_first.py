"""A rank that stopped is missed in many calls: the one that its program comes to first is told, the others stand below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.terms import Role
from tests.engine.support import DONE, OPEN, WORLD, Dump, Pg, look, rank, told

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Two nodes of two: tensor parallel within a node, data parallel between them.
TP_LOW, TP_HIGH = Pg("1", "tp", (0, 1)), Pg("3", "tp", (2, 3))
DP_EVEN, DP_ODD = Pg("2", "dp", (0, 2)), Pg("4", "dp", (1, 3))


def step(number: int, tp: Pg, dp: Pg, *, tp_done: bool = False, stopped: bool = False) -> Dump:
    """One step of one rank: all_gather 5 of tp, reduce_scatter 3 of dp, all_reduce 2 of the world, a second after each other.
    ``tp_done``: the other rank of its node came, too; ``stopped``: this one requested none of the three."""
    dump = rank(number).knows(WORLD, tp, dp)
    dump.calls("all_gather", 1, 4, group=tp, at=1.0).calls("reduce_scatter", 1, 2, group=dp, at=2.0).call(
        "all_reduce", 1, at=3.0
    )
    if stopped:
        return dump
    dump.call("all_gather", 5, DONE if tp_done else OPEN, group=tp, at=10.0)
    return dump.call("reduce_scatter", 3, OPEN, group=dp, at=11.0).call("all_reduce", 2, OPEN, at=12.0)


def leads(dumps: Sequence[Dump]) -> list[tuple[tuple[int, ...], str, int | None]]:
    found = told(look(*dumps))
    return [(ranks, group, seq) for role, _, ranks, group, seq in found if role == Role.LEAD.value]


def test_who_waits_in_two_missed_calls_says_which_comes_first():
    """Three wait in the world's call and one in tp's, which that one requested before: tp's is where rank 1 stopped."""
    dumps = [
        step(0, TP_LOW, DP_EVEN),
        step(1, TP_LOW, DP_ODD, stopped=True),
        step(2, TP_HIGH, DP_EVEN, tp_done=True),
        step(3, TP_HIGH, DP_ODD, tp_done=True),
    ]
    for entry in dumps[3].entries:
        entry["created_ns"] = None  # no time says anything of dp's
    found = leads(dumps)
    assert found[0][0] == (1,)
    assert found[0][1] != WORLD.name
    assert len(found) == 1


def test_who_waits_in_one_and_never_came_to_the_other_says_it_too():
    """Rank 0 stands in tp's call and did not come to the world's; nobody's file has times."""
    dumps = [
        rank(0).calls("all_reduce", 1, 4).calls("all_gather", 1, 6, group=TP_LOW).call("all_gather", 7, OPEN, group=TP_LOW),
        rank(1).calls("all_reduce", 1, 4).calls("all_gather", 1, 6, group=TP_LOW),
        *(rank(r).calls("all_reduce", 1, 4).call("all_reduce", 5, OPEN) for r in (2, 3)),
    ]
    for dump in dumps:
        for entry in dump.entries:
            entry["created_ns"] = None
    assert leads(dumps) == [((1,), TP_LOW.name, 7)]


def test_times_choose_among_calls_of_which_nobodys_file_has_two():
    """Rank 1 is missed in tp by 0 and in dp by 3, who share no other call: 0 asked a second earlier."""
    for at_tp, at_dp, first in ((10.0, 11.0, (TP_LOW.name, 5)), (12.0, 11.0, (DP_ODD.name, 3))):
        dumps = [
            rank(0).calls("all_gather", 1, 4, group=TP_LOW).call("all_gather", 5, OPEN, group=TP_LOW, at=at_tp),
            rank(1).calls("all_gather", 1, 4, group=TP_LOW).calls("reduce_scatter", 1, 2, group=DP_ODD),
            rank(3).calls("reduce_scatter", 1, 2, group=DP_ODD).call("reduce_scatter", 3, OPEN, group=DP_ODD, at=at_dp),
        ]
        assert leads(dumps) == [((1,), *first)]


def test_orders_that_contradict_choose_nothing():
    """0 came to tp before the world, 1 to the world before tp, and times are equal: the call in which most wait is told."""
    tp, world = Pg("1", "tp", (0, 1, 2)), WORLD
    dumps = [
        rank(0)
        .call("broadcast", 1, group=tp)
        .call("all_reduce", 1)
        .call("broadcast", 2, OPEN, group=tp)
        .call("all_reduce", 2, OPEN),
        rank(1)
        .call("broadcast", 1, group=tp)
        .call("all_reduce", 1)
        .call("all_reduce", 2, OPEN)
        .call("broadcast", 2, OPEN, group=tp),
        rank(2).call("broadcast", 1, group=tp).call("all_reduce", 1),
        rank(3).call("all_reduce", 1).call("all_reduce", 2, OPEN),
    ]
    assert leads(dumps) == [((2,), world.name, 2)]


def test_ranks_that_miss_one_call_together_stay_one_finding():
    """A node stands still: each of its ranks is missed in a dp group of its own, both in the world's call."""
    dumps = [
        step(0, TP_LOW, DP_EVEN, tp_done=True),
        step(1, TP_LOW, DP_ODD, tp_done=True),
        step(2, TP_HIGH, DP_EVEN, stopped=True),
        step(3, TP_HIGH, DP_ODD, stopped=True),
    ]
    assert leads(dumps) == [((2, 3), WORLD.name, 2)]


def test_clocks_that_are_known_to_differ_are_taken_into_account():
    """Rank 3's host is two seconds behind, by 20 calls of all: its call of dp only seems to have come before tp's."""
    dumps = [rank(r).calls("all_reduce", 1, 20) for r in range(3)]
    dumps.append(rank(3).clock(-2.0).calls("all_reduce", 1, 20))
    dumps[0].calls("all_gather", 1, 4, group=TP_LOW, at=21.0).call("all_gather", 5, OPEN, group=TP_LOW, at=30.0)
    dumps[1].calls("all_gather", 1, 4, group=TP_LOW, at=21.0).calls("reduce_scatter", 1, 2, group=DP_ODD, at=22.0)
    dumps[3].calls("reduce_scatter", 1, 2, group=DP_ODD, at=22.0).call("reduce_scatter", 3, OPEN, group=DP_ODD, at=31.0)
    assert leads(dumps) == [((1,), TP_LOW.name, 5)]
