"""The drawn grid, line by line: frozen parts, cursor, folding, zoom, moves, another size."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from hangview.tui.colours import DARK
from hangview.tui.grid.moves import MovableGrid
from hangview.tui.grid.plane import Plane, standing_of
from hangview.tui.grid.widget import Spot
from tests.support.incidents import different_dtype, every_state, four_ranks, large

if TYPE_CHECKING:
    from textual.geometry import Region


class Shell(App[None]):
    CSS_PATH: ClassVar = ["../../../src/hangview/tui/grid/grid.tcss"]

    def __init__(self, incident, spot: Spot, divergence: int | None, **how: bool) -> None:
        super().__init__()
        self.grid = MovableGrid()
        self.grid.ascii = how.get("ascii_only", True)
        self.grid.unfolded = how.get("unfolded", False)
        plane = Plane(incident.view.grid(0, "collective"), standing_of(incident, 0, "collective"))
        self.show = lambda: self.grid.show(plane, spot, divergence, keep=False)

    def get_theme_variable_defaults(self):
        return DARK

    def compose(self):
        yield self.grid

    def on_mount(self):
        self.grid.focus()
        self.call_after_refresh(self.show)


@asynccontextmanager
async def grid_of(incident, spot, divergence=None, size=(40, 8), **how):
    app = Shell(incident, spot, divergence, **how)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app.grid, pilot


def lines(grid: MovableGrid) -> list[str]:
    return [grid.render_line(y).text.rstrip() for y in range(grid.size.height)]


async def test_opens_on_the_divergence_with_agreed_calls_at_its_left():
    async with grid_of(four_ranks(), Spot(3, 42), 42) as (grid, _):
        assert lines(grid)[:5] == [
            "seq       28  30        35        40",
            "  rank    ----+---------+---------+---v-",
            "! 3       . . . . . . . . . . . . . . -",
            "w 0-2     . . . . . . . . . . . . . . >",
            "",
        ]


async def test_a_divergence_far_from_the_end_is_in_sight_too():
    async with grid_of(four_ranks(), Spot(3, 10), 10) as (grid, _):
        assert grid.first_seq == 5
        assert grid.last_seq >= 10


async def test_every_line_is_as_wide_as_the_widget():
    for size in ((41, 9), (60, 8), (120, 20), (23, 5)):
        async with grid_of(every_state(), Spot(0, 5), size=size) as (grid, _):
            assert {grid.render_line(y).cell_length for y in range(size[1])} == {size[0]}


async def test_each_state_has_a_sign_of_its_own_and_none_is_blank():
    async with grid_of(every_state(), Spot(0, 0), size=(40, 20)) as (grid, _):
        signs = [line.split()[-1] for line in lines(grid)[2:15]]
        assert len(set(signs)) == 13
        grid.set_ascii(False)
        signs = [line.split()[-1] for line in lines(grid)[2:15]]
        assert len(set(signs)) == 13


async def test_the_cursor_is_one_cell_in_its_own_style():
    async with grid_of(four_ranks(), Spot(3, 42), 42) as (grid, _):
        cursor = grid.get_component_rich_style("grid--cursor")
        marked = [segment.text for segment in grid.render_line(2) if segment.style == cursor]
        assert marked == ["-"]
        assert not [segment for segment in grid.render_line(3) if segment.style == cursor]


async def test_cells_that_differ_are_marked_without_colour():
    async with grid_of(different_dtype(), Spot(0, 17), 17) as (grid, _):
        assert lines(grid)[2].endswith(". #")
        assert lines(grid)[3].endswith(". >")


async def test_moves_by_row_and_column_and_stops_at_the_edges():
    async with grid_of(four_ranks(), Spot(3, 42), 42) as (grid, pilot):
        await pilot.press("j")
        assert grid.cursor == Spot(0, 42)
        await pilot.press("j", "l")
        assert grid.cursor == Spot(0, 42)
        await pilot.press("h", "h", "k")
        assert grid.cursor == Spot(3, 40)
        await pilot.press("home")
        assert (grid.cursor, grid.first_seq) == (Spot(3, 0), 0)
        assert lines(grid)[2].startswith("! 3 ")  # all equal here, and the sign of a lead stands before the lead alone
        assert lines(grid)[3].startswith("w 0-2 ")
        await pilot.press("end")
        assert grid.cursor == Spot(3, 42)


async def test_unfolded_pages_through_a_thousand_ranks():
    async with grid_of(large(1024, 30), Spot(37, 29), 29, unfolded=True) as (grid, pilot):
        assert len(grid.rows) == 1024
        await pilot.press("pagedown")
        assert grid.cursor.rank == 3  # 37, 511, 900 first, then 0, 1, ...: six rows on
        await pilot.press("G")
        assert grid.cursor.rank == 1023
        assert lines(grid)[-1].startswith("w 1023")
        await pilot.press("g")
        assert grid.cursor.rank == 37


async def test_a_smaller_terminal_keeps_the_cursor_in_sight():
    async with grid_of(large(1024, 200), Spot(37, 199), 199, size=(80, 30), unfolded=True) as (grid, pilot):
        await pilot.press("G")
        await pilot.resize_terminal(30, 6)
        await pilot.pause()
        assert grid.cursor.rank == 1023
        assert any(line.startswith("w 1023") for line in lines(grid))
        assert grid.first_seq <= grid.cursor.seq <= grid.last_seq


async def test_zooms_until_the_lane_fits_and_comes_back_to_the_same_cell():
    async with grid_of(large(64, 2000, behind=(7,)), Spot(7, 1999), 1999) as (grid, _):
        while grid.set_level(grid.level + 1):
            pass
        assert (grid.first_seq, grid.last_seq) == (0, 1999)
        assert grid.cursor == Spot(7, 1999)
        assert lines(grid)[2].rstrip().endswith("-")
        assert lines(grid)[3].rstrip().endswith(">")
        while grid.set_level(grid.level - 1):
            pass
        assert grid.cursor == Spot(7, 1999)
        assert grid.first_seq <= 1999 <= grid.last_seq


async def test_moves_by_blocks_when_zoomed_out():
    async with grid_of(large(8, 2000, behind=(7,)), Spot(7, 1999), 1999) as (grid, pilot):
        while grid.set_level(grid.level + 1):
            pass
        block = grid.scale.block
        await pilot.press("h")
        assert grid.cursor.seq == 1999 // block * block - block


async def test_click_moves_and_a_second_click_opens():
    async with grid_of(four_ranks(), Spot(3, 42), 42) as (grid, pilot):
        await pilot.click(MovableGrid, offset=(grid.scale.label_width + 4, 3))
        assert grid.cursor == Spot(0, 30)


async def test_names_of_the_label_column_are_frozen():
    async with grid_of(large(8, 300, behind=(7,)), Spot(7, 299), 299) as (grid, pilot):
        for _ in range(60):
            await pilot.press("h")
        assert lines(grid)[0].startswith("seq ")
        assert lines(grid)[2].startswith("! 7 ")


async def test_a_cursor_move_refreshes_two_lines_and_the_ticks(monkeypatch):
    async with grid_of(large(64, 300, behind=(7,)), Spot(7, 299), 299, unfolded=True) as (grid, pilot):
        asked: list[Region] = []
        refresh = grid.refresh

        def noted(*regions, **how):
            asked.extend(regions)
            return refresh(*regions, **how)

        monkeypatch.setattr(grid, "refresh", noted)
        await pilot.press("j")
        assert {region.y for region in asked} == {1, 2, 3}
