"""What the keys of the log do, once: bindings, key line, help and manual are made from this table. No textual here."""

from __future__ import annotations

from hangview.tui.actions import Action


def _action(name: str, keys: tuple[str, ...], label: str, text: str, *, footer: int = 0) -> Action:
    return Action(f"log_{name}", keys, label, text, (), footer, palette=False, method=name)


LOG_ACTIONS = (
    _action("search", ("slash",), "search", "search for a text: small letters find capitals too; goes round the end", footer=1),
    _action("next_hit", ("n",), "next hit", "next line that holds what was searched for", footer=6),
    _action("previous_hit", ("N",), "previous hit", "previous line that holds it"),
    _action("next_used", ("right_square_bracket",), "next used", "next line that hangview used", footer=2),
    _action("previous_used", ("left_square_bracket",), "previous used", "previous line that hangview used"),
    _action("matters", ("m",), "what matters", "back to the line that matters", footer=7),
    _action("only_rank", ("r",), "this rank", "show only lines that name this rank, or all of them again", footer=5),
    _action("next_log", ("L",), "next log", "the next log of this rank", footer=8),
    _action("top", ("g", "ctrl+home"), "start", "start of the file", footer=11),
    _action("bottom", ("G", "ctrl+end"), "end", "end of the file, as it is now", footer=10),
    _action("up", ("up", "k"), "up", "up"),
    _action("down", ("down", "j"), "down", "down"),
    _action("page_up", ("pageup", "ctrl+b"), "page up", "page up"),
    _action("page_down", ("pagedown", "ctrl+f", "space"), "page down", "page down"),
    _action("half_up", ("ctrl+u",), "half a page up", "half a page up"),
    _action("half_down", ("ctrl+d",), "half a page down", "half a page down"),
    _action("left", ("left", "h"), "left", "to the left, where lines are longer than the screen is wide"),
    _action("right", ("right", "l"), "right", "to the right"),
    _action("line_start", ("home", "0", "circumflex_accent"), "start of lines", "start of the lines"),
    _action("copy", ("y",), "copy", "copy the line with the file's name and the line's number", footer=9),
    _action("help", ("question_mark", "f1"), "help", "keys of the log", footer=4),
    _action("stop", ("escape",), "back", "stop a search or reading that takes long; else back"),
    _action("close", ("q", "ctrl+c"), "back", "back to where the log was opened from", footer=3),
)
