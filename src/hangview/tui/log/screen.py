"""The log's screen: moves, searches, filters. Keys only move what is there and ask for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hangview.text import size as size_text
from hangview.tui.copying import keep, say
from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.live import live_keys
from hangview.tui.log.finding import Needle
from hangview.tui.log.holding import HoldingScreen
from hangview.tui.log.jobs import Told
from hangview.tui.log.keys import LOG_ACTIONS
from hangview.tui.log.view import STEP, LogView
from hangview.tui.log.words import log_help, trouble
from hangview.tui.main.prompt import Prompt
from hangview.tui.titles import fitting
from hangview.tui.worksheet.bindings import bind

if TYPE_CHECKING:
    from textual.binding import BindingType

    from hangview.tui.log.reader import Found


class LogScreen(HoldingScreen, inherit_bindings=False):
    """Moves, searches and filters."""

    BINDINGS: ClassVar[list[BindingType]] = bind(LOG_ACTIONS)

    # Moving

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_page_up(self) -> None:
        self._move(-max(1, self._view.size.height - 1))

    def action_page_down(self) -> None:
        self._move(max(1, self._view.size.height - 1))

    def action_half_up(self) -> None:
        self._move(-max(1, self._view.size.height // 2))

    def action_half_down(self) -> None:
        self._move(max(1, self._view.size.height // 2))

    def action_top(self) -> None:
        self._go(0)

    def action_bottom(self) -> None:
        self._go(None)

    def action_left(self) -> None:
        self._view.aside(-STEP)
        self._show_status()

    def action_right(self) -> None:
        if self._view.aside(STEP):
            self._show_status()
        else:
            self.say("no line in sight goes on to the right")

    def action_line_start(self) -> None:
        self._view.aside(-self._view.left)
        self._show_status()

    def on_log_view_clicked(self, event: LogView.Clicked) -> None:
        event.stop()
        self._move(event.rows if event.index is None else event.index - self._view.cursor)

    # Lines that were used

    def action_matters(self) -> None:
        self._view.aside(-self._view.left)  # a hit may have led far to the right, where other lines look empty
        self.to_matters()

    def action_next_used(self) -> None:
        self._step_used(1)

    def action_previous_used(self) -> None:
        self._step_used(-1)

    def _step_used(self, step: int) -> None:
        target, row = self.target, self.row
        lines = target.own if self.only else target.used
        here = row.offset if row is not None else 0
        there = [each for each in lines if (each.offset - here) * step > 0]
        if there:
            chosen = there[0] if step > 0 else there[-1]
            self._go(chosen.offset, text=chosen.text, exact=True)
        else:
            which = f" for rank {target.rank}" if self.only else ""
            self.say(f"no line {'below' if step > 0 else 'above'} that hangview used{which}")

    # One rank alone

    def action_only_rank(self) -> None:
        if self.target.alone and not self.only:
            self.say(f"all lines of this log are rank {self.target.rank}'s")
            return
        self.only = not self.only
        row = self.row
        self._view.rows = ()  # those of the other kind are not to be found again
        self._view.say(f"looking for lines that name rank {self.target.rank}" if self.only else "reading")
        self._show_head()
        self._go(row.offset if row is not None else 0)

    # Searching

    def action_search(self) -> None:
        typed = self._view.needle.typed if self._view.needle is not None else ""
        self.query_one(Prompt).ask("log", "/", "a text; small letters find capitals too; empty: no search", typed)
        self.query_one("#log-keys").display = False

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        event.stop()
        self.query_one("#log-keys").display = True
        self.set_focus(None)
        if event.text is None:
            return
        self._view.needle = Needle(event.text) if event.text else None
        self._view.refresh()
        if event.text:
            self._find(backwards=False)
        else:
            self._show_status()

    def action_next_hit(self) -> None:
        self._find(backwards=False)

    def action_previous_hit(self) -> None:
        self._find(backwards=True)

    def _find(self, *, backwards: bool) -> None:
        needle, row = self._view.needle, self.row
        if needle is None:
            self.say(f"nothing was searched for: {live_keys(self.app)('log_search')} searches")
            return
        if row is None:
            return
        rows, only, reader, search = self._view.rows, self.only, self.reader, self.search
        after = next((each for each in rows[self._view.cursor :] if each.offset > row.offset), None)
        begin = row.offset, row.number
        end = row.end, after.number if after is not None and after.offset == row.end else None
        if end[1] is None and row.number is not None:
            end = row.end, row.number + 1 if after is not None or row.end < self._length else None
        self._progress = ""
        self.search.start(
            lambda stop: reader.find(
                needle, begin, end, stop.is_set,
                lambda at, size: search.tell(Told(search, f": at {size_text(at)} of {size_text(size)}")),
                backwards=backwards, only=only,
            ),
            lambda result: self._found(result, needle, row.offset),
        )  # fmt: skip

    def _found(self, result: Found | OSError, needle: Needle, here: int) -> None:
        if isinstance(result, OSError):
            self.say(trouble(self.target, result))
        elif result.stopped:
            self.say(f"search stopped: {needle.typed}")
        elif result.offset is None:
            chip = f" in lines that name rank {self.target.rank}" if self.only else ""
            self.say(f"not found{chip}: {needle.typed}")
        elif result.offset == here:
            self._put(self._view.cursor, f"found in this line alone: {needle.typed}")
        else:
            at = f"line {result.number:,}" if result.number is not None else f"at {size_text(result.offset)}"
            words = f"found: {at}{' (round the end)' if result.wrapped else ''} · {needle.typed}"
            self._go(result.offset, text=needle.typed, words=words)

    # The rest

    def action_next_log(self) -> None:
        if len(self._targets) == 1:
            self.say(f"this is the only log of rank {self.target.rank}")
            return
        self.jobs.forget()
        self.search.forget()
        self._at = (self._at + 1) % len(self._targets)
        self._begin()
        self._open()

    def action_copy(self) -> None:
        row = self.row
        if row is None:
            return
        where = f":{row.number}" if row.number is not None else f" at byte {row.offset}"
        text = f"{self.target.shown}{where}  {row.text}\n"
        self.app.copy_to_clipboard(text)
        self.say(fitting(say(keep(text), sent=True), self.size.width))

    def action_help(self) -> None:
        self.app.push_screen(HelpDialog(log_help(live_keys(self.app)), ascii_only=self._ascii))

    def action_stop(self) -> None:
        if not self.search.stop() and not (self._waited and self.jobs.stop()):
            self.action_close()

    def action_close(self) -> None:
        if not self._popped:
            self._popped = True  # two quick keys reach it before the first has popped it
            self.dismiss()
