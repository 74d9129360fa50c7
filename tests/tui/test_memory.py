"""The place of the last time: kept whole or not at all, taken up again, and never in the way."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hangview
from hangview.schema import ReadOptions
from hangview.terms import Role
from hangview.tui import UiOptions, memory
from hangview.tui.app import HangviewApp
from hangview.tui.memory import Memory, Remembered
from hangview.tui.place import Place
from hangview.tui.prose import plain
from hangview.worksheet import drafts
from tests.support import incidents

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.tui.main.screen import MainScreen

FIXTURES = Path(__file__).parents[2] / "fixtures"
LAST = Remembered(("2", "TP1", "4-7"), "collective", 3, 5, "4-6", "5", center="findings", level=1, answer="divergence: x")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No threads: what is remembered is read before the next line of the test."""
    monkeypatch.setattr(memory, "beside", lambda work: work())


def app_on(incident: Incident, folder) -> HangviewApp:
    return HangviewApp(incident.paths, UiOptions(), incident=incident, rest=0, memory=Memory(folder))


@dataclass
class Seen:
    """What the screen was like when a session was left."""

    status: str
    place: Place | None
    ranks: list[tuple[int, ...]]
    pinned: set[int]
    unfolded: bool
    header: str
    main: MainScreen


async def session(incident: Incident, folder, *keys: str) -> Seen:
    """Open it, press the keys, quit."""
    app = app_on(incident, folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        status = plain(app.main.prose("status").prose).strip()
        grid = app.main.grid
        ranks, header = [row.ranks for row in grid.rows], plain(app.main.prose("banner").prose)
        seen = Seen(status, app.main.place, ranks, set(grid.pinned), grid.unfolded, header, app.main)
        await pilot.press("ctrl+q")
    return seen


def test_what_was_saved_is_loaded(tmp_path):
    path = memory.path_of(tmp_path, incidents.four_ranks())
    assert memory.load(path) is None
    assert memory.save(path, LAST) == ""
    assert memory.load(path) == LAST
    assert path.stat().st_mode & 0o077 == 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2}, {"seq": "1"}, {"seq": True}, {"group": ["a", "b"]}, {"group": [1, 2, 3]}, {"marks": "x-y"},
        {"level": None}, {"more": 1},
    ],
)  # fmt: skip
def test_what_is_not_ours_is_not_there(tmp_path, change):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"version": 1, **asdict(LAST), **change}))
    assert memory.load(path) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000, b" " * (memory.MOST_BYTES + 1)])
def test_damage_is_not_there(tmp_path, data):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    assert memory.load(path) is None


def test_a_disk_that_takes_nothing_is_a_reason(tmp_path):
    (tmp_path / "places").write_text("in the way")
    assert "places" in memory.save(tmp_path / "places" / "x.json", LAST)


def test_only_so_many_are_kept_the_newest(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MOST", 3)
    for number in range(5):
        path = tmp_path / "places" / f"{number}.json"
        memory.save(path, LAST)
        os.utime(path, (number, number))
    memory.save(tmp_path / "places" / "last.json", LAST)
    assert sorted(each.stem for each in (tmp_path / "places").iterdir()) == ["3", "4", "last"]


async def test_the_same_incident_opens_where_it_was_left(tmp_path):
    incident = incidents.eight_in_five_groups()
    await session(incident, tmp_path, "n", "h", "h", "m", "k", "f", *"0,4", "enter")
    second = await session(incident, tmp_path)
    assert second.place == Place(3, "collective", 4, 4)
    assert second.ranks == [(4,), (0,)]
    assert second.status.startswith("where you were last time: rank 4 · DP0 4 · n goes to the finding")
    assert second.main.filter_text == "0,4"
    assert second.pinned == {0}


async def test_panes_and_depth_come_back(tmp_path):
    incident = incidents.four_ranks()
    await session(incident, tmp_path, "u", "enter", "4")
    second = await session(incident, tmp_path)
    assert second.main.center == "findings"
    assert second.unfolded
    assert second.main.level == 1


async def test_group_ids_may_be_others_the_next_time(tmp_path):
    incident = incidents.eight_in_five_groups()
    await session(incident, tmp_path, "h")
    turned = replace(incident, groups=tuple(replace(each, id=each.id) for each in reversed(incident.groups)))
    second = await session(turned, tmp_path)
    assert second.place == Place(2, "collective", 5, 7)


async def test_a_new_answer_comes_first(tmp_path):
    """The files say something else by now: the cursor is at the new lead, and a line says so."""
    incident = incidents.four_ranks()
    await session(incident, tmp_path, "m", "h", "h")
    newer = replace(incident, findings=(replace(incident.findings[0], summary="rank 3 ended"), *incident.findings[1:]))
    second = await session(newer, tmp_path)
    assert second.place == Place(0, "collective", 42, 3)
    assert second.pinned == {3}
    assert "the files say something else than last time" in second.status


async def test_who_changed_nothing_is_told_nothing(tmp_path):
    incident = incidents.four_ranks()
    first = await session(incident, tmp_path / "state")
    assert "new here?" in first.status
    second = await session(incident, tmp_path / "state")
    assert second.status.startswith("rank 3")


async def test_the_hint_for_new_users_goes_away(tmp_path):
    first = await session(incidents.four_ranks(), tmp_path / "state", "h")
    assert first.status.startswith("rank 3")


async def test_a_damaged_file_is_as_good_as_none(tmp_path):
    incident = incidents.four_ranks()
    await session(incident, tmp_path, "h")
    memory.path_of(tmp_path, incident).write_text("{]")
    second = await session(incident, tmp_path)
    assert second.place == Place(0, "collective", 42, 3)


async def test_nothing_is_kept_of_the_demo(tmp_path):
    incident = incidents.four_ranks()
    app = HangviewApp(incident.paths, UiOptions(demo=True), incident=incident, rest=0, memory=Memory(tmp_path, keeps=False))
    async with app.run_test() as pilot:
        await pilot.press("h", "ctrl+q")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keys", [["n"], ["n", "h", "h"], ["1", "j", "enter"]])
async def test_the_finding_comes_back_with_the_place(tmp_path, keys):
    """Otherwise the header would tell of finding 1 over the grid of finding 2."""
    incident = incidents.eight_in_five_groups()
    await session(incident, tmp_path, *keys)
    second = await session(incident, tmp_path)
    assert second.place is not None
    assert second.place.group == incident.findings[1].group
    assert second.main.finding_at == 1
    assert "finding 2 of 5" in second.header
    assert "grid at" not in second.header


async def test_a_place_kept_by_an_older_version_brings_its_finding_along(tmp_path):
    incident = incidents.eight_in_five_groups()
    await session(incident, tmp_path, "n")
    path = memory.path_of(tmp_path, incident)
    told = json.loads(path.read_text())
    del told["finding"]
    path.write_text(json.dumps(told))
    assert (await session(incident, tmp_path)).main.finding_at == 1


async def test_whoever_opens_it_next_reads_the_first_lead_first(tmp_path):
    """A colleague was at the second one, and must not see an "and" without what comes before it."""
    incident = hangview.load(str(FIXTURES / "two-leads"), options=ReadOptions(cache=False))
    first, second = (finding for finding in incident.findings if finding.role is Role.LEAD)
    await session(incident, tmp_path, "n")
    header = (await session(incident, tmp_path)).header.splitlines()
    assert header[1].startswith(f"LOOK FIRST  {first.summary[:20]}")
    assert f": AND  {second.summary[:20]}" in header[2]


async def test_a_worksheet_that_was_begun_is_told_of_at_the_start(tmp_path):
    """By what draws the eye before any key, also where the last session was killed."""
    incident = incidents.four_ranks()
    assert "draft" not in (await session(incident, tmp_path)).status
    folder = drafts.draft_folder(tmp_path, incident)
    folder.mkdir(parents=True)
    (folder / drafts.new_name()).write_text("# Incident\n")
    assert (await session(incident, tmp_path)).status == "a draft of a worksheet is kept for this incident: w goes on with it"
    other = replace(incident, paths=("another",))
    assert "draft" not in (await session(other, tmp_path)).status


async def test_what_is_told_at_the_start_stays_until_a_key(tmp_path):
    """Panes that fill in a moment later leave it there."""
    incident = incidents.four_ranks()
    app = HangviewApp(incident.paths, UiOptions(), incident=incident, rest=0.05, memory=Memory(tmp_path / "new"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.3)
        assert plain(app.main.prose("status").prose).strip() == "new here? ? lists the keys, : finds commands"
        await pilot.press("j")
        await pilot.pause(0.2)
        assert "new here" not in plain(app.main.prose("status").prose)
