"""Titles that are wider than their frame: what is most specific stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

import hangview
from hangview.schema import ReadOptions
from hangview.tui.place import Place
from hangview.tui.prose import plain
from hangview.tui.text.details import LEVELS, way_down
from hangview.tui.text.rank import rank_lines
from hangview.tui.titles import cut_middle, fitting, led
from tests.support import incidents
from tests.support.builder import Builder
from tests.tui.screens import screen_text, showing

#: Groups of Megatron, whose names are as long as they get: DATA_PARALLEL_GROUP four times, and lanes of sends.
LONG = Path(__file__).parents[2] / "fixtures" / "nccl-stuck-no-dump"


@pytest.mark.parametrize("width", range(31))
def test_the_ends_stay(width):
    cut = cut_middle("DATA_PARALLEL_GROUP[1,3,5,7]", width)
    assert cell_len(cut) <= width
    if width >= 3:
        assert cut[0] == "D"
        assert cut[-1] == "]"


def test_wide_signs_count_as_two():
    assert cell_len(cut_middle("데이터병렬그룹[0-3]", 10)) <= 10


def test_the_fullest_form_that_fits_is_taken():
    title = led(("call 9 of dp · all_reduce", "call 9 of dp"), "3:")
    assert fitting(title, 40) == "3:call 9 of dp · all_reduce"
    assert fitting(title, 20) == "3:call 9 of dp"
    assert fitting(title, 8) == "3:c…f dp"


@pytest.mark.parametrize(("level", "said"), [(0, "CALL › …"), (2, "… › STACK › …"), (4, "… › RANK")])
def test_the_way_down_is_shortened_around_where_one_is(level, said):
    full, short, alone = way_down(level)
    assert full.casefold() == " › ".join(LEVELS)
    assert short == said
    assert alone in short


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24), (120, 40)])
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_the_level_is_in_sight_however_narrow_it_is_and_long_the_name(size, ascii_only):
    incident = hangview.load(str(LONG), options=ReadOptions(cache=False))
    lane = next(each for each in incident.lanes if each.lane.startswith("p2p "))
    async with showing(incident, size, ascii_only=ascii_only) as (app, pilot):
        rank = int(lane.lane.removeprefix("p2p ").split("->")[0])
        app.main.go(Place(lane.group, lane.lane, lane.front, rank))
        await pilot.press("3")
        for name in LEVELS[1:]:
            await pilot.press("enter")
            await pilot.pause()
            head = next(row for row in screen_text(app).splitlines() if "3:rank" in row)
            assert name.upper() in head, (name, head)
            assert f"3:rank {rank}" in head


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_a_call_is_said_before_what_was_asked_in_it(size):
    async with showing(incidents.four_ranks(), size) as (app, pilot):
        await pilot.press("3")
        await pilot.pause()
        assert "3:call 42 of default_pg" in screen_text(app)


def test_the_table_of_a_rank_stays_in_columns():
    builder = Builder(2)
    short = builder.group("dp", (0, 1), name="1")
    long = builder.group("a_group_with_a_description_that_goes_on_and_on", (0, 1), name="2")
    builder.lane(short, 0, 3)
    builder.lane(long, 0, 1820)
    rows = plain(rank_lines(builder.build(), 0)).splitlines()
    head = next(row for row in rows if row.startswith("group "))
    at = head.index("newest") + len("newest")
    table = rows[rows.index(head) + 1 :][:2]
    assert sorted(int(row[:at].split()[-1]) for row in table) == [3, 1820]
    assert all(row[at] == " " for row in table)
    assert any("goes_on_and_on" in row or "and_on" in row for row in table)
