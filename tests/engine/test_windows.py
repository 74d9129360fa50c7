"""How far each rank's records reach, and what a missing record beyond that means: no verdict from absence without a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.engine.groups import resolve
from hangview.engine.windows import blank, maybe_open
from hangview.schema import CellState, Source, SourceKind, SourceStatus
from hangview.terms import Group
from tests.engine.support import DONE, ISSUED, OPEN, WORLD, Pg, alike, look, lost, rank, records, steps, window

if TYPE_CHECKING:
    from tests.engine.support import Dump

NOT_REQUESTED = CellState.NOT_REQUESTED
OVERWRITTEN = CellState.OVERWRITTEN
OMITTED = CellState.OMITTED
CUT = CellState.CUT
NO_DUMP = CellState.NO_DUMP
ABSENT = CellState.GROUP_ABSENT
UNTOLD = CellState.NOT_RECORDED
TP = Pg("7", "tp", (0, 1, 2, 3))


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


def test_counters_that_say_more_than_the_records_leave_it_open_what_was_requested():
    """Rank 3 counts to 49, its whole dump ends at 41 of 42: whether it came to 42 is not known."""
    behind = rank(3).calls("all_reduce", 1, 41)
    assert look(*alike((0, 1, 2), "all_reduce", 42), behind).leads == (3,)
    doubted = look(*alike((0, 1, 2), "all_reduce", 42), behind.counts(None, None, raw=(49, 41), beyond=True))
    assert doubted.leads == ()
    assert "requested 49 here, its newest entry is 41" in doubted.findings[0].evidence[0].text
