"""The list of groups: names are shortened, the numbers behind them never."""

from __future__ import annotations

from pathlib import Path

import pytest

import hangview
from hangview.schema import ReadOptions
from hangview.terms import Role
from hangview.tui.text.finding import finding_choice
from hangview.tui.text.groups import mark_of, sorted_lanes
from hangview.tui.text.help import help_lines
from tests.support import incidents
from tests.support.builder import Builder
from tests.tui.screens import showing

FIXTURES = Path(__file__).parents[3] / "fixtures"


def numbers(app, incident):
    """The end of each row that the list draws, and what it has to be: ranks and seq."""
    sizes = {group.id: len(group.ranks) for group in incident.groups}
    rows = [row.text.split()[-2:] for row in app.main.choices("groups").laid()]
    wanted = [
        [f"{sizes[lane.group]:,}", str(lane.front if lane.divergence is None else lane.divergence)]
        for lane in sorted_lanes(incident)
    ]
    return rows, wanted


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
@pytest.mark.parametrize("fixture", ["nccl-dtype", "hsdp-32"])
async def test_ascii_keeps_ranks_and_seq(fixture, size):
    incident = hangview.load(str(FIXTURES / fixture), options=ReadOptions(cache=False))
    async with showing(incident, size, ascii_only=True) as (app, pilot):
        rows, wanted = numbers(app, incident)
        assert rows == wanted
        await pilot.press("f6")
        rows, wanted = numbers(app, incident)
        assert rows == wanted
        await pilot.press("f6")
        rows, wanted = numbers(app, incident)
        assert rows == wanted
        assert all(row.text.isascii() for row in app.main.choices("groups").laid())


async def test_a_name_that_is_spelled_out_in_ascii_is_shortened_after_that():
    builder = Builder(2)
    builder.lane(builder.group("模型并行组模型", range(2), name="0"), 0, 1820)
    incident = builder.build()
    async with showing(incident, ascii_only=True) as (app, _):
        rows, wanted = numbers(app, incident)
        assert rows == wanted == [["2", "1820"]]
        assert "\\u6a21" in app.main.choices("groups").laid()[0].text


def test_the_sign_of_a_lead_is_for_ranks_that_are_named():
    """Ranks stand still for want of a dump, or wait for each other: nobody is to be looked at first."""
    for incident, sign in ((incidents.missing_dump(), "s"), (incidents.cycle(), "s"), (incidents.four_ranks(), "!")):
        first = sorted_lanes(incident)[0]
        assert first.role is Role.LEAD
        assert mark_of(incident, first)[0] == sign
        assert finding_choice(incident, incident.findings[0])[0].text.startswith(f"{sign} ")
        assert any(line.text.strip().startswith(f"{sign} ") for line in help_lines(ascii_only=True))
