"""What another look changed: more files, a dump that is gone, one that is still there and cannot be used any more."""

from __future__ import annotations

from dataclasses import replace

from hangview.schema import SourceStatus
from hangview.tui.text.news import news
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


def test_the_same_answer_is_no_news():
    incident = incidents.four_ranks()
    gone = without(incident, {2})
    assert news(incident, incident) == ""
    assert news(incident, replace(gone, findings=incident.findings)) == ""


def test_more_files_say_more():
    incident = incidents.four_ranks()
    assert news(without(incident, {2}), incident).startswith("the files say more than before")


def test_a_dump_that_is_gone_is_said_to_be():
    incident = incidents.four_ranks()
    assert news(incident, without(incident, {2})) == "the answer changed: the dump of rank 2 is gone"
    assert news(incident, without(incident, {0, 2})) == "the answer changed: the dumps of ranks 0,2 are gone"


def test_a_file_that_is_still_there_is_not_gone():
    incident = incidents.four_ranks()
    assert (
        news(incident, without(incident, {2}, files_stay=True)) == "the answer changed: the dump of rank 2 is not read any more"
    )
