"""How the main screen shows an Incident: its lists, its grid, and what stands in the middle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.report.by_log import from_logs_alone
from hangview.terms import COLLECTIVE
from hangview.text import count, fold_ranks
from hangview.tui.glyphs import legend
from hangview.tui.grid.plane import Plane, fold, standing_of
from hangview.tui.grid.widget import RankGrid, Spot
from hangview.tui.live import live_keys
from hangview.tui.main.about import AboutScreen
from hangview.tui.main.refusing import no_incident
from hangview.tui.place import Place, findings_by_call, lane_at, opening_of, place_of, same_place
from hangview.tui.prose import Tone, line
from hangview.tui.prose_view import Choice
from hangview.tui.sides import tied_seqs
from hangview.tui.text.common import group_of
from hangview.tui.text.finding import finding_choice, no_findings
from hangview.tui.text.groups import columns_of, lane_line, sorted_lanes
from hangview.tui.text.heads import heads_lines, heads_rows
from hangview.tui.text.news import being_written
from hangview.tui.text.source import ledger_lines
from hangview.tui.text.start import start_lines
from hangview.tui.text.waits import wait_lines
from hangview.tui.titles import cut_middle

if TYPE_CHECKING:
    from textual import events

    from hangview.dumps.heads import Heads
    from hangview.incident import Incident
    from hangview.terms import Finding
    from hangview.tui.prose import Prose


def same_finding(one: Finding, other: Finding) -> bool:
    """The same finding in another Incident; group ids may differ, the summary names the group."""
    return (one.kind, one.role, one.ranks, one.lane, one.seq) == (other.kind, other.role, other.ranks, other.lane, other.seq)


class ShowingScreen(AboutScreen, inherit_bindings=True):
    """Everything that draws; nothing that is pressed."""

    def on_mount(self) -> None:
        self.prose("banner").can_focus = False
        self.set_ascii(self.ascii)
        self.watch(self.grid, "cursor", self._on_cursor, init=False)
        self.grid.on_position = self._say_rows
        self.grid.on_nothing = self._say_no_grid
        self.show_all()

    def _say_no_grid(self) -> None:
        """A key that moves where there is nothing yet is not lost without a word."""
        self.say("there is no grid: no call was recorded" if self.incident is not None else no_incident(self))

    # Another incident

    def begin(self, heads: Heads) -> None:
        """Show what the dumps' headers say, as long as there is no incident."""
        if self.incident is None:
            self.heads = heads
            if self.center == "grid":  # what was gone to meanwhile stays
                self.waiting_for_calls, self.center = True, "text"
            self.show_all()
            if self.center == "text" and self.focused in (None, self.grid):
                self.prose("text").focus()

    def take(self, incident: Incident, *, final: bool) -> None:
        """Show ``incident`` instead of the one before. The cursor stays on its cell unless nobody has touched a key yet."""
        if not final:
            incident = replace(incident, leads=())  # a part of the files names nobody, in no pane
        old, place, finding = self.incident, self.place, self.finding
        self.incident, self.heads, self.partial = incident, None, not final
        self.by_call = findings_by_call(incident)
        self.planes.clear()
        if old is not None:
            self.trail.move(lambda place: same_place(old, place, incident))
        self.hits = [moved for hit in self.hits if old and (moved := same_place(old, hit, incident))]
        kept_at = (at for at, each in enumerate(incident.findings) if finding and self.stepped and same_finding(each, finding))
        self.finding_at = next(kept_at, 0)
        self.stepped = self.finding_at > 0
        kept = same_place(old, place, incident) if old is not None and place is not None else None
        if kept is not None and not self.following:
            self.show_lane(kept, keep=True)
        else:
            self._open_first()
            self.moved = False
        self.following = self.following and (not final or bool(being_written(incident)))  # while more is on its way
        self.show_all()

    def _open_first(self) -> None:
        """The first finding's call, else the first lane."""
        assert self.incident is not None
        found = (place_of(self.incident, finding) for finding in self.incident.findings)
        place = next((each for each in found if each is not None), None)
        lanes = sorted_lanes(self.incident)
        if place is None and lanes:
            place = opening_of(self.incident, lanes[0])
        if place is not None:
            self.show_lane(place, keep=False)
        else:
            self.grid.plane = None

    def plane_of(self, group: int, lane: str) -> Plane:
        assert self.incident is not None
        key = (group, lane)
        if key not in self.planes:
            view = self.incident.view
            standing = standing_of(self.incident, *key)
            tied = tied_seqs(self.incident, *key)
            self.planes[key] = Plane(view.grid(*key), standing, lambda seq: view.call(group, lane, seq).sides, tied)
        return self.planes[key]

    def show_lane(self, place: Place, *, keep: bool) -> None:
        assert self.incident is not None
        self.lane_key = (place.group, place.lane)
        plane = self.plane_of(*self.lane_key)
        lane = lane_at(self.incident, *self.lane_key)
        self.distinct = len(fold(plane, plane.data(1), 0, plane.columns))
        self.grid.show(plane, Spot(place.rank, place.seq), lane.divergence if lane else None, keep=keep)

    def go(self, place: Place, *, jump: bool = True, follow: bool = True) -> None:
        """Cursor to a cell, in whatever lane it is. ``jump``: remember the place that it leaves, for the way back; ``follow``:
        the finding there becomes the current one."""
        if self.incident is None:
            return
        here, self.sought = self.place, None
        if jump and here is not None:
            self.trail.jump(here, place)
        self.origin, self.center = "", "grid"
        filtered = self.filter_text
        if (place.group, place.lane) != self.lane_key or self.grid.plane is None:
            self.clear_filter()
            self.show_lane(place, keep=False)
        else:
            if self.grid.only is not None and place.rank not in self.grid.only:
                self.clear_filter()
            self.grid.cursor = Spot(place.rank, place.seq)
        self.choices("groups").choose((place.group, place.lane))
        self.grid.focus()
        if follow:
            self.follow(place)
        self.show_rest()
        self.show_banner()
        if filtered and not self.filter_text:
            same = here is not None and here[:2] == place[:2]
            self.say(f"no longer only {filtered}: it {f'hid rank {place.rank}' if same else 'was of another lane'}")

    def follow(self, place: Place) -> None:
        """The finding of the call that was gone to becomes the current one; where there is none, the current one stays."""
        there = self.by_call.get(place[:3], [])
        if there and self.finding_at not in there:
            self.finding_at, self.stepped = there[0], True
            self.choices("findings").choose(there[0])

    def clear_filter(self) -> None:
        if self.grid.only is not None:
            self.filter_text = ""
            self.grid.set_rows(only=None)

    # Showing

    def show_all(self) -> None:
        """Everything anew, after another incident or another size."""
        self.show_banner()
        self.share_out()
        self.show_lists()
        self.show_rest()

    def show_rest(self) -> None:
        """What depends on the cursor, the level and the center, after a jump."""
        self.share_out()
        self.show_frame()
        self.show_finding()
        self.show_status()
        if self.grid_is_at() != self.grid_at:
            self.show_banner()
        self._details_after(min(self.rest, 0.01))

    def show_lists(self) -> None:
        incident = self.incident
        wide = self.arranged.groups if self.arranged is not None else 0
        inside = (wide or self.size.width) - 2
        if incident is None:
            self._show_heads(inside)
            return
        columns = columns_of(incident)
        lanes = [
            Choice((lane.group, lane.lane), (lane_line(incident, lane, inside, columns, ascii_only=self.ascii),))
            for lane in sorted_lanes(incident)
        ]
        groups = self.choices("groups")
        groups.choose_from(lanes or [Choice(None, (line(("no lane", Tone.DIM)),))])
        groups.choose(self.lane_key)
        if groups.chosen < groups.size.height and not groups.has_focus:
            groups.scroll_to_row(0)  # what stands first by now is in sight, as is the group that the grid shows
        findings = [Choice(at, finding_choice(incident, each)) for at, each in enumerate(incident.findings)]
        self.choices("findings").choose_from(findings or [Choice(None, no_findings(incident, partial=self.partial))])
        self.choices("findings").choose(self.finding_at)
        self.choices("waits").choose_from(
            [Choice((at, place), (each,)) for at, (place, each) in enumerate(wait_lines(incident))]
        )
        self.show_middle(incident)

    def _show_heads(self, width: int) -> None:
        if self.heads is not None:
            rows = heads_rows(self.heads, width, ascii_only=self.ascii)
            self.choices("groups").choose_from([Choice(at, (row,)) for at, row in enumerate(rows)])
            self.show_text("before the first record", heads_lines(self.heads), top=False)

    def show_middle(self, incident: Incident) -> None:
        """In place of the grid, what there is before the first call; the grid as soon as there is one. The files anew."""
        if self.grid.plane is None and (self.center == "grid" or self.waiting_for_calls):
            self._show_start(incident, top=self.center == "grid")
            if self.center == "grid":
                self.waiting_for_calls, self.center = True, "text"
                self.share_out()
                self.prose("text").focus()
        elif self.waiting_for_calls and self.grid.plane is not None:
            self.waiting_for_calls = False
            if self.center == "text":
                reads = self.focused in (None, self.prose("text"))
                self.center = "grid"
                self.share_out()
                if reads:
                    self.grid.focus()
        elif self.center == "text":
            self.show_files(incident)

    def _show_start(self, incident: Incident, *, top: bool) -> None:
        lines = start_lines(incident, live_keys(self.app), unfolded=self.files_unfolded)
        self.show_text("before the first call", lines, top=top)

    def show_files(self, incident: Incident) -> None:
        """The files, or what stands with them before the first call; what is in sight stays."""
        if self.waiting_for_calls:
            self._show_start(incident, top=False)
        else:
            lines = ledger_lines(incident, live_keys(self.app), unfolded=self.files_unfolded)
            self.show_text("files, every one" if self.files_unfolded else "files", lines, top=False)

    def show_text(self, title: str, prose: Prose, *, top: bool = True) -> None:
        self.say_title("text", title)
        self.prose("text").show(prose, top=top)

    def show_frame(self) -> None:
        """Titles of the panes, and under the grid what its glyphs mean."""
        incident, plane = self.incident, self.grid.plane
        self.say_keyed("groups", "groups")
        self.pane("groups").say_foot("ranks, seq", ascii_only=self.ascii)
        self.say_keyed("findings", f"findings · {len(incident.findings):,} in all" if incident else "findings")
        self.say_keyed("waits", "who waits for whom")
        if incident is None or plane is None:
            self.say_keyed("grid", "grid")
            return
        group = group_of(incident, plane.group)
        folded = fold_ranks(group.ranks) if group else ""
        members = f"{count(len(group.ranks), 'rank')}{f' {folded}' if len(folded) <= 16 else ''}" if group else ""
        inferred = " (members inferred)" if group and group.inferred else ""
        if inferred and from_logs_alone(incident):
            inferred = " (by logs, maybe more)"
        kind = "collective" if plane.lane == COLLECTIVE else plane.lane
        name = (group.called if len(folded) <= 16 else group.label) if group else "?"  # where its ranks stand beside it
        self.say_keyed("grid", self._grid_forms(plane, name, members + inferred, kind))
        self._show_legend(plane)

    def _grid_forms(self, plane: Plane, name: str, members: str, kind: str) -> tuple[str, ...]:
        """The grid's title in fewer and fewer words; the name of what it shows never goes."""
        block, only, total = self.grid.scale.block, "", len(plane.ranks)
        zoom, unfolded = f"{block} seqs in a column" if block > 1 else "", "unfolded" if self.grid.unfolded else ""
        kept = f"{len(self.grid.only or ()):,} of {total:,}"
        if self.filter_text:
            only = f"only {self.filter_text}: {kept}"
        keyed = f"[{only} · {self.key('clear_filter')}: all]" if only else ""
        bare, least = (f"[{only}]", f"[{kept}]") if only else ("", "")
        said = (
            *((name, zoom, keyed, unfolded, *rest) for rest in ((members, kind), (members,), ())),
            (name, zoom, bare, unfolded), (name, zoom, bare), (name, zoom, least), (name, bare), (name, least),
        )  # fmt: skip
        forms = tuple(" · ".join(filter(None, parts)) for parts in said)
        return (*forms, " · ".join(filter(None, (cut_middle(name, 13), least))))

    def _say_rows(self, position: str) -> None:
        """Which rows of the grid are in sight; the legend has what is left of the frame."""
        pane = self.pane("grid")
        other_room = len(position) != len(pane.position)
        pane.say_position(position)
        if other_room and self.grid.plane is not None:
            self._show_legend(self.grid.plane)

    def _show_legend(self, plane: Plane) -> None:
        position = len(self.pane("grid").position)
        room = self.grid.size.width - 2 - (position + 4 if position else 0)
        parts: list[str] = []
        for glyph, what in legend(plane.codes(), self.ascii):  # worst first: what does not fit is what everybody knows
            part = f"{glyph} {what.word}"
            if sum(len(each) + 2 for each in parts) + len(part) <= room:
                parts.append(part)
        self.pane("grid").say_foot("  ".join(parts), ascii_only=self.ascii)

    def on_rank_grid_resized(self, event: RankGrid.Resized) -> None:
        event.stop()
        if self.incident is not None:
            self.show_frame()
            if self.grid.plane is not None:
                self.map.show(self.grid.plane, (self.grid.first_seq, self.grid.last_seq))

    def on_resize(self, _event: events.Resize) -> None:
        if self.is_mounted:
            self.show_all()
