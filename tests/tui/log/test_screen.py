"""The log's screen at the keyboard."""

from __future__ import annotations

import gzip
from contextlib import asynccontextmanager
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

import pytest

from hangview.loading import load
from hangview.logs.evidence import LogLine
from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.log.finding import Search
from hangview.tui.log.only import OnlyRank
from hangview.tui.log.reader import LogReader
from hangview.tui.log.screen import LogScreen
from hangview.tui.log.view import LogView
from hangview.tui.prose import plain
from hangview.tui.prose_view import ProseView
from tests.logs.support import FIXTURES
from tests.support import incidents
from tests.tui.log.support import press, settled, target
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from hangview.tui.log.target import Target


@asynccontextmanager
async def log_of(name: str, *keys: str, size: tuple[int, int] = (80, 24), **ui: object) -> AsyncIterator[Pilot[int]]:
    """A fixture's main screen, and the log opened from there by its key."""
    async with showing(load(str(FIXTURES / name)), size, **ui) as (_, pilot):  # type: ignore[arg-type]
        await press(pilot, *keys, "L")
        yield pilot


@asynccontextmanager
async def opened(path: Path, *targets: Target, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[int]]:
    """The log's screen over any file."""
    async with showing(incidents.four_ranks(), size) as (app, pilot):
        app.push_screen(LogScreen((str(path.parent),), targets or (target(path),)))
        await settled(pilot)
        yield pilot


def log(pilot: Pilot[int]) -> LogScreen:
    found = pilot.app.screen
    assert isinstance(found, LogScreen)
    return found


def view(pilot: Pilot[int]) -> LogView:
    return log(pilot).query_one(LogView)


def text(pilot: Pilot[int]) -> str:
    return screen_text(pilot.app)


def status(pilot: Pilot[int]) -> str:
    return plain(log(pilot).query_one("#log-status", ProseView).prose).strip()


def current(pilot: Pilot[int]) -> tuple[int | None, str]:
    row = log(pilot).row
    assert row is not None
    return row.number, row.text


async def find(pilot: Pilot[int], typed: str) -> None:
    await press(pilot, "slash")
    await pilot.press(*["ctrl+u", *typed])
    await press(pilot, "enter")


BIG_LINES = 300_000
#: Rows that are held where a test is about that.
MOST = 450


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 MB, every line 101 bytes long; the lines that matter are in the middle."""
    path = tmp_path_factory.mktemp("big") / "rank_3.log"
    with path.open("wb") as file:
        for number in range(1, BIG_LINES + 1):
            word = b"needle" if number in (1000, 200_000) else b"straw"
            file.write(b"%-100s\n" % (b"step %06d %s" % (number, word)))
    return path


def used_line(number: int) -> LogLine:
    return LogLine(0, number, f"step {number:06d}", (number - 1) * 101)


def big_target(path: Path) -> Target:
    lines = tuple(used_line(number) for number in (10, 150_000, 299_000))
    return target(path, line=lines[1], used=lines, own=lines)


# Opening


async def test_the_log_opens_at_the_line_that_matters_and_goes_back():
    async with log_of("seed-a-missing-dump") as pilot:
        assert current(pilot)[0] == 14
        assert "ValueError: shard_3.bin" in current(pilot)[1]
        assert "rank 3 · logs/rank_3.log" in text(pilot)
        assert "line 14: what it raised" in text(pilot)
        assert [row.split()[:2] for row in text(pilot).splitlines() if row.startswith(">")][1] == [">", "14"]
        await press(pilot, "escape")
        assert pilot.app.screen is pilot.app.main  # type: ignore[attr-defined]


async def test_80x24(screen):
    async with log_of("seed-a-missing-dump") as pilot:
        assert text(pilot) == screen


async def test_interleaved_60x20(screen):
    async with log_of("logs/tee-2.9", "n", size=(60, 20)) as pilot:
        assert text(pilot) == screen


async def test_ascii(screen):
    async with log_of("logs/two-groups-2.7", ascii_only=True) as pilot:
        assert text(pilot).isascii()
        assert text(pilot) == screen


async def test_without_a_log_it_is_said():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await press(pilot, "L")
        assert app.screen is app.main
        assert "no log was found beside these dumps" in screen_text(app)


async def test_a_lead_comes_before_the_other_ranks_of_its_row():
    async with log_of("logs/behind-2.6") as pilot:
        assert "rank 5 · " in text(pilot)


async def test_the_rank_pane_names_the_key_and_stands_beside_the_log_where_there_is_room():
    async with showing(load(str(FIXTURES / "hsdp-32")), (240, 50)) as (app, pilot):
        await press(pilot, "enter", "enter", "enter", "enter")
        row = next(row for row in screen_text(app).splitlines() if "its dump says" in row)
        assert "its log says" in row
        assert "L opens its log" in screen_text(app)
    async with showing(load(str(FIXTURES / "hsdp-32")), (120, 70)) as (app, pilot):
        await press(pilot, "enter", "enter", "enter", "enter")
        row = next(row for row in screen_text(app).splitlines() if "its dump says" in row)
        assert "its log says" not in row
        assert "its log says" in plain(app.main.prose("details").prose)


# A big file


async def test_a_big_file_is_read_around_the_line_alone(big):
    async with opened(big, big_target(big)) as pilot:
        assert current(pilot) == (150_000, f"{'step 150000 straw':<100}".rstrip() + " " * 83)
        assert log(pilot).reader.taken < 1 << 20
        await press(pilot, "G")
        assert current(pilot)[1].startswith(f"step {BIG_LINES:06d}")
        await press(pilot, "g")
        assert current(pilot)[0] == 1
        assert log(pilot).reader.taken < 3 << 20


async def test_going_on_reads_on_and_holds_few_rows(big, monkeypatch):
    monkeypatch.setattr("hangview.tui.log.holding.MOST_ROWS", MOST)
    async with opened(big, big_target(big), size=(80, 50)) as pilot:
        for _ in range(15):
            await press(pilot, "pagedown")
        number, said = current(pilot)
        assert number == 150_000 + 15 * (view(pilot).size.height - 1)
        assert said.startswith(f"step {number:06d} ")
        assert len(view(pilot).rows) <= MOST
        for _ in range(25):
            await press(pilot, "pageup")
        number, said = current(pilot)
        assert number == 150_000 - 10 * (view(pilot).size.height - 1)
        assert said.startswith(f"step {number:06d} ")
        assert log(pilot).reader.taken < 4 << 20


async def test_keys_faster_than_the_disk_are_not_lost(big, monkeypatch):
    answer = Event()
    below = LogReader.below

    def slow(self, *args, **more):
        answer.wait()
        return below(self, *args, **more)

    async with opened(big, big_target(big)) as pilot:
        monkeypatch.setattr(LogReader, "below", slow)
        for _ in range(20):
            await pilot.press("pagedown")
        answer.set()
        await settled(pilot)
        number, said = current(pilot)
        assert said.startswith(f"step {number:06d} ")
        assert number is not None
        assert number > 150_000 + 150


async def test_lines_that_were_used(big):
    async with opened(big, big_target(big)) as pilot:
        await press(pilot, "right_square_bracket")
        assert current(pilot)[0] == 299_000
        assert "used by hangview" in status(pilot)
        await press(pilot, "right_square_bracket")
        assert status(pilot) == "no line below that hangview used"
        await press(pilot, "left_square_bracket", "left_square_bracket")
        assert current(pilot)[0] == 10
        await press(pilot, "m")
        assert current(pilot)[0] == 150_000


async def test_a_number_that_nobody_knows_is_said(big):
    async with opened(big, replace(big_target(big), used=(), own=())) as pilot:
        await press(pilot, "G")
        assert current(pilot)[0] is None
        assert status(pilot).startswith("line number not known · at 30.3 MB of 30.3 MB")


# Searching


async def test_search_goes_round_the_end_and_back(big):
    async with opened(big, big_target(big)) as pilot:
        await find(pilot, "needle")
        assert current(pilot)[0] == 200_000
        assert status(pilot) == "found: line 200,000 · needle"
        await press(pilot, "n")
        assert current(pilot)[0] == 1000
        assert "round the end" in status(pilot)
        await press(pilot, "N")
        assert current(pilot)[1].startswith("step 200000 needle")
        assert "round the end" in status(pilot)
        await press(pilot, "N")
        assert current(pilot)[1].startswith("step 001000 needle")


async def test_search_says_when_there_is_nothing(big):
    async with opened(big, big_target(big)) as pilot:
        await press(pilot, "n")
        assert status(pilot) == "nothing was searched for: / searches"
        await find(pilot, "haystack")
        assert status(pilot) == "not found: haystack"
        assert current(pilot)[0] == 150_000
        await find(pilot, "step 150000")
        assert status(pilot) == "found in this line alone: step 150000"


async def test_a_search_is_ended_by_escape(big, monkeypatch):
    monkeypatch.setattr(Search, "_forwards", _for_ever)
    async with opened(big, big_target(big)) as pilot:
        await pilot.press("slash", "x", "y", "enter")
        await pilot.pause()
        assert log(pilot).search.busy
        await pilot.press("down")  # moving goes on meanwhile
        await pilot.pause()
        assert current(pilot)[0] == 150_001
        await press(pilot, "escape")
        assert status(pilot) == "search stopped: xy"


def _for_ever(self, low, high):
    while not self._stopped():
        yield low, b""


async def test_hits_stand_out_and_far_right_ones_come_into_sight(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("short\n" + "x" * 300 + "needle\n")
    async with opened(path) as pilot:
        await press(pilot, "g")
        await find(pilot, "needle")
        row = next(row for row in text(pilot).splitlines() if "needle" in row and row.lstrip()[:1] == "2")
        assert row.endswith("needle")
        assert view(pilot).left > 300 - 80


# One rank alone


async def test_only_this_rank():
    async with log_of("logs/two-groups-2.7") as pilot:
        await press(pilot, "r")
        assert "[only rank 6 · r: all lines]" in text(pilot)
        assert [row.number for row in view(pilot).rows] == [10, 12, 22]
        assert current(pilot)[0] == 12
        await find(pilot, "dump")
        assert current(pilot)[0] == 22
        await press(pilot, "n", "n")
        assert current(pilot)[0] == 12
        await press(pilot, "r")
        assert len(view(pilot).rows) == 60
        assert current(pilot)[0] == 12


async def test_a_log_of_one_rank_needs_no_filter():
    async with log_of("seed-a-missing-dump") as pilot:
        await press(pilot, "r")
        assert status(pilot) == "all lines of this log are rank 3's"


async def test_no_line_of_the_rank(tmp_path):
    path = tmp_path / "all.log"
    path.write_text("[rank1]: one\n[rank2]: two\n")
    async with opened(path, target(path, alone=False)) as pilot:
        assert "no log is known to be rank 3's" in text(pilot)
        await press(pilot, "r")
        assert "no line here names rank 3" in text(pilot)
        await press(pilot, "r")
        assert current(pilot) == (1, "[rank1]: one")


async def test_looking_for_lines_of_one_rank_can_be_stopped_and_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "all.log"
    path.write_text("[rank1]: one\n" * 200 + "[rank3]: three\n")
    go, fits = Event(), OnlyRank.__call__
    monkeypatch.setattr(OnlyRank, "__call__", lambda self, line: go.wait() and fits(self, line))
    async with opened(path, target(path, alone=False)) as pilot:
        await press(pilot, "g")
        await pilot.press("r")
        await pilot.pause()
        log(pilot)._waited = 1  # as if it had taken long
        await pilot.press("escape")
        go.set()
        await settled(pilot)
        assert "stopped: no line between 0 bytes and 13 bytes names rank 3 · down reads on" in text(pilot)
        await press(pilot, "down")
        assert [row.text for row in view(pilot).rows] == ["[rank3]: three"]
        assert view(pilot).rows[0].number == 201


# Several logs


async def test_the_next_log():
    async with log_of("logs/restart-2.12") as pilot:
        assert "attempt_1/0/stderr.log · log 1 of 3 (L: next)" in text(pilot)
        await press(pilot, "L")
        assert "launcher.log · log 2 of 3" in text(pilot)
        await press(pilot, "L", "L")
        assert "log 1 of 3" in text(pilot)
    async with log_of("seed-a-missing-dump") as pilot:
        await press(pilot, "L")
        assert status(pilot) == "this is the only log of rank 3"


async def test_in_the_list_of_findings_the_log_that_is_cited_opens():
    """The second finding is of the attempt before: its log, and not that of the attempt now."""
    async with log_of("logs/restart-2.12", "4", "down") as pilot:
        assert "attempt_0/1/stderr.log" in text(pilot)


# What files are like


async def test_carriage_returns_colours_and_wide_letters(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes("\x1b[31mred\x1b[0m\r\n 10%\r 20%\rdone\n漢字かな交じり文\x07\n".encode())
    async with opened(path, size=(40, 20)) as pilot:
        await press(pilot, "g")
        rows = [row[6:].strip() for row in text(pilot).splitlines()[2:7]]
        assert rows == ["1 red", "2  10%", "20%", "done", "3 漢字かな交じり文\\x07"]
        await press(pilot, "l")
        assert text(pilot).splitlines()[6].split()[1] == "交じり文\\x07"


async def test_long_lines_are_clipped_and_scroll_sideways(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("".join(f"{number:04d}" for number in range(100)) + "\n")
    async with opened(path, size=(60, 20)) as pilot:
        row = text(pilot).splitlines()[2]
        assert row.split()[1].startswith("00000001")
        assert row.endswith("…")
        await press(pilot, "l")
        assert text(pilot).splitlines()[2].split()[1].startswith("00020003")
        assert "from column 9" in status(pilot)
        await press(pilot, "0")
        assert text(pilot).splitlines()[2] == row
        await press(pilot, "l", "m")  # back to the line that matters is back to its beginning, too
        assert text(pilot).splitlines()[2] == row


async def test_compressed(tmp_path):
    path = tmp_path / "rank_3.log.gz"
    path.write_bytes(gzip.compress(b"".join(b"step %05d\n" % number for number in range(1, 50_001))))
    async with opened(path, target(path, size=550_000)) as pilot:
        assert current(pilot) == (50_000, "step 50000")
        await find(pilot, "step 00007")
        assert current(pilot) == (7, "step 00007")
        await press(pilot, "N")
        assert "found in this line alone" in status(pilot)


@pytest.mark.parametrize(("data", "word"), [(b"", "the file is empty"), (b"\n", "1")])
async def test_hardly_anything(tmp_path, data, word):
    path = tmp_path / "a.log"
    path.write_bytes(data)
    async with opened(path) as pilot:
        await press(pilot, "g", "G", "down", "pageup", "n", "m", "right_square_bracket", "y", "l")
        assert word in text(pilot).splitlines()[2]


async def test_gone_and_back(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("one\n")
    there = target(path)
    path.unlink()
    async with opened(path, there) as pilot:
        assert "a.log: the file is gone" in text(pilot)
        await press(pilot, "down", "n", "r", "y")
        await find(pilot, "x")
        path.write_text("one\ntwo\n")
        await press(pilot, "G")
        assert current(pilot)[1] == "two"


async def test_no_regular_file(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("one\n")
    there = target(path)
    path.unlink()
    path.mkdir()
    async with opened(path, there) as pilot:
        assert "a.log: cannot be read: " in " ".join(text(pilot).split())


async def test_a_file_that_is_no_longer_what_it_was(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("one two\nthree\n")
    used = LogLine(0, 2, "two", 4)
    async with opened(path, target(path, line=used, used=(used,))) as pilot:
        assert "the file is not as it was when hangview read it" in text(pilot)
    path.write_text("x\n")
    used = LogLine(0, 9, "two", 400)
    async with opened(path, target(path, line=used, used=(used,), size=500)) as pilot:
        assert "the file is not as it was when hangview read it" in text(pilot)


async def test_a_disk_that_does_not_answer_holds_no_key(tmp_path, monkeypatch):
    path = tmp_path / "a.log"
    path.write_text("one\n")
    answer = Event()
    around = LogReader.around
    monkeypatch.setattr(LogReader, "around", lambda self, *args, **more: (answer.wait(), around(self, *args, **more))[1])
    async with showing(incidents.four_ranks()) as (app, pilot):
        app.push_screen(LogScreen((str(tmp_path),), (target(path),)))
        await pilot.pause()
        assert "reading" in screen_text(app)
        await pilot.press("down", "G", "n", "question_mark")
        assert isinstance(app.screen, HelpDialog)
        await pilot.press("escape", "q")
        await pilot.pause()
        assert app.screen_stack[-1] is app.main
        answer.set()


# The rest


async def test_help_and_copy():
    async with log_of("seed-a-missing-dump") as pilot:
        await press(pilot, "question_mark")
        assert isinstance(pilot.app.screen, HelpDialog)
        assert "next line that hangview used" in text(pilot)
        await press(pilot, "escape", "y")
        assert pilot.app.clipboard.startswith("logs/rank_3.log:14  ")
        assert "copied" in status(pilot)
