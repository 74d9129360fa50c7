"""What becomes of the answer of the dumps when logs are read beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hangview.logs.evidence import Aside, EndKind, LogLine, OutsideStack
from hangview.logs.times import Printed, printed
from hangview.schema import StackFrame
from hangview.terms import Kind, Role
from tests.engine.by_logs import FIRST, end, logs, stands
from tests.engine.support import OPEN, Pg, alike, look, lost, of_kind, rank

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.logs.evidence import GroupByLog, LogEvidence, ProcessEnd
    from tests.engine.support import Dump

TP = Pg("7", "tp", (0, 1, 2, 3))


def waiting() -> list[Dump]:
    return alike((0, 1, 2), "all_reduce", 42)


# -- what becomes of the answer ------------------------------------------------------------------------------------------


def test_a_rank_that_its_log_shows_behind_is_a_lead():
    incident = look(*waiting(), lost(3), logs=logs(stands(3, 41, 41)))
    assert incident.leads == (3,)
    (finding,) = of_kind(incident, Kind.NOT_REQUESTED)
    assert any("rank_3.log" in line.text for line in finding.evidence)


def test_a_rank_that_its_log_shows_in_the_call_is_none():
    incident = look(*waiting(), lost(3), logs=logs(stands(3, 42, 41)))
    assert incident.leads == ()
    assert of_kind(incident, Kind.NOT_REQUESTED) == []


def test_a_rank_with_unfinished_works_is_no_lead():
    """Rank 2 stopped; rank 3 waits for it in a receive, which is no call of the other ranks' dumps."""
    said = logs(stands(2, 12, 12), stands(3, 8, 7))
    incident = look(*alike((0, 1), "all_reduce", 13), lost(2), lost(3), logs=said)
    assert incident.leads == (2,)
    (finding,) = [f for f in of_kind(incident, Kind.NOT_REQUESTED) if f.role is Role.LEAD]
    assert finding.ranks == (2,)
    (beside,) = of_kind(incident, Kind.NOT_OBSERVED)
    assert beside.ranks == (3,)


HANDLED = replace(end(3, "OSError: shard 3", went_on=True), lived="steps up to 40 follow it")


def test_what_was_raised_and_handled_names_nobody_and_is_told():
    incident = look(*waiting(), lost(3), logs=replace(logs(), handled=(HANDLED,)))
    assert incident.leads == ()
    (finding,) = of_kind(incident, Kind.NOT_OBSERVED)
    told = "rank 3, by its log: OSError: shard 3; it went on: steps up to 40 follow it (line 30)"
    assert (finding.role, told in [line.text for line in finding.evidence]) == (Role.LEAD, True)


def test_beside_an_observed_lead_what_was_handled_is_a_line_of_evidence():
    incident = look(*waiting(), rank(3).calls("all_reduce", 1, 41), logs=replace(logs(), handled=(HANDLED,)))
    assert [(f.kind, f.role) for f in incident.findings] == [(Kind.NOT_REQUESTED, Role.LEAD)]
    assert "it went on: steps up to 40 follow it" in incident.findings[0].evidence[-1].text


def test_a_log_of_another_run_is_told_beside_what_is_missed():
    aside = Aside(FIRST + 3, "rank_3.log", (3,), "of another run than the dumps: its lines are of 10-03 09:12:11")
    (finding,) = look(*waiting(), lost(3), logs=replace(logs(), aside=(aside,))).findings
    assert "rank 3: rank_3.log is of another run than the dumps: its lines are of 10-03 09:12:11" in [
        line.text for line in finding.evidence
    ]


def test_a_finding_shows_when_its_line_was_printed_and_when_the_records_were_made():
    when = printed("2025-10-09 09:04:02 x")
    line = replace(end(3).line, printed=Printed(when))
    told = replace(logs(replace(end(3), line=line)), recorded=(1_760_000_001.0, 1_760_000_042.0))
    both = "printed 2025-10-09 09:04:02, the dumps' records are of 2025-10-09 08:53:21 to 08:54:02 UTC"
    (finding,) = of_kind(look(*waiting(), lost(3), logs=told), Kind.PROCESS_ENDED)
    assert finding.evidence[-1].text == both
    stood = replace(stands(3, 41, 41), line=replace(stands(3, 41, 41).line, printed=Printed(when)))
    told = replace(logs(stood), recorded=(1_760_000_001.0, 1_760_000_042.0))
    (finding,) = of_kind(look(*waiting(), lost(3), logs=told), Kind.NOT_REQUESTED)
    assert any(f"it enqueued is 41 (rank_3.log, line 12; {both})" in each.text for each in finding.evidence)


def ended(incident: Incident) -> list[tuple[Role, tuple[int, ...], tuple[int, ...]]]:
    return [(f.role, f.ranks, f.others) for f in of_kind(incident, Kind.PROCESS_ENDED)]


def test_a_rank_without_a_dump_whose_log_shows_how_it_ended_is_a_lead():
    incident = look(*waiting(), lost(3), logs=logs(end(3)))
    assert incident.leads == (3,)
    assert ended(incident) == [(Role.LEAD, (3,), (0, 1, 2))]
    (beside,) = of_kind(incident, Kind.NOT_OBSERVED)
    assert (beside.role, beside.ranks) == (Role.NOTE, (3,))


def test_the_end_stands_at_the_call_that_waits_for_it():
    (finding,) = of_kind(look(*waiting(), lost(3), logs=logs(end(3))), Kind.PROCESS_ENDED)
    assert (finding.group, finding.lane, finding.seq, finding.op) == (0, "collective", 42, "all_reduce")
    assert "all_reduce 42 of default_pg" in finding.summary


def test_what_is_still_not_observed_stays_a_lead_to_the_files():
    """Of two ranks without dumps only one has a log that tells."""
    big = Pg("0", "default_pg", (0, 1, 2, 3, 4))
    incident = look(*alike((0, 1, 2), "all_reduce", 42, group=big), lost(3), lost(4), logs=logs(end(3)))
    (open_one,) = of_kind(incident, Kind.NOT_OBSERVED)
    assert (open_one.role, open_one.ranks) == (Role.LEAD, (3, 4))
    assert incident.leads == (3,)


FOLLOWERS = [
    end(3, "signal 15 (SIGTERM)", EndKind.SIGNAL, follower=True, why_follower="the launcher ended it"),
    end(3, "connection reset by peer", follower=True, why_follower="its peer was gone"),
    end(3, "watchdog time-out", EndKind.ABORT, follower=True, why_follower="it aborted after its time-out"),
    end(3, "ValueError", went_on=True, before_communication=False, inside=True),  # raised in the call, handled, went on
    end(3, "RuntimeError: shapes differ across ranks", gathered=True),
]


@pytest.mark.parametrize("follower", FOLLOWERS, ids=lambda e: e.what)
def test_an_end_that_others_brought_about_names_nobody(follower):
    incident = look(*waiting(), lost(3), logs=logs(follower))
    assert incident.leads == ()
    assert ended(incident) == []
    (finding,) = of_kind(incident, Kind.NOT_OBSERVED)
    assert finding.role is Role.LEAD


GONE = [
    end(3, "exit code 1", EndKind.EXIT_CODE, before_communication=False, code=1),
    end(3, "left its program", EndKind.LEFT, before_communication=False),
]
CLOSED = [end(r, "signal 9", EndKind.SIGNAL, follower=True, why_follower="the launcher ended it") for r in range(3)]


def gone(*said: ProcessEnd | GroupByLog) -> LogEvidence:
    told = logs(*said)
    left = tuple(each for each in told.ends if each.kind is EndKind.LEFT)
    return replace(told, ends=tuple(each for each in told.ends if each not in left), left=left)


def at(found: Any, clock: str) -> Any:
    return replace(found, line=replace(found.line, printed=Printed(printed(f"E1009 {clock} x"))))


#: Rank 0 waited until its time-out, by a line of that moment.
TIMED = at(stands(0, 42, 41, timed_out=42), "09:04:02")


@pytest.mark.parametrize("over", GONE, ids=lambda e: e.what)
def test_the_one_rank_that_is_not_seen_in_the_call_and_whose_process_was_gone_before_the_time_out_is_a_lead(over):
    incident = look(*waiting(), lost(3), logs=gone(at(over, "08:54:05"), TIMED))
    assert incident.leads == (3,)
    assert ended(incident) == [(Role.LEAD, (3,), (0, 1, 2))]
    (finding,) = of_kind(incident, Kind.PROCESS_ENDED)
    assert "that rank 3 skipped the call: that it is gone is known, not whether it had come" in finding.not_concluded


def test_that_a_launcher_ended_the_others_afterwards_changes_nothing():
    exited, left = (at(over, "08:54:05") for over in GONE)
    assert look(*waiting(), lost(3), logs=gone(exited, TIMED, *CLOSED)).leads == (3,)
    assert look(*waiting(), lost(3), logs=gone(left, TIMED, *CLOSED)).leads == ()  # it may have been told to leave


@pytest.mark.parametrize("over", GONE, ids=lambda e: e.what)
def test_without_a_line_about_a_time_out_it_may_have_waited_as_long_as_the_others(over):
    incident = look(*waiting(), lost(3), logs=gone(over))
    assert incident.leads == ()
    assert any(over.what in line.text for line in of_kind(incident, Kind.NOT_OBSERVED)[0].evidence)


@pytest.mark.parametrize("over", GONE, ids=lambda e: e.what)
@pytest.mark.parametrize(
    "other",
    [
        end(0, "signal 6 (SIGABRT)", EndKind.SIGNAL, follower=True, why_follower="x", code=-6),
        end(0, "DistBackendError", follower=True, why_follower="it waited until its own time-out"),
        end(0, "exit code 1", EndKind.EXIT_CODE, before_communication=False, code=1),
        stands(0, 42, 41, timed_out=42),
    ],
)
def test_where_others_ended_by_themselves_or_timed_out_a_process_that_is_gone_names_nobody(over, other):
    """It may have left because of them; what is known of it is a line."""
    incident = look(*waiting(), lost(3), logs=gone(over, other))
    assert incident.leads == ()
    lines = [line.text for line in of_kind(incident, Kind.NOT_OBSERVED)[0].evidence]
    assert any(over.what in text for text in lines)


@pytest.mark.parametrize("over", GONE, ids=lambda e: e.what)
def test_one_of_several_that_are_not_seen_may_have_waited_for_another(over):
    big = Pg("0", "default_pg", (0, 1, 2, 3, 4))
    incident = look(*alike((0, 1, 2), "all_reduce", 42, group=big), lost(3), lost(4), logs=gone(over))
    assert incident.leads == ()
    assert any(over.what in line.text for line in of_kind(incident, Kind.NOT_OBSERVED)[0].evidence)


@pytest.mark.parametrize("over", GONE, ids=lambda e: e.what)
def test_beside_an_observed_lead_it_is_a_line(over):
    incident = look(*waiting(), rank(3).calls("all_reduce", 1, 41), logs=gone(over))
    assert [(f.kind, f.role) for f in incident.findings] == [(Kind.NOT_REQUESTED, Role.LEAD)]
    assert over.what in incident.findings[0].evidence[-1].text


def test_a_time_out_after_the_exit_does_not_explain_it():
    for over in GONE:
        early, late = at(over, "08:54:05"), at(stands(0, 42, 41, timed_out=42), "09:04:02")
        assert look(*waiting(), lost(3), logs=gone(early, late)).leads == (3,)
        early, late = at(stands(0, 42, 41, timed_out=42), "09:04:02"), at(over, "09:04:12")
        assert look(*waiting(), lost(3), logs=gone(late, early)).leads == ()


def test_a_process_whose_rank_no_log_gives_is_a_line():
    told = replace(logs(), unplaced_ends=(replace(end(3, "exit code 1", EndKind.EXIT_CODE), rank=-1),))
    (finding,) = look(*waiting(), lost(3), logs=told).findings
    assert (finding.kind, finding.role) == (Kind.NOT_OBSERVED, Role.LEAD)
    assert any("a process whose rank no log gives: exit code 1" in line.text for line in finding.evidence)


def test_a_rank_that_only_its_log_tells_of_is_missed_on_gloo():
    """Rank 3 left no file and nothing proves how many ranks there are, but its log is there: it raised before the call."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in range(3)]
    incident = look(*dumps, logs=logs(end(3)))
    assert incident.leads == (3,)
    assert [f.kind for f in incident.findings if f.role is Role.LEAD] == [Kind.PROCESS_ENDED]
    assert incident.coverage.missing == {3: "no dump file of this rank was found"}


def test_an_end_that_only_follows_stands_beside_what_is_not_observed():
    followed = end(3, "gloo::EnforceNotMet", EndKind.ABORT, follower=True, why_follower="it aborts inside a call")
    (finding,) = look(*waiting(), lost(3), logs=logs(followed)).findings
    said = "rank 3, by its log: gloo::EnforceNotMet; that only follows: it aborts inside a call (rank_3.log, line 30)"
    assert (finding.kind, finding.role) == (Kind.NOT_OBSERVED, Role.LEAD)
    assert said in [line.text for line in finding.evidence]


def test_an_exception_before_the_call_counts_although_the_script_went_on():
    incident = look(*waiting(), lost(3), logs=logs(end(3, went_on=True, before_communication=True)))
    assert incident.leads == (3,)


def test_of_several_ends_of_a_rank_one_of_its_own_making_counts():
    told = logs(FOLLOWERS[0], end(3))
    assert look(*waiting(), lost(3), logs=told).leads == (3,)


# -- beside an observed lead ---------------------------------------------------------------------------------------------


def test_what_the_dumps_show_stays_and_the_log_stands_beside_it():
    incident = look(*waiting(), rank(3).calls("all_reduce", 1, 41), logs=logs(end(3)))
    assert incident.leads == (3,)
    assert [(f.kind, f.role) for f in incident.findings] == [
        (Kind.NOT_REQUESTED, Role.LEAD),
        (Kind.PROCESS_ENDED, Role.LEAD),
    ]
    line = incident.findings[0].evidence[-1]
    assert line.text == "rank 3, by its log: ValueError: shard_3.bin (rank_3.log, line 30)"


@pytest.mark.parametrize("follower", FOLLOWERS, ids=lambda e: e.what)
def test_ends_that_follow_change_nothing_about_an_observed_lead(follower):
    with_log = look(*waiting(), rank(3).calls("all_reduce", 1, 41), logs=logs(follower))
    without = look(*waiting(), rank(3).calls("all_reduce", 1, 41))
    assert with_log.findings == without.findings


def test_a_waiting_rank_that_raised_its_time_out_is_no_lead():
    """Rank 0 printed the time-out and died of it."""
    told = logs(end(0, "DistBackendError: timed out", before_communication=False), stands(0, 42, 41, timed_out=42))
    incident = look(*waiting(), rank(3).calls("all_reduce", 1, 41), logs=told)
    assert incident.leads == (3,)
    assert ended(incident) == []


def test_a_rank_that_raises_inside_a_call_that_differs_follows_from_it():
    """Rank 1 asked for another size; rank 3, without a dump, raised in the same call."""
    big = Pg("0", "default_pg", tuple(range(6)))
    dumps = alike((0, 2, 4, 5), "all_reduce", 42, group=big)
    odd = rank(1).calls("all_reduce", 1, 41, group=big).call("all_reduce", 42, OPEN, group=big, size=512)
    incident = look(*dumps, odd, lost(3), logs=logs(end(3, "RuntimeError", before_communication=False)))
    assert incident.leads == (1,)
    assert ended(incident) == []


def test_where_nobody_is_named_what_another_rank_raised_is_a_note():
    """Rank 0 waits in a pair for rank 1, of which nothing is known; rank 3 is in neither, and 1 may wait for it."""
    pair = Pg("5", "pair", (0, 1))
    dump = rank(0).calls("all_reduce", 1, 4).call("all_reduce", 1, OPEN, group=pair)
    incident = look(dump, lost(1), lost(2), lost(3), logs=logs(end(3)))
    assert [(f.role, f.kind, f.ranks) for f in incident.findings] == [
        (Role.LEAD, Kind.NOT_OBSERVED, (1,)),
        (Role.NOTE, Kind.PROCESS_ENDED, (3,)),
    ]
    assert incident.leads == ()
    assert incident.findings[1].not_concluded[-1] == "that others wait because of it: no record shows that they do"


def test_beside_a_rank_that_is_named_it_is_none():
    pair = Pg("5", "pair", (0, 1))
    dumps = [rank(0).calls("all_reduce", 1, 4).call("all_reduce", 1, OPEN, group=pair), rank(1).calls("all_reduce", 1, 4)]
    incident = look(*dumps, lost(2), lost(3), logs=logs(end(3)))
    assert incident.leads == (1,)
    assert of_kind(incident, Kind.PROCESS_ENDED) == []


def test_a_rank_is_told_once():
    """Rank 3 is missing in two groups, and ended once."""
    dumps = [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 4, OPEN) for r in (0, 1)]
    dumps.append(rank(2).calls("all_reduce", 1, 3).call("all_reduce", 1, OPEN, group=TP))
    incident = look(*dumps, lost(3), logs=logs(end(3)))
    assert len(ended(incident)) == 1


def test_logs_alone_are_judged_as_logs():
    """Without any usable dump the groups and the answer come from the logs."""
    told = logs(*(stands(r, 42, 41, timed_out=42) for r in range(3)), stands(3, 41, 41))
    incident = look(lost(0), lost(1), lost(2), lost(3), logs=told)
    assert incident.leads == (3,)
    assert [g.name for g in incident.groups] == ["0"]


# -- stacks taken from outside -------------------------------------------------------------------------------------------


def taken(rank_: int, *frames: tuple[str, str, int], thread: str = "MainThread", at: int = 4) -> OutsideStack:
    stack = tuple(StackFrame(name, filename, number) for name, filename, number in frames)
    return OutsideStack(rank_, 4417, thread, stack, "py-spy", LogLine(FIRST + rank_, at, "Thread"))


LOADING = (("wait", "threading.py", 331), ("load_batch", "data.py", 88), ("main", "train.py", 64))


def test_where_a_rank_that_did_not_come_stood_when_somebody_looked():
    said = replace(
        logs(stands(3, 41, 41)),
        stacks=(taken(3, ("poll", "pin.py", 3), thread="pin_memory"), taken(3, *LOADING), taken(0, *LOADING)),
    )
    incident = look(*waiting(), rank(3).calls("all_reduce", 1, 41), logs=said)
    (finding,) = incident.findings
    assert (finding.kind, incident.leads) == (Kind.NOT_REQUESTED, (3,))
    (line,) = (e.text for e in finding.evidence if "py-spy" in e.text)
    assert line == "rank 3, by py-spy: MainThread stood in load_batch (data.py:88) (rank_3.log, line 4)"


def test_a_stack_names_nobody():
    """Rank 2 waits inside the call as the others do: that its stack was taken says nothing against it."""
    said = replace(logs(stands(2, 42, 41)), stacks=(taken(2, *LOADING),))
    incident = look(*alike(range(4), "all_reduce", 42), logs=said)
    assert incident.leads == ()
    assert not any("py-spy" in e.text for f in incident.findings for e in f.evidence)


def test_of_a_call_that_all_requested_it_is_said_what_one_of_them_met_and_nobody_is_named():
    """An uncaught KeyError ten milliseconds after the request: whether the process is gone, and since when, nothing tells."""
    dumps = alike((0, 1, 2, 3), "all_reduce", 4)
    incident = look(*dumps, logs=logs(end(2, "KeyError: 'lr'")))
    assert incident.leads == ()
    lead, note = incident.findings
    assert (lead.kind, lead.role) == (Kind.NOT_COMPLETED, Role.LEAD)
    assert lead.summary.endswith("on the device side, if rank 2 went on after what its log tells")
    assert lead.compare_first.startswith("what its log tells of rank 2")
    assert [line.text for line in lead.evidence if "KeyError" in line.text] == [
        "rank 2, by its log: KeyError: 'lr'; whether it met that before or after this call is not known (rank_2.log, line 30)"
    ]
    assert (note.kind, note.role, note.ranks) == (Kind.PROCESS_ENDED, Role.NOTE, (2,))
    assert "that others wait because of it: no record shows that they do" in note.not_concluded
    assert incident.logs is not None
    assert [one.before_communication for one in incident.logs.ends] == [False]


def test_nor_is_it_said_of_what_was_raised_inside_a_call_or_follows():
    dumps = alike((0, 1, 2, 3), "all_reduce", 4)
    alone = look(*dumps)
    for told in (end(2, "RuntimeError: NCCL", inside=True, before_communication=False), end(2, follower=True)):
        assert look(*dumps, logs=logs(told)).findings == alone.findings


def test_what_a_rank_that_waits_met_stands_beside_who_is_named():
    incident = look(*alike((0, 1, 2), "all_reduce", 4), rank(3).calls("all_reduce", 1, 3), logs=logs(end(0, "KeyError: 'lr'")))
    assert incident.leads == (3,)
    assert [one.kind for one in incident.findings] == [Kind.NOT_REQUESTED]
    assert any(line.text.startswith("rank 0, by its log: KeyError") for line in incident.findings[0].evidence)


def test_what_those_who_wait_raised_too_is_no_fault_of_a_rank_without_a_dump():
    """Three ranks tried a barrier again and gave up with the program's own error; of one of them there is no dump."""
    said = "RuntimeError: barrier failed three times"
    dumps = [*alike((2, 3), "all_reduce", 5), rank(1).calls("all_reduce", 1, 4)]
    told = logs(*(end(r, said, type="RuntimeError") for r in (0, 2, 3)))
    assert look(*dumps, lost(0), logs=told).leads == (1,)
