"""New evidence is offered field by field, and what was typed is never touched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.worksheet import Mark, Sheet, from_markdown, prefill, to_markdown
from hangview.worksheet.english import ENGLISH
from hangview.worksheet.hypothesis import with_finding
from hangview.worksheet.model import blank_sheet
from hangview.worksheet.offered import offer
from tests.support.incidents import eight_in_five_groups, four_ranks, healthy, missing_dump

if TYPE_CHECKING:
    from hangview.incident import Incident


def accept_all(sheet: Sheet, incident: Incident) -> Sheet:
    for change in offer(sheet, incident):
        sheet = sheet.accept(change)
    return sheet


def test_the_same_evidence_offers_nothing() -> None:
    for incident in (four_ranks(), healthy(), missing_dump(), eight_in_five_groups()):
        assert offer(prefill(incident), incident) == ()


def test_new_evidence_is_offered_and_typed_text_is_never_touched() -> None:
    sheet = prefill(missing_dump()).with_text("missing", "rank 2's node is down").with_text("backend", "nccl, patched")
    offered = offer(sheet, four_ranks())
    changed = {change.key for change in offered}
    assert "missing" in changed
    assert "backend" not in changed
    after = accept_all(sheet, four_ranks())
    assert after["missing"].typed == "rank 2's node is down"
    assert after["backend"].typed == "nccl, patched"
    assert after["missing"].prefilled == prefill(four_ranks())["missing"].prefilled
    assert offer(after, four_ranks()) == ()


def test_an_offer_says_what_was_and_what_would_be() -> None:
    sheet = prefill(missing_dump())
    change = next(change for change in offer(sheet, four_ranks()) if change.key == "missing")
    assert change.label == "Missing records"
    assert change.old == sheet["missing"].prefilled
    assert change.new == prefill(four_ranks())["missing"].prefilled


def test_a_line_that_a_hand_deleted_is_offered_and_not_put_back() -> None:
    text = to_markdown(prefill(four_ranks()))
    line = next(line for line in text.split("\n") if line.startswith("- **Backend:**"))
    sheet = from_markdown(text.replace(line, "- **Backend:** ____"), four_ranks())
    assert sheet["backend"].mark is Mark.BLANK
    assert [change.key for change in offer(sheet, four_ranks())] == ["backend"]


def test_a_new_lead_takes_the_place_of_one_that_is_gone_and_leaves_a_persons_alone() -> None:
    sheet = prefill(missing_dump()).with_text("hypothesis", "I doubt it")
    changes = {change.key: change for change in offer(sheet, four_ranks())}
    assert changes["hypothesis"].new[0].value.startswith("rank 3 did not request")
    own = blank_sheet().with_text("hypothesis", "mine")
    keys = {change.key for change in offer(own, four_ranks())}
    assert "hypothesis" not in keys
    assert "hypothesis.2" in keys
    after = accept_all(own, four_ranks())
    assert after["hypothesis"].typed == "mine"
    assert after["hypothesis"].prefilled == ()
    assert after["not_concluded.2"].prefilled


def test_a_lead_that_was_sent_to_another_place_is_not_offered_again() -> None:
    incident = four_ranks()
    sheet, _ = with_finding(blank_sheet().with_text("hypothesis", "mine"), incident.findings[0], incident)
    keys = {change.key for change in offer(sheet, incident)}
    assert not {key for key in keys if key.startswith(("hypothesis", "not_concluded"))}


def test_more_evidence_for_a_lead_is_offered_in_its_place() -> None:
    incident = four_ranks()
    lead = incident.findings[0]
    more = replace(incident, findings=(replace(lead, compare_first="the data loader of rank 3"),))
    changes = {change.key: change for change in offer(prefill(incident), more)}
    assert set(changes) == {"hypothesis", "next_test"}
    assert any("data loader" in line.value for line in changes["hypothesis"].new)


def test_transition_lines_are_offered_once_the_evidence_shows_the_new_backend() -> None:
    sheet = prefill(four_ranks())
    incident = four_ranks()
    hooked = replace(
        incident,
        records=replace(incident.records, sources=tuple(replace(s, producer="nccl2") for s in incident.records.sources)),
    )
    change = next(change for change in offer(sheet, hooked) if change.key == "transition")
    after = sheet.accept(change)
    assert [item.text for item in after["transition"].items] == list(ENGLISH.items["transition"])
    assert not any(item.checked for item in after["transition"].items)
    ticked = after.with_tick("transition", 0, True)
    assert all(change.key != "transition" for change in offer(ticked, hooked))


def test_more_leads_than_the_sheet_has_hypotheses_are_offered_as_more_of_them() -> None:
    incident = four_ranks()
    (lead,) = incident.findings
    more = replace(incident, findings=(lead, replace(lead, summary="rank 3 did not request it either")))
    sheet = prefill(incident).with_text("run", "4711")
    assert sheet.hypotheses == 1
    after = accept_all(sheet, more)
    assert after["hypothesis.2"].prefilled[0].value == "rank 3 did not request it either"
    assert offer(after, more) == ()
