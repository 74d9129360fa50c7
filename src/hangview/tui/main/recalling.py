"""The place of the last time: what of the screen is remembered, and how it is taken up again."""

from __future__ import annotations

from hangview.text import fold_ranks
from hangview.tui.main.base import CENTERS
from hangview.tui.main.stepping import SteppingScreen
from hangview.tui.memory import Remembered, marks_of, marks_text
from hangview.tui.place import Place, lane_at
from hangview.tui.search import filtered_ranks
from hangview.tui.text.common import group_of, lane_name
from hangview.tui.text.details import LEVELS


class RecallingScreen(SteppingScreen, inherit_bindings=True):
    """``remembered`` is what to keep, ``recall`` goes there again."""

    def remembered(self) -> Remembered | None:
        """Where the user is; None while there is nothing to come back to."""
        incident, place = self.incident, self.place
        group = group_of(incident, place.group) if incident is not None and place is not None else None
        if incident is None or place is None or group is None or self.partial:
            return None
        return Remembered(
            group=(group.name, group.desc, fold_ranks(group.ranks)),
            lane=place.lane,
            seq=place.seq,
            rank=place.rank,
            filter=self.filter_text,
            marks=marks_text(self.grid.pinned),
            unfolded=self.grid.unfolded,
            zoom=self.grid.level,
            center=self.center,
            level=self.level,
            answer=self._answer(),
            finding=self.finding.summary if self.finding is not None else "",
        )

    def _answer(self) -> str:
        """What was found, in words that change when it does."""
        assert self.incident is not None
        first = self.incident.findings[0].summary if self.incident.findings else ""
        return f"{self.incident.verdict.value}: {first}"

    def recall(self, last: Remembered) -> None:
        """Go where the user was the last time. Where the files say something else by now, only the marks come back."""
        incident = self.incident
        if incident is None or self.grid.plane is None:
            return
        before = self.remembered()
        marked = marks_of(last.marks) & set(incident.coverage.expected)
        self.grid.set_rows(pinned=marked)
        place = self._place_again(last)
        if last.answer != self._answer():
            self.show_rest()
            self.tell("the files say something else than last time: the answer is new, and only the marks are as they were")
        elif place is not None:
            self._go_again(last, place)
            if self.remembered() != before:
                where = f"rank {place.rank} · {lane_name(incident, place.group, place.lane)} {place.seq}"
                self.tell(f"where you were last time: {where} · {self.key('next_finding')} goes to the finding")

    def _place_again(self, last: Remembered) -> Place | None:
        assert self.incident is not None
        for group in self.incident.groups:
            if (group.name, group.desc, fold_ranks(group.ranks)) == last.group and lane_at(self.incident, group.id, last.lane):
                return Place(group.id, last.lane, last.seq, last.rank)
        return None

    def _go_again(self, last: Remembered, place: Place) -> None:
        assert self.incident is not None
        self.show_lane(place, keep=False)
        self.choices("groups").choose((place.group, place.lane))
        self.grid.set_level(last.zoom)
        ranks = set()
        if last.filter and self.grid.plane is not None:
            try:
                ranks = filtered_ranks(self.grid.plane, last.filter, self.incident.leads, self.grid.pinned)
            except ValueError:
                ranks = set()  # another version understood it
        self.filter_text = last.filter if ranks else ""
        self.grid.set_rows(unfolded=last.unfolded, only=ranks or None)
        self._find_again(last, place)
        self.level = min(max(last.level, 0), len(LEVELS) - 1)
        if last.center in CENTERS and last.center != "text":
            self.center = last.center
        self.show_rest()
        self.show_banner()
        self.query_one(f"#{self.center}").focus()

    def _find_again(self, last: Remembered, place: Place) -> None:
        """The finding that was the current one, else the one at the place: the header is about what the grid shows."""
        assert self.incident is not None
        number = next((at for at, each in enumerate(self.incident.findings) if each.summary == last.finding), None)
        if number is not None:
            self.finding_at, self.stepped = number, number > 0
            self.choices("findings").choose(number)
        else:
            self.follow(place)
