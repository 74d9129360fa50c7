"""Requests of one call that differ: the majority is the reference, both sides are shown, and on less nobody is named."""

from __future__ import annotations

import pytest

from hangview.terms import Kind, Role, Verdict
from tests.engine.support import OPEN, Dump, Pg, look, lost, of_kind, rank, told
from tests.engine.test_callsites import STEP, loop


def asked(number: int, size: int = 1024, op: str = "all_reduce", **rest: object) -> Dump:
    """Completed up to 41, and in 42."""
    return rank(number).calls("all_reduce", 1, 41).call(op, 42, OPEN, size=size, **rest)  # type: ignore[arg-type]


# -- who is named --------------------------------------------------------------------------------------------------------


def test_both_sides_are_shown_with_their_counts_and_a_file():
    (finding,) = look(asked(0), asked(1, 512), asked(2), asked(3)).findings
    assert [line.text for line in finding.evidence] == [
        "ranks 0,2-3 (3 of 4): all_reduce of 1,024 × Float (trace_rank_0)",
        "rank 1 (1 of 4): all_reduce of 512 × Float (trace_rank_1)",
    ]
    assert (finding.ranks, finding.others) == ((1,), (0, 2, 3))
    read_first = "rank 1 differs from ranks 0,2-3: the fewer are read first; which side is right is not recorded."
    assert finding.steps[-1] == read_first


@pytest.mark.parametrize("odd", [{"size": 512}, {"op": "all_gather", "out": 4096}, {"dtype": "Half"}])
def test_two_against_two_names_nobody_and_shows_both(odd):
    incident = look(asked(0), asked(1, **odd), asked(2, **odd), asked(3))
    (finding,) = incident.findings
    assert (finding.role, finding.ranks, finding.others) == (Role.LEAD, (0, 1, 2, 3), ())
    assert incident.leads == ()
    assert incident.verdict is Verdict.DIVERGENCE
    assert "no side is the majority" in finding.summary
    assert len(finding.evidence) == 2


def test_four_of_eight_against_four_different_ones_name_nobody():
    """The largest side is no majority."""
    world = Pg("0", "default_pg", tuple(range(8)))
    dumps = [rank(r).call("all_reduce", 1, OPEN, group=world, size=64 if r < 4 else r) for r in range(8)]
    incident = look(*dumps)
    assert incident.leads == ()
    assert incident.findings[0].others == ()


def test_two_minorities_are_both_named():
    world = Pg("0", "default_pg", tuple(range(7)))
    dumps = [rank(r).call("all_reduce", 1, OPEN, group=world, size={5: 32, 6: 16}.get(r, 64)) for r in range(7)]
    incident = look(*dumps)
    assert incident.leads == (5, 6)
    assert [(f.kind, f.ranks, f.others) for f in incident.findings] == [(Kind.DIFFERENT_SIZE, (5, 6), (0, 1, 2, 3, 4))]


def test_a_majority_that_ranks_without_dumps_could_overturn_names_nobody():
    incident = look(asked(0), asked(1), asked(2, 512), lost(3))
    assert incident.leads == ()
    (finding,) = of_kind(incident, Kind.DIFFERENT_SIZE)
    assert (finding.ranks, finding.others) == ((0, 1, 2), ())


def test_a_majority_that_they_could_not_does():
    world = Pg("0", "default_pg", tuple(range(6)))
    dumps = [rank(r).call("all_reduce", 1, OPEN, group=world, size=512 if r == 4 else 64) for r in range(5)]
    assert look(*dumps, lost(5)).leads == (4,)


def test_a_cut_file_that_ends_in_this_call_may_have_asked_for_more():
    """Its last record may be one of several that the call leaves."""
    part = rank(3).coalesced("", [("all_reduce", 4), ("all_reduce", 8)], 1, None).cut()
    full = [("all_reduce", 4), ("all_reduce", 8), ("all_reduce", 16)]
    whole = [rank(r).coalesced("ALLREDUCE_coalesced", full, 1, OPEN) for r in range(3)]
    assert look(*whole, part).leads == ()


# -- both on one call ----------------------------------------------------------------------------------------------------


def test_a_rank_missing_in_a_call_that_differs_is_said_beside_the_difference():
    """Rank 4 did not come; rank 3 asked for something else. Either explains the hang."""
    world = Pg("0", "default_pg", tuple(range(6)))
    dumps = [rank(r).call("all_reduce", 1, group=world) for r in range(6)]
    for dump in dumps:
        if dump.number != 4:
            dump.call("all_reduce", 2, OPEN, group=world, size=512 if dump.number == 3 else 1024)
    incident = look(*dumps)
    assert incident.leads == (3, 4)
    assert {(f.kind, f.ranks) for f in incident.findings} == {(Kind.NOT_REQUESTED, (4,)), (Kind.DIFFERENT_SIZE, (3,))}


def test_only_the_first_difference_of_a_group_is_told_and_not_what_follows():
    """Rank 3 skipped a call: from there on every call of its differs, and every one is stuck behind the first."""
    sizes = (8, 16, 32, 64, 128)
    dumps = []
    for number in range(4):
        dump = rank(number).call("all_reduce", 1, size=4)
        mine = sizes[1:] if number == 3 else sizes
        for seq, size in enumerate(mine, 2):
            dump.call("all_reduce", seq, OPEN, size=size, at=10.0)
        dumps.append(dump)
    incident = look(*dumps)
    assert incident.leads == (3,)
    assert told(incident) == [("lead", "different_size", (3,), "0", 2)]


# -- calls that are over all the same ------------------------------------------------------------------------------------


def test_a_dtype_that_differs_in_a_call_that_completed_is_a_divergence_and_a_note():
    dumps = [rank(r).calls("all_reduce", 1, 9, dtype="Half" if r == 3 else "Float") for r in range(4)]
    incident = look(*dumps)
    assert told(incident) == [("note", "different_dtype", (3,), "0", 1)]
    assert (incident.verdict, incident.leads) == (Verdict.DIVERGENCE, ())
    assert "the call is over all the same, and 8 more like it" in incident.findings[0].summary


def test_one_note_for_each_kind_and_group():
    dumps = [rank(r).call("all_reduce", 1, size=8 if r == 3 else 4).call("all_gather", 2, out=4096) for r in range(4)]
    for dump in dumps:
        dump.call("all_reduce", 3, dtype="Half" if dump.number == 3 else "Float").call("all_reduce", 4)
    assert told(look(*dumps)) == [("note", "different_size", (3,), "0", 1), ("note", "different_dtype", (3,), "0", 3)]


def test_a_difference_long_over_is_a_note_below_the_lead_that_holds_the_job_now():
    dumps = [rank(r).call("all_reduce", 1, dtype="Half" if r == 0 else "Float").calls("all_reduce", 2, 9) for r in range(4)]
    for dump in dumps[:3]:
        dump.call("all_reduce", 10, OPEN)
    assert told(look(*dumps)) == [("lead", "not_requested", (3,), "0", 10), ("note", "different_dtype", (0,), "0", 1)]


# -- all_to_all ----------------------------------------------------------------------------------------------------------


def test_totals_of_an_exchange_that_do_not_add_up_name_nobody():
    dumps = [rank(r).call("all_to_all", 1, OPEN, size=(4, 4, 4, 4), out=(4, 4, 4, 4 + (r == 2))) for r in range(4)]
    incident = look(*dumps)
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.others) == (Kind.DIFFERENT_SIZE, (0, 1, 2, 3), ())
    assert incident.leads == ()
    assert "all inputs sum to 64 elements, all outputs to 65" in finding.summary


# -- call sites ----------------------------------------------------------------------------------------------------------


def test_call_sites_that_run_apart_while_nothing_hangs_are_a_note_and_a_divergence():
    incident = look(*(loop(r, 30) for r in range(3)), loop(3, 30, moved=1, at=11))
    assert told(incident) == [("note", "different_call_site", (3,), "0", 11)]
    assert incident.verdict is Verdict.DIVERGENCE
    (finding,) = incident.findings
    assert finding.others == (0, 1, 2)
    assert "loss (train.py:40)" in finding.summary
    assert "clip (train.py:30)" in finding.summary
    assert "skipped a call" in finding.summary


def test_they_are_told_beside_the_difference_that_they_lead_to():
    """The fourth call site has another size: rank 3 skipped a call at 11 and comes to it one call early."""
    dumps = []
    for number in range(4):
        dump = loop(number, 14, moved=1 if number == 3 else 0, at=11)
        place = STEP[3] if number == 3 else STEP[2]
        dump.call("all_reduce", 15, OPEN, place=place, size=1 if number == 3 else 1024)
        dumps.append(dump)
    incident = look(*dumps)
    assert incident.leads == (3,)
    assert (Role.LEAD, Kind.DIFFERENT_SIZE) in [(f.role, f.kind) for f in incident.findings]
    assert of_kind(incident, Kind.DIFFERENT_CALL_SITE, Role.NOTE)


# -- another function for the same call -----------------------------------------------------------------------------------


def test_the_same_call_through_another_function_is_a_note():
    """all_gather into a list and all_gather_into_tensor are one call of the communication library."""
    dumps = [rank(r).call("_all_gather_base", 1, OPEN, size=8, out=32) for r in (0, 1, 2)]
    incident = look(*dumps, rank(3).call("all_gather", 1, OPEN, size=8, out=32))
    (note,) = of_kind(incident, Kind.DIFFERENT_CALL_SITE)
    assert (note.role, note.ranks, note.others, incident.leads) == (Role.NOTE, (3,), (0, 1, 2), ())
    assert "ranks 0-2 through _all_gather_base; rank 3 through all_gather" in note.summary
    assert not of_kind(incident, Kind.DIFFERENT_OP)


def test_another_function_and_another_size_is_a_mismatch_alone():
    dumps = [rank(r).call("_all_gather_base", 1, OPEN, size=8, out=32) for r in (0, 1, 2)]
    incident = look(*dumps, rank(3).call("all_gather", 1, OPEN, size=16, out=64))
    assert incident.leads == (3,)
    assert not of_kind(incident, Kind.DIFFERENT_CALL_SITE)


def test_another_function_in_a_job_that_still_runs_is_no_divergence():
    """Two ranks are in 42 already, three have done 41, three dumps are older: a job on its way, whatever function is called."""
    world = Pg("0", "default_pg", tuple(range(8)))

    def done(number: int, last: int) -> Dump:
        return rank(number).calls("all_gather", 1, last, group=world, size=8, out=64)

    ahead = (
        done(0, 41).call("all_gather", 42, OPEN, group=world, size=8, out=64),
        done(1, 41).call("_all_gather_base", 42, OPEN, group=world, size=8, out=64),
    )
    incident = look(*ahead, *(done(r, 41) for r in (2, 3, 4)), *(done(r, 40) for r in (5, 6, 7)))
    assert (incident.leads, incident.verdict) == ((), Verdict.NOT_ENOUGH_EVIDENCE)
    assert not of_kind(incident, Kind.DIFFERENT_CALL_SITE)


def test_of_sums_that_differ_no_side_is_spoken_of():
    """An exchange in which the sums of all inputs and of all outputs differ by one: there are no sides."""
    sizes = [(10, 10), (10, 10), (10, 10), (11, 10)]
    dumps = [rank(r).call("all_to_all", 1, OPEN, size=sent, out=got) for r, (sent, got) in enumerate(sizes)]
    (finding,) = of_kind(look(*dumps), Kind.DIFFERENT_SIZE)
    assert finding.steps[-1].startswith("What they send and what they receive does not add up: ")
    assert "that any one of these ranks is wrong, only that the sums differ" in finding.not_concluded
    assert not any("side" in text for text in (*finding.steps, *finding.not_concluded))
