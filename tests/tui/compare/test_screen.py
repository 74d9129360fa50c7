"""The screen of a comparison, driven by keys over two real sets of 16 ranks, of which rank 5 of the second asked for more."""

from __future__ import annotations

import shutil
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual.widget import Widget

import hangview
from hangview.compare import compare
from hangview.compare.page import answer, changed_text, part_text
from hangview.schema import ReadOptions
from hangview.tui import UiOptions
from hangview.tui.actions import Where, actions_in
from hangview.tui.compare.app import CompareApp
from hangview.tui.compare.help import compare_help, help_of
from hangview.tui.compare.reader import Both, Compared, NotRead, Reader, ReadSoFar
from hangview.tui.compare.screen import footer
from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.prose import plain
from tests.tui.screens import screen_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from textual.message import Message
    from textual.pilot import Pilot

FIXTURES = Path(__file__).parents[3] / "fixtures"
NAMES = ("nccl-none", "nccl-size")


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(FIXTURES)  # a path of this machine must not get into a snapshot
        a, b = (hangview.load(name, options=ReadOptions(cache=False)) for name in NAMES)
        yield Both(compare(a, b), a, b)


@asynccontextmanager
async def showing(
    both: Both | None, size: tuple[int, int] = (80, 24), *, ascii_only: bool = False, **ui: object
) -> AsyncIterator[tuple[CompareApp, Pilot[int]]]:
    app = CompareApp(NAMES, UiOptions(**ui), ascii_only=ascii_only, both=both)  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def body(app: CompareApp) -> str:
    """The words of the call's pane, one fact a line."""
    return plain(app.main.prose("call").prose)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_first(both, size, screen):
    async with showing(both, size) as (app, _):
        assert screen_text(app) == screen


async def test_details_80x24(both, screen):
    async with showing(both) as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert screen_text(app) == screen


@pytest.mark.parametrize("size", [(40, 12), (44, 14), (60, 16), (80, 17)])
async def test_in_a_small_terminal_list_and_call_take_turns(both, size):
    """Each has all the lines that are there, and names whole at their ends; frames around one line told nothing."""
    async with showing(both, size) as (app, pilot):
        rows = screen_text(app).splitlines()
        assert "DATA_PARALLEL_GROUP[1,3,5,7]" in next(row for row in rows if row.startswith("│#"))
        assert app.main.groups.size.height >= 5
        assert not app.main.pane("call").region.height
        await pilot.press("enter")
        await pilot.pause()
        assert focused(app) == "call"
        assert app.main.prose("call").size.height >= 5
        assert "size × dtype" in screen_text(app)
        assert not app.main.groups.region.height
        await pilot.press("tab")
        await pilot.pause()
        assert focused(app) == "groups"
        await pilot.press("tab", "enter")
        await pilot.pause()
        assert (focused(app), app.main.level) == ("a", 1)
        assert app.main.prose("a").size.height >= 5
        await pilot.press("tab", "enter")  # down in B, and still in B
        await pilot.pause()
        assert (focused(app), app.main.level) == ("b", 2)
        assert "tab: A" in screen_text(app)
        assert "ENTRY" in screen_text(app)
        await pilot.press("escape", "escape", "escape")
        await pilot.pause()
        assert (focused(app), app.main.level) == ("groups", 0)
        assert "?:help" in screen_text(app)


async def test_a_terminal_that_grows_shows_both_again(both):
    async with showing(both, (40, 12)) as (app, pilot):
        await pilot.press("enter")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.main.groups.size.height >= 3
        assert app.main.prose("call").size.height >= 5
        assert "# differs" in screen_text(app)  # in a word again


@pytest.mark.parametrize("width", range(52, 76, 4))
async def test_in_ascii_what_was_left_out_takes_no_line_of_its_own(both, width):
    async with showing(both, (width, 20), ascii_only=True) as (app, _):
        rows = screen_text(app).splitlines()[: app.main.prose("banner").size.height]
        assert len(rows) == 4  # title, two for the answer, one for what was changed
        assert all(row.strip() != "..." for row in rows)


async def test_the_banner_says_what_the_report_says(both):
    async with showing(both, (160, 48)) as (app, _):
        words = plain(app.main.prose("banner").prose)
        for sentence in (*answer(both.comparison), changed_text(both.comparison), both.comparison.b.answer):
            assert sentence in words


async def test_every_difference_is_stepped_to_and_told_in_the_words_of_the_report(both):
    found = both.comparison.differences
    async with showing(both, (160, 48)) as (app, pilot):
        for number, difference in enumerate(found):
            assert app.main.number == number
            assert app.main.chosen is not None
            assert app.main.chosen.pair == difference.pair
            words = " ".join(body(app).split())
            for part in difference.parts:
                assert part_text(part) in words
            await pilot.press("n")
            await pilot.pause()
        assert app.main.number == 0
        assert "round the end" in screen_text(app)
        await pilot.press("N")
        assert app.main.number == len(found) - 1


async def test_the_call_stands_side_by_side(both):
    """Rank 5 asked for 8 elements more in B, and nobody there was done with the call."""
    async with showing(both, (160, 48)) as (app, _):
        rows = body(app).splitlines()
        assert rows[0].split() == ["call", "9", "A", "B"]
        sizes = " ".join(rows[2:6])
        assert sizes.startswith("# size × dtype")
        assert "(rank 5)" in sizes
        assert "402,653,192" in sizes
        state = next(row for row in rows if row.startswith("# state"))
        assert "completed (ranks 1,3,5,7)" in state
        assert "requested, not over (ranks" in state
        assert [row for row in rows if row.startswith("  op")]


async def test_down_and_back(both):
    async with showing(both) as (app, pilot):
        assert app.main.focused is app.main.groups
        frame = app.main.groups.parent
        assert isinstance(frame, Widget)
        for level, word in enumerate(("call 9", "entry", "stack", "source", "rank"), 1):
            await pilot.press("enter")
            await pilot.pause()
            assert app.main.level == level
            assert word in screen_text(app).casefold()
            assert not frame.display  # 80 columns: the list makes room
        await pilot.press("enter")
        assert "last level" in screen_text(app)
        await pilot.press(*["escape"] * 5)
        await pilot.pause()
        assert app.main.level == 0
        assert app.main.focused is app.main.groups
        await pilot.press("escape")
        assert "this is the top" in screen_text(app)


def focused(app: CompareApp) -> str | None:
    return app.focused.id if app.focused is not None else None


async def test_tab_goes_through_what_is_shown(both):
    async with showing(both, (160, 48)) as (app, pilot):
        seen = []
        for _ in range(3):
            await pilot.press("tab")
            seen.append(focused(app))
        assert seen == ["call", "groups", "call"]
        await pilot.press("enter")
        await pilot.pause()
        assert focused(app) == "a"
        await pilot.press("tab")
        assert focused(app) == "b"
        await pilot.press("shift+tab", "shift+tab")
        assert focused(app) == "groups"


async def test_a_group_that_agrees_and_the_sets_as_a_whole(both):
    async with showing(both, (160, 48)) as (app, pilot):
        await pilot.press("G")
        await pilot.pause()
        assert app.main.number is None
        assert "that both sets hold agree" in body(app)
        await pilot.press("g")
        await pilot.pause()
        assert app.main.chosen is None
        words = body(app)
        assert "33 in both (33 by name, description and members)" in words
        assert "where they stop agreeing" not in words
        await pilot.press("n")
        assert app.main.number == 0


@pytest.mark.parametrize(("names", "code"), [(("healthy", "healthy"), 0), (("nccl-stuck-wrapped", "nccl-stuck"), 3)])
async def test_the_exit_code_is_that_of_the_report(names, code):
    a, b = (hangview.load(str(FIXTURES / name), options=ReadOptions(cache=False)) for name in names)
    async with showing(Both(compare(a, b), a, b)) as (app, pilot):
        await pilot.press("n")
        assert "no difference to step to" in screen_text(app)
        await pilot.press("q")
    assert app.return_value == code
    assert app.last_words == ""


def load(*names: str) -> Both:
    a, b = (hangview.load(str(FIXTURES / name), options=ReadOptions(cache=False)) for name in names)
    return Both(compare(a, b), a, b)


async def test_a_group_of_which_no_call_is_in_both_says_so():
    async with showing(load("nccl-stuck-wrapped", "nccl-stuck")) as (app, pilot):
        await pilot.press("g", "down")
        await pilot.pause()
        assert "no call is held by both" in body(app)


async def test_a_group_without_a_call_is_counted_and_not_listed():
    """The main screen lists lanes: a group that nobody called has none. In these two sets that is default_pg."""
    async with showing(load("p2p-chain", "p2p-unpaired"), (160, 48)) as (app, _):
        assert "1 more without a call" in screen_text(app)
        assert not any("default_pg" in row for row in screen_text(app).splitlines() if row.startswith("│"))


async def test_the_list_opens_at_its_first_row(both):
    async with showing(both) as (app, _):
        assert app.main.groups.topmost == 0
        assert "both sets and their conditions" in screen_text(app)
        assert "1-" in next(row for row in screen_text(app).splitlines() if " of " in row and row.startswith("╰"))


async def test_a_group_of_one_set_shows_the_calls_of_that_set():
    """The gloo run has one group, of four ranks, and the other run none of that kind."""
    found = load("hsdp-32", "gloo2.15-ops")
    async with showing(found, (160, 48)) as (app, pilot):
        assert app.main.chosen is not None
        pair = found.comparison.groups[app.main.chosen.pair]
        assert pair.b is None
        assert "B: no group of this kind" in body(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "this set has no such" not in plain(app.main.prose("a").prose)
        assert "call" in str(app.main.pane("a").border_title).casefold()
        assert "this set has no such group" in plain(app.main.prose("b").prose)


async def test_what_was_not_compared_is_said_on_the_screen(tmp_path):
    """The dump of rank 5 in B ends in the middle; the groups it is in agree partly."""
    shutil.copytree(FIXTURES / "nccl-none", tmp_path / "cut")
    dump = next((tmp_path / "cut").rglob("*rank_5"))
    dump.write_bytes(dump.read_bytes()[: dump.stat().st_size // 2])
    a, b = (hangview.load(str(path), options=ReadOptions(cache=False)) for path in (FIXTURES / "nccl-none", tmp_path / "cut"))
    async with showing(Both(compare(a, b), a, b), (160, 48)) as (app, _):
        text = screen_text(app)
        assert "NO DIFFERENCE SEEN" in text
        assert "of rank 5 (cut in B)" in text
        assert "~ agrees partly" in text
        assert "not all compared: calls of rank 5 (cut in B)" in " ".join(body(app).split())


async def test_q_quits_with_one_where_they_differ(both):
    async with showing(both) as (app, pilot):
        await pilot.press("q")
    assert app.return_value == 1


async def test_help_theme_and_ascii(both):
    async with showing(both, (100, 40)) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpDialog)
        assert "the next difference" in screen_text(app)
        await pilot.press("escape", "f6", "f3")
        await pilot.pause()
        assert app.theme == "light"
        assert screen_text(app).isascii()


def test_the_help_and_the_key_line_hold_what_can_be_done():
    words = plain(compare_help())
    for action in actions_in(Where.COMPARE):
        assert help_of(action) in words
    assert set(footer()) <= set(actions_in(Where.COMPARE))


async def test_own_keys(both):
    async with showing(both, keys=(("next_difference", ("f9",)),)) as (app, pilot):
        await pilot.press("n")
        assert app.main.number == 0
        await pilot.press("f9")
        assert app.main.number == 1
        assert "F9:next difference" in screen_text(app)


async def test_too_small_and_back(both):
    async with showing(both) as (app, pilot):
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        await pilot.press("n", "question_mark", "tab")
        assert app.screen is app.main
        assert "too small" in " ".join(screen_text(app).split())
        await pilot.resize_terminal(160, 48)
        await pilot.pause()
        assert app.main.prose("call").region.x > app.main.groups.region.x


async def test_copying_writes_the_pane(both, tmp_path):
    async with showing(both) as (_, pilot):
        await pilot.press("y")
        await pilot.pause()
    kept = (tmp_path / "state" / "hangview" / "copied.txt").read_text("utf-8")
    assert "DIFFERS FIRST" in kept
    assert "# state" in kept


async def test_reading_is_counted_and_a_failure_is_said():
    async with showing(None) as (app, pilot):
        app.post_message(ReadSoFar("A", 3, 16))
        await pilot.pause()
        assert "reading A: 3 of 16" in screen_text(app)
        await pilot.press("n", "enter", "tab")  # nothing to do yet, and no harm
        app.post_message(NotRead("dumps: no such folder"))
        await pilot.pause()
        assert "NOT READ  dumps: no such folder" in screen_text(app)
        await pilot.press("ctrl+q")
    assert app.return_value == 3
    assert app.last_words == "dumps: no such folder"


def read(paths: tuple[str, str]) -> list[Message]:
    """What a reader says, until it is done."""
    said: list[Message] = []
    done = threading.Event()

    def post(message: Message) -> None:
        said.append(message)
        if not isinstance(message, ReadSoFar):
            done.set()

    Reader(paths, ReadOptions(cache=False, workers=1), post).start()
    assert done.wait(60)
    return said


def test_the_reader_counts_both_sets():
    said = read((str(FIXTURES / "healthy"), str(FIXTURES / "seed-a")))
    assert isinstance(said[-1], Compared)
    assert {message.name for message in said if isinstance(message, ReadSoFar)} == {"A", "B"}


def test_the_reader_names_what_it_cannot_read(tmp_path):
    said = read((str(FIXTURES / "healthy"), str(tmp_path / "gone")))
    assert isinstance(said[-1], NotRead)
    assert "gone" in said[-1].reason
