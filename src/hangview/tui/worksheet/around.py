"""What stands around the worksheet's form: its head, what is new, and at the bottom the keys, or what was just done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.screen import Screen

from hangview.tui.actions import show_key
from hangview.tui.live import live_keys
from hangview.tui.prose import Line, Tone, clip, line, to_ascii
from hangview.tui.saying import Saying
from hangview.tui.worksheet.bindings import key_line
from hangview.tui.worksheet.keys import FOOTERS, Mode
from hangview.tui.worksheet.lines import Lines
from hangview.tui.worksheet.saving import short_path
from hangview.worksheet.layout import FieldKind

if TYPE_CHECKING:
    from hangview.tui.worksheet.form import Form
    from hangview.tui.worksheet.screen_words import ScreenWords
    from hangview.worksheet.session import Session

#: Cells of a field's name in the key line, at least.
NAME = 20


class AroundScreen(Saying, Screen[None], inherit_bindings=False):
    """A notice stands in the key line until the next key, or above the form where it is longer: never over a field."""

    def __init__(self, session: Session, words: ScreenWords, ascii_only: bool) -> None:
        super().__init__()
        self.session, self.words = session, words
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")
        self._head = Lines(ascii_only=ascii_only, id="sheet-head")
        self._news = Lines(ascii_only=ascii_only, id="sheet-news")
        self._keys = Lines(ascii_only=ascii_only, id="sheet-keys")
        self._form: Form | None = None
        self._thread: int | None = None  # the app's, once it is shown
        self._draft_word = ""  # why the draft is not kept, or where else it is
        self._replaced = ""  # the field in which what was typed has just taken the place of the evidence
        self._saved_early = False  # the saved file has what was read until then
        self._notice = ""

    @property
    def form(self) -> Form:
        """The form, also while the screen is taken down, when what it holds is wanted once more."""
        assert self._form is not None, "not composed yet"
        return self._form

    # Notices

    def say(self, text: str) -> None:
        """What was done, or why nothing was; the next key takes it away."""
        self._notice = text
        self._show_lines()

    def unsay(self) -> None:
        if self._notice:
            self._notice = ""
            self._show_lines()

    def unbound(self, key: str) -> str:
        """What to say of a key that nothing is bound to, outside of fields."""
        return self.words("unbound", key=show_key(key), help=live_keys(self.app)("sheet_help"))

    # Lines

    def _show_lines(self, width: int = 0) -> None:
        if self._thread is None:
            return
        width = width or self.size.width
        session, words = self.session, self.words
        parts = [words("title"), session.sheet.head[0].lstrip("# ").partition(": ")[2]]
        parts += [words("reading")] if session.reading else []
        parts.append(words.count("blanks", len(session.sheet.blanks())))
        saved = session.store.saved_to
        if saved is not None:
            key = "changed_since" if session.unsaved else "saved_to"
            parts.append(words(key, path=short_path(saved, session.store.cwd)))
        elif session.begun:
            parts.append(words("draft_kept" if not session.unkept else "not_saved"))
        head = " " + " · ".join(part for part in parts if part)
        legend = f"   {words('legend')}"
        legend = legend if cell_len(head) + cell_len(legend) <= width else ""
        self._head.show((self._cut(line(head, (legend, Tone.DIM)), width),))
        self._news.show(self._news_lines(width))
        mode = self.mode
        about = self._cut(line(self._field_name()), max(NAME, width // 3)).text
        keys = key_line(FOOTERS[mode], width, words(f"mode.{mode}"), live_keys(self.app), words, about=about)
        self._keys.show((self._notice_line(width) or keys,))

    def _notice_line(self, width: int) -> Line | None:
        """The notice in the place of the keys, behind what they do now; None where there is none, or no room for it."""
        told = line((f"[{self.words(f'mode.{self.mode}')}]", Tone.LEAD), " ", (self._notice, Tone.KEY))
        return told if self._notice and self._cut(told, width).text == self._cut(told, 9999).text else None

    def _cut(self, each: Line, width: int) -> Line:
        """On one row; spelled already where only ASCII can be drawn, for signs that take more cells then."""
        spans = ((to_ascii(span.text), span.tone) for span in each.spans)
        return clip(line(*spans), width, "...") if self._ascii else clip(each, width)

    def _field_name(self) -> str:
        """The field that takes the keys, as tab goes from one to the next quickly; "" for none."""
        at = self.form.at
        return self.session.sheet[at.key].label if at is not None and at.key in self.session.sheet else ""

    def _news_lines(self, width: int) -> tuple[Line, ...]:
        lines = []
        if self._notice and self._notice_line(width) is None:
            lines.append(line((f" {self._notice}", Tone.KEY), hang=1))
        if self._draft_word:
            lines.append(line((f" {self._draft_word}", Tone.LEAD), hang=1))
        if self._saved_early:
            lines.append(line((f" {self.words('saved.early', key=live_keys(self.app)('sheet_save_here'))}", Tone.LEAD), hang=1))
        evidence = self._replaced_evidence()
        if evidence:
            restore = live_keys(self.app)("sheet_undo")
            told = self.words("in_place", value=self._cut(line(evidence), NAME * 2).text, key=restore)
            lines.append(line((f" {told}", Tone.LEAD)))
        changes = len(self.session.changes)
        if changes:
            look = live_keys(self.app)("sheet_changes")
            lines.append(line((f" {self.words.count('new_evidence', changes, key=look)}", Tone.LEAD)))
        return tuple(lines)

    def _replaced_evidence(self) -> str:
        """What the evidence says of the field that is written in, where what was typed just now stands in its place."""
        at = self._form.at if self._form is not None else None
        if at is None or at.key != self._replaced or at.key not in self.session.sheet:
            return ""
        field = self.session.sheet[at.key]
        return field.prefilled[0].value if field.prefilled and field.typed else ""

    @property
    def mode(self) -> Mode:
        """What keys do now: commands, text, answers or ticks. The key line always says it."""
        at = self._form.at if self._form is not None else None
        if at is None:
            return Mode.KEYS
        if at.tick is not None:
            return Mode.TICK
        return Mode.CHOICE if at.kind is FieldKind.CHOICE else Mode.TYPING
