"""Commands by name: type a part of it, press enter."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from hangview.tui.actions import ACTIONS, Action, Where
from hangview.tui.bindings import bindings_for
from hangview.tui.closing import ClosingOnce
from hangview.tui.live import LiveKeys, live_keys
from hangview.tui.main.panes import Pane
from hangview.tui.prose import Tone, line, pad
from hangview.tui.prose_view import Choice, ChoiceView
from hangview.tui.search import terms_of
from hangview.tui.typed_line import TypedLine

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widgets import Input


def matching(typed: str) -> list[Action]:
    """Actions of the palette whose name or help holds every word that was typed, names first."""
    words = typed.casefold().split()
    offered = [action for action in ACTIONS if action.palette]
    found = [action for action in offered if all(word in f"{action.label} {action.help}".casefold() for word in words)]
    return sorted(found, key=lambda action: not all(word in action.label.casefold() for word in words))


class Picked(NamedTuple):
    """An action to run, or a place to go to as it was typed; the other is ""."""

    action: str = ""
    place: str = ""


def place_typed(typed: str) -> bool:
    """Whether it names a place, as in ``rank 37``."""
    try:
        return bool(terms_of(typed)) or (typed.strip().isascii() and typed.strip().isdigit())
    except ValueError:
        return False


class PaletteDialog(ClosingOnce[Picked | None], inherit_bindings=False):
    """Answers with what was picked, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.PALETTE)
    AUTO_FOCUS = "#palette-input"

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__()
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")

    def compose(self) -> ComposeResult:
        field = TypedLine(
            id="palette-input", placeholder="part of a command's name; or rank 37, seq 1820, group dp_3", compact=True
        )
        field.cursor_blink = False
        yield Pane(field, ChoiceView(wrapped=False, id="palette"), id="palette-pane")

    def on_mount(self) -> None:
        view, live = self._list, live_keys(self.app)
        view.can_focus = False
        view.set_ascii(self._ascii)
        self.query_one(Pane).say_title(
            f"commands · {live('pick')} does it, {live('pick_nothing')} closes", ascii_only=self._ascii
        )
        self._fill("")

    @property
    def _list(self) -> ChoiceView:
        return self.query_one("#palette", ChoiceView)

    def _fill(self, typed: str) -> None:
        live = live_keys(self.app)
        choices = [_choice(action, live) for action in matching(typed)]
        if place_typed(typed):
            choices.insert(0, Choice(Picked(place=typed.strip()), (line(("go to ", Tone.KEY), (typed.strip(), Tone.STRONG)),)))
        none = Choice(None, (line(("no command has that in its name, and it is no place like rank 37", Tone.UNKNOWN)),))
        self._list.choose_from(choices or [none])

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
        self.dismiss(key if isinstance(key, Picked) else None)

    def action_pick_up(self) -> None:
        self._list.action_move_up()

    def action_pick_down(self) -> None:
        self._list.action_move_down()

    def action_pick_nothing(self) -> None:
        self.dismiss(None)


def _choice(action: Action, live: LiveKeys) -> Choice:
    return Choice(
        Picked(action.run),
        (line((pad(live.shown(action), 12), Tone.KEY), (pad(action.label, 24), Tone.STRONG), (action.help, Tone.DIM)),),
    )
