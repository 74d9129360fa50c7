"""The map: whole lane, nothing lost, the part in sight bracketed."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App

from hangview.tui.colours import DARK
from hangview.tui.grid.minimap import Minimap
from hangview.tui.grid.plane import Plane, standing_of
from tests.support.incidents import large


class Shell(App[None]):
    CSS_PATH: ClassVar = ["../../../src/hangview/tui/grid/map.tcss"]

    def get_theme_variable_defaults(self):
        return DARK

    def compose(self):
        yield Minimap()


async def test_one_cell_of_two_million_is_on_the_map():
    incident = large(1024, 2000, behind=())
    rows = incident.view.grid(0, "collective")
    changed = list(rows.rows)
    changed[700] = changed[700][:1234] + bytes([6]) + changed[700][1235:]
    rows = type(rows)(0, "collective", 0, rows.ranks, tuple(changed))
    app = Shell()
    async with app.run_test(size=(80, 5)) as pilot:
        view = app.query_one(Minimap)
        view.styles.height = 3
        view.ascii = True
        await pilot.pause()
        view.show(Plane(rows, standing_of(incident, 0, "collective")), (1800, 1999))
        text = [view.render_line(y).text.rstrip() for y in range(3)]
        assert sum(line.count("-") for line in text[:2]) == 1
        column = next(line.index("-") for line in text[:2] if "-" in line) - 4
        assert column == 1234 // -(-2000 // 75)
        assert text[2].strip().startswith("[")
        assert "]" in text[2]
        assert text[2].index("[") - 4 == 1800 // -(-2000 // 75)
