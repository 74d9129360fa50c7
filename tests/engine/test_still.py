"""Which open calls are known to stand still: by what the recorder, the rank's own later records, or a watchdog says."""

from __future__ import annotations

import pytest

from hangview.engine.still import standing, stands
from tests.engine.support import DONE, FAILED, OPEN, PAIR, Dump, Pg, rank, steps

WORLD_41, WORLD_42 = (0, "collective", 41), (0, "collective", 42)
OWN = Pg("5", "own", (0,))


def of(*dumps: Dump, timed_out: frozenset[tuple[int, int, int]] = frozenset()) -> frozenset[tuple[int, str, int, int]]:
    return standing(steps(*dumps).entries, timed_out)


@pytest.mark.parametrize(("how", "known"), [(OPEN, False), (FAILED, True), (DONE, False)])
def test_what_the_recorder_gave_up(how, known):
    found = of(rank(0).calls("all_reduce", 1, 41).call("all_reduce", 42, how))
    assert stands(found, WORLD_42, 0) is known
    assert not stands(found, WORLD_41, 0)
    assert not stands(found, WORLD_42, 1)


@pytest.mark.parametrize(("later", "known"), [(101.0, False), (103.0, True)])
def test_the_ranks_own_records_go_on_for_a_minute(later, known):
    """The call at 42 s; of another rank's later records nothing follows: its dump is a later one."""
    mine = rank(0).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN, at=42.0).call("all_reduce", 1, group=OWN, at=later)
    other = rank(1).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN, at=42.0)
    later_dump = rank(2).calls("all_reduce", 1, 41).call("all_reduce", 42, at=900.0)
    found = of(mine, other, later_dump)
    assert stands(found, WORLD_42, 0) is known
    assert not stands(found, WORLD_42, 1)


def test_what_a_watchdog_says():
    found = of(rank(0).calls("all_reduce", 1, 41), timed_out=frozenset({(0, 42, 0)}))
    assert stands(found, WORLD_42, 0)
    assert not stands(found, WORLD_41, 0)


def test_sends_and_receives_of_a_rank_are_one():
    found = of(rank(0).send(1, 1, FAILED, group=PAIR), rank(1).recv(0, 1, OPEN, group=PAIR))
    assert stands(found, (0, "p2p 0->1", 1), 0)
    assert not stands(found, (0, "p2p 0->1", 1), 1)
