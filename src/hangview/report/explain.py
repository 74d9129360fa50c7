"""The chain of reasoning behind each finding, from records to lead, for a reader who does not take our word for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.report.alike import told_once
from hangview.report.coverage import mixed_lines
from hangview.report.lines import Line, plain
from hangview.report.page import NOBODY, build, evidence_text, names_a_rank, ordered
from hangview.terms import Role, Verdict
from hangview.text import escape

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Finding


def to_explanation(incident: Incident) -> str:
    """The explanation as plain text, one step a line."""
    return plain(explanation_lines(incident))


def explanation_lines(incident: Incident) -> list[Line]:
    """For every finding: its sentence, the steps that lead to it, the records they rest on. Of those that only wait, the ones
    that have records of their own, and what must not be concluded from them."""
    page = build(incident)
    label, sentence = page.answers[0]
    lines = [Line(f"{label}  {sentence}", "answer", hang=len(label) + 2)]
    lines += [Line(each, "warn", indent=len(label) + 2) for each in mixed_lines(incident)]
    findings = [finding for finding in ordered(incident.findings) if finding.role is not Role.WAITING]
    for finding in findings:
        nobody = finding.role is Role.LEAD and not names_a_rank(incident, finding)
        word = NOBODY if nobody else finding.role.value
        lines += [Line(), Line(f"{word}: {escape(finding.summary)}", "lead"), *_chain(incident, finding)]
    for section in page.waiting:
        if section.evidence:
            lines += [Line(), Line(f"waiting: {section.summary}"), Line("records", "quiet", indent=2)]
            lines += [Line(each, indent=4) for each in section.evidence]
    if page.not_of_waiting:
        lines += [Line(), Line("of those that wait it must not be concluded", "head")]
        lines += [Line(each, indent=2) for each in page.not_of_waiting]
    if incident.verdict is Verdict.NO_HANG and not findings:
        lines += [
            Line(),
            Line(
                "every call that was compared is requested by all members with one signature, and is over on all of them",
                indent=2,
            ),
        ]
    return lines


def _chain(incident: Incident, finding: Finding) -> list[Line]:
    lines = [Line(f"{number}. {escape(step)}", indent=2, hang=3) for number, step in enumerate(finding.steps, 1)]
    if finding.evidence:
        lines.append(Line("records", "quiet", indent=2))
        lines += [Line(evidence_text(incident, line), indent=4) for line in told_once(finding.evidence)]
    if not lines:
        lines.append(Line("no steps were recorded for this finding", "quiet", indent=2))
    return lines
