"""A rank that skipped or repeated a call: its call sites are the majority's, moved by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.engine.callsites import Shift, shifts
from tests.engine.support import OPEN, PAIR, WORLD, Dump, Pg, rank, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

#: One step of a training loop: four calls of one operation and size, from four places.
STEP = ("forward@train.py:10", "backward@train.py:20", "clip@train.py:30", "loss@train.py:40")


def loop(
    number: int, last: int, *, moved: int = 0, at: int = 0, step: Sequence[str] = STEP, first: int = 1, group: Pg = WORLD
) -> Dump:
    """Calls ``first`` to ``last`` of the loop; from ``at`` on the rank's call sites are moved by ``moved``."""
    dump = rank(number)
    for seq in range(first, last + 1):
        ahead = moved if seq >= at else 0
        dump.call("all_reduce", seq, place=step[(seq - 1 + ahead) % len(step)], group=group)
    return dump


def found(*dumps: Dump) -> list[tuple[int, int, int]]:
    """(rank, seq, by) of all shifts."""
    return [(s.rank, s.seq, s.by) for s in all_of(*dumps)]


def all_of(*dumps: Dump) -> tuple[Shift, ...]:
    return shifts(steps(*dumps).calls)


def others(last: int) -> list[Dump]:
    return [loop(r, last) for r in range(3)]


@pytest.mark.parametrize("by", [1, -1])
def test_a_rank_that_skipped_or_repeated_a_call_runs_one_apart(by):
    assert found(*others(30), loop(3, 30, moved=by, at=11)) == [(3, 11, by)]


def test_any_rank_may_be_it():
    assert found(loop(0, 30, moved=1, at=11), *(loop(r, 30) for r in (1, 2, 3))) == [(0, 11, 1)]


def test_the_stacks_of_both_sides_are_those_at_the_parting():
    made = steps(*others(30), loop(3, 30, moved=1, at=11))
    (shift,) = shifts(made.calls)
    assert made.records.stacks[shift.majority_stack][-1].line == 30  # call 11 of the loop is its third
    assert made.records.stacks[shift.stack][-1].line == 40


def test_equal_stacks_are_no_shift():
    assert found(*others(30), loop(3, 30)) == []


def test_without_stacks_nothing_is_said():
    assert found(*(rank(r).calls("all_reduce", 1, 30) for r in range(4))) == []


def test_a_rank_that_always_comes_from_another_line_is_none():
    """Rank 0 that logs in a branch of its own, say: a different stack alone says nothing."""
    odd = ("log@main.py:1", *STEP[1:])
    assert found(loop(0, 30, step=odd), *(loop(r, 30) for r in (1, 2, 3))) == []


def test_a_rank_that_from_some_point_on_comes_from_lines_of_its_own_is_none():
    dump = loop(3, 10)
    for seq in range(11, 31):
        dump.call("all_reduce", seq, place=f"evaluate@eval.py:{seq % 5}")
    assert found(*others(30), dump) == []


def test_a_loop_of_one_call_site_can_show_no_shift():
    one = ("forward@train.py:10",)
    assert found(*(loop(r, 30, step=one) for r in range(3)), loop(3, 30, step=one, moved=1, at=11)) == []


def test_two_calls_after_the_parting_are_too_few():
    assert found(*others(12), loop(3, 12, moved=-1, at=11)) == []
    assert found(*others(14), loop(3, 14, moved=-1, at=11)) == [(3, 11, -1)]


def test_there_must_be_calls_that_agreed_before():
    assert found(*others(30), loop(3, 30, moved=1, at=3)) == []
    assert found(*others(30), loop(3, 30, moved=1, at=4)) == [(3, 4, 1)]
    late = [loop(r, 30, first=10) for r in range(3)]
    assert found(*late, loop(3, 30, moved=1, at=11, first=10)) == []


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("which", [0, 1])
def test_of_two_ranks_none_is_the_majority(which, by):
    assert found(*(loop(r, 30, moved=by if r == which else 0, at=11, group=PAIR) for r in (0, 1))) == []


def test_two_against_two_is_no_majority():
    dumps = [loop(r, 30) for r in (0, 1)] + [loop(r, 30, moved=1, at=11) for r in (2, 3)]
    assert found(*dumps) == []


def test_two_ranks_may_be_apart_where_three_are_not():
    five = Pg("0", "default_pg", (0, 1, 2, 3, 4))
    dumps = [loop(r, 30, group=five) for r in range(3)]
    dumps += [loop(3, 30, moved=1, at=11, group=five), loop(4, 30, moved=-1, at=15, group=five)]
    assert found(*dumps) == [(3, 11, 1), (4, 15, -1)]


def test_a_few_calls_that_fit_nothing_do_not_hide_it():
    """One in ten may come from elsewhere (a checkpoint, a warning)."""
    dump = loop(3, 30, moved=1, at=11)
    for entry in dump.entries:
        if entry["seq"] == 20:
            entry["stack"] = rank(0).call("all_reduce", 1, place="save@ckpt.py:5").entries[0]["stack"]
    assert found(*others(40), dump) == [(3, 11, 1)]


def test_calls_that_fit_are_counted():
    """Calls 11 to 30 of a whole loop: the call site of 30 is that of 31, which the others have not made."""
    (shift,) = all_of(*others(30), loop(3, 30, moved=1, at=11))
    assert shift.fits == 19


def test_of_a_loop_of_two_call_sites_skipped_and_repeated_look_alike():
    """Moved forward or back by one it is the same loop: which of the two it was is not known, so neither may be said."""
    two = STEP[:2]
    dumps = [loop(r, 30, step=two) for r in range(3)]
    told = {by for _, _, by in found(*dumps, loop(3, 30, step=two, moved=-1, at=11))}
    assert told.isdisjoint({1, -1})


def test_a_shift_in_one_group_is_none_in_another():
    tp = Pg("7", "tp", (0, 1, 2, 3))
    dumps = [loop(r, 30) for r in range(4)]
    for number, dump in enumerate(dumps):
        dump.entries += loop(number, 30, group=tp, moved=1 if number == 3 else 0, at=11).entries
        dump.knows(WORLD, tp)
    made = steps(*dumps)
    assert [(s.group, s.rank) for s in shifts(made.calls)] == [(made.group(tp), 3)]


def test_open_calls_have_call_sites_too():
    dumps = others(30)
    dumps.append(loop(3, 14, moved=-1, at=11).call("all_reduce", 15, OPEN, place=STEP[1]))
    assert found(*dumps) == [(3, 11, -1)]
