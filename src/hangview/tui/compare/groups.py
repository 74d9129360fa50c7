"""The list of groups: as it gets its rows, it stands at its top, scrolled only as far as the cursor needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.prose_view import ChoiceView

if TYPE_CHECKING:
    from textual.events import Resize


class GroupsView(ChoiceView, inherit_bindings=False):
    """The cursor is set before the list has its rows: what it was scrolled for that means nothing any more."""

    BINDINGS = ChoiceView.BINDINGS

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self.open_at(self.key)
