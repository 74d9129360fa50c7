"""Communicators that are torn down end their kernels: what a rank waited in then says completed."""

from __future__ import annotations

import pytest

from hangview.incident import Kind, Verdict
from tests.engine.support import DONE, OPEN, Dump, How, Pg, look, rank

PAIR = Pg("2", "tp", (2, 3))


def waited(number: int, seconds: float | None, op: str = "all_reduce") -> Dump:
    """A rank that came to 42 and saw it end after so many seconds, as the last thing in its file; None: not at all."""
    dump = rank(number).calls("all_reduce", 1, 41)
    how: How = OPEN if seconds is None else DONE
    return dump.call(op, 42, how, took=seconds or 0.0)


def test_ranks_that_were_torn_down_before_their_time_out_did_not_finish():
    """Rank 3 stopped; a minute later 0 and 1 gave up and dumped, rank 2 had dumped before. The time-out is ten minutes."""
    incident = look(waited(0, 60.0), waited(1, 60.0), waited(2, None), rank(3).calls("all_reduce", 1, 41))
    assert incident.leads == (3,)
    assert incident.findings[0].kind is Kind.NOT_REQUESTED


def test_so_it_is_when_all_who_waited_were():
    incident = look(*(waited(r, 60.0) for r in range(3)), rank(3).calls("all_reduce", 1, 41))
    assert incident.leads == (3,)


def test_the_time_out_of_one_group_ends_the_works_of_others():
    """0 waits in the world's call for 3 and was torn down with rank 2's group."""
    dumps = [
        rank(0).calls("all_reduce", 1, 41).call("all_reduce", 42, DONE, took=180.0),
        rank(1).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN),
        rank(2)
        .calls("all_gather", 1, 4, group=PAIR)
        .calls("all_reduce", 1, 41)
        .call("all_gather", 5, OPEN, group=PAIR, at=42.0),
        rank(3).calls("all_gather", 1, 4, group=PAIR).calls("all_reduce", 1, 41),
    ]
    assert look(*dumps).leads == (3,)


@pytest.mark.parametrize("op", ["all_reduce", "broadcast"])
def test_a_long_wait_that_ended_well_is_none(op):
    """Rank 0 came a minute late to the last call of the job, which then went through on all."""
    late = rank(0).calls("all_reduce", 1, 41).call(op, 42, DONE, at=102.0, took=0.01)
    incident = look(late, *(waited(r, 60.0, op) for r in (1, 2, 3)))
    assert incident.verdict is Verdict.NO_HANG
    assert incident.findings == ()


def test_nor_is_one_after_which_the_rank_went_on():
    dumps = [waited(r, 60.0).call("all_reduce", 43, OPEN, at=102.5) for r in (0, 1, 2)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41).call("all_reduce", 42, at=102.0))
    assert incident.leads == (3,)
    assert incident.findings[0].seq == 43


def test_a_broadcast_whose_root_was_done_before_is_not_over_on_those_that_were_torn_down():
    incident = look(
        rank(0).calls("all_reduce", 1, 41).call("broadcast", 42, DONE, took=0.01),
        *(waited(r, 60.0, "broadcast") for r in (1, 2)),
        rank(3).calls("all_reduce", 1, 41),
    )
    assert incident.leads == (3,)
