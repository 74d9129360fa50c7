"""Findings as hypotheses: their lines for section 7, and the place where one of them stands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.report.alike import told_once
from hangview.report.coverage import nothing_shown
from hangview.terms import Role, Verdict
from hangview.text import escape
from hangview.worksheet.model import MOST_REPEATS, Mark, Prefilled, repeat_key

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Evidence, Finding
    from hangview.worksheet.model import Sheet

#: Leads that become a hypothesis each without being sent; the rest are counted.
FIRST_LEADS = 3
#: Lines of evidence that one hypothesis repeats; the rest are in the report.
EVIDENCE = 6

_NO_FINDING = {
    Verdict.NO_HANG: "these files show no hang: every call that could be compared agrees and is over",
    Verdict.DIVERGENCE: "calls differ between ranks, and no rank is to be looked at first",
}


def hypothesis_lines(finding: Finding, incident: Incident) -> tuple[Prefilled, ...]:
    """A finding for a hypothesis: what it says, what it rests on with file and record, and what to compare first."""
    where = f"the finding “{finding.kind.words}”"
    lines = [Prefilled(escape(finding.summary), where)]
    told = told_once(finding.evidence)
    lines += [_evidence_line(evidence, incident, where) for evidence in told[:EVIDENCE]]
    if len(told) > EVIDENCE:
        lines.append(Prefilled(f"evidence: {len(told) - EVIDENCE:,} more lines", "hangview report"))
    if finding.compare_first:
        lines.append(Prefilled(f"compare first: {escape(finding.compare_first)}", where))
    return tuple(lines)


def not_concluded_lines(finding: Finding) -> tuple[Prefilled, ...]:
    """What must not be concluded from a finding, one line each."""
    where = f"the finding “{finding.kind.words}”"
    return tuple(Prefilled(escape(text), where) for text in finding.not_concluded)


def first_hypotheses(incident: Incident) -> tuple[Finding, ...]:
    """The findings that are hypotheses from the start: the leads; where there are none, the first note or waiting group."""
    leads = tuple(finding for finding in incident.findings if finding.role is Role.LEAD)
    return leads[:FIRST_LEADS] or incident.findings[:1]


def no_hypothesis_line(incident: Incident) -> Prefilled:
    """What stands where the first hypothesis would be when there is no finding at all."""
    if incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE:
        return Prefilled(f"these files do not suffice: {nothing_shown(incident)}", "the verdict of hangview")
    return Prefilled(_NO_FINDING[incident.verdict], "the verdict of hangview")


def with_finding(sheet: Sheet, finding: Finding, incident: Incident) -> tuple[Sheet, str]:
    """The sheet with a finding as a hypothesis, and the key of the field it stands in.

    A finding that is there already is only pointed at; else the first hypothesis that holds nothing takes it, else one
    more is made. A sheet with MOST_REPEATS hypotheses stays as it is.
    """
    lines = hypothesis_lines(finding, incident)
    held = [sheet[repeat_key("hypothesis", number)] for number in range(1, sheet.hypotheses + 1)]
    for field in held:
        if field.prefilled[:1] == lines[:1]:
            return sheet, field.key
    free = next((number for number, field in enumerate(held, 1) if field.mark is Mark.BLANK), len(held) + 1)
    if free > MOST_REPEATS:
        return sheet, held[-1].key
    key, beside = repeat_key("hypothesis", free), repeat_key("not_concluded", free)
    sheet = sheet.with_repeats(free)
    sheet = sheet.with_field(replace(sheet[key], prefilled=lines))
    return sheet.with_field(replace(sheet[beside], prefilled=not_concluded_lines(finding))), key


def _evidence_line(evidence: Evidence, incident: Incident, otherwise: str) -> Prefilled:
    text = escape(evidence.text)
    if evidence.source is None or not 0 <= evidence.source < len(incident.records.sources):
        return Prefilled(f"evidence: {text}", otherwise)
    where = escape(incident.records.sources[evidence.source].path)
    # Sentences of the report end with the file and record or line; here that is the origin and need not stand twice.
    at = text.rfind(f" ({where}")
    if at > 0 and text.endswith(")"):
        return Prefilled(f"evidence: {text[:at]}", text[at + 2 : -1])
    return Prefilled(f"evidence: {text}", where if evidence.record_id is None else f"{where}, record {evidence.record_id}")
