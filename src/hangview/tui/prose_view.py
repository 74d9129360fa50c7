"""Two widgets that draw prose: ``ProseView`` for reading, ``ChoiceView`` for choosing one of many items.

Both draw a line at a time, wrap to their width with hanging indents, and have no scrollbar: the pane's frame says which lines
are in sight, which costs nothing over ssh and is ASCII where that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from textual.geometry import Region, clamp
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from hangview.tui.actions import Where
from hangview.tui.bindings import bindings_for
from hangview.tui.prose import Line, Prose, clip, drawn, wrap
from hangview.tui.tones import tone_style

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType

    from hangview.tui.prose import Tone


class ProseView(Widget, can_focus=True, inherit_bindings=False):
    """Lines of prose. ``wrapped`` False clips each line to one row instead."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.TEXT)
    ALLOW_SELECT = False

    def __init__(self, *, wrapped: bool = True, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.wrapped = wrapped
        self.ascii = False
        self.prose: Prose = ()
        self.topmost = 0
        self.on_position: Callable[[str], None] | None = None  #: told which rows are in sight, "" for all
        self._laid: tuple[int, list[Line]] | None = None
        self._looks: dict[Tone, Style] = {}

    def show(self, prose: Prose, *, top: bool = True) -> None:
        """Draw other lines; ``top`` starts at the first, else the part in sight stays."""
        if prose == self.prose:
            return
        before = self._in_sight()
        self.prose, self._laid = prose, None
        self.topmost = 0 if top else min(self.topmost, self._lowest())
        self._refresh_changed(before)
        self.say_position()

    def _in_sight(self) -> list[Line]:
        return self.laid()[self.topmost : self.topmost + self.size.height]

    def _refresh_changed(self, before: list[Line]) -> None:
        """Paint only the rows that are not what they were: over ssh each one counts."""
        after = self._in_sight()
        for y in range(max(len(before), len(after))):
            if before[y : y + 1] != after[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))

    def set_ascii(self, ascii_only: bool) -> None:
        self.ascii, self._laid = ascii_only, None
        self.refresh()

    def laid(self) -> list[Line]:
        """The rows at the present width; none while it is hidden, and has no width to wrap them to."""
        width = self.size.width
        if width == 0:
            return []
        if self._laid is None or self._laid[0] != width:
            self._laid = (width, self._lay(self._spelled(self.prose), width))
        return self._laid[1]

    def _lay(self, prose: Prose, width: int) -> list[Line]:
        return wrap(prose, width) if self.wrapped else [clip(each, width, "..." if self.ascii else "…") for each in prose]

    def _spelled(self, prose: Prose) -> Prose:
        return tuple(drawn(each, ascii_only=True) for each in prose) if self.ascii else prose

    def rows_needed(self, width: int) -> int:
        """How many rows the prose takes at ``width``."""
        return len(self._lay(self._spelled(self.prose), max(1, width)))

    def say_position(self) -> None:
        """The part in sight, in the frame of the pane around, where not everything is."""
        if self.on_position is not None:
            total, height = len(self.laid()), self.size.height
            first = min(self.topmost + 1, total)
            self.on_position(f"{first}-{min(total, self.topmost + height)} of {total}" if total > height > 0 else "")

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks = {}

    def _look(self, tone: Tone) -> Style:
        if tone not in self._looks:
            self._looks[tone] = tone_style(self, tone)
        return self._looks[tone]

    def render_line(self, y: int) -> Strip:
        rows, width = self.laid(), self.size.width
        at = self.topmost + y
        if at >= len(rows):
            return Strip.blank(width, self.rich_style)
        return self._strip(rows[at], width, None)

    def _strip(self, row: Line, width: int, over: Style | None) -> Strip:
        segments = [Segment(span.text, self._look(span.tone) + over if over else self._look(span.tone)) for span in row.spans]
        rest = self.rich_style + over if over else self.rich_style
        return Strip(segments).adjust_cell_length(width, rest)

    def on_resize(self, event: events.Resize) -> None:
        event.stop()
        self._laid = None
        self.refresh()  # it has a size again: what was shown while it was hidden marked no row, and textual kept the old ones
        self.scroll_to_row(self.topmost)

    def _lowest(self) -> int:
        """The row at the top where the last one is at the bottom. While it is hidden nobody knows: it stays where it was."""
        return max(0, len(self.laid()) - max(1, self.size.height)) if self.size.width else self.topmost

    def scroll_to_row(self, row: int) -> None:
        top = clamp(row, 0, self._lowest())
        if top != self.topmost:
            self.topmost = top
            self.refresh()
        self.say_position()

    def action_move_up(self) -> None:
        self.scroll_to_row(self.topmost - 1)

    def action_move_down(self) -> None:
        self.scroll_to_row(self.topmost + 1)

    def action_page_up(self) -> None:
        self.scroll_to_row(self.topmost - self.size.height)

    def action_page_down(self) -> None:
        self.scroll_to_row(self.topmost + self.size.height)

    def action_half_up(self) -> None:
        self.scroll_to_row(self.topmost - max(1, self.size.height // 2))

    def action_half_down(self) -> None:
        self.scroll_to_row(self.topmost + max(1, self.size.height // 2))

    def action_top(self) -> None:
        self.scroll_to_row(0)

    def action_bottom(self) -> None:
        self.scroll_to_row(len(self.laid()))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_to_row(self.topmost + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_to_row(self.topmost - 3)


class Choice(NamedTuple):
    """One item: a key that survives new files, and its lines."""

    key: Hashable
    lines: Prose


class ChoiceView(ProseView, inherit_bindings=False):
    """Items of one or more lines, one of them under the cursor. ``chosen`` is its number."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prose--selected", "prose--selected-blurred"}
    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.LIST)

    chosen: var[int] = var(0, init=False)

    class Moved(Message):
        """Another item is under the cursor."""

        def __init__(self, view: ChoiceView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> ChoiceView:
            return self.view

    class Beyond(Moved):
        """A page further than the last item was asked for, or (``rows`` below 0) than the first."""

        def __init__(self, view: ChoiceView, rows: int) -> None:
            super().__init__(view)
            self.rows = rows

    class Opened(Moved):
        """The item under the cursor was clicked again."""

    def __init__(self, *, wrapped: bool = True, id: str | None = None) -> None:  # noqa: A002
        super().__init__(wrapped=wrapped, id=id)
        self.choices: tuple[Choice, ...] = ()
        self._starts: list[int] = []

    def choose_from(self, choices: Sequence[Choice]) -> None:
        """Other items; the cursor stays on the one with the same key."""
        before = self.key
        self.choices = tuple(choices)
        self._laid = None
        at = next((at for at, choice in enumerate(self.choices) if choice.key == before), 0)
        self.set_reactive(ChoiceView.chosen, at)
        self._show_chosen()
        self.refresh()

    @property
    def key(self) -> Hashable | None:
        """The key of the item under the cursor."""
        return self.choices[self.chosen].key if self.chosen < len(self.choices) else None

    def choose(self, key: Hashable) -> None:
        """Cursor to the item with this key, if there is one; says nothing to anybody."""
        for at, choice in enumerate(self.choices):
            if choice.key == key and at != self.chosen:
                self.set_reactive(ChoiceView.chosen, at)
                self._show_chosen()
                self.refresh()

    def _lay(self, prose: Prose, width: int) -> list[Line]:  # noqa: ARG002 - the choices are what is laid out
        rows: list[Line] = []
        self._starts = []
        for choice in self.choices:
            self._starts.append(len(rows))
            rows.extend(super()._lay(self._spelled(choice.lines), width))
        self._starts.append(len(rows))
        return rows

    def render_line(self, y: int) -> Strip:
        rows, width = self.laid(), self.size.width
        at = self.topmost + y
        if at >= len(rows):
            return Strip.blank(width, self.rich_style)
        if self.choices and self._starts[self.chosen] <= at < self._starts[self.chosen + 1]:
            name = "prose--selected" if self.has_focus else "prose--selected-blurred"
            return self._strip(rows[at], width, self.get_component_rich_style(name, partial=True))
        return self._strip(rows[at], width, None)

    def validate_chosen(self, value: int) -> int:
        return clamp(value, 0, max(0, len(self.choices) - 1))

    def watch_chosen(self, old: int, new: int) -> None:
        if old != new:
            self._show_chosen()
            self.refresh()
            self.post_message(self.Moved(self))

    def _show_chosen(self) -> None:
        """Scroll as little as needed for the whole item to be in sight, its first row at least; above it stand whole items.
        Nothing while it is hidden: it has no rows then, and looks again when it is shown."""
        height = self.size.height
        if not self.choices or height == 0:
            return
        self.laid()
        first, end = self._starts[self.chosen], self._starts[self.chosen + 1]
        top = self.topmost
        if end > top + height:
            top = next(start for start in self._starts if start >= min(end - height, first))
        self.scroll_to_row(min(top, first))

    def _lowest(self) -> int:
        """The first row of an item, also where that leaves rows free at the bottom; of one that is too long its last rows."""
        lowest = super()._lowest()
        return next((start for start in self._starts[:-1] if start >= lowest), lowest)

    def open_at(self, key: Hashable | None) -> None:
        """As it opens: from its first item, scrolled only as far as the one with this key needs."""
        at = next((at for at, choice in enumerate(self.choices) if choice.key == key), 0)
        self.set_reactive(ChoiceView.chosen, at)
        self.topmost = 0
        self._show_chosen()
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._show_chosen()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        at = self.topmost + event.y
        for number in range(len(self.choices)):
            if self._starts[number] <= at < self._starts[number + 1]:
                if number == self.chosen:
                    self.post_message(self.Opened(self))
                self.chosen = number

    def action_move_up(self) -> None:
        self.chosen -= 1

    def action_move_down(self) -> None:
        self.chosen += 1

    def action_page_up(self) -> None:
        self._page(-self.size.height)

    def action_page_down(self) -> None:
        self._page(self.size.height)

    def action_half_up(self) -> None:
        self._page(-(self.size.height // 2))

    def action_half_down(self) -> None:
        self._page(self.size.height // 2)

    def _page(self, rows: int) -> None:
        """About so many rows up or down, at least one item."""
        if not self.choices:
            return
        target = self._starts[self.chosen] + rows
        at = max((number for number in range(len(self.choices)) if self._starts[number] <= max(target, 0)), default=0)
        before = self.chosen
        self.chosen = at if at != before else before + (1 if rows > 0 else -1)
        if self.chosen == before:
            self.post_message(self.Beyond(self, rows))

    def action_top(self) -> None:
        self.chosen = 0

    def action_bottom(self) -> None:
        self.chosen = len(self.choices) - 1
