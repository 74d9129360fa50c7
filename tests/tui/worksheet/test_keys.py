"""The worksheet's own table of keys: everything bound is in it, everything in it can be done."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest
from textual.dom import DOMNode
from textual.widgets import Input, TextArea

import hangview.tui.worksheet
from hangview.tui.worksheet import keys
from hangview.tui.worksheet.choice import Choice
from hangview.tui.worksheet.dialog import Dialog
from hangview.tui.worksheet.fields import LineInput
from hangview.tui.worksheet.offers import ChangesDialog, DraftDialog, PreviewDialog
from hangview.tui.worksheet.saving import SaveDialog
from hangview.tui.worksheet.screen import WorksheetScreen
from hangview.tui.worksheet.tick import Tick

PLACES = [
    (keys.FORM_ACTIONS, WorksheetScreen),
    (keys.EVERYWHERE_ACTIONS, WorksheetScreen),
    (keys.LINE_ACTIONS, LineInput),
    (keys.TICK_ACTIONS, Tick),
    (keys.CHOICE_ACTIONS, Choice),
    (keys.REPLACE_ACTIONS, SaveDialog),
    (keys.DIALOG_ACTIONS, Dialog),
    (keys.PREVIEW_ACTIONS, PreviewDialog),
    (keys.DRAFT_ACTIONS, DraftDialog),
    (keys.CHANGE_ACTIONS, ChangesDialog),
]
#: What terminals, tmux, screen and flow control take for themselves.
EATEN = {"ctrl+s", "ctrl+q", "ctrl+a", "ctrl+z", "ctrl+c", "ctrl+b"}


@pytest.mark.parametrize(("actions", "owner"), PLACES)
def test_every_action_has_a_method(actions, owner) -> None:
    for action in actions:
        assert hasattr(owner, f"action_{action.run.partition('(')[0]}"), action.id
        assert action.help
        assert action.keys


def test_nothing_is_bound_but_what_the_table_says() -> None:
    known = {(key, action.run) for action in keys.ACTIONS for key in action.keys}
    for module in pkgutil.iter_modules(hangview.tui.worksheet.__path__, "hangview.tui.worksheet."):
        for found in vars(importlib.import_module(module.name)).values():
            if not (inspect.isclass(found) and issubclass(found, DOMNode) and found.__module__ == module.name):
                continue
            for binding in found.__dict__.get("BINDINGS", ()):
                for key in binding.key.split(","):
                    assert (key, binding.action) in known, f"{found.__name__} binds {key}"


def test_no_two_things_on_one_key() -> None:
    for actions in (keys.FORM_ACTIONS + keys.EVERYWHERE_ACTIONS, keys.DRAFT_ACTIONS + keys.DIALOG_ACTIONS):
        pressed = [key for action in actions for key in action.keys]
        assert len(pressed) == len(set(pressed))


def test_nothing_needs_a_key_that_others_eat() -> None:
    for action in keys.ACTIONS:
        if action not in keys.LINE_ACTIONS:  # undo as everywhere; a suspended terminal is no loss
            assert not EATEN.issuperset(action.keys), action.id


def test_keys_that_work_inside_fields_are_none_that_fields_use() -> None:
    taken = {key for widget in (Input, TextArea) for binding in widget.BINDINGS for key in binding.key.split(",")}  # type: ignore[union-attr]
    taken.remove("ctrl+c")  # ours hand it on instead of copying
    for action in keys.EVERYWHERE_ACTIONS:
        assert not taken.intersection(action.keys), action.id


def test_ids_are_unique_for_key_maps() -> None:
    ids = [action.id for action in keys.ACTIONS if action not in keys.PREVIEW_ACTIONS]
    assert len(ids) == len(set(ids))
