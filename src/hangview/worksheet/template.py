"""A worksheet in a layout of one's own: markdown with named fields, written in the language of Jinja.

The template runs in Jinja's sandbox: it sees the fields below and nothing else, and reads no file. What it gives is written
and never read back; only the built-in layout can be opened again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hangview.report.markdown import markup_free
from hangview.text import escape, fold_ranks, shorten
from hangview.worksheet.layout import BLANK, LAYOUT, FieldKind
from hangview.worksheet.model import repeat_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.incident import Incident
    from hangview.worksheet.model import Field, Sheet

#: A template larger than this is none.
MOST_BYTES = 1 << 20
_WHERE = "<template>"
#: "2\.10" needs no backslash: a number and a point are a list only with a blank behind them.
_VERSION = re.compile(r"\A(\d+)\\([.)])(?=\S)")
_NEEDS = "a template needs jinja2, which is not installed: pip install 'hangview[template]'"


class TemplateProblem(ValueError):  # noqa: N818 - what is wrong with a person's template, not with the program
    """Why a template cannot be used, in one line with its name and the line."""


@dataclass(frozen=True, slots=True)
class Named:
    """A field as a template sees it: ``{{ torch }}`` writes it out, ``{% if torch %}`` asks whether it holds anything.

    ``lines`` are the values, safe for markdown, ``origins`` where each is from, ``value`` the first of them or "",
    ``items`` the lines of a checklist, ``options`` the answers of a choice.
    """

    key: str
    label: str
    many: bool
    lines: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        return self.lines[0] if self.lines else ""

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __str__(self) -> str:
        """One line for a line; a list for a text, with the boxes of a checklist below; ``____`` for nothing."""
        if not self.many:
            return self.value or BLANK
        rows = [f"- {line}" for line in self.lines] + [f"- [ ] {item}" for item in self.items]
        return "\n".join(rows) or BLANK


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finding as section 7 has it."""

    number: int
    lines: Named
    not_concluded: Named


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the built-in layout, for a template that only changes the form of all of them."""

    number: int
    title: str
    fields: tuple[Named, ...]


def names() -> tuple[str, ...]:
    """Every name that a template may use, in the order of docs/worksheet.md."""
    return (*_ABOUT, "blank", "sections", "hypotheses", *(field.key for section in LAYOUT for field in section.fields))


_ABOUT = ("title", "paths", "verdict", "leads", "summary")


class Template:
    """A template that was read and understood. TemplateProblem where it cannot be, or fails while it is filled in."""

    def __init__(self, text: str, name: str) -> None:
        try:
            from jinja2 import StrictUndefined, TemplateSyntaxError
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ImportError:
            raise TemplateProblem(_NEEDS) from None
        self._name = name
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
        )
        environment.globals = {name: value for name, value in environment.globals.items() if name in ("range", "namespace")}
        try:
            self._template = environment.from_string(text)
        except TemplateSyntaxError as error:
            raise self._problem(error.message or "it is no template", error.lineno) from None
        except (RecursionError, ValueError, OverflowError) as error:
            raise self._problem(str(error) or type(error).__name__, None) from None

    @classmethod
    def read(cls, path: str) -> Template:
        """The template in a file."""
        try:
            with Path(path).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise TemplateProblem(f"{path}: {reason}") from None
        if len(data) > MOST_BYTES:
            raise TemplateProblem(f"{path}: is larger than 1 MB, which no template is")
        try:
            return cls(data.decode("utf-8-sig"), path)
        except UnicodeDecodeError:
            raise TemplateProblem(f"{path}: is not UTF-8 text") from None

    def render(self, sheet: Sheet, incident: Incident) -> str:
        """The template with the fields of a sheet in it, ending with a line feed."""
        try:
            text = self._template.render(context(sheet, incident))
        except Exception as error:
            # A template is a program of its own: whatever it raises is its fault, and is said in one line.
            raise self._problem(str(error) or type(error).__name__, _line_of(error)) from error
        return text if text.endswith("\n") else f"{text}\n"

    def _problem(self, reason: str, line: int | None) -> TemplateProblem:
        where = f"{self._name}, line {line}" if line else self._name
        return TemplateProblem(f"{where}: {shorten(' '.join(escape(reason).split()), 200)}")


def context(sheet: Sheet, incident: Incident) -> Mapping[str, Any]:
    """What a template sees, by name. Strings are safe for markdown: names from files cannot become headings."""
    many = {field.key for section in LAYOUT for field in section.fields if field.kind in (FieldKind.TEXT, FieldKind.CHECKLIST)}
    fields = {field.key: _named(field, many=field.key.partition(".")[0] in many) for field in sheet}
    return {
        "title": safe(sheet.head[0].lstrip("# ")) if sheet.head else "",
        "paths": tuple(safe(escape(path)) for path in incident.paths),
        "verdict": incident.verdict.value,
        "leads": fold_ranks(incident.leads),
        "summary": safe(escape(incident.findings[0].summary)) if incident.findings else "",
        "blank": BLANK,
        "sections": tuple(
            Section(
                section.number,
                safe(section.title),
                tuple(fields[field.key] for field in section.fields if not field.hidden),
            )
            for section in sheet.sections
        ),
        "hypotheses": tuple(
            Hypothesis(number, fields[repeat_key("hypothesis", number)], fields[repeat_key("not_concluded", number)])
            for number in range(1, sheet.hypotheses + 1)
            if fields[repeat_key("hypothesis", number)]
        ),
        **{key: field for key, field in fields.items() if "." not in key},
    }


def safe(text: str) -> str:
    """``text`` so that markdown takes nothing in it for markup, wherever a template puts it; a version stays as it is."""
    return _VERSION.sub(r"\1\2", markup_free(text))


def _named(field: Field, *, many: bool) -> Named:
    return Named(
        field.key,
        field.label,
        many,
        tuple(safe(line.value) for line in field.prefilled),
        tuple(safe(line.origin) for line in field.prefilled),
        tuple(safe(item.text) for item in field.items),
        field.options,
    )


def _line_of(error: BaseException) -> int | None:
    """The template's line that was being filled in; Jinja gives its frames the template's own line numbers."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _WHERE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
