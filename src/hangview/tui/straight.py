"""A key does at once what it is bound to, where nobody between the focus and the app listens to it.

textual sends a key through the queue of what has the focus and of all its parents, up to the app, which then looks what it is
bound to: a third of the time from a key to the screen. Only fields to type in listen on that way; for all else the end is the
same. textual has no public place for this; its version is pinned, and ``tests/tui/test_straight.py`` compares both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.events import Key


def heard_on_the_way(focused: DOMNode, event: Key) -> bool:
    """Whether a widget, or anything it is in, wants to be told of a key rather than of what it is bound to."""
    return any(_listens(node, event) for node in focused.ancestors_with_self if isinstance(node, Widget))


def _listens(node: Widget, event: Key) -> bool:
    kind = type(node)
    if kind._on_key is not Widget._on_key or kind.handle_key is not Widget.handle_key or hasattr(kind, "on_key"):
        return True
    return any(hasattr(kind, f"{start}{name}") for name in event.name_aliases for start in ("key_", "_key_"))
