"""How far clocks are apart, measured on calls that all completed, and who comes late to calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.engine.clocks import clocks, newest, stragglers, uncertainty_ns
from hangview.terms import Clock
from tests.engine.support import OPEN, SECOND, WORLD, Dump, Pg, rank, steps

if TYPE_CHECKING:
    from collections.abc import Mapping

MS = SECOND // 1000


def measured(*dumps: Dump) -> list[tuple[tuple[int, ...], float]]:
    """(ranks, offset in seconds); times since the epoch do not fit the nanosecond into a float."""
    found = steps(*dumps)
    return [(c.ranks, round(c.offset_ns / SECOND, 6)) for c in clocks(found.records, newest(found.calls))]


def job(last: int, ahead: Mapping[int, float], hosts: Mapping[int, str] | None = None) -> list[Dump]:
    """Four ranks whose clocks are so many seconds ahead."""
    return [rank(r, host=(hosts or {}).get(r)).clock(ahead.get(r, 0.0)).calls("all_reduce", 1, last) for r in range(4)]


# -- clocks --------------------------------------------------------------------------------------------------------------


def test_a_clock_that_is_ahead_is_measured_against_the_median():
    assert measured(*job(20, {2: 3.0})) == [((2,), 3.0), ((0,), 0.0), ((1,), 0.0), ((3,), 0.0)]


def test_so_is_one_that_is_behind():
    assert measured(*job(20, {1: -0.5}))[0] == ((1,), -0.5)


def test_ranks_of_one_host_share_a_clock():
    hosts = {0: "a", 1: "a", 2: "b", 3: "b"}
    found = measured(*job(20, {2: 4.0, 3: 4.0}, hosts))
    assert dict(found) == {(0, 1): -2.0, (2, 3): 2.0}


def test_calls_and_spread_are_told():
    """Rank 3 notes the completion of every other call 100 ms late, as its watchdog comes round."""
    dumps = [rank(r).calls("all_reduce", 1, 20) for r in range(3)]
    late = rank(3)
    for seq in range(1, 21):
        late.call("all_reduce", seq, took=0.01 if seq % 2 else 0.11)
    made = steps(*dumps, late)
    (mine,) = (c for c in clocks(made.records, newest(made.calls)) if c.ranks == (3,))
    assert (round(mine.spread_ns / MS), mine.calls) == (100, 20)


def test_calls_that_not_all_completed_are_not_measured():
    dumps = [rank(r).clock(r).calls("all_reduce", 1, 2) for r in range(3)]
    assert measured(*dumps, rank(3).calls("all_reduce", 1, 2, OPEN)) == []


def test_recorders_that_note_no_completion_have_no_clock():
    assert measured(*(rank(r, "gloo").calls("all_reduce", 1, 20) for r in range(4))) == []


def test_rooted_calls_end_at_different_times_and_are_not_measured():
    assert measured(*(rank(r).calls("broadcast", 1, 20, took=r + 0.1) for r in range(4))) == []


def test_the_largest_group_of_a_rank_measures_its_clock():
    """In its pair rank 3 is half of the median; in the whole group it is one of four."""
    pair = Pg("5", "pair", (2, 3))
    dumps = job(20, {3: 1.0})
    for dump in dumps[2:]:
        dump.calls("all_reduce", 1, 20, group=pair)
    assert dict(measured(*dumps))[3,] == 1.0


@pytest.mark.parametrize(
    ("found", "half"),
    [
        ((), None),
        ((Clock((0,), 0, 0, 5),), 0),
        ((Clock((0,), 3000, 0, 5), Clock((1,), -1000, 0, 5)), 2000),
        ((Clock((0,), 3000, 100, 5), Clock((1,), -1000, 500, 5)), 2250),
    ],
)
def test_what_cannot_be_told_apart_is_half_the_offsets_and_half_the_spread(found, half):
    assert uncertainty_ns(found) == half


# -- stragglers ----------------------------------------------------------------------------------------------------------


def late(*dumps: Dump) -> list[tuple[int, int, int, int]]:
    """(rank, by in ms, since, calls)."""
    return [(x.rank, round(x.by_ns / MS), x.since, x.calls) for x in stragglers(newest(steps(*dumps).calls))]


def tardy(number: int, first: int, last: int, delays: Mapping[int, float], group: Pg = WORLD) -> Dump:
    """Calls ``first`` to ``last``, those in ``delays`` requested so many seconds late."""
    dump = rank(number)
    for seq in range(first, last + 1):
        dump.call("all_reduce", seq, at=seq + delays.get(seq, 0.0), took=0.5, group=group)
    return dump


def on_time(last: int) -> list[Dump]:
    return [rank(r).calls("all_reduce", 1, last, took=0.5) for r in range(3)]


def test_a_rank_that_comes_late_to_all_newest_calls_is_a_straggler():
    assert late(*on_time(32), tardy(3, 1, 32, dict.fromkeys(range(21, 33), 0.2))) == [(3, 200, 21, 12)]


def test_a_rank_that_was_always_late_has_another_clock():
    assert late(*on_time(32), tardy(3, 1, 32, dict.fromkeys(range(1, 33), 0.2))) == []


def test_a_few_milliseconds_are_nothing():
    assert late(*on_time(32), tardy(3, 1, 32, dict.fromkeys(range(21, 33), 0.04))) == []


def test_one_call_on_time_among_the_newest_and_it_is_none():
    delays = dict.fromkeys(range(21, 33), 0.2)
    del delays[30]
    assert late(*on_time(32), tardy(3, 1, 32, delays)) == []


def test_late_once_and_on_time_again_is_none():
    assert late(*on_time(32), tardy(3, 1, 32, {20: 5.0})) == []


def test_too_few_calls_say_nothing():
    assert late(*on_time(12), tardy(3, 1, 12, dict.fromkeys(range(5, 13), 0.2))) == []


def test_a_few_calls_among_others_that_say_nothing_are_too_few():
    """Of the newest numbers only two are calls that everyone must come to."""
    dumps = []
    for r in range(4):
        dump = tardy(r, 1, 24, {})
        for seq in range(25, 33):
            op = "all_reduce" if seq in (28, 32) else "broadcast"
            dump.call(op, seq, at=seq + (0.2 if r == 3 else 0.0), took=0.5)
        dumps.append(dump)
    assert late(*dumps) == []


def test_calls_that_are_not_over_say_nothing():
    dumps = [rank(r).calls("all_reduce", 1, 32, OPEN) for r in range(3)]
    assert late(*dumps, tardy(3, 1, 32, dict.fromkeys(range(21, 33), 0.2))) == []


def test_a_clock_that_is_ahead_does_not_make_a_straggler():
    dumps = [*on_time(32), tardy(3, 1, 32, dict.fromkeys(range(21, 33), 0.2))]
    for dump in dumps[1:2]:
        for entry in dump.entries:
            entry["created_ns"] += 3600 * SECOND
    assert [x[0] for x in late(*dumps)] == [3]
