"""Dumps that were written before calls that others completed with that rank: what proves it, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.schema import CellState
from hangview.terms import Kind
from tests.engine.support import OPEN, WORLD, Pg, alike, look, lost, rank, window

if TYPE_CHECKING:
    from tests.engine.support import Dump

NOT_REQUESTED = CellState.NOT_REQUESTED
BEFORE = CellState.BEFORE_DUMP
UNTOLD = CellState.NOT_RECORDED
TP = Pg("7", "tp", (0, 1, 2, 3))


def test_a_call_that_others_completed_shows_that_a_dump_is_older():
    """An all_reduce that rank 0 completed had rank 3's part: rank 3's file was written before."""
    done = [rank(r).calls("all_reduce", 1, 42) for r in range(3)]
    found = window(3, *done, rank(3).calls("all_reduce", 1, 41))
    assert (found.newest, found.above, found.covers) == (41, BEFORE, False)


def test_one_member_that_completed_it_is_enough():
    dumps = [rank(0).calls("all_reduce", 1, 42), *alike((1, 2), "all_reduce", 42)]
    assert window(3, *dumps, rank(3).calls("all_reduce", 1, 41)).above is BEFORE


def test_an_older_dump_is_older_in_every_group():
    done = [rank(r).calls("all_reduce", 1, 42).call("all_reduce", 1, OPEN, group=TP) for r in range(3)]
    found = window(3, *done, rank(3).calls("all_reduce", 1, 41).knows(TP), group=TP)
    assert found.above is BEFORE


def test_a_rooted_operation_proves_nothing_of_the_others():
    """The root of a broadcast may be done while a member has not come."""
    done = [rank(0).calls("all_reduce", 1, 41).call("broadcast", 42), *(rank(r).calls("all_reduce", 1, 41) for r in (1, 2))]
    assert window(3, *done, rank(3).calls("all_reduce", 1, 41)).above is NOT_REQUESTED


def test_nor_does_one_that_all_others_completed():
    """DDP's buffers: three of four are served and wait in the next all_reduce; rank 3 is still in its data loader."""
    dumps = [rank(r).calls("all_reduce", 1, 41).call("broadcast", 42).call("all_reduce", 43, OPEN) for r in range(3)]
    assert window(3, *dumps, rank(3).calls("all_reduce", 1, 41)).above is NOT_REQUESTED


def test_a_dump_without_a_record_here_although_others_completed_was_not_recording():
    done = [rank(r).calls("all_reduce", 1, 3).calls("all_reduce", 1, 5, group=TP) for r in range(3)]
    found = window(3, *done, rank(3).calls("all_reduce", 1, 3).knows(TP), group=TP)
    assert (found.newest, found.above, found.covers) == (None, UNTOLD, False)


def test_an_empty_dump_is_evidence_only_while_nothing_was_completed():
    none_yet = window(3, *alike((0, 1, 2), "all_reduce", 1), rank(3).knows(WORLD))
    assert (none_yet.newest, none_yet.covers) == (0, True)
    later = window(3, *alike((0, 1, 2), "all_reduce", 2), rank(3).knows(WORLD))
    assert (later.newest, later.covers) == (None, False)


def test_a_dump_that_lacks_the_group_is_no_evidence_once_others_completed_calls_of_it():
    done = [rank(r).calls("all_reduce", 1, 3).calls("all_reduce", 1, 5, group=TP) for r in range(3)]
    assert window(3, *done, rank(3).calls("all_reduce", 1, 3), group=TP).above is UNTOLD


def gloo(number: int, first: int, last: int, then: int | None = None) -> Dump:
    dump = rank(number, "gloo").calls("all_reduce", first, last)
    return dump if then is None else dump.call("all_reduce", then, OPEN)


def test_the_last_call_that_gloo_says_is_over_may_have_failed():
    dumps = [gloo(r, 1, 42) for r in range(3)]
    assert window(3, *dumps, gloo(3, 1, 41)).above is NOT_REQUESTED


def test_so_may_the_only_one():
    dumps = [gloo(r, 1, 1) for r in range(3)]
    assert window(3, *dumps, rank(3, "gloo").call("broadcast", 1, OPEN, group=TP)).newest == 0


def test_a_call_before_another_one_that_is_over_did_not_fail():
    dumps = [gloo(r, 1, 43) for r in range(3)]
    assert window(3, *dumps, gloo(3, 1, 41)).above is BEFORE


def test_counters_of_half_the_members_and_one_more_prove_a_call():
    """Completed records are left out of these dumps; one counter may be wrong, three of four are not."""
    some = [rank(r).only_active().knows(WORLD).counts(42, 42) for r in range(3)]
    assert window(3, *some, rank(3).only_active().knows(WORLD).counts(41, 41)).above is BEFORE
    few = [rank(r).only_active().knows(WORLD).counts(42, n) for r, n in ((0, 42), (1, 41), (2, 41))]
    assert window(3, *few, rank(3).only_active().knows(WORLD).counts(41, 41)).above is NOT_REQUESTED


def test_who_is_behind_what_went_on_without_it_is_not_accused_where_members_are_inferred():
    """Its dump is older, or the name is that of two groups: in neither case did the others wait for it."""
    odd = Pg("a", "", (0, 1, 2, 3))
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 9, group=odd) for r in range(3)]
    assert window(3, *dumps, rank(3, "gloo").calls("all_reduce", 1, 5, group=odd), group=odd).above is BEFORE


def test_inferred_members_that_wait_for_one_of_them_may_be_a_group_of_their_own():
    """Ranks 0 to 2 went on to 9 under this name; ranks 3 and 4 wait in 6, for which rank 5 did not come."""
    odd = Pg("a", "", (0, 1, 2, 3, 4, 5))
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 9, group=odd) for r in range(3)]
    dumps += [rank(r, "gloo").calls("all_reduce", 1, 5, group=odd).call("all_reduce", 6, OPEN, group=odd) for r in (3, 4)]
    assert window(5, *dumps, rank(5, "gloo").calls("all_reduce", 1, 5, group=odd), group=odd).above is NOT_REQUESTED


@pytest.mark.parametrize(("stops", "above"), [(4, BEFORE), (5, NOT_REQUESTED)])
def test_a_job_that_runs_has_members_inside_a_call_and_others_outside_by_chance(stops, above):
    """Ranks 0 and 1 went on to 9 under this name. Rank 2 is inside 6; only who stopped at 5 can be whom it waits for."""
    odd = Pg("a", "", (0, 1, 2, 3))
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 9, group=odd) for r in (0, 1)]
    dumps.append(rank(2, "gloo").calls("all_reduce", 1, 5, group=odd).call("all_reduce", 6, OPEN, group=odd))
    assert window(3, *dumps, rank(3, "gloo").calls("all_reduce", 1, stops, group=odd), group=odd).above is above


def test_numbers_that_are_not_judged_prove_nothing():
    """About torch 2.5 batches took numbers of the lane: a stage with fewer batches is not behind."""
    busy = [rank(r).batch(0, to=(3,), seq=1).batch(0, to=(3,), seq=2).call("all_reduce", 3) for r in range(3)]
    assert window(3, *busy, rank(3).call("all_reduce", 1)).above is NOT_REQUESTED


def test_who_caught_a_time_out_and_went_on_proves_nothing():
    """gloo: 42 failed after its time-out, the error was caught, and the next call was made: rank 3 was never in 42."""
    dumps = [
        rank(r, "gloo").calls("all_reduce", 1, 41).call("all_reduce", 42, timeout_ms=2_000).call("barrier", 43, at=42 + later)
        for r, later in ((0, 2.0), (1, 2.0), (2, 2.1))
    ]
    assert window(3, *dumps, gloo(3, 1, 41)).above is NOT_REQUESTED
    soon = [
        rank(r, "gloo").calls("all_reduce", 1, 41).call("all_reduce", 42, timeout_ms=2_000).call("barrier", 43, at=43.0)
        for r in range(3)
    ]
    assert window(3, *soon, gloo(3, 1, 41)).above is BEFORE


def test_a_dump_that_ends_before_a_send_which_its_receiver_completed_is_older():
    """Rank 1 completed the third message of rank 0, whose dump ends after the second."""
    pipe = Pg("5", "pp", (0, 1))
    receiver = rank(1).recv(0, 1, group=pipe).recv(0, 2, group=pipe).recv(0, 3, group=pipe)
    sender = rank(0).send(1, 1, group=pipe).send(1, 2, group=pipe).calls("all_reduce", 1, 41)
    others = alike((2, 3), "all_reduce", 42)
    early = look(sender, receiver.calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN), *others)
    assert early.leads == ()
    assert "written before" in early.findings[0].evidence[0].text
    open_there = rank(1).recv(0, 1, group=pipe).recv(0, 2, group=pipe).recv(0, 3, OPEN, group=pipe)
    assert look(sender, open_there.calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN), *others).leads == (0,)


def test_a_call_ended_well_if_a_later_one_of_its_group_is_still_open():
    """gloo breaks a group with the first call that fails: 16 would not be open still. Rank 2's dump is of the moment in which
    its program had gone on from 15 and its recorder had not noted that yet: who did not come to 16 is rank 2."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 15).call("all_reduce", 16, OPEN) for r in (0, 1, 3)]
    late = rank(2, "gloo").calls("all_reduce", 1, 14).call("all_reduce", 15, OPEN)
    incident = look(*dumps, late)
    assert incident.leads == (2,)
    assert (incident.findings[0].kind, incident.findings[0].seq) == (Kind.NOT_REQUESTED, 16)


def test_after_a_call_that_failed_none_of_its_group_ends_well():
    """The barrier timed out, was caught and tried again twice, which failed at once: rank 1 never came."""
    dumps = [gloo(r, 1, 18) for r in (0, 2, 3)]
    for each in dumps:
        for seq, at in ((19, 19.0), (20, 23.01), (21, 23.0101)):
            each.call("barrier", seq, at=at, size=(), timeout_ms=4000)
    assert window(1, *dumps, gloo(1, 1, 18)).above is NOT_REQUESTED
    assert look(*dumps, gloo(1, 1, 18)).leads == (1,)


def test_a_call_before_the_one_that_failed_ended_well():
    dumps = [gloo(r, 1, 18) for r in (0, 2, 3)]
    for each in dumps:
        for seq, at in ((19, 19.0), (20, 23.01)):
            each.call("barrier", seq, at=at, size=(), timeout_ms=4000)
    assert window(1, *dumps, gloo(1, 1, 17)).above is BEFORE


def test_a_pause_in_which_all_went_on_breaks_no_group():
    """Nine seconds of validation between calls of four seconds' patience: all had come to 10, and to fifty more. Rank 3's dump
    was written a moment before the others', of a job that runs or that hangs later."""

    def job(number: int, last: int) -> Dump:
        dump = rank(number, "gloo").calls("all_reduce", 1, 10, timeout_ms=4000)
        for seq in range(11, last + 1):
            dump.call("all_reduce", seq, at=seq + 9.0, timeout_ms=4000)
        return dump

    dumps = [job(r, 60) for r in range(3)]
    assert window(3, *dumps, job(3, 55)).above is BEFORE
    assert look(*dumps, job(3, 55)).leads == ()
    hung = [job(r, 60).call("all_reduce", 61, OPEN, at=70.0, timeout_ms=4000) for r in (0, 1)]
    assert look(*hung, job(2, 60), job(3, 55)).leads == (2,)


def test_calls_side_by_side_that_fail_together_prove_nothing():
    """DDP's buckets are in flight together. Rank 3 died: on 0 and 2 two of them ended with an error, rank 1 waits in one."""
    dumps = [gloo(r, 1, 24) for r in (0, 2)]
    incident = look(*dumps, gloo(1, 1, 22, 23), lost(3))
    assert incident.leads == ()


def test_a_call_that_is_open_between_other_ranks_proves_nothing_of_one_that_lost_its_connection():
    """Rank 3 died before 6; 0 and 2 caught the lost connection and wait in a broadcast for rank 1, which waits in 6."""
    dumps = [gloo(r, 1, 6).call("broadcast", 7, OPEN) for r in (0, 2)]
    assert look(*dumps, gloo(1, 1, 5, 6), gloo(3, 1, 5)).leads == (3,)
