"""What the keys of the worksheet do, once: bindings, key line, help and manual are made from this table. No textual here."""

from __future__ import annotations

from enum import StrEnum

from hangview.tui.actions import Action


class Mode(StrEnum):
    """What keys do on the worksheet."""

    KEYS = "keys"  #: commands
    TYPING = "typing"  #: text into a field
    CHOICE = "choosing"
    TICK = "ticking"


def _action(name: str, keys: tuple[str, ...], label: str, text: str, *, footer: int = 0) -> Action:
    return Action(f"sheet_{name}", keys, label, text, (), footer, palette=False, method=name)


#: Where no text field has the focus. Text fields take letters and digits for themselves.
FORM_ACTIONS = (
    _action("save", ("s",), "save", "save as markdown; asks where the first time", footer=1),
    _action("save_as", ("S",), "save as", "save as markdown under another name"),
    _action("first_blank", ("enter",), "first blank", "write in the next field that is blank", footer=2),
    _action("preview", ("p",), "preview", "how the markdown looks", footer=6),
    _action("changes", ("c",), "changes", "what new evidence would fill in otherwise: take it over or leave it", footer=7),
    _action("another_hypothesis", ("h",), "hypothesis", "room for one more hypothesis", footer=8),
    _action("open", ("o",), "open", "open a saved worksheet and go on with it", footer=9),
    _action("drafts", ("d",), "drafts", "earlier drafts of this incident"),
    *(
        _action(f"section({number})", (str(number),), "section", f"section {number} at the top", footer=3 if number == 1 else 0)
        for number in range(1, 9)
    ),
    _action("down", ("down", "j"), "down", "scroll down"),
    _action("up", ("up", "k"), "up", "scroll up"),
    _action("page_down", ("pagedown", "ctrl+f", "space"), "page down", "page down"),
    _action("page_up", ("pageup", "ctrl+b"), "page up", "page up"),
    _action("top", ("home", "g"), "top", "first section"),
    _action("bottom", ("end", "G"), "bottom", "last section"),
    _action("help", ("question_mark",), "help", "keys of the worksheet", footer=5),
    _action("close", ("q", "w"), "back", "back to the grid; nothing is lost", footer=4),
)
#: Everywhere on the worksheet, inside text fields too.
EVERYWHERE_ACTIONS = (
    _action("leave", ("escape", "ctrl+c"), "leave the field", "leave the field; outside of fields back to the grid"),
    _action("next_field", ("tab",), "next field", "next field", footer=2),
    _action("previous_field", ("shift+tab",), "previous field", "previous field"),
    _action("save_here", ("f5",), "save", "save, also from inside a field"),
    _action("help_here", ("f1",), "help", "keys of the worksheet, also from inside a field"),
    _action("editor", ("f4",), "editor", "edit the field in $VISUAL or $EDITOR"),
)
#: Inside one-line fields; text areas have undo of their own.
LINE_ACTIONS = (_action("undo", ("ctrl+z",), "undo", "back to what the field held before"),)
#: On a line to tick.
TICK_ACTIONS = (_action("tick", ("space", "x"), "tick", "tick or untick the line"),)
#: On one of a few answers.
CHOICE_ACTIONS = (
    _action("choose_next", ("down", "right", "space", "j", "l"), "next answer", "the next answer"),
    _action("choose_previous", ("up", "left", "k"), "previous answer", "the answer before"),
    _action("choose_none", ("backspace", "delete"), "no answer", "take the answer back"),
    *(_action(f"choose_number({number})", (str(number),), "answer", f"answer {number}") for number in range(1, 9)),
)
_LEAVE, _NEXT, _PREVIOUS, _SAVE, _EDITOR, _HELP = (
    next(action for action in EVERYWHERE_ACTIONS if key in action.keys)
    for key in ("escape", "tab", "shift+tab", "f5", "f4", "f1")
)
#: The key line in each mode, the most wanted first.
FOOTERS = {
    Mode.KEYS: tuple(
        sorted((action for action in (*FORM_ACTIONS, *EVERYWHERE_ACTIONS) if action.footer), key=lambda action: action.footer)
    ),
    Mode.TYPING: (_LEAVE, _NEXT, _SAVE, _HELP, _EDITOR, _PREVIOUS),
    Mode.CHOICE: (CHOICE_ACTIONS[0], CHOICE_ACTIONS[1], CHOICE_ACTIONS[2], _NEXT, _LEAVE, _SAVE, _HELP),
    Mode.TICK: (*TICK_ACTIONS, _NEXT, _LEAVE, _SAVE, _HELP),
}
#: On the question whether to replace a file.
REPLACE_ACTIONS = (
    _action("replace", ("r",), "replace", "replace the file; what it holds stays beside it with a ~"),
    _action("other_name", ("o", "tab"), "other name", "type another name"),
)
#: On dialogs of the worksheet.
DIALOG_ACTIONS = (_action("cancel", ("escape", "ctrl+c"), "back", "close without a change"),)
#: On the preview.
PREVIEW_ACTIONS = (_action("cancel", ("escape", "p", "q", "ctrl+c"), "back", "close the preview"),)
DRAFT_ACTIONS = (
    _action("take_draft", ("enter",), "go on", "go on with the draft"),
    _action("begin_anew", ("n",), "begin anew", "leave the drafts as they are"),
    _action("open_saved", ("o",), "open saved", "open the file that the draft was saved to instead"),
    _action("delete_draft", ("D",), "delete", "delete the draft; asks first"),
    _action("delete_surely", ("y",), "delete it", "on the question whether to delete it: delete it for good"),
)
#: The key lines of the question which draft, and of the one whether to delete it.
DRAFT_FOOTER, DELETE_FOOTER = DRAFT_ACTIONS[:-1], DRAFT_ACTIONS[-1:]
CHANGE_ACTIONS = (
    _action("take_ticked", ("enter",), "take over", "take over what is ticked, leave the rest"),
    _action("tick_all", ("a",), "all or none", "tick all; none where all are ticked"),
)

ACTIONS = (
    *FORM_ACTIONS,
    *EVERYWHERE_ACTIONS,
    *LINE_ACTIONS,
    *TICK_ACTIONS,
    *CHOICE_ACTIONS,
    *REPLACE_ACTIONS,
    *DIALOG_ACTIONS,
    *PREVIEW_ACTIONS,
    *DRAFT_ACTIONS,
    *CHANGE_ACTIONS,
)
