"""``explain``: the chain from records to lead."""

from __future__ import annotations

from dataclasses import replace

from hangview.report.explain import to_explanation
from hangview.report.markdown import to_markdown
from hangview.report.text import to_text
from hangview.schema import Attempt, SourceStatus
from hangview.terms import Evidence, Kind, Verdict
from tests.report.build import HELD, NOT_REQUESTED, dump, healthy, incident, one_lead

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


def test_who_is_not_named_is_no_lead():
    """A rank without a dump is where nothing was observed, not where to look first."""
    nobody = replace(NOT_REQUESTED, kind=Kind.NOT_OBSERVED, summary="ranks 0-2 wait; nothing tells of rank 3")
    told = to_explanation(incident(nobody))
    assert told.startswith("NO RANK NAMED  ranks 0-2 wait; nothing tells of rank 3\n\nno rank named: ranks 0-2 wait;")
    assert "lead" not in told.lower()
    assert "## No rank named: ranks 0-2 wait" in to_markdown(incident(nobody))


def test_beside_a_lead_it_is_said_which_finding_names_nobody():
    nobody = replace(NOT_REQUESTED, kind=Kind.ORDER_CYCLE, ranks=(1, 2), others=(), summary="ranks 1-2 wait for each other")
    made = incident(NOT_REQUESTED, nobody, nobody, leads=(3,))
    words = [line.partition("  ")[0] for line in to_text(made).splitlines()[:3]]
    assert words == ["LOOK FIRST", "NO RANK NAMED", "AND"]


def test_no_hang_says_what_was_checked():
    assert "requested by all members" in to_explanation(healthy())


def test_a_finding_without_steps_says_so():
    bare = replace(NOT_REQUESTED, steps=(), evidence=())
    assert "no steps were recorded for this finding" in to_explanation(incident(bare, leads=(3,)))


def test_not_enough_evidence_has_an_answer_too():
    made = incident(verdict=Verdict.NOT_ENOUGH_EVIDENCE, sources=())
    assert to_explanation(made) == "NOT ENOUGH EVIDENCE  nothing to read in run-7\n"


def test_files_of_several_runs_are_said_in_the_first_lines_of_every_form():
    """Who gave two folders by mistake must see it before the answer is believed."""
    now = tuple(dump(rank) for rank in range(4))
    old = tuple(dump(rank, path=f"old/{rank}", status=SourceStatus.OTHER_ATTEMPT) for rank in range(4))
    two = (Attempt(1, (0, 1, 2, 3), False, "older"), Attempt(2, (0, 1, 2, 3), True))
    made = incident(NOT_REQUESTED, leads=(3,), sources=now + old, attempts=two)
    for form in (to_text, to_markdown, to_explanation):
        assert "files of 2 attempts or jobs: attempt 2 alone is shown, 4 files left out" in "".join(
            form(made).splitlines()[:5]
        ), form


def test_several_files_of_one_rank_are_said_in_the_first_lines_of_every_form():
    now = tuple(dump(rank) for rank in range(4))
    old = tuple(dump(rank, path=f"old/{rank}", status=SourceStatus.SUPERSEDED) for rank in range(2))
    for more, told in (
        (old, "ranks 0-1 have more than one file: of each the newer"),
        (old[:1], "rank 0 has more than one file: the newer"),
    ):
        made = incident(NOT_REQUESTED, leads=(3,), sources=now + more)
        for form in (to_text, to_markdown, to_explanation):
            assert told in "".join(form(made).splitlines()[:5]), form


def test_of_those_that_wait_what_they_rest_on_is_told():
    own = replace(HELD, evidence=(Evidence("rank 0: requested 9"),), not_concluded=("that rank 4 is known of",))
    text = to_explanation(incident(NOT_REQUESTED, own, HELD, leads=(3,)))
    assert f"waiting: {HELD.summary}\n  records\n    rank 0: requested 9\n" in text
    assert text.count(f"waiting: {HELD.summary}") == 1  # the other has no record of its own
    assert text.endswith("of those that wait it must not be concluded\n  that rank 4 is known of\n")
