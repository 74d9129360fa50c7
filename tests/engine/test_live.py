"""A job that lives on beside a call that stands still; and dumps of a job that runs, by the times of their files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hangview.engine.analyse import analyse
from hangview.terms import Kind, Role, Verdict
from tests.engine.support import OPEN, SECOND, T0, Dump, Pg, look, lost, rank, records

if TYPE_CHECKING:
    from hangview.incident import Incident

SIDE = Pg("7", "checkpoints", (0, 1, 2, 3))


def written(seconds: float, *dumps: Dump) -> Incident:
    """The incident of files that were written so many seconds after T0."""
    made = records(*dumps)
    return analyse(replace(made, sources=tuple(replace(s, mtime_ns=T0 + round(seconds * SECOND)) for s in made.sources)))


def lives_on(number: int, last: int, *, waits: bool, late: bool = False) -> Dump:
    """A main loop of a call a second to ``last``; since second 20 the side group's thread waits in its second call, or did not
    come to it. ``late``: the main loop's last call is open."""
    dump = rank(number).calls("all_reduce", 1, 19).call("all_reduce", 1, group=SIDE, at=10.5)
    if waits:
        dump.call("all_reduce", 2, OPEN, group=SIDE, at=20.0)
    dump.calls("all_reduce", 20, last - late)
    return dump.call("all_reduce", last, OPEN) if late else dump


# -- beside a call that stands still ---------------------------------------------------------------------------------------


def test_a_fresh_call_of_the_main_loop_names_nobody_and_frees_nobody():
    """Ranks 0 and 2 are in the main loop's 200. Rank 1, which the side group misses, has yet to come to it, as has rank 3."""
    dumps = [lives_on(r, 200 if r in (0, 2) else 199, waits=r != 1, late=r in (0, 2)) for r in range(4)]
    incident = written(200.5, *dumps)
    assert incident.leads == (1,)
    assert [(f.kind, f.role, f.seq) for f in incident.findings] == [(Kind.NOT_REQUESTED, Role.LEAD, 2)]


def test_who_waits_for_its_fresh_call_is_named_all_the_same():
    """Rank 1 itself is in 200 and waits for rank 3: that is how a job runs."""
    dumps = [lives_on(r, 200 if r != 3 else 199, waits=r != 1, late=r != 3) for r in range(4)]
    assert written(200.5, *dumps).leads == (1,)


@pytest.mark.parametrize("seconds", [9e6, -9e6])
def test_where_the_files_times_are_lost_nothing_is_taken_to_run_on(seconds):
    """What stands still may be a thread that listens, which is nothing odd, and the other call the hang."""
    dumps = [lives_on(r, 200 if r != 3 else 199, waits=r != 1, late=r != 3) for r in range(4)]
    incident = written(seconds, *dumps)
    assert incident.leads == ()  # rank 1 waits in 200 for rank 3, and rank 3 in the side group for rank 1
    assert 200 in {finding.seq for finding in incident.findings}


def test_a_call_that_waited_long_too_is_not_one_of_a_job_that_runs():
    """By the files' times ranks 0 and 2 had waited 100 s in 200: they hang there, too."""
    dumps = [lives_on(r, 200 if r in (0, 2) else 199, waits=r != 1, late=r in (0, 2)) for r in range(4)]
    assert {finding.seq for finding in written(300, *dumps).findings} == {2, 200}


def test_a_dump_that_is_a_little_older_tells_of_what_stood_still_for_minutes():
    """Rank 1's file ends two seconds before the others completed 199 with it; the side group waits since second 20."""
    dumps = [lives_on(r, 199 if r != 1 else 197, waits=r != 1) for r in range(4)]
    incident = look(*dumps)
    assert incident.leads == (1,)
    assert incident.findings[0].evidence[0].text == (
        "rank 1: newest here is 1, and its dump reaches 2 min beyond the others' request (trace_rank_1, record 19)"
    )


def test_a_dump_that_is_much_older_does_not():
    dumps = [lives_on(r, 199 if r != 1 else 60, waits=r != 1) for r in range(4)]
    assert look(*dumps).leads == ()


# -- without one -----------------------------------------------------------------------------------------------------------


def behind(*late: int, world: int = 4, pair: Pg | None = None) -> list[Dump]:
    """Ranks in the main loop's 42; ``late`` ones have it open although the others completed it."""
    group = pair or Pg("0", "default_pg", tuple(range(world)))
    return [
        rank(r).calls("all_reduce", 1, 41, group=group).call("all_reduce", 42, OPEN, group=group)
        if r in late
        else rank(r).calls("all_reduce", 1, 42, group=group)
        for r in range(world)
    ]


@pytest.mark.parametrize(("seconds", "named"), [(42.5, ()), (45.0, (1,)), (41.0, ()), (-100.0, (1,)), (9e6, (1,))])
def test_who_has_not_finished_what_others_finished_a_moment_ago_may_be_a_moment_behind(seconds, named):
    """Named after three seconds, and where the file's time is not known: the clock of a file server may be behind a little."""
    incident = written(seconds, *behind(1))
    assert incident.leads == named
    assert incident.verdict is (Verdict.DIVERGENCE if named else Verdict.NOT_ENOUGH_EVIDENCE)


@pytest.mark.parametrize(("seconds", "named"), [(42.5, ()), (45.0, (1,))])
def test_where_few_wait_since_a_moment_nobody_is_named(seconds, named):
    """Rank 0 waits in a pair, and six others do not."""
    pair, world = Pg("9", "pair", (0, 1)), Pg("0", "default_pg", tuple(range(8)))
    dumps = [rank(r).calls("all_reduce", 1, 30, group=world) for r in range(8)]
    dumps[0].calls("all_reduce", 31, 41, group=pair).call("all_reduce", 42, OPEN, group=pair)
    dumps[1].calls("all_reduce", 31, 41, group=pair)
    incident = written(seconds, *dumps)
    assert incident.leads == named
    if not named:
        assert incident.findings[0].summary.endswith("none of them had waited longer than 0.5 s when its dump was written")


def test_where_most_wait_they_stand_because_of_it():
    world = Pg("0", "default_pg", tuple(range(8)))
    dumps = [rank(r).calls("all_reduce", 1, 41, group=world) for r in range(8)]
    for dump in dumps[:7]:
        dump.call("all_reduce", 42, OPEN, group=world)
    assert written(42.5, *dumps).leads == (7,)


def test_two_who_are_waited_for_are_waited_for_by_most_together():
    """Three wait for rank 1 and three for rank 6, each in a group of four: all others."""
    left, right = Pg("5", "tp", (0, 1, 2, 3)), Pg("6", "tp2", (4, 5, 6, 7))
    dumps = []
    for r in range(8):
        group = left if r < 4 else right
        dump = rank(r).calls("all_reduce", 1, 41, group=group)
        dumps.append(dump if r in (1, 6) else dump.call("all_reduce", 42, OPEN, group=group))
    assert written(42.5, *dumps).leads == (1, 6)


# -- of counters alone -----------------------------------------------------------------------------------------------------


def cut_ahead(*, enqueued: int, completed: int, others: int) -> list[Dump]:
    """Rank 0's file is cut at 20; its counters stand there, and the others' whole dumps end at ``others``, all completed."""
    dumps = [rank(r).calls("all_reduce", 1, others) for r in (1, 2, 3)]
    return [rank(0).calls("all_reduce", 1, 20).counts(enqueued, completed).cut(), *dumps]


@pytest.mark.parametrize(("enqueued", "completed", "others"), [(41, 40, 39), (60, 59, 39), (30, 29, 12)])
def test_counters_of_a_cut_dump_that_do_not_fit_the_others_name_nobody(enqueued, completed, others):
    """Who completed 40 had all of them in it, so their dumps are older; or it counts sends and receives, too."""
    incident = look(*cut_ahead(enqueued=enqueued, completed=completed, others=others))
    assert (incident.verdict, incident.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, ())


@pytest.mark.parametrize(("seconds", "named"), [(41.5, ()), (600.0, (1, 2, 3)), (9e6, ())])
def test_where_one_waits_by_its_counters_the_others_files_must_show_silence(seconds, named):
    """One call ahead: a heartbeat of a moment ago, or a hang that all files show by their silence."""
    assert written(seconds, *cut_ahead(enqueued=42, completed=41, others=41)).leads == named


def test_who_lags_in_an_earlier_call_as_well_is_a_moment_behind():
    """Rank 7 has not finished 41, which the others completed before they requested 42."""
    world = Pg("0", "default_pg", tuple(range(8)))
    dumps = [rank(r).calls("all_reduce", 1, 41, group=world).call("all_reduce", 42, OPEN, group=world) for r in range(7)]
    last = rank(7).calls("all_reduce", 1, 40, group=world).call("all_reduce", 41, OPEN, group=world)
    assert written(42.5, *dumps, last).leads == ()
    assert written(60.0, *dumps, last).leads == (7,)


def test_a_request_of_a_moment_ago_is_a_note_whoevers_dump_is_missing():
    """Of a job that runs one dump less is no sign of a hang."""
    dumps = [rank(r).calls("all_reduce", 1, 9).call("all_reduce", 10, OPEN) for r in (0, 1)]
    missing = lost(2)
    for seconds, verdict in ((10.5, Verdict.NOT_ENOUGH_EVIDENCE), (600, Verdict.DIVERGENCE)):
        made = records(*dumps, missing)
        at = T0 + round(seconds * SECOND)
        incident = analyse(replace(made, sources=tuple(replace(s, mtime_ns=at) for s in made.sources)))
        assert incident.leads == ()
        assert incident.verdict is verdict


def test_a_call_that_others_ended_a_moment_ago_is_a_note():
    """gloo notes that a call is over a moment after the program went on: rank 3's dump was written in between."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 10) for r in range(3)]
    late = rank(3, "gloo").calls("all_reduce", 1, 9).call("all_reduce", 10, OPEN)
    assert written(10.5, *dumps, late).verdict is Verdict.NOT_ENOUGH_EVIDENCE
    hung = written(600, *dumps, late)
    assert (hung.verdict, hung.findings[0].role) == (Verdict.DIVERGENCE, Role.LEAD)


@pytest.mark.parametrize(("seconds", "role"), [(42.3, Role.NOTE), (50, Role.LEAD), (9e6, Role.LEAD)])
def test_a_call_that_all_came_to_a_moment_ago_is_a_note(seconds, role):
    """Of a job that runs, dumps may all be written inside one call."""
    incident = written(seconds, *(rank(r).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in range(4)))
    assert (incident.findings[0].kind, incident.findings[0].role) == (Kind.NOT_COMPLETED, role)
    assert incident.verdict is (Verdict.DIVERGENCE if role is Role.LEAD else Verdict.NOT_ENOUGH_EVIDENCE)
