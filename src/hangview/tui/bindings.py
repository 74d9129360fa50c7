"""Textual bindings from the table of actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding

from hangview.tui.actions import Action, Where, actions_in

if TYPE_CHECKING:
    from textual.binding import BindingType


def bindings_for(*places: Where) -> list[BindingType]:
    """Bindings of everything that works in ``places``; the ids are the actions', for key maps."""
    return [_bind(action) for place in places for action in actions_in(place) if action.keys]


def _bind(action: Action) -> Binding:
    return Binding(
        ",".join(action.keys), action.run, action.label, show=False, tooltip=action.help, id=action.id, priority=action.priority
    )
