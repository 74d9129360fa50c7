"""Reading the worksheet's markdown: sections, fields, and everything else kept where it stood."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.worksheet import grammar
from hangview.worksheet.layout import LAYOUT, FieldKind
from hangview.worksheet.model import Item, Prefilled, Sheet, blank_sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.worksheet.layout import Language
    from hangview.worksheet.model import Field, Section


def read_sections(lines: list[str], newline: str, language: Language, base: Sheet) -> Sheet:
    """The sheet that the lines hold; sections that they do not have are those of ``base``."""
    head, blocks = _blocks(lines, language)
    most = 1
    parts: dict[str, tuple[str, list[str], list[tuple[str, str, list[str]]]]] = {}
    for key, heading, body in blocks:
        intro, fields = _fields(body, grammar.form_of(language.code, key))
        parts[key] = (heading, intro, fields)
        most = max([most, *(int(name.partition(".")[2] or 1) for name, _, _ in fields)])
    blank = blank_sheet(language.code).with_repeats(most)
    sections = tuple(
        _section(mine, *parts[spec.key], grammar.form_of(language.code, spec.key)) if spec.key in parts else theirs
        for spec, mine, theirs in zip(LAYOUT, blank.sections, base.sections, strict=True)
    )
    if not any(line.lstrip("\ufeff").startswith("# ") for line in head):
        head = [base.head[0], *(["", *head] if head else [])]
    return Sheet(sections, tuple(head), language.code, newline)


def _blocks(lines: list[str], language: Language) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """The head, and each section as (key, heading, lines).

    Of a heading that stands twice the one with the most fields below it opens the section; the other is text where it stands.
    """
    headings = [(at, key) for at, line in enumerate(lines) if (key := grammar.section_key(line, language)) is not None]
    ends = [*(at for at, _ in headings[1:]), len(lines)]
    opens: dict[str, tuple[int, int]] = {}
    for (at, key), end in zip(headings, ends, strict=False):
        form = grammar.form_of(language.code, key)
        fields = sum(form.label(line) is not None for line in lines[at:end])
        if key not in opens or fields > opens[key][1]:
            opens[key] = (at, fields)
    starts = sorted((at, key) for key, (at, _) in opens.items())
    stops = [*(at for at, _ in starts[1:]), len(lines)]
    blocks = [(key, lines[at], lines[at + 1 : stop]) for (at, key), stop in zip(starts, stops, strict=False)]
    return _trim(lines[: starts[0][0]] if starts else lines, before=False), blocks


def _fields(body: list[str], form: grammar.Form) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """The lines before the first field, and each field as (key, rest of its label's line, lines below it)."""
    intro: list[str] = []
    fields: list[tuple[str, str, list[str]]] = []
    seen: set[str] = set()
    below = intro
    for line in body:
        opened = form.label(line)
        if opened is not None and opened[0] not in seen:
            seen.add(opened[0])
            below = []
            fields.append((*opened, below))
        else:
            below.append(line)
    return _trim(intro), fields


def _section(
    section: Section, heading: str, intro: list[str], found: list[tuple[str, str, list[str]]], form: grammar.Form
) -> Section:
    parts = {key: (inline, below) for key, inline, below in found}
    fields = tuple(
        (_read_line if field.kind in (FieldKind.LINE, FieldKind.CHOICE) else _read_text)(field, *parts[field.key], form)
        if field.key in parts
        else field
        for field in section.fields
    )
    return replace(section, heading=heading, intro=tuple(intro), fields=fields)


def _read_line(field: Field, inline: str, below: list[str], form: grammar.Form) -> Field:
    typed: list[str] = []
    prefilled: list[Prefilled] = []
    at = 0
    for at, line in enumerate([*below, ""]):  # noqa: B007 - the end of the run is what is asked for
        if not line.startswith("  "):
            break
        known = form.read_prefilled(line[4:]) if line.startswith("  - ") else None
        if known:
            prefilled.append(known)
        else:
            typed.append(line[2:])
    first = form.read_prefilled(inline)
    if first:
        prefilled.insert(0, first)
    elif not grammar.is_blank(inline, field.options) and (inline or typed):
        typed.insert(0, inline)
    text = "\n".join(form.unescape_line(typed, field.options))
    return replace(
        field, typed=text if text.strip() else "", prefilled=tuple(prefilled), items=(), kept=tuple(_trim(below[at:]))
    )


def _read_text(field: Field, inline: str, below: list[str], form: grammar.Form) -> Field:
    body, kept = _cut_extra(below, form)
    body = body[1:] if body and not body[0] else body
    found: list[Prefilled | Item] = []
    for line in body:
        known = form.read_evidence(line)
        if known is None:
            break
        found.append(known)
    body = body[len(found) :]
    if found:
        body = body[1:] if body and not body[0] else body
    elif body and grammar.is_blank(body[0]):
        body = body[2:] if len(body) > 1 and not body[1] else body[1:]
    if body and not body[-1]:
        body = body[:-1]
    if inline and not grammar.is_blank(inline):
        body = [inline, *body]
    text = "\n".join(form.unescape_text(body))
    return replace(
        field,
        typed=text if text.strip() else "",
        prefilled=tuple(line for line in found if isinstance(line, Prefilled)),
        items=tuple(line for line in found if isinstance(line, Item)),
        kept=tuple(_trim(kept, before=False)),
    )


def _cut_extra(lines: list[str], form: grammar.Form) -> tuple[list[str], list[str]]:
    """The lines of a text, and those from the first heading or repeated label on."""
    fenced = form.fences(lines)
    for at, line in enumerate(lines):
        if not fenced[at] and form.starts_extra(line):
            return lines[:at], lines[at:]
    return lines, []


def _trim(lines: Sequence[str], *, before: bool = True) -> list[str]:
    """The lines without empty ones at the end and, unless told otherwise, at the start."""
    start, end = 0, len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    while before and start < end and not lines[start].strip():
        start += 1
    return list(lines[start:end])
