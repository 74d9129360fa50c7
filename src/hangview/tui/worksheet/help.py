"""Keys of the worksheet, for its help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import BLANK, Prose, Tone, line, pad
from hangview.tui.worksheet import keys
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.tui.actions import Action

_PLACES: Mapping[str, Sequence[Action]] = {
    "help.form": keys.FORM_ACTIONS,
    "help.everywhere": keys.EVERYWHERE_ACTIONS,
    "help.line": keys.LINE_ACTIONS,
    "help.tick": keys.TICK_ACTIONS,
    "help.choice": keys.CHOICE_ACTIONS,
}


def sheet_help(live: LiveKeys = USUAL, words: ScreenWords = ENGLISH) -> Prose:
    """The whole page, with the keys as they are on this screen."""
    lines = [line(words("help.about")), BLANK]
    for title, actions in _PLACES.items():
        lines.append(line((words(title), Tone.HEAD)))
        lines += [line("  ", (pad(live.shown(action), 18), Tone.KEY), words.does(action), hang=20) for action in actions]
        lines.append(BLANK)
    return tuple(lines)
