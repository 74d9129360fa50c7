"""What ranks say of groups: others than on other ranks, or not made everywhere."""

from __future__ import annotations

from hangview.terms import Kind, Role, Verdict
from tests.engine.support import OPEN, Pg, look, lost, of_kind, rank

TP = Pg("7", "tp", (0, 1, 2, 3))


def test_a_dispute_that_no_unfinished_call_depends_on_is_a_note():
    odd = Pg("7", "tp", (2, 3))
    dumps = [rank(r).calls("all_reduce", 1, 3).knows(odd if r == 3 else TP) for r in range(4)]
    incident = look(*dumps)
    assert [(f.kind, f.role) for f in incident.findings] == [(Kind.GROUP_MISMATCH, Role.NOTE)]
    assert (incident.verdict, incident.leads) == (Verdict.NO_HANG, ())


def test_other_names_of_one_group_are_a_note_even_where_it_hangs():
    """Counters differ between processes and mean nothing; the call is lined up all the same."""
    seven, eight = Pg("7", "dp", (0, 1, 2, 3)), Pg("8", "dp", (0, 1, 2, 3))
    dumps = [rank(r).calls("all_reduce", 1, 41, group=seven if r < 2 else eight) for r in range(4)]
    for dump in dumps[:3]:
        dump.call("all_reduce", 42, OPEN, group=seven if dump.number < 2 else eight)
    incident = look(*dumps)
    assert incident.leads == (3,)
    assert [(f.role, f.kind) for f in incident.findings] == [
        (Role.LEAD, Kind.NOT_REQUESTED),
        (Role.NOTE, Kind.GROUP_MISMATCH),
    ]


def test_a_description_that_differs_leads_where_nothing_else_explains_a_held_call():
    """All wait in it; nobody is missing as far as files tell, since rank 3 has none."""
    dp, tp = Pg("7", "dp", (0, 1, 2, 3)), Pg("7", "tp", (0, 1, 2, 3))
    dumps = [rank(r).call("all_reduce", 1, OPEN, group=tp if r == 2 else dp) for r in range(3)]
    incident = look(*dumps, lost(3))
    roles = {f.kind: f.role for f in incident.findings}
    assert roles[Kind.GROUP_MISMATCH] is Role.NOTE  # the missing dump comes first
    assert roles[Kind.NOT_OBSERVED] is Role.LEAD


def test_nothing_is_said_about_a_group_on_which_all_agree():
    assert look(*(rank(r).calls("all_reduce", 1, 3).knows(TP) for r in range(4))).findings == ()


def test_a_group_that_a_whole_dump_does_not_know_is_told_though_nobody_has_called_it():
    """Rank 2 may be inside the making of the group: that is no call, and nothing else is open."""
    dumps = [rank(r).calls("all_reduce", 1, 3) for r in range(4)]
    for each in dumps:
        if each.number != 2:
            each.knows(TP)
    incident = look(*dumps)
    (finding,) = incident.findings
    assert (finding.kind, finding.role, finding.ranks, finding.others) == (Kind.GROUP_ABSENT, Role.NOTE, (2,), (0, 1, 3))
    assert finding.summary == "ranks 0-1,3 know the group tp, rank 2 does not; nobody has called it yet"
    assert "that the rank skipped the call: it may be inside the creation of the group" in finding.not_concluded
    assert (incident.verdict, incident.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, ())


def test_what_all_know_or_somebody_called_is_no_such_group():
    known = [rank(r).calls("all_reduce", 1, 3).knows(TP) for r in range(4)]
    assert look(*known).findings == ()
    called = [rank(r).calls("all_reduce", 1, 3) for r in range(4)]
    for each in called[:2]:
        each.call("all_reduce", 1, OPEN, group=TP)
    assert of_kind(look(*called), Kind.GROUP_ABSENT, Role.NOTE) == []


def test_what_a_dump_may_have_lost_is_no_sign_of_it():
    dumps = [rank(r).calls("all_reduce", 1, 3).knows(TP) for r in (0, 1, 3)]
    for odd in (rank(2).calls("all_reduce", 1, 3).cut(), lost(2)):
        assert of_kind(look(*dumps, odd), Kind.GROUP_ABSENT) == []


def test_a_group_in_which_messages_went_is_used():
    """NCCL's recorder knows a group of those that used it: a pipeline whose last stage was not reached yet is nothing odd."""
    pair = Pg("9", "pp", (0, 1, 2))
    dumps = [rank(r).calls("all_reduce", 1, 3) for r in range(4)]
    dumps[0].send(1, 1, group=pair)
    dumps[1].recv(0, 1, group=pair)
    assert of_kind(look(*dumps), Kind.GROUP_ABSENT) == []
