"""Who of a circle came to its call by another way than ever before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.terms import Kind
from tests.engine.support import OPEN, Dump, Pg, look, of_kind, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

A, B = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1))


def steps(number: int, orders: Sequence[tuple[Pg, ...]]) -> Dump:
    """A rank that used both groups in these orders, a step each; what it requested in the last step is open."""
    dump = rank(number)
    for seq, order in enumerate(orders[:-1], 1):
        for group in order:
            dump = dump.call("all_reduce", seq, group=group)
    for group in orders[-1]:
        dump = dump.call("all_reduce", len(orders), OPEN, group=group)
    return dump


def told(first: Sequence[tuple[Pg, ...]], second: Sequence[tuple[Pg, ...]]) -> tuple[list[str], str]:
    """What is said of the circle of ranks 0 and 1 beside where they stand, and what to compare first."""
    incident = look(steps(0, first), steps(1, second))
    (circle,) = of_kind(incident, Kind.ORDER_CYCLE)
    assert incident.leads == ()
    return [line.text.partition(" (")[0] for line in circle.evidence if " after " in line.text], circle.compare_first


def test_one_turned():
    lines, first = told([(A, B)] * 3 + [(A,)], [(A, B)] * 3 + [(B,)])
    assert lines == [
        "rank 1: after b 3 it requested b 4; the 2 times before, a came next",
        "rank 0: after b 3 it requested a 4, as the 2 times before",
    ]
    assert first.startswith("why rank 1 left the order that it had before; then the order in which ranks 0-1 issue")


def test_who_turned_with_most_of_the_group_is_not_where_to_begin():
    """Rank 0 evaluates and goes on in a; ranks 1 to 3 are at the end, in b: rank 1 came with them, out of its order too."""
    a, b = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1, 2, 3))

    def way(number: int, last: Pg) -> Dump:
        dump = rank(number)
        for seq in (1, 2, 3):
            dump = dump.call("all_reduce", seq, group=b).call("all_reduce", seq, group=a)
        return dump.call("all_reduce", 4, group=b).call("all_reduce", 4 if last is a else 5, OPEN, group=last)

    others = [rank(r).calls("all_reduce", 1, 4, group=b).call("all_reduce", 5, OPEN, group=b) for r in (2, 3)]
    (circle,) = of_kind(look(way(0, a), way(1, b), *others), Kind.ORDER_CYCLE)
    assert circle.compare_first.startswith("the order in which")


def test_an_asynchronous_rank_is_told_by_the_first_of_its_open_calls():
    lines, _ = told([(A, B)] * 3 + [(A, B)], [(A, B)] * 3 + [(B, A)])
    assert lines[0] == "rank 1: after b 3 it requested b 4; the 2 times before, a came next"


@pytest.mark.parametrize("orders", [[(A, B)] * 2, [(A, B), (B, A), (A, B), (A, B), (B, A)]])
def test_a_rank_without_one_way_says_nothing(orders):
    """Too few steps, or no order that held: then who turned is not known."""
    lines, first = told([*orders, (A,)], [*orders, (B,)])
    assert first.startswith("the order in which")
    assert lines == []


def test_both_turned_is_no_reason_to_begin_with_one():
    """Both skip a, and then go on in another order: groups that are not in the circle tell of the way too."""
    third = Pg("3", "c", (0, 1))
    lines, first = told([(A, B, third)] * 3 + [(B,)], [(A, B, third)] * 3 + [(third,)])
    assert sorted(lines) == [
        "rank 0: after c 3 it requested b 4; the 2 times before, a came next",
        "rank 1: after c 3 it requested c 4; the 2 times before, a came next",
    ]
    assert first.startswith("the order in which")
