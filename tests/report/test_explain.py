"""``explain``: the chain from records to lead."""

from __future__ import annotations

from dataclasses import replace

from hangview.incident import Verdict
from hangview.report.explain import to_explanation
from tests.report.build import NOT_REQUESTED, healthy, incident, one_lead

ONE_LEAD = """\
LOOK FIRST  rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it

lead: rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it
  1. ranks 0-2 requested 42 of default_pg and did not complete it
  2. rank 3 has nothing open: it waits for nobody
  records
    rank 3: dump is whole, newest entry of default_pg is 41 (trace_3, record 40)
    ranks 0-2: requested 42, not completed

note: rank 2 came 3.1 s late to all_reduce 17 of default_pg
  records
    rank 2: requested 3.1 s after the others (trace_2, record 16)
"""


def test_steps_then_records():
    assert to_explanation(one_lead()) == ONE_LEAD


def test_no_hang_says_what_was_checked():
    assert "requested by all members" in to_explanation(healthy())


def test_a_finding_without_steps_says_so():
    bare = replace(NOT_REQUESTED, steps=(), evidence=())
    assert "no steps were recorded for this finding" in to_explanation(incident(bare, leads=(3,)))


def test_not_enough_evidence_has_an_answer_too():
    made = incident(verdict=Verdict.NOT_ENOUGH_EVIDENCE, sources=())
    assert to_explanation(made) == "NOT ENOUGH EVIDENCE  nothing to read in run-7\n"
