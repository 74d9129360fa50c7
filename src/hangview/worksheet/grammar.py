"""The lines of the worksheet's markdown: which are form, which are text, and how text is kept from looking like form."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from hangview.worksheet.english import ENGLISH
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.layout import BLANK, LAYOUT
from hangview.worksheet.model import MOST_REPEATS, Item, Prefilled, field_label, repeat_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.worksheet.layout import Language

_NUMBERED = re.compile(r"## ([1-8])[.)]\s.*", re.DOTALL)
_HEADING = re.compile(r" {0,3}#{1,2}(?:[ \t].*)?", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
_MARKER = re.compile(r"_{3,}")
_LABEL = re.compile(r"(?:[-*] )?\*\*(.+?):\*\*(?: (.*))?", re.DOTALL)
_ITEM = re.compile(r"- \[([ xX])\] (.*)", re.DOTALL)
#: Characters of prefilled text that markdown would take for its own. At the start they are written as entities, so that a
#: line that begins with a backslash is always a typed one.
_SPECIAL = re.compile(r"\A[\\*`<\[\]&]|[\\*`<\[\]]")
_ESCAPED = re.compile(r"\A&#([0-9]{2});|\\([\\*`<\[\]])")


def split(text: str) -> tuple[list[str], str]:
    """Lines and what ends them: CRLF only where every line ends so, so that a stray carriage return stays in its line."""
    newline = "\r\n" if "\n" in text and text.count("\n") == text.count("\r\n") else "\n"
    return text.split(newline), newline


def section_key(line: str, language: Language) -> str | None:
    """The section that a line opens, by its number or by its title; None for any other line."""
    found = _NUMBERED.fullmatch(line)
    if found:
        return LAYOUT[int(found[1]) - 1].key
    if not line.startswith("## "):
        return None
    title = line[3:].strip().casefold()
    return next((key for key, known in language.sections.items() if known.casefold() == title), None)


def language_of(lines: Sequence[str]) -> Language:
    """The language most of whose section titles stand among the lines; English when none does."""

    def known(language: Language) -> int:
        titles = {f"## {number}. {language.sections[spec.key]}" for number, spec in enumerate(LAYOUT, 1)}
        return len(titles.intersection(line.rstrip() for line in lines))

    return max((ENGLISH, *LANGUAGES.values()), key=known)


def blank(options: Sequence[str]) -> str:
    """How a blank line or choice looks: the marker, for a choice with its answers."""
    return f"{BLANK} ({' / '.join(options)})" if options else BLANK


def is_blank(text: str, options: Sequence[str] = ()) -> bool:
    """Whether ``text`` is only the marker, or the marker with the answers of a choice."""
    return bool(_MARKER.fullmatch(text.strip())) or (bool(options) and text.strip() == blank(options))


@cache
def form_of(language: str, section: str) -> Form:
    """The form of one section in the language with this code."""
    return Form(LANGUAGES[language], section)


class Form:
    """What is form in one section of one language."""

    def __init__(self, language: Language, section: str) -> None:
        self._language = language
        before, after = language.origin.split("{}")
        origin = rf"{re.escape(_escape(before))}(?P<origin>(?:[^\\*]|\\.)*){re.escape(_escape(after))}"
        self._prefilled = re.compile(rf"(?P<value>.*) \*\({origin}\)\*", re.DOTALL)
        spec = next(spec for spec in LAYOUT if spec.key == section)
        self._keys: dict[str, str] = {}
        for field in spec.fields:
            for number in range(1, (MOST_REPEATS if field.repeats else 1) + 1):
                self._keys[field_label(language, field.key, number)] = repeat_key(field.key, number)

    def label(self, line: str) -> tuple[str, str] | None:
        """(field key, rest of the line) for a line that opens a field of this section; the rest is None-like "" when absent."""
        found = _LABEL.fullmatch(line)
        key = self._keys.get(found[1]) if found else None
        return (key, found[2] or "") if found and key else None

    def opens(self, line: str) -> bool:
        """Whether a line opens a field of this section, or a section."""
        return self.label(line) is not None or section_key(line, self._language) is not None

    def prefilled(self, line: Prefilled) -> str:
        """``"2.15.0 *(from rank_0.log, line 3)*"``"""
        origin = self._language.origin.format(line.origin)
        return f"{_escape(line.value)} *({_escape(origin)})*"

    def read_prefilled(self, text: str) -> Prefilled | None:
        """The inverse of :meth:`prefilled`; None for text that is not of that form."""
        found = None if text.startswith("\\") else self._prefilled.fullmatch(text)
        return Prefilled(_unescape(found["value"]), _unescape(found["origin"])) if found else None

    def item(self, item: Item) -> str:
        """``"- [x] keep a checkpoint *(from …)*"``; what a person added stays as it was written."""
        text = self.prefilled(Prefilled(item.text, item.origin)) if item.origin else item.text
        return f"- [{'x' if item.checked else ' '}] {text}"

    def read_item(self, line: str) -> Item | None:
        found = _ITEM.fullmatch(line)
        if found is None:
            return None
        known = self.read_prefilled(found[2])
        checked = found[1] != " "
        return Item(known.value, known.origin, checked) if known else Item(found[2], "", checked)

    def read_evidence(self, line: str) -> Prefilled | Item | None:
        """What a line in the run below a text's or checklist's label holds."""
        if item := self.read_item(line):
            return item
        return self.read_prefilled(line[2:]) if line.startswith("- ") else None

    # Typed lines

    def fences(self, lines: Sequence[str]) -> list[bool]:
        """For each line whether it is part of a code fence: one that closes before anything that opens a field or section."""
        inside = [False] * len(lines)
        at = 0
        while at < len(lines):
            end = self._fence_end(lines, at)
            if end is not None:
                inside[at : end + 1] = [True] * (end + 1 - at)
                at = end
            at += 1
        return inside

    def _fence_end(self, lines: Sequence[str], start: int) -> int | None:
        opening = _opening(lines[start])
        if opening is None:
            return None
        for at in range(start + 1, len(lines)):
            if self.opens(lines[at]):
                return None
            found = _FENCE.fullmatch(lines[at])
            if found and found[1][0] == opening[0] and len(found[1]) >= len(opening) and not found[2].strip():
                return at
        return None

    def starts_extra(self, line: str) -> bool:
        """Whether a line outside a fence begins something that is no field: a heading, or a label that was there already."""
        return bool(_HEADING.fullmatch(line)) or self.opens(line)

    def escape_text(self, lines: Sequence[str], *, first: bool) -> list[str]:
        """The typed lines of a text as they stand in the file. ``first``: nothing prefilled stands above them."""
        fenced = self.fences(lines)
        written = []
        for at, line in enumerate(lines):
            special = self.starts_extra(line) or _opening(line) is not None or (first and at == 0 and self._is_evidence(line))
            special = not fenced[at] and (special or self._was_escaped(line))
            written.append(f"\\{line}" if special else line)
        return written

    def unescape_text(self, lines: Sequence[str]) -> list[str]:
        """The inverse of :meth:`escape_text`."""
        fenced = self.fences(lines)
        return [line if fenced[at] else self._unescape_one(line) for at, line in enumerate(lines)]

    def escape_line(self, lines: Sequence[str], options: Sequence[str]) -> list[str]:
        """The typed lines of a line or choice: the first one stands beside the label, the others indented below it."""
        written = []
        for at, line in enumerate(lines):
            special = bool(_HEADING.fullmatch(line)) or self._is_evidence(line)
            if at == 0:
                special = special or is_blank(line, options) or self.read_prefilled(line) is not None
            escaped = line.startswith("\\") and self._may_strip(line[1:], options)
            written.append(f"\\{line}" if special or escaped else line)
        return written

    def unescape_line(self, lines: Sequence[str], options: Sequence[str]) -> list[str]:
        """The inverse of :meth:`escape_line`."""
        return [self._unescape_one(line, options) for line in lines]

    def _unescape_one(self, line: str, options: Sequence[str] = ()) -> str:
        return line[1:] if line.startswith("\\") and self._may_strip(line[1:], options) else line

    def _was_escaped(self, line: str, options: Sequence[str] = ()) -> bool:
        return line.startswith("\\") and self._may_strip(line[1:], options)

    def _is_evidence(self, line: str) -> bool:
        return is_blank(line) or self.read_evidence(line) is not None

    def _may_strip(self, line: str, options: Sequence[str]) -> bool:
        """Whether a backslash before ``line`` is ours: at least every line that is ever escaped, wherever it stands."""
        bare = line.lstrip("\\")
        return (
            self.starts_extra(bare)
            or self._is_evidence(bare)
            or is_blank(bare, options)
            or _opening(bare) is not None
            or self.read_prefilled(bare) is not None
        )


def _opening(line: str) -> str | None:
    """The fence that a line opens, "```" or longer; None for any other line."""
    found = _FENCE.fullmatch(line)
    return found[1] if found and not (found[1][0] == "`" and "`" in found[2]) else None


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};" if found.start() == 0 else f"\\{found[0]}", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1])) if found[1] else found[2], text)
