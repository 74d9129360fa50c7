"""Stories at the keyboard: what a tired person presses, and what the screen then says."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

from hangview.schema import CellState
from hangview.terms import Verdict
from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.dialogs.palette import PaletteDialog
from hangview.tui.place import Place
from hangview.tui.prose import plain
from tests.support import incidents
from tests.support.builder import Builder
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.tui.app import HangviewApp
    from hangview.tui.prose_view import ChoiceView

SIZES = [(60, 20), (80, 24), (120, 40), (160, 48), (240, 70)]


def status(app: HangviewApp) -> str:
    return plain(app.main.prose("status").prose).strip()


def details(app: HangviewApp) -> str:
    return plain(app.main.prose("details").prose)


@pytest.mark.parametrize("size", SIZES)
async def test_the_answer_stands_there_before_anything_is_pressed(size):
    async with showing(incidents.eight_in_five_groups(), size) as (app, _):
        text = " ".join(screen_text(app).split())
        assert "LOOK FIRST rank 7 did not request all_reduce 6 of TP1; ranks 4-6 wait" in text
        assert "rank 7 · TP1 6 · not requested" in text
        assert "not requested 7" in text  # the call pane
        assert "! 7" in text  # the row of the lead
        assert "?:help" in text


TOUR = [
    "enter",
    "enter",
    "enter",
    "enter",
    "n",
    "e",
    "greater_than_sign",
    "u",
    "minus",
    "m",
    "1",
    "enter",
    "3",
    "4",
    "enter",
    "5",
    "enter",
    "tab",
    "escape",
    "G",
    "y",
]


@pytest.mark.parametrize(
    ("name", "size"),
    [("large", (240, 70)), ("healthy", (60, 20)), ("missing_dump", (80, 24)), ("tie", (120, 40)), ("cycle", (60, 20)),
     ("nothing_called", (120, 40)), ("no_files", (60, 20)), ("every_state", (80, 24))],
)  # fmt: skip
async def test_every_incident_survives_the_tour(name, size):
    incident = incidents.large(128, 300, behind=(37, 90)) if name == "large" else getattr(incidents, name)()
    async with showing(incident, size) as (app, pilot):
        for key in TOUR:
            await pilot.press(key)
            assert "internal error" not in details(app), key
        assert len(screen_text(app).splitlines()) == size[1]


async def test_n_steps_through_findings_and_the_grid_follows():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        assert app.main.place == Place(2, "collective", 6, 7)
        await pilot.press("n")
        assert app.main.place == Place(3, "collective", 6, 0)
        assert status(app).startswith("rank 0 · DP0 6 · started")
        await pilot.press("N", "N")
        assert app.main.place == Place(6, "collective", 6, 3)  # round the end
        assert "round the end" in status(app)


async def test_n_comes_back_to_the_finding_after_wandering_off():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("h", "h", "n")
        assert app.main.place == Place(2, "collective", 6, 7)


async def test_down_and_back():
    async with showing(incidents.four_ranks()) as (app, pilot):
        assert "requested first" in details(app)
        await pilot.press("enter")
        assert details(app).startswith("rank 3 at default_pg 42: not requested")
        await pilot.press("j")  # the pane follows the cursor
        assert details(app).startswith("rank 0 at default_pg 42: started")
        await pilot.press("enter")
        assert "sync_gradients" in details(app)
        await pilot.press("enter")
        assert "nccl_trace_rank_0" in details(app)
        await pilot.press("enter")
        assert "newest from" in details(app)
        await pilot.press("escape", "escape", "escape", "escape")
        assert "requested first" in details(app)
        assert app.main.level == 0


async def test_details_scroll_where_they_are_longer_than_the_pane():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("j", "enter", "3", "pagedown")
        assert "record" in screen_text(app)
        await pilot.press("q")
        assert app.main.level == 0 or app.main.focused is app.main.grid


async def test_findings_list_shows_evidence_and_goes_there():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("4")
        text = screen_text(app)
        assert "must not be concluded" in text
        await pilot.press("j")
        assert "is itself held by TP1 6" in screen_text(app)
        await pilot.press("enter")
        assert app.main.center == "grid"
        assert app.main.place == Place(3, "collective", 6, 0)


async def test_waits_point_at_their_call_and_go_there():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("5", "j", "j")
        assert "call 6 of DP0" in screen_text(app)
        await pilot.press("enter")
        assert app.main.place == Place(3, "collective", 6, 0)


async def test_groups_open_where_they_diverge():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("1", "j", "enter")
        assert app.main.place == Place(3, "collective", 6, 0)
        assert app.main.focused is app.main.grid


async def test_narrow_terminals_show_groups_instead_of_the_grid_while_in_use():
    async with showing(incidents.eight_in_five_groups(), (60, 20)) as (app, pilot):
        assert "1:groups" not in screen_text(app)
        await pilot.press("1")
        assert "w DP0" in screen_text(app)
        await pilot.press("escape")
        assert "1:groups" not in screen_text(app)
        assert "2:TP1" in screen_text(app)


async def test_search_steps_until_escape():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("slash", *"group dp", "enter")
        assert app.main.place == Place(3, "collective", 6, 0)
        assert "4 hits" in status(app)
        await pilot.press("n")
        assert app.main.place == Place(4, "collective", 6, 1)
        assert status(app).startswith("hit 2 of 4")
        await pilot.press("escape", "n")
        assert not app.main.hits
        assert app.main.place == Place(2, "collective", 6, 7)


async def test_a_hit_is_counted_where_the_cursor_is_on_one():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("slash", *"group dp", "enter", "n")
        assert status(app).startswith("hit 2 of 4")
        await pilot.press("left_square_bracket")
        assert status(app).startswith("hit 1 of 4")
        await pilot.press("left_square_bracket")
        assert "hit" not in status(app)  # where the search began is none
        await pilot.press("right_square_bracket")
        assert status(app).startswith("hit 1 of 4")


async def test_a_search_without_a_hit_says_so_and_moves_nothing():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("slash", *"nowhere", "enter")
        assert status(app).startswith("not found: nowhere")
        assert app.main.place == Place(0, "collective", 42, 3)
        await pilot.press("slash", *"rank x", "enter")
        assert status(app).startswith("rank needs a number")


async def test_escape_leaves_the_prompt():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("slash", *"rank", "escape")
        assert app.main.focused is app.main.grid
        await pilot.press("n")
        assert app.main.place == Place(0, "collective", 42, 3)


@pytest.mark.parametrize("key", ["slash", "f", "colon", "question_mark"])
async def test_control_c_goes_one_level_back_where_escape_does(key):
    """Also out of a line that is typed in, whose own ctrl+c would copy nothing and stay."""
    async with showing(incidents.four_ranks()) as (app, pilot):
        before = screen_text(app)
        await pilot.press(key, *("rank" if key != "question_mark" else ""))
        assert screen_text(app) != before
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert screen_text(app) == before


async def test_filter_and_its_end():
    async with showing(incidents.large(64, 20, behind=(7,))) as (app, pilot):
        await pilot.press("f", *"0-3,7", "enter")
        assert [row.ranks for row in app.main.grid.rows] == [(7,), (0, 1, 2, 3)]
        assert "[only 0-3,7: 5 of 64" in screen_text(app)
        await pilot.press("F")
        assert sum(len(row.ranks) for row in app.main.grid.rows) == 64


async def test_a_filter_can_be_seen_on_a_small_screen_with_the_key_that_ends_it():
    async with showing(incidents.large(64, 20, behind=(7,)), (60, 20)) as (app, pilot):
        await pilot.press("f", *"0-3,7", "enter")
        assert "[only 0-3,7: 5 of 64 · F: all]" in screen_text(app)


async def test_jumps_have_a_way_back_and_forward():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        start = app.main.place
        await pilot.press("n")
        second = app.main.place
        await pilot.press("colon", *"group tp1 rank 5", "enter")
        third = app.main.place
        assert third == Place(2, "collective", 6, 5)
        await pilot.press("left_square_bracket")
        assert app.main.place == second
        await pilot.press("b")
        assert app.main.place == start
        await pilot.press("b")
        assert status(app) == "no place before this one"
        await pilot.press("B", "right_square_bracket")
        assert app.main.place == third
        await pilot.press("B")
        assert status(app) == "no place after this one"


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("rank 5", Place(2, "collective", 6, 5)),
        ("seq 3", Place(2, "collective", 3, 7)),
        ("group dp0", Place(3, "collective", 6, 0)),
    ],
)
async def test_the_palette_goes_to_places(typed, place):
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("colon", *typed)
        assert f"go to {typed}" in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.main.place == place


async def test_marks_are_stepped_through_and_taken_away():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("apostrophe")
        assert status(app).startswith("no marked rank")
        await pilot.press("j", "m", "k", "apostrophe")
        assert app.main.place == Place(0, "collective", 42, 0)
        await pilot.press("M")
        assert not app.main.grid.pinned
        assert status(app) == "1 mark taken away"


async def test_marked_ranks_stand_apart():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("j", "m")
        assert [row.ranks for row in app.main.grid.rows] == [(3,), (0,), (1, 2)]
        assert "*0" in screen_text(app)
        await pilot.press("f", *"marked", "enter")
        assert [row.ranks for row in app.main.grid.rows] == [(0,)]


async def test_changes_of_state_and_problem_ranks():
    async with showing(incidents.large(64, 30, behind=(7, 9))) as (app, pilot):
        assert app.main.place == Place(0, "collective", 29, 7)
        await pilot.press("less_than_sign")
        assert app.main.place == Place(0, "collective", 28, 7)
        await pilot.press("greater_than_sign")
        assert app.main.place == Place(0, "collective", 29, 7)
        await pilot.press("greater_than_sign")
        assert "does not change state after 29" in status(app)
        await pilot.press("u", "e")
        assert app.main.place == Place(0, "collective", 29, 9)
        await pilot.press("e")
        assert app.main.place == Place(0, "collective", 29, 7)


async def test_help_and_palette():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpDialog)
        assert "next finding" in screen_text(app)
        await pilot.press("q")
        await pilot.press("colon", *"files every", "enter")
        assert not isinstance(app.screen, PaletteDialog)
        await pilot.pause()
        assert "4 files looked at under run-4711" in screen_text(app)
        await pilot.press("escape")
        assert app.main.center == "grid"


async def test_two_quick_keys_close_a_dialog_once():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("question_mark")
        help_dialog = app.screen
        assert isinstance(help_dialog, HelpDialog)
        help_dialog.action_close()
        help_dialog.action_close()  # typed ahead: arrives before the first has closed it
        await pilot.pause()
        assert type(app.screen).__name__ == "MainScreen"
        await pilot.press("h")
        assert app.main.place == Place(0, "collective", 41, 3)


async def test_q_goes_back_and_then_quits_with_the_verdict():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("enter", "q")
        assert app.main.level == 0
        await pilot.press("q")
    assert app.return_value == 1


@pytest.mark.parametrize(("name", "code"), [("healthy", 0), ("four_ranks", 1), ("no_files", 3)])
async def test_the_exit_code_is_the_verdict(name, code):
    async with showing(getattr(incidents, name)()) as (app, pilot):
        await pilot.press("ctrl+q")
    assert app.return_value == code


async def test_quitting_before_anything_was_read_concludes_nothing():
    async with showing(None) as (app, pilot):
        assert "READING" in screen_text(app)
        await pilot.press("q")
    assert app.return_value == 3


async def test_too_small_says_so_and_comes_back():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        assert "too small" in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "LOOK FIRST" in screen_text(app)
        assert "too small" not in screen_text(app)


@pytest.mark.parametrize("key", ["4", "w", "question_mark", "slash", "u", "L", "i", "f6"])
async def test_too_small_stays_said_and_no_key_acts_unseen(key):
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        before = screen_text(app)
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        await pilot.press(key, "j", "enter")
        await pilot.pause()
        assert app.screen is app.main
        assert "too small" in screen_text(app)
        assert "q quits" in " ".join(screen_text(app).split())
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen_text(app) == before


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_too_small_can_be_left(key):
    """At once, also from deep inside."""
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("enter", "enter")
        await pilot.resize_terminal(40, 10)
        await pilot.press(key)
        await pilot.pause()
    assert app.return_value == 1


# New files


def with_one_more_rank() -> Incident:
    """eight_in_five_groups as it was before rank 7's dump came, ids of groups turned round."""
    builder = Builder(8, missing={7: "no file of rank 7 among 7 dumps"})
    tp1 = builder.group("TP1", range(4, 8), name="2")
    builder.group("default_pg", range(8), name="0")
    builder.lane(1, 0, 0)
    builder.lane(tp1, 0, 6)
    return builder.build()


async def test_the_cursor_stays_on_its_cell_when_files_arrive():
    async with showing(with_one_more_rank()) as (app, pilot):
        app.main.go(Place(0, "collective", 2, 5))
        await pilot.press("h")
        before = app.main.place
        first = app.main.grid.first_seq
        app.main.take(incidents.eight_in_five_groups(), final=True)
        await pilot.pause()
        assert before == Place(0, "collective", 1, 5)
        assert app.main.place == Place(2, "collective", 1, 5)  # the same group under its new id
        assert app.main.grid.first_seq == first


async def test_until_a_key_is_pressed_the_cursor_follows_the_lead():
    async with showing(None) as (app, pilot):
        app.main.take(with_one_more_rank(), final=False)
        app.main.take(incidents.eight_in_five_groups(), final=True)
        await pilot.pause()
        assert app.main.place == Place(2, "collective", 6, 7)
        app.main.take(incidents.four_ranks(), final=True)  # later looks move nothing by themselves
        assert app.main.following is False


@pytest.mark.parametrize(
    ("verdict", "final", "said"),
    [
        (Verdict.NO_HANG, True, "no finding: these files show no hang"),
        (Verdict.NOT_ENOUGH_EVIDENCE, True, "no finding: nothing can be concluded from these files"),
        (Verdict.NO_HANG, False, "no finding yet: files are still being read"),
    ],
)
async def test_no_finding_is_no_sign_of_health(verdict, final, said):
    """Neither in the list nor where one steps."""
    async with showing(None, (120, 40)) as (app, pilot):
        app.main.take(replace(incidents.healthy(), verdict=verdict), final=final)
        await pilot.press("n")
        assert said in screen_text(app)
        await pilot.press("4")
        assert said in "\n".join(row.text for row in app.main.choices("findings").laid())


async def test_a_part_of_the_files_names_nobody_and_concludes_nothing():
    async with showing(None, (120, 40)) as (app, pilot):
        app.main.take(incidents.four_ranks(), final=False)
        await pilot.pause()
        assert "SO FAR" in screen_text(app)
        assert "LOOK FIRST" not in screen_text(app)
        assert "! 3" not in screen_text(app)
        await pilot.press("ctrl+q")
    assert app.return_value == 3


async def test_a_group_that_is_gone_does_not_break_the_screen():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("h")
        app.main.take(incidents.healthy(), final=True)
        await pilot.pause()
        assert "these files show no hang" in screen_text(app)
        assert app.main.place == Place(0, "collective", 20, 0)


async def test_drill_down_survives_new_files():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("enter")
        app.main.take(replace(incidents.four_ranks(), verdict=Verdict.DIVERGENCE), final=True)
        await pilot.pause()
        assert details(app).startswith("rank 3 at default_pg 42: not requested")


async def test_a_fault_in_one_pane_is_a_line_in_it(monkeypatch):
    async with showing(incidents.four_ranks()) as (app, pilot):
        view = app.main.incident.view if app.main.incident else None
        monkeypatch.setattr(view, "stacks", lambda *_: 1 / 0)
        await pilot.press("enter", "enter")
        assert "internal error in this pane: ZeroDivisionError" in details(app)
        await pilot.press("escape")
        assert details(app).startswith("rank 3 at default_pg 42")


async def test_the_mouse_chooses_and_opens():
    async with showing(incidents.eight_in_five_groups(), (120, 40)) as (app, pilot):
        await pilot.click("#groups", offset=(4, 2))
        await pilot.click("#groups", offset=(4, 2))
        assert app.main.place == Place(4, "collective", 6, 1)
        await pilot.press("4")
        await pilot.click("#findings", offset=(4, 3))
        assert app.main.finding_at == 3


# Drawing


@pytest.mark.parametrize("name", ["eight_in_five_groups", "tie", "every_state", "nothing_called", "no_files"])
async def test_ascii_mode_draws_nothing_else(name):
    async with showing(getattr(incidents, name)(), (100, 30), ascii_only=True) as (app, pilot):
        for key in ("enter", "enter", "2", "4", "5", "slash", "escape", "question_mark", "escape", "colon"):
            await pilot.press(key)
            text = screen_text(app)
            assert text.isascii(), (name, key, [char for char in text if not char.isascii()])


async def test_ascii_can_be_changed_while_running():
    async with showing(incidents.four_ranks()) as (app, pilot):
        assert not screen_text(app).isascii()
        await app.main.run_action("ascii")
        await pilot.pause()
        assert screen_text(app).isascii()


async def test_without_colours_only_bold_underline_italic_and_reverse_are_left(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing(incidents.eight_in_five_groups(), colours=False) as (app, _):
        strips = app.screen._compositor.render_strips()
        filters = app._filters
        background = app.screen.background_colors[1]
        for strip in strips:
            for each in filters:
                if each.enabled:
                    strip = strip.apply_filter(each, background)
            for segment in strip:
                style = segment.style
                for colour in (style.color, style.bgcolor) if style else ():
                    assert colour is None or colour.is_default, segment


async def test_control_characters_of_files_never_reach_the_screen():
    builder = Builder(2)
    group = builder.group("evil\x1b[2J\u202e[bold]x[/bold]", (0, 1))
    builder.lane(group, 0, 3)
    async with showing(builder.build(), (120, 40)) as (app, _):
        text = screen_text(app)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "evil\\x1b[2J\\u202e[bold]x[/bold]" in text


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_grid_is_whole_again_after_another_pane(size):
    async with showing(incidents.eight_in_five_groups(), size) as (app, pilot):
        before = screen_text(app)
        for pane, way_back in product("45", ("escape", "q", "2")):
            await pilot.press(pane)
            await pilot.pause()
            assert screen_text(app) != before, (pane, way_back)
            await pilot.press(way_back)
            await pilot.pause()
            assert screen_text(app) == before, (pane, way_back)


async def test_n_says_which_finding_it_has_come_to_on_a_small_screen():
    incident = incidents.eight_in_five_groups()
    for size in ((80, 24), (80, 19)):
        async with showing(incident, size) as (app, pilot):
            for number, finding in enumerate(incident.findings[1:], 2):
                await pilot.press("n")
                await pilot.pause()
                text = " ".join(screen_text(app).split())
                assert f"finding {number} of {len(incident.findings)}: {finding.summary[:50]}" in text


async def test_a_long_answer_ends_with_a_sign_that_it_was_cut():
    incident = incidents.four_ranks()
    long = replace(incident.findings[0], summary=f"rank 3 {'did not request it and ' * 12}that is all")
    async with showing(replace(incident, findings=(long,))) as (app, _):
        rows = screen_text(app).splitlines()
        assert rows[1].startswith("LOOK FIRST  rank 3 did not")
        assert rows[2].endswith("…")


async def test_the_key_line_writes_a_key_as_a_key():
    """ "4 findings" was taken for a count of them."""
    async with showing(incidents.eight_in_five_groups(), (100, 30)) as (app, _):
        last = screen_text(app).splitlines()[-1]
        assert "4:findings" in last
        assert all(":" in part for part in last.split("  "))


async def test_the_map_draws_what_the_grid_draws():
    """Ended cells as ended and requested ones as requested, not as completed and started."""
    builder = Builder(4)
    group = builder.group("default_pg", range(4), name="0")
    builder.lane(group, 0, 9)
    for seq in range(9):
        builder.put(group, seq, range(4), CellState.ENDED)
    builder.put(group, 9, (0, 1, 2), CellState.REQUESTED)
    builder.put(group, 9, (3,), CellState.NOT_REQUESTED, reason="dump is whole")
    async with showing(builder.build(), (100, 30)) as (app, _):
        grid = {tuple(row.data) for row in app.main.grid.rows}
        assert {tuple(row) for row in app.main.map._drawn()} == grid


async def test_the_last_words_are_about_what_is_known_at_the_end():
    async with showing(None) as (app, _):
        assert app.last_words == "run-4711: left before the files were read"
        app.main.take(incidents.no_files(), final=True)
        assert app.last_words == "run-4711: no dump and no log was found"
        assert app.code() == 3
        app.main.take(incidents.four_ranks(), final=True)
        assert app.last_words == ""
        assert app.code() == 1


def foot(app: HangviewApp, name: str) -> str:
    pane = app.main.pane(name)
    return screen_text(app).splitlines()[pane.region.bottom - 1][pane.region.x : pane.region.right]


async def test_the_panes_below_the_findings_are_about_the_finding_that_is_pointed_at():
    incident = incidents.eight_in_five_groups()
    async with showing(incident, (160, 48)) as (app, pilot):
        await pilot.press("4")
        for number, finding in enumerate(incident.findings):
            assert app.main.finding_at == number
            text = screen_text(app)
            name = next(group.label for group in incident.groups if group.id == finding.group)
            assert f"3:call {finding.seq} of {name}" in text
            assert f"finding {number + 1} of" in text
            assert status(app).startswith("in the grid: rank 7 · TP1") == (number > 0)
            await pilot.press("j")
        await pilot.press("2")
        assert "3:call 6 of TP1" in screen_text(app)


async def test_the_grid_says_which_rows_are_in_sight():
    async with showing(incidents.large(20, 40, behind=(3,)), (80, 24)) as (app, pilot):
        for width in range(80, 100):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            assert "rows" not in foot(app, "grid"), width  # folded all are in sight
            await pilot.press("g", "u")
            height = app.main.grid.scale.down
            assert f" rows 1-{height} of 20 " in foot(app, "grid"), width
            await pilot.press("G")
            assert f" rows {21 - height}-20 of 20 " in foot(app, "grid"), width
            assert "not requested" in foot(app, "grid"), width  # the legend has the rest
            await pilot.press("u")
            assert "rows" not in foot(app, "grid"), width


async def test_the_text_of_a_finding_is_within_reach_at_80_columns():
    async with showing(incidents.eight_in_five_groups(), (80, 24)) as (app, pilot):
        await pilot.press("4")
        assert "tab: scroll" in foot(app, "finding")
        first = app.main.prose("finding").topmost
        await pilot.press("tab", "pagedown")
        assert app.main.prose("finding").topmost > first
        assert "tab" not in foot(app, "finding")
        await pilot.press("4", "G")
        assert app.main.prose("finding").topmost == 0
        last = app.main.finding_at
        view = app.main.prose("finding")
        await pilot.press("pagedown")
        assert app.main.finding_at == last
        assert view.topmost > 0 or len(view.laid()) <= view.size.height
        await pilot.press("g", "pageup")
        assert view.topmost == 0


@pytest.mark.parametrize("width", [80, 100, 160])
async def test_the_key_line_says_how_to_get_back_and_out(width):
    async with showing(incidents.four_ranks(), (width, 24)) as (app, _):
        line = screen_text(app).splitlines()[-1]
        assert "esc:back" in line
        assert "q:quit" in line
        assert "?:help" in line


async def test_the_key_line_says_what_the_key_that_quits_does_below_the_top():
    """One level down it goes back, and so says the line: in the levels of the call, in a list, in a pane beside the grid."""
    async with showing(incidents.four_ranks(), (120, 40)) as (app, pilot):
        for keys in (("enter",), ("4",), ("tab",)):
            await pilot.press(*keys)
            assert "q:back, then quit" in screen_text(app).splitlines()[-1], keys
            await pilot.press("q")
            assert "q:quit" in screen_text(app).splitlines()[-1], keys
        assert app.is_running


def focused(app: HangviewApp) -> str | None:
    return app.focused.id if app.focused is not None else None


def header(app: HangviewApp) -> str:
    return plain(app.main.prose("banner").prose)


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (160, 48)])
async def test_the_header_is_about_the_finding_that_the_grid_shows_or_says_both(size):
    """Findings 2 to 5 are about the groups DP0 to DP3, finding 1 about TP1; TP0 has none."""
    incident = incidents.eight_in_five_groups()
    assert [each.group for each in incident.findings] == [2, 3, 4, 5, 6]
    async with showing(incident, size) as (app, pilot):
        await pilot.press("1", "j", "j", "enter")  # the list of groups: leads, then those that wait
        assert app.main.place == Place(4, "collective", 6, 1)
        assert app.main.finding_at == 2
        assert "finding 3 of 5" in header(app)
        assert "grid at" not in header(app)
        await pilot.press("slash", *"group dp3", "enter")  # a look aside
        assert app.main.place == Place(6, "collective", 6, 3)
        assert "grid at finding 5 · finding 3 of 5" in header(app)
        await pilot.press("escape", "slash", *"group tp0", "enter")
        assert "grid at TP0 · finding 3 of 5" in header(app)
        await pilot.press("escape", "n")  # off the finding: n comes back to it
        assert app.main.finding_at == 2
        assert "grid at" not in header(app)


async def test_the_header_says_where_the_grid_is_when_the_list_was_only_looked_through():
    async with showing(incidents.eight_in_five_groups(), (160, 48)) as (app, pilot):
        await pilot.press("4", "j", "j")
        assert "grid at" not in header(app)  # the grid is out of sight
        await pilot.press("escape")
        assert "grid at finding 1 · finding 3 of 5" in header(app)
        assert "grid at finding 1 · finding 3 of 5" in screen_text(app).partition("\n")[2].partition("\n")[2]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (160, 48)])
@pytest.mark.parametrize(("pane", "name"), [("1", "groups"), ("4", "findings"), ("5", "waits")])
@pytest.mark.parametrize("back", ["escape", "q"])
async def test_back_returns_to_the_list_that_the_grid_was_reached_from(pane, name, back, size):
    async with showing(incidents.eight_in_five_groups(), size) as (app, pilot):
        view = app.main.choices(name)
        await pilot.press(pane, "j", "j")
        chosen = view.key
        await pilot.press("enter")
        place = app.main.place
        assert focused(app) == "grid"
        await pilot.press("h", "enter", back, back)  # down to the entry, up again, then to the list
        assert focused(app) == name
        assert view.key == chosen
        await pilot.press(back)
        assert focused(app) == "grid"
        assert app.main.center == "grid"
        assert place is not None
        assert app.main.place == place._replace(seq=place.seq - 1)
        await pilot.press("escape")
        assert "this is the top" in status(app)


async def test_another_jump_forgets_the_list():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("4", "j", "enter", "n", "escape")
        assert app.main.center == "grid"
        assert "this is the top" in status(app)


def first_rows(view: ChoiceView) -> list[int]:
    """The numbers of the items whose first row is in sight."""
    sight = range(view.topmost, view.topmost + view.size.height)
    return [at for at in range(len(view.choices)) if view._starts[at] in sight]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (100, 30), (160, 48)])
async def test_a_list_opens_with_whole_items_and_the_chosen_one_in_sight(size):
    """The current finding was chosen while its list was hidden, and had no rows to count."""
    async with showing(incidents.eight_in_five_groups(), size) as (app, pilot):
        view = app.main.choices("findings")
        for key in ("N", "n", "n", "n"):
            await pilot.press(key, "4")
            assert view.chosen == app.main.finding_at
            assert view.chosen in first_rows(view)
            assert view.topmost in view._starts  # no half of an item above it
            fits = view._starts[view.chosen + 1] <= view.size.height
            assert not fits or view.topmost == 0, key  # from the top where that shows it
            await pilot.press("2")


async def test_who_waits_for_whom_opens_at_the_lead_each_time():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        view = app.main.choices("waits")
        await pilot.press("5", "j", "j", "j", "2", "5")
        assert (view.chosen, view.topmost) == (0, 0)
        assert "rank 7  look here first" in plain(view.choices[0].lines)
        await pilot.press("j", "j")
        chosen = view.key
        await pilot.press("5")  # pressed again where it is open already: nothing moves
        assert view.key == chosen


async def test_a_finding_is_read_from_its_first_line_when_its_list_opens():
    async with showing(incidents.eight_in_five_groups()) as (app, pilot):
        await pilot.press("4", "tab", "pagedown")
        assert app.main.prose("finding").topmost > 0
        await pilot.press("2", "4")
        assert app.main.prose("finding").topmost == 0


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_an_answer_that_fills_its_rows_is_not_cut(ascii_only):
    """At 80 columns, where ASCII was given two cells less."""
    incident = incidents.four_ranks()
    summary = "x" * (80 - len("LOOK FIRST  ")) + " " + "y" * 68
    told = replace(incident, findings=(replace(incident.findings[0], summary=summary),))
    async with showing(told, ascii_only=ascii_only) as (app, _):
        assert screen_text(app).splitlines()[1:3] == [f"LOOK FIRST  {'x' * 68}", " " * 12 + "y" * 68]


def grid_title(app: HangviewApp) -> str:
    return str(app.main.pane("grid")._border_title)


@pytest.mark.parametrize("width", [40, 50, 60, 80, 100, 140])
async def test_the_grids_title_never_loses_what_it_shows(width):
    """Filtered, unfolded and zoomed out."""
    async with showing(incidents.large(64, 500, [37]), (width, 24)) as (app, pilot):
        for keys in ("u", "-", "-"):
            await pilot.press(*("minus" if key == "-" else key for key in keys))
            assert "default_pg" in grid_title(app), keys
        await pilot.press("f", *"0-3,7", "enter")
        await pilot.pause()
        assert "default_pg" in grid_title(app)
        assert "5 of 64" in grid_title(app)


async def test_a_filter_says_which_ranks_the_lane_does_not_have():
    async with showing(incidents.four_ranks()) as (app, pilot):
        await pilot.press("f", *"0-1,99", "enter")
        await pilot.pause()
        assert "rank 99 is not in this lane" in screen_text(app)
        assert "[only 0-1: 2 of 4" in grid_title(app)
        await pilot.press("f")
        await pilot.press(*["backspace"] * 10, *"2-5,7", "enter")
        await pilot.pause()
        assert "ranks 4-5,7 are not in this lane" in screen_text(app)
        assert "[only 2-3: 2 of 4" in grid_title(app)
