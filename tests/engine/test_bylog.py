"""Where logs speak for ranks whose dumps do not, and what they add beside a lead. Dumps win where both speak."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.engine.bylog import fill
from hangview.logs.evidence import StatusFrom
from hangview.schema import CellState
from hangview.terms import Kind, Verdict
from tests.engine.by_logs import logs, stands
from tests.engine.support import OPEN, WORLD, Pg, alike, look, lost, of_kind, rank, steps

if TYPE_CHECKING:
    from hangview.engine.windows import Window
    from hangview.logs.evidence import GroupByLog, LogEvidence
    from hangview.schema import Source
    from tests.engine.support import Dump

TP = Pg("7", "tp", (0, 1, 2, 3))


def waiting() -> list[Dump]:
    return alike((0, 1, 2), "all_reduce", 42)


def filled(said: LogEvidence, *dumps: Dump | Source, number: int = 3, with_p2p: frozenset[int] = frozenset()) -> Window:
    found = steps(*dumps)
    return fill(found.windows, found.grouping.groups, said, with_p2p)[found.group(WORLD), number]


# -- positions -----------------------------------------------------------------------------------------------------------


def test_a_rank_without_a_dump_stands_where_its_log_says():
    found = filled(logs(stands(3, 41, 41)), *waiting(), lost(3))
    assert (found.newest, found.newest_from, found.last_done, found.open_seq) == (41, "log", 41, None)
    assert found.covers
    assert found.reason == "by its log, the newest it enqueued is 41 (rank_3.log, line 12)"


def test_a_time_out_alone_tells_the_open_call_and_not_the_end():
    found = filled(logs(stands(3, None, None, timed_out=42)), *waiting(), lost(3))
    assert (found.newest, found.open_seq, found.above) == (42, 42, CellState.NO_DUMP)
    assert not found.covers


def test_a_counter_that_never_moved_is_none():
    found = filled(logs(stands(3, -1, -1)), *alike((0, 1, 2), "all_reduce", 1), lost(3))
    assert (found.newest, found.last_done, found.covers) == (0, None, True)


def test_a_whole_dump_wins():
    found = filled(logs(stands(3, 99, 99)), *waiting(), rank(3).calls("all_reduce", 1, 41))
    assert (found.newest, found.newest_from) == (41, "entry")


def test_a_dump_that_is_older_wins_too():
    """It is known to be older than the calls of the others; what the log says of them is another matter."""
    done = [rank(r).calls("all_reduce", 1, 42) for r in range(3)]
    found = filled(logs(stands(3, 41, 41)), *done, rank(3).calls("all_reduce", 1, 41))
    assert found.above is CellState.BEFORE_DUMP


def test_a_cut_dump_is_filled_up():
    found = filled(logs(stands(3, 41, 41)), *waiting(), rank(3).calls("all_reduce", 1, 20).cut())
    assert (found.oldest, found.newest, found.newest_from, found.covers) == (1, 41, "log", True)


def test_a_log_that_knows_less_than_the_dump_takes_nothing_back():
    found = filled(logs(stands(3, 10, 10)), *waiting(), rank(3).calls("all_reduce", 1, 20).cut())
    assert found.newest == 20


def test_a_group_may_be_known_by_its_description_alone():
    assert filled(logs(stands(3, 41, 41, named=False)), *waiting(), lost(3)).newest == 41


def test_a_description_that_two_groups_of_the_rank_share_is_of_neither():
    one, two = Pg("1", "dp", (0, 1, 2, 3)), Pg("2", "dp", (0, 1, 2, 3))
    dumps = [rank(r).call("all_reduce", 1, OPEN, group=one).call("all_reduce", 1, group=two) for r in range(3)]
    found = steps(*dumps)
    told = fill(found.windows, found.grouping.groups, logs(stands(3, 1, 1, group=one, named=False)), frozenset())
    assert told == found.windows


def test_groups_with_sends_count_two_things_in_one_number():
    assert filled(logs(stands(3, 41, 41)), *waiting(), lost(3), with_p2p=frozenset({0})).newest is None


def by_log_alone(*said: GroupByLog) -> dict[int, Window]:
    """Windows of the world's ranks where no rank left a dump."""
    found = steps(*(rank(r).calls("all_reduce", 1, 1) for r in range(4)))
    groups = found.grouping.groups
    blank = {key: replace(window, source=None, newest=None, above=CellState.NO_DUMP) for key, window in found.windows.items()}
    told = fill(blank, groups, logs(*said), frozenset())
    return {r: told[found.group(WORLD), r] for r in range(4)}


def test_where_logs_speak_alone_all_whose_counters_stop_below_a_call_did_not_request_it():
    """Rank 2 waits elsewhere, in a group of its own: that it did not come to 9 is as sure as of rank 3."""
    found = by_log_alone(
        stands(0, 9, 8, timed_out=9), stands(2, 8, 8), stands(2, 17, 16, group=TP, timed_out=17), stands(3, 8, 8)
    )
    assert [found[r].above for r in (0, 2, 3)] == [CellState.NOT_REQUESTED] * 3
    assert [found[r].newest for r in (0, 1, 2, 3)] == [9, None, 8, 8]
    assert (found[0].open_seq, found[1].above) == (9, CellState.NO_DUMP)


def test_where_the_newest_number_may_be_that_of_a_send_the_log_shows_no_absence():
    found = by_log_alone(
        stands(0, 9, 7, timed_out=8), stands(2, 8, 7), replace(stands(3, 8, 7, timed_out=8), timed_out_op="recv")
    )
    assert [found[r].above for r in (0, 2, 3)] == [CellState.NO_DUMP] * 3


def signalled(*ranks: int) -> LogEvidence:
    """Ranks whose lines of a dump signal, which always tell of the default group, say that they are behind."""
    return logs(*(replace(stands(r, 41, 41), status_from=StatusFrom.DUMP_SIGNAL) for r in ranks))


def two_wait(*groups: Pg) -> list[Dump]:
    dumps = alike((0, 1), "all_reduce", 42)
    for group in groups:
        dumps = [dump.call("all_reduce", 1, group=group) for dump in dumps]
    return dumps


def test_two_ranks_behind_by_a_dump_signal_may_wait_for_each_other_in_another_group():
    found = look(*two_wait(Pg("1", "tp", (0, 1))), lost(2), lost(3), logs=signalled(2, 3))
    assert found.verdict is Verdict.DIVERGENCE
    assert found.leads == ()
    (absent,) = of_kind(found, Kind.NOT_OBSERVED)
    assert "one of them may wait for another in a group of theirs" in absent.evidence[0].text


def test_where_there_is_no_other_group_both_are_behind():
    assert look(*two_wait(), lost(2), lost(3), logs=signalled(2, 3)).leads == (2, 3)


def test_one_rank_behind_by_a_dump_signal_is_the_one():
    dumps = [dump.call("all_reduce", 1, group=Pg("1", "tp", (0, 1, 2))) for dump in waiting()]
    assert look(*dumps, lost(3), logs=signalled(3)).leads == (3,)


def test_a_counter_far_beyond_all_dumps_is_of_another_run():
    """Rank 3's log says 4,999 calls completed, the others' dumps know of 42."""
    row = stands(3, 5000, 4999, timed_out=5000)
    found = filled(logs(row), *waiting(), lost(3))
    assert found.newest is None
    assert "far beyond 42, the newest of all dumps" in found.reason
    incident = look(*waiting(), lost(3), logs=logs(row))
    assert (incident.verdict, incident.leads) == (Verdict.DIVERGENCE, ())


def test_a_counter_a_little_beyond_the_dumps_is_of_the_same_run():
    """Dumps are written seconds apart."""
    assert filled(logs(stands(3, 50, 49)), *waiting(), lost(3)).newest == 50


def test_a_rank_that_is_no_member_is_left_out():
    found = steps(*waiting(), lost(3))
    assert fill(found.windows, found.grouping.groups, logs(stands(9, 41, 41)), frozenset()) == found.windows


def test_who_has_unfinished_works_is_not_known_to_have_stopped():
    """Last enqueued 8, last completed 7: it stands or waits itself, and 8 may count a send or a receive."""
    found = filled(logs(stands(3, 8, 7)), *waiting(), lost(3))
    assert (found.newest, found.above, found.covers) == (8, CellState.NO_DUMP, False)
    assert "unfinished works itself: last enqueued 8, last completed 7 (rank_3.log, line 12)" in found.reason


def test_unfinished_works_in_one_group_speak_for_the_rank_in_all():
    """Its watchdog printed the counters of two groups; in tp it has not come to an end."""
    found = filled(logs(stands(3, 41, 41), stands(3, 8, 7, group=TP)), *waiting(), lost(3))
    assert not found.covers
    heartbeat = replace(stands(3, None, None, group=TP), pending=2)
    assert not filled(logs(stands(3, 41, 41), heartbeat), *waiting(), lost(3)).covers


def test_counters_that_calls_of_others_go_beyond_tell_nothing():
    row = replace(stands(3, 17, 17), outrun=41)
    found = filled(replace(logs(), outrun=(row,)), *waiting(), lost(3))
    assert (found.newest, found.above) == (None, CellState.NO_DUMP)
    assert "its log says that it enqueued 17, but others completed 41 with it" in found.reason
