"""A file of the start before looks like a proof that the others' dumps are old: their times speak against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.terms import Kind, Role, Verdict
from tests.engine.support import OPEN, look, rank

if TYPE_CHECKING:
    from hangview.incident import Incident

MINUTE = 60.0


def waiting(at: float) -> Incident:
    """Ranks 0 and 2 wait in 42 for rank 1; rank 3's file has 50 finished calls, and began ``at`` seconds before theirs."""
    dumps = [rank(r).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in (0, 2)]
    other = rank(3).clock(-at).calls("all_reduce", 1, 50)
    return look(*dumps, rank(1).calls("all_reduce", 1, 41), other)


def test_it_is_no_proof_that_nobody_waits():
    incident = waiting(20 * MINUTE)
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert incident.leads == ()
    note = next(finding for finding in incident.findings if finding.others)
    assert (note.kind, note.role, note.ranks, note.others, note.seq) == (Kind.NOT_OBSERVED, Role.NOTE, (0, 2), (3,), 50)
    assert "rank 3" in note.compare_first
    assert note.evidence[0].text == "rank 3: all_reduce 50 of default_pg completed"


@pytest.mark.parametrize("ahead", [0.0, 2 * MINUTE, -20 * MINUTE])
def test_dumps_of_a_running_job_are_what_they_were(ahead):
    """Clocks in step, or off the other way: the dumps of 0 and 2 were simply written first."""
    incident = waiting(ahead)
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert [(finding.role, finding.ranks, finding.seq) for finding in incident.findings] == [(Role.NOTE, (0, 2), 42)]
