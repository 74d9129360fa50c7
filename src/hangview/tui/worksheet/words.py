"""What the form says about a field: pure lines, wrapped by whoever draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.prose import Line, Prose, Span, Tone, line, pad
from hangview.tui.worksheet.screen_words import ENGLISH, ScreenWords
from hangview.worksheet.layout import BLANK, FieldKind
from hangview.worksheet.model import Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.worksheet.model import Change, Field, Prefilled

#: One letter for each mark, so that colour never carries it alone.
MARKS = {Mark.BLANK: "_", Mark.PREFILLED: "=", Mark.EDITED: "*"}


def label_line(field: Field) -> Line:
    """``"= PyTorch"``"""
    if field.mark is Mark.BLANK:
        return line((f"{MARKS[field.mark]} ", Tone.UNKNOWN), field.label, hang=2)
    tone = Tone.HEAD if field.mark is Mark.EDITED else Tone.STRONG
    return line((f"{MARKS[field.mark]} {field.label}", tone), hang=2)


def evidence_lines(lines: Sequence[Prefilled], words: ScreenWords = ENGLISH) -> Prose:
    """Each prefilled line with where it comes from."""
    return tuple(line("· ", each.value, (f"  {words('from', origin=each.origin)}", Tone.DIM), hang=2) for each in lines)


def source_lines(field: Field, words: ScreenWords = ENGLISH) -> Prose:
    """Below a line or choice: where its value comes from, or what the evidence says where something else was typed."""
    if not field.prefilled:
        return ()
    first = field.prefilled[0]
    origin = words("from", origin=first.origin)
    if field.typed:
        return (line((f"{words('evidence_says')} ", Tone.DIM), first.value, (f"  {origin}", Tone.DIM), hang=2),)
    return (line((origin, Tone.DIM), hang=2),)


def shown_evidence(field: Field, words: ScreenWords = ENGLISH) -> Prose:
    """The prefilled lines that stand above or below a field's control."""
    one_line = field.kind in (FieldKind.LINE, FieldKind.CHOICE)
    return source_lines(field, words) if one_line else evidence_lines(field.prefilled, words)


def kept_lines(lines: Sequence[str], words: ScreenWords = ENGLISH) -> Prose:
    """Lines of a hand-edited file that belong to no field; saved where they stood, not editable here."""
    if not lines:
        return ()
    return (line((words("kept_lines"), Tone.DIM)), *(line("  ", text, hang=2) for text in lines))


def choice_lines(answers: Sequence[str], value: str) -> Prose:
    """``(x) failed``, one answer a row; ``____`` before them while none is chosen."""
    rows = [line(("(x) " if answer == value else "( ) ", Tone.KEY), answer, hang=4) for answer in answers]
    return tuple(rows) if value else (line((BLANK, Tone.UNKNOWN)), *rows)


def tick_lines(text: str, *, checked: bool, more: Prose = ()) -> Prose:
    """``[x] text``, and below it what belongs to it."""
    indented = (line("    ", *each.spans, hang=4 + each.hang) for each in more)
    return (line(("[x] " if checked else "[ ] ", Tone.KEY), text, hang=4), *indented)


def markdown_lines(markdown: str) -> Prose:
    """The markdown as it is, its headings and bold labels toned."""
    return tuple(map(_markdown_line, markdown.splitlines()))


def _markdown_line(text: str) -> Line:
    if text.startswith("#"):
        return line((text, Tone.HEAD))
    parts = text.split("**")
    tones = (Tone.STRONG if at % 2 and at < len(parts) - 1 else Tone.PLAIN for at in range(len(parts)))
    return line(*zip(parts, tones, strict=True), hang=len(text) - len(text.lstrip(" -")))


def shifted(lines: Prose, indent: int) -> Prose:
    """The lines moved to the right."""
    return tuple(Line((Span(" " * indent), *each.spans), each.hang + indent) for each in lines)


def change_lines(change: Change, words: ScreenWords = ENGLISH) -> Prose:
    """What a field says now and what it would say."""
    head = {name: pad(words(f"changes.{name}"), 5) for name in ("now", "new", "gone")}
    now = [line((head["now"], Tone.DIM), each.value, hang=5) for each in change.old]
    new = [
        line((head["new"], Tone.KEY), each.value, (f"  {words('from', origin=each.origin)}", Tone.DIM), hang=5)
        for each in change.new
        if each not in change.old
    ]
    gone = [line((head["gone"], Tone.DIM), each.value, hang=5) for each in change.old if each not in change.new]
    items = [line((head["new"], Tone.KEY), item.text, hang=5) for item in change.new_items]
    return (*(gone or () if len(change.old) > 1 else now), *new, *items)
