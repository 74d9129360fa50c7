"""What a report says and in which order, before any format: the answer, the findings, who waits, what was read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hangview.report.alike import told_once
from hangview.report.coverage import (
    RANK_PARTS,
    after_no_hang,
    at_least,
    coverage_lines,
    mixed_lines,
    no_hang,
    nothing_shown,
    of_ranks,
    read_of_ranks,
    source_lines,
)
from hangview.schema import SourceKind, SourceStatus
from hangview.terms import UNNAMED, Kind, Role, Verdict
from hangview.text import count, escape, name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.incident import Incident
    from hangview.terms import Evidence, Finding

#: Lines of evidence of one finding, and findings of one role, that are shown before "… more"; leads in the answer.
EVIDENCE = 10
FINDINGS = 10
ANSWERS = 5
#: Lines of evidence of each finding that waits; of all of them EVIDENCE.
EACH = 3

LOOK_FIRST = "LOOK FIRST"
NO_RANK = "NO RANK NAMED"
#: What stands before a finding that names nobody, where its role is written out.
NOBODY = "no rank named"

_ROLES = {Role.LEAD: 0, Role.NOTE: 1, Role.WAITING: 2}


@dataclass(frozen=True, slots=True)
class Section:
    """One finding. ``hidden`` lines of evidence were left out; ``named``: it says which rank to look at first."""

    role: Role
    named: bool
    summary: str
    evidence: tuple[str, ...]
    hidden: int
    compare_first: str
    not_concluded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report; every string is escaped and stands on one line.

    ``answers`` are (label, sentence) pairs, the first one is the report's first line. ``below`` belongs to the answer.
    ``hidden`` counts what was left out, by the name of the part ("leads", "waiting", "notes"). ``waiting`` findings have the
    evidence that no other finding quotes; ``not_of_waiting`` is what must not be concluded from them and is said nowhere else.
    """

    answers: tuple[tuple[str, str], ...]
    below: tuple[str, ...]
    leads: tuple[Section, ...]
    waiting: tuple[Section, ...]
    not_of_waiting: tuple[str, ...]
    notes: tuple[Section, ...]
    hidden: Mapping[str, int]
    coverage: tuple[str, ...]
    sources: tuple[str, ...]


def build(incident: Incident, *, everything: bool = False) -> Page:
    """The page for an incident. ``everything`` leaves nothing out; else it stays short, also for thousands of ranks."""
    findings = ordered(incident.findings)
    parts = {role: [finding for finding in findings if finding.role is role] for role in Role}
    leads, waiting, notes = parts[Role.LEAD], parts[Role.WAITING], parts[Role.NOTE]
    if not leads and waiting:  # a tie, say: nobody is named, and both sides wait; the evidence must be seen all the same
        leads, waiting = waiting, []
    elif not leads and incident.verdict is Verdict.DIVERGENCE:  # a difference in a call that completed is the answer itself
        leads, notes = notes, []
    waiting.sort(key=lambda finding: not set(finding.ranks) & set(incident.leads))  # what waits for a lead itself tells most
    limit = None if everything else FINDINGS
    shown = {"leads": leads[:limit], "waiting": waiting[:limit], "notes": notes[:limit]}
    hidden = {"leads": len(leads), "waiting": len(waiting), "notes": len(notes)}
    return Page(
        answers=_answers(incident, findings),
        below=_below(incident, findings),
        leads=tuple(_section(incident, finding, everything=everything) for finding in shown["leads"]),
        waiting=_waiting(incident, shown["waiting"], [*leads, *notes], everything=everything),
        not_of_waiting=_only(
            (line for finding in waiting for line in finding.not_concluded),
            (line for finding in (*leads, *notes) for line in finding.not_concluded),
            None if everything else EVIDENCE,
        ),
        notes=tuple(_section(incident, finding, everything=everything) for finding in shown["notes"]),
        hidden={part: total - len(shown[part]) for part, total in hidden.items()},
        coverage=coverage_lines(incident),
        sources=source_lines(incident, everything=everything),
    )


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Leads, then notes, then waiting; within a role as the engine left them."""
    return tuple(sorted(findings, key=lambda finding: _ROLES[finding.role]))


def evidence_text(incident: Incident, evidence: Evidence) -> str:
    """A line of evidence with the place where it can be checked, unless the line names it itself."""
    text = escape(evidence.text)
    if evidence.source is None:
        return text
    path = escape(incident.records.sources[evidence.source].path)
    if path in text:
        return text
    record = "" if evidence.record_id is None else f", record {evidence.record_id}"
    return f"{text} ({path}{record})"


def _section(incident: Incident, finding: Finding, *, everything: bool) -> Section:
    evidence = told_once(finding.evidence)
    shown = evidence[: None if everything else EVIDENCE]
    return Section(
        role=finding.role,
        named=names_a_rank(incident, finding),
        summary=escape(finding.summary),
        evidence=tuple(evidence_text(incident, line) for line in shown),
        hidden=len(evidence) - len(shown),
        compare_first=escape(finding.compare_first),
        not_concluded=tuple(escape(line) for line in finding.not_concluded),
    )


def _waiting(
    incident: Incident, waiting: Sequence[Finding], others: Sequence[Finding], *, everything: bool
) -> tuple[Section, ...]:
    """Those that wait, with the lines that are not quoted above; ``EVIDENCE`` lines for all of them together."""
    told = {line.text for finding in others for line in told_once(finding.evidence)}
    left = EVIDENCE
    sections = []
    for finding in waiting:
        fresh = tuple(line for line in told_once(finding.evidence) if line.text not in told)
        told.update(line.text for line in fresh)
        shown = fresh if everything else fresh[: min(left, EACH)]
        left -= len(shown)
        section = _section(incident, replace(finding, evidence=shown), everything=True)
        sections.append(replace(section, hidden=len(fresh) - len(shown)))
    return tuple(sections)


def _only(lines: Iterable[str], told: Iterable[str], most: int | None) -> tuple[str, ...]:
    """Those that were not told, each once."""
    before = set(told)
    return tuple(escape(line) for line in dict.fromkeys(lines) if line not in before)[:most]


def _answers(incident: Incident, findings: Sequence[Finding]) -> tuple[tuple[str, str], ...]:
    if incident.verdict is Verdict.NO_HANG:
        return (("NO HANG SEEN", f"{no_hang(incident)} ({_scope(incident)})"),)
    if incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE:
        return (("NOT ENOUGH EVIDENCE", escape(findings[0].summary) if findings else _nothing(incident)),)
    leads = [finding for finding in findings if finding.role is Role.LEAD]
    if not leads:
        waiting = next((escape(finding.summary) for finding in findings if finding.role is Role.WAITING), None)
        if waiting is not None:
            return ((NO_RANK, waiting),)
        return (("DIVERGENCE", escape(findings[0].summary) if findings else "the records of these ranks do not agree"),)
    answers = [(word, escape(finding.summary)) for finding, word in zip(leads, lead_words(incident, leads), strict=True)]
    if len(leads) > ANSWERS:
        noun = "lead" if all(names_a_rank(incident, finding) for finding in leads) else "finding"
        answers = [*answers[:ANSWERS], ("AND", f"{count(len(leads) - ANSWERS, f'more {noun}')}, below")]
    return tuple(answers)


def names_a_rank(incident: Incident, finding: Finding) -> bool:
    """Whether a finding says where to look first. Others of its role say where ranks stand still, and nobody is named."""
    ranks = set(finding.ranks)
    return finding.role is Role.LEAD and bool(ranks) and ranks <= set(incident.leads) and finding.kind not in UNNAMED


def lead_words(incident: Incident, leads: Iterable[Finding]) -> list[str]:
    """A word for each finding that stands first: ``LOOK FIRST``, ``NO RANK NAMED``, ``AND`` for another one of the same, and
    ``ITS LOG`` where the log of ranks that were named already says more."""
    words: list[str] = []
    seen: set[int] = set()
    for finding in leads:
        ranks = set(finding.ranks)
        word = LOOK_FIRST if names_a_rank(incident, finding) else NO_RANK
        if finding.kind is Kind.PROCESS_ENDED and ranks and seen >= ranks:
            words.append("ITS LOG" if len(ranks) == 1 else "THEIR LOGS")  # the same ranks once more, not another place to look
        else:
            words.append("AND" if word in words else word)
        seen |= ranks
    return words


def _below(incident: Incident, findings: Sequence[Finding]) -> tuple[str, ...]:
    lines = mixed_lines(incident)
    if incident.verdict is Verdict.NO_HANG:
        lines.append(after_no_hang(incident))
    waits = incident.waits if incident.verdict is Verdict.DIVERGENCE else ()
    ranks = {wait.rank for wait in waits} - set(incident.leads)
    groups = {wait.group for wait in waits}
    named = {rank for finding in findings if finding.role is Role.LEAD for rank in finding.others}
    if len(groups) > 1 or ranks - named:
        of = f"{len(ranks):,} of {of_ranks(incident)}, in {count(len(groups), 'group')}"
        lines.append(f"waiting: {name_ranks(ranks, RANK_PARTS)} ({of})")
    if incident.coverage.missing:
        missing = incident.coverage.missing
        least = at_least(incident)
        of = of_ranks(incident).rstrip(",") if least else f"{len(incident.coverage.expected):,}"
        lines.append(f"no usable dump: {name_ranks(missing, RANK_PARTS)} ({len(missing):,} of {of})")
    return tuple(lines)


def _scope(incident: Incident) -> str:
    return f"{read_of_ranks(incident)}, {count(len(incident.groups), 'group')}"


def _nothing(incident: Incident) -> str:
    sources = incident.records.sources
    if not sources:
        return f"nothing to read in {', '.join(escape(path) for path in incident.paths)}"
    usable = [
        source for source in sources if source.usable or (source.kind is SourceKind.LOG and source.status is SourceStatus.READ)
    ]
    if not usable:
        tally = Counter(source.status.value for source in sources)
        counts = ", ".join(f"{number:,} {status}" for status, number in sorted(tally.items()))
        return f"no dump or log could be read ({counts})"
    return f"{nothing_shown(incident)} ({_scope(incident)})"
