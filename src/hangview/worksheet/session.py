"""One worksheet being worked on: the sheet, the incident it is about, where it is kept. What a screen or a script drives."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.worksheet.drafts import content_hash, encode
from hangview.worksheet.hypothesis import hypothesis_lines, with_finding
from hangview.worksheet.layout import FieldKind
from hangview.worksheet.markdown import to_markdown
from hangview.worksheet.model import Mark, repeat_key
from hangview.worksheet.offered import HYPOTHESIS_KEYS, offer
from hangview.worksheet.prefill import prefill

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.incident import Incident
    from hangview.terms import Finding
    from hangview.worksheet.drafts import Draft
    from hangview.worksheet.model import Change, Sheet
    from hangview.worksheet.store import DraftResult, OpenResult, SaveResult, SheetStore


class Session:
    """A sheet with its edits, its draft and its saved file. All but :meth:`flush` belongs to one thread.

    ``reading``: the incident is what a part of the files says, and the rest is still being read.
    """

    def __init__(self, store: SheetStore, incident: Incident, *, language: str = "en", reading: bool = False) -> None:
        self.store = store
        self.incident = incident
        self.reading = reading
        self._follows = reading  # what the sheet has from the evidence is of this reading, which goes on
        self.sheet: Sheet = prefill(incident, language=language)
        self._language = language
        self._begun = False  # whether it is more than a prefilled sheet: typed in, resumed or opened
        self._revision = 0
        self._kept = 0
        self._saved = ""  # the markdown that the saved file holds
        self._sent: list[Finding] = []
        self._declined: set[Change] = set()
        self._offer: tuple[Change, ...] | None = ()  # None: to be worked out again
        self._guard = threading.Lock()

    @property
    def begun(self) -> bool:
        """Whether it holds more than what the evidence filled in."""
        return self._begun

    @property
    def unsaved(self) -> bool:
        """Whether something was written that no saved file holds; the draft may hold it."""
        return self._begun and to_markdown(self.sheet) != self._saved

    @property
    def lost(self) -> bool:
        """Whether the file that it was saved to is not there any more. Asks the disk."""
        return self.store.saved_to is not None and not os.path.lexists(self.store.saved_to)

    @property
    def unkept(self) -> bool:
        """Whether an edit is not in the draft yet."""
        return self._kept < self._revision

    def _take(self, sheet: Sheet) -> None:
        if sheet != self.sheet:
            with self._guard:
                self.sheet = sheet
                self._begun = True
                self._revision += 1

    # Edits

    def type(self, key: str, text: str) -> None:
        """Put ``text`` into a field; what the evidence says there is no edit."""
        field = self.sheet[key]
        takes_value = field.kind in (FieldKind.LINE, FieldKind.CHOICE) and field.prefilled
        self._take(self.sheet.with_text(key, "" if takes_value and text == field.prefilled[0].value else text))

    def tick(self, key: str, index: int, checked: bool) -> None:
        self._take(self.sheet.with_tick(key, index, checked))

    def add_hypothesis(self) -> None:
        self._take(self.sheet.with_another_hypothesis())

    def add_finding(self, finding: Finding) -> str:
        """Put a finding into section 7 and return the key of its field; one that is there already is only pointed at."""
        sheet, key = with_finding(self.sheet, finding, self.incident)
        self._sent.append(finding)
        self._take(sheet)
        self._offer = None
        return key

    # New evidence

    def update_incident(self, incident: Incident, *, reading: bool = False) -> None:
        """The evidence is another now. A sheet that nobody wrote in follows, and as long as the first reading goes on so does
        every field that nobody wrote in; else :attr:`changes` offers what is new."""
        self.incident, self.reading = incident, reading
        self._offer = None
        if not self._begun:
            self.sheet = prefill(incident, language=self._language)
        elif self._follows:
            self._take(followed(self.sheet, incident))
        self._follows = self._follows and reading

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the evidence would fill in otherwise, without what was declined already."""
        return tuple(change for change in self._offers() if change not in self._declined)

    @property
    def declined(self) -> tuple[Change, ...]:
        """What was declined and what the evidence would still fill in so: shown again to who asks for it."""
        return tuple(change for change in self._offers() if change in self._declined)

    def _offers(self) -> tuple[Change, ...]:
        if not self._begun:
            return ()
        if self._offer is None:
            self._offer = offer(self.sheet, self.incident)
        return self._offer

    def accept(self, change: Change) -> None:
        self._declined.discard(change)
        self._take(self.sheet.accept(change))
        self._offer = None

    def decline(self, change: Change) -> None:
        """Do not offer this change again by itself."""
        self._declined.add(change)

    # Keeping and saving

    def drafts(self) -> tuple[Draft, ...]:
        """Earlier drafts of this incident, the newest first."""
        return self.store.drafts(self.incident)

    def resume(self, draft: Draft) -> None:
        """Go on with a draft. Findings that were sent since this program started come along; what was typed until now stays
        behind as a draft of its own."""
        self.flush()
        sheet = self.store.resume(draft)
        self._go_on_with(sheet)
        text = to_markdown(sheet)
        saved = self.store.saved_to is not None and content_hash(encode(text)) == draft.saved_hash
        self._saved = text if saved else ""

    def flush(self) -> DraftResult | None:
        """Keep the draft now if an edit is not in it yet; None when there is nothing to do. May be called from any thread."""
        with self._guard:
            sheet, revision = self.sheet, self._revision
        if revision <= self._kept:
            return None
        result = self.store.keep(sheet, self.incident, revision)
        if result.kept:
            self._kept = max(self._kept, revision)
        return result

    @property
    def default_path(self) -> Path:
        """Where to save unless told otherwise."""
        return self.store.default_path(self.incident)

    def save(self, name: str | Path, *, replace: bool = False) -> SaveResult:
        """Write the markdown file; see :meth:`SheetStore.save`."""
        result = self.store.save(self.sheet, name, replace=replace)
        if result.ok:
            self._saved = to_markdown(self.sheet)
            if self._begun:
                self._revision += 1  # the draft notes where it was saved
        return result

    def open(self, name: str | Path) -> OpenResult:
        """Go on with a saved worksheet; what was typed until now stays behind as a draft of its own."""
        self.flush()
        result = self.store.open(name, self.incident)
        if result.sheet is not None:
            self._go_on_with(result.sheet)
            self._saved = to_markdown(result.sheet)
        return result

    def close(self) -> DraftResult | None:
        """Keep what is not kept yet and let go of the draft."""
        result = self.flush()
        self.store.close()
        return result

    def _go_on_with(self, sheet: Sheet) -> None:
        for finding in self._sent:
            sheet, _ = with_finding(sheet, finding, self.incident)
        self._take(sheet)
        self._begun = True
        self._follows = False  # it has the evidence of another time
        self._offer = None


def followed(sheet: Sheet, incident: Incident) -> Sheet:
    """A sheet that was filled in by a part of the files, with what more of them say in every field that nobody wrote in.

    A hypothesis of a finding that is none any more goes, where nothing else takes its place.
    """
    fresh = prefill(incident, language=sheet.language)
    for new in fresh:
        if new.key in sheet and sheet[new.key].mark is not Mark.EDITED and new.key.partition(".")[0] not in HYPOTHESIS_KEYS:
            sheet = sheet.with_field(replace(sheet[new.key], prefilled=new.prefilled, items=new.items))
    for change in offer(sheet, incident):
        if change.key not in sheet or sheet[change.key].mark is not Mark.EDITED:
            sheet = sheet.accept(change)
    alive = {line.value for line in fresh["hypothesis"].prefilled[:1]}
    alive |= {hypothesis_lines(each, incident)[0].value for each in incident.findings}
    for number in range(1, sheet.hypotheses + 1):
        fields = [sheet[repeat_key(key, number)] for key in HYPOTHESIS_KEYS]
        value = fields[0].prefilled[0].value if fields[0].prefilled else ""
        if value and value not in alive and not any(field.mark is Mark.EDITED for field in fields):
            for field in fields:
                sheet = sheet.with_field(replace(field, prefilled=()))
    return sheet
