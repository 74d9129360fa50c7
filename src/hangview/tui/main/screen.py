"""The main screen's keys: panes, drilling down, going back, marking, zooming, copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hangview.text import count
from hangview.tui.actions import Where
from hangview.tui.bindings import bindings_for
from hangview.tui.grid.moves import MovableGrid
from hangview.tui.main.base import CENTERS
from hangview.tui.main.recalling import RecallingScreen
from hangview.tui.main.refusing import in_grid, no_grid, no_incident
from hangview.tui.place import Place, opening_of, place_of
from hangview.tui.prose_view import ChoiceView, ProseView
from hangview.tui.text.details import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.binding import BindingType
    from textual.widget import Widget

NO_CALL = "there is no call to look at: none was recorded"
_PANES = {1: "groups", 2: "grid", 3: "details", 4: "findings", 5: "waits"}


class MainScreen(RecallingScreen, inherit_bindings=False):
    """Everything that can be pressed outside a dialog; the keys are in ``hangview.tui.actions``."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for(Where.EVERYWHERE)

    # Panes

    def action_pane(self, number: int) -> None:
        name, self.origin = _PANES[number], ""
        if name == "grid":
            self._to_grid()
        else:
            if name in ("findings", "waits") and name != self.center:
                self._open_list(name)
            self._focus(name)
        self.show_rest()

    def _open_list(self, name: str) -> None:
        """A list in the middle: the findings at the current one, who waits for whom at its call, else at the lead."""
        self.center = name
        self.choices(name).open_at(self.finding_at if name == "findings" else self._waits_of_finding())
        self.prose("finding").scroll_to_row(0)

    def _waits_of_finding(self) -> object:
        """The key of the first line of who waits for whom that is about the current finding's call."""
        here = place_of(self.incident, self.finding) if self.incident is not None and self.finding is not None else None
        keys = (choice.key for choice in self.choices("waits").choices)
        at_call = (key for key in keys if here is not None and isinstance(key, tuple) and key[1] and key[1][:3] == here[:3])
        return next(at_call, None)

    def _to_grid(self) -> None:
        """The grid in the middle, or what stands in its place before the first call."""
        self.center = "grid"
        if self.incident is not None:
            self.show_middle(self.incident)
        elif self.heads is not None:
            self.waiting_for_calls, self.center = True, "text"
        self._focus(self.center)

    def _focus(self, name: str) -> None:
        widget = self.query_one(f"#{name}")
        self.pane(name).display = True
        if name in ("grid", "findings", "waits", "text"):
            self.query_one("#center").display = True
        widget.focus()

    def stops(self) -> list[Widget]:
        below = ["finding", "details"] if self.center == "findings" else ["details", "finding"]
        names = ["groups", self.center, *below]
        return [self.query_one(f"#{name}") for name in names if self.pane(name).display]

    def tab(self, step: int) -> None:
        super().tab(step)
        self.show_rest()

    # Down and back

    def action_details(self) -> None:
        focused = self.focused
        if self.incident is None:
            self.say(no_incident(self))
        elif isinstance(focused, ChoiceView):
            self._open_choice(focused)
        elif self.center == "text":
            self.say(f"nothing lies deeper here: {self.key('back')} goes back" if not self.waiting_for_calls else NO_CALL)
        elif self.arranged is not None and self.arranged.bottom == 0 and self.center == "grid":
            self._focus("details")  # no room for both: the call first, it was not in sight yet
            self.show_rest()
        elif self.place is not None:
            if self.level + 1 < len(LEVELS):
                self.level += 1
                self.show_rest()
            else:
                self.say(f"this is the last level: {self.key('back')} goes back up")
        else:
            self.say(NO_CALL)

    def _open_choice(self, view: ChoiceView) -> None:
        assert self.incident is not None
        key, opened = view.key, False
        if view.id == "groups":
            lane = next((each for each in self.incident.lanes if (each.group, each.lane) == key), None)
            opened = lane is not None
            if lane is not None:
                self.go(opening_of(self.incident, lane))
        elif view.id == "findings" and isinstance(key, int):
            self.center, opened = "grid", True
            self.show_finding_number(key)
        elif view.id == "waits" and isinstance(key, tuple) and isinstance(key[1], Place):
            self.go(key[1])
            opened = True
        if opened and self.center == "grid":
            self.origin = view.id or ""
        else:
            self.say("there is no call to go to: this line is about none")

    def action_back(self) -> None:
        if self.hits:
            self.hits, self.hit_at = [], -1
            self.share_out()
            self.show_status()
            self.say(f"search ended: {self.key('next_finding')} steps through findings again")
        elif not self.go_back():
            self.say(f"this is the top: {self.key('leave')} quits")

    def go_back(self) -> bool:
        step = self._way_back()
        if step is None:
            return False
        step()
        self.show_rest()
        return True

    def at_top(self) -> bool:
        step = self._way_back()
        return step is None or (step == self._to_center and self.focused is None)  # no pane is in sight yet that was gone to

    def _way_back(self) -> Callable[[], None] | None:
        """What one level back does; None at the top."""
        in_list = self.center in ("findings", "waits")
        if self.center == "text" and not self.waiting_for_calls:
            return self._to_grid  # the files stand alone: what is below the grid is out of sight meanwhile
        if self.level > 0 and self.pane("details").display:
            return self._level_up
        if in_list and self.focused is self.prose("details"):
            return self._to_center  # the list that it was gone to from
        if in_list:
            return self._to_grid
        if self.focused is not self.query_one(f"#{self.center}"):
            return self._to_center
        return self._to_origin if self.origin else None

    def _level_up(self) -> None:
        self.level -= 1

    def _to_center(self) -> None:
        self._focus(self.center)

    def _to_origin(self) -> None:
        """The list again that the grid was reached from, on the item that was opened."""
        name, self.origin = self.origin, ""
        self.center = name if name in CENTERS else self.center
        self._focus(name)

    # Rows and columns

    @in_grid
    def action_mark(self) -> None:
        place = self.place
        if place is None:
            return
        pinned = self.grid.pinned ^ {place.rank}
        self.grid.set_rows(pinned=pinned)
        self.show_rest()
        self.say(f"rank {place.rank} {'marked' if place.rank in pinned else 'no longer marked'} · {len(pinned)} marked in all")

    @in_grid
    def action_clear_marks(self) -> None:
        had = len(self.grid.pinned)
        self.grid.set_rows(pinned=())
        self.show_rest()
        self.say(f"{count(had, 'mark')} taken away" if had else "nothing is marked")

    def action_unfold(self) -> None:
        """The files where they are in sight, else the rows of the grid."""
        if self.center == "text" and self.incident is not None:
            self.files_unfolded = not self.files_unfolded
            before = self.prose("text").prose
            self.show_files(self.incident)
            if self.prose("text").prose == before:
                self.say("every file has a line already")
        else:
            self._unfold_rows()

    def _unfold_rows(self) -> None:
        why = no_grid(self, "unfold")
        if why:
            self.say(why)
            return
        self.grid.set_rows(unfolded=not self.grid.unfolded)
        self.show_rest()

    @in_grid
    def action_zoom_out(self) -> None:
        self._zoom(1)

    @in_grid
    def action_zoom_in(self) -> None:
        self._zoom(-1)

    def _zoom(self, step: int) -> None:
        if self.grid.set_level(self.grid.level + step):
            self.show_frame()
            self.show_status()
        else:
            self.say("the whole lane is in sight" if step > 0 else "this is as near as it gets")

    # The rest

    def action_sources(self) -> None:
        if self.incident is None:
            self.say(no_incident(self))
        else:
            if self.center != "text":
                self.prose("text").scroll_to_row(0)
            self.center, self.waiting_for_calls = "text", False
            self.show_files(self.incident)
            self.prose("text").focus()
            self.show_rest()

    def action_copy(self) -> None:
        """The pane with the focus; the grid stands for its call."""
        focused = self.focused
        view = focused if isinstance(focused, ProseView) else self.prose("details")
        lines = self.prose("finding").prose if view.id == "findings" else view.prose
        if isinstance(view, ChoiceView) and view.id != "findings":
            lines = tuple(each for choice in view.choices for each in choice.lines)
        title = self.prose("banner").prose[:2] + self.prose("status").prose
        self.copy_lines((*title, *lines))

    # What the views say

    def on_choice_view_moved(self, event: ChoiceView.Moved) -> None:
        if event.view.id == "findings" and isinstance(event.view.key, int):
            self.finding_at, self.stepped, self.news = event.view.key, True, False
            self.show_finding()
            self.show_banner()
            self.show_status()
            self.show_details()
        elif event.view.id == "waits":
            self.show_status()
            self.show_details()

    def on_choice_view_beyond(self, event: ChoiceView.Beyond) -> None:
        if event.view.id == "findings":
            view = self.prose("finding")
            view.scroll_to_row(view.topmost + (view.size.height if event.rows > 0 else -view.size.height))

    def on_choice_view_opened(self, event: ChoiceView.Opened) -> None:
        if self.incident is not None:
            self._open_choice(event.view)

    def on_rank_grid_chosen(self, event: MovableGrid.Chosen) -> None:
        event.stop()
        self.action_details()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if self.arranged is not None and isinstance(event.widget, (ChoiceView, ProseView, MovableGrid)):
            self.share_out()
