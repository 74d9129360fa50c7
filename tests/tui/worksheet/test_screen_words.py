"""The screen's words around the worksheet: the same in every language, and drawn straight where characters are two cells."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from hangview.tui.prose import plain
from hangview.tui.worksheet.bindings import key_line
from hangview.tui.worksheet.failure_words import FAILURES as FAILURE_WORDS
from hangview.tui.worksheet.help import sheet_help
from hangview.tui.worksheet.keys import ACTIONS, FOOTERS, Mode
from hangview.tui.worksheet.screen_words import ENGLISH, KOREAN, SCREEN_WORDS, words_of
from hangview.worksheet import prefill
from hangview.worksheet.failures import FAILURES, Said
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.store import SheetStore
from tests.support.incidents import eight_in_five_groups
from tests.tui.worksheet.host import Host, rows

if TYPE_CHECKING:
    from pathlib import Path

BORDERS = "╭╮╰╯│"


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_every_language_of_the_worksheet_has_its_screen_words():
    assert SCREEN_WORDS.keys() == LANGUAGES.keys()


@pytest.mark.parametrize("words", SCREEN_WORDS.values(), ids=SCREEN_WORDS.keys())
def test_all_languages_have_the_same_keys_and_places(words):
    assert words.table.keys() == ENGLISH.table.keys()
    for key, text in words.table.items():
        assert text.strip(), key
        assert places(text) == places(ENGLISH.table[key]), key
        if key.endswith(".one"):
            assert key.removesuffix(".one") in words.table


@pytest.mark.parametrize("words", SCREEN_WORDS.values(), ids=SCREEN_WORDS.keys())
def test_modes_and_actions_have_words(words):
    for mode in Mode:
        assert words(f"mode.{mode}")
    for action in ACTIONS:
        assert f"label {action.id}" in words.table
        assert f"does {action.id}" in words.table
    shown = plain(sheet_help(words=words))
    assert words("help.choice") in shown


def test_korean_is_not_english():
    """But for what is no word: the same in both."""
    assert not [key for key, text in KOREAN.table.items() if text == ENGLISH.table[key]]


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("mode", list(Mode))
def test_the_key_line_fits_its_width_in_cells(mode, width):
    shown = key_line(FOOTERS[mode], width, KOREAN(f"mode.{mode}"), words=KOREAN)
    assert cell_len(shown.text) <= width
    assert KOREAN.label(FOOTERS[mode][0]) in shown.text


def test_ascii_alone_is_english():
    assert words_of("ko", ascii_only=True) is ENGLISH
    assert words_of("ko", ascii_only=False) is KOREAN


def test_english_says_what_the_store_says(tmp_path):
    from hangview.worksheet.session import Session

    store = SheetStore(state_dir=tmp_path / "state", cwd=tmp_path)
    session = Session(store, eight_in_five_groups())
    path = tmp_path / "sheet.md"
    path.write_text("something else", "utf-8")
    for replace in (False, True, True):
        result = session.save(path, replace=replace)
        assert ENGLISH.result(result, len(session.sheet.blanks())) == result.message


async def pressed(tmp_path: Path, keys: str, size: tuple[int, int] = (80, 24)) -> list[str]:
    app = Host(SheetStore(state_dir=tmp_path / "state", cwd=tmp_path), eight_in_five_groups(), language="ko")
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys.split())
        await pilot.pause()
        return rows(app)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_the_korean_screen(tmp_path, size, screen):
    assert "\n".join(await pressed(tmp_path, "", size)) + "\n" == screen


@pytest.mark.parametrize("keys", ["s", "o", "p"])
async def test_the_frames_of_korean_dialogs_are_straight(tmp_path, keys):
    """The frame of a dialog begins and ends in the same two columns in each of its rows."""
    shown = await pressed(tmp_path, keys)
    top = next(at for at, row in enumerate(shown) if "╭" in row)
    end = next(at for at, row in enumerate(shown) if "╰" in row)
    left, right = (cell_len(shown[top].partition(sign)[0]) for sign in "╭╮")
    for row in shown[top : end + 1]:
        columns = [cell_len(row[:at]) for at, char in enumerate(row) if char in BORDERS]
        assert left in columns, row
        assert right in columns, row
        assert cell_len(row) <= 80


async def test_the_modes_are_korean(tmp_path):
    assert (await pressed(tmp_path, ""))[-1].startswith("[명령]  s:저장")
    assert (await pressed(tmp_path, "tab"))[-1].startswith("[입력]")


@pytest.mark.parametrize("code", sorted(FAILURE_WORDS))
def test_every_failure_has_words_in_every_language(code):
    table = FAILURE_WORDS[code]
    assert table.keys() == FAILURES.keys()
    for key, text in table.items():
        assert places(text) == places(FAILURES[key]), key
        assert text != FAILURES[key] or not re.sub(r"{\w+}|[: ]", "", text), key
    assert {*FAILURE_WORDS, "en"} == set(LANGUAGES)


def test_a_failure_is_told_down_to_its_reason_and_english_stays_english():
    why = Said("in_folder", why=Said("no_space"), folder="/home/kim")
    told = Said("draft_not_kept", why=why)
    assert told == "the draft is NOT kept, save the worksheet to another place: no space left on the disk: /home/kim"
    assert KOREAN.tell(told) == "초안이 보관되지 않는다, 기록지를 다른 곳에 저장해야 한다: 디스크에 남은 공간이 없다: /home/kim"
    assert ENGLISH.tell(told) == told
    assert KOREAN.tell("Structure needs cleaning") == "Structure needs cleaning"  # the system's own words


def test_all_that_a_disk_can_do_is_told_in_korean(tmp_path):
    """Whatever the store answers: no sentence of ours is left in English."""
    store = SheetStore(state_dir=tmp_path / "state", fallback_dir=tmp_path / "other", cwd=tmp_path)
    incident = eight_in_five_groups()
    sheet = prefill(incident, language="ko")
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe")
    (tmp_path / "list.md").write_text("milk\n")
    (tmp_path / "state").write_text("")
    told = [
        store.save(sheet, "folder").message,
        store.save(sheet, "gone/place.md").message,
        store.keep(sheet, incident).message,
    ]
    (tmp_path / "other").rename(tmp_path / "away")
    (tmp_path / "other").write_text("")
    told.append(
        SheetStore(state_dir=tmp_path / "state", fallback_dir=tmp_path / "other", cwd=tmp_path).keep(sheet, incident).message
    )
    told += [store.open(name).message for name in ("missing.md", "bytes.md", "list.md")]
    for message in told:
        korean = KOREAN.tell(message)
        assert re.search("[가-힣]", korean), message
        assert not re.search(r"\b(is|not|the|could|no)\b", korean.replace(str(tmp_path), "")), korean


async def test_a_failed_save_is_said_in_korean_on_the_screen(tmp_path):
    store = SheetStore(state_dir=tmp_path / "state", fallback_dir=tmp_path / "other", cwd=tmp_path)
    app = Host(store, eight_in_five_groups(), language="ko")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("s")
        await pilot.press(*["backspace"] * 60, *"gone/x.md", "enter")
        await pilot.pause()
        shown = " ".join("\n".join(rows(app)).split())
        assert "폴더가 없다" in shown
        assert "does not exist" not in shown
