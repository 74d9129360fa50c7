"""RankGrid: draws one lane's cells a line at a time, only what is in sight.

A plain line-API widget with offsets of its own and not a ScrollView: rows fold by what is in sight, so the number of rows
changes with every step sideways, and a changed virtual size would lay out the screen anew each time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Region, clamp
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from hangview.tui.actions import Where
from hangview.tui.bindings import bindings_for
from hangview.tui.glyphs import BY_LOG_CODE, CODES, GLYPHS, STYLES
from hangview.tui.grid.header import ticks, whole_labels
from hangview.tui.grid.plane import RUNS, Plane, Row, fold, label_ranks
from hangview.tui.grid.scale import Scale, scale_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType

HEADER = 2
_label_ranks = lru_cache(512)(label_ranks)  # the row under the cursor, which may fold a thousand, is drawn anew at every step


class Spot(NamedTuple):
    """Where the cursor is, in words that survive folding, zooming and new files."""

    rank: int
    seq: int


class RankGrid(Widget, can_focus=True, inherit_bindings=False):
    """The grid of one lane. ``cursor`` is a Spot; watch it with ``app.watch`` to answer in the same turn of the loop."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.GRID)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "grid--header", "grid--label", "grid--label-lead", "grid--current", "grid--cursor", "grid--divergence", "grid--by-log",
        *(f"grid--{style}" for style in STYLES),
    }  # fmt: skip
    ALLOW_SELECT = False

    cursor: var[Spot] = var(Spot(0, 0), init=False)

    class Chosen(Message):
        """A cell was clicked that was under the cursor already."""

    class Resized(Message):
        """It has another size, or any again after it was hidden: what depends on the part in sight is no longer true."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.plane: Plane | None = None
        self.ascii = False
        self.unfolded = False
        self.pinned: frozenset[int] = frozenset()
        self.only: frozenset[int] | None = None
        self.divergence: int | None = None
        self.level = 0
        self.left = 0  #: first column in sight, in blocks
        self.topmost = 0  #: first row in sight
        self.on_position: Callable[[str], None] | None = None  #: told which rows are in sight, "" for all
        self.on_nothing: Callable[[], None] | None = None  #: told of a move where there is no cell to go to
        self._rows: list[Row] | None = None
        self._row_of: dict[int, int] = {}
        self._strips: LRUCache[tuple[int, int], Strip] = LRUCache(512)
        self._segments: dict[tuple[int, int], Segment] = {}
        self._styles: list[Style] = []
        self._looks: dict[str, Style] = {}

    # What is shown

    def show(self, plane: Plane, spot: Spot, divergence: int | None, *, keep: bool) -> None:
        """Draw ``plane`` with the cursor at ``spot``; ``keep`` leaves the part in sight where it is, by seq."""
        first_seq = self.first_seq if keep and self.plane is not None else None
        self.plane, self.divergence = plane, divergence
        self.level = min(self.level, len(self.scale.levels) - 1)
        if first_seq is not None:
            self.left = clamp((first_seq - plane.first) // self.scale.block, 0, self.last_left)
        else:
            self.topmost = 0
            self._open_at(divergence if divergence is not None else spot.seq)
        self.forget_rows()
        self.set_reactive(RankGrid.cursor, self.validate_cursor(spot))
        self.scroll_into_view()
        self.refresh()

    def _open_at(self, seq: int) -> None:
        """The divergence in sight with agreed calls at its left, and the newest calls at its right where they fit."""
        assert self.plane is not None
        scale = self.scale
        column = (seq - self.plane.first) // scale.block
        agreed = min(5, max(1, scale.across // 3))
        self.left = clamp(self.last_left, 0, max(0, column - agreed))

    def forget_rows(self) -> None:
        """Fold again at the next drawing: something in sight changed."""
        self._rows = None
        self._strips.clear()

    def set_rows(
        self, *, unfolded: bool | None = None, pinned: Iterable[int] | None = None, only: Iterable[int] | bool | None = False
    ) -> None:
        """Change which rows there are; ``only`` None shows all ranks again."""
        if unfolded is not None:
            self.unfolded = unfolded
        if pinned is not None:
            self.pinned = frozenset(pinned)
        if not isinstance(only, bool):
            self.only = None if only is None else frozenset(only)
        self.forget_rows()
        self.topmost = 0
        if self.plane is not None and self.cursor.rank not in self.row_of and self.rows:
            self.cursor = Spot(self.rows[0].ranks[0], self.cursor.seq)
        self.scroll_into_view()
        self.refresh()

    # Geometry

    @property
    def scale(self) -> Scale:
        """How much fits at this size and zoom."""
        width, height = self.size
        return scale_of(width, height - HEADER, self.plane.columns if self.plane else 0, self.level)

    @property
    def last_left(self) -> int:
        scale = self.scale
        return max(0, scale.columns - scale.across)

    @property
    def first_seq(self) -> int:
        return (self.plane.first if self.plane else 0) + self.left * self.scale.block

    @property
    def last_seq(self) -> int:
        """The last seq in sight."""
        scale = self.scale
        last = self.first_seq + scale.across * scale.block - 1
        return min(last, self.plane.last) if self.plane else last

    @property
    def rows(self) -> list[Row]:
        if self._rows is None:
            plane = self.plane
            self._rows = []
            if plane is not None:
                scale = self.scale
                high = min(scale.columns, self.left + scale.across)
                data = plane.data(scale.block)
                self._rows = fold(
                    plane, data, self.left, high, unfolded=self.unfolded, pinned=self.pinned, only=self.only
                )  # fmt: skip
            self._row_of = {rank: at for at, row in enumerate(self._rows) for rank in row.ranks}
            self._strips.clear()
        return self._rows

    @property
    def row_of(self) -> dict[int, int]:
        """Rank to the number of its row."""
        _ = self.rows
        return self._row_of

    @property
    def current_row(self) -> Row | None:
        at = self.row_of.get(self.cursor.rank)
        return self.rows[at] if at is not None else None

    def column_of(self, seq: int) -> int:
        return (seq - self.plane.first) // self.scale.block if self.plane else 0

    # Drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = []
        self._looks.clear()
        self._segments.clear()
        self._strips.clear()

    def set_ascii(self, ascii_only: bool) -> None:
        self.ascii = ascii_only
        self._segments.clear()
        self._strips.clear()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.plane is None:
            return Strip.blank(width, self.rich_style)
        if y < HEADER:
            return self._header(y, width)
        at = self.topmost + y - HEADER
        if at >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[at]
        if self.cursor.rank in row.ranks and self.row_of[self.cursor.rank] == at:
            return self._row(row, width, self.column_of(self.cursor.seq) - self.left)
        strip = self._strips.get((at, width))
        if strip is None:
            strip = self._strips[at, width] = self._row(row, width, None)
        return strip

    def _look(self, name: str, *, partial: bool = False) -> Style:
        """The style of a part by its class, found once: a step of the cursor asks for six."""
        if name not in self._looks:
            self._looks[name] = self.get_component_rich_style(name, partial=partial)
        return self._looks[name]

    def _segment(self, code: int, length: int) -> Segment:
        """``length`` cells of one drawn code, made once."""
        known = self._segments.get((code, length))
        if known is None:
            glyph = GLYPHS[code & ~BY_LOG_CODE]
            text = (glyph.ascii if self.ascii else glyph.unicode).ljust(self.scale.cell_width)
            known = self._segments[code, length] = Segment(text * length, self._code_styles[code])
        return known

    @property
    def _code_styles(self) -> list[Style]:
        if not self._styles:
            by_log = self._look("grid--by-log", partial=True)
            for code in range(CODES):
                base = code & ~BY_LOG_CODE
                style = self._look(f"grid--{GLYPHS[base].style if base in GLYPHS else 'none'}")
                self._styles.append(style + by_log if code & BY_LOG_CODE else style)
        return self._styles

    def _label(self, row: Row, current: bool) -> Segment:
        width = self.scale.label_width
        sign = row.standing.mark
        text = f"{sign}{'*' if row.pinned else ' '}{_label_ranks(row.ranks, width - 3)}"
        style = self._look("grid--label-lead" if sign == "!" else "grid--label")
        if current:
            style += self._look("grid--current", partial=True)
        return Segment(text[: width - 1].ljust(width), style)

    def _row(self, row: Row, width: int, cursor: int | None) -> Strip:
        segments = [self._label(row, cursor is not None)]
        data = row.data
        if cursor is None or not 0 <= cursor < len(data):
            parts: list[tuple[int, int]] = [(0, len(data))]
        else:
            parts = [(0, cursor), (cursor + 1, len(data))]
        for low, high in parts:
            runs = (run.span() for run in RUNS.finditer(data, low, high))
            segments.extend(self._segment(data[start], end - start) for start, end in runs)
            if cursor is not None and high == cursor:
                glyph = self._segment(data[cursor], 1).text
                segments.append(Segment(glyph[:1], self._look("grid--cursor")))
                if len(glyph) > 1:
                    segments.append(Segment(glyph[1:], self.rich_style))
        scale = self.scale
        used = scale.label_width + len(data) * scale.cell_width
        if used < width:
            segments.append(Segment(" " * (width - used), self.rich_style))
        return Strip(segments, max(width, used)).crop(0, width)

    def _header(self, y: int, width: int) -> Strip:
        assert self.plane is not None
        style, scale = self._look("grid--header"), self.scale
        label, block, cell_width = scale.label_width, scale.block, scale.cell_width
        count = min(scale.columns - self.left, scale.across)
        if y == 0:
            text = whole_labels(self.first_seq, count, block, cell_width, max(0, width - label))
            return Strip([Segment(f"{'seq':<{label}}{text}"[:width].ljust(width), style)], width)
        marks = {self.column_of(self.cursor.seq) - self.left: ("v", "grid--cursor")}
        if self.divergence is not None:
            marks.setdefault(self.column_of(self.divergence) - self.left, ("!", "grid--divergence"))
        text = f"{'  rank':<{label}}{ticks(self.first_seq, count, block, cell_width)}"[:width].ljust(width)
        segments: list[Segment] = []
        at = 0
        for column, (sign, name) in sorted(marks.items()):
            x = label + column * cell_width
            if 0 <= column < count and x < width:
                segments += [Segment(text[at:x], style), Segment(sign, self._look(name))]
                at = x + 1
        segments.append(Segment(text[at:], style))
        return Strip(segments, width)

    # The cursor

    def validate_cursor(self, value: Spot) -> Spot:
        plane = self.plane
        if plane is None or not plane.ranks:
            return value
        rank = value.rank if value.rank in plane.index else plane.ranks[0]
        return Spot(rank, clamp(value.seq, plane.first, plane.last))

    def watch_cursor(self, old: Spot, new: Spot) -> None:
        before = self.left, self.topmost
        self.scroll_into_view()
        if before != (self.left, self.topmost):
            self.refresh()
        else:
            width = self.size.width
            for at in {self.row_of.get(old.rank), self.row_of.get(new.rank)} - {None}:
                assert at is not None
                y = HEADER + at - self.topmost
                if HEADER <= y < self.size.height:
                    self.refresh(Region(0, y, width, 1))
            self.refresh(Region(0, 1, width, 1))

    def scroll_into_view(self) -> None:
        """Move what is in sight as little as needed for the cursor to be in it."""
        if self.plane is None:
            return
        scale, column = self.scale, self.column_of(self.cursor.seq)
        left = clamp(self.left, 0, self.last_left)
        if not left <= column < left + scale.across:
            far = column < left - 1 or column > left + scale.across
            left = clamp(
                column - scale.across // 2 if far else column if column < left else column - scale.across + 1, 0, self.last_left
            )
        if left != self.left:
            self.left = left
            self.forget_rows()
        at = self.row_of.get(self.cursor.rank, 0)
        top = clamp(self.topmost, 0, max(0, len(self.rows) - scale.down))
        if not top <= at < top + scale.down:
            top = at if at < top else at - scale.down + 1
        self.topmost = top
        if self.on_position is not None:
            total, end = len(self.rows), min(len(self.rows), top + scale.down)
            self.on_position(f"rows {top + 1:,}-{end:,} of {total:,}" if total > scale.down and self.size.height else "")

    def on_resize(self, event: events.Resize) -> None:
        event.stop()
        self.level = min(self.level, len(self.scale.levels) - 1)
        self.left = clamp(self.left, 0, self.last_left)
        self.forget_rows()
        self.scroll_into_view()
        self.refresh()
        self.post_message(self.Resized())

    def set_level(self, level: int) -> bool:
        """Zoom; False where there is no such level."""
        if not 0 <= level < len(self.scale.levels) or level == self.level:
            return False
        before = self.column_of(self.cursor.seq) - self.left
        self.level = level
        self._segments.clear()
        self.left = clamp(self.column_of(self.cursor.seq) - before, 0, self.last_left)
        self.forget_rows()
        self.scroll_into_view()
        self.refresh()
        return True
