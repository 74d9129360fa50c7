"""Members that nothing tells of: a lead to the files, never to the rank."""

from __future__ import annotations

from pathlib import Path

import pytest

import hangview
from hangview.schema import ReadOptions, Source, SourceKind, SourceStatus
from hangview.terms import Kind, Role, Side, Verdict
from tests.engine.support import OPEN, PAIR, Pg, alike, look, lost, of_kind, rank, told

FIXTURES = Path(__file__).parents[3] / "fixtures"
FIVE = Pg("0", "default_pg", (0, 1, 2, 3, 4))


def test_it_names_no_rank_and_says_why_nothing_is_known():
    incident = look(*alike((0, 1, 2), "all_reduce", 42), lost(3, SourceStatus.REFUSED, "asks for code"))
    (finding,) = incident.findings
    assert (finding.kind, finding.role, finding.ranks, finding.side) == (Kind.NOT_OBSERVED, Role.LEAD, (3,), Side.UNKNOWN)
    assert incident.leads == ()
    assert finding.evidence[0].text == "rank 3: no dump: trace_rank_3: asks for code"
    assert finding.not_concluded == ("that rank 3 skipped the call", "that rank 3 is at fault")


def test_a_member_whose_file_was_not_even_found():
    """It is known from the configuration of the others only."""
    incident = look(*alike((0, 1, 2), "all_reduce", 42))
    assert told(incident) == [("lead", "not_observed", (3,), "0", 42)]
    assert set(incident.coverage.missing) == {3}
    assert incident.findings[0].evidence[0].text == "rank 3: no dump: no dump file of this rank was found"


def test_a_folder_that_could_not_be_read_may_hold_it():
    folder = Source("node02", SourceKind.OTHER, SourceStatus.UNREADABLE, "Permission denied")
    incident = look(*alike((0, 1, 2), "all_reduce", 42), folder)
    assert incident.coverage.missing[3] == "no dump file of this rank was found; node02 could not be read"


def test_several_are_one_finding_with_their_reasons():
    incident = look(*alike((0, 1, 2), "all_reduce", 42, group=FIVE), lost(3), rank(4).knows(FIVE).wrapped())
    (finding,) = incident.findings
    assert finding.ranks == (3, 4)
    assert "no dump (rank 3), overwritten (rank 4)" in finding.summary


def test_it_is_told_in_the_call_that_the_program_comes_to_first():
    """Rank 0 stands in the call of the pair and has not come to the world's, in which two others wait for 1."""
    world, pair = Pg("0", "default_pg", (0, 1, 2, 3)), Pg("1", "tp", (0, 1))
    dumps = [rank(r).calls("all_reduce", 1, 4, group=world).call("all_reduce", 5, OPEN, group=world) for r in (2, 3)]
    first = rank(0).calls("all_reduce", 1, 4, group=world).calls("all_gather", 1, 6, group=pair)
    incident = look(first.call("all_gather", 7, OPEN, group=pair), *dumps, lost(1))
    assert told(incident)[0] == ("lead", "not_observed", (1,), "1", 7)
    assert incident.leads == ()


def test_beside_an_observed_lead_it_is_a_note():
    """Rank 3 did not request 42: that explains the hang, whatever rank 4 did."""
    dumps = [*alike((0, 1, 2), "all_reduce", 42, group=FIVE), rank(3).calls("all_reduce", 1, 41, group=FIVE)]
    incident = look(*dumps, lost(4))
    assert incident.leads == (3,)
    assert [(f.role, f.kind, f.ranks) for f in incident.findings] == [
        (Role.LEAD, Kind.NOT_REQUESTED, (3,)),
        (Role.NOTE, Kind.NOT_OBSERVED, (4,)),
    ]


def test_of_ranks_that_no_lead_explains_it_stays_a_lead():
    """Two pairs: in one the partner did not come, in the other it left no dump."""
    left, right = Pg("1", "left", (0, 1)), Pg("2", "right", (2, 3))
    incident = look(
        rank(0).call("all_reduce", 1, OPEN, group=left),
        rank(1).knows(left),
        rank(2).call("all_reduce", 1, OPEN, group=right),
        lost(3),
    )
    assert incident.leads == (1,)
    assert [(f.role, f.kind, f.ranks) for f in incident.findings] == [
        (Role.LEAD, Kind.NO_COLLECTIVE, (1,)),
        (Role.LEAD, Kind.NOT_OBSERVED, (3,)),
    ]


def test_a_waiting_rank_that_waits_for_a_missing_dump_is_never_named():
    """The chain 0 → 1 → (2, no dump) ends in the dark: neither 0 nor 1 nor 2 is named."""
    left, right = Pg("1", "left", (0, 1)), Pg("2", "right", (1, 2))
    incident = look(
        rank(0).call("all_reduce", 1, OPEN, group=left), rank(1).knows(left).call("all_reduce", 1, OPEN, group=right), lost(2)
    )
    assert incident.leads == ()
    assert [(f.role, f.kind, f.ranks) for f in incident.findings] == [
        (Role.LEAD, Kind.NOT_OBSERVED, (2,)),
        (Role.WAITING, Kind.WAITING, (0,)),
    ]


def test_a_message_from_a_rank_without_a_dump():
    incident = look(rank(1).recv(0, 1, OPEN, group=PAIR), lost(0))
    assert [(f.kind, f.ranks, f.lane) for f in incident.findings] == [(Kind.NOT_OBSERVED, (0,), "p2p 0->1")]
    assert incident.leads == ()


def test_a_cut_file_that_others_wait_for_and_that_may_be_whole_up_to_there():
    incident = look(*alike((0, 1, 2), "all_reduce", 42), rank(3).calls("all_reduce", 1, 41).cut())
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks) == (Kind.NOT_OBSERVED, (3,))
    assert "its file was read in part; newest entry read is 41" in finding.evidence[0].text


def test_an_older_dump_of_a_running_job_is_no_lead():
    """Rank 3 was written a second before the others went on: they are in 44, and only one of them is."""
    dumps = [*(rank(r).calls("all_reduce", 1, 43) for r in (1, 2)), *alike((0,), "all_reduce", 44)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41))
    assert (incident.verdict, incident.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, ())
    assert all(f.role is Role.NOTE and 3 not in f.ranks for f in incident.findings)


def test_an_older_dump_in_a_job_that_stands_still_is():
    """All others wait in 44, for minutes."""
    dumps = [rank(r).calls("all_reduce", 1, 43).call("all_reduce", 44, OPEN, at=900.0) for r in (0, 1, 2)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41))
    assert [(f.kind, f.ranks) for f in incident.findings] == [(Kind.NOT_OBSERVED, (3,))]
    assert incident.leads == ()


def test_no_dump_of_anyone_is_no_hang_and_no_evidence():
    incident = look(*(lost(r) for r in range(4)))
    assert (incident.verdict, incident.findings, incident.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, (), ())


def test_a_single_dump_of_a_rank_that_waits_names_no_other():
    incident = look(*alike((0,), "all_reduce", 42))
    assert told(incident) == [("lead", "not_observed", (1, 2, 3), "0", 42)]
    assert incident.leads == ()
    assert of_kind(incident, Kind.NOT_REQUESTED) == []


@pytest.mark.parametrize(("fixture", "usual"), [("nccl2-no-dump", True), ("nccl-stuck-no-dump", False)])
def test_where_a_missing_dump_is_usual_it_is_said(fixture, usual):
    """In torch 2.15's nccl2 the rank that never came leaves none, as docs/recording.md says."""
    incident = hangview.load(str(FIXTURES / fixture), options=ReadOptions(cache=False))
    (finding,) = (each for each in incident.findings if each.kind is Kind.NOT_OBSERVED)
    assert any("one that never came often leaves none" in each.text for each in finding.evidence) is usual
    assert incident.leads == ()


def test_a_rank_that_is_missed_in_two_groups_is_told_in_both():
    """Ranks 1 and 3 left nothing. Most wait for 3 in the default group; rank 0 waits for 1 in a pair, too."""
    pair = Pg("7", "pair", (0, 1))
    first = rank(0).calls("all_reduce", 1, 41, group=FIVE).call("all_reduce", 1, OPEN, group=pair)
    incident = look(first, *alike((2, 4), "all_reduce", 42, group=FIVE))
    found = [(f.role, f.kind, f.ranks, f.seq) for f in incident.findings]
    assert (Role.LEAD, Kind.NOT_OBSERVED, (1, 3), 42) in found
    told = "rank 0 waits in all_reduce 1 of pair; whether rank 1 requested it is not observed: no dump"
    assert told in [f.summary for f in incident.findings if f.role is Role.WAITING]


def test_what_is_recorded_is_told_before_what_is_not():
    """One of four asks for another dtype, so nobody is the majority once rank 3 is unseen; in a group told first by its number,
    a dump is missing."""
    far = Pg("0", "default_pg", (0, 1, 2, 3, 4))
    odd = Pg("9", "odd", (0, 1, 2))
    dumps = [rank(r).call("all_reduce", 1, OPEN, group=odd, dtype=d) for r, d in ((0, "Float"), (1, "Half"))]
    dumps[0].call("all_reduce", 5, OPEN, group=far)
    incident = look(*dumps)
    kinds = [f.kind for f in incident.findings if f.role is Role.LEAD]
    assert kinds.index(Kind.DIFFERENT_DTYPE) < kinds.index(Kind.NOT_OBSERVED)


def test_where_there_are_dumps_the_next_step_is_not_to_find_them():
    """Rank 3's dump was written before 42 was over, so what it lacks is not missing; of rank 2 there is no file."""
    ahead = [rank(r).calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN) for r in (0, 1)]
    older = rank(3).calls("all_reduce", 1, 41)
    read = look(*ahead, rank(2).calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN), older).findings[0]
    assert (read.ranks, read.steps[-1]) == (
        (3,),
        "So nobody can be named here; what these dumps do not tell may stand in the ranks' logs and stacks.",
    )
    assert read.compare_first.startswith("the logs and stacks of rank 3: its dump was read and does not reach this call")
    cut = look(*ahead, rank(2).calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN), rank(3).cut()).findings[0]
    assert cut.compare_first.startswith("collection for rank 3")
    both = look(*ahead, older).findings[0]
    assert both.ranks == (2, 3)
    assert both.steps[-1].startswith("So nobody can be named here; finding the missing dumps is the next step, and ")
    none = look(*alike((0, 1, 2), "all_reduce", 42)).findings[0]
    assert none.steps[-1].endswith("finding the missing dumps or logs is the next step.")
