"""The worksheet's screen: the form, what is kept and what is saved, and the dialogs around it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import SuspendNotSupported
from textual.message import Message
from textual.scrollbar import ScrollBar

from hangview.tui.dialogs.help import HelpDialog
from hangview.tui.live import live_keys
from hangview.tui.patience import beside, within
from hangview.tui.saying import Saying
from hangview.tui.worksheet.around import AroundScreen
from hangview.tui.worksheet.bindings import bind
from hangview.tui.worksheet.editor import EditorError, edit
from hangview.tui.worksheet.form import Form
from hangview.tui.worksheet.help import sheet_help
from hangview.tui.worksheet.keys import EVERYWHERE_ACTIONS, FORM_ACTIONS, Mode
from hangview.tui.worksheet.offers import ChangesDialog, DraftDialog, PreviewDialog
from hangview.tui.worksheet.saving import OpenDialog, SaveDialog
from hangview.tui.worksheet.screen_words import words_of
from hangview.tui.worksheet.scrollbar import PlainBar
from hangview.worksheet.layout import FieldKind
from hangview.worksheet.markdown import to_markdown
from hangview.worksheet.model import Mark, repeat_key
from hangview.worksheet.prefill import prefill
from hangview.worksheet.session import Session
from hangview.worksheet.store import DraftResult

if TYPE_CHECKING:
    from pathlib import PurePath

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Resize
    from textual.timer import Timer

    from hangview.incident import Incident
    from hangview.terms import Finding
    from hangview.tui.worksheet.form import Edit
    from hangview.worksheet.drafts import Draft
    from hangview.worksheet.store import OpenResult, SaveResult, SheetStore

#: Seconds from an edit to its draft on the disk, at most; leaving a field or the screen keeps it at once.
KEEP_AFTER = 0.4


class WorksheetScreen(AroundScreen, inherit_bindings=False):
    """See the package for how an app mounts it. Install it: it goes on where it was when it is shown again."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = "worksheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bind((*FORM_ACTIONS, *EVERYWHERE_ACTIONS))
    AUTO_FOCUS = ""

    class Kept(Message):
        """A thread has kept the draft, or could not."""

        def __init__(self, result: DraftResult) -> None:
            super().__init__()
            self.result = result

    def __init__(
        self,
        store: SheetStore,
        incident: Incident,
        *,
        ascii_only: bool = False,
        language: str = "en",
        reading: bool = False,
    ) -> None:
        """``reading``: the incident is what a part of the files says, and the rest is still being read."""
        session = Session(store, incident, language=language, reading=reading)
        super().__init__(session, words_of(language, ascii_only=ascii_only), ascii_only)
        ScrollBar.renderer = PlainBar  # in the dialogs too; nothing else has a scrollbar
        self._offered = False  # drafts are offered once, and again where the question was left
        self._left = False
        self._timer: Timer | None = None

    # For the app

    @property
    def unsaved(self) -> bool:
        """Whether something was written that no saved file holds. The draft holds it."""
        return self.session.unsaved or self.session.lost

    def update_incident(self, incident: Incident, *, reading: bool = False) -> None:
        """Take the evidence as it is now."""
        made = self._form.pending() if self._form is not None else None
        if made is not None:
            self._take(made)
        self.session.update_incident(incident, reading=reading)
        if self.is_mounted:
            self.call_later(self._show)

    def add_finding(self, finding: Finding) -> str:
        """Put a finding into section 7 and say so in a line."""
        before = self.session.sheet
        key = self.session.add_finding(finding)
        label = self.session.sheet[key].label
        if self.is_mounted:
            self.call_later(self._show)
        problem = self._flush_soon()
        if self.session.sheet is before:
            return self.words("in_already", label=label)
        return self.words("sent", label=label) + (f"; {self.words.tell(problem)}" if problem else "")

    def flush(self) -> str:
        """Keep the draft now. "" when it is kept, or nothing has to be; else why it is not, or where else it is.

        May be called from any thread, also while the loop stands still: a terminal that is gone may block every write.
        """
        made = self._form.pending() if self._form is not None else None
        if made is not None:
            self._take(made)
        result = self.session.flush()
        if self._thread == threading.get_ident():
            self._stop_timer()
            self._heed(result)
        return result.message if result is not None else ""

    def _flush_soon(self) -> str:
        """The same from the loop, without waiting for ever: a home directory on a dead file server must not hold a key."""
        results: list[DraftResult | None] = []
        made = self._form.pending() if self._form is not None else None
        if made is not None:
            self._take(made)
        done = within(lambda: results.append(self.session.flush()))
        result = results[0] if results else None
        if not done:
            result = DraftResult(False, None, self.words("draft_waits"))
        if self._thread == threading.get_ident():
            self._stop_timer()
            self._heed(result)
        return result.message if result is not None else ""

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def save_dialog(self) -> SaveDialog:
        """The question where to save, for an app that saves from elsewhere."""
        return SaveDialog(self.session, ascii_only=self._ascii, words=self.words)

    # The screen

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._news
        self._form = Form(self.session.sheet, ascii_only=self._ascii, edited=self._edited, moved=self._moved, words=self.words)
        yield self._form
        yield self._keys

    def on_resize(self, event: Resize) -> None:
        self._show_lines(event.size.width)

    def on_screen_resume(self) -> None:
        self._show()
        if not self._offered:
            self._offered = True
            self.action_drafts(quiet=True)

    def on_screen_suspend(self) -> None:
        if self._left:
            self._left = self._offered = False
        self._flush_soon()

    def on_mount(self) -> None:
        self._thread = threading.get_ident()

    def on_unmount(self) -> None:
        self._thread = None  # nothing is left to show the outcome on
        within(lambda: (self.flush(), self.session.close()), 0.5)

    def _show(self) -> None:
        self.form.show(self.session.sheet)
        self._show_lines()

    def _moved(self) -> None:
        """Another field is written in, or none: other keys, and what was written is kept at once."""
        self._replaced = ""
        self._show_lines()
        self._keep_now()

    # Edits and the draft

    def _take(self, made: Edit) -> None:
        if made.tick is None:
            self.session.type(made.key, made.text)
        else:
            self.session.tick(made.key, made.tick, made.checked)

    def _edited(self, made: Edit) -> None:
        before = self.session.sheet[made.key]
        self._take(made)
        if before.kind is FieldKind.LINE and before.mark is Mark.PREFILLED:
            self._replaced = made.key
        self.form.show(self.session.sheet, by_hand=True)
        if self.session.unkept and self._timer is None:
            self._timer = self.set_timer(KEEP_AFTER, self._keep_now)
        self._show_lines()

    def _keep_now(self) -> None:
        """Keep the draft from a thread: a network file system may take long, and typing must not wait for it."""
        self._stop_timer()
        if self.session.unkept:
            beside(self._keep)

    def _keep(self) -> None:
        result = self.session.flush()
        if result is not None:
            self.post_message(self.Kept(result))

    @on(Kept)
    def _was_kept(self, event: Kept) -> None:
        self._heed(event.result)

    def _heed(self, result: DraftResult | None) -> None:
        if result is None:
            return
        message = self.words.tell(result.message)
        if message and message != self._draft_word:
            self.unsay()  # it stands above the form for as long as it is so
        self._draft_word = message
        self._show_lines()

    # Keys

    def action_leave(self) -> None:
        if self.form.at is not None:
            self.form.leave()
        else:
            self.action_close()

    def action_close(self) -> None:
        problem = self._flush_soon()
        self.app.pop_screen()
        below = self.app.screen
        if problem and isinstance(below, Saying):
            below.say(self.words.tell(problem))

    def action_next_field(self) -> None:
        self.form.step(1)

    def action_previous_field(self) -> None:
        self.form.step(-1)

    def action_first_blank(self) -> None:
        if not self.form.enter_first_blank():
            self.say(self.words("no_blank", next=live_keys(self.app)("sheet_next_field")))

    def action_section(self, number: int) -> None:
        self.form.go_to_section(number)

    def action_down(self) -> None:
        self._scroll(1)

    def action_up(self) -> None:
        self._scroll(-1)

    def action_page_down(self) -> None:
        self._scroll(self.form.size.height - 1)

    def action_page_up(self) -> None:
        self._scroll(1 - self.form.size.height)

    def action_top(self) -> None:
        self._scroll(-self.form.virtual_size.height)

    def action_bottom(self) -> None:
        self._scroll(self.form.virtual_size.height)

    def _scroll(self, rows: int) -> None:
        self.form.scrolled()
        self.form.scroll_to(y=self.form.scroll_y + rows, animate=False, immediate=True)

    def action_another_hypothesis(self) -> None:
        self.session.add_hypothesis()
        self._show()
        self.form.enter(repeat_key("hypothesis", self.session.sheet.hypotheses))

    def action_save(self) -> None:
        """To the file it was saved to last; asks the first time, and whenever that does not go."""
        path = self.session.store.saved_to
        if path is None:
            self.action_save_as()
            return
        result = self.session.save(path)
        if result.ok:
            self._saved(result)
        else:
            dialog = SaveDialog(self.session, ascii_only=self._ascii, words=self.words, refused=result)
            self.app.push_screen(dialog, self._saved)

    def action_save_here(self) -> None:
        self.action_save()

    def action_save_as(self) -> None:
        self.app.push_screen(self.save_dialog(), self._saved)

    def _saved(self, result: SaveResult | None) -> None:
        if result is not None:
            self.say(self.words.result(result, len(self.session.sheet.blanks())) + self.was_saved())
            self._keep_now()
        self._show_lines()

    def was_saved(self) -> str:
        """What the file that was saved just now does not hold of the evidence, to be said behind where it was saved; ""."""
        session = self.session
        self._saved_early = session.reading
        lacks = self.words("saved.reading") if session.reading else ""
        return lacks + (self.words.count("saved.offers", len(session.changes)) if session.changes else "")

    def action_preview(self) -> None:
        self.app.push_screen(PreviewDialog(to_markdown(self.session.sheet), ascii_only=self._ascii, words=self.words))

    def action_changes(self) -> None:
        if self.session.changes or self.session.declined:
            self.app.push_screen(ChangesDialog(self.session, ascii_only=self._ascii, words=self.words), self._took)
        else:
            self.say(self.words("no_changes"))

    def _took(self, answer: tuple[int, int] | None) -> None:
        if answer is not None:
            taken, left = answer
            said = self.words.count("taken", taken) if taken else self.words("taken.none")
            self.say(said + (self.words("declined", n=f"{left:,}", key=live_keys(self.app)("sheet_changes")) if left else ""))
            self._keep_now()
        self._show()

    def action_open(self) -> None:
        self.app.push_screen(OpenDialog(self.session, ascii_only=self._ascii, words=self.words), self._opened)

    def _opened(self, result: OpenResult | None) -> None:
        if result is not None:
            self.say(self.words("opened", path=result.path))
            self._keep_now()
        self._show()

    def action_drafts(self, *, quiet: bool = False) -> None:
        found: list[tuple[Draft, ...]] = []
        if not within(lambda: found.append(self.session.drafts())):
            self.say(self.words("drafts_wait"))
        drafts = found[0] if found else ()
        if quiet:  # unasked only what holds somebody's words or findings
            given = prefill(self.session.incident).hypotheses
            drafts = tuple(draft for draft in drafts if draft.sheet.touched or draft.sheet.hypotheses > given)
        if drafts:
            dialog = DraftDialog(self.session, drafts, ascii_only=self._ascii, words=self.words)
            self.app.push_screen(dialog, self._answered_first if quiet else self._resumed)
        elif not quiet:
            self.say(self.words("no_draft"))

    def _answered_first(self, word: str | None) -> None:
        """Whoever leaves the question is back where the worksheet was asked for: an empty one beside a draft nobody wants."""
        self._resumed(word)
        if word is None and self.app.screen is self:
            self._left = True
            self.action_close()

    def _resumed(self, word: str | None) -> None:
        if word:
            self.say(word)
            self._keep_now()
        self._show()

    def action_help(self) -> None:
        self.app.push_screen(HelpDialog(sheet_help(live_keys(self.app), self.words), ascii_only=self._ascii))

    def action_help_here(self) -> None:
        self.action_help()

    def action_editor(self) -> None:
        """The focused field in an editor; the screen comes back as it was."""
        at = self.form.at
        if at is None or self.mode is not Mode.TYPING:
            self.say(self.words("text_field_first"))
            return
        self._flush_soon()
        field = self.session.sheet[at.key]
        edited: str | EditorError
        try:
            with self.app.suspend():
                try:  # inside, for textual does not take the terminal back when something is raised through it
                    edited = edit(field.value if at.kind is FieldKind.LINE else field.typed)
                except EditorError as error:
                    edited = error
        except SuspendNotSupported:
            self.say(self.words("no_editor_here"))
            return
        if isinstance(edited, EditorError):
            self.say(self.words("editor_failed", why=self.words.tell(edited.said)))
        else:
            self.session.type(field.key, edited)
            self._show()
            self._keep_now()
