"""One table of actions; nothing is bound outside it, and everything that is bound can be done."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

import pytest
from textual.dom import DOMNode
from textual.widgets import Input

import hangview.tui
from hangview.settings import BY_NAME
from hangview.tui.actions import ACTIONS, Where, actions_in, show_key
from hangview.tui.app import HangviewApp
from hangview.tui.compare.screen import CompareScreen
from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.dialogs.leave import LeaveDialog
from hangview.tui.dialogs.palette import PaletteDialog, matching
from hangview.tui.grid.moves import MovableGrid
from hangview.tui.live import USUAL, LiveKeys, key_line
from hangview.tui.log.keys import LOG_ACTIONS
from hangview.tui.main.prompt import Prompt
from hangview.tui.main.screen import MainScreen
from hangview.tui.prose import plain
from hangview.tui.prose_view import ChoiceView, ProseView
from hangview.tui.text.help import help_lines
from tests.support.incidents import four_ranks
from tests.tui.screens import screen_text, showing

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACES: dict[Where, type] = {
    Where.ALWAYS: HangviewApp,
    Where.EVERYWHERE: MainScreen,
    Where.GRID: MovableGrid,
    Where.LIST: ChoiceView,
    Where.TEXT: ProseView,
    Where.PROMPT: Prompt,
    Where.PALETTE: PaletteDialog,
    Where.DIALOG: HelpDialog,
    Where.QUESTION: LeaveDialog,
    Where.COMPARE: CompareScreen,
}


def our_classes() -> Iterator[type[DOMNode]]:
    """Every textual class of the package but the worksheet's, which has a table of its own."""
    for module in pkgutil.walk_packages(hangview.tui.__path__, "hangview.tui."):
        if ".worksheet" not in module.name:
            for found in vars(importlib.import_module(module.name)).values():
                if not inspect.isclass(found) or not issubclass(found, DOMNode) or found.__module__ != module.name:
                    continue
                if not issubclass(found, Input):  # a text field keeps its own editing keys
                    yield found


def test_classes_bind_only_what_the_table_says():
    known = {(key, action.run) for action in (*ACTIONS, *LOG_ACTIONS) for key in action.keys}
    bound = set()
    for found in our_classes():
        merged = found._merged_bindings
        assert merged is not None
        for key, bindings in merged.key_to_bindings.items():
            bound |= {(key, binding.action) for binding in bindings}
    assert bound == known


async def test_nothing_is_bound_on_the_running_screen_but_the_table():
    """Also what textual itself binds to apps and screens: only text fields keep their own editing keys."""
    known = {(key, action.run) for action in ACTIONS for key in action.keys}
    async with showing(four_ranks()) as (app, _):
        nodes: list[DOMNode] = [app, app.screen, *app.screen.walk_children(DOMNode)]
        for node in nodes:
            if isinstance(node, Input):
                continue
            for key, bindings in node._bindings.key_to_bindings.items():
                for binding in bindings:
                    assert (key, binding.action) in known, f"{node} binds {key}"


def test_every_action_has_a_method():
    for action in ACTIONS:
        name = action.run.partition("(")[0]
        for place in action.where:
            owner = HangviewApp if name.startswith("app.") else PLACES[place]
            assert hasattr(owner, f"action_{name.removeprefix('app.')}"), action.id


@pytest.mark.parametrize("place", list(Where))
def test_no_key_means_two_things_in_one_place(place):
    keys = [key for action in actions_in(place) for key in action.keys]
    assert len(keys) == len(set(keys))


def test_moves_do_not_hide_what_works_everywhere():
    everywhere = {key for action in actions_in(Where.EVERYWHERE) for key in action.keys}
    for place in (Where.ALWAYS, Where.GRID, Where.LIST, Where.TEXT):
        assert not everywhere & {key for action in actions_in(place) for key in action.keys}
    compare = {key for action in actions_in(Where.COMPARE) for key in action.keys}
    for place in (Where.ALWAYS, Where.LIST, Where.TEXT):
        assert not compare & {key for action in actions_in(place) for key in action.keys}


def test_keys_that_terminals_eat_are_not_used():
    """^S and ^Q stop and start output on old lines (quit is also q), ^A is screen's."""
    keys = {key for action in ACTIONS for key in action.keys}
    assert not keys & {"ctrl+s", "ctrl+a", "ctrl+i", "ctrl+m", "ctrl+h"}


@pytest.mark.parametrize(
    ("keys", "action"),
    [
        ("n", "next_finding"), ("N", "previous_finding"), ("e", "next_problem"), ("E", "previous_problem"),
        (">", "next_change"), ("<", "previous_change"), ("/", "search"), ("f", "filter"), ("m", "mark"), ("u", "unfold"),
        ("+", "zoom_in"), ("-", "zoom_out"), ("tab", "next_pane"), ("enter", "details"), ("esc", "back"), ("w", "worksheet"),
        ("s", "save"), ("y", "copy"), ("r", "look_again"), ("=", "pause"), (":", "palette"), ("^P", "palette"), ("?", "help"),
        ("F1", "help"), ("q", "leave"), ("^Q", "quit"), ("F2", "mouse"), ("h", "move_left"), ("j", "move_down"),
        ("k", "move_up"), ("l", "move_right"), ("g", "top"), ("G", "bottom"), ("home", "row_start"), ("end", "row_end"),
        ("^Z", "suspend"), ("^L", "redraw"), ("F3", "theme"), ("F6", "ascii"), ("i", "sources"), ("'", "next_mark"),
        ("M", "clear_marks"), ("[", "place_before"), ("]", "place_after"), ("F", "clear_filter"),
        ("^D", "half_down"), ("^U", "half_up"), ("page up", "page_up"), ("page down", "page_down"), ("1", "pane_groups"),
        ("2", "pane_grid"), ("3", "pane_details"), ("4", "pane_findings"), ("5", "pane_waits"),
    ],
)  # fmt: skip
def test_promised_keys(keys, action):
    """The keys that the documentation promises."""
    found = next(each for each in ACTIONS if each.id == action)
    assert keys in [show_key(key) for key in found.keys]


def test_help_lists_every_key():
    text = plain(help_lines(ascii_only=False))
    for action in (*actions_in(Where.EVERYWHERE), *actions_in(Where.GRID)):
        assert USUAL.shown(action) in text
        assert action.help in text


def test_help_shows_changed_keys():
    live = LiveKeys({"worksheet": ("f9",), "copy": ()})
    text = plain(help_lines(ascii_only=False, live=live))
    assert "F9" in text
    assert ": only" in text  # copy has no key any more: the palette has it


@pytest.mark.parametrize("pane", [Where.GRID, Where.LIST, Where.TEXT])
def test_help_begins_with_the_keys_of_the_pane(pane):
    first = plain(help_lines(ascii_only=False, pane=pane)).split("\n\n")[0]
    for action in ACTIONS:
        assert (action.help in first) == (pane in action.where) or action.help in ("up", "down")


def test_the_key_line_has_the_live_keys():
    pairs = key_line(LiveKeys({"next_finding": ("f9",), "help": ()}))
    assert pairs[0] == ("F9", "next finding")
    assert "help" not in [label for _, label in pairs]


async def test_changed_keys_work_and_the_old_ones_do_not():
    keys = (("unfold", ("f9", "x")), ("next_finding", ("e",)), ("next_problem", ("n",)), ("mark", ()))
    async with showing(four_ranks(), keys=keys) as (app, pilot):
        await pilot.press("u")
        assert not app.main.grid.unfolded
        await pilot.press("x")
        assert app.main.grid.unfolded
        await pilot.press("f9")
        assert not app.main.grid.unfolded
        await pilot.press("m")
        assert not app.main.grid.pinned
        before = app.main.place
        await pilot.press("h", "e")  # the finding again
        assert app.main.place == before
        await pilot.press("n")  # two meanings that were swapped
        assert app.main.place is not None
        await pilot.press("colon", *"mark the", "enter")
        assert app.main.grid.pinned  # an action without a key is in the palette still
        assert "e:next finding" in screen_text(app)


async def test_sentences_name_the_live_keys():
    async with showing(four_ranks(), keys=(("leave", ("f10",)),)) as (app, pilot):
        await pilot.press("escape")
        assert "this is the top: F10 quits" in screen_text(app)


def test_key_line_begins_with_the_next_finding():
    assert key_line()[0] == ("n", "next finding")


def test_palette_finds_by_words_and_by_name_first():
    assert matching("worksheet")[0].id in ("worksheet", "send_finding", "save")
    assert [action.id for action in matching("files at again")] == ["look_again"]
    assert matching("no such thing") == []


async def test_quit_works_over_a_dialog():
    async with showing(four_ranks()) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpDialog)
        await pilot.press("ctrl+q")
    assert app.return_value == 1


@pytest.mark.parametrize("name", ["quit", "accept", "pick", "sheet_next_field", "sheet_undo"])
@pytest.mark.parametrize("key", ["Q", "/", "space"])
def test_what_works_while_typing_cannot_be_bound_to_what_types(name, key):
    """A key of quit would end the program in the middle of a word."""
    with pytest.raises(ValueError, match="works while a text is typed"):
        BY_NAME["keys"].type.check({name: key})


def test_what_does_not_can():
    assert BY_NAME["keys"].type.check({"unfold": "x", "quit": "f10"})


@pytest.mark.parametrize("pane", [Where.GRID, Where.LIST, Where.TEXT])
def test_help_says_what_is_drawn_right_below_the_keys_of_the_pane(pane):
    """At 80 x 24 it stood on the fifth page, and is what somebody looks for who sees the screen for the first time."""
    heads = [line.text for line in help_lines(ascii_only=False, pane=pane) if line.text and not line.text.startswith(" ")]
    assert heads[0].startswith("here, in ")
    assert heads[1:3] == ["cells", "signs before groups and ranks"]
    assert heads[3] == "everywhere"


@pytest.mark.parametrize("opened", ["question_mark", "i", "4"])
async def test_home_and_end_go_to_the_ends_of_texts_and_lists(opened):
    async with showing(four_ranks(), (80, 12)) as (app, pilot):
        await pilot.press(opened)
        await pilot.pause()
        await pilot.press("G")
        last = screen_text(app)
        await pilot.press("home")
        first = screen_text(app)
        await pilot.press("end")
        assert screen_text(app) == last
        await pilot.press("g")
        assert screen_text(app) == first
        assert opened != "question_mark" or first != last
