"""The first screen of a large set: what counters tell, and that they name nobody."""

from __future__ import annotations

from hangview.dumps.heads import HeadGroup, Heads
from hangview.tui.looker import Begun, Looked
from hangview.tui.prose import plain
from hangview.tui.text.heads import heads_lines, heads_rows, heads_so_far
from tests.support import incidents
from tests.tui.screens import screen_text, showing


def group(desc: str, ranks: range, behind: dict[int, tuple[int, ...]] | None = None, *, at: int = 7) -> HeadGroup:
    """``behind``: number → the ranks that count to it; the others of ``ranks`` to ``at``."""
    lower = behind or {}
    rest = tuple(rank for rank in ranks if not any(rank in those for those in lower.values()))
    return HeadGroup("1", desc, tuple(ranks), (*sorted(lower.items()), (at, rest)))


HEADS = Heads(
    16,
    tuple(range(15)),
    tuple(range(16)),
    (
        group("tp_0", range(4), {6: (0,)}),
        group("tp_1", range(4, 8), {6: (4,)}),
        group("world", range(16), {41: (3,)}, at=1042),
        group("tp_2", range(8, 12)),
        HeadGroup("9", "pipe", (0, 1), ()),
    ),
)


def test_the_largest_group_that_differs_comes_first():
    assert heads_so_far(HEADS).text == (
        "SO FAR  world: rank 3 enqueued 41, 15 ranks 1,042, by their own counters (no record read yet)"
    )


def test_without_a_difference_it_says_what_there_is():
    same = Heads(2, (0, 1), (0, 1), (group("world", range(2)),))
    assert heads_so_far(same).text == "SO FAR  2 ranks in 1 group, by the headers of their dumps (no record read yet)"
    assert "in no group" in plain(heads_lines(same))


def test_groups_of_one_name_that_stand_alike_are_one_line():
    alike = Heads(8, tuple(range(8)), tuple(range(8)), (group("tp", range(4), {6: (0,)}), group("tp", range(4, 8), {6: (4,)})))
    assert "tp, 2 groups of 4 ranks: ranks 0,4 enqueued 6, 6 ranks 7" in plain(heads_lines(alike))


def test_who_left_no_header_is_said_and_no_word_names_anybody():
    text = plain(heads_lines(HEADS))
    assert "no header yet of rank 15" in text
    assert "names nobody" in text
    assert "LOOK FIRST" not in text


def test_of_many_numbers_the_ends_are_told():
    many = Heads(
        6, tuple(range(6)), tuple(range(6)), (group("world", range(6), {number: (number,) for number in range(1, 5)}, at=9),)
    )
    assert "rank 1 enqueued 1, ranks 0,5 9, others between (5 numbers)" in heads_so_far(many).text


def test_rows_keep_their_numbers_in_sight():
    rows = [row.text for row in heads_rows(HEADS, 20, ascii_only=False)]
    assert rows[0].split() == ["d", "world", "16", "1042"]
    assert {len(row) for row in rows} == {20}
    assert rows[-1].split() == ["?", "pipe", "2"]


async def test_it_stands_there_until_the_first_records():
    async with showing(None, (100, 30)) as (app, pilot):
        app.post_message(Begun(HEADS))
        await pilot.pause()
        text = screen_text(app)
        assert "SO FAR  world: rank 3 enqueued 41" in text
        assert "before the first record" in text
        assert "d tp_0" in text
        await pilot.press("1", "j", "enter", "4", "5", "2", "escape", "n", "f6", "f6")
        assert app.is_running
        app.post_message(Looked(incidents.four_ranks(), final=False))
        await pilot.pause()
        assert "own counters" not in screen_text(app)
        app.post_message(Begun(HEADS))
        await pilot.pause()
        assert "own counters" not in screen_text(app)
        app.post_message(Looked(incidents.four_ranks(), final=True))
        await pilot.pause()
        assert "LOOK FIRST  rank 3" in screen_text(app)
        assert app.main.center == "grid"
