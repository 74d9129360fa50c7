"""Operations that gloo does not record, by the numbers of those that it does, and what is said then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.terms import Kind, Role, Verdict
from tests.engine.support import DONE, OPEN, Pg, look, of_kind, rank

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Finding
    from tests.engine.support import Dump

LEFT_OUT = "gloo does not record sends, receives, monitored_barrier and the making of groups"
MAY = "may stand in a send, a receive or a monitored_barrier, which gloo does not record"


def stage(number: int, steps: int, between: int, library: str = "gloo") -> Dump:
    """A pipeline stage: in each step so many sends and receives, then an all_reduce; the fourth one is not over."""
    dump = rank(number, library)
    for step in range(1, steps + 1):
        dump.call("all_reduce", step, OPEN if step == 4 else DONE, op_id=step * (between + 1))
    return dump


def only(incident: Incident) -> Finding:
    (finding,) = of_kind(incident, Kind.NOT_REQUESTED, Role.LEAD)
    return finding


def test_ranks_that_may_stand_in_an_unrecorded_receive_are_named_with_that_said():
    """A pipeline of three in which only one stage is held up: the stages behind it stand in receives that nobody recorded."""
    incident = look(stage(0, 4, 1), stage(1, 3, 2), stage(2, 3, 1))
    finding = only(incident)
    assert incident.leads == (1, 2)
    assert finding.summary.endswith(f"; ranks 1-2 {MAY}")
    assert f"that ranks 1-2 wait for nobody: {LEFT_OUT}" in finding.not_concluded
    assert (
        "operations without a record, by op_id, in default_pg: rank 0: 1 before 2, 1 before 3, 1 before 4; "
        "rank 1: 2 before 2, 2 before 3; rank 2: 1 before 2, 1 before 3"
    ) in [line.text for line in finding.evidence]
    assert incident.coverage.unrecorded == (
        f"{LEFT_OUT}: a hang in one does not show; there are such operations, by the op_ids of ranks 0-2",
    )


def test_without_a_gap_in_the_numbers_the_headline_stays_plain():
    """The making of a group moves no number, so the limit itself is still said."""
    incident = look(stage(0, 4, 0), stage(1, 3, 0))
    finding = only(incident)
    assert MAY not in finding.summary
    assert f"that rank 1 waits for nobody: {LEFT_OUT}" in finding.not_concluded
    assert incident.coverage.unrecorded == ()


def test_a_recorder_that_has_sends_and_receives_leaves_nothing_out():
    incident = look(stage(0, 4, 1, "nccl"), stage(1, 3, 2, "nccl"))
    finding = only(incident)
    assert MAY not in finding.summary
    assert not any("does not record" in text for text in (*finding.not_concluded, *finding.steps))
    assert incident.coverage.unrecorded == ()


@pytest.mark.parametrize("between", [0, 2])
def test_no_hang_in_what_gloo_records_is_said_to_be_just_that(between):
    incident = look(stage(0, 3, between), stage(1, 3, between))
    assert incident.verdict is Verdict.NO_HANG
    (line,) = incident.coverage.unrecorded
    assert line.startswith(f"{LEFT_OUT}: a hang in one does not show")
    assert ("there are such operations" in line) == (between > 0)


def test_numbers_count_per_group():
    """Two groups in turn: within each of them the numbers go on by one."""
    tp = Pg("1", "tp", (0, 1))
    dumps = []
    for number in (0, 1):
        dump = rank(number, "gloo")
        for seq in (1, 2, 3):
            dump.call("all_reduce", seq, op_id=seq).call("all_reduce", seq, group=tp, op_id=seq)
        dumps.append(dump)
    (line,) = look(*dumps).coverage.unrecorded
    assert "there are such operations" not in line


def test_the_oldest_record_of_a_ring_buffer_that_wrapped_is_no_gap():
    dumps = [rank(r, "gloo").wrapped(8).calls("all_reduce", 9, 9, op_id=9).call("all_reduce", 10, op_id=10) for r in (0, 1)]
    (line,) = look(*dumps).coverage.unrecorded
    assert "there are such operations" not in line
