"""Dumps that show nothing do not silence the logs beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hangview.logs.evidence import Aside
from hangview.terms import COLLECTIVE, Kind, Role, Verdict
from tests.engine.by_logs import FIRST, end, logs, stands
from tests.engine.support import WORLD, Dump, Pg, alike, look, rank


def early(last: int = 30) -> list[Dump]:
    """Dumps that were asked for while the job still ran: all calls in them are over."""
    return [rank(r).calls("all_reduce", 1, last) for r in range(4)]


def came(number: int) -> Dump:
    return rank(number).calls("all_reduce", 1, 41)


WAIT = [stands(r, 42, 41, timed_out=42) for r in (0, 1, 2)]


@pytest.mark.parametrize("named", [True, False])
def test_who_is_behind_by_its_log_is_named(named):
    rows = [stands(r, 42, 41, timed_out=42, named=named) for r in (0, 1, 2)]
    incident = look(*early(), logs=logs(*rows, stands(3, 41, 41, named=named)))
    assert incident.leads == (3,)
    (lead,) = incident.findings
    assert (lead.kind, lead.group, lead.lane, lead.seq) == (Kind.NOT_REQUESTED, 0, COLLECTIVE, 42)


def test_its_exception_is_told():
    assert look(*early(), logs=logs(*WAIT, end(3))).leads == (3,)


def test_a_time_out_of_all_names_nobody_and_is_a_hang():
    incident = look(*early(), logs=logs(*(stands(r, 42, 41, timed_out=42) for r in range(4))))
    assert (incident.verdict, incident.leads) == (Verdict.DIVERGENCE, ())
    assert [(f.role, f.seq) for f in incident.findings] == [(Role.LEAD, 42)]


def test_a_rank_whose_dump_has_the_call_is_not_said_to_be_behind():
    """Its log's counter is older than its dump."""
    assert look(*early(42), logs=logs(*WAIT, stands(3, 41, 41))).leads == ()


def test_logs_that_say_nothing_change_nothing():
    incident = look(*early(), logs=logs(*(stands(r, 30, 30) for r in range(4))))
    assert (incident.verdict, incident.findings) == (Verdict.NO_HANG, ())


def test_where_the_dumps_have_a_lead_it_is_theirs():
    """The dumps' own lead needs nothing of it: what the logs conclude by themselves is not added."""
    dumps = [*alike((0, 1, 2), "all_reduce", 42), rank(3).calls("all_reduce", 1, 41)]
    alone, beside = look(*dumps), look(*dumps, logs=logs(*WAIT, stands(3, 41, 41)))
    assert [f.kind for f in beside.findings] == [f.kind for f in alone.findings]
    assert beside.leads == alone.leads == (3,)


def test_a_group_of_another_name_is_none_of_the_dumps():
    other = [stands(r, 7, 6, timed_out=7, group=Pg("9", "tp", WORLD.ranks)) for r in range(4)]
    incident = look(*early(), logs=logs(*other))
    assert [(f.group, f.lane) for f in incident.findings] == [(None, None)]


@pytest.mark.parametrize("later", [True, False])
def test_logs_of_long_after_the_dumps_are_no_sign_that_nothing_hangs(later):
    """They were set aside: of another run, or the dumps were written before it. Those of long before say nothing."""
    aside = Aside(FIRST + 3, "rank_3.log", (3,), "from long after the dumps' records", later=later)
    incident = look(*early(), logs=replace(logs(), aside=(aside,)))
    assert incident.verdict is (Verdict.NOT_ENOUGH_EVIDENCE if later else Verdict.NO_HANG)
    assert [(f.kind, f.role, f.ranks) for f in incident.findings] == [(Kind.NOT_OBSERVED, Role.NOTE, (3,))] * later
    hung = look(*alike((0, 1, 2), "all_reduce", 42), came(3), logs=replace(logs(), aside=(aside,)))
    assert hung.leads == (3,)
    assert [f.kind for f in hung.findings if f.role is Role.NOTE] == [Kind.NOT_OBSERVED] * later


def test_an_exception_for_which_nobody_waits_is_a_note():
    """All calls are over, and no watchdog speaks: a sample that was skipped looks so."""
    incident = look(*early(), logs=logs(end(2)))
    assert (incident.verdict, incident.leads) == (Verdict.NO_HANG, ())
    assert [(f.kind, f.role, f.ranks) for f in incident.findings] == [(Kind.PROCESS_ENDED, Role.NOTE, (2,))]


LOST = "the connection to another process was lost"


@pytest.mark.parametrize(
    ("whys", "leads"), [((LOST,) * 3, (2,)), ((LOST, LOST, "the launcher ended it"), ()), ((LOST,) * 2, ())]
)
def test_an_exception_that_all_others_met_is_named(whys, leads):
    """All recorded calls are over: what stood was a send or a receive, of which gloo has no record."""
    met = [end(r, "RuntimeError: x", follower=True, why_follower=why) for r, why in zip((0, 1, 3), whys, strict=False)]
    heard = replace(logs(end(2), *met), ranks=(0, 1, 2, 3))
    incident = look(*early(), logs=heard)
    assert incident.leads == leads
    assert look(*early(), logs=replace(heard, silent=(4,))).leads == ()  # of which nothing tells
    assert incident.verdict is (Verdict.DIVERGENCE if leads else Verdict.NO_HANG)


@pytest.mark.parametrize(("seq", "leads"), [(94, (3,)), (95, ())])
def test_calls_far_beyond_all_dumps_may_be_of_another_run(seq, leads):
    """The dumps end at 30: beyond 64 more the lines may be what an earlier run left in the folder."""
    rows = [stands(r, seq, seq - 1, timed_out=seq) for r in (0, 1, 2)]
    incident = look(*early(), logs=logs(*rows, stands(3, seq - 1, seq - 1)))
    assert incident.leads == leads
    assert incident.verdict is (Verdict.DIVERGENCE if leads else Verdict.NOT_ENOUGH_EVIDENCE)
    assert all((f.role is Role.LEAD) == bool(leads) for f in incident.findings)
