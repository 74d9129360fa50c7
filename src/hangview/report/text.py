"""The report for a terminal and for a pipe: the answer first, then why, then what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.report.lines import Line, plain
from hangview.report.page import build
from hangview.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.incident import Incident
    from hangview.report.page import Page, Section

MORE = "… {number} more: hangview report --all shows everything"


def to_text(incident: Incident, *, everything: bool = False) -> str:
    """The report as plain text, one fact a line."""
    return plain(report_lines(incident, everything=everything))


def report_lines(incident: Incident, *, everything: bool = False) -> list[Line]:
    """The lines of the report, for :func:`~hangview.report.lines.plain` or :func:`~hangview.report.lines.show`."""
    page = build(incident, everything=everything)
    lines = _answer(page)
    # A single finding is the answer itself, which stands just above: no second time.
    alone = len(page.leads) == len(page.answers) == 1 and page.leads[0].summary == page.answers[0][1]
    for number, section in enumerate(page.leads, 1):
        heading = [] if alone else [Line(f"{number}. {section.summary}", "lead")]
        lines += [Line(), *heading, *_body(section, indent=0 if alone else 2)]
    lines += _more(page, "leads", 0)
    if page.waiting:
        lines += [Line(), Line("waiting (explained by the above)", "head")]
        for section in page.waiting:
            lines += [Line(section.summary, indent=2), *(Line(each, "quiet", indent=4) for each in section.evidence)]
        lines += _more(page, "waiting", 2)
        hidden = sum(section.hidden for section in page.waiting)
        if hidden:
            lines.append(Line(MORE.format(number=count(hidden, "line of evidence", "lines of evidence")), "quiet", indent=2))
        if page.not_of_waiting:
            lines += [Line("must not be concluded", indent=2), *(Line(each, indent=4) for each in page.not_of_waiting)]
    for section in page.notes:
        lines += [Line(), Line(f"note: {section.summary}", "head"), *_body(section, indent=2)]
    lines += _more(page, "notes", 0)
    lines += [Line(), *_block("coverage", page.coverage), *_block("sources", page.sources)]
    return lines


def _more(page: Page, part: str, indent: int) -> list[Line]:
    hidden = page.hidden[part]
    return [Line(MORE.format(number=f"{hidden:,}"), "quiet", indent=indent)] if hidden else []


def _answer(page: Page) -> list[Line]:
    column = max(len(label) for label, _ in page.answers) + 2
    lines = [Line(f"{label:<{column}}{sentence}", "answer", hang=column) for label, sentence in page.answers]
    lines += [Line(sentence, indent=column) for sentence in page.below]
    return lines


def _body(section: Section, indent: int) -> Iterable[Line]:
    def block(heading: str, texts: Iterable[str]) -> Iterable[Line]:
        yield Line(heading, "" if indent else "head", indent)
        yield from (Line(text, "", indent + 2) for text in texts)

    if section.evidence:
        yield from block("evidence", section.evidence)
        if section.hidden:
            yield Line(MORE.format(number=count(section.hidden, "line")), "quiet", indent + 2)
    if section.compare_first:
        yield from block("compare first", [section.compare_first])
    if section.not_concluded:
        yield from block("must not be concluded", section.not_concluded)


def _block(name: str, lines: Iterable[str]) -> Iterable[Line]:
    for number, line in enumerate(lines):
        yield Line(f"{name if number == 0 else '':<10}{line}", "" if number == 0 else "warn" if _warns(line) else "", hang=10)


def _warns(line: str) -> bool:
    return line.startswith(("missing:", "not judged:"))
