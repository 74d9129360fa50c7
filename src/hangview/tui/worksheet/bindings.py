"""Textual bindings and key lines from the table of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.binding import Binding

from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import Line, Span, Tone, line
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from hangview.tui.actions import Action


#: Keys of several actions that stand as one in the key line.
_SHOWN = {"sheet_section(1)": "1-8"}


def bind(actions: Sequence[Action]) -> list[BindingType]:
    """Bindings; their ids are the actions', for key maps."""
    return [
        Binding(",".join(action.keys), action.run, action.label, show=False, tooltip=action.help, id=action.id)
        for action in actions
    ]


def key_line(
    actions: Sequence[Action],
    width: int,
    mode: str = "",
    live: LiveKeys = USUAL,
    words: ScreenWords = ENGLISH,
    *,
    about: str = "",
) -> Line:
    """As many keys with their words as fit, the most wanted first; before them the mode, what keys do now, and ``about``:
    to which field."""
    spans: list[Span] = [Span(f"[{mode}]", Tone.LEAD)] if mode else []
    used = cell_len(mode) + 4 if mode else 0
    if about:
        spans.append(Span(f" {about}"))
        used += cell_len(about) + 1
    for action in actions:
        key = (_SHOWN.get(action.id) if live.of(action) == action.keys else None) or live.first(action)
        if not key:
            continue
        label = words.label(action)
        cells = cell_len(key) + cell_len(label) + (3 if spans else 1)
        if used + cells > width:
            break
        used += cells
        spans += [Span("  ")] if spans else []
        spans += [Span(key, Tone.KEY), Span(f":{label}", Tone.DIM)]
    return line(*spans)
