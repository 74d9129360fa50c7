"""One finding, whole: what it rests on, what to compare first, what must not be concluded, and the steps that led to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.report.alike import told_once
from hangview.terms import Finding, Role, Side, Verdict
from hangview.text import name_ranks
from hangview.tui.prose import BLANK, Prose, Span, Tone, item, line
from hangview.tui.text.common import lane_name, role_mark, role_word

if TYPE_CHECKING:
    from hangview.incident import Incident


def finding_lines(incident: Incident, finding: Finding) -> Prose:
    tone = role_mark(incident, finding)[1]
    word = role_word(incident, finding)
    lines = [line((f"{word}  ", tone), (finding.summary, Tone.STRONG), hang=len(word) + 2)]
    lines.append(line(*_about(incident, finding)))
    if finding.compare_first:
        lines.append(line(("compare first  ", Tone.HEAD), finding.compare_first, hang=15))
    if finding.not_concluded:
        lines.append(line(("must not be concluded", Tone.HEAD)))
        lines += [item(each, mark="x ") for each in finding.not_concluded]
    if finding.evidence:
        lines.append(line(("evidence", Tone.HEAD)))
        lines += [item(each.text) for each in told_once(finding.evidence)]
    if finding.steps:
        lines.append(line(("how it was reached", Tone.HEAD)))
        lines += [item(step, mark=f"{at}. ") for at, step in enumerate(finding.steps, 1)]
    if not finding.evidence and not finding.steps:
        lines += [BLANK, line((_elsewhere(incident, finding), Tone.UNKNOWN))]
    return tuple(lines)


def _elsewhere(incident: Incident, finding: Finding) -> str:
    if finding.role is not Role.WAITING:
        return "no record is quoted for it"
    return f"its evidence stands with the {'lead' if incident.leads else 'finding'} that it waits for"


def _about(incident: Incident, finding: Finding) -> list[Span]:
    parts = [finding.kind.words]
    if finding.side is not Side.UNKNOWN:
        parts.append(f"{finding.side.value} side")
    if finding.group is not None:
        at = f" {finding.seq}" if finding.seq is not None else ""
        parts.append(f"{lane_name(incident, finding.group, finding.lane)}{at}")
    if finding.others:
        parts.append(f"{name_ranks(finding.ranks, 8)} against {name_ranks(finding.others, 8)}")
    elif finding.ranks:
        parts.append(name_ranks(finding.ranks, 8))
    return [Span(" · ".join(parts), Tone.DIM)]


def finding_choice(incident: Incident, finding: Finding) -> Prose:
    """The finding in the list: its sign and its summary."""
    sign, tone = role_mark(incident, finding)
    return (line((f"{sign} ", tone), (finding.summary, tone if finding.role is Role.LEAD else Tone.PLAIN), hang=2),)


def no_findings(incident: Incident, *, partial: bool = False) -> Prose:
    """What stands in the list where there is no finding; ``partial``: more files are still to be read."""
    if partial:
        return (line(("no finding yet: files are still being read", Tone.UNKNOWN)),)
    if incident.verdict is Verdict.NO_HANG:
        return (
            line(("no finding: these files show no hang", Tone.GOOD)),
            line("every call that was compared is over on all members, and all of them agree"),
        )
    why = "nothing can be concluded from these files" if incident.lanes else "there was no call to compare"
    return (line((f"no finding: {why}", Tone.UNKNOWN)),)
