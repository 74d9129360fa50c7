"""Wrapped, toned lines inside a form: as high as they need, never focused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from hangview.tui.prose import Tone, line, to_ascii, wrap
from hangview.tui.tones import LOOKS

if TYPE_CHECKING:
    from textual.geometry import Size

    from hangview.tui.prose import Prose

#: The looks of the panes, as textual's content writes them.
_STYLES = {tone: " ".join(filter(None, ("bold" * bold, name and f"${name}"))) for tone, (name, bold) in LOOKS.items()}
_STYLES |= {Tone.PLAIN: "", Tone.DIM: "$text-muted"}


class Lines(Widget, inherit_bindings=False):
    """Draws prose. Nothing to draw takes no room."""

    DEFAULT_CSS = "Lines { width: 1fr; height: auto; }"

    def __init__(self, prose: Prose = (), *, ascii_only: bool = False, classes: str = "", id: str | None = None) -> None:  # noqa: A002
        super().__init__(classes=classes, id=id)
        self._ascii = ascii_only
        self._prose: Prose = ()
        self.display = bool(prose)
        self.show(prose)

    @property
    def text(self) -> str:
        """The words alone, one line each."""
        return "\n".join(each.text for each in self._prose)

    def show(self, prose: Prose) -> None:
        if self._ascii:
            prose = tuple(line(*((to_ascii(span.text), span.tone) for span in each.spans), hang=each.hang) for each in prose)
        if prose == self._prose:
            return
        width = self.content_size.width
        same_height = width > 0 and len(wrap(prose, width)) == len(wrap(self._prose, width))
        self._prose = prose
        if self.display != bool(prose):
            self.display = bool(prose)
        self.refresh(layout=not same_height)

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - all there is
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - by width alone
        return len(wrap(self._prose, width))

    def render(self) -> Content:
        rows = wrap(self._prose, self.content_size.width or 80)
        return Content("\n").join(
            Content.assemble(*((span.text, _STYLES[span.tone]) for span in row.spans)) if row.spans else Content("")
            for row in rows
        )
