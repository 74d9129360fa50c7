"""A finding as a hypothesis: where it goes, and that it never goes where a person wrote."""

from __future__ import annotations

from hangview.terms import Kind, Role
from hangview.worksheet import Mark, prefill
from hangview.worksheet.hypothesis import with_finding
from hangview.worksheet.model import blank_sheet
from tests.support.builder import Builder
from tests.support.incidents import eight_in_five_groups, four_ranks


def test_a_finding_goes_to_the_first_free_hypothesis_with_what_must_not_be_concluded() -> None:
    incident = eight_in_five_groups()
    waiting = next(finding for finding in incident.findings if finding.role is Role.WAITING)
    sheet, key = with_finding(prefill(incident), waiting, incident)
    assert key == "hypothesis.2"
    assert sheet["hypothesis.2"].label == "Hypothesis 2"
    assert sheet["hypothesis.2"].prefilled[0].value == waiting.summary
    assert sheet["against.2"].mark is Mark.BLANK
    assert sheet["hypothesis"] == prefill(incident)["hypothesis"]


def test_a_finding_that_is_there_is_only_pointed_at() -> None:
    incident = four_ranks()
    sheet, key = with_finding(prefill(incident), incident.findings[0], incident)
    assert key == "hypothesis"
    assert sheet == prefill(incident)


def test_a_finding_never_goes_where_a_person_wrote() -> None:
    incident = four_ranks()
    own = blank_sheet().with_text("hypothesis", "the disk is slow")
    sheet, key = with_finding(own, incident.findings[0], incident)
    assert key == "hypothesis.2"
    assert sheet["hypothesis"].typed == "the disk is slow"


def test_each_lead_is_a_hypothesis_but_not_more_than_a_few() -> None:
    builder = Builder(8)
    group = builder.group("default_pg", range(8), name="0")
    builder.lane(group, 0, 9)
    for seq in range(5, 10):
        builder.finding(Kind.NOT_REQUESTED, Role.LEAD, (seq - 4,), (0,), group, seq, f"rank {seq - 4} did not request {seq}")
    sheet = prefill(builder.build())
    assert sheet.hypotheses == 3
    assert [sheet[key].prefilled[0].value for key in ("hypothesis", "hypothesis.2", "hypothesis.3")] == [
        "rank 1 did not request 5",
        "rank 2 did not request 6",
        "rank 3 did not request 7",
    ]
