"""Communicators that are torn down end their kernels: what a rank waited in then says completed."""

from __future__ import annotations

import pytest

from hangview.incident import Verdict
from tests.engine.support import DONE, OPEN, Dump, How, Pg, look, rank

PAIR = Pg("2", "tp", (2, 3))


def waited(number: int, seconds: float | None, op: str = "all_reduce") -> Dump:
    """A rank that came to 42 and saw it end after so many seconds, as the last thing in its file; None: not at all."""
    dump = rank(number).calls("all_reduce", 1, 41)
    how: How = OPEN if seconds is None else DONE
    return dump.call(op, 42, how, took=seconds or 0.0)


def pair(number: int, then: How | None, took: float = 0.0) -> Dump:
    """A rank of the pair, whose time-out is three minutes; ``then``: what became of its fifth call there, at 42 s."""
    dump = rank(number).calls("all_gather", 1, 4, group=PAIR).calls("all_reduce", 1, 41)
    return dump if then is None else dump.call("all_gather", 5, then, group=PAIR, at=42.0, took=took, timeout_ms=180_000)


@pytest.mark.parametrize("seconds", [180.0, 182.0])
def test_the_time_out_of_one_group_ends_the_works_of_others(seconds):
    """Rank 3 stopped. Rank 2 waited for it in the pair until the time-out, rank 0 in the world's call, of ten minutes; then the
    job was torn down, and their kernels ended."""
    dumps = [waited(0, seconds), waited(1, None), pair(2, DONE, took=181.0), pair(3, None)]
    assert look(*dumps).leads == (3,)


def test_what_ended_at_another_time_was_no_part_of_it():
    """Ranks 0 and 1 completed 42 two minutes before: rank 3 had come to it, and its dump is older."""
    incident = look(waited(0, 60.0), waited(1, 60.0), pair(2, DONE, took=181.0), pair(3, None))
    assert 3 not in incident.leads


@pytest.mark.parametrize("op", ["all_reduce", "broadcast"])
def test_a_call_that_completed_after_its_time_out_on_a_late_members_request_is_over(op):
    """Rank 0 came eleven minutes late to the last call of the job, which then went through on all."""
    late = rank(0).calls("all_reduce", 1, 41).call(op, 42, DONE, at=702.0, took=0.01)
    incident = look(late, *(waited(r, 660.0, op) for r in (1, 2, 3)))
    assert incident.verdict is Verdict.NO_HANG
    assert incident.findings == ()


def test_a_broadcast_whose_root_was_done_long_before_is_not_over_on_those_that_were_torn_down():
    incident = look(
        rank(0).calls("all_reduce", 1, 41).call("broadcast", 42, DONE, took=0.01),
        *(waited(r, 660.0, "broadcast") for r in (1, 2)),
        rank(3).calls("all_reduce", 1, 41),
    )
    assert incident.leads == (3,)


@pytest.mark.parametrize("seconds", [40.0, 599.0])
def test_a_long_call_within_its_time_out_is_completed(seconds):
    """A checkpoint, a first call that makes its communicator: completed is completed, whoever's dump lacks it."""
    incident = look(*(waited(r, seconds) for r in (0, 2, 3)), rank(1).calls("all_reduce", 1, 41))
    assert incident.verdict is Verdict.NO_HANG
    assert incident.leads == ()
