"""The worksheet as markdown and back, without loss, also after a person edited the file by hand.

The form, which ``from_markdown`` reads line by line (a line is what ``\\n`` ends, nothing else)::

    # Incident worksheet: run-4711          the head: everything above the first section, kept as it stands

    ## 1. Run identifier / …                a section, known by its number or its title

    - **PyTorch:** 2.15.0 *(from rank_0.log, line 3)*     a line, prefilled; blank: ____
    - **Driver:** 580.65                    a line, typed; more lines of it follow indented by two blanks
      - 570.86 *(from …)*                   what the evidence says where something else was typed

    **Missing records:**                    a text: prefilled lines, then what was typed, as it was typed

    - rank 3: no file *(from …)*

    typed

A backslash before a typed line keeps it from being read as form (a heading, a label of this section, a prefilled line, a
blank, a code fence that never closes). Lines under an unknown heading, and whatever else is no field, are kept where they
stood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.worksheet import grammar
from hangview.worksheet.layout import BLANK, FieldKind
from hangview.worksheet.model import blank_sheet
from hangview.worksheet.prefill import prefill
from hangview.worksheet.reading import read_sections

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.worksheet.model import Field, Sheet


def to_markdown(sheet: Sheet) -> str:
    """One ``# `` title, then eight ``## `` headings with their fields. ``from_markdown`` gives the same sheet again."""
    lines = list(sheet.head)
    for section in sheet.sections:
        form = grammar.form_of(sheet.language, section.key)
        _space(lines)
        lines += [section.heading, ""]
        if section.intro:
            lines += [*section.intro, ""]
        for field in section.fields:
            if not field.hidden:
                _write(lines, field, form)
    _space(lines)
    return sheet.newline.join(lines)


def from_markdown(text: str, incident: Incident | None = None) -> Sheet:
    """The sheet that ``text`` holds. Whatever is no field is kept where it stands; a text without any section is all head.

    Sections that the text does not have at all are filled in from ``incident``, or blank without one. What the text has is
    never filled in: :meth:`Sheet.offer` says what the evidence would add.
    """
    lines, newline = grammar.split(text)
    language = grammar.language_of(lines)
    base = prefill(incident, language=language.code) if incident is not None else blank_sheet(language.code)
    return read_sections(lines, newline, language, base)


def is_worksheet(text: str) -> bool:
    """Whether ``text`` has at least one section of a worksheet, so that opening it makes sense."""
    lines, _ = grammar.split(text)
    language = grammar.language_of(lines)
    return any(grammar.section_key(line, language) for line in lines)


def _space(lines: list[str]) -> None:
    """One empty line between what is there and what follows."""
    if lines and lines[-1]:
        lines.append("")


def _write(lines: list[str], field: Field, form: grammar.Form) -> None:
    if field.kind in (FieldKind.LINE, FieldKind.CHOICE):
        _write_line(lines, field, form)
        if field.kept:
            lines += ["", *field.kept, ""]
        return
    _space(lines)
    lines += [f"**{field.label}:**", ""]
    evidence = [f"- {form.prefilled(line)}" for line in field.prefilled] + [form.item(item) for item in field.items]
    lines += evidence
    if field.typed:
        if evidence:
            lines.append("")
        lines += form.escape_text(field.typed.split("\n"), first=not evidence)
    elif not evidence:
        lines.append(BLANK)
    lines.append("")
    if field.kept:
        lines += [*field.kept, ""]


def _write_line(lines: list[str], field: Field, form: grammar.Form) -> None:
    label = f"- **{field.label}:** "
    if field.typed:
        first, *more = form.escape_line(field.typed.split("\n"), field.options)
        lines.append(label + first)
        lines += [f"  {line}" for line in more]
        lines += [f"  - {form.prefilled(line)}" for line in field.prefilled]
    elif field.prefilled:
        lines.append(label + form.prefilled(field.prefilled[0]))
        lines += [f"  - {form.prefilled(line)}" for line in field.prefilled[1:]]
    else:
        lines.append(label + grammar.blank(field.options))
