"""Everything a key can do, once: bindings, the key line, help, the command palette and the manual are made from this table.

Nothing may be bound outside it (``tests/tui/test_actions.py``). Letters, digits, function keys, arrows and page keys alone:
tmux, screen and flow control eat most others. No textual here, so that the manual can be written without it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum


class Where(StrEnum):
    """Where a key works. ``EVERYWHERE`` covers all of the main screen, ``ALWAYS`` dialogs and the worksheet too."""

    ALWAYS = "always"
    EVERYWHERE = "everywhere"
    GRID = "grid"
    LIST = "lists"
    TEXT = "text"
    PROMPT = "prompt"
    PALETTE = "commands"
    DIALOG = "dialogs"
    QUESTION = "questions"
    COMPARE = "comparison"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do.

    ``keys`` are textual's names of keys, ``method`` the textual action it runs (by default its id). ``footer`` orders the key
    line at the bottom: 0 is left out, 1 comes first; ``short`` is its label there, where that has to be shorter.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    where: tuple[Where, ...] = (Where.EVERYWHERE,)
    footer: int = 0
    palette: bool = True
    method: str = ""
    priority: bool = False
    short: str = ""

    @property
    def run(self) -> str:
        return self.method or self.id


_MOVING = (Where.GRID, Where.LIST, Where.TEXT)
_BOTH = (Where.EVERYWHERE, Where.COMPARE)


def _move(name: str, keys: tuple[str, ...], text: str, where: tuple[Where, ...] = _MOVING) -> Action:
    return Action(name, keys, text, text, where, palette=False)


ACTIONS: tuple[Action, ...] = (
    Action("next_finding", ("n",), "next finding", "next finding; next hit once something was searched for", footer=1),
    Action("previous_finding", ("N",), "previous", "previous finding or hit", footer=10),
    Action("next_problem", ("e",), "next problem rank", "next rank of this lane with a problem"),
    Action("previous_problem", ("E",), "previous problem rank", "previous rank of this lane with a problem"),
    Action("next_change", ("greater_than_sign",), "next change", "next change of state in the row"),
    Action("previous_change", ("less_than_sign",), "previous change", "previous change of state in the row"),
    Action(
        "details", ("enter",), "details", "deeper: call, entry, stack, source, rank; in a list: go there", footer=2, where=_BOTH
    ),
    Action("back", ("escape",), "back", "one level back; clears a search", footer=5, where=_BOTH),
    Action(
        "search",
        ("slash",),
        "search",
        "search: rank 37, seq 1820, group dp, op all_reduce, func forward, host node-03, or any text",
        footer=7,
    ),
    Action("filter", ("f",), "filter rows", "show only some ranks: 0-7,12, a state (not requested), differs, lead or marked"),
    Action("clear_filter", ("F",), "clear filter", "show all rows again"),
    Action("mark", ("m",), "mark", "mark the rank under the cursor: it keeps a row of its own, and f marked shows the marked"),
    Action("clear_marks", ("M",), "clear marks", "take all marks away"),
    Action("next_mark", ("apostrophe",), "next mark", "next marked rank of this lane"),
    Action("place_before", ("left_square_bracket", "b"), "place before", "back to the place before the last jump"),
    Action("place_after", ("right_square_bracket", "B"), "place after", "forward again through the places visited"),
    Action(
        "unfold",
        ("u",),
        "unfold",
        "a row for each rank, or equal ranks in one row again; in the list of files a line for each file",
        footer=9,
    ),
    Action("zoom_out", ("minus",), "zoom out", "more seqs in a column, until the whole lane fits"),
    Action("zoom_in", ("plus",), "zoom in", "fewer seqs in a column"),
    Action("pane_groups", ("1",), "groups", "groups and their lanes", method="pane(1)"),
    Action("pane_grid", ("2",), "grid", "rank × seq grid", method="pane(2)"),
    Action("pane_details", ("3",), "details pane", "the call, and what lies below it", method="pane(3)"),
    Action("pane_findings", ("4",), "findings", "all findings with their evidence", method="pane(4)", footer=8),
    Action("pane_waits", ("5",), "waits", "who waits for whom, leads at the top", method="pane(5)"),
    Action("next_pane", ("tab",), "next pane", "next pane", where=_BOTH),
    Action("previous_pane", ("shift+tab",), "previous pane", "previous pane", where=_BOTH),
    Action(
        "worksheet",
        ("w",),
        "worksheet",
        "the incident worksheet, filled in from the evidence",
        footer=3,
        method="app.worksheet",
    ),
    Action(
        "send_finding", ("W",), "finding to worksheet", "put the current finding into the worksheet", method="app.send_finding"
    ),
    Action("save", ("s",), "save worksheet", "save the worksheet as markdown", method="app.save"),
    Action("copy", ("y",), "copy", "copy what the pane shows: to the terminal (OSC 52) and to a file", where=_BOTH),
    Action("look_again", ("r",), "look again", "look at the files again now", method="app.look_again"),
    Action("pause", ("equals_sign",), "pause watching", "stop or go on looking at the files by itself", method="app.pause"),
    Action(
        "palette",
        ("colon", "ctrl+p"),
        "commands",
        "find a command by its name, or go: rank 37, seq 1820, group dp_3",
        palette=False,
        method="app.palette",
    ),
    Action("help", ("question_mark", "f1"), "help", "keys, glyphs and words", footer=4, method="app.help", where=_BOTH),
    Action(
        "open_log",
        ("L",),
        "log",
        "the log of the rank under the cursor, at the line that matters",
        method="app.open_log",
    ),
    Action("sources", ("i",), "files", "every file that was looked at, and what became of it"),
    Action("mouse", ("f2",), "mouse", "mouse on or off", method="app.mouse", where=_BOTH),
    Action("theme", ("f3",), "theme", "the next theme: dark, light, high contrast", method="app.theme", where=_BOTH),
    Action("ascii", ("f6",), "ASCII", "draw with ASCII alone, or with Unicode", where=_BOTH),
    Action(
        "redraw",
        ("ctrl+l",),
        "redraw",
        "draw the whole screen anew, when something else wrote on it",
        method="app.redraw",
        where=_BOTH,
    ),
    Action("suspend", ("ctrl+z",), "suspend", "to the shell; fg comes back", method="app.suspend_process", where=_BOTH),
    Action(
        "leave",
        ("q", "ctrl+c"),
        "back, then quit",
        "one level back; at the top: quit, with a word about an unsaved worksheet",
        footer=6,
        where=_BOTH,
        short="quit",
    ),
    Action(
        "quit",
        ("ctrl+q",),
        "quit",
        "quit at once; the worksheet's draft is kept",
        (Where.ALWAYS,),
        method="app.quit_now",
        priority=True,
    ),
    _move("move_up", ("up", "k"), "up"),
    _move("move_down", ("down", "j"), "down"),
    _move("move_left", ("left", "h"), "left", (Where.GRID,)),
    _move("move_right", ("right", "l"), "right", (Where.GRID,)),
    _move("page_up", ("pageup", "ctrl+b"), "page up"),
    _move("page_down", ("pagedown", "ctrl+f"), "page down"),
    _move("half_up", ("ctrl+u",), "half a page up"),
    _move("half_down", ("ctrl+d",), "half a page down"),
    _move("top", ("g", "ctrl+home"), "first row"),
    _move("bottom", ("G", "ctrl+end"), "last row"),
    Action(
        "list_top", ("home",), "first row", "first row of a list or text", (Where.LIST, Where.TEXT), palette=False, method="top"
    ),
    Action(
        "list_bottom",
        ("end",),
        "last row",
        "last row of a list or text",
        (Where.LIST, Where.TEXT),
        palette=False,
        method="bottom",
    ),
    _move("row_start", ("home", "0", "circumflex_accent"), "first seq", (Where.GRID,)),
    _move("row_end", ("end", "dollar_sign"), "last seq", (Where.GRID,)),
    Action(
        "next_difference",
        ("n",),
        "next difference",
        "the next difference, the most telling first",
        (Where.COMPARE,),
        palette=False,
    ),
    Action("previous_difference", ("N",), "previous", "the difference before", (Where.COMPARE,), palette=False),
    Action("accept", ("enter",), "go", "take what was typed", (Where.PROMPT,), palette=False),
    Action("cancel", ("escape", "ctrl+c"), "leave", "leave without a change", (Where.PROMPT,), palette=False),
    Action("close", ("escape", "q", "question_mark", "f1", "ctrl+c"), "close", "close", (Where.DIALOG,), palette=False),
    Action("next_section", ("n", "tab"), "next section", "next section of the help", (Where.DIALOG,), palette=False),
    Action(
        "previous_section",
        ("N", "shift+tab"),
        "section before",
        "section of the help before",
        (Where.DIALOG,),
        palette=False,
    ),
    Action("pick", ("enter",), "do it", "do what is chosen", (Where.PALETTE,), palette=False),
    Action("pick_up", ("up",), "up", "up", (Where.PALETTE,), palette=False),
    Action("pick_down", ("down",), "down", "down", (Where.PALETTE,), palette=False),
    Action("pick_nothing", ("escape", "ctrl+c"), "close", "close", (Where.PALETTE,), palette=False),
    Action(  # who presses ^C again wants to get out, and nothing is lost
        "quit_anyway",
        ("q", "y", "ctrl+c"),
        "quit",
        "quit; the draft is kept and offered again",
        (Where.QUESTION,),
        palette=False,
    ),
    Action(
        "quit_saving", ("s",), "save and quit", "save the worksheet as markdown, then quit", (Where.QUESTION,), palette=False
    ),
    Action("quit_not", ("escape", "n"), "stay", "go on", (Where.QUESTION,), palette=False),
)

_SHOWN = {
    "slash": "/",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "minus": "-",
    "plus": "+",
    "equals_sign": "=",
    "colon": ":",
    "question_mark": "?",
    "backslash": "\\",
    "underscore": "_",
    "at": "@",
    "circumflex_accent": "^",
    "dollar_sign": "$",
    "apostrophe": "'",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "escape": "esc",
    "pageup": "page up",
    "pagedown": "page down",
    "shift+tab": "shift-tab",
}


def show_key(key: str) -> str:
    """A key as a person calls it: ``^P``, ``F1``, ``>``, ``page up``."""
    if key in _SHOWN:
        return _SHOWN[key]
    if key.startswith("ctrl+"):
        rest = key.removeprefix("ctrl+")
        return f"^{rest.upper()}" if len(rest) == 1 else f"ctrl-{rest}"
    if len(key) > 1 and key[0] == "f" and key[1:].isdigit():
        return key.upper()
    return _character(key) if len(key) > 1 else key


def _character(key: str) -> str:
    """What textual calls by its name in Unicode: ``exclamation_mark``, ``latin_small_letter_e_with_acute``."""
    try:
        found = unicodedata.lookup(key.replace("_", " "))
    except KeyError:
        return key  # a key without a character: insert, ctrl+up
    return found if found.isprintable() and not found.isspace() else key


def actions_in(where: Where) -> tuple[Action, ...]:
    return tuple(action for action in ACTIONS if where in action.where)
