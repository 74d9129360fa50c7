"""Who waits for whom: leads at the top, folded, cycles as cycles, deep chains without recursion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hangview import load
from hangview.terms import Role, Side, Wait
from hangview.tui.place import Place
from hangview.tui.text.waits import cycles_of, knots_of, wait_lines
from tests.support import incidents
from tests.support.builder import Builder

if TYPE_CHECKING:
    from hangview.incident import Incident

FIXTURES = Path(__file__).parents[3] / "fixtures"


def texts(incident: Incident) -> list[str]:
    return [line.text for _, line in wait_lines(incident)]


def wait(rank: int, on: int, group: int = 0, seq: int = 1) -> Wait:
    return Wait(rank, on, group, "collective", seq, Side.HOST)


def test_tree_with_the_lead_at_the_top():
    assert texts(incidents.eight_in_five_groups()) == [
        "rank 7  look here first: others wait, and it waits for nobody",
        "  ← ranks 4-6 wait in TP1 6 for rank 7, host side  3 ranks",
        "    ← rank 0 waits in DP0 6 for rank 4, host side",
        "    ← rank 1 waits in DP1 6 for rank 5, host side",
        "    ← rank 2 waits in DP2 6 for rank 6, host side",
        "  ← rank 3 waits in DP3 6 for rank 7, host side",
    ]


def test_lines_lead_to_their_cells():
    places = [place for place, _ in wait_lines(incidents.eight_in_five_groups())]
    assert places[0] == Place(2, "collective", 6, 7)
    assert places[2] == Place(3, "collective", 6, 0)


def test_a_thousand_waiting_ranks_are_one_line():
    assert len(texts(incidents.large())) == 2


def test_a_rank_without_a_dump_is_no_lead():
    lines = texts(incidents.missing_dump())
    assert lines[0] == "rank 2  no dump, so what it waits for is not known"
    assert "no record could tell whether it asked" in lines[1]


def test_a_cycle_is_drawn_as_a_cycle():
    lines = texts(incidents.cycle())
    assert lines[0] == "cycle of 2 ranks: ranks 0-1  each waits for another; no single rank is named"
    assert "  round: 0 → 1 → 0" in lines
    assert not any("look here first" in line for line in lines)


def test_two_leads_are_two_roots():
    builder = Builder(4)
    for group, (lead, waits) in enumerate([(1, 0), (3, 2)]):
        builder.group(f"g{group}", (waits, lead))
        builder.lane(group, 0, 2)
        builder.wait((waits,), (lead,), group, 2)
    roots = [line for line in texts(builder.build()) if not line.startswith(" ")]
    assert len(roots) == 2


def test_nobody_waits():
    assert texts(incidents.healthy()) == ["nobody is known to wait for anybody"]


def test_a_chain_of_thousands_needs_no_recursion():
    chain = [wait(rank, rank + 1) for rank in range(5000)]
    assert cycles_of(chain) == []
    assert cycles_of([*chain, wait(5000, 0)]) == [tuple(range(5001))]
    assert cycles_of([*chain, wait(5000, 0), wait(17, 6000)]) == []


def test_knots_gather_ranks_that_wait_for_the_same():
    knots = knots_of([wait(0, 3), wait(1, 3), wait(2, 3), wait(2, 4)])
    assert [(knot.ranks, knot.on) for knot in knots] == [((0, 1), frozenset({3})), ((2,), frozenset({3, 4}))]


def test_several_ranks_wait_in_the_plural():
    incident = incidents.large(behind=(37, 511))
    root = next(line for line in texts(incident) if "look here first" in line)
    assert root == "ranks 37,511  look here first: others wait, and they wait for nobody"


def test_who_is_held_in_a_call_whose_requests_differ_is_said_to_be():
    """Ranks 1, 3 and 7 asked for what the majority asked for; they are in the call of which rank 5 asked something else."""
    incident = load(str(FIXTURES / "nccl-size"))
    roots = [text for text in texts(incident) if not text.startswith(" ")]
    held = "is in reduce_scatter 9 of DATA_PARALLEL_GROUP[1,3,5,7], in which the requests differ (rank 5)"
    assert roots[0] == "rank 5  look here first: others wait, and its own open requests wait for no other rank"
    assert roots[1:] == [f"rank {rank}  {held}" for rank in (1, 3, 7)]
    places = [place for place, line in wait_lines(incident) if held in line.text]
    assert [(place.seq, place.rank) for place in places if place] == [(9, 1), (9, 3), (9, 7)]


def test_ranks_in_a_ring_that_wait_for_a_lead_too_are_explained_by_it():
    """Rank 2 waits for the lead as well: nothing closed holds it."""
    incident = load(str(FIXTURES / "nccl-stuck-wrapped"))
    lines = texts(incident)
    assert lines[0].startswith("rank 3  look here first")
    assert not any("cycle" in line for line in lines)
    shown = "\n".join(lines)
    assert all(str(wait.rank) in shown for wait in incident.waits)


def test_a_lead_stands_above_a_cycle():
    builder = Builder(4)
    builder.group("ring", (0, 1))
    builder.lane(0, 0, 2)
    builder.wait((0,), (1,), 0, 2)
    builder.wait((1,), (0,), 0, 2)
    builder.group("stuck", (2, 3))
    builder.lane(1, 0, 2)
    builder.wait((2,), (3,), 1, 2)
    incident = builder.build()
    lines = texts(replace(incident, leads=(3,)))
    assert [line.split("  ")[0] for line in lines if not line.startswith(" ")] == ["rank 3", "cycle of 2 ranks: ranks 0-1"]


def test_of_a_lead_without_a_dump_it_is_not_said_that_it_waits_for_nobody():
    """It is the lead by its log alone."""
    incident = incidents.four_ranks()
    coverage = replace(incident.coverage, read=(0, 1, 2), missing={3: "no dump file"})
    root = next(line for line in texts(replace(incident, coverage=coverage)) if "look here first" in line)
    assert root == "rank 3  look here first: others wait, and no dump tells whether it waits"


def test_where_findings_wait_it_is_not_said_that_nobody_does():
    incident = incidents.four_ranks()
    finding = replace(incident.findings[0], role=Role.WAITING, ranks=(0, 1, 2), others=(), summary="ranks 0-2 wait in x")
    assert texts(replace(incident, findings=(finding,), waits=())) == ["ranks 0-2 wait in x  for whom, no file tells"]
    assert texts(replace(incident, findings=(), waits=())) == ["nobody is known to wait for anybody"]
