"""The form as rows: where each label, line of evidence and value stands, and what takes the focus. Arithmetic, no textual.

The form is one drawn sheet with one control on it, the one that is being written in. A widget for every field would be 170 of
them, each styled and laid out: that is a second and a half before anything is on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hangview.tui.prose import Line, Tone, clip, line, to_ascii, wrap
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords
from hangview.tui.worksheet.words import choice_lines, kept_lines, label_line, shifted, shown_evidence, tick_lines
from hangview.worksheet.layout import BLANK, FieldKind
from hangview.worksheet.model import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.tui.prose import Prose
    from hangview.worksheet.model import Field, Section

#: Columns of a label beside its value, and rows of a long text that are shown before one has to scroll in it.
LABEL = 30
MOST_ROWS = 12


class Row(NamedTuple):
    """One drawn row. ``right`` begins at column ``at`` and is what can be written in; ``title`` marks a section's title."""

    left: Line = Line()
    at: int = 0
    right: Line | None = None
    title: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Something that takes the focus: a field, or one line of a checklist (``tick``). Rows and columns of its control."""

    key: str
    kind: FieldKind
    top: int
    left: int
    width: int
    height: int
    tick: int | None = None

    @property
    def name(self) -> tuple[str, int | None]:
        """What stays when everything moves."""
        return self.key, self.tick

    def below(self, rows: int) -> Stop:
        return Stop(self.key, self.kind, self.top + rows, self.left, self.width, self.height, self.tick)


class Block(NamedTuple):
    """The rows of one field or title, and the stops in them, counted from its first row."""

    rows: tuple[Row, ...]
    stops: tuple[Stop, ...] = ()


class Measure(NamedTuple):
    """What a block depends on besides its field. ``writing``: rows of the text that is being written in it, 0 for none.
    ``ascii_only``: its words are spelled in ASCII before they are laid out, for signs that take more cells then."""

    width: int
    narrow: bool
    writing: int = 0
    words: ScreenWords = ENGLISH
    ascii_only: bool = False

    def rows(self, prose: Iterable[Line], width: int) -> list[Line]:
        """Wrapped, as it is going to be drawn."""
        return wrap((self._spelled(each) for each in prose), max(1, width))

    def cut(self, each: Line, width: int) -> Line:
        """On one row, as it is going to be drawn."""
        return clip(self._spelled(each), width, "..." if self.ascii_only else "…")

    def _spelled(self, each: Line) -> Line:
        return line(*((to_ascii(span.text), span.tone) for span in each.spans), hang=each.hang) if self.ascii_only else each


def title_block(section: Section, measure: Measure, *, current: bool) -> Block:
    """The title; the current section's says so by its sign and not by colour alone."""
    head = line((("> " if current else "  ") + section.title, Tone.HEAD if current else Tone.STRONG), hang=5)
    rows = [Row(each, title=True) for each in measure.rows((head,), measure.width)]
    return Block((*rows, *_plain(kept_lines(section.intro, measure.words), 3, measure.width - 4, measure)))


def kind_of(field: Field) -> FieldKind:
    """A line or choice that holds several lines by hand is written in as a text."""
    one_line = field.kind in (FieldKind.LINE, FieldKind.CHOICE)
    return FieldKind.TEXT if one_line and "\n" in field.typed else field.kind


def block_of(field: Field, measure: Measure) -> Block:
    """Label, evidence and value of one field."""
    kind = kind_of(field)
    return _one_line(field, kind, measure) if kind in (FieldKind.LINE, FieldKind.CHOICE) else _text(field, kind, measure)


def answers_of(field: Field) -> tuple[str, ...]:
    """The answers of a choice; one that a hand wrote into the file is offered too."""
    return field.options if field.value in ("", *field.options) else (*field.options, field.value)


def placeholder_of(field: Field, words: ScreenWords) -> str:
    """A blank looks blank; where the evidence has filled something in, more is welcome and not missing."""
    text = kind_of(field) in (FieldKind.TEXT, FieldKind.CHECKLIST)
    return words("add_here") if text and (field.prefilled or field.items) else BLANK


def _plain(prose: Prose, indent: int, width: int, measure: Measure) -> list[Row]:
    """Rows of words, ``width`` columns of them."""
    return [Row(each) for each in shifted(tuple(measure.rows(prose, width)), indent)]


def _one_line(field: Field, kind: FieldKind, measure: Measure) -> Block:
    """Label and value side by side, on narrow screens one below the other; where it is from below the value."""
    inside = measure.width - 2
    at, room = (3, inside - 2) if measure.narrow else (LABEL + 2, inside - LABEL - 1)
    room = max(1, room)
    if kind is FieldKind.CHOICE:
        values = measure.rows(choice_lines(answers_of(field), field.value), room)
    else:
        tone = Tone.STRONG if field.mark is Mark.EDITED else Tone.PLAIN
        values = [measure.cut(line((field.value, tone)) if field.value else line((BLANK, Tone.UNKNOWN)), room)]
    labels = shifted(tuple(measure.rows((label_line(field),), inside if measure.narrow else LABEL)), 1)
    below = (*shown_evidence(field, measure.words), *kept_lines(field.kept, measure.words))
    if measure.narrow:
        rows = [*(Row(each) for each in labels), *(Row(at=at, right=each) for each in values)]
        top = len(labels)
    else:
        rows, top = [], 0
        for number in range(max(len(labels), len(values))):
            label = labels[number] if number < len(labels) else Line()
            rows.append(Row(label, at, values[number]) if number < len(values) else Row(label))
    return Block((*rows, *_plain(below, at, room, measure)), (Stop(field.key, kind, top, at, room, len(values)),))


def _text(field: Field, kind: FieldKind, measure: Measure) -> Block:
    """Label, evidence, lines to tick, and below them what a person writes, with a bar before it; then a blank row."""
    inside = measure.width - 2
    rows = [
        *_plain((label_line(field),), 1, inside, measure),
        *_plain(shown_evidence(field, measure.words), 3, inside - 2, measure),
    ]
    stops = []
    for number, item in enumerate(field.items):
        ticked = measure.rows(tick_lines(item.text, checked=item.checked), inside - 2)
        stops.append(Stop(field.key, kind, len(rows), 3, inside - 2, len(ticked), number))
        rows += [Row(at=3, right=each) for each in ticked]
    width = max(1, inside - 4)
    written = _written(field, width, measure) if not measure.writing else [Line()] * measure.writing
    stops.append(Stop(field.key, kind, len(rows), 5, width, len(written)))
    rows += [Row(line(("   │ ", Tone.KEY)), 5, each) for each in written]
    return Block((*rows, *_plain(kept_lines(field.kept, measure.words), 3, inside - 2, measure), Row()), tuple(stops))


def _written(field: Field, width: int, measure: Measure) -> list[Line]:
    """What a person wrote, as much of it as its control would show; one column is kept for the cursor."""
    if not field.typed:
        shown = placeholder_of(field, measure.words)
        return [line((shown, Tone.UNKNOWN if shown == BLANK else Tone.DIM))]
    rows = measure.rows((line((each, Tone.STRONG)) for each in field.typed.splitlines()), width - 1)
    if len(rows) <= MOST_ROWS:
        return rows
    return [*rows[: MOST_ROWS - 1], line((measure.words.count("more_rows", len(rows) - MOST_ROWS + 1), Tone.DIM))]
