"""Of what is on the screen, only widgets that have changed are drawn again, no more lines than that takes, and at once.

textual draws every widget between the uppermost and the lowest change: a step of the cursor changes two lines of the grid and
the status line at the bottom, and all panes would be drawn for it, whole. And it draws them when word of the change has gone
through the queues of the widget and of the screen, and a timer has come round. textual has no public place for this; its
version is pinned, and ``tests/tui/test_painting.py`` compares what is drawn with what textual would have drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._compositor import Compositor
from textual.geometry import Region

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual._compositor import ChopsUpdate
    from textual.screen import Screen
    from textual.strip import Strip


class SparingCompositor(Compositor):
    """textual's, which looks for a partial update only at widgets that can be seen in the changed regions."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: tuple[Region, ...] | None = None

    def render_partial_update(self) -> ChopsUpdate | None:
        self._changed = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = None

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if self._changed is None:
            yield from super()._get_renders(crop)
            return
        uncovered = self._changed
        for widget, (region, clip) in self.visible_widgets.items():  # the front comes first
            seen = region.intersection(clip)
            touched = [seen.intersection(changed) for changed in uncovered if seen.overlaps(changed)]
            if not touched:
                continue
            first, last = min(part.y for part in touched), max(part.bottom for part in touched)
            lines = Region(seen.x, first, seen.width, last - first)
            yield region, lines, widget.render_lines(lines.translate(-region.offset))
            uncovered = tuple(changed for changed in uncovered if not seen.contains_region(changed))
            if not uncovered:
                return


def paint_now(screen: Screen[object]) -> None:
    """Draw what a key has changed, if that is all there is to do: what is laid out anew is left to textual."""
    whole = screen._layout_required or screen._scroll_required or screen._repaint_required or screen._recompose_required
    if whole or not screen.is_current or screen.app._batch_count:
        return
    for widget in screen._compositor.visible_widgets:
        if widget._repaint_required and not widget._layout_required and not widget._scroll_required:
            widget._repaint_required = False
            screen._dirty_widgets.add(widget)
    if screen._dirty_widgets:
        screen._compositor.update_widgets(screen._dirty_widgets)
        screen._compositor_refresh()
