"""The languages of the worksheet say the same things: every key, every answer, every line of a checklist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hangview import cli
from hangview.cli_options import WORKSHEET_LANGUAGES
from hangview.worksheet import from_markdown, prefill, to_markdown
from hangview.worksheet.english import ENGLISH
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.layout import LAYOUT, FieldKind
from tests.support.incidents import four_ranks
from tests.tui.screens import showing

FIXTURES = Path(__file__).parents[2] / "fixtures"
FIELDS = [field for section in LAYOUT for field in section.fields]


def test_the_command_line_offers_what_is_built_in():
    assert tuple(LANGUAGES) == WORKSHEET_LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=list(LANGUAGES))
class TestTable:
    def test_the_layout_is_covered_and_nothing_else(self, language):
        assert list(language.sections) == [section.key for section in LAYOUT]
        assert set(language.labels) == {field.key for field in FIELDS}
        assert set(language.options) == {field.key for field in FIELDS if field.kind is FieldKind.CHOICE}
        assert set(language.items) == {field.key for field in FIELDS if field.kind is FieldKind.CHECKLIST}

    def test_answers_and_items_are_as_many_as_in_english(self, language):
        for mine, theirs in ((language.options, ENGLISH.options), (language.items, ENGLISH.items)):
            assert {key: len(found) for key, found in mine.items()} == {key: len(found) for key, found in theirs.items()}

    def test_no_word_is_empty_or_stands_for_two_fields(self, language):
        for words in (language.sections, language.labels):
            assert all(word.strip() == word and word for word in words.values())
        for section in LAYOUT:
            labels = [language.labels[field.key] for field in section.fields]
            assert len(set(labels)) == len(labels)
        assert language.origin.count("{}") == 1
        assert language.title
        assert "____" in language.intro

    def test_no_label_could_be_read_as_form(self, language):
        assert not any(re.search(r"[*:`\n]", label) for label in language.labels.values())

    def test_names_and_settings_stay_as_they_are_typed(self, language):
        text = " ".join(line for lines in language.items.values() for line in lines)
        for name in ("TORCH_DIST_USE_NCCL2=0", "nccl-legacy", "2.15", "2.14"):
            assert name in text

    def test_a_sheet_goes_through_markdown(self, language):
        sheet = prefill(four_ranks(), language=language.code)
        assert from_markdown(to_markdown(sheet)) == sheet
        assert sheet.language == language.code


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_another_language_leaves_nothing_in_english(code):
    """Only names that are the same everywhere may be."""
    other = LANGUAGES[code]
    kept = {key for key, word in other.labels.items() if word == ENGLISH.labels[key]}
    assert kept == {"torch"}
    for words, english in ((other.sections, ENGLISH.sections), (other.options, ENGLISH.options), (other.items, ENGLISH.items)):
        assert not any(found == english[key] for key, found in words.items())


def test_the_worksheet_command_takes_a_language(tmp_path, capsys, monkeypatch):
    target, run = tmp_path / "sheet.md", str(FIXTURES / "healthy")
    assert cli.run(["worksheet", "--lang", "ko", run, "-o", str(target)]) == 0
    assert target.read_text("utf-8").startswith(f"# {LANGUAGES['ko'].title}: healthy\n")
    monkeypatch.setenv("HANGVIEW_LANG", "ko")
    assert cli.run(["worksheet", run]) == 0
    assert capsys.readouterr().out.startswith(f"# {LANGUAGES['ko'].title}")
    assert cli.run(["worksheet", "--lang", "xx", run]) == 2


async def test_the_screen_opens_a_sheet_in_the_language_asked_for():
    async with showing(four_ranks(), language="ko") as (app, _):
        sheet = app.sheet()
        assert sheet is not None
        assert sheet.session.sheet.language == "ko"
