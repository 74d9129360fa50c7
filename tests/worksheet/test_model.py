"""Edits give new sheets; what was typed and what the evidence says never touch each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hangview.incident import Incident, Kind, Role
from hangview.worksheet import Mark, Sheet, from_markdown, prefill, to_markdown
from hangview.worksheet.english import ENGLISH
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.layout import LAYOUT, FieldKind
from hangview.worksheet.model import MOST_REPEATS, blank_sheet
from tests.support.builder import Builder
from tests.support.incidents import eight_in_five_groups, four_ranks, healthy, missing_dump


def accept_all(sheet: Sheet, incident: Incident) -> Sheet:
    for change in sheet.offer(incident):
        sheet = sheet.accept(change)
    return sheet


def test_every_language_has_every_word() -> None:
    keys = {field.key for section in LAYOUT for field in section.fields}
    for language in LANGUAGES.values():
        assert set(language.sections) == {section.key for section in LAYOUT}
        assert set(language.labels) == keys
        assert set(language.options) == {f.key for s in LAYOUT for f in s.fields if f.kind is FieldKind.CHOICE}
        assert set(language.items) == {f.key for s in LAYOUT for f in s.fields if f.kind is FieldKind.CHECKLIST}
        assert "{}" in language.origin
        assert len(set(language.labels.values())) == len(keys), "a label must tell which field it is"
        assert not any(":" in label or "*" in label for label in language.labels.values()), "labels end in :**"


def test_eight_sections_in_the_order_of_the_contract() -> None:
    titles = [section.title for section in blank_sheet().sections]
    assert [title.split(". ")[0] for title in titles] == [str(number) for number in range(1, 9)]
    words = ["PyTorch", "batch policy", "device map", "next request", "missing", "clocks", "hypothesis", "restore"]
    assert all(word in title for word, title in zip(words, titles, strict=True))


def test_an_edit_leaves_the_old_sheet_as_it_was() -> None:
    before = prefill(four_ranks())
    after = before.with_text("driver", "580.65")
    assert before["driver"].mark is Mark.BLANK
    assert after["driver"].typed == "580.65"
    assert after["driver"].mark is Mark.EDITED
    assert not before.touched
    assert after.touched


def test_marks() -> None:
    sheet = prefill(four_ranks())
    assert sheet["backend"].mark is Mark.PREFILLED
    assert sheet["driver"].mark is Mark.BLANK
    assert sheet.with_text("backend", "gloo")["backend"].mark is Mark.EDITED
    assert sheet.with_tick("trials", 1, True)["trials"].mark is Mark.EDITED
    assert [item.checked for item in sheet.with_tick("trials", 1, True)["trials"].items] == [False, True, False]


@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
def test_white_space_is_a_blank(text: str) -> None:
    assert blank_sheet().with_text("driver", text) == blank_sheet()


def test_a_line_shows_what_was_typed_else_what_the_evidence_says() -> None:
    sheet = prefill(four_ranks())
    assert sheet["backend"].value == "nccl"
    assert sheet.with_text("backend", "gloo")["backend"].value == "gloo"
    assert sheet.with_text("backend", "gloo").with_text("backend", "")["backend"].value == "nccl"


def test_blanks_are_the_fields_that_ask_and_hold_nothing() -> None:
    sheet = prefill(four_ranks())
    blanks = {field.key for field in sheet.blanks()}
    assert {"driver", "model", "against", "restore"} <= blanks
    assert not {"backend", "groups", "hypothesis", "attempt", "transition"} & blanks


def test_unknown_field_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        blank_sheet()["nothing"]


def test_a_finding_goes_to_the_first_free_hypothesis_with_what_must_not_be_concluded() -> None:
    incident = eight_in_five_groups()
    waiting = next(finding for finding in incident.findings if finding.role is Role.WAITING)
    sheet, key = prefill(incident).with_finding(waiting, incident)
    assert key == "hypothesis.2"
    assert sheet["hypothesis.2"].label == "Hypothesis 2"
    assert sheet["hypothesis.2"].prefilled[0].value == waiting.summary
    assert sheet["against.2"].mark is Mark.BLANK
    assert sheet["hypothesis"] == prefill(incident)["hypothesis"]


def test_a_finding_that_is_there_is_only_pointed_at() -> None:
    incident = four_ranks()
    sheet, key = prefill(incident).with_finding(incident.findings[0], incident)
    assert key == "hypothesis"
    assert sheet == prefill(incident)


def test_a_finding_never_goes_where_a_person_wrote() -> None:
    incident = four_ranks()
    own = blank_sheet().with_text("hypothesis", "the disk is slow")
    sheet, key = own.with_finding(incident.findings[0], incident)
    assert key == "hypothesis.2"
    assert sheet["hypothesis"].typed == "the disk is slow"


def test_hypotheses_have_an_end() -> None:
    sheet = blank_sheet().with_repeats(MOST_REPEATS)
    assert sheet.with_another_hypothesis() == sheet
    full = sheet
    for number in range(1, MOST_REPEATS + 1):
        full = full.with_text("hypothesis" if number == 1 else f"hypothesis.{number}", "mine")
    incident = four_ranks()
    assert full.with_finding(incident.findings[0], incident)[0] == full


def test_hypotheses_stand_together_with_their_evidence_against() -> None:
    keys = [field.key for field in blank_sheet().with_repeats(2).sections[6].fields]
    assert keys[:6] == ["hypothesis", "not_concluded", "against", "hypothesis.2", "not_concluded.2", "against.2"]
    assert keys[6:] == ["doubt", "next_test"]


def test_the_same_evidence_offers_nothing() -> None:
    for incident in (four_ranks(), healthy(), missing_dump(), eight_in_five_groups()):
        assert prefill(incident).offer(incident) == ()


def test_new_evidence_is_offered_and_typed_text_is_never_touched() -> None:
    sheet = prefill(missing_dump()).with_text("missing", "rank 2's node is down").with_text("backend", "nccl, patched")
    offered = sheet.offer(four_ranks())
    changed = {change.key for change in offered}
    assert "missing" in changed
    assert "backend" not in changed
    after = accept_all(sheet, four_ranks())
    assert after["missing"].typed == "rank 2's node is down"
    assert after["backend"].typed == "nccl, patched"
    assert after["missing"].prefilled == prefill(four_ranks())["missing"].prefilled
    assert after.offer(four_ranks()) == ()


def test_an_offer_says_what_was_and_what_would_be() -> None:
    sheet = prefill(missing_dump())
    change = next(change for change in sheet.offer(four_ranks()) if change.key == "missing")
    assert change.label == "Missing records"
    assert change.old == sheet["missing"].prefilled
    assert change.new == prefill(four_ranks())["missing"].prefilled


def test_a_line_that_a_hand_deleted_is_offered_and_not_put_back() -> None:
    text = to_markdown(prefill(four_ranks()))
    line = next(line for line in text.split("\n") if line.startswith("- **Backend:**"))
    sheet = from_markdown(text.replace(line, "- **Backend:** ____"), four_ranks())
    assert sheet["backend"].mark is Mark.BLANK
    assert [change.key for change in sheet.offer(four_ranks())] == ["backend"]


def test_a_new_lead_takes_the_place_of_one_that_is_gone_and_leaves_a_persons_alone() -> None:
    sheet = prefill(missing_dump()).with_text("hypothesis", "I doubt it")
    changes = {change.key: change for change in sheet.offer(four_ranks())}
    assert changes["hypothesis"].new[0].value.startswith("rank 3 did not request")
    own = blank_sheet().with_text("hypothesis", "mine")
    keys = {change.key for change in own.offer(four_ranks())}
    assert "hypothesis" not in keys
    assert "hypothesis.2" in keys
    after = accept_all(own, four_ranks())
    assert after["hypothesis"].typed == "mine"
    assert after["hypothesis"].prefilled == ()
    assert after["not_concluded.2"].prefilled


def test_a_lead_that_was_sent_to_another_place_is_not_offered_again() -> None:
    incident = four_ranks()
    sheet, _ = blank_sheet().with_text("hypothesis", "mine").with_finding(incident.findings[0], incident)
    keys = {change.key for change in sheet.offer(incident)}
    assert not {key for key in keys if key.startswith(("hypothesis", "not_concluded"))}


def test_more_evidence_for_a_lead_is_offered_in_its_place() -> None:
    incident = four_ranks()
    lead = incident.findings[0]
    more = replace(incident, findings=(replace(lead, compare_first="the data loader of rank 3"),))
    changes = {change.key: change for change in prefill(incident).offer(more)}
    assert set(changes) == {"hypothesis", "next_test"}
    assert any("data loader" in line.value for line in changes["hypothesis"].new)


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


def test_transition_lines_are_offered_once_the_evidence_shows_the_new_backend() -> None:
    sheet = prefill(four_ranks())
    incident = four_ranks()
    hooked = replace(
        incident,
        records=replace(incident.records, sources=tuple(replace(s, producer="nccl2") for s in incident.records.sources)),
    )
    change = next(change for change in sheet.offer(hooked) if change.key == "transition")
    after = sheet.accept(change)
    assert [item.text for item in after["transition"].items] == list(ENGLISH.items["transition"])
    assert not any(item.checked for item in after["transition"].items)
    ticked = after.with_tick("transition", 0, True)
    assert all(change.key != "transition" for change in ticked.offer(hooked))
