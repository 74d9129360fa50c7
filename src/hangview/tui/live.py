"""The keys as they are on this screen: the table's, but where a person changed them. No textual here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hangview.keymap import all_actions
from hangview.tui.actions import ACTIONS, show_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.tui.actions import Action

#: What an action without a key is bound to for textual, which takes an empty list for "as it was": no keyboard sends it.
NOTHING = "no_key"


@dataclass(frozen=True, slots=True)
class LiveKeys:
    """``changed``: keys by action id, by textual's names; an empty tuple takes an action's keys away."""

    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, action: Action) -> tuple[str, ...]:
        """The keys of an action by textual's names."""
        return self.changed.get(action.id, action.keys)

    def shown(self, action: Action) -> str:
        """All its keys as a person calls them, ``"?, F1"``; where it has none, how it is reached."""
        return ", ".join(show_key(key) for key in self.of(action)) or f"{self('palette')} only"

    def first(self, action: Action) -> str:
        """Its first key as a person calls it, "" for none."""
        keys = self.of(action)
        return show_key(keys[0]) if keys else ""

    def __call__(self, name: str) -> str:
        """The first key of an action by its id, for sentences: ``f"{keys('back')} goes back"``."""
        return self.first(all_actions()[name]) or f"“{all_actions()[name].label}”"

    @property
    def for_textual(self) -> dict[str, str]:
        """As ``App.set_keymap`` takes it."""
        return {name: ",".join(keys) or NOTHING for name, keys in self.changed.items()}


USUAL = LiveKeys()


#: What keys are called that do something else while there are hits of a search.
HIT_WORDS = {"next_finding": "next hit", "previous_finding": "hit before", "back": "end search"}


#: And below the top.
BELOW_WORDS = {"leave": "back, then quit"}


def key_line(live: LiveKeys = USUAL, *, hits: bool = False, below: bool = False) -> tuple[tuple[str, str], ...]:
    """(key, label) pairs for the key line, most wanted first; ``hits``: while the hits of a search are stepped through;
    ``below``: not at the top, where the key that quits goes back first."""
    shown = sorted((action for action in ACTIONS if action.footer), key=lambda action: action.footer)
    words = {**(HIT_WORDS if hits else {}), **(BELOW_WORDS if below else {})}
    return tuple(
        (live.first(action), words.get(action.id) or action.short or action.label) for action in shown if live.of(action)
    )


def live_keys(app: object) -> LiveKeys:
    """The keys of an app; the usual ones for an app that knows of none."""
    found = getattr(app, "live", USUAL)
    return found if isinstance(found, LiveKeys) else USUAL
