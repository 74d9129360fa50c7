"""Keys, glyphs and words, for the help screen; all from the tables that the program runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.schema import CellState
from hangview.tui.actions import ACTIONS, Where, show_key
from hangview.tui.glyphs import GLYPHS
from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import BLANK, Line, Prose, Tone, line, pad
from hangview.tui.search import GRAMMAR
from hangview.tui.text.glossary import FILES, HEADS, KINDS, SIDES, STATES, WORDS, file_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hangview.tui.actions import Action

_MARKS = (
    ("!", "lead: look here first"),
    ("s", "stands still here, no rank named"),
    ("w", "waiting, explained by what stands above"),
    ("i", "note: worth knowing, explains no hang"),
    ("d", "diverged, no finding of its own"),
    ("?", "not judged, not all observed; before a rank: problem or no record"),
    ("#", "before a rank: differs from the majority"),
    ("*", "before a rank: marked"),
    (".", "all agree and completed"),
)


#: What the panes of the main screen are, for the first section of the help.
PANES = {Where.GRID: "in the grid", Where.LIST: "in lists", Where.TEXT: "in texts"}


def help_lines(*, ascii_only: bool, live: LiveKeys = USUAL, pane: Where = Where.GRID) -> Prose:
    """The whole page: the keys of ``pane``, then what is drawn, as that is asked for most, then all other keys and words. Keys
    are as they are on this screen."""
    lines = _section(f"here, {PANES.get(pane, 'in the grid')}", (each for each in ACTIONS if pane in each.where), live)
    lines += [line(("cells", Tone.HEAD))]
    for code, glyph in GLYPHS.items():
        shown = glyph.ascii if ascii_only else glyph.unicode
        sign = (pad(shown if code else "(blank)", 10), Tone.STRONG)
        means = STATES[CellState(code)] if code in STATES else ""
        lines.append(line("  ", sign, pad(glyph.word, 16) if means else glyph.word, (means, Tone.DIM), hang=28))
    lines.append(
        line("  zoomed out and in the map, the worst cell of a block is drawn; underlined: known from the rank's log", hang=2)
    )
    lines += [BLANK, line(("signs before groups and ranks", Tone.HEAD))]
    lines += [line("  ", (pad(sign, 10), Tone.STRONG), what, hang=12) for sign, what in _MARKS]
    lines.append(BLANK)
    everywhere = (each for each in ACTIONS if set(each.where) & {Where.EVERYWHERE, Where.ALWAYS})
    lines += _section("everywhere", everywhere, live)
    others = set(PANES) - {pane}
    lines += _section(
        "in the other panes", (each for each in ACTIONS if set(each.where) & others and pane not in each.where), live
    )
    lines += _section("while typing a search or a filter", (each for each in ACTIONS if Where.PROMPT in each.where), live)
    lines += [line(("what can be searched for", Tone.HEAD))]
    lines += [line("  ", (pad(typed, 24), Tone.STRONG), what, hang=26) for typed, what in GRAMMAR]
    lines += [BLANK, *_words("words", WORDS)]
    lines += _words("what stands first", HEADS)
    lines += _words("where it hangs", {f"{side.value} side": what for side, what in SIDES.items()})
    lines += _words("kinds of finding", {kind.words: what for kind, what in KINDS.items()})
    lines += _words("what became of a file", {file_word(status): what for status, what in FILES.items()})
    return tuple(lines[:-1])


def _words(title: str, table: Mapping[str, str]) -> list[Line]:
    """A heading and its words, with a blank line behind them."""
    rows = [line("  ", (pad(word, 28), Tone.STRONG), what, hang=30) for word, what in table.items()]
    return [line((title, Tone.HEAD)), *rows, BLANK]


def _section(title: str, actions: Iterable[Action], live: LiveKeys) -> list[Line]:
    """A heading and its keys; nothing where there is no key."""
    keys = [line("  ", (pad(live.shown(action), 18), Tone.KEY), action.help, hang=20) for action in actions]
    return [line((title, Tone.HEAD)), *keys, BLANK] if keys else []


def unbound(key: str, live: LiveKeys, *, compared: bool = False) -> str:
    """What to say of a key that nothing is bound to in this pane: where it works, or that it works nowhere."""
    for where, place in () if compared else PANES.items():
        found = next((action for action in ACTIONS if where in action.where and key in live.of(action)), None)
        if found is not None:
            goes = f": {live('pane_grid')} goes there" if where is Where.GRID else ""
            return f"{show_key(key)} ({found.label}) works {place}{goes}"
    return f"{show_key(key)} does nothing here: {live('help')} lists the keys"
