"""Help: keys, glyphs and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hangview.tui.actions import Where
from hangview.tui.bindings import bindings_for
from hangview.tui.closing import ClosingOnce
from hangview.tui.live import live_keys
from hangview.tui.main.panes import Pane
from hangview.tui.prose_view import ProseView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from hangview.tui.prose import Prose


class HelpDialog(ClosingOnce[None], inherit_bindings=False):
    """Scrolls like any text; most keys that open it also close it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.DIALOG)
    AUTO_FOCUS = "#help"

    def __init__(self, lines: Prose, *, ascii_only: bool) -> None:
        super().__init__()
        self._lines = lines
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")

    def compose(self) -> ComposeResult:
        yield Pane(ProseView(id="help"), id="help-pane")

    def on_mount(self) -> None:
        view = self.query_one("#help", ProseView)
        view.set_ascii(self._ascii)
        view.show(self._lines)
        self.query_one(Pane).say_title(f"help · {live_keys(self.app)('close')} closes", ascii_only=self._ascii)

    def action_close(self) -> None:
        self.dismiss()
