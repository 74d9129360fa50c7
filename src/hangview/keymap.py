"""Keys of a person's own: the ``[keys]`` table of the configuration, checked against the table of actions. No textual here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hangview.setting_types import Type, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hangview.tui.actions import Action

#: Action → its keys, by textual's names; in the order of the actions.
KeyMap = tuple[tuple[str, tuple[str, ...]], ...]

#: textual's names of the signs on a keyboard.
_SIGNS = {
    "!": "exclamation_mark", '"': "quotation_mark", "#": "number_sign", "$": "dollar_sign", "%": "percent_sign",
    "&": "ampersand", "'": "apostrophe", "(": "left_parenthesis", ")": "right_parenthesis", "*": "asterisk", "+": "plus",
    ",": "comma", "-": "minus", ".": "full_stop", "/": "slash", ":": "colon", ";": "semicolon", "<": "less_than_sign",
    "=": "equals_sign", ">": "greater_than_sign", "?": "question_mark", "@": "at", "[": "left_square_bracket",
    "\\": "backslash", "]": "right_square_bracket", "^": "circumflex_accent", "_": "underscore", "`": "grave_accent",
    "{": "left_curly_bracket", "|": "vertical_line", "}": "right_curly_bracket", "~": "tilde",
}  # fmt: skip
_MOVES = {"up", "down", "left", "right", "home", "end", "pageup", "pagedown"}
_NAMED = _MOVES | {"insert", "delete", "backspace", "enter", "escape", "tab", "space"}
_OTHER = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "page up": "pageup",
    "page down": "pagedown",
}
#: What may not arrive: flow control's ^S, and what a terminal sends as enter, tab and escape.
_EATEN = {"ctrl+s", "ctrl+m", "ctrl+j", "ctrl+i", "ctrl+left_square_bracket"}


class Keys(Type):
    """The type of the setting ``keys``."""

    words = "a table: action = key, or a list of keys"

    def read(self, text: str) -> KeyMap:
        """Keys are set in the file alone."""
        raise ValueError(f"{text!r}: keys are set in the file")

    def check(self, value: Any) -> KeyMap:
        """Actions and keys that exist, no key with two meanings at one place, and a way out. ValueError names the action."""
        if not isinstance(value, dict):
            raise ValueError("is no table: write [keys] and below it action = key")
        actions = all_actions()
        told: dict[str, tuple[str, ...]] = {}
        for name, keys in value.items():
            if name not in actions:
                raise ValueError(f"{name!r} is no action")
            listed = [keys] if isinstance(keys, str) else keys
            if not isinstance(listed, list) or not all(isinstance(key, str) for key in listed):
                raise ValueError(f"{name}: is neither a key nor a list of keys")
            told[name] = tuple(key_name(key, name) for key in listed)
        _check_clashes({name: told.get(name, action.keys) for name, action in actions.items()}, told)
        return tuple((name, told[name]) for name in actions if name in told)

    def write(self, value: KeyMap) -> str:
        """An inline table."""
        parts = (f"{quoted(name) if '(' in name else name} = [{', '.join(map(quoted, keys))}]" for name, keys in value)
        return "{" + ", ".join(parts) + "}"


def all_actions() -> dict[str, Action]:
    """Every action by its id, of the main screen first."""
    from hangview.tui.actions import ACTIONS
    from hangview.tui.log.keys import LOG_ACTIONS
    from hangview.tui.worksheet.keys import ACTIONS as SHEET_ACTIONS

    return {action.id: action for action in (*ACTIONS, *LOG_ACTIONS, *SHEET_ACTIONS)}


def key_name(key: str, action: str) -> str:
    """A key by textual's name: ``n``, ``N``, ``/`` or ``slash``, ``f5``, ``ctrl+n`` or ``^N``. Raises ValueError."""
    text = key.strip() or key
    lower = _OTHER.get(text.lower(), text.lower())
    if re.fullmatch(r"\^[A-Za-z]", text):
        lower = f"ctrl+{text[1].lower()}"
    if len(text) == 1 and text.isascii() and text.isalnum():
        return text
    if text in _SIGNS:
        return _SIGNS[text]
    if lower in _EATEN:
        raise ValueError(f"{action}: the key {key!r} never arrives: the terminal keeps it, or sends it as another")
    if (
        lower in _NAMED
        or lower in _SIGNS.values()
        or re.fullmatch(r"f(?:[1-9]|1[0-9]|2[0-4])|ctrl\+[a-z]|shift\+tab", lower)
        or lower.removeprefix("ctrl+") in _MOVES
        or lower.removeprefix("shift+") in _MOVES
    ):
        return lower
    raise ValueError(f"{action}: {key!r} is no key, like n, N, /, f5, ctrl+n, escape or pageup")


#: Places at which a text field has the focus: what is bound there to a letter would be taken for text, or quit in mid-word.
_WHILE_TYPING = {"prompt", "commands", "line"}


def _check_clashes(keys: Mapping[str, tuple[str, ...]], told: Iterable[str]) -> None:
    if not keys["leave"] and not keys["quit"]:
        raise ValueError("leave and quit: one of them needs a key")
    places = _places()
    for name in told:
        typing = [key for key in keys[name] if len(key) == 1 or key == "space" or key in _SIGNS.values()]
        if typing and places[name] & _WHILE_TYPING:
            raise ValueError(f"{name}: works while a text is typed, so its key cannot be {typing[0]!r}, which types")
        for other, theirs in keys.items():
            both = [key for key in keys[name] if key in theirs]
            if other != name and both and places[name] & places[other]:
                raise ValueError(f"{name}: the key {both[0]!r} is that of {other} too")


def _places() -> dict[str, set[str]]:
    """Where each action works, in words that overlap where the actions can meet."""
    from hangview.tui import actions
    from hangview.tui.log.keys import LOG_ACTIONS
    from hangview.tui.worksheet import keys as sheet

    main = {actions.Where.GRID, actions.Where.LIST, actions.Where.TEXT}
    fields = {
        "form": sheet.FORM_ACTIONS,
        "line": sheet.LINE_ACTIONS,
        "tick": sheet.TICK_ACTIONS,
        "choice": sheet.CHOICE_ACTIONS,
    }
    others = {
        "replace": sheet.REPLACE_ACTIONS,
        "dialog": sheet.DIALOG_ACTIONS,
        "preview": sheet.PREVIEW_ACTIONS,
        "drafts": sheet.DRAFT_ACTIONS,
        "changes": sheet.CHANGE_ACTIONS,
        "log": LOG_ACTIONS,
    }
    places: dict[str, set[str]] = {}
    for action in actions.ACTIONS:
        where: set[str] = {str(place) for place in action.where}
        if where & {actions.Where.LIST, actions.Where.TEXT}:
            where.add(actions.Where.COMPARE)
        if actions.Where.EVERYWHERE in action.where:
            where |= {str(place) for place in main}
        if actions.Where.ALWAYS in action.where:
            where |= {str(place) for place in actions.Where} | {*fields, *others}
        places[action.id] = where
    for place, listed in {**fields, **others}.items():
        for action in listed:
            places.setdefault(action.id, set()).add(place)
    for action in sheet.EVERYWHERE_ACTIONS:
        places.setdefault(action.id, set()).update(fields)
    return places
