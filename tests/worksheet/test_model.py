"""Edits give new sheets; what was typed and what the evidence says never touch each other."""

from __future__ import annotations

import pytest

from hangview.worksheet import Mark, prefill
from hangview.worksheet.hypothesis import with_finding
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.layout import LAYOUT, FieldKind
from hangview.worksheet.model import MOST_REPEATS, blank_sheet
from tests.support.incidents import four_ranks


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


def test_hypotheses_have_an_end() -> None:
    sheet = blank_sheet().with_repeats(MOST_REPEATS)
    assert sheet.with_another_hypothesis() == sheet
    full = sheet
    for number in range(1, MOST_REPEATS + 1):
        full = full.with_text("hypothesis" if number == 1 else f"hypothesis.{number}", "mine")
    incident = four_ranks()
    assert with_finding(full, incident.findings[0], incident)[0] == full


def test_hypotheses_stand_together_with_their_evidence_against() -> None:
    keys = [field.key for field in blank_sheet().with_repeats(2).sections[6].fields]
    assert keys[:6] == ["hypothesis", "not_concluded", "against", "hypothesis.2", "not_concluded.2", "against.2"]
    assert keys[6:] == ["doubt", "next_test"]
