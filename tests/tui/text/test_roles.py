"""The word that stands before a finding is the same in every pane."""

from __future__ import annotations

from hangview.terms import Role, Verdict
from hangview.tui.prose import plain
from hangview.tui.text.banner import answer
from hangview.tui.text.finding import finding_lines
from tests.engine.support import OPEN, look, rank


def test_a_difference_that_is_the_answer_has_its_word_in_the_pane_too():
    """Rank 3 asked for another dtype in a call that completed."""
    dumps = [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 4, dtype="Int" if r == 3 else "Float") for r in range(4)]
    incident = look(*dumps)
    (finding,) = incident.findings
    assert (finding.role, incident.verdict) == (Role.NOTE, Verdict.DIVERGENCE)
    assert answer(incident).text.startswith("DIVERGENCE  rank 3 ") or answer(incident).text.startswith("DIVERGENCE  dtype: ")
    assert plain(finding_lines(incident, finding)).startswith("DIVERGENCE  rank 3 ")


def test_a_note_beside_a_lead_is_a_note():
    dumps = [rank(r).call("all_reduce", 1, dtype="Int" if r == 3 else "Float") for r in range(4)]
    incident = look(*(dump.call("all_reduce", 2, OPEN) for dump in dumps[:3]), dumps[3])
    note = next(finding for finding in incident.findings if finding.role is Role.NOTE)
    assert plain(finding_lines(incident, note)).startswith("NOTE  ")


def test_of_a_tie_nothing_is_said_about_a_majority_that_there_is_not():
    dumps = [rank(r).call("all_reduce", 1, OPEN, size=512 if r < 2 else 1024) for r in range(4)]
    (finding,) = (each for each in look(*dumps).findings if each.not_concluded and "no side" in each.summary)
    assert "that one side is right, only that they differ" in finding.not_concluded
    assert not any("majority" in line for line in finding.not_concluded)
    odd = look(*(rank(r).call("all_reduce", 1, OPEN, size=512 if r < 1 else 1024) for r in range(4))).findings[0]
    assert "that the majority is right, only that they differ" in odd.not_concluded
