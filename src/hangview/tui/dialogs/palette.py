"""Commands by name: type a part of it, press enter."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.widgets import Input

from hangview.tui.actions import ACTIONS, Action, Where, show_keys
from hangview.tui.bindings import bindings_for
from hangview.tui.closing import ClosingOnce
from hangview.tui.main.panes import Pane
from hangview.tui.prose import Tone, line, pad
from hangview.tui.prose_view import Choice, ChoiceView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


def matching(typed: str) -> list[Action]:
    """Actions of the palette whose name or help holds every word that was typed, names first."""
    words = typed.casefold().split()
    offered = [action for action in ACTIONS if action.palette]
    found = [action for action in offered if all(word in f"{action.label} {action.help}".casefold() for word in words)]
    return sorted(found, key=lambda action: not all(word in action.label.casefold() for word in words))


class PaletteDialog(ClosingOnce[str | None], inherit_bindings=False):
    """Answers with the textual action to run, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.PALETTE)
    AUTO_FOCUS = "#palette-input"

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__()
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")

    def compose(self) -> ComposeResult:
        field = Input(id="palette-input", placeholder="part of a command's name", compact=True)
        field.cursor_blink = False
        yield Pane(field, ChoiceView(wrapped=False, id="palette"), id="palette-pane")

    def on_mount(self) -> None:
        view = self._list
        view.can_focus = False
        view.set_ascii(self._ascii)
        self.query_one(Pane).say_title("commands · enter does it, esc closes", ascii_only=self._ascii)
        self._fill("")

    @property
    def _list(self) -> ChoiceView:
        return self.query_one("#palette", ChoiceView)

    def _fill(self, typed: str) -> None:
        found = matching(typed)
        none = Choice(None, (line(("no command has that in its name", Tone.UNKNOWN)),))
        self._list.choose_from([_choice(action) for action in found] or [none])

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value)
        self._list.action_top()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_pick()

    def on_choice_view_opened(self) -> None:
        self.action_pick()

    def action_pick(self) -> None:
        key = self._list.key
        self.dismiss(key if isinstance(key, str) else None)

    def action_pick_up(self) -> None:
        self._list.action_move_up()

    def action_pick_down(self) -> None:
        self._list.action_move_down()

    def action_pick_nothing(self) -> None:
        self.dismiss(None)


def _choice(action: Action) -> Choice:
    return Choice(
        action.run,
        (line((pad(show_keys(action), 12), Tone.KEY), (pad(action.label, 24), Tone.STRONG), (action.help, Tone.DIM)),),
    )
