"""Stepping: findings, hits of a search, problem ranks, changes of state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.terms import Kind
from hangview.text import count, fold_ranks, name_ranks
from hangview.tui.grid.plane import fold
from hangview.tui.grid.widget import Spot
from hangview.tui.main.prompt import Prompt
from hangview.tui.main.refusing import in_grid, no_incident
from hangview.tui.main.showing import ShowingScreen
from hangview.tui.place import Place, place_of
from hangview.tui.search import MOST, filtered_ranks, rank_typed, rankless, search, strange_ranks
from hangview.tui.text.finding import no_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.tui.grid.plane import Plane


class SteppingScreen(ShowingScreen, inherit_bindings=True):
    """Steps, jumps, searches and filters."""

    def action_next_finding(self) -> None:
        self._step(1)

    def action_previous_finding(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        if self.hits:
            self.hit_at = (self.hit_at + step) % len(self.hits)
            self.go(self.hits[self.hit_at], follow=False)
            return
        findings = self.incident.findings if self.incident is not None else ()
        if not findings:
            told = no_findings(self.incident, partial=self.partial)[0].text if self.incident is not None else no_incident(self)
            self.say(told)
            return
        place = self.place
        here = place_of(self.incident, findings[self.finding_at]) if self.incident else None
        away = step > 0 and self.center == "grid" and here is not None and place is not None and place[:3] != here[:3]
        target = self.finding_at if away else self.finding_at + step  # off the finding: first come back to it
        if self.news and step > 0 and self.finding_at:
            target = 0  # as was said when the files said more
        wrapped = " (round the end)" if not 0 <= target < len(findings) else ""
        self.show_finding_number(target % len(findings))
        if wrapped:
            self.say_too(f"finding {self.finding_at + 1} of {len(findings)}{wrapped}")

    def show_finding_number(self, number: int) -> None:
        """Make a finding the current one and go to its call; in the list of findings, stay there."""
        assert self.incident is not None
        self.finding_at, self.stepped, self.news = number, True, False
        self.choices("findings").choose(number)
        self.level = 0
        place = place_of(self.incident, self.incident.findings[number])
        if self.center == "findings" or place is None:
            self.center = "findings" if place is None else self.center
            if self.center == "findings":
                self.choices("findings").focus()
            self.show_rest()
        else:
            self.go(place)
            self.moved = False
            if self.rowless() is not None:
                self.show_status()
        self.show_banner()

    @in_grid
    def action_next_problem(self) -> None:
        self._step_problem(1)

    @in_grid
    def action_previous_problem(self) -> None:
        self._step_problem(-1)

    def _step_problem(self, step: int) -> None:
        """The next row, in the order of the grid, of ranks that have a problem anywhere in the lane."""
        plane, grid = self.grid.plane, self.grid
        if plane is None:
            return
        rows = fold(plane, plane.data(1), 0, plane.columns, unfolded=grid.unfolded, pinned=grid.pinned, only=grid.only)
        spots = {row.ranks: spot for row in rows if (spot := self._problem_in(plane, row.ranks)) is not None}
        troubled = [row for row in rows if row.ranks in spots]
        if not troubled:
            self.say("no rank of this lane has a problem")
            return
        first = troubled[0].ranks
        if len(troubled) == 1 and grid.cursor.rank in first and grid.cursor.seq == spots[first].seq:
            self.say("no other rank of this lane has a problem")
            return
        at = next((number for number, row in enumerate(troubled) if grid.cursor.rank in row.ranks), -1 if step > 0 else 0)
        grid.cursor = spots[troubled[(at + step) % len(troubled)].ranks]

    def _problem_in(self, plane: Plane, ranks: Sequence[int]) -> Spot | None:
        """Where a row has a problem: by its cells, or because a finding of the lane is about one of its ranks and does not only
        say that it waits."""
        seq = plane.problem_of(ranks[0])
        if seq is not None:
            return Spot(ranks[0], seq)
        incident = self.incident
        for finding in incident.findings if incident is not None else ():
            if (finding.group, finding.lane) != (plane.group, plane.lane) or finding.kind is Kind.WAITING:
                continue
            named, place = set(finding.ranks) & set(ranks), place_of(incident, finding) if incident is not None else None
            if place is not None and named:
                return Spot(min(named), place.seq)
        return None

    @in_grid
    def action_next_change(self) -> None:
        self._step_change(1)

    @in_grid
    def action_previous_change(self) -> None:
        self._step_change(-1)

    def _step_change(self, step: int) -> None:
        place, plane = self.place, self.grid.plane
        if place is None or plane is None:
            return
        seq = plane.next_change(place.rank, place.seq, step)
        if seq is None:
            self.say(f"rank {place.rank} does not change state {'after' if step > 0 else 'before'} {place.seq}")
        else:
            self.grid.cursor = Spot(place.rank, seq)

    @in_grid
    def action_next_mark(self) -> None:
        grid = self.grid
        marked = [rank for row in grid.rows for rank in row.ranks if rank in grid.pinned]
        if grid.plane is None or not marked:
            self.say(f"no marked rank in this lane: {self.key('mark')} marks the one under the cursor")
            return
        at = marked.index(grid.cursor.rank) + 1 if grid.cursor.rank in marked else 0
        grid.cursor = Spot(marked[at % len(marked)], grid.cursor.seq)

    # Places visited

    def action_place_before(self) -> None:
        self._visit(self.trail.back, "no place before this one")

    def action_place_after(self) -> None:
        self._visit(self.trail.forward, "no place after this one")

    def _visit(self, step: Callable[[Place], Place | None], none: str) -> None:
        here = self.place
        there = step(here) if here is not None else None
        if there is None:
            self.say(none)
        else:
            self.go(there, jump=False)

    # Typed

    def jump(self, typed: str) -> None:
        """Go to the first place that fits; the others are hits to step through."""
        try:
            self._search(typed)
        except ValueError as error:
            self.say(str(error))

    def action_search(self, typed: str = "") -> None:
        hint = "rank 37, seq 1820, group dp, op all_reduce, func, host, or any text"
        self.query_one(Prompt).ask("search", "/", hint, typed)
        self.query_one("#keys").display = False

    @in_grid
    def action_filter(self) -> None:
        hint = "0-7,12 or not requested, differs, lead, marked; empty for all"
        self.query_one(Prompt).ask("filter", "rows: ", hint, self.filter_text)
        self.query_one("#keys").display = False

    @in_grid
    def action_clear_filter(self) -> None:
        if self.grid.only is None:
            self.say("all rows are shown: there is no filter")
            return
        self.clear_filter()
        self.show_rest()

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        self.query_one("#keys").display = True
        self.query_one(f"#{self.center}").focus()  # what goes somewhere gives the focus to the grid
        if event.text is None:
            return
        if event.purpose == "search" and event.text.strip() and self.incident is None and not self.trouble:
            self.action_search(event.text)
            self.say(f"{no_incident(self)}; what was typed stays")
            return
        try:
            if event.purpose == "search":
                self._search(event.text)
            else:
                self._filter(event.text)
        except ValueError as error:
            self.say(str(error))

    def _search(self, typed: str) -> None:
        if self.incident is None:
            self.say(no_incident(self))
            return
        place = self.place or Place(*self.lane_key, 0, 0)
        found = search(self.incident, typed, place)
        self.hits, self.hit_at, self.sought = found, 0 if found else -1, None
        self.share_out()  # the key line names what the keys step through
        if not typed.strip():
            self.show_status()
        elif not found and (told := rankless(self.incident, typed, self.key("open_log"))):
            self.sought = rank_typed(typed)
            self.say(told)
        elif not found:
            self.say(f"not found: {typed.strip()} · rank, seq, group, op, func, host or any text: {self.key('help')}")
        else:
            self.go(found[0], follow=False)  # a look aside: the next finding is still the one after the current one
            if len(found) > 1:
                hits, back = f"{count(len(found), 'hit')}{' and more' if len(found) == MOST else ''}", self.key("back")
                steps = f"{self.key('next_finding')} and {self.key('previous_finding')} step through them"
                self.say_too((f"{hits}: {steps}, {back} ends the search", f"{hits}: {steps}", hits))

    def _filter(self, typed: str) -> None:
        plane = self.grid.plane
        if plane is None or self.incident is None:
            return
        if not typed.strip():
            self.action_clear_filter()
            return
        ranks = filtered_ranks(plane, typed, self.incident.leads, self.grid.pinned)
        if not ranks:
            self.say(f"no rank of this lane is {typed.strip()}: all rows stay")
            return
        strange = strange_ranks(plane, typed)
        self.filter_text = fold_ranks(ranks) if strange else typed.strip()
        self.grid.set_rows(only=ranks)
        self.show_rest()
        if strange:
            self.say(f"{name_ranks(strange, 4)} {'is' if len(strange) == 1 else 'are'} not in this lane")
