"""The worksheet's screen: the form, what is kept and what is saved, and the dialogs around it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import SuspendNotSupported
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, TextArea

from hangview.text import count
from hangview.tui.prose import Line, Tone, clip, line
from hangview.tui.worksheet.bindings import bind, key_line
from hangview.tui.worksheet.editor import EditorError, edit
from hangview.tui.worksheet.fields import FieldBox, LineBox, TextInput
from hangview.tui.worksheet.form import Form
from hangview.tui.worksheet.keys import EVERYWHERE_ACTIONS, FORM_ACTIONS, FORM_FOOTER, TEXT_FOOTER
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.offers import ChangesDialog, DraftDialog, PreviewDialog
from hangview.tui.worksheet.saving import OpenDialog, SaveDialog, short_path
from hangview.tui.worksheet.words import LEGEND
from hangview.worksheet.markdown import to_markdown
from hangview.worksheet.session import Session

if TYPE_CHECKING:
    from pathlib import PurePath

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import DescendantBlur, DescendantFocus, Resize
    from textual.timer import Timer

    from hangview.incident import Finding, Incident
    from hangview.worksheet.store import DraftResult, OpenResult, SaveResult, SheetStore

#: Seconds from an edit to its draft on the disk, at most; leaving a field or the screen keeps it at once.
KEEP_AFTER = 0.4
#: Below this width labels stand above their fields.
NARROW = 76


class WorksheetScreen(Screen[None], inherit_bindings=False):
    """See the package for how an app mounts it. Install it: it goes on where it was when it is shown again."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = "worksheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bind((*FORM_ACTIONS, *EVERYWHERE_ACTIONS))
    AUTO_FOCUS = ""

    class Kept(Message):
        """A thread has kept the draft, or could not."""

        def __init__(self, result: DraftResult) -> None:
            super().__init__()
            self.result = result

    def __init__(self, store: SheetStore, incident: Incident, *, ascii_only: bool = False, language: str = "en") -> None:
        super().__init__()
        self.session = Session(store, incident, language=language)
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")
        self._offered = False  # drafts are offered once
        self._timer: Timer | None = None
        self._head = Lines(ascii_only=ascii_only, id="sheet-head")
        self._news = Lines(ascii_only=ascii_only, id="sheet-news")
        self._keys = Lines(ascii_only=ascii_only, id="sheet-keys")
        self._form: Form | None = None
        self._thread: int | None = None  # the app's, once it is shown
        self._draft_word = ""  # why the draft is not kept, or where else it is

    # For the app

    @property
    def unsaved(self) -> bool:
        """Whether something was written that no saved file holds. The draft holds it."""
        return self.session.unsaved

    def update_incident(self, incident: Incident) -> None:
        """Take the evidence as it is now."""
        self.session.update_incident(incident)
        if self.is_mounted:
            self.call_later(self._show)

    def add_finding(self, finding: Finding) -> str:
        """Put a finding into section 7 and say so in a line."""
        before = self.session.sheet
        key = self.session.add_finding(finding)
        label = self.session.sheet[key].label
        if self.is_mounted:
            self.call_later(self._show)
        problem = self.flush()
        if self.session.sheet is before:
            return f"it is in the worksheet already: {label}"
        return f"sent to the worksheet: {label}" + (f"; {problem}" if problem else "")

    def flush(self) -> str:
        """Keep the draft now. "" when it is kept, or nothing has to be; else why it is not, or where else it is.

        May be called from any thread, also while the loop stands still: a terminal that is gone may block every write.
        """
        if self._form is not None:
            for made in [made for box in self._form.boxes for made in box.pending()]:
                if isinstance(made, FieldBox.Typed):
                    self.session.type(made.key, made.text)
                else:
                    self.session.tick(made.key, made.index, made.checked)
        result = self.session.flush()
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
        return SaveDialog(self.session, ascii_only=self._ascii)

    # The screen

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._news
        self._form = Form(self.session.sheet, ascii_only=self._ascii)
        yield self._form
        yield self._keys

    @property
    def form(self) -> Form:
        """The form, also while the screen is taken down, when what it holds is wanted once more."""
        assert self._form is not None, "not composed yet"
        return self._form

    def on_resize(self, event: Resize) -> None:
        # Not by textual's breakpoints: they style everything again on wide screens too.
        self.set_class(event.size.width < NARROW, "-narrow")
        self._show_lines()

    async def on_screen_resume(self) -> None:
        await self._show()
        if not self._offered:
            self._offered = True
            self.action_drafts(quiet=True)

    def on_screen_suspend(self) -> None:
        self.flush()

    def on_mount(self) -> None:
        self._thread = threading.get_ident()

    def on_unmount(self) -> None:
        self._thread = None  # nothing is left to show the outcome on
        self.flush()
        self.session.close()

    async def _show(self) -> None:
        await self.form.show(self.session.sheet)
        self._show_lines()

    def _show_lines(self) -> None:
        if self._thread is None:
            return
        session = self.session
        parts = ["worksheet", session.sheet.head[0].lstrip("# ").partition(": ")[2]]
        parts.append(f"{count(len(session.sheet.blanks()), 'blank')}")
        saved = session.store.saved_to
        if saved is not None:
            parts.append(f"saved to {short_path(saved, session.store.cwd)}" + (", changed since" if session.unsaved else ""))
        elif session.begun:
            parts.append("draft kept, not saved" if not session.unkept else "not saved")
        head = " " + " · ".join(part for part in parts if part)
        legend = f"   {LEGEND}" if len(head) + len(LEGEND) + 3 <= self.size.width else ""
        self._head.show((clip(line(head, (legend, Tone.DIM)), self.size.width),))
        self._news.show(self._news_lines())
        self._keys.show((self._key_line(),))

    def _news_lines(self) -> tuple[Line, ...]:
        lines = []
        if self._draft_word:
            lines.append(line((f" {self._draft_word}", Tone.LEAD), hang=1))
        changes = len(self.session.changes)
        if changes:
            verb = "is" if changes == 1 else "are"
            lines.append(
                line((f" new evidence: {count(changes, 'field')} {verb} filled in otherwise by now: c looks", Tone.LEAD))
            )
        return tuple(lines)

    def _key_line(self) -> Line:
        return key_line(TEXT_FOOTER if self._in_text else FORM_FOOTER, self.size.width)

    @property
    def _in_text(self) -> bool:
        return isinstance(self.focused, Input | TextArea)

    def on_descendant_focus(self, event: DescendantFocus) -> None:  # noqa: ARG002
        self._show_lines()

    def on_descendant_blur(self, event: DescendantBlur) -> None:  # noqa: ARG002
        self._keep_now()

    # Edits and the draft

    @on(FieldBox.Typed)
    def _typed(self, event: FieldBox.Typed) -> None:
        self.session.type(event.key, event.text)
        self._edited(event.key)

    @on(FieldBox.Ticked)
    def _ticked(self, event: FieldBox.Ticked) -> None:
        self.session.tick(event.key, event.index, event.checked)
        self._edited(event.key)

    def _edited(self, key: str) -> None:
        box = self.form.box(key)
        if box is not None:
            box.relabel(self.session.sheet[key])
        if self.session.unkept and self._timer is None:
            self._timer = self.set_timer(KEEP_AFTER, self._keep_now)
        self._show_lines()

    def _keep_now(self) -> None:
        """Keep the draft from a thread: a network file system may take long, and typing must not wait for it."""
        self._stop_timer()
        if self.session.unkept:
            self.run_worker(self._keep, thread=True, group="draft", exit_on_error=False)

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
        if result.message and result.message != self._draft_word:
            self.notify(result.message, severity="warning" if result.kept else "error", timeout=10, markup=False)
        self._draft_word = result.message
        self._show_lines()

    # Keys

    def action_leave(self) -> None:
        if self.focused is not None:
            self.set_focus(None)
        else:
            self.action_close()

    def action_close(self) -> None:
        self.flush()
        self.app.pop_screen()

    def action_next_field(self) -> None:
        box = self.form.first_in_sight() if self.focused is None else None
        if box is not None:
            box.control.focus()
        else:
            self.focus_next()

    def action_previous_field(self) -> None:
        self.focus_previous()

    def action_section(self, number: int) -> None:
        self.set_focus(None)
        self.form.go_to_section(number)

    def action_down(self) -> None:
        self.form.scroll_down(animate=False)

    def action_up(self) -> None:
        self.form.scroll_up(animate=False)

    def action_page_down(self) -> None:
        self.form.scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self.form.scroll_page_up(animate=False)

    def action_top(self) -> None:
        self.form.scroll_home(animate=False)

    def action_bottom(self) -> None:
        self.form.scroll_end(animate=False)

    async def action_another_hypothesis(self) -> None:
        self.session.add_hypothesis()
        await self._show()
        box = self.form.box(f"hypothesis.{self.session.sheet.hypotheses}")
        if box is not None:
            box.control.focus()

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
            self.app.push_screen(self.save_dialog(), self._saved)

    def action_save_here(self) -> None:
        self.action_save()

    def action_save_as(self) -> None:
        self.app.push_screen(self.save_dialog(), self._saved)

    def _saved(self, result: SaveResult | None) -> None:
        if result is not None:
            self.notify(result.message, timeout=8, markup=False)
            self._keep_now()
        self._show_lines()

    def action_preview(self) -> None:
        self.app.push_screen(PreviewDialog(to_markdown(self.session.sheet), ascii_only=self._ascii))

    def action_changes(self) -> None:
        if self.session.changes:
            self.app.push_screen(ChangesDialog(self.session, ascii_only=self._ascii), self._took)
        else:
            self.notify("what the evidence fills in has not changed", markup=False)

    async def _took(self, number: int | None) -> None:
        if number is not None:
            self.notify(f"{count(number, 'field')} taken over from the evidence", markup=False)
            self._keep_now()
        await self._show()

    def action_open(self) -> None:
        self.app.push_screen(OpenDialog(self.session, ascii_only=self._ascii), self._opened)

    async def _opened(self, result: OpenResult | None) -> None:
        if result is not None:
            self.notify(f"opened {result.path}", markup=False)
            self._keep_now()
        await self._show()

    def action_drafts(self, *, quiet: bool = False) -> None:
        drafts = self.session.drafts()
        if drafts:
            self.app.push_screen(DraftDialog(self.session, drafts, ascii_only=self._ascii), self._resumed)
        elif not quiet:
            self.notify("no earlier draft of this incident", markup=False)

    async def _resumed(self, word: str | None) -> None:
        if word is not None:
            self.notify(word, markup=False)
            self._keep_now()
        await self._show()

    async def action_editor(self) -> None:
        """The focused field in an editor; the screen comes back as it was."""
        box = next((box for box in self.form.boxes if self.focused is not None and box in self.focused.ancestors), None)
        if box is None or not (isinstance(box, LineBox) or isinstance(self.focused, TextInput)):
            self.notify("go to a text field first", markup=False)
            return
        self.flush()
        field = self.session.sheet[box.field.key]
        try:
            with self.app.suspend():
                text = edit(field.value if isinstance(box, LineBox) else field.typed)
        except EditorError as error:
            self.notify(str(error), severity="error", markup=False)
        except SuspendNotSupported:
            self.notify("this terminal cannot be handed to an editor", severity="error", markup=False)
        else:
            self.session.type(field.key, text)
            await self._show()
            self._keep_now()
