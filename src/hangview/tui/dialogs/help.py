"""Help: keys, glyphs and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hangview.tui.actions import Where
from hangview.tui.bindings import bindings_for
from hangview.tui.closing import ClosingOnce
from hangview.tui.live import live_keys
from hangview.tui.main.panes import Pane
from hangview.tui.prose import Tone
from hangview.tui.prose_view import ProseView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from hangview.tui.prose import Prose


class HelpDialog(ClosingOnce[None], inherit_bindings=False):
    """Scrolls like any text, and by sections, which have a heading each; most keys that open it also close it."""

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
        live = live_keys(self.app)
        closes = f"help · {live('close')} closes"
        steps = f"{live('next_section')} {live('previous_section')}: next section, section before"
        self.query_one(Pane).say_title((f"{closes} · {steps}", closes), ascii_only=self._ascii)

    def _step(self, by: int) -> None:
        """To the next heading below the top or above it; round the ends."""
        view = self.query_one("#help", ProseView)
        heads = [at for at, row in enumerate(view.laid()) if row.spans and row.spans[0].tone is Tone.HEAD]
        if not heads:
            return
        top, before = view.topmost, [at for at in heads if at < view.topmost]
        after = [at for at in heads if at > top]
        target = (after or heads)[0] if by > 0 else (before or heads)[-1]
        view.scroll_to_row(target)
        if view.topmost == top and by > 0:
            view.scroll_to_row(0)  # the last ones are in sight together

    def action_next_section(self) -> None:
        self._step(1)

    def action_previous_section(self) -> None:
        self._step(-1)

    def action_close(self) -> None:
        self.dismiss()
