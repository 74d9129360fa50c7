"""Ranks that others wait for and that wait for nobody, across groups; and when they may not be named all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hangview.engine.analyse import analyse
from hangview.logs.evidence import LogLine, Report, ReportKind
from hangview.terms import Kind, Role, Side, Verdict
from tests.engine.by_logs import FIRST, end, logs
from tests.engine.support import (
    DONE,
    FAILED,
    ISSUED,
    OPEN,
    PAIR,
    SECOND,
    T0,
    WORLD,
    Dump,
    Pg,
    alike,
    look,
    lost,
    rank,
    records,
    told,
)  # fmt: skip
from tests.engine.test_callsites import STEP, loop

LEFT, RIGHT = Pg("1", "left", (0, 1)), Pg("2", "right", (2, 3))
TP = Pg("7", "tp", (0, 1, 2, 3))


# -- leads ---------------------------------------------------------------------------------------------------------------


def test_ranks_missing_in_one_call_are_one_finding():
    incident = look(*alike((0, 1), "all_reduce", 42), *(rank(r).calls("all_reduce", 1, 41) for r in (2, 3)))
    assert told(incident) == [("lead", "not_requested", (2, 3), "0", 42)]
    assert incident.leads == (2, 3)


@pytest.mark.parametrize(
    ("library", "missing", "said"), [("nccl", (2, 3), True), ("nccl", (3,), False), ("gloo", (2, 3), False)]
)
def test_of_several_it_is_said_that_some_may_be_making_a_communicator(library, missing, said):
    """With NCCL that is done at a group's first call, before there is a record of it."""
    waiting = [rank(r, library).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in range(4) if r not in missing]
    (finding,) = look(*waiting, *(rank(r, library).calls("all_reduce", 1, 41) for r in missing)).findings
    assert finding.ranks == missing
    assert any("to make a communicator" in text for text in finding.not_concluded) is said


def test_two_independent_leads_are_two_findings():
    incident = look(
        rank(0).call("all_reduce", 5, OPEN, group=LEFT),
        rank(1).call("all_reduce", 4, group=LEFT),
        rank(2).call("all_reduce", 8, OPEN, group=RIGHT),
        rank(3).call("all_reduce", 7, group=RIGHT),
    )
    assert told(incident) == [("lead", "not_requested", (1,), "1", 5), ("lead", "not_requested", (3,), "2", 8)]
    assert incident.leads == (1, 3)


def test_the_lead_is_found_in_another_group_and_what_waits_stands_below_it():
    """0 waits for 1 in one pair, 1 for 2 in another; the first to print would be rank 0."""
    middle = Pg("5", "middle", (1, 2))
    incident = look(
        rank(0).call("all_reduce", 5, OPEN, group=LEFT),
        rank(1).call("all_reduce", 4, group=LEFT).call("all_reduce", 9, OPEN, group=middle),
        rank(2).call("all_reduce", 8, group=middle),
    )
    assert told(incident) == [("lead", "not_requested", (2,), "5", 9), ("waiting", "waiting", (0,), "1", 5)]
    assert incident.leads == (2,)
    assert "in the end for rank 2" in incident.findings[1].summary
    assert any("1 more ranks wait: 0" in step for step in incident.findings[0].steps)


def test_a_rank_missing_in_two_groups_is_one_lead():
    """The other call is shown as waiting, not as a fault of its own."""
    dumps = [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 4, OPEN) for r in (0, 1)]
    dumps.append(rank(2).calls("all_reduce", 1, 3).calls("broadcast", 1, 2, group=TP).call("broadcast", 3, OPEN, group=TP))
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 3).calls("broadcast", 1, 2, group=TP))
    assert incident.leads == (3,)
    assert [f.role for f in incident.findings].count(Role.LEAD) == 1
    assert [f.kind for f in incident.findings if f.role is Role.LEAD] == [Kind.NOT_REQUESTED]


def test_a_rank_with_a_call_of_its_own_unfinished_is_no_lead():
    """Rank 3 did not come to 42: it waits in tp for rank 2, which waits in 42. That is a circle, not a lead."""
    tp = Pg("5", "tp", (2, 3))
    dumps = [*alike((0, 1), "all_reduce", 42), rank(2).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN).knows(tp)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41).call("all_reduce", 1, OPEN, group=tp))
    assert incident.leads == ()
    assert [f.kind for f in incident.findings if f.role is Role.LEAD] == [Kind.ORDER_CYCLE]


def test_evidence_names_files_and_records():
    (finding,) = look(*alike((0, 1, 2), "all_reduce", 42), rank(3).wrapped(700).calls("all_reduce", 30, 41)).findings
    first, *rest = finding.evidence
    assert (first.text, first.source, first.record_id) == (
        "rank 3: dump is whole, newest entry is 41 (trace_rank_3, record 711)",
        3,
        711,
    )
    assert [line.record_id for line in rest] == [41, 41, 41]
    assert finding.steps[0] == "ranks 0-2 requested all_reduce 42 of default_pg; the request is not over."


def test_many_waiting_ranks_are_folded():
    world = Pg("0", "default_pg", tuple(range(64)))
    dumps = alike(range(63), "all_reduce", 3, group=world)
    (finding,) = look(*dumps, rank(63).calls("all_reduce", 1, 2, group=world)).findings
    assert finding.others == tuple(range(63))
    assert "ranks 0-62 wait" in finding.summary
    assert len(finding.evidence) < 12
    assert len(finding.steps) < 8


# -- kinds of absence ----------------------------------------------------------------------------------------------------


def test_a_rank_that_never_requested_anything_did_not_reach_its_first_collective():
    incident = look(*alike((0, 1, 2), "all_reduce", 1), rank(3).knows(WORLD))
    assert told(incident) == [("lead", "no_collective", (3,), "0", 1)]
    assert incident.leads == (3,)
    assert "got past start-up" in incident.findings[0].compare_first


def test_an_empty_dump_is_no_evidence_once_the_others_completed_a_call():
    """It was not recording: it must have been part of call 1."""
    incident = look(*alike((0, 1, 2), "all_reduce", 2), rank(3).knows(WORLD))
    assert told(incident) == [("lead", "not_observed", (3,), "0", 2)]
    assert incident.leads == ()


def test_a_member_whose_dump_lacks_the_group():
    dumps = [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 1, OPEN, group=TP) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 3))
    assert told(incident) == [("lead", "group_absent", (3,), "7", 1)]
    assert incident.leads == (3,)
    assert "group creation" in incident.findings[0].compare_first
    assert "inside the creation" in incident.findings[0].not_concluded[0]


def test_a_member_that_gives_the_group_other_members():
    """Rank 3 made the group with 2 and 3 only: the others wait for it in the one of all."""
    odd = Pg("7", "tp", (2, 3))
    dumps = [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 1, OPEN, group=TP) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 3).knows(odd))
    leads = [f for f in incident.findings if f.role is Role.LEAD]
    assert [(f.kind, f.ranks) for f in leads] == [(Kind.GROUP_MISMATCH, (3,))]
    assert incident.leads == (3,)
    assert leads[0].not_concluded == ("that one rank's view is the right one, only that they differ",)


def test_a_receive_that_nobody_sends():
    incident = look(rank(0).send(1, 1, group=PAIR), rank(1).recv(0, 1, group=PAIR).recv(0, 2, OPEN, group=PAIR))
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.others, finding.lane, finding.seq) == (
        Kind.UNPAIRED_P2P,
        (0,),
        (1,),
        "p2p 0->1",
        2,
    )
    assert (finding.side, incident.leads) == (Side.HOST, (0,))
    assert "did not request the send" in finding.summary
    assert "the sender is right" in finding.not_concluded[0]


def test_a_send_that_nobody_receives():
    incident = look(rank(0).send(1, 1, OPEN, group=PAIR), rank(1).knows(PAIR))
    assert incident.leads == (1,)
    assert "did not request the receive" in incident.findings[0].summary


def test_a_collective_comes_before_a_receive_where_one_rank_misses_both():
    pipe = Pg("1", "pp", (2, 3))
    dumps = [*alike((0, 1), "all_reduce", 42), rank(2).calls("all_reduce", 1, 41).recv(3, 1, OPEN, group=pipe)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41).knows(pipe))
    assert incident.leads == (3,)
    assert [(f.role, f.kind) for f in incident.findings if f.role is Role.LEAD] == [(Role.LEAD, Kind.NOT_REQUESTED)]


# -- a call that was repeated --------------------------------------------------------------------------------------------


def finished(last: int, step: tuple[str, ...] = STEP) -> list[Dump]:
    return [loop(r, last, step=step) for r in range(3)]


def repeated(last: int, step: tuple[str, ...] = STEP) -> Dump:
    """Rank 3 repeated call 11: it needs one call more than the others to get as far."""
    dump = loop(3, last, moved=-1, at=11, step=step)
    return dump.call("all_reduce", last + 1, OPEN, place=step[(last - 1) % len(step)])


def test_the_rank_that_repeated_a_call_is_the_lead_and_not_the_others_that_are_done():
    incident = look(*finished(30), repeated(30))
    (lead,) = (f for f in incident.findings if f.role is Role.LEAD)
    assert (lead.kind, lead.ranks, lead.seq) == (Kind.DIFFERENT_CALL_SITE, (3,), 11)
    assert incident.leads == (3,)
    assert "repeated a call" in lead.summary


def test_the_rank_that_skipped_a_call_is_the_one_that_is_missed():
    dumps = [loop(r, 29).call("all_reduce", 30, OPEN, place=STEP[1]) for r in range(3)]
    incident = look(*dumps, loop(3, 29, moved=1, at=11))
    assert incident.leads == (3,)
    assert [(f.role, f.kind) for f in incident.findings] == [
        (Role.LEAD, Kind.NOT_REQUESTED),
        (Role.NOTE, Kind.DIFFERENT_CALL_SITE),
    ]


def test_without_stacks_ranks_that_do_not_come_are_named():
    """Nothing tells that rank 3 is ahead; the other three, of four, did not request 31."""
    bare = [rank(r).calls("all_reduce", 1, 30) for r in range(3)]
    incident = look(*bare, rank(3).calls("all_reduce", 1, 30).call("all_reduce", 31, OPEN))
    assert incident.leads == (0, 1, 2)
    assert "that ranks 0-2 should have requested it: rank 3 is a call ahead of all others" in incident.findings[0].not_concluded


def trained(number: int, *places: str) -> Dump:
    """all_reduce from one place after the other."""
    dump = rank(number)
    for seq, place in enumerate(places, 1):
        dump.call("all_reduce", seq, place=f"{place}@train.py:{ord(place[0])}")
    return dump


def test_a_call_that_no_other_rank_ever_made_puts_its_rank_ahead():
    """Rank 3 validates once: from there on it is the others', one call later, as grad and loss in turn show."""
    ahead = trained(3, "grad", "loss", "grad", "valid", "loss", "grad", "loss")
    others = [trained(r, "grad", "loss", "grad", "loss", "grad", "loss") for r in range(3)]
    ahead.entries[-1].update(state=0, retired=False)
    incident = look(*others, ahead)
    assert incident.leads == (3,)
    (lead,) = (f for f in incident.findings if f.role is Role.LEAD)
    assert (lead.kind, lead.seq) == (Kind.DIFFERENT_CALL_SITE, 4)
    assert "valid (train.py:118)" in lead.summary


def test_in_a_loop_of_one_call_site_a_call_more_may_be_the_same_call_from_another_line():
    """Nothing tells them apart, so both are said."""
    ahead = trained(3, "grad", "grad", "valid", "grad", "grad")
    ahead.entries[-1].update(state=0, retired=False)
    incident = look(*(trained(r, "grad", "grad", "grad", "grad") for r in range(3)), ahead)
    assert incident.leads == (0, 1, 2)
    (finding,) = incident.findings
    assert "it may be rank 3 that is the odd one" in finding.summary
    assert any("valid (train.py:118), where no other rank ever was" in each.text for each in finding.evidence)


def test_a_line_of_its_own_is_no_divergence_where_nobody_waits():
    """Rank 3 prints the loss, through a line of its own, and its dump is the newest by one call."""
    ahead = trained(3, "grad", "loss", "grad", "print", "grad", "loss")
    incident = look(*(trained(r, "grad", "loss", "grad", "loss", "grad") for r in range(3)), ahead)
    assert (incident.leads, incident.findings) == ((), ())


def test_of_one_lane_the_first_call_that_was_not_requested_is_told_first():
    """Leaves of a gather run ahead: two wait in 6 for rank 2, the root alone in 5."""
    root = rank(0).calls("gather", 1, 4).call("gather", 5, OPEN)
    leaves = [rank(r).calls("gather", 1, 5).call("barrier", 6, OPEN) for r in (1, 3)]
    incident = look(root, *leaves, rank(2).calls("gather", 1, 4))
    assert [(f.role, f.ranks, f.seq) for f in incident.findings] == [(Role.LEAD, (2,), 5), (Role.WAITING, (2,), 6)]


def test_a_call_of_a_group_that_the_rank_knows_is_told_before_one_of_a_group_that_it_never_used():
    """nccl makes a communicator with the first call: who never came to the default group has no record of it."""
    pair = Pg("7", "tp", (2, 3))
    waits = [rank(r).call("all_reduce", 1, OPEN) for r in (0, 1)]
    incident = look(
        *waits, rank(2).calls("all_reduce", 1, 3, group=pair).call("all_reduce", 4, OPEN, group=pair).knows(WORLD),
        rank(3).calls("all_reduce", 1, 3, group=pair),
    )  # fmt: skip
    lead = incident.findings[0]
    assert (lead.kind, lead.ranks, lead.seq, incident.leads) == (Kind.NOT_REQUESTED, (3,), 4, (3,))


def bare(number: int, *, repeats: int | None = None, last: int = 30) -> Dump:
    """Calls of growing size without stacks; ``repeats``: the call that a rank makes twice, so that it is one behind since."""
    dump = rank(number)
    for seq in range(1, last + 1):
        dump.call("all_reduce", seq, size=seq - (repeats is not None and seq > repeats))
    return dump


def test_a_rank_that_asked_for_something_else_before_is_the_lead_and_not_the_others_that_are_done():
    """Rank 3 made call 29 twice: its 30 has another size, and then it is alone in 31. The others have made all their calls."""
    ahead = bare(3, repeats=29).call("all_reduce", 31, OPEN, size=30)
    incident = look(*(bare(r) for r in range(3)), ahead)
    assert incident.leads == (3,)
    (lead,) = (f for f in incident.findings if f.role is Role.LEAD)
    assert (lead.kind, lead.ranks, lead.others, lead.seq) == (Kind.DIFFERENT_SIZE, (3,), (0, 1, 2), 30)
    assert [f.seq for f in incident.findings if f.kind is Kind.DIFFERENT_SIZE] == [30]


def test_an_odd_call_of_another_rank_does_not_speak_for_those_who_do_not_come():
    """Rank 2's call 30 differs, but it is rank 3 that waits."""
    incident = look(bare(0), bare(1), bare(2, repeats=29), bare(3).call("all_reduce", 31, OPEN, size=31))
    assert incident.leads == (0, 1, 2)


def test_another_dtype_before_does_not_excuse_those_who_do_not_come():
    """A rank may run in another precision throughout: that is not a call ahead."""
    dumps = [rank(r).calls("all_reduce", 1, 30) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 30, dtype="Half").call("all_reduce", 31, OPEN, dtype="Half"))
    assert incident.leads == (0, 1, 2)


def test_a_repeated_call_among_two_call_sites_names_no_healthy_rank():
    incident = look(*finished(30, STEP[:2]), repeated(30, STEP[:2]))
    assert set(incident.leads) <= {3}


# -- doubt ---------------------------------------------------------------------------------------------------------------


def test_ranks_a_few_calls_apart_name_nobody():
    """Dumps written seconds after each other; each rank has its newest call in flight: a job that runs, as far as they tell."""
    dumps = [rank(r).calls("all_reduce", 1, n - 1).call("all_reduce", n, OPEN) for r, n in enumerate((45, 43, 44, 42))]
    incident = look(*dumps)
    assert incident.leads == ()
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE


def test_the_newest_dump_alone_in_a_call_names_nobody():
    """Ranks 1-3 were written before rank 0 completed 41 with them; that they are not in 42 says nothing. Nor does rank 0's."""
    incident = look(*alike((0,), "all_reduce", 42), *(rank(r).calls("all_reduce", 1, 40) for r in (1, 2, 3)))
    assert incident.leads == ()
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert [(f.kind, f.role, f.seq) for f in incident.findings] == [(Kind.NOT_OBSERVED, Role.NOTE, 42)]
    assert "whether the job stood still or ran on is not recorded" in incident.findings[0].summary


def test_the_newest_dump_alone_in_a_call_that_timed_out_stands_still():
    """As before, and rank 0's recorder gave 42 up: nobody is named, and a hang is said."""
    older = [rank(r).calls("all_reduce", 1, 40) for r in (1, 2, 3)]
    incident = look(rank(0).calls("all_reduce", 1, 41).call("all_reduce", 42, FAILED), *older)
    assert (incident.leads, incident.verdict) == ((), Verdict.DIVERGENCE)
    assert [(f.kind, f.role, f.ranks) for f in incident.findings] == [(Kind.NOT_OBSERVED, Role.LEAD, (1, 2, 3))]


def test_a_cut_dump_names_nobody():
    incident = look(*alike((0, 1, 2), "all_reduce", 42), rank(3).calls("all_reduce", 1, 40).cut())
    assert told(incident) == [("lead", "not_observed", (3,), "0", 42)]
    assert incident.leads == ()


def test_a_cut_dump_whose_counters_are_even_may_be_named():
    incident = look(*alike((0, 1, 2), "all_reduce", 42), rank(3).calls("all_reduce", 1, 40).counts(41, 41).cut())
    assert incident.leads == (3,)


def test_an_older_dump_names_nobody():
    """Rank 0 completed 42 with rank 3, whose dump ends at 41: nothing is known about 43."""
    dumps = [rank(r).calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41))
    assert incident.leads == ()
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks) == (Kind.NOT_OBSERVED, (3,))
    assert any("before" in line.text for line in finding.evidence)


@pytest.mark.parametrize("library", ["fake", "my_backend"])
def test_where_completion_is_not_recorded_a_rank_behind_is_named_while_others_went_beyond_its_newest_call(library):
    dumps = [rank(r, library).calls("all_reduce", 1, 42, ISSUED) for r in range(3)]
    incident = look(*dumps, rank(3, library).calls("all_reduce", 1, 41, ISSUED))
    assert incident.leads == (3,)


def test_where_completion_is_not_recorded_a_rank_in_a_call_of_its_own_is_not_named():
    """All made a call of another group, and nobody went beyond it there: rank 3 may be in it still."""
    dumps = [rank(r, "fake").calls("all_reduce", 1, 41, ISSUED).call("barrier", 1, ISSUED, group=TP) for r in range(4)]
    for dump in dumps[:3]:
        dump.call("all_reduce", 42, ISSUED)
    incident = look(*dumps)
    assert incident.leads == ()
    assert [(f.role, f.kind, f.ranks) for f in incident.findings] == [(Role.LEAD, Kind.NOT_OBSERVED, (3,))]
    assert "does not note completion" in incident.findings[0].summary


def gloo(number: int, last: int, then: int | None, group: Pg) -> Dump:
    dump = rank(number, "gloo").calls("all_reduce", 1, last, DONE, group=group)
    return dump if then is None else dump.call("all_reduce", then, OPEN, group=group)


def test_one_rank_behind_in_a_group_with_inferred_members_is_named():
    odd = Pg("tp", "", (0, 1, 2, 3))
    incident = look(*(gloo(r, 4, 5, odd) for r in range(3)), gloo(3, 4, None, odd))
    assert incident.leads == (3,)
    assert incident.groups[0].inferred


def test_several_behind_in_one_may_be_another_group_of_the_same_name():
    odd = Pg("tp", "", (0, 1, 2, 3))
    incident = look(*(gloo(r, 4, 5, odd) for r in (0, 1)), *(gloo(r, 4, None, odd) for r in (2, 3)))
    assert incident.leads == ()
    assert [(f.kind, f.ranks) for f in incident.findings if f.role is Role.LEAD] == [(Kind.NOT_OBSERVED, (2, 3))]
    assert "not recorded" in incident.findings[0].summary


def test_the_default_group_of_gloo_is_known_to_be_one():
    incident = look(*(gloo(r, 4, 5, WORLD) for r in (0, 1)), *(gloo(r, 4, None, WORLD) for r in (2, 3)))
    assert incident.leads == (2, 3)


def test_one_late_call_behind_a_delay_of_the_rank_itself_is_a_note():
    """Rank 3 has not finished 41, which the others completed, and rank 0 alone is in a call with it: it may be just behind."""
    pair = Pg("5", "pair", (0, 3))
    dumps = [rank(0).calls("all_reduce", 1, 41).call("broadcast", 1, OPEN, group=pair)]
    dumps += [rank(r).calls("all_reduce", 1, 41) for r in (1, 2)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 40).call("all_reduce", 41, OPEN).knows(pair))
    assert all(f.kind is not Kind.NOT_REQUESTED for f in incident.findings if f.role is Role.LEAD)


# -- how long they had waited --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("written", "said"), [(42.5, True), (1000.0, False), (0.0, False)])
def test_who_waits_since_a_moment_may_be_in_the_midst_of_a_step(written, said):
    """The request is of second 42. A file's time from before that, or much later, tells nothing."""
    made = records(*alike((0, 1, 2), "all_reduce", 42), rank(3).calls("all_reduce", 1, 41))
    stamped = tuple(replace(source, mtime_ns=T0 + round(written * SECOND)) for source in made.sources)
    incident = analyse(replace(made, sources=stamped))
    assert incident.leads == (3,)
    line = "that the job stands still: ranks 0-2 had waited 0.5 s at most when the dumps were written"
    assert (line in incident.findings[0].not_concluded) is said


# -- open requests that cannot be set beside those of others -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["from any source", "of a group that is not judged", "of no group"])
def test_a_rank_in_a_call_that_cannot_be_compared_waits_too(kind):
    """0, 2 and 3 are in 42; rank 1 is not, and has an open request of another kind: it waits, for whom is not known."""
    other = Pg("5", "pp", (0, 1, 2, 3))
    behind = rank(1).calls("all_reduce", 1, 41)
    assert look(*alike((0, 2, 3), "all_reduce", 42), behind).leads == (1,)
    if kind == "from any source":
        behind.recv(None, 1, OPEN, group=other)
    elif kind == "of a group that is not judged":
        behind.send(0, 0, group=other, seq=3).call("all_reduce", 4, OPEN, group=other)
    else:
        behind.unconfigured().call("all_reduce", 4, OPEN, group=Pg("", "", ()))
    incident = look(*alike((0, 2, 3), "all_reduce", 42), behind)
    assert 1 not in incident.leads


def test_who_is_named_with_calls_open_is_not_said_to_have_none():
    """Rank 3 has not finished what others finished: it is named for 42, and not as one without an unfinished request."""
    dumps = [rank(r).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 40).call("all_reduce", 41, OPEN))
    (lead,) = (finding for finding in incident.findings if finding.role is Role.LEAD)
    assert lead.ranks == (3,)
    assert not any("no unfinished request is recorded" in step for step in lead.steps)


# -- what is said where it cannot be told ----------------------------------------------------------------------------------


def test_dumps_of_different_moments_are_told_and_asked_for_once_more():
    """Ranks 4-7 were written before 41 was over: whether 2 and 3 are missed in 42 may be another moment's answer, too."""
    world = Pg("0", "default_pg", tuple(range(8)))
    now = [rank(r).calls("all_reduce", 1, 41, group=world).call("all_reduce", 42, FAILED, group=world) for r in (0, 1)]
    now += [rank(r).calls("all_reduce", 1, 41, group=world) for r in (2, 3)]
    finding, *_ = look(*now, *(rank(r).calls("all_reduce", 1, 40, group=world) for r in (4, 5, 6, 7))).findings
    assert (finding.kind, finding.ranks) == (Kind.NOT_OBSERVED, (2, 3))
    assert finding.summary.endswith("cannot be told: the dumps of this group were not written at one moment")
    assert [line.source for line in finding.evidence if "before dump" in line.text] == [4, 5, 6, 7]
    assert finding.compare_first.startswith("a second set of dumps, all written at one moment")
    assert "do they still stop below it" in finding.compare_first


def test_where_the_members_are_not_recorded_the_group_is_to_be_looked_at():
    odd = Pg("tp", "", (0, 1, 2, 3))
    incident = look(*(gloo(r, 4, 5, odd) for r in (0, 1)), *(gloo(r, 4, None, odd) for r in (2, 3)))
    (finding,) = (each for each in incident.findings if each.role is Role.LEAD)
    assert finding.compare_first.startswith("which ranks make up this group")
    assert "ranks 2-3" in finding.compare_first


PAIRS = (Pg("1", "tp", (0, 1)), Pg("2", "tp", (2, 3)))


def test_who_may_have_failed_in_its_newest_call_for_want_of_a_rank_without_a_dump_is_not_named():
    """gloo says that rank 2's last call with rank 3 is over, not how: 3 may have left, and 2 lost its connection to it."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 5) for r in (0, 1)]
    for each in dumps:
        each.call("all_reduce", 1, group=PAIRS[0], at=6).call("all_reduce", 6, OPEN, at=7)
    odd = rank(2, "gloo").calls("all_reduce", 1, 5).call("all_reduce", 1, group=PAIRS[1], at=6)
    incident = look(*dumps, odd, lost(3))
    assert incident.leads == ()
    said = [f.summary for f in incident.findings if "may have failed" in f.summary]
    assert len(said) == 1
    assert "of rank 3, which it needs, nothing tells" in said[0] or "which may be rank 3" in said[0]


@pytest.mark.parametrize(("size", "leads"), [(2, (2, 3)), (3, ())])
def test_so_it_is_for_want_of_a_member_that_only_sizes_prove(size, leads):
    """Ranks 0 and 1 wait for 2 and 3, whose last call is over, not told how; by what came out of it that group has so many
    members, and no file is of a rank that could be one more."""
    pair = Pg("2", "tp", (2, 3))
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 5).call("all_reduce", 6, OPEN, at=9) for r in (0, 1)]
    dumps += [
        rank(r, "gloo").calls("all_reduce", 1, 5).call("all_gather", 1, size=1, out=size, group=pair, at=5.5) for r in (2, 3)
    ]
    assert look(*dumps).leads == leads


def test_so_it_is_in_a_group_that_nobody_else_recorded_where_its_like_have_more_members():
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 5) for r in (0, 1)]
    for each in dumps:
        each.call("all_reduce", 1, group=PAIRS[0], at=6).call("all_reduce", 6, OPEN, at=7)
    odd = rank(2, "gloo").calls("all_reduce", 1, 5).call("all_reduce", 1, group=PAIRS[1], at=6)
    incident = look(*dumps, odd)
    assert incident.leads == ()
    assert any("others of its description have more members" in finding.summary for finding in incident.findings)
    alone = rank(2, "gloo").calls("all_reduce", 1, 5).call("all_reduce", 1, group=Pg("2", "own", (2,)), at=6)
    assert look(*dumps, alone).leads == (2,)


def test_beside_who_did_not_come_nobody_is_named_who_is_in_an_earlier_call_that_others_completed():
    """gloo: no device holds it there. It is about to leave, or its dump is a moment older."""
    waits = [gloo(r, 10, 11, WORLD) for r in (1, 3)]
    assert look(gloo(0, 9, 10, WORLD), *waits, gloo(2, 10, None, WORLD)).leads == (2,)
    nccl = [rank(r).calls("all_reduce", 1, 10).call("all_reduce", 11, OPEN) for r in (1, 3)]
    held = rank(0).calls("all_reduce", 1, 9).call("all_reduce", 10, OPEN)
    assert look(held, *nccl, rank(2).calls("all_reduce", 1, 10)).leads == (0, 2)


def test_who_went_on_from_that_call_is_named():
    """After the call with rank 3 it took part in one more of all ranks, which is over, as others went on from it."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 6).call("all_reduce", 7, OPEN, at=9) for r in (0, 1)]
    odd = rank(2, "gloo").calls("all_reduce", 1, 5).call("all_reduce", 1, group=PAIRS[1], at=5.5).call("all_reduce", 6)
    incident = look(*dumps, odd, lost(3))
    assert incident.leads == (2,)


def test_who_waited_in_a_monitored_barrier_by_its_log_is_not_named():
    """Ranks 1 and 3 are not in the call; rank 1's error says that it stood in a monitored_barrier, which leaves no record."""
    dumps = [*alike((0, 2), "all_reduce", 5), *(rank(r).calls("all_reduce", 1, 4) for r in (1, 3))]
    line = LogLine(FIRST + 1, 10, "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 4000 ms")
    heard = replace(logs(), reports=(Report(1, ReportKind.BARRIER, line, (1,), 0),), ranks=(1,))
    assert look(*dumps).leads == (1, 3)
    assert look(*dumps, logs=heard).leads == (3,)
    alone = look(*alike((0, 2, 3), "all_reduce", 5), rank(1).calls("all_reduce", 1, 4), logs=heard)
    assert alone.leads == ()
    assert "waited in a monitored_barrier themselves" in alone.findings[0].summary


def test_a_mate_that_went_on_from_that_call_shows_that_it_did_not_fail():
    """Rank 3 was in the same call of its pair and waits in the next one of all for rank 2; rank 0 left no dump."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 5) for r in (1, 3)]
    dumps[1].call("all_reduce", 1, group=PAIRS[1], at=5.5)
    for each in dumps:
        each.call("all_reduce", 6, OPEN, at=7)
    odd = rank(2, "gloo").calls("all_reduce", 1, 5).call("all_reduce", 1, group=PAIRS[1], at=5.5)
    assert look(*dumps, odd, lost(0)).leads == (2,)


def test_who_went_on_after_a_monitored_barrier_that_failed_is_named():
    """Caught, and steps follow: it may have stopped elsewhere."""
    dumps = [*alike((0, 2, 3), "all_reduce", 5), rank(1).calls("all_reduce", 1, 4)]
    said = end(1, "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 4000 ms", follower=True, went_on=True)
    heard = replace(logs(said), reports=(Report(1, ReportKind.BARRIER, said.line, (1,), 0),))
    assert look(*dumps, logs=heard).leads == (1,)
