"""The word before quitting with a worksheet that was not saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hangview.tui.actions import Where, actions_in
from hangview.tui.bindings import bindings_for
from hangview.tui.closing import ClosingOnce
from hangview.tui.live import live_keys
from hangview.tui.main.panes import Pane
from hangview.tui.prose import BLANK, Tone, line, pad
from hangview.tui.prose_view import ProseView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class LeaveDialog(ClosingOnce[str | None], inherit_bindings=False):
    """Answers "quit", "save", or None to stay."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.QUESTION)
    AUTO_FOCUS = None

    def __init__(self, word: str, *, ascii_only: bool) -> None:
        super().__init__()
        self._word = word
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")

    def compose(self) -> ComposeResult:
        yield Pane(ProseView(id="leave"), id="leave-pane")

    def on_mount(self) -> None:
        live = live_keys(self.app)
        keys = [line((pad(live.shown(action), 14), Tone.KEY), action.help) for action in actions_in(Where.QUESTION)]
        view = self.query_one("#leave", ProseView)
        view.set_ascii(self._ascii)
        view.show((line((self._word, Tone.STRONG)), BLANK, *keys))
        self.query_one(Pane).say_title("quit?", ascii_only=self._ascii)

    def action_quit_anyway(self) -> None:
        self.dismiss("quit")

    def action_quit_saving(self) -> None:
        self.dismiss("save")

    def action_quit_not(self) -> None:
        self.dismiss(None)
