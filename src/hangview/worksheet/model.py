"""The worksheet as a value: eight sections of fields, each with what the evidence says and what a person typed.

Nothing here changes in place: every edit gives a new :class:`Sheet`. What a person typed and what the evidence says are
kept apart, so new evidence cannot overwrite a word; it is offered as :class:`Change` (``offered.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from hangview.worksheet.english import ENGLISH
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.layout import LAYOUT, FieldKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.worksheet.layout import FieldSpec, Language

#: Hypotheses that one sheet may hold.
MOST_REPEATS = 99

#: How the origin of a line begins that rests on a comparison run, which new evidence of the incident does not replace.
AGAINST = "the comparison with "


class Mark(StrEnum):
    """Where a field's content comes from."""

    BLANK = "blank"
    PREFILLED = "prefilled"  #: from the evidence, untouched
    EDITED = "edited"  #: a person typed or ticked something


@dataclass(frozen=True, slots=True)
class Prefilled:
    """One line from the evidence: never with a line break. ``origin`` says where to check it."""

    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a checklist. ``origin`` is "" for a line that a person added."""

    text: str
    origin: str = ""
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One question. ``key`` is the one of LAYOUT, with ``.2``, ``.3`` … for its repetitions.

    ``typed`` is what a person wrote, "" for nothing: in a line or choice it stands instead of the prefilled value, in a
    text below the prefilled lines. ``kept`` are lines of a hand-edited file that belong to no field and stood after this one.
    """

    key: str
    label: str
    kind: FieldKind
    options: tuple[str, ...] = ()
    optional: bool = False
    prefilled: tuple[Prefilled, ...] = ()
    items: tuple[Item, ...] = ()
    typed: str = ""
    kept: tuple[str, ...] = ()

    @property
    def mark(self) -> Mark:
        if self.typed or any(item.checked for item in self.items):
            return Mark.EDITED
        return Mark.PREFILLED if self.prefilled else Mark.BLANK

    @property
    def hidden(self) -> bool:
        """Whether it asks for nothing and holds nothing, so that neither form nor markdown shows it."""
        return self.optional and not (self.prefilled or self.items or self.typed or self.kept)

    @property
    def value(self) -> str:
        """A line's or choice's content: what was typed, else what the evidence says, else ""."""
        return self.typed or (self.prefilled[0].value if self.prefilled else "")


@dataclass(frozen=True, slots=True)
class Section:
    """``heading`` is its markdown line as it stands; ``intro`` the lines of a hand-edited file before the first field."""

    key: str
    number: int  #: from 1
    heading: str
    fields: tuple[Field, ...]
    intro: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return self.heading.lstrip("# ").rstrip()


@dataclass(frozen=True, slots=True)
class Change:
    """A field whose prefilled lines would be others by the evidence as it is now."""

    key: str
    label: str
    old: tuple[Prefilled, ...]
    new: tuple[Prefilled, ...]
    new_items: tuple[Item, ...] = ()  #: checklist lines that the evidence adds


@dataclass(frozen=True, slots=True)
class Sheet:
    """The whole worksheet. ``head`` are the lines above the first section, title included; ``newline`` what ends a line."""

    sections: tuple[Section, ...]
    head: tuple[str, ...]
    language: str = "en"
    newline: str = "\n"

    def __iter__(self) -> Iterator[Field]:
        """All fields in order, hidden ones too."""
        return (field for section in self.sections for field in section.fields)

    def __getitem__(self, key: str) -> Field:
        """The field with this key; KeyError when there is none."""
        for field in self:
            if field.key == key:
                return field
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(field.key == key for field in self)

    @property
    def touched(self) -> bool:
        """Whether a person wrote anything into it."""
        return any(field.mark is Mark.EDITED or field.kept for field in self)

    @property
    def hypotheses(self) -> int:
        """How many hypotheses it has room for, at least one."""
        return sum(field.key.partition(".")[0] == "hypothesis" for field in self)

    def blanks(self) -> tuple[Field, ...]:
        """The fields that still hold nothing, in order."""
        return tuple(field for field in self if field.mark is Mark.BLANK and not field.hidden)

    def with_field(self, field: Field) -> Sheet:
        """The sheet with this field in the place of the one with its key."""
        sections = tuple(
            replace(section, fields=tuple(field if old.key == field.key else old for old in section.fields))
            if any(old.key == field.key for old in section.fields)
            else section
            for section in self.sections
        )
        return replace(self, sections=sections)

    def with_text(self, key: str, text: str) -> Sheet:
        """The sheet with ``text`` typed into a field. White space alone is nothing: it would be a blank that looks filled."""
        field = self[key]
        typed = text if text.strip() else ""
        return self if field.typed == typed else self.with_field(replace(field, typed=typed))

    def with_tick(self, key: str, index: int, checked: bool) -> Sheet:
        """The sheet with line ``index`` of a checklist ticked or not."""
        field = self[key]
        items = (*field.items[:index], replace(field.items[index], checked=checked), *field.items[index + 1 :])
        return self.with_field(replace(field, items=items))

    def with_another_hypothesis(self) -> Sheet:
        """The sheet with one more, blank, hypothesis; the sheet itself when it holds MOST_REPEATS of them."""
        if self.hypotheses >= MOST_REPEATS:
            return self
        return self.with_repeats(self.hypotheses + 1)

    def with_repeats(self, count: int) -> Sheet:
        """The sheet with room for ``count`` hypotheses; never fewer than it has."""
        if count <= self.hypotheses:
            return self
        language = LANGUAGES[self.language]
        sections = []
        for spec, section in zip(LAYOUT, self.sections, strict=True):
            have = {field.key: field for field in section.fields}
            fields = tuple(
                have.get(repeat_key(field.key, number), blank_field(field, language, number))
                for field, number in expand(spec.fields, count)
            )
            sections.append(replace(section, fields=fields))
        return replace(self, sections=tuple(sections))

    def accept(self, change: Change) -> Sheet:
        """The sheet with the evidence of a change taken over; typed text and ticks stay as they are."""
        sheet = self.with_repeats(int(change.key.partition(".")[2] or 1))
        field = sheet[change.key]
        return sheet.with_field(replace(field, prefilled=change.new, items=(*field.items, *change.new_items)))


def same_values(one: tuple[Prefilled, ...], other: tuple[Prefilled, ...]) -> bool:
    """Whether prefilled lines say the same. That more files say it is no change worth offering."""
    return [line.value for line in one] == [line.value for line in other]


def repeat_key(key: str, number: int) -> str:
    """``"hypothesis"``, ``"hypothesis.2"``."""
    return key if number == 1 else f"{key}.{number}"


def expand(specs: tuple[FieldSpec, ...], count: int) -> Iterator[tuple[FieldSpec, int]]:
    """The fields of a section in order, each run of repeating ones ``count`` times: (field, number from 1)."""
    run = tuple(spec for spec in specs if spec.repeats)
    for spec in specs:
        if not spec.repeats:
            yield spec, 1
        elif spec is run[0]:
            yield from ((member, number) for number in range(1, count + 1) for member in run)


def field_label(language: Language, key: str, number: int = 1) -> str:
    """``"Hypothesis"``, ``"Hypothesis 2"``."""
    label = language.labels[key]
    return label if number == 1 else f"{label} {number}"


def blank_field(spec: FieldSpec, language: Language = ENGLISH, number: int = 1) -> Field:
    return Field(
        key=repeat_key(spec.key, number),
        label=field_label(language, spec.key, number),
        kind=spec.kind,
        options=language.options.get(spec.key, ()),
        optional=spec.optional,
    )


def blank_sheet(language: str = "en", *, name: str = "") -> Sheet:
    """The eight sections with nothing in them. ``name`` goes into the title. KeyError for a language that is not built in."""
    words = LANGUAGES[language]
    sections = tuple(
        Section(
            spec.key,
            number,
            f"## {number}. {words.sections[spec.key]}",
            tuple(blank_field(field, words, index) for field, index in expand(spec.fields, 1)),
        )
        for number, spec in enumerate(LAYOUT, 1)
    )
    return Sheet(sections, (f"# {words.title}{f': {name}' if name else ''}", "", words.intro), language)
