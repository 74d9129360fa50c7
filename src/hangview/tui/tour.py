"""The tour of ``hangview demo --tour``: one incident in eight key presses, each explained before it is pressed. No textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.keymap import all_actions
from hangview.tui.prose import Line, Tone, line

if TYPE_CHECKING:
    from collections.abc import Hashable

    from hangview.tui.live import LiveKeys

#: (action, what is on the screen, what its key shows). The last key is pressed on the worksheet.
STEPS = (
    (
        "details",
        "The banner answers: one rank did not request a call, and others wait in it. The grid stands on that cell.",
        "what was recorded there",
    ),
    (
        "details",
        "“not requested” is evidence: the dump is whole and ends before this call. Gaps read “no dump”, “cut”, “overwritten”.",
        "where its code was last seen",
    ),
    (
        "back",
        "Ranks with the same stack stand together; that of the lead is of its newest entry, from before.",
        "one level back",
    ),
    ("next_finding", "So much for the first finding.", "the next one, what the log of the same rank says"),
    (
        "pane_waits",
        "The log belongs to the rank that the grid names. All other ranks only wait.",
        "who waits for whom, the lead at the top",
    ),
    (
        "pane_findings",
        "Some wait at second hand, in other groups; all lines lead to one rank.",
        "all findings with their evidence",
    ),
    (
        "worksheet",
        "Each finding says what to compare first, and what must not be concluded.",
        "the worksheet, filled in from the evidence",
    ),
    ("sheet_close", "The worksheet is kept as you type.", "back to the grid"),
)
LAST = "That was the tour. The same keys go through any incident"


class Tour:
    """Where the tour has come to."""

    def __init__(self) -> None:
        self.at = 0
        self.strayed = False  #: the screen shows something else than this step speaks of
        self._stood: Hashable = None

    @property
    def done(self) -> bool:
        return self.at >= len(STEPS)

    def stand(self, where: Hashable) -> None:
        """What the screen shows as this step begins."""
        self._stood = where

    def see(self, where: Hashable) -> bool:
        """What the screen shows after another key; True when there is something else to say because of it."""
        before, self.strayed = self.strayed, not self.done and where != self._stood
        return before != self.strayed

    def press(self, key: str, live: LiveKeys) -> bool:
        """A key was pressed, by textual's name; True when it was the one that the tour waits for. Others do what they do, and
        so does this one where the screen shows something else than the tour speaks of."""
        if self.done or self.strayed or key not in live.of(all_actions()[STEPS[self.at][0]]):
            return False
        self.at += 1
        return True

    def words(self, live: LiveKeys) -> Line:
        """What to say now."""
        if self.done:
            return line(("TOUR  ", Tone.KEY), f"{LAST}; {live('help')} lists them all, {live('leave')} quits.", hang=6)
        action, here, shows = STEPS[self.at]
        head = f"TOUR {self.at + 1}/{len(STEPS)}  "
        if self.strayed:
            back = f"{live('place_before')} and {live('back')} lead back, the opposite key too"
            text = f"Off the tour's way: look round as you like. The tour goes on where it stood; {back}."
            return line((head, Tone.KEY), text, hang=len(head))
        # there is no line of the tour on the worksheet
        more = f"; there, {live('sheet_close')} comes back" if action == "worksheet" else ""
        return line((head, Tone.KEY), f"{here} Press ", (live(action), Tone.KEY), f": {shows}{more}.", hang=len(head))
