"""Communicators that are torn down end their kernels: what a rank waited in then says completed."""

from __future__ import annotations

import pytest

from hangview.terms import Kind, Role, Verdict
from tests.engine.support import DONE, OPEN, Dump, How, Pg, look, rank

PAIR = Pg("2", "tp", (2, 3))


def waited(number: int, seconds: float | None, op: str = "all_reduce") -> Dump:
    """A rank that came to 42 and saw it end after so many seconds, as the last thing in its file; None: not at all."""
    dump = rank(number).calls("all_reduce", 1, 41)
    how: How = OPEN if seconds is None else DONE
    return dump.call(op, 42, how, took=seconds or 0.0)


def came(number: int) -> Dump:
    """A rank whose dump ends below that."""
    return rank(number).calls("all_reduce", 1, 41)


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
def test_a_long_call_within_its_time_out_is_no_abort_for_sure(seconds):
    """A checkpoint, a first call that makes its communicator: whose dump lacks it may have been asked before. Or somebody tore
    the job down, in which rank 1 had not come: the records are the same."""
    incident = look(*(waited(r, seconds) for r in (0, 2, 3)), rank(1).calls("all_reduce", 1, 41))
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert incident.leads == ()
    (note,) = incident.findings
    assert (note.kind, note.role, note.ranks, note.others, note.seq) == (Kind.NOT_OBSERVED, Role.NOTE, (1,), (0, 2, 3), 42)


def test_a_dump_from_before_an_abort_is_not_that_of_a_rank_that_alone_is_stuck():
    """Rank 3 stopped; the job was aborted after a minute, and of those that waited rank 2's dump was written before that."""
    incident = look(waited(0, 60.0), waited(1, 60.0), waited(2, None), came(3))
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert incident.leads == ()
    assert (Kind.PARTLY_COMPLETED, (2,)) in [(note.kind, note.ranks) for note in incident.findings]


@pytest.mark.parametrize("seconds", [0.01, 10.0])
def test_a_quick_call_that_a_dump_lacks_was_made_after_it(seconds):
    incident = look(*(waited(r, seconds) for r in (0, 2, 3)), came(1))
    assert incident.verdict is Verdict.NO_HANG
    assert incident.findings == ()


def test_a_long_call_after_which_others_went_on_was_completed():
    went_on = [waited(r, 40.0).call("all_reduce", 43, DONE, at=90.0) for r in (0, 2)]
    incident = look(*went_on, waited(3, 40.0), came(1))
    assert incident.verdict is Verdict.NO_HANG
    assert incident.findings == ()
