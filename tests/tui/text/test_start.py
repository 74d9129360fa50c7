"""What is said before the first call: groups, on whom they were made, and who is in none yet."""

from __future__ import annotations

from hangview.tui.text.start import start_lines
from tests.engine.support import Pg, look, rank

WORLD4, TP = Pg("0", "default_pg", (0, 1, 2, 3)), Pg("7", "tp", (0, 1))


def said(*dumps) -> list[str]:
    return [line.text for line in start_lines(look(*dumps))]


def test_who_lists_a_group_and_who_has_none_yet_is_told():
    """Rank 3 is a member by the others' words; its own dump knows no group."""
    lines = said(rank(0).knows(WORLD4, TP), rank(1).knows(WORLD4, TP), rank(2).knows(WORLD4), rank(3))
    assert any("default_pg: ranks 0-3; dumps of 4 members; not in the dumps of rank 3" in line for line in lines)
    assert any("tp: ranks 0-1; dumps of 2 members" in line and "not in" not in line for line in lines)
    assert any("rank 3: in no group yet" in line for line in lines)


def test_where_all_have_made_their_groups_nobody_is_without():
    lines = said(*(rank(r).knows(WORLD4) for r in range(4)))
    assert not any("in no group yet" in line or "not in the dumps" in line for line in lines)
