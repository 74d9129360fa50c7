"""The eight sections and their fields as data; the words are in one table a language (``english.py``, ``korean.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class FieldKind(StrEnum):
    """How a field is filled in."""

    LINE = "line"  #: one line, at most one prefilled value
    TEXT = "text"  #: several lines, any number of prefilled values
    CHOICE = "choice"  #: one of a few answers; another one typed by hand is kept
    CHECKLIST = "checklist"  #: items to tick


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field without its words. ``repeats``: there may be a second one of it (hypotheses). ``optional``: left out of the
    markdown and the form while it holds nothing, as it asks for nothing."""

    key: str
    kind: FieldKind
    repeats: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class SectionSpec:
    key: str
    fields: tuple[FieldSpec, ...]


def _line(key: str, *, optional: bool = False) -> FieldSpec:
    return FieldSpec(key, FieldKind.LINE, optional=optional)


def _text(key: str, *, repeats: bool = False) -> FieldSpec:
    return FieldSpec(key, FieldKind.TEXT, repeats=repeats)


def _choice(key: str) -> FieldSpec:
    return FieldSpec(key, FieldKind.CHOICE)


#: The sections in the order of the contract. Repeating fields stand together and repeat together.
LAYOUT = (
    SectionSpec(
        "versions",
        (
            _line("run"),
            _line("date"),
            _line("evidence"),
            _line("attempt", optional=True),
            _line("torch"),
            _line("backend"),
            _line("library"),
            _line("schema"),
            _line("driver"),
            FieldSpec("settings", FieldKind.TEXT, optional=True),
        ),
    ),
    SectionSpec(
        "conditions",
        (
            _line("model"),
            _line("input"),
            _line("batch"),
            _line("compared"),
            _choice("changed_count"),
            _text("changed"),
        ),
    ),
    SectionSpec("groups", (_line("expected"), _text("groups"), _text("hosts"), _text("devices"))),
    SectionSpec("standing", (_text("standing"),)),
    SectionSpec("records", (_text("states"), _text("missing"))),
    SectionSpec("context", (_text("exceptions"), _text("clocks"), _text("delay"))),
    SectionSpec(
        "hypothesis",
        (
            _text("hypothesis", repeats=True),
            _text("not_concluded", repeats=True),
            _text("against", repeats=True),
            _choice("doubt"),
            _text("next_test"),
        ),
    ),
    SectionSpec(
        "way_back",
        (
            _line("environment"),
            _line("checkpoint"),
            _choice("restore"),
            FieldSpec("transition", FieldKind.CHECKLIST, optional=True),
            FieldSpec("trials", FieldKind.CHECKLIST),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Language:
    """Every fixed word of the worksheet in one language. ``origin`` has one ``{}`` for where a prefilled value is from.

    ``sections`` and ``labels`` are keyed as LAYOUT is, ``options`` by choice field, ``items`` by checklist field.
    """

    code: str
    title: str
    intro: str
    origin: str
    sections: Mapping[str, str]
    labels: Mapping[str, str]
    options: Mapping[str, tuple[str, ...]]
    items: Mapping[str, tuple[str, ...]]


#: How a blank looks, wherever it stands.
BLANK = "____"
