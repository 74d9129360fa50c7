"""Frames around the views, and the two lines at the bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region

from hangview.text import escape
from hangview.tui.live import key_line, live_keys
from hangview.tui.prose import Span, Tone, line, to_ascii
from hangview.tui.prose_view import ProseView
from hangview.tui.titles import Title, fitting, shorter

if TYPE_CHECKING:
    from textual.widget import Widget


class Pane(Vertical, inherit_bindings=False):
    """A frame with a title that carries the key of the pane, and a foot. Both are plain text, for names come from files."""

    def __init__(self, *children: Widget, id: str) -> None:  # noqa: A002
        super().__init__(*children, id=id, classes="pane")
        self._title: tuple[Title, bool] = ("", False)
        self._foot = ("", False)
        self._position = ""
        self._hint = ""

    def on_mount(self) -> None:
        for view in self.query(ProseView):
            view.on_position = self.say_position

    @property
    def position(self) -> str:
        return self._position

    def say_position(self, position: str) -> None:
        """Which lines of the view inside are in sight, before what else stands at the foot."""
        if position != self._position:
            self._position = position
            self._show_foot()

    def say_hint(self, hint: str) -> None:
        """How the rest is reached, said beside the position while there is a rest."""
        if hint != self._hint:
            self._hint = hint
            self._show_foot()

    # The public border_title repaints the whole pane with what is in it: kilobytes over ssh for each step of the cursor. So the
    # attributes behind it are set, and only the line of the frame is painted anew.

    def _show_title(self) -> None:
        self._border_title = self._fitting(*self._title)
        self.refresh(Region(-1, -1, self.outer_size.width, 1))

    def _show_foot(self) -> None:
        foot, ascii_only = self._foot
        both = "  ".join(part for part in (self._position, self._position and self._hint, foot) if part)
        fits = len(both) <= self.size.width - 4
        self._border_subtitle = self._fitting(both if fits or not self._position else self._position, ascii_only)
        self.refresh(Region(-1, self.size.height, self.outer_size.width, 1))

    def say_title(self, title: Title, *, ascii_only: bool) -> None:
        """``title``, or several forms of it: the fullest that the frame holds."""
        if (title, ascii_only) != self._title:
            self._title = title, ascii_only
            self._show_title()

    def say_foot(self, foot: str, *, ascii_only: bool) -> None:
        if (foot, ascii_only) != self._foot:
            self._foot = foot, ascii_only
            self._show_foot()

    def _fitting(self, title: Title, ascii_only: bool) -> Content:
        """As much as the frame holds; textual would cut it too, but at the end, and with a sign that is not ASCII."""
        forms = tuple(escape(to_ascii(each) if ascii_only else each) for each in shorter(title))
        room = self.size.width - 4
        return Content(fitting(forms, room, "..." if ascii_only else "…") if room > 0 else forms[-1])

    def on_resize(self) -> None:
        self._show_title()
        self._show_foot()


class SingleLine(ProseView):
    """One line that cannot be focused."""

    can_focus = False

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(wrapped=False, id=id)


class KeyLine(SingleLine):
    """As many of the most wanted keys as fit, always with help."""

    def fill(self, width: int, *, hits: bool = False, below: bool = False) -> None:
        """``hits``: the keys that step go through what was found by a search; ``below``: there is a level to go back to."""
        pairs = key_line(live_keys(self.app), hits=hits, below=below)
        shown: list[tuple[str, str]] = []
        used = 0
        for key, label in pairs:
            cells = len(key) + len(label) + 3  # with the colon and two blanks
            if used + cells <= width + 2:
                shown.append((key, label))
                used += cells
        spans: list[Span] = []
        for key, label in shown:
            spans += [Span("  ")] if spans else []
            spans += [Span(key, Tone.KEY), Span(f":{label}", Tone.DIM)]
        self.show((line(*spans),))
