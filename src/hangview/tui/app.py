"""The application: the main screen, the looker behind it, dialogs, and a clean end whatever ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.events import Key, MouseDown, Paste
from textual.widgets import Input, TextArea

from hangview.cli_errors import Exit, exit_code
from hangview.keymap import all_actions
from hangview.text import count
from hangview.tui.base_app import BaseApp
from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.dialogs.leave import LeaveDialog
from hangview.tui.dialogs.palette import PaletteDialog, Picked
from hangview.tui.main.base import REST
from hangview.tui.main.panes import Pane
from hangview.tui.main.screen import MainScreen
from hangview.tui.patience import within
from hangview.tui.text.common import seconds
from hangview.tui.text.help import help_lines
from hangview.tui.text.news import being_written, news
from hangview.tui.tour import Tour

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import PurePath

    from textual.actions import ActionParseResult
    from textual.dom import DOMNode
    from textual.driver import Driver
    from textual.events import Event
    from textual.message import Message
    from textual.screen import Screen

    from hangview.incident import Incident
    from hangview.tui import UiOptions
    from hangview.tui.looker import Begun, Changed, Failed, Looked, Looker, Progress
    from hangview.tui.memory import Memory, Recalled
    from hangview.tui.worksheet.screen import WorksheetScreen
    from hangview.worksheet.store import SaveResult


class HangviewApp(BaseApp, inherit_bindings=True):
    """``looker`` makes the Looker once the app runs; without one, ``incident`` is all there is to see."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [
        "main/main.tcss", "main/prompt.tcss", "prose_view.tcss", "grid/grid.tcss", "grid/map.tcss", "dialogs/dialogs.tcss",
        "log/log.tcss", "worksheet/worksheet.tcss",  # read with the rest: a sheet that comes later has everything styled anew
    ]  # fmt: skip

    def __init__(
        self,
        paths: tuple[str, ...],
        ui: UiOptions,
        *,
        ascii_only: bool = False,
        colours: bool = True,
        looker: Callable[[Callable[[Message], object]], Looker] | None = None,
        incident: Incident | None = None,
        rest: float = REST,
        driver: type[Driver] | None = None,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(ui, colours=colours, driver=driver)
        self.main = MainScreen(paths, ui, ascii_only=ascii_only, rest=rest)
        self._make_looker = looker
        self._looker: Looker | None = None
        self._first = incident
        self._memory = memory
        self._tour: Tour | None = None  #: once there is something to lead through
        self._step_begins = False  #: the key that the tour waited for was pressed, and what it shows was not looked at yet
        self._touched = False  #: a key was pressed
        self._progress = ""
        self._asked_again = False  #: a look that was asked for by its key is under way
        self._sheet: WorksheetScreen | None = None
        self._wanted: Callable[[], object] | None = None  #: what was asked of the worksheet before there was one

    def get_default_screen(self) -> Screen[None]:
        return self.main

    def on_mount(self) -> None:
        if self._first is not None:
            self.call_after_refresh(self._take_first, self._first)
        if self._make_looker is not None:
            self._looker = self._make_looker(self.post_message)
            self._looker.start()
            self.set_interval(10, self._say_activity)

    def _take_first(self, incident: Incident) -> None:
        self.main.take(incident, final=True)
        self._ask_memory(incident)
        self._begin_tour()

    def _ask_memory(self, incident: Incident) -> None:
        if self._memory is not None and not self._touched:
            self._memory.recall(incident, self.post_message)

    def _begin_tour(self) -> None:
        if self.main.ui.tour:
            self._tour = Tour()
            self.main.show_tour(self._tour.words(self.live))
            self._step_begins = True
            self.call_after_refresh(self._see_tour)

    def on_recalled(self, event: Recalled) -> None:
        if self._touched:
            return  # who has begun to look round is not moved
        self.main.following = self.main.following and event.what is None
        if event.what is not None:
            self.main.recall(event.what)
        elif event.first and not self.main.ui.tour:
            keys = f"{self.live('help')} lists the keys, {self.live('palette')} finds commands"
            self.main.tell((f"new here? {keys}, hangview demo --tour shows the way round", f"new here? {keys}"))
        if event.draft and not self.main.ui.tour:
            told = "a draft of a worksheet is kept"
            goes_on = f"{self.live('worksheet')} goes on with it"
            self.main.tell((f"{told} for this incident: {goes_on}", f"{told}: {goes_on}"))

    def say(self, text: str) -> None:
        self.main.say(text)

    def touch(self, event: Key | Paste | MouseDown) -> None:
        self.main.following = False  # from now on nothing moves but by hand
        self._touched = True
        self._go_on_with_tour(event)

    def _go_on_with_tour(self, event: Event) -> None:
        """After the key that the tour waits for, once it has done what it does."""
        typing = isinstance(self.focused, Input | TextArea)
        tour = self._tour
        heard = isinstance(event, Key) and not typing and not self.main.cramped
        if tour is not None and isinstance(event, Key) and heard and tour.press(event.key, self.live):
            self._step_begins = True
            self.main.show_tour(tour.words(self.live))

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        done = await super().run_action(action, default_namespace, namespaces)
        if self._tour is not None:
            self.call_after_refresh(self._see_tour)  # once lists have said what is under their cursors
        return done

    def _see_tour(self) -> None:
        """Whether the screen shows what the tour speaks of; a step that begins speaks of what is shown then."""
        tour, main, begins = self._tour, self.main, self._step_begins
        if tour is None or (self.screen is not main and not begins):
            return
        self._step_begins = False
        where = (main.place, main.level, main.finding_at, *(pane.id for pane in main.query(Pane) if pane.display))
        if begins:
            tour.stand(where)
        elif tour.see(where):
            main.show_tour(tour.words(self.live))

    # Looking at files

    def _say_activity(self) -> None:
        looker = self._looker
        mode = looker.mode if looker is not None and not self.main.ui.demo else ""
        stale = bool(self.main.trouble) and self.main.incident is not None and not self._progress
        doing = "LAST LOOK FAILED" if stale else self._progress or mode
        parts = [doing] if doing else []
        ago = looker.checked_ago() if looker is not None else None
        if ago is not None and ago > 60 and not self._progress:
            parts.append(f"last look {seconds(int(ago * 1e9))} ago")
        written = being_written(self.main.incident) if self.main.incident is not None else ""
        if written and not self._progress and not stale:  # while reading, what was not read yet counts as growing too
            parts.append(written)
        self.main.activity = " · ".join(parts)
        if self.main.is_mounted:
            self.main.show_banner()

    def on_progress(self, event: Progress) -> None:
        self._progress = (
            f"reading {event.done:,} of {count(event.total, 'file')}" if event.done < event.total else "comparing ranks"
        )
        self._say_activity()

    def on_begun(self, event: Begun) -> None:
        self.main.begin(event.heads)

    def on_looked(self, event: Looked) -> None:
        self.main.trouble = ""
        before = self.main.incident
        moved_by_hand, was_partial = not self.main.following, self.main.partial
        if event.final:
            self._progress = ""
        self.main.take(event.incident, final=event.final)
        first = before is None or self.main.asks_memory
        if first:
            self.main.asks_memory = not event.final
            if event.final:
                self._ask_memory(event.incident)
                self._begin_tour()
        if self._sheet is not None and self.main.incident is not None and (event.final or first):
            self._sheet.update_incident(self.main.incident, reading=not event.final)
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            wanted()
            self._ahead.release()
        self._say_activity()
        said: tuple[str, ...] = ()
        if event.final and before is not None and (moved_by_hand or not was_partial):
            said = news(before, event.incident, self.live("next_finding") if moved_by_hand else "")
        if said:
            self.main.news = moved_by_hand
            self.main.tell(said)
        elif event.final and self._asked_again:
            self.main.say("looked again: the files say what they said before")
        self._asked_again = self._asked_again and not event.final

    def on_failed(self, event: Failed) -> None:
        self._progress, self._asked_again = "", False
        if self._wanted is not None:
            self._wanted = None
            self._ahead.drop()
            self._ahead.release()
        self.main.trouble = event.reason
        self._say_activity()
        self.main.share_out()
        self.main.say(event.reason)

    def on_changed(self, event: Changed) -> None:
        self._progress = f"{count(event.count, 'file')} changed, reading"
        self._say_activity()

    def action_look_again(self) -> None:
        if self._looker is None:
            self.main.say("nothing to look at again: this incident was given as it is")
            return
        self._asked_again = True
        self.main.say("looking again")
        self._looker.look_again()

    def action_pause(self) -> None:
        if self._looker is None or not self._looker.watches:
            self.main.say(f"not watching: {self.live('look_again')} looks again")
        else:
            paused = self._looker.toggle_pause()
            self._say_activity()
            goes_on, looks = self.live("pause"), self.live("look_again")
            self.main.say(f"watching paused: {goes_on} goes on, {looks} looks once" if paused else "watching again")

    # Worksheet

    def sheet(self) -> WorksheetScreen | None:
        """The worksheet, made when it is first wanted; None while there is no incident to fill it from."""
        incident = self.main.incident
        if self._sheet is None and incident is not None:
            from hangview.tui.worksheet.screen import WorksheetScreen
            from hangview.worksheet.store import SheetStore

            self._sheet = WorksheetScreen(
                SheetStore(), incident, ascii_only=self.main.ascii, language=self.main.ui.language, reading=self.main.partial
            )
            self.install_screen(self._sheet, "worksheet")
        if self._sheet is None:
            read = "no file was read" if self.main.trouble else "the files are being read"
            self.main.say(f"no worksheet yet: {read}")
        return self._sheet

    def action_worksheet(self) -> None:
        if self._is_read_first(self.action_worksheet, "the worksheet opens"):
            return
        if self.sheet() is not None:
            if self._ahead.holds_text:  # typed while the files were read, and into no field yet
                self._ahead.begin_with(self.live.of(all_actions()["sheet_first_blank"]))
            self.push_screen("worksheet")

    def _is_read_first(self, then: Callable[[], object], what: str) -> bool:
        """Whether the files come first; what is typed meanwhile is kept for what opens then."""
        if self.main.incident is not None or self._looker is None or self.main.trouble:
            return False
        self._wanted = then
        self._ahead.hold(self._wants_no_more)
        self.main.say(f"{what} when the files are read and gets what you type; esc cancels")
        return True

    def _wants_no_more(self) -> None:
        self._wanted = None
        self.main.say("cancelled: the files are still being read")

    def action_send_finding(self) -> None:
        finding, sheet = self.main.finding, self.sheet()
        if sheet is not None:
            self.main.say(sheet.add_finding(finding) if finding is not None else "there is no finding to send")

    def action_save(self) -> None:
        if self._is_read_first(self.action_save, "saving opens"):
            return
        sheet = self.sheet()
        if sheet is not None:
            self.push_screen(sheet.save_dialog(), self._saved)

    def _saved(self, result: SaveResult | None) -> None:
        if result is not None:
            lacks = self._sheet.was_saved() if self._sheet is not None else ""
            self.main.say(f"worksheet: {result.message}{lacks}")

    # Logs

    def action_open_log(self) -> None:
        from hangview.tui.log.opening import log_screen

        screen = log_screen(self.main)
        if isinstance(screen, str):
            self.main.say(screen)
        else:
            self.push_screen(screen)

    # Dialogs

    def action_help(self) -> None:
        lines = help_lines(ascii_only=self.main.ascii, live=self.live, pane=self.main.pane_kind)
        self.push_screen(HelpDialog(lines, ascii_only=self.main.ascii))

    def action_palette(self) -> None:
        self.push_screen(PaletteDialog(ascii_only=self.main.ascii), self._run_picked)

    async def _run_picked(self, picked: Picked | None) -> None:
        if picked is None:
            return
        if picked.place:
            self.main.jump(picked.place)
        else:
            await self.run_action(picked.action, self.main)

    # The end

    def code(self) -> int:
        """The verdict of what was read."""
        incident = self.main.incident
        return int(Exit.NOTHING if incident is None or self.main.partial else exit_code(incident.verdict))

    @property
    def last_words(self) -> str:
        incident = self.main.incident
        where = ", ".join(self.main.paths)
        if self.main.trouble:
            return self.main.trouble
        if incident is None or self.main.partial:
            return f"{where}: left before the files were read"
        return "" if incident.records.sources else f"{where}: no dump and no log was found"

    def action_leave_program(self) -> None:
        """Quit, with a word about a worksheet that was changed and not saved."""
        if self._sheet is None or not self._sheet.unsaved:
            self.end(self.code())
        else:
            session = self._sheet.session
            saved = session.store.saved_to
            what = f"was changed since it was saved to {saved}" if saved is not None else "was not saved as a file"
            what = f"was saved to {saved}, which is gone" if session.lost else what
            word = f"The worksheet {what}. Its draft is kept and will be offered again."
            self.push_screen(LeaveDialog(word, ascii_only=self.main.ascii), self._leave)

    def _leave(self, answer: str | None) -> None:
        if answer == "quit":
            self.end(self.code())
        elif answer == "save" and self._sheet is not None:
            self.push_screen(self._sheet.save_dialog(), self._leave_saved)

    def _leave_saved(self, result: SaveResult | None) -> None:
        self._saved(result)
        if result is not None and self._sheet is not None and not self._sheet.unsaved:
            self.end(self.code())

    def end(self, code: int) -> None:
        super().end(code)
        what = self.main.remembered() if self.main.is_mounted else None
        if self._memory is not None and what is not None and self.main.incident is not None:
            self._memory.keep(self.main.incident, what)

    def keep(self) -> None:
        """Keep the worksheet's draft."""
        if self._sheet is not None:
            self._sheet.flush()

    def close(self) -> None:
        """Keep the draft and stop the threads; a look that is still going on is left to its daemon thread."""
        within(self.keep, 1.0)
        if self._looker is not None:
            self._looker.stop()
