"""Findings as hypotheses: their lines for section 7, and what new evidence changes about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.incident import Role, Verdict
from hangview.text import escape
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.model import Change, Mark, Prefilled, field_label, repeat_key, same_values

if TYPE_CHECKING:
    from hangview.incident import Evidence, Finding, Incident
    from hangview.worksheet.model import Field, Sheet

#: The fields of one hypothesis that are filled in from a finding.
HYPOTHESIS_KEYS = ("hypothesis", "not_concluded")
#: Leads that become a hypothesis each without being sent; the rest are counted.
FIRST_LEADS = 3
#: Lines of evidence that one hypothesis repeats; the rest are in the report.
EVIDENCE = 6

_NO_FINDING = {
    Verdict.NO_HANG: "these files show no hang: every call that could be compared agrees and is over",
    Verdict.NOT_ENOUGH_EVIDENCE: "these files do not suffice: no call could be compared between ranks",
    Verdict.DIVERGENCE: "calls differ between ranks, and no rank is to be looked at first",
}


def hypothesis_lines(finding: Finding, incident: Incident) -> tuple[Prefilled, ...]:
    """A finding for a hypothesis: what it says, what it rests on with file and record, and what to compare first."""
    where = f"the finding “{finding.kind.words}”"
    lines = [Prefilled(escape(finding.summary), where)]
    lines += [_evidence_line(evidence, incident, where) for evidence in finding.evidence[:EVIDENCE]]
    if len(finding.evidence) > EVIDENCE:
        lines.append(Prefilled(f"evidence: {len(finding.evidence) - EVIDENCE:,} more lines", "hangview report"))
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
    return Prefilled(_NO_FINDING[incident.verdict], "the verdict of hangview")


def offer_hypotheses(sheet: Sheet, fresh: Sheet, incident: Incident) -> tuple[Change, ...]:
    """The hypotheses of ``fresh`` that ``sheet`` does not hold, or holds with other evidence.

    A new one is offered in the place of one whose finding is gone, else in a blank one, else as one more: never in a place
    where a person wrote a hypothesis of their own or that a living finding has.
    """
    alive = {hypothesis_lines(finding, incident)[0].value for finding in incident.findings}
    held = [sheet[repeat_key("hypothesis", number)] for number in range(1, sheet.hypotheses + 1)]
    places = {field.prefilled[0].value: number for number, field in enumerate(held, 1) if field.prefilled}
    free = [number for number, field in enumerate(held, 1) if _may_take(field, alive)]
    changes = []
    extra = len(held)
    for number in range(1, fresh.hypotheses + 1):
        lines = fresh[repeat_key("hypothesis", number)].prefilled
        if not lines:
            continue
        place = places.get(lines[0].value)
        if place is None and free:
            place = free.pop(0)
        if place is None:
            extra += 1
            place = extra
        elif place in free:
            free.remove(place)
        changes += [change for key in HYPOTHESIS_KEYS if (change := _change(sheet, fresh, key, place, number)) is not None]
    return tuple(changes)


def _may_take(field: Field, alive: set[str]) -> bool:
    return field.prefilled[0].value not in alive if field.prefilled else field.mark is Mark.BLANK


def _change(sheet: Sheet, fresh: Sheet, key: str, place: int, number: int) -> Change | None:
    new = fresh[repeat_key(key, number)]
    target = repeat_key(key, place)
    before = sheet[target].prefilled if target in sheet else ()
    if same_values(before, new.prefilled):
        return None
    return Change(target, field_label(LANGUAGES[sheet.language], key, place), before, new.prefilled)


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
