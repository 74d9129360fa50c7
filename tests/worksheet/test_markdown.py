"""Markdown out and in: nothing typed is lost, whatever it looks like, and a hand's words stay where they stood."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hangview.worksheet import from_markdown, prefill, to_markdown
from hangview.worksheet.english import ENGLISH
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.layout import LAYOUT, FieldKind
from hangview.worksheet.markdown import is_worksheet
from hangview.worksheet.model import Mark, Prefilled, Sheet, blank_sheet, repeat_key
from tests.support import incidents

TEXT_KEYS = [field.key for section in LAYOUT for field in section.fields if field.kind is FieldKind.TEXT]
ALL_KEYS = [field.key for section in LAYOUT for field in section.fields]
HEADINGS = [f"## {number}. {ENGLISH.sections[section.key]}" for number, section in enumerate(LAYOUT, 1)]

#: Lines that look like the form, or that markdown gives a meaning of its own.
NASTY = [
    "____", "_____ ", "____ (none / exactly one)", "# title", "## heading", "  ## indented", "#", "##", "### deeper",
    HEADINGS[0], HEADINGS[6], "## 3. other", "## 9. more", "**Hypothesis:**", "**Hypothesis 2:** x", "- **Model:** big",
    "**Groups:**", "* **Driver:** y", "```", "```python", "````", "~~~", "  ```", "- x *(from y)*", "x *(from y)*",
    "- [ ] item", "- [x] item *(from z)*", "\\____", "\\\\## a", "\\```", "\\- x *(from y)*", "\\", "> quote", "| a | b |",
    "---", "===", "<!-- hidden -->", "&amp;", "a  ", "  indented", "\ttab", "",
    "", "한국어", "\u2028", "\x85", "\x0b", "\r", "a\r",
    "\ufeff", "e\u0301", "👩‍🔬", "*(from y)*", "- ", "-", "* * *",
]  # fmt: skip

lines = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=12))
texts = st.one_of(st.lists(lines, max_size=7).map("\n".join), st.text(max_size=40))
contents = st.dictionaries(st.sampled_from(ALL_KEYS), texts, max_size=8)


def filled(sheet: Sheet, content: dict[str, str]) -> Sheet:
    for key, text in content.items():
        sheet = sheet.with_text(key, text)
    return sheet


BASES = {
    name: prefill(getattr(incidents, name)()) for name in ("four_ranks", "missing_dump", "no_files", "eight_in_five_groups")
}
BASES["korean"] = prefill(incidents.four_ranks(), language="ko")


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(BASES)), contents)
@example("no_files", {"changed": "```\n**Groups:**", "groups": "```\nx\n```"})
@example("no_files", {"groups": "```\n**Rank → host:**\n```", "hosts": "```"})
@example("four_ranks", {"model": "\n____", "input": "a\n", "batch": "- x *(from y)*\n- x *(from y)*"})
@example("four_ranks", {"trials": "- [ ] item"})
@example("no_files", {"against": "- [ ] item\n\n____\n", "devices": "____\n\na"})
def test_any_text_in_any_field_survives(base: str, content: dict[str, str]) -> None:
    sheet = filled(BASES[base], content)
    text = to_markdown(sheet)
    again = from_markdown(text)
    assert {field.key: field.typed for field in again} == {field.key: field.typed for field in sheet}
    assert again == sheet
    assert to_markdown(again) == text


@settings(max_examples=100, deadline=None)
@given(contents)
def test_typed_text_comes_back_as_typed(content: dict[str, str]) -> None:
    again = from_markdown(to_markdown(filled(blank_sheet(), content)))
    for key, text in content.items():
        assert again[key].typed == (text if text.strip() else "")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(BASES)), contents)
def test_one_title_and_eight_headings_whatever_was_typed(base: str, content: dict[str, str]) -> None:
    text = to_markdown(filled(BASES[base], content))
    fenced = False
    found = []
    for line in text.split("\n"):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and line.startswith(("# ", "## ")):
            found.append(line)
    if "```" not in text and "~~~" not in text:
        words = LANGUAGES[BASES[base].language]
        assert found[1:] == [f"## {number}. {words.sections[section.key]}" for number, section in enumerate(LAYOUT, 1)]
        assert found[0].startswith(f"# {words.title}")


def test_rendered_headings_are_the_title_and_the_eight_sections() -> None:
    sheet = filled(BASES["four_ranks"], {"against": "# mine\n```\n# code\n## code", "model": "x\n## y", "changed": "## z"})
    tokens = MarkdownIt().parse(to_markdown(sheet))
    levels = [token.tag for token in tokens if token.type == "heading_open"]
    assert levels == ["h1"] + ["h2"] * 8


@settings(max_examples=150, deadline=None)
@given(contents, st.lists(st.tuples(st.integers(0, 120), lines), min_size=1, max_size=6))
def test_lines_added_by_hand_anywhere_are_still_there(content: dict[str, str], added: list[tuple[int, str]]) -> None:
    """A hand may put any line anywhere: no line with words may vanish, and soon saving changes nothing more.

    Where a hand wrote a label or a heading twice, another one of the two may count after saving, hence "soon".
    """
    by_hand = to_markdown(filled(BASES["four_ranks"], content)).split("\n")
    for place, line in added:
        by_hand.insert(min(place, len(by_hand)), line)
    saved = "\n".join(by_hand)
    versions = [saved := to_markdown(from_markdown(saved)) for _ in range(3)]
    assert versions[1] == versions[2]
    for _, line in added:
        assert all(word in version for word in re.findall(r"[^\W_]+", line) for version in versions), line


def test_a_text_edited_by_hand_keeps_the_hands_words_where_they_stood() -> None:
    text = to_markdown(BASES["four_ranks"])
    text = text.replace("- **Driver:** ____", "- **Driver:** 580.65\n  asked the admin\n\nthe node was drained at 14:20")
    text = text.replace(
        "**Evidence against it:**\n\n____", "**Evidence against it:**\n\nit also waits:\n\n```\nnvidia-smi\n```"
    )
    text = text.replace(HEADINGS[3], f"## Phone call with Bob\n\nhe restarted it\n\n{HEADINGS[3]}")
    sheet = from_markdown(text)
    assert sheet["driver"].typed == "580.65\nasked the admin"
    assert sheet["driver"].kept == ("the node was drained at 14:20",)
    assert sheet["against"].typed == "it also waits:\n\n```\nnvidia-smi\n```"
    assert sheet["devices"].kept == ("## Phone call with Bob", "", "he restarted it")
    assert to_markdown(sheet) == text


def test_a_label_written_twice_keeps_both() -> None:
    text = to_markdown(blank_sheet()).replace("- **Model:** ____", "- **Model:** one\n- **Model:** two")
    sheet = from_markdown(text)
    assert sheet["model"].typed == "one"
    assert sheet["model"].kept == ("- **Model:** two",)


def test_answers_on_the_label_line_of_a_text_are_taken() -> None:
    text = to_markdown(blank_sheet()).replace("**Conditions changed:**\n\n____", "**Conditions changed:** the batch size")
    assert from_markdown(text)["changed"].typed == "the batch size"


def test_writing_below_the_blank_replaces_it() -> None:
    text = to_markdown(blank_sheet()).replace(
        "**Conditions changed:**\n\n____", "**Conditions changed:**\n\n____\nthe batch size"
    )
    sheet = from_markdown(text)
    assert sheet["changed"].typed == "the batch size"
    assert "____\nthe batch" not in to_markdown(sheet)


def test_a_prefilled_line_that_a_hand_changed_is_the_hands() -> None:
    sheet = prefill(incidents.four_ranks())
    backend = sheet["backend"]
    text = to_markdown(sheet).replace(f"**Backend:** {backend.value} *(", "**Backend:** nccl-legacy *(")
    changed = from_markdown(text)
    assert changed["backend"].value == "nccl-legacy"
    assert to_markdown(changed) == text


def test_typed_instead_of_prefilled_shows_both() -> None:
    sheet = prefill(incidents.four_ranks()).with_text("backend", "nccl, patched")
    text = to_markdown(sheet)
    assert "- **Backend:** nccl, patched\n  - nccl *(from profiling names" in text
    assert from_markdown(text)["backend"].mark is Mark.EDITED


def test_crlf_file_stays_crlf() -> None:
    text = to_markdown(blank_sheet().with_text("changed", "a\nb")).replace("\n", "\r\n")
    sheet = from_markdown(text)
    assert sheet["changed"].typed == "a\nb"
    assert to_markdown(sheet) == text


def test_carriage_returns_inside_a_text_survive_in_both_line_endings() -> None:
    sheet = blank_sheet().with_text("changed", "a\r\nb\r")
    assert from_markdown(to_markdown(sheet))["changed"].typed == "a\r\nb\r"
    crlf = to_markdown(from_markdown(to_markdown(blank_sheet()).replace("\n", "\r\n")).with_text("changed", "a\r\nb\r"))
    assert from_markdown(crlf)["changed"].typed == "a\r\nb\r"


def test_head_with_front_matter_and_notes_is_kept() -> None:
    text = "---\nticket: 12\n---\n" + to_markdown(blank_sheet()).replace("\n\n## 1.", "\n\nseen by Ada\n\n## 1.")
    assert to_markdown(from_markdown(text)) == text


def test_a_title_that_is_gone_comes_back() -> None:
    text = "\n".join(to_markdown(blank_sheet()).split("\n")[4:])
    assert to_markdown(from_markdown(text)).startswith("# Incident worksheet\n")


def test_a_retitled_section_is_known_by_its_number() -> None:
    text = to_markdown(blank_sheet().with_text("model", "big")).replace(HEADINGS[1], "## 2. Model")
    sheet = from_markdown(text)
    assert sheet["model"].typed == "big"
    assert to_markdown(sheet) == text


def test_sections_that_are_gone_come_from_the_incident_and_fields_that_are_gone_do_not() -> None:
    incident = incidents.four_ranks()
    text = to_markdown(prefill(incident))
    start, end = text.index(HEADINGS[3]), text.index(HEADINGS[4])
    line = next(line for line in text.split("\n") if line.startswith("- **Backend:**"))
    text = (text[:start] + text[end:]).replace(line + "\n", "")
    sheet = from_markdown(text, incident)
    assert sheet["standing"].prefilled == prefill(incident)["standing"].prefilled
    assert sheet["backend"].mark is Mark.BLANK
    assert from_markdown(text)["standing"].mark is Mark.BLANK


def test_a_text_that_is_no_worksheet_is_told_apart_and_not_lost() -> None:
    assert not is_worksheet("# Shopping\n\n- milk\n")
    assert is_worksheet(to_markdown(blank_sheet()))
    assert "- milk" in to_markdown(from_markdown("# Shopping\n\n- milk\n"))


@pytest.mark.parametrize("value", ["a *(from b)*", "\\", "*", "[x](y)", "`c`", "<b>", " padded ", "(from c)"])
def test_prefilled_text_is_escaped_and_comes_back(value: str) -> None:
    from dataclasses import replace

    sheet = blank_sheet()
    for key in ("model", "groups"):
        sheet = sheet.with_field(replace(sheet[key], prefilled=(Prefilled(value, value),)))
    assert from_markdown(to_markdown(sheet)) == sheet


def test_korean_comes_back_as_korean() -> None:
    sheet = BASES["korean"].with_text("against", "랭크 0 도 기다린다")
    text = to_markdown(sheet)
    assert "**반대 증거:**\n\n랭크 0 도 기다린다" in text
    assert "*(출처: nccl_trace_rank_3" in text
    assert from_markdown(text) == sheet
    assert from_markdown(text).language == "ko"


def test_blank_is_visible_in_every_field_that_asks() -> None:
    sheet = blank_sheet()
    assert to_markdown(sheet).count("____") == len(sheet.blanks()) + sheet.head[-1].count("____")
    assert len(sheet.blanks()) == sum(not field.optional for field in sheet)


def test_hypotheses_repeat_and_come_back() -> None:
    sheet = (
        blank_sheet().with_repeats(3).with_text(repeat_key("hypothesis", 3), "the third").with_text("hypothesis", "the first")
    )
    again = from_markdown(to_markdown(sheet))
    assert again == sheet
    assert again["hypothesis.3"].typed == "the third"
