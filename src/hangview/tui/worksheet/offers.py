"""What is offered and never done unasked: earlier drafts, lines that new evidence would fill in otherwise; and a preview."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from hangview.text import escape, shorten
from hangview.tui.asking import Asking
from hangview.tui.live import live_keys
from hangview.tui.prose import Tone, line
from hangview.tui.prose_view import ProseView
from hangview.tui.worksheet.bindings import bind, key_line
from hangview.tui.worksheet.dialog import Dialog
from hangview.tui.worksheet.keys import (
    CHANGE_ACTIONS,
    DELETE_FOOTER,
    DIALOG_ACTIONS,
    DRAFT_ACTIONS,
    DRAFT_FOOTER,
    PREVIEW_ACTIONS,
)
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.saving import short_path
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords
from hangview.tui.worksheet.tick import Tick
from hangview.tui.worksheet.words import change_lines, markdown_lines
from hangview.worksheet.model import Mark

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from hangview.worksheet.drafts import Draft
    from hangview.worksheet.session import Session


#: Characters of what is written in a draft that tell it from others.
_WRITTEN = 24


class DraftDialog(Asking, Dialog[str]):
    """Earlier drafts of this incident, the newest first. Answers what was gone on with, "" to begin anew, None when left.

    A draft is deleted by two keys, the second of which answers a question that names it; any other keeps it and does no more.
    """

    BINDINGS: ClassVar[list[BindingType]] = bind(DRAFT_ACTIONS)
    AUTO_FOCUS = "OptionList"

    def __init__(self, session: Session, drafts: tuple[Draft, ...], *, ascii_only: bool, words: ScreenWords = ENGLISH) -> None:
        super().__init__(ascii_only=ascii_only, words=words)
        self._session = session
        self._drafts = list(drafts)
        self._list = OptionList(*(Option(self._words(draft)) for draft in drafts), compact=True)
        self._message = Lines(ascii_only=ascii_only, classes="dialog-message")
        self._keys = Lines(ascii_only=ascii_only, classes="dialog-keys")
        self._doomed: Draft | None = None  # whether to delete it is being asked
        self._early = ""  # typed before the question was there

    def _words(self, draft: Draft) -> Content:
        edited = [field for field in draft.sheet if field.mark is Mark.EDITED]
        notes = [self.words.count("draft.written", len(edited)) if edited else self.words("draft.nothing")]
        if edited:  # two of one minute are told apart by what is in them
            typed = shorten(escape(" ".join(edited[0].typed.split())), _WRITTEN)
            notes[0] += f" ({edited[0].label}{f': {typed}' if typed else ''})"
        if draft.open_elsewhere:
            notes.append(self.words("draft.elsewhere"))
        if draft.saved_to is not None:
            key = "draft.changed_there" if draft.saved_differs else "saved_to"
            notes.append(self.words(key, path=short_path(draft.saved_to, self._session.store.cwd)))
        return Content(self.spell(f"{self._when(draft)}  {' · '.join(notes)}\n    {draft.about}"))

    def _when(self, draft: Draft) -> str:
        """When it was written last: to the second where there is another one of the same minute."""
        alike = sum(_minute(each) == _minute(draft) for each in self._drafts) > 1
        return _moment(draft, "%Y-%m-%d %H:%M:%S") if alike else _minute(draft)

    def compose(self) -> ComposeResult:
        yield self.frame(self.words("draft.title"), self._list, self._message, self._keys, classes="-tall")

    def on_mount(self) -> None:
        self._say_keys()
        self.ask()

    def _say_keys(self) -> None:
        asked = DELETE_FOOTER if self._doomed is not None else DRAFT_FOOTER
        keys = key_line((*asked, *DIALOG_ACTIONS), self.app.size.width - 8, live=live_keys(self.app), words=self.words)
        self._keys.show((keys,))

    def _say(self, text: str) -> None:
        self._message.show((line((text, Tone.LEAD)),))

    def drop_ahead(self, typed: str) -> None:
        self._early += typed
        if self._early.strip():
            self._say(self.words("typed_early", typed=self._early.strip()))

    @property
    def _chosen(self) -> Draft | None:
        at = self._list.highlighted
        return self._drafts[at] if at is not None and at < len(self._drafts) else None

    def _keeps(self) -> bool:
        """Whether this key was no answer to the question about deleting: the draft stays, and that is all."""
        if self._doomed is None:
            return False
        self._stop_asking()
        self._say(self.words("draft.stays"))
        return True

    def _stop_asking(self) -> None:
        self._doomed = None
        self._list.focus()
        self._say_keys()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_take_draft()

    def action_take_draft(self) -> None:
        draft = self._chosen
        if not self._keeps() and draft is not None:
            self._session.resume(draft)
            self.dismiss(self.words("draft.copied" if draft.open_elsewhere else "draft.going_on"))

    def action_begin_anew(self) -> None:
        if not self._keeps():
            self.dismiss("")

    def action_cancel(self) -> None:
        if not self._keeps():
            super().action_cancel()

    def action_open_saved(self) -> None:
        draft = self._chosen
        if self._keeps():
            return
        if draft is None or draft.saved_to is None:
            self._say(self.words("draft.no_file"))
            return
        result = self._session.open(draft.saved_to)
        if result.sheet is None:
            self._say(self.words.tell(result.message))
        else:
            self.dismiss(self.words("opened", path=result.path))

    def action_delete_draft(self) -> None:
        draft = self._chosen
        if self._keeps() or draft is None:
            return
        self._doomed, self._early = draft, ""
        self.set_focus(None)  # no key moves the list meanwhile
        self._say(self.words("draft.delete", when=self._when(draft)))
        self._say_keys()
        self.ask()

    def action_delete_surely(self) -> None:
        draft = self._doomed
        if draft is None:
            return
        self._stop_asking()
        problem = self._session.store.discard(draft)
        if problem:
            self._say(self.words("draft.not_deleted", why=self.words.tell(problem)))
            return
        at, when = self._drafts.index(draft), self._when(draft)
        self._drafts.remove(draft)
        self._list.remove_option_at_index(at)
        self._say(self.words("draft.deleted", when=when))
        if not self._drafts:
            self.dismiss("")


def _minute(draft: Draft) -> str:
    return _moment(draft, "%Y-%m-%d %H:%M")


def _moment(draft: Draft, form: str) -> str:
    return datetime.fromtimestamp(draft.modified_ns / 1e9).strftime(form)


class ChangesDialog(Dialog[tuple[int, int]]):
    """Prefilled lines that would be others by now, all ticked; where there is none, those that were declined, none ticked.
    Answers how many were taken over, and how many were left."""

    BINDINGS: ClassVar[list[BindingType]] = bind(CHANGE_ACTIONS)
    AUTO_FOCUS = "Tick"

    def __init__(self, session: Session, *, ascii_only: bool, words: ScreenWords = ENGLISH) -> None:
        super().__init__(ascii_only=ascii_only, words=words)
        self._session = session
        self._again = not session.changes
        self._changes = session.declined if self._again else session.changes
        self._ticks = [
            Tick(change.label, checked=not self._again, ascii_only=ascii_only, more=change_lines(change, words))
            for change in self._changes
        ]
        self._count = Lines(ascii_only=ascii_only, classes="dialog-message")

    def compose(self) -> ComposeResult:
        keys = Lines(
            (key_line((*CHANGE_ACTIONS, *DIALOG_ACTIONS), 76, live=live_keys(self.app), words=self.words),),
            ascii_only=self.ascii_only,
            classes="dialog-keys",
        )
        title = self.words("changes.again" if self._again else "changes.title")
        yield self.frame(title, VerticalScroll(*self._ticks, can_focus=False), self._count, keys, classes="-tall")

    def on_mount(self) -> None:
        self._say_count()

    @property
    def _ticked(self) -> int:
        return sum(tick.checked for tick in self._ticks)

    def _say_count(self) -> None:
        """What enter is going to do: that all or none is ticked cannot be seen where there are more lines than rows."""
        said = self.words("changes.ticked", ticked=f"{self._ticked:,}", total=f"{len(self._ticks):,}")
        said = said if self._ticked else self.words("changes.none", total=f"{len(self._ticks):,}")
        self._count.show((line((said, Tone.PLAIN if self._ticked else Tone.LEAD)),))

    def on_tick_changed(self, event: Tick.Changed) -> None:
        event.stop()
        self._say_count()

    def action_take_ticked(self) -> None:
        for change, tick in zip(self._changes, self._ticks, strict=True):
            if tick.checked:
                self._session.accept(change)
            else:
                self._session.decline(change)
        self.dismiss((self._ticked, len(self._ticks) - self._ticked))

    def action_tick_all(self) -> None:
        tick_all = self._ticked < len(self._ticks)
        for tick in self._ticks:
            tick.set_checked(tick_all)
        self._say_count()


class PreviewDialog(Dialog[None]):
    """The markdown that is going to be saved, headings and labels made to stand out. Drawn as one text: textual's viewer makes
    widgets of all paragraphs, which takes seconds."""

    BINDINGS: ClassVar[list[BindingType]] = bind(PREVIEW_ACTIONS)
    AUTO_FOCUS = "#preview"

    def __init__(self, markdown: str, *, ascii_only: bool, words: ScreenWords = ENGLISH) -> None:
        super().__init__(ascii_only=ascii_only, words=words)
        self._view = ProseView(id="preview")
        self._lines = markdown_lines(markdown)

    def compose(self) -> ComposeResult:
        yield self.frame(self.words("preview.title", key=live_keys(self.app)("sheet_cancel")), self._view, classes="-tall")

    def on_mount(self) -> None:
        self._view.set_ascii(self.ascii_only)
        self._view.show(self._lines)
