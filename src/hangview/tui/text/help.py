"""Keys, glyphs and words, for the help screen; all from the tables that the program runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.actions import ACTIONS, Action, Where, show_key, show_keys
from hangview.tui.glyphs import GLYPHS
from hangview.tui.prose import BLANK, Line, Prose, Tone, line, pad

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = (
    ("lead", "a rank to look at first: others wait for it and it waits for nobody; where to look, not who is at fault"),
    ("waiting", "a rank that only waits for others"),
    ("lane", "a group's collectives, or its sends from one rank to another"),
    ("seq", "the position inside one group's lane; not a training step"),
    ("requested, started, completed", "the host asked, the device began, the device ended"),
    ("not requested", "the only cell that is evidence of absence; all other cells without a record say why there is none"),
)
_MARKS = (
    ("!", "lead: look here first"),
    ("w", "waiting, explained by a lead"),
    ("i", "note: worth knowing, explains no hang"),
    ("d", "diverged, no finding of its own"),
    ("?", "not judged; before a rank: a problem or no record"),
    ("#", "before a rank: differs from the majority"),
    ("*", "before a rank: marked"),
    (".", "all agree and completed"),
)


def help_lines(*, ascii_only: bool, keys: Mapping[str, str] | None = None) -> Prose:
    """The whole page. ``keys`` are the live keys by action id, where a key map changed them."""
    live = keys or {}
    lines: list[Line] = [line(("keys everywhere", Tone.HEAD))]
    lines += [_key(action, live) for action in ACTIONS if set(action.where) & {Where.EVERYWHERE, Where.ALWAYS}]
    lines += [BLANK, line(("moving, in the grid, lists and texts", Tone.HEAD))]
    moving = [action for action in ACTIONS if set(action.where) & {Where.GRID, Where.LIST, Where.TEXT}]
    lines += [_key(action, live) for action in moving]
    lines += [BLANK, line(("cells", Tone.HEAD))]
    for code, glyph in GLYPHS.items():
        shown = glyph.ascii if ascii_only else glyph.unicode
        lines.append(line("  ", (pad(shown if code else "(blank)", 10), Tone.STRONG), glyph.word))
    lines.append(
        line("  zoomed out and in the map, the worst cell of a block is drawn; underlined: known from the rank's log", hang=2)
    )
    lines += [BLANK, line(("signs before groups and ranks", Tone.HEAD))]
    lines += [line("  ", (pad(sign, 10), Tone.STRONG), what) for sign, what in _MARKS]
    lines += [BLANK, line(("words", Tone.HEAD))]
    lines += [line("  ", (pad(word, 31), Tone.STRONG), what, hang=33) for word, what in _WORDS]
    return tuple(lines)


def _key(action: Action, live: Mapping[str, str]) -> Line:
    shown = ", ".join(show_key(key) for key in live[action.id].split(",")) if action.id in live else show_keys(action)
    return line("  ", (pad(shown, 18), Tone.KEY), action.help, hang=20)
