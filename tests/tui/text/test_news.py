"""What another look changed: more files, a dump that is gone, one that is still there and cannot be used any more."""

from __future__ import annotations

from dataclasses import replace

from hangview.schema import SourceStatus
from hangview.terms import Verdict
from hangview.tui.text.news import news
from hangview.tui.titles import fitting
from tests.support import incidents


def without(incident, ranks, *, files_stay=False):
    """The incident without these ranks' dumps, and another answer."""
    kept = tuple(
        replace(source, status=SourceStatus.EMPTY) if source.rank in ranks else source
        for source in incident.records.sources
        if files_stay or source.rank not in ranks
    )
    return replace(
        incident,
        records=replace(incident.records, sources=kept),
        coverage=replace(incident.coverage, read=tuple(rank for rank in incident.coverage.read if rank not in ranks)),
        findings=(replace(incident.findings[0], summary="something else"),),
    )


def said(before, after) -> str:
    """The fullest form without the key."""
    return news(before, after)[0]


def test_the_same_answer_is_no_news():
    incident = incidents.four_ranks()
    gone = without(incident, {2})
    assert news(incident, incident) == ()
    assert news(incident, replace(gone, findings=incident.findings)) == ()


def test_what_is_true_now_is_said_and_not_that_more_is_known():
    incident = incidents.four_ranks()
    assert said(without(incident, {2}), incident) == "now: LOOK FIRST rank 3 · 1 more dump"
    assert "more" not in said(incident, without(incident, {2}))


def test_a_dump_that_is_gone_is_said_to_be():
    incident = incidents.four_ranks()
    assert said(incident, without(incident, {2})).endswith("the dump of rank 2 is gone")
    assert said(incident, without(incident, {0, 2})).endswith("the dumps of ranks 0,2 are gone")


def test_a_file_that_is_still_there_is_not_gone():
    incident = incidents.four_ranks()
    assert said(incident, without(incident, {2}, files_stay=True)).endswith("the dump of rank 2 is not read any more")


def test_a_dump_that_is_cut_by_now_tells_less_and_a_whole_one_more():
    incident = incidents.four_ranks()
    cut = replace(
        incident,
        coverage=replace(incident.coverage, partial=(1,)),
        leads=(),
        findings=incident.findings[1:],
        verdict=Verdict.NO_HANG,
    )
    assert said(incident, cut).endswith("the dump of rank 1 is cut")
    assert said(cut, incident) == "now: LOOK FIRST rank 3 · the dump of rank 1 is whole by now"


def test_other_findings_below_the_same_first_one():
    incident = incidents.eight_in_five_groups()
    more = replace(incident, findings=(*incident.findings, replace(incident.findings[-1], summary="one more")))
    total = len(incident.findings)
    assert said(incident, more) == f"the answer is as before; {total + 1} findings, {total} before"


def test_it_is_said_in_80_columns_with_its_key():
    incident = incidents.four_ranks()
    forms = news(without(incident, {2}), incident, "n")
    assert forms[0].endswith("n goes to the first finding")
    assert len(fitting(forms, 80)) == len(forms[0])
    assert fitting(forms, 60).endswith("n: first finding")
    assert all(one in forms[-2] for one in ("LOOK FIRST", "rank 3"))
    assert len(forms[-1]) < 40
