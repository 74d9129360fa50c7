"""What the main screen says about where the cursor is: the banner, the status line, the current finding and the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Offset

from hangview.terms import Role
from hangview.tui.glyphs import words_of
from hangview.tui.grid.widget import HEADER
from hangview.tui.live import live_keys
from hangview.tui.main.base import BaseScreen
from hangview.tui.place import Place, place_of, ranks_of
from hangview.tui.prose import BLANK, Tone, drawn, line, shorten_to, wrap
from hangview.tui.search import without_row
from hangview.tui.text.banner import ROWS, banner
from hangview.tui.text.call import status_words
from hangview.tui.text.details import details
from hangview.tui.text.finding import finding_lines
from hangview.tui.text.waits import wait_lines
from hangview.tui.titles import fitting, led, shorter
from hangview.tui.waiting import waits_of

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Finding
    from hangview.tui.prose import Prose
    from hangview.tui.titles import Title

#: Levels that stand below the call where there is room: entry, stack, rank.
BELOW = (1, 2, 4)


class AboutScreen(BaseScreen, inherit_bindings=True):
    """Words about a place; the grid and the lists are drawn elsewhere."""

    def show_banner(self) -> None:
        if self.cramped:
            self.share_out()  # which says so in its place
            return
        width = max(1, self.size.width)
        self.grid_at = self.grid_is_at()
        lines = banner(
            self.incident,
            self.finding,
            self.paths,
            self.activity,
            demo=self.ui.demo,
            short=self.size.height < 20,
            partial=self.partial,
            trouble=self.trouble,
            heads=self.heads,
            width=width,
            grid_at=self.grid_at,
            ascii_only=self.ascii,
        )
        lines = tuple(drawn(each, ascii_only=self.ascii) for each in lines)  # as long as they are on the screen
        left = max(1, 1 + ROWS - len(wrap(lines[1:2], width)))
        sign = "..." if self.ascii else "…"
        rows = (shorten_to(each, width, (1, ROWS, left)[at], sign) for at, each in enumerate(lines))
        view = self.prose("banner")
        before = view.rows_needed(width)
        view.show(tuple(rows), top=False)
        if self.arranged is not None and view.rows_needed(width) != before:
            self.share_out()

    def show_finding(self) -> None:
        finding = self.finding
        if self.incident is None or finding is None:
            self.prose("finding").show(())
            return
        total = len(self.incident.findings)
        elsewhere = f" · grid at {grid_at}" if (grid_at := self.grid_is_at()) else ""
        self.say_title("finding", f"finding {self.finding_at + 1} of {total}{elsewhere}")
        lines = finding_lines(self.incident, finding)
        if waits_of(self.incident) and self.center != "waits" and self.pane("details").display and self._room(lines):
            waits = tuple(each for _, each in wait_lines(self.incident))
            lines = (*lines, BLANK, line(("who waits for whom", Tone.HEAD)), *waits)
        self.prose("finding").show(lines)

    # Following the cursor

    def _on_cursor(self) -> None:
        """In the same turn of the loop as the key: status and map; what else tells of the place when the cursor rests."""
        self.sought, self.moved = None, True
        self.show_status()
        self._details_after(self.rest)

    def _details_after(self, pause: float) -> None:
        """The call pane in a moment: a thousand ranks take longer than a key may."""
        if self.resting is not None:
            self.resting.stop()
        if pause > 0:
            self.resting = self.set_timer(pause, self._come_to_rest)
        else:
            self._come_to_rest()

    def _come_to_rest(self) -> None:
        if self.grid_is_at() != self.grid_at:
            self.show_banner()
            self.show_finding()
        self.show_details()

    def show_status(self) -> None:
        place, incident, grid = self.place, self.incident, self.grid
        if place is None or incident is None or grid.plane is None:
            if not self.tells:
                self.prose("status").show((BLANK,))
            return
        self.map.show(grid.plane, (grid.first_seq, grid.last_seq))
        code = grid.plane.code(place.rank, place.seq)
        words = words_of(code, grid.plane.side_of(place.rank, place.seq)) if code else "no call here"
        block = grid.scale.block
        if block > 1:
            first = place.seq - (place.seq - grid.plane.first) % block
            words = f"{words} (one of seqs {first}-{first + block - 1})"
        row = grid.current_row
        text = status_words(incident, place, words, row.ranks if row else ())
        other = self.center != "grid" and self.shown_place() != place
        before = "in the grid: " if other else ""
        if not other and (rank := self.rowless()) is not None:
            before = f"no row for rank {rank} · "
        if place in self.hits:  # elsewhere the cursor was moved by hand
            before += f"hit {self.hits.index(place) + 1} of {len(self.hits)} · "
        if not self.tells:
            room = self.size.width - (4 if self.ascii else 0)  # some signs take more cells there
            self.prose("status").show((line(fitting(led(text, before), room)),))
        self._point_terminal()

    def _point_terminal(self) -> None:
        """The terminal's own cursor on the cell: hidden, but braille displays and screen magnifiers follow it."""
        grid = self.grid
        scale = grid.scale
        column = scale.label_width + (grid.column_of(grid.cursor.seq) - grid.left) * scale.cell_width
        row = HEADER + grid.row_of.get(grid.cursor.rank, 0) - grid.topmost
        self.app.cursor_position = grid.content_region.offset + Offset(column, row)

    def shown_place(self) -> Place | None:
        """What the details are about: the cursor's cell, or what is pointed at in the list that is in its place. None where
        a finding is about no call."""
        if self.center == "findings" and self.incident is not None and self.finding is not None:
            return place_of(self.incident, self.finding)
        if self.center == "waits":
            key = self.choices("waits").key
            if isinstance(key, tuple) and isinstance(key[1], Place):
                return key[1]
        return self.place

    def rowless(self) -> int | None:
        """The rank that the current finding names, where the grid has no row for it and the cursor stands where the finding
        opens: a rank that its log alone tells of. None once the cursor was moved, or where it came by a search."""
        incident, finding, place = self.incident, self.finding, self.place
        if (
            incident is None
            or finding is None
            or finding.role is not Role.LEAD
            or not finding.ranks
            or place is None
            or self.hits
            or self.moved
        ):
            return None
        opened = next((at for each in (finding, *incident.findings) if (at := place_of(incident, each)) is not None), None)
        rows = ranks_of(incident, place.group, place.lane)
        return finding.ranks[0] if place == opened and not set(finding.ranks) & set(rows) else None

    def show_details(self) -> None:
        incident, place = self.incident, self.shown_place()
        if incident is None or place is None:
            self.say_keyed("details", "call")
            about = "this finding is about no call" if self.place is not None else "nothing to look at yet"
            self.prose("details").show((line((about, Tone.DIM)),))
            return
        try:
            self._show_place(incident, place)
        except Exception as error:
            # A fault of ours in one pane must not end the screen with the worksheet on it.
            said = line((f"internal error in this pane: {type(error).__name__}: {error}", Tone.UNKNOWN))
            self.prose("details").show((said,))

    def _show_place(self, incident: Incident, place: Place) -> None:
        view = self.prose("details")
        width, live = view.size.width, live_keys(self.app)
        title, lines = details(incident, place, self.level, self._told(), width=width, live=live)
        rank = self.rowless()
        if rank is not None and self.level == 0 and self.center != "waits":
            lines = (line((without_row(incident, rank, live("open_log")), Tone.LEAD)), *lines)
        for below in BELOW if self.level == 0 else ():
            if not self._room(lines):
                break
            lines = (*lines, BLANK, *details(incident, place, below, width=width, live=live)[1])
        self.say_keyed("details", self._with_finding(title, place))
        view.show(lines)

    def _with_finding(self, title: Title, place: Place) -> Title:
        """In a list that points at another call than the current finding's: which finding that one is."""
        there = self.by_call.get(place[:3], [])
        if self.center == "grid" or not there or self.finding_at in there:
            return title
        return tuple(f"{form} · finding {there[0] + 1}" for form in shorter(title))

    def _room(self, lines: Prose) -> bool:
        """Whether more would fit below the lines in a pane at the bottom, by the sizes that were shared out: the widgets get
        theirs a moment later."""
        if self.arranged is None:
            return False
        width = self.size.width // (2 if self.pane("finding").display else 1) - 2
        return self.arranged.bottom - 2 - len(wrap(lines, max(1, width))) > 8

    def _told(self) -> Finding | None:
        """The finding that can be read without the call pane: beside it, or in the banner."""
        if self.pane("finding").display:
            return self.finding
        findings = self.incident.findings if self.incident is not None else ()
        leads = [each for each in findings if each.role is Role.LEAD] or list(findings[:1])
        return self.finding if self.finding in leads else leads[0] if leads else None
