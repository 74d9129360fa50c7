"""How far each rank's records reach, and what a missing record beyond that means: no verdict from absence without a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.engine.groups import resolve
from hangview.engine.windows import blank, maybe_open
from hangview.incident import Group
from hangview.schema import CellState, Source, SourceKind, SourceStatus
from tests.engine.support import DONE, ISSUED, OPEN, WORLD, Pg, alike, look, lost, rank, records, steps

if TYPE_CHECKING:
    from hangview.engine.windows import Window
    from tests.engine.support import Dump

NOT_REQUESTED, OVERWRITTEN, OMITTED, CUT = (
    CellState.NOT_REQUESTED,
    CellState.OVERWRITTEN,
    CellState.OMITTED,
    CellState.CUT,
)
NO_DUMP, ABSENT, BEFORE, UNTOLD = (
    CellState.NO_DUMP,
    CellState.GROUP_ABSENT,
    CellState.BEFORE_DUMP,
    CellState.NOT_RECORDED,
)
TP = Pg("7", "tp", (0, 1, 2, 3))


def window(number: int, *dumps: Dump | Source, group: Pg = WORLD) -> Window:
    found = steps(*dumps)
    return found.windows[found.group(group), number]


def three(last: int = 42) -> list[Dump]:
    """Ranks 0 to 2, waiting in ``last``."""
    return alike((0, 1, 2), "all_reduce", last)


# -- a dump with records -------------------------------------------------------------------------------------------------


def test_a_whole_dump_stops_where_its_records_stop():
    found = window(3, *three(), rank(3).calls("all_reduce", 30, 41))
    assert (found.oldest, found.newest, found.newest_from, found.last_done, found.open_seq) == (30, 41, "entry", 41, None)
    assert (found.above, found.inside, found.below) == (NOT_REQUESTED, UNTOLD, UNTOLD)
    assert found.covers
    assert found.newest_record == 11
    assert found.reason == "dump is whole, newest entry is 41"


def test_the_first_open_request_is_the_lowest_one():
    found = window(0, rank(0).call("all_reduce", 7).call("all_reduce", 9, OPEN).call("all_reduce", 8, OPEN))
    assert (found.open_seq, found.open_position, found.newest, found.last_done) == (8, 2, 9, 7)


def test_below_a_wrapped_ring_buffer_is_overwritten():
    found = window(3, *three(), rank(3).wrapped().calls("all_reduce", 30, 41))
    assert (found.above, found.below) == (NOT_REQUESTED, OVERWRITTEN)


def test_an_only_active_dump_leaves_out_what_is_below_and_between():
    found = window(3, *three(), rank(3).only_active().call("all_reduce", 41, OPEN))
    assert (found.above, found.inside, found.below) == (NOT_REQUESTED, OMITTED, OMITTED)


# -- counters ------------------------------------------------------------------------------------------------------------


def test_counters_reach_further_than_records():
    found = window(3, *three(), rank(3).wrapped().calls("all_reduce", 30, 35).counts(41, 41))
    assert (found.newest, found.newest_from, found.last_done) == (41, "counter", 41)
    assert found.above is NOT_REQUESTED
    assert found.reason == "its counters stop at 41"


def test_a_record_reaches_further_than_a_counter():
    """nccl records before the launch and counts after it: a rank stuck in the launch has a record one above its counter."""
    found = window(3, *three(), rank(3).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN).counts(41, 41))
    assert (found.newest, found.newest_from, found.open_seq) == (42, "entry", 42)


def test_counters_alone_tell_the_open_request():
    """Its record is gone, its counters remember it."""
    found = window(3, *three(), rank(3).only_active().knows(WORLD).counts(42, 41))
    assert (found.oldest, found.newest, found.open_seq, found.open_position) == (None, 42, 42, None)
    assert found.above is NOT_REQUESTED


def test_counters_that_are_even_show_nothing_open():
    found = window(3, *three(), rank(3).only_active().knows(WORLD).counts(41, 41))
    assert (found.newest, found.open_seq, found.covers) == (41, None, True)


@pytest.mark.parametrize("never", [0, -1])
def test_counters_that_never_moved_say_that_nothing_was_requested(never):
    found = window(3, *alike((0, 1, 2), "all_reduce", 1), rank(3).only_active().knows(WORLD).counts(never, never))
    assert (found.newest, found.above, found.covers) == (0, NOT_REQUESTED, True)


def test_a_counter_that_counts_something_else_tells_nothing():
    """gloo counts operations; nccl mixes in sends and receives."""
    found = window(3, *three(), rank(3).wrapped().knows(WORLD).counts(None, None, raw=(900, 900)))
    assert (found.newest, found.above) == (None, OVERWRITTEN)


def test_a_counter_is_of_the_group_of_its_name():
    found = window(3, *three(), rank(3).calls("all_reduce", 1, 41).knows(TP).counts(99, 99, group=TP))
    assert found.newest == 41
    other = window(3, *three(), rank(3).calls("all_reduce", 1, 41).knows(TP).counts(99, 99, group=TP), group=TP)
    assert other.newest == 99


# -- a dump without a record of the group --------------------------------------------------------------------------------


def others_only() -> list[Dump]:
    """Ranks 0 to 2 wait in the first call of TP, and nothing else is known of it."""
    return [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 1, OPEN, group=TP) for r in range(3)]


def test_a_whole_dump_that_knows_the_group_requested_nothing_in_it():
    found = window(3, *others_only(), rank(3).calls("all_reduce", 1, 3).knows(TP), group=TP)
    assert (found.newest, found.newest_from, found.above) == (0, "nothing", NOT_REQUESTED)
    assert found.reason == "dump is whole and holds no request in this group"


def test_a_whole_dump_that_knows_other_groups_only_lacks_this_one():
    found = window(3, *others_only(), rank(3).calls("all_reduce", 1, 3), group=TP)
    assert found.above is ABSENT
    assert not found.covers


def test_a_dump_without_any_configuration_lacks_no_group():
    """Nothing is said of the groups: only that it requested nothing here."""
    found = window(3, *others_only(), rank(3).calls("all_reduce", 1, 3).unconfigured(), group=TP)
    assert found.above is NOT_REQUESTED


@pytest.mark.parametrize(
    ("dump", "state"),
    [
        (rank(3).calls("all_reduce", 1, 3).knows(TP).wrapped(), OVERWRITTEN),
        (rank(3).call("all_reduce", 3, OPEN).knows(TP).only_active(), OMITTED),
        (rank(3).calls("all_reduce", 1, 3).knows(TP).cut(), CUT),
        (rank(3).unconfigured(), UNTOLD),  # no entries, no groups, no counters: the recorder was off
        (rank(3, "nccl2").calls("all_reduce", 1, 3).knows(TP), UNTOLD),  # a file of one backend, the group of another
        (lost(3), NO_DUMP),
    ],
)
def test_what_may_have_been_lost_is_no_evidence(dump, state):
    found = window(3, *others_only(), dump, group=TP)
    assert (found.above, found.newest, found.covers) == (state, None, False)
    assert found.reason


def test_a_rank_without_a_file_has_the_reason_that_its_file_gives():
    assert window(3, *three(), lost(3, SourceStatus.REFUSED, "asks for code")).reason == "trace_rank_3: asks for code"
    assert window(3, *three()).reason == "no dump file of this rank was found"


def test_a_log_is_no_dump_of_a_rank():
    log = Source("rank_3.log", SourceKind.LOG, SourceStatus.READ, "read in part", rank=3)
    assert window(3, *three(), log).reason == "no dump file of this rank was found"


def test_all_windows_of_groups_that_no_dump_tells_of_are_empty():
    made = records(lost(0))
    found = blank(made, (Group(0, "0", "default_pg", (0, 1)),))
    assert {key: w.above for key, w in found.items()} == {(0, 0): NO_DUMP, (0, 1): NO_DUMP}


# -- a file that ends early ----------------------------------------------------------------------------------------------


def test_beyond_the_end_of_a_cut_file_nothing_is_known():
    found = window(3, *three(), rank(3).calls("all_reduce", 1, 20).cut())
    assert (found.newest, found.above, found.inside, found.covers) == (20, CUT, CUT, False)


def test_counters_of_a_cut_file_that_are_even_show_an_idle_rank():
    """They stand before the entries, so the cut did not reach them."""
    found = window(3, *three(), rank(3).calls("all_reduce", 1, 20).counts(41, 41).cut())
    assert (found.newest, found.above, found.covers) == (41, NOT_REQUESTED, True)


@pytest.mark.parametrize(
    "dump",
    [
        rank(3).calls("all_reduce", 1, 20).counts(41, 40).cut(),  # it is in 41
        rank(3).calls("all_reduce", 1, 20).counts(41, 41).counts(None, None, group=TP, raw=(9, 9)).cut(),
        rank(3).calls("all_reduce", 1, 20).counts(41, 41).counts(6, 5, group=TP).cut(),  # it waits in another group
    ],
)
def test_counters_of_a_cut_file_that_leave_anything_open_do_not(dump):
    found = window(3, *three(), dump)
    assert (found.above, found.covers) == (CUT, False)


# -- dumps that are older than what others completed ---------------------------------------------------------------------


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


def test_numbers_that_are_not_judged_prove_nothing():
    """About torch 2.5 batches took numbers of the lane: a stage with fewer batches is not behind."""
    busy = [rank(r).batch(0, to=(3,), seq=1).batch(0, to=(3,), seq=2).call("all_reduce", 3) for r in range(3)]
    assert window(3, *busy, rank(3).call("all_reduce", 1)).above is NOT_REQUESTED


# -- requests that are only known to be issued ---------------------------------------------------------------------------


def issued(number: int, last: int) -> Dump:
    return rank(number, "fake").calls("all_reduce", 1, last, ISSUED)


def silent(*dumps: Dump) -> frozenset[int]:
    found = steps(*dumps)
    return maybe_open(found.calls, found.windows)


def test_a_rank_at_the_front_may_still_be_in_its_newest_call():
    assert silent(*(issued(r, 5) for r in range(4))) == {0, 1, 2, 3}


def test_a_rank_that_another_went_beyond_is_not():
    assert silent(issued(0, 6), issued(1, 5), issued(2, 6), issued(3, 6)) == {0, 2, 3}


def test_where_completion_is_recorded_nobody_is_in_doubt():
    assert silent(*(rank(r, "nccl2").calls("all_reduce", 1, 5, DONE) for r in range(4))) == frozenset()


def test_windows_exist_for_every_member_and_for_nobody_else():
    dumps = (rank(0).knows(Pg("5", "dp", (0, 2))).call("all_reduce", 1), rank(2).knows(Pg("5", "dp", (0, 2))))
    found = steps(*dumps)
    groups = resolve(records(*dumps)).groups
    assert sorted(found.windows) == sorted((g.id, r) for g in groups for r in g.ranks)


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


def test_counters_that_say_more_than_the_records_leave_it_open_what_was_requested():
    """Rank 3 counts to 49, its whole dump ends at 41 of 42: whether it came to 42 is not known."""
    behind = rank(3).calls("all_reduce", 1, 41)
    assert look(*alike((0, 1, 2), "all_reduce", 42), behind).leads == (3,)
    doubted = look(*alike((0, 1, 2), "all_reduce", 42), behind.counts(None, None, raw=(49, 41), beyond=True))
    assert doubted.leads == ()
    assert "requested 49 here, its newest entry is 41" in doubted.findings[0].evidence[0].text


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
