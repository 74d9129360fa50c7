"""Recorders that only say that a call is over: a rank whose call is over is not said to wait in it."""

from __future__ import annotations

from hangview.tui.prose import plain
from hangview.tui.text.rank import rank_lines
from hangview.tui.text.waits import wait_lines
from tests.engine.support import ISSUED, OPEN, How, look, rank


def four(library: str, how: How | None = None):
    """Ranks 0-2 requested all_reduce 42, rank 3 stopped before it."""
    rest = () if how is None else (how,)
    return look(*(rank(r, library).calls("all_reduce", 1, 42 if r < 3 else 41, *rest) for r in range(4)))


def test_that_it_is_over_is_said_wherever_who_waits_is_told():
    incident = four("gloo")
    over = "requested default_pg 42 without rank 3: it is over there, well or badly is not recorded"
    assert f"ranks 0-2 {over}" in plain(each for _, each in wait_lines(incident))
    page = plain(rank_lines(incident, 0))
    assert page.startswith(f"rank 0 requested what others did not\n· {over}\n")
    assert "without rank 3" in page.partition("newest from")[2].splitlines()[1]
    assert "· ranks 0-2 requested default_pg 42 without it" in plain(rank_lines(incident, 3))


def test_of_what_is_marked_as_over_at_once_nothing_is_said():
    assert "without rank 3: whether it is over there is not recorded" in plain(rank_lines(four("xccl", ISSUED), 0))


def test_a_request_that_is_open_waits():
    dumps = [rank(r).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41))
    assert plain(rank_lines(incident, 0)).startswith("rank 0 waits\n· waits for rank 3 in default_pg 42, host side\n")
    assert "ranks 0-2 wait in default_pg 42 for rank 3" in plain(each for _, each in wait_lines(incident))
