"""The report as markdown, for an issue or a chat: the same words as the text report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hangview.report.page import NOBODY, build
from hangview.terms import Role
from hangview.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.incident import Incident
    from hangview.report.page import Page, Section

#: What markdown or the HTML in it would read as markup. A "_" inside a word is text (all_reduce stays readable).
_MARKUP = re.compile(r"[\\`*<>\[\]|~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|^(?:[#+=-]|\d+(?=[.)]))")


def markup_free(text: str) -> str:
    """``text`` with a backslash before everything that markdown would take for markup."""
    return _MARKUP.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", text)


def to_markdown(incident: Incident, *, everything: bool = False) -> str:
    """The report as one markdown document with a title."""
    page = build(incident, everything=everything)
    lines = ["# hangview report", ""]
    for label, sentence in page.answers:
        lines += [f"**{label}**: {markup_free(sentence)}", ""]
    if page.below:
        lines += [*_items(page.below), ""]
    for number, section in enumerate(page.leads, 1):
        name = "Lead" if section.named else NOBODY.capitalize() if section.role is Role.LEAD else "Finding"
        lines += _section(f"{name if len(page.leads) == 1 else f'{name} {number}'}: {section.summary}", section)
    lines += _more(page, "leads", "leads" if all(section.named for section in page.leads) else "findings")
    if page.waiting:
        lines += ["## Waiting (explained by the above)", ""]
        for waits in page.waiting:
            lines += [*_items([waits.summary]), *(f"  {each}" for each in _items(waits.evidence))]
        lines += ["", *_more(page, "waiting")]
        hidden = sum(waits.hidden for waits in page.waiting)
        if hidden:
            lines += [f"… {count(hidden, 'more line of evidence', 'more lines of evidence')}", ""]
        if page.not_of_waiting:
            lines += ["Must not be concluded:", "", *_items(page.not_of_waiting), ""]
    for section in page.notes:
        lines += _section(f"Note: {section.summary}", section)
    lines += _more(page, "notes")
    lines += ["## Coverage", "", *_items(page.coverage), "", "## Sources", "", *_items(page.sources)]
    return "\n".join(lines) + "\n"


def _section(title: str, section: Section) -> list[str]:
    lines = [f"## {markup_free(title)}", ""]
    if section.evidence:
        lines += ["Evidence:", "", *_items(section.evidence)]
        if section.hidden:
            lines.append(f"- … {count(section.hidden, 'more line')}")
        lines.append("")
    if section.compare_first:
        lines += [f"Compare first: {markup_free(section.compare_first)}", ""]
    if section.not_concluded:
        lines += ["Must not be concluded:", "", *_items(section.not_concluded), ""]
    return lines


def _more(page: Page, part: str, name: str = "") -> list[str]:
    hidden = page.hidden[part]
    return [f"… {hidden:,} more {name or part}", ""] if hidden else []


def _items(texts: Iterable[str]) -> list[str]:
    return [f"- {markup_free(text)}" for text in texts]
