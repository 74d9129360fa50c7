"""Help of the comparison: its keys, the signs before groups, and what its columns are. No textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.actions import ACTIONS, Where
from hangview.tui.compare.words import MARKS
from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import BLANK, Line, Prose, Tone, line, pad

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.tui.actions import Action

_WORDS = (
    ("A, B", "the first and the second set of the command line: before a change and after it"),
    ("#", "before a row of the call: what the comparison counts as differing"),
    ("differs later", "its ranks differ in an earlier call of their own already, of another group or lane"),
    ("only in A, only in B", "the other set has no such group"),
    ("not observed", "no call of it is held by both sets: nothing is said about it"),
    ("agrees", "every call that both sets hold is the same; what only one holds is not compared"),
    ("agrees partly", "so, and a file of one set lacks calls of it: cut, overwritten, of open calls only, or not there"),
)


#: Where an action does less here than on the main screen.
_HERE = {
    "details": "deeper, in both sets: call, entry, stack, source, rank",
    "back": "one level back",
    "leave": "one level back; at the top: quit",
    "quit": "quit at once",
}


def help_of(action: Action) -> str:
    """What an action does on this screen."""
    return _HERE.get(action.id, action.help)


def compare_help(live: LiveKeys = USUAL) -> Prose:
    """The whole page, with the keys as they are on this screen."""
    here = [each for each in ACTIONS if set(each.where) & {Where.COMPARE, Where.ALWAYS}]
    here.sort(key=lambda each: each.where != (Where.COMPARE,))
    lines = _keys("comparison", here, live)
    lines += _keys("in lists and texts", (each for each in ACTIONS if Where.LIST in each.where), live)
    lines.append(line(("signs before groups", Tone.HEAD)))
    lines += [line("  ", (pad(sign, 10), tone), str(standing)) for standing, (sign, tone) in MARKS.items()]
    lines += [BLANK, line(("words", Tone.HEAD))]
    lines += [line("  ", (pad(word, 24), Tone.STRONG), what, hang=26) for word, what in _WORDS]
    return tuple(lines)


def _keys(title: str, actions: Iterable[Action], live: LiveKeys) -> list[Line]:
    rows = [
        line("  ", (pad(live.shown(action), 18), Tone.KEY), help_of(action), hang=20) for action in actions if live.of(action)
    ]
    return [line((title, Tone.HEAD)), *rows, BLANK]
