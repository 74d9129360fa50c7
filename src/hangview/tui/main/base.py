"""What the main screen is made of and what it remembers; how it is shared out among its panes. No keys here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Horizontal, Vertical

from hangview.keymap import all_actions
from hangview.terms import COLLECTIVE
from hangview.tui.actions import Where
from hangview.tui.grid.minimap import Minimap
from hangview.tui.grid.moves import MovableGrid
from hangview.tui.layout import Layout, plan, too_small
from hangview.tui.live import live_keys
from hangview.tui.main.paned import PanedScreen
from hangview.tui.main.panes import KeyLine, Pane, SingleLine
from hangview.tui.main.prompt import Prompt, Prompted
from hangview.tui.place import Place
from hangview.tui.prose import Tone, line
from hangview.tui.prose_view import ChoiceView, ProseView
from hangview.tui.text.common import lane_name
from hangview.tui.titles import led
from hangview.tui.trail import Trail

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from hangview.dumps.heads import Heads
    from hangview.incident import Incident
    from hangview.terms import Finding
    from hangview.tui import UiOptions
    from hangview.tui.grid.plane import Plane
    from hangview.tui.prose import Line
    from hangview.tui.titles import Title

#: Seconds that the cursor rests before the call pane follows it: a held key must not wait for a thousand cells each time.
REST = 0.04

#: The views that take turns in the middle.
CENTERS = ("grid", "findings", "waits", "text")


class BaseScreen(Prompted, PanedScreen, inherit_bindings=False):
    """``center`` says which view stands in the middle, ``level`` how far down the details are, ``following`` that nobody has
    touched a key yet, so that the cursor may go to the lead when there is one."""

    AUTO_FOCUS = "#grid"

    def __init__(self, paths: tuple[str, ...], ui: UiOptions, *, ascii_only: bool, rest: float = REST) -> None:
        super().__init__(ascii_only=ascii_only)
        self.paths = paths
        self.ui = ui
        self.rest = rest
        self.incident: Incident | None = None
        self.heads: Heads | None = None  #: what the dumps' headers say, until there is an incident
        self.trouble = ""  #: why the last look ended without an answer
        self.partial = False  #: more files of this look are still to be read
        self.activity = ""
        self.following = True
        self.asks_memory = False  #: the first look is not at its end yet
        self.center = "grid"
        self.waiting_for_calls = False  #: the middle says what there is before the first call
        self.files_unfolded = False  #: a line for every file, not one for all that have the same story
        self.level = 0
        self.origin = ""  #: the list that the grid was reached from: back goes there again
        self.finding_at = 0
        self.by_call: dict[tuple[int, str, int], list[int]] = {}  #: numbers of the findings at each call
        self.grid_at = ""  #: what the grid is at, where that is not the current finding
        self.stepped = False  #: the current finding was gone to by hand: it stays the current one when the files say more
        self.news = False  #: the files said more, and the next step goes to the first finding
        self.hits: list[Place] = []
        self.hit_at = -1
        self.sought: int | None = None  #: a rank that was searched for and has no row in any lane: its log is what there is
        self.moved = False  #: the cursor went elsewhere since the current finding, or the incident, was opened
        self.trail = Trail()
        self.lane_key = (0, COLLECTIVE)
        self.filter_text = ""
        self.distinct = 1  #: rows of the lane when folded over all its columns
        self.planes: dict[tuple[int, str], Plane] = {}
        self.resting: Timer | None = None
        self.arranged: Layout | None = None

    def compose(self) -> ComposeResult:
        yield ProseView(id="banner")
        with Horizontal(id="main"):
            yield Pane(ChoiceView(wrapped=False, id="groups"), id="groups-pane")
            with Vertical(id="center"):
                yield Pane(MovableGrid(id="grid"), Minimap(id="map"), id="grid-pane")
                yield Pane(ChoiceView(id="findings"), id="findings-pane")
                yield Pane(ChoiceView(id="waits"), id="waits-pane")
                yield Pane(ProseView(id="text"), id="text-pane")
        with Horizontal(id="bottom"):
            yield Pane(ProseView(id="details"), id="details-pane")
            yield Pane(ProseView(id="finding"), id="finding-pane")
        yield ProseView(id="tour")
        yield SingleLine(id="status")
        yield Prompt(id="prompt")
        yield KeyLine(id="keys")

    # Pieces

    @property
    def grid(self) -> MovableGrid:
        return self.query_one("#grid", MovableGrid)

    @property
    def map(self) -> Minimap:
        return self.query_one("#map", Minimap)

    def choices(self, name: str) -> ChoiceView:
        return self.query_one(f"#{name}", ChoiceView)

    def say_keyed(self, name: str, title: Title) -> None:
        """A title with the key of the pane before it, as the key line writes keys: ``1:groups``."""
        key = live_keys(self.app).first(all_actions()[f"pane_{name}"])
        self.say_title(name, led(title, f"{key}:") if key else title)

    @property
    def finding(self) -> Finding | None:
        """The current finding."""
        if self.incident is None or not self.incident.findings:
            return None
        return self.incident.findings[min(self.finding_at, len(self.incident.findings) - 1)]

    @property
    def place(self) -> Place | None:
        """The cell under the cursor; None while there is nothing to point at."""
        grid = self.grid
        return None if grid.plane is None else Place(*self.lane_key, grid.cursor.seq, grid.cursor.rank)

    def grid_is_at(self) -> str:
        """``"finding 2"`` or ``"TP1"`` where the grid shows another finding's call, or another lane, than the current finding
        is about; "" where they agree, and while the grid is out of sight: the status line says then what it points at."""
        place, finding = self.place, self.finding
        if place is None or finding is None or self.incident is None or self.center != "grid":
            return ""
        at = self.by_call.get(place[:3], [])
        if self.finding_at in at or finding.group is None:
            return ""
        if at:
            return f"finding {at[0] + 1}"
        lane = finding.lane or COLLECTIVE
        return "" if place[:2] == (finding.group, lane) else lane_name(self.incident, place.group, place.lane)

    @property
    def pane_kind(self) -> Where:
        """What the pane with the focus is, for its help."""
        focused = self.focused
        return Where.LIST if isinstance(focused, ChoiceView) else Where.TEXT if isinstance(focused, ProseView) else Where.GRID

    def show_tour(self, words: Line | None) -> None:
        """What the tour says, in lines of their own; None ends it."""
        view = self.prose("tour")
        view.can_focus, view.display = False, words is not None
        view.show((words,) if words is not None else ())
        self.share_out()

    def set_ascii(self, ascii_only: bool) -> None:
        super().set_ascii(ascii_only)
        self.grid.set_ascii(ascii_only)
        self.map.ascii = ascii_only
        self.map.refresh()

    # Sharing out

    def share_out(self) -> None:
        """Sizes of the panes for this terminal; touches only what is another size than before."""
        width, height = self.size
        view = self.prose("banner")
        banner = max(2, min(view.rows_needed(width), 4))
        listed = self.incident.lanes if self.incident is not None else self.heads.groups if self.heads is not None else ()
        reads = self.focused in (self.prose("details"), self.prose("finding"))
        drilled = self.level > 0 or self.focused is self.prose("details")
        alone = self.center == "text"
        rows = len(self.grid.rows) if self.grid.unfolded else self.distinct + 1
        tour = self.prose("tour")
        taken = tour.rows_needed(width) if tour.display else 0
        tour.styles.height = taken
        layout = plan(
            width, height - taken, banner=banner, rows=max(4, rows), lanes=len(listed), drilled=drilled, alone=alone,
            chooses=self.center == "findings", reads=reads,
        )  # fmt: skip
        view.styles.height = banner if layout.fits else height
        if not layout.fits:
            told = f"{too_small(width, height)}; hangview report needs no screen · {self.key('leave')} quits"
            view.show((line((told, Tone.LEAD)),))
        for name in ("main", "bottom", "status", "keys"):
            shown = {"main": layout.middle, "bottom": layout.bottom > 0, "keys": not self.asks}.get(name, True)
            self.query_one(f"#{name}").display = layout.fits and shown
        self._show_sides(layout)
        self.query_one("#bottom").styles.height = layout.bottom
        self.map.styles.height = min(layout.map, self.distinct + 1)
        self.map.display = layout.map > 0
        self.show_keys()
        self.arranged = layout
        self._focus_in_sight()

    def at_top(self) -> bool:
        """Whether there is no level to go back to: the key that goes back ends the program here."""
        raise AssertionError("no levels")

    def show_keys(self) -> None:
        self.query_one("#keys", KeyLine).fill(self.size.width, hits=bool(self.hits), below=not self.at_top())

    def _focus_in_sight(self) -> None:
        """Keys never go to a pane that is out of sight, whatever took it away: those would do what nobody sees."""
        focused = self.focused
        around = focused.ancestors_with_self if isinstance(focused, ProseView) else ()
        if any(not each.display for each in around) and self.arranged is not None and self.arranged.fits:
            self.query_one(f"#{self.center}").focus()

    def _show_sides(self, layout: Layout) -> None:
        """Which panes stand beside each other."""
        groups = self.pane("groups")
        alone = layout.groups == 0 and self.focused is self.choices("groups")  # narrow: instead of the grid, while in use
        groups.display = layout.groups > 0 or alone
        groups.styles.width = layout.groups or "1fr"
        self.query_one("#center").display = not alone
        for name in CENTERS:
            self.pane(name).display = name == self.center
        finding = self.incident is not None and bool(self.incident.findings)
        calls = self.center != "findings" or self.focused is self.prose("details")  # the call, if there is room for one of both
        self.pane("finding").display = finding and (layout.finding or not calls)
        self.pane("details").display = calls or layout.finding or not finding
        chooses = self.center == "findings" and self.focused is not self.prose("finding")
        self.pane("finding").say_hint(f"{self.key('next_pane')}: scroll" if chooses else "")
