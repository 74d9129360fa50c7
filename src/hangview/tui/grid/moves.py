"""The grid under the hand: keys and mouse move the cursor, by row and by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.grid.widget import HEADER, RankGrid, Spot

if TYPE_CHECKING:
    from textual import events


class MovableGrid(RankGrid, inherit_bindings=True):
    """RankGrid with its moves; apart from the drawing, so that each can be read alone."""

    def _to(self, row: int, column: int) -> None:
        """Cursor to a row and a column (in blocks), as far as there are any."""
        if self.plane is None or not self.rows:
            if self.on_nothing is not None:
                self.on_nothing()
            return
        at = min(max(row, 0), len(self.rows) - 1)
        current = self.row_of.get(self.cursor.rank)
        rank = self.cursor.rank if at == current else self.rows[at].ranks[0]
        if column == self.column_of(self.cursor.seq):
            self.cursor = Spot(rank, self.cursor.seq)
        else:
            self.cursor = Spot(rank, self.plane.first + max(column, 0) * self.scale.block)

    def _by(self, rows: int, columns: int) -> None:
        self._to(self.row_of.get(self.cursor.rank, 0) + rows, self.column_of(self.cursor.seq) + columns)

    def action_move_up(self) -> None:
        self._by(-1, 0)

    def action_move_down(self) -> None:
        self._by(1, 0)

    def action_move_left(self) -> None:
        self._by(0, -1)

    def action_move_right(self) -> None:
        self._by(0, 1)

    def action_page_up(self) -> None:
        self._by(-self.scale.down, 0)

    def action_page_down(self) -> None:
        self._by(self.scale.down, 0)

    def action_half_up(self) -> None:
        self._by(-max(1, self.scale.down // 2), 0)

    def action_half_down(self) -> None:
        self._by(max(1, self.scale.down // 2), 0)

    def action_top(self) -> None:
        self._to(0, self.column_of(self.cursor.seq))

    def action_bottom(self) -> None:
        self._to(len(self.rows) - 1, self.column_of(self.cursor.seq))

    def action_row_start(self) -> None:
        self._by(0, -self.scale.columns)

    def action_row_end(self) -> None:
        self._by(0, self.scale.columns)

    def spot_at(self, x: int, y: int) -> Spot | None:
        """The cell under a point of the widget."""
        at = self.topmost + y - HEADER
        scale = self.scale
        column = self.left + (x - scale.label_width) // scale.cell_width
        if self.plane is None or x < scale.label_width or y < HEADER or at >= len(self.rows) or column >= scale.columns:
            return None
        row = self.rows[at]
        rank = self.cursor.rank if self.cursor.rank in row.ranks else row.ranks[0]
        return Spot(rank, self.plane.first + column * self.scale.block)

    def on_click(self, event: events.Click) -> None:
        spot = self.spot_at(event.x, event.y)
        if spot is None:
            return
        if self.column_of(spot.seq) == self.column_of(self.cursor.seq) and spot.rank == self.cursor.rank:
            self.post_message(self.Chosen())
        else:
            self.cursor = spot

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._by(3, 0)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._by(-3, 0)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        event.stop()
        self._by(0, 3)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        event.stop()
        self._by(0, -3)
