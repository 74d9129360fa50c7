"""A group that was made anew in one process: the newest generation is judged, calls of those that a rank has left are over."""

from __future__ import annotations

import pytest

from hangview.engine import generations
from hangview.terms import Kind, Role, Verdict
from tests.engine.support import DONE, FAILED, OPEN, PAIR, Dump, How, Pg, look, rank, records

OLD, NEW = (Pg("0", "default_pg", (0, 1, 2, 3), pg_id) for pg_id in (0, 1))
EVAL, EVAL_AGAIN = (Pg("a" * 40, "eval", (0, 1, 2, 3), pg_id) for pg_id in (1, 2))
RESTART = 1000.0  #: seconds at which the groups are made anew


def made(dump: Dump, last: int, group: Pg, since: float = 0.0, *, waits: bool = False) -> Dump:
    """``last`` completed all_reduces of a group, and one more that is open."""
    for seq in range(1, last + 1):
        dump.call("all_reduce", seq, group=group, at=since + seq)
    return dump.call("all_reduce", last + 1, OPEN, group=group, at=since + last + 1) if waits else dump


def failed(dump: Dump, last: int, *, missing: bool = False) -> Dump:
    """The first generation: all but the missing rank were in one call more when it was given up."""
    made(dump, last, OLD)
    return dump if missing else dump.call("all_reduce", last + 1, FAILED, group=OLD, at=last + 1.0)


def survivor(number: int, before: int, *, missing: bool = False) -> Dump:
    return failed(rank(number), before, missing=missing)


def replaced(number: int, last: int, *, waits: bool = True) -> Dump:
    """A rank with a new process: its only default group is the first that it made."""
    return made(rank(number), last, OLD, RESTART, waits=waits)


def test_a_call_that_failed_before_the_group_was_made_anew_is_over():
    """Rank 2 did not come to 51 of the first generation. All went on in the second, and nothing is open there."""
    dumps = [made(survivor(r, 50, missing=r == 2), 30, NEW, RESTART) for r in range(4)]
    found = look(*dumps)
    assert (found.verdict, found.leads) == (Verdict.NO_HANG, ())


def test_the_hang_of_the_newest_generation_is_found():
    """Rank 1 does not come to 31 of the second generation; rank 2 was the one that did not come to 51 of the first."""
    found = look(*(made(survivor(r, 50, missing=r == 2), 30, NEW, RESTART, waits=r != 1) for r in range(4)))
    assert found.leads == (1,)
    (lead,) = [f for f in found.findings if f.role is Role.LEAD]
    assert (lead.kind, lead.seq, lead.others, found.groups[lead.group or 0].label) == (
        Kind.NOT_REQUESTED,
        31,
        (0, 2, 3),
        "default_pg",
    )


@pytest.mark.parametrize(("before", "now"), [(10, 30), (30, 29), (50, 30), (29, 30), (30, 30)])
@pytest.mark.parametrize("stops", [1, 3])
def test_a_replaced_rank_is_lined_up_with_the_newest_generation(before, now, stops):
    """Rank 3 has a new process, and so one generation and the pg_id that the others gave their first one."""
    dumps = [made(survivor(r, before), now, NEW, RESTART, waits=r != stops) for r in range(3)]
    found = look(*dumps, replaced(3, now, waits=stops != 3))
    assert (found.verdict, found.leads) == (Verdict.DIVERGENCE, (stops,))


@pytest.mark.parametrize("before", [10, 30, 50])
def test_with_a_replaced_rank_and_nothing_open_there_is_no_hang(before):
    dumps = [made(survivor(r, before), 30, NEW, RESTART) for r in range(3)]
    assert look(*dumps, replaced(3, 30, waits=False)).verdict is Verdict.NO_HANG


def test_a_ring_that_lost_the_first_generation_is_lined_up_with_the_second():
    dumps = [made(survivor(r, 20), 30, NEW, RESTART, waits=True) for r in range(3)]
    found = look(*dumps, made(rank(3).wrapped(), 30, NEW, RESTART))
    assert found.leads == (3,)


@pytest.mark.parametrize("waits", [False, True])
def test_a_dump_of_the_first_generation_names_nobody_and_hides_no_hang(waits):
    """Rank 3's file was written when the first generation hung at 31, as the second one does now: the same step of a job that
    begins again. Its newest record is the 30th too, and it may be anywhere by now."""
    dumps = [made(survivor(r, 30), 30, NEW, RESTART, waits=True) for r in range(3)]
    found = look(*dumps, made(rank(3), 30, OLD, waits=waits))
    assert found.leads == ()
    assert [(f.kind, f.ranks, f.others) for f in found.findings if f.role is Role.LEAD] == [
        (Kind.NOT_OBSERVED, (3,), (0, 1, 2))
    ]


def test_a_dump_that_cannot_be_placed_does_not_make_it_no_hang():
    """Three files of the first generation, which was waiting, beside one that is done with a call of the second."""
    older = [made(rank(r), 3, OLD, waits=True) for r in range(3)]
    found = look(*older, made(survivor(3, 3), 1, NEW, RESTART))
    assert (found.verdict, found.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, ())


def test_a_rank_that_is_elsewhere_since_has_not_come_to_a_group_that_was_made_anew():
    """A group for every evaluation. Rank 2's file has later calls of the default group, so it is not of before the second."""
    dumps = []
    for r in range(4):
        dump = made(made(rank(r), 5, OLD), 4, EVAL, 10.0)
        for seq in range(6, 9):
            dump.call("all_reduce", seq, group=OLD, at=100.0 + seq)
        dumps.append(dump if r == 2 else dump.call("all_reduce", 1, OPEN, group=EVAL_AGAIN, at=120.0))
    found = look(*dumps)
    assert found.leads == (2,)
    assert [(f.seq, f.others) for f in found.findings if f.role is Role.LEAD] == [(1, (0, 1, 3))]


def test_its_counters_of_the_group_before_are_none_of_the_new_one():
    dumps = []
    for r in range(4):
        dump = made(made(rank(r), 5, OLD), 4, EVAL, 10.0).counts(4, 4, group=EVAL)
        dump.call("all_reduce", 6, group=OLD, at=100.0)
        dumps.append(
            dump if r == 2 else dump.call("all_reduce", 1, OPEN, group=EVAL_AGAIN, at=120.0).counts(1, 0, group=EVAL_AGAIN)
        )
    assert look(*dumps).leads == (2,)


def test_groups_that_are_not_made_again_went_with_the_default_group():
    """Rank 2 did not come to call 4 of "7". Since then the default group was made anew, without a group "7"."""
    seven, new = Pg("7", "tp", (0, 1, 2, 3), 4), Pg("0", "default_pg", (0, 1, 2, 3), 5)
    dumps = []
    for r in range(4):
        dump = made(made(rank(r), 5, OLD), 3, seven, 10.0)
        if r != 2:
            dump.call("all_reduce", 4, FAILED, group=seven, at=20.0)
        dumps.append(made(dump, 30, new, RESTART, waits=r != 1))
    assert look(*dumps).leads == (1,)


def test_sends_of_the_generation_before_wait_for_nobody():
    old, new = (Pg("1", "pp", (0, 1), pg_id) for pg_id in (0, 1))
    dumps = [rank(0).send(1, 1, group=old).send(1, 2, OPEN, group=old), rank(1).recv(0, 1, group=old)]
    dumps[0].send(1, 1, group=new, at=RESTART)
    dumps[1].recv(0, 1, group=new, at=RESTART)
    found = look(*dumps)
    assert (found.verdict, found.leads) == (Verdict.NO_HANG, ())


def test_numbers_that_begin_again_under_one_pg_id_begin_another_generation():
    """Five calls, and three more an hour later of which rank 2 did not make the last; sizes are the same everywhere."""
    dumps = [made(made(rank(r), 5, OLD), 2, OLD, 3600.0, waits=r != 2) for r in range(4)]
    found = look(*dumps)
    assert found.leads == (2,)
    assert [(f.kind, f.seq) for f in found.findings if f.role is Role.LEAD] == [(Kind.NOT_REQUESTED, 3)]


def test_a_batch_that_closes_late_is_not_another_generation():
    """Its closing record has the number with which it began, whatever another thread did meanwhile."""
    dump = rank(0).call("all_reduce", 1, OPEN, group=PAIR, op_id=1).call("all_reduce", 2, group=PAIR, op_id=2)
    dump.call("allreduce_coalesced", 1, DONE, group=PAIR, op_id=3).call("all_reduce", 3, group=PAIR, op_id=4)
    found, life = generations.places(records(dump))
    assert (life, [len(spans) for spans in found.values()]) == (None, [1])


def test_groups_of_one_name_that_are_in_use_side_by_side_are_no_generations():
    """Their records are mixed, so neither was destroyed for the other: what is open in the first is open."""
    one, two = (Pg("7", "dp", (0, 1), pg_id) for pg_id in (1, 2))
    dumps = []
    for r in range(2):
        dump = rank(r).call("all_reduce", 1, group=one, at=1.0).call("all_reduce", 1, group=two, at=2.0)
        dump.call("all_reduce", 2, group=one, at=3.0).call("all_reduce", 2, group=two, at=4.0)
        dumps.append(dump)
    dumps[0].call("all_reduce", 3, OPEN, group=one, at=5.0)
    assert look(*dumps).leads == (1,)


def test_counters_of_an_earlier_generation_do_not_end_a_call_of_the_newest():
    """Dumps without completed entries: of the first one 50 were completed, of the second one 3 is open on ranks 0, 2, 3."""
    dumps = []
    for r in range(4):
        dump = rank(r).only_active().call("all_reduce", 51, FAILED, group=OLD, at=51.0).counts(51, 50, group=OLD)
        if r != 1:
            dump.call("all_reduce", 3, OPEN, group=NEW, at=RESTART)
        dumps.append(dump.counts(2 if r == 1 else 3, 2, group=NEW))
    found = look(*dumps)
    assert (found.verdict is Verdict.NO_HANG, set(found.leads) <= {1}) == (False, True)
    open_now = {r: found.view.open_counts.get(r, 0) for r in (0, 2, 3)}
    assert open_now == {0: 1, 2: 1, 3: 1}


def test_a_call_left_open_in_a_dump_of_active_entries_may_be_of_long_ago():
    """Rank 2 did not come to 51 of the first generation; of the second all is completed, and so left out. Only the counters of
    the others show that there was one."""
    dumps = []
    for r in range(4):
        dump = rank(r).only_active()
        if r != 2:
            dump.call("all_reduce", 51, FAILED, group=OLD, at=51.0)
        dumps.append(dump.knows(OLD).counts(50 if r == 2 else 51, 50, group=OLD).counts(30, 30, group=NEW))
    found = look(*dumps)
    assert (found.verdict is Verdict.NO_HANG, found.leads) == (False, ())


def test_earlier_generations_are_called_after_the_newest():
    third = Pg("0", "default_pg", (0, 1, 2, 3), 2)
    dumps = [made(made(made(rank(r), 3, OLD), 4, NEW, 100.0), 5, third, RESTART) for r in range(4)]
    found = look(*dumps)
    assert [g.label for g in found.groups] == [
        "default_pg",
        "default_pg (earlier generation)",
        "default_pg (2 generations ago)",
    ]
    assert [(lane.judged, lane.front) for lane in found.lanes] == [(True, 5), (False, 4), (False, 3)]


# -- another name for each generation --------------------------------------------------------------------------------------


def quorum(number: int, *ranks: int) -> Pg:
    return Pg(f"torchft_quorum_{number}_rank_0", "undefined", ranks)


def in_quorums(number: int, last: int, then: How | None) -> Dump:
    """It lost rank 2 in quorum 1, went on with two, and then with three again up to call ``last`` of quorum 3."""
    dump = (
        rank(number).calls("all_reduce", 1, 9, group=quorum(1, 0, 1, 2)).call("all_reduce", 10, OPEN, group=quorum(1, 0, 1, 2))
    )
    dump.calls("all_reduce", 1, 30, group=quorum(2, 0, 1), at=50.0).calls(
        "all_reduce", 1, last, group=quorum(3, 0, 1, 2), at=99.0
    )
    return dump if then is None else dump.call("all_reduce", last + 1, then, group=quorum(3, 0, 1, 2), at=100.0)


def test_a_call_that_failed_in_a_quorum_that_was_left_is_over():
    """Rank 2 is another process now, which knows quorum 3 alone."""
    new = rank(2).calls("all_reduce", 1, 20, group=quorum(3, 0, 1, 2), at=99.0)
    incident = look(in_quorums(0, 20, None), in_quorums(1, 20, None), new)
    assert (incident.verdict, incident.findings) == (Verdict.NO_HANG, ())


def test_who_is_missed_in_the_newest_quorum_is_named():
    new = rank(2).calls("all_reduce", 1, 20, group=quorum(3, 0, 1, 2), at=99.0)
    new.call("all_reduce", 21, OPEN, group=quorum(3, 0, 1, 2), at=100.0)
    incident = look(in_quorums(0, 20, OPEN), in_quorums(1, 20, None), new)
    assert incident.leads == (1,)
    assert incident.findings[0].seq == 21


def test_a_quorum_of_others_is_not_left():
    """Another local rank's groups count for themselves."""
    other = Pg("torchft_quorum_7_rank_1", "undefined", (4, 5))
    dumps = [rank(r).calls("all_reduce", 1, 3, group=other) for r in (4, 5)]
    first = quorum(1, 0, 1)
    incident = look(
        rank(0).calls("all_reduce", 1, 3, group=first).call("all_reduce", 4, OPEN, group=first),
        rank(1).calls("all_reduce", 1, 3, group=first),
        *dumps,
    )
    assert incident.leads == (1,)
