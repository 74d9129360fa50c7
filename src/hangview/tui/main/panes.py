"""Frames around the views, and the two lines at the bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.content import Content

from hangview.tui.actions import key_line
from hangview.tui.prose import Span, Tone, line, to_ascii
from hangview.tui.prose_view import ProseView

if TYPE_CHECKING:
    from textual.widget import Widget


class Pane(Vertical, inherit_bindings=False):
    """A frame with a title that carries the key of the pane, and a foot."""

    def __init__(self, *children: Widget, id: str) -> None:  # noqa: A002
        super().__init__(*children, id=id, classes="pane")
        self._title = ""
        self._foot = ""

    def say_title(self, title: str, *, ascii_only: bool) -> None:
        """Titles are plain text here, no markup: names of groups come from files."""
        text = to_ascii(title) if ascii_only else title
        if text != self._title:
            self._title = text
            self.border_title = Content(text)

    def say_foot(self, foot: str, *, ascii_only: bool) -> None:
        text = to_ascii(foot) if ascii_only else foot
        if text != self._foot:
            self._foot = text
            self.border_subtitle = Content(text)


class SingleLine(ProseView):
    """One line that cannot be focused."""

    can_focus = False

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(wrapped=False, id=id)


class KeyLine(SingleLine):
    """As many of the most wanted keys as fit, always with help."""

    def fill(self, width: int) -> None:
        pairs = list(key_line())
        shown: list[tuple[str, str]] = []
        used = 0
        for key, label in pairs:
            cells = len(key) + len(label) + 3
            if used + cells <= width + 2:
                shown.append((key, label))
                used += cells
        spans: list[Span] = []
        for key, label in shown:
            spans += [Span("  ")] if spans else []
            spans += [Span(key, Tone.KEY), Span(f" {label}", Tone.DIM)]
        self.show((line(*spans),))
