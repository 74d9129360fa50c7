"""The report as JSON: an interface for other programs (docs/json.md), changed only together with ``SCHEMA``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hangview._version import __version__
from hangview.report.coverage import at_least, missing_by_reason
from hangview.report.json_text import json_text
from hangview.report.page import evidence_text, ordered
from hangview.schema import SourceKind
from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.incident import Incident
    from hangview.schema import Source
    from hangview.terms import Finding

#: Raised when a key changes its meaning or goes away; a new key does not raise it.
SCHEMA = 1


def to_json(incident: Incident) -> str:
    """The report as one JSON object, written as :func:`json_text` does."""
    return json_text(report(incident))


def report(incident: Incident) -> Mapping[str, Any]:
    """The report as plain values. Nothing is left out or shortened; ranks are world ranks, ascending."""
    coverage = incident.coverage
    return {
        "schema": SCHEMA,
        "hangview": __version__,
        "verdict": incident.verdict.value,
        "leads": sorted(incident.leads),
        "coverage": {
            "expected": sorted(coverage.expected),
            "at_least": at_least(incident) or None,
            "read": sorted(coverage.read),
            "partial": sorted(coverage.partial),
            "missing": sorted(coverage.missing),
            "missing_reasons": [
                {"ranks": list(ranks), "host": host or None, "reason": reason}
                for ranks, host, reason in missing_by_reason(incident)
            ],
            "unrecorded": [escape(line) for line in coverage.unrecorded],
        },
        "attempts": [
            {
                "attempt": attempt.attempt,
                "ranks": sorted(attempt.ranks),
                "current": attempt.current,
                "reason": _text(attempt.reason),
            }
            for attempt in sorted(incident.records.attempts, key=lambda attempt: attempt.attempt)
        ],
        "sources": [_source(source) for source in sorted(incident.records.sources, key=_place)],
        "groups": [
            {
                "id": group.id,
                "name": escape(group.name),
                "desc": escape(group.desc),
                "ranks": list(group.ranks),
                "inferred": group.inferred,
            }
            for group in incident.groups
        ],
        "findings": [_finding(incident, finding) for finding in ordered(incident.findings)],
    }


def _source(source: Source) -> Mapping[str, Any]:
    return {
        "path": escape(source.path),
        "kind": source.kind.value,
        "status": source.status.value,
        "reason": _text(source.reason),
        "rank": source.rank,
        "rank_from": _text(source.rank_from),
        "host": _text(source.host),
        "attempt": source.attempt,
        "producer": _text(source.producer),
        "version": _text(source.version),
        "library": _text(source.library),
        "entries": source.entries,
        "notes": [escape(note) for note in source.notes],
    }


def _finding(incident: Incident, finding: Finding) -> Mapping[str, Any]:
    group = None if finding.group is None else incident.groups[finding.group]
    return {
        "kind": finding.kind.value,
        "role": finding.role.value,
        "ranks": sorted(finding.ranks),
        "others": sorted(finding.others),
        "group": None if group is None else {"name": escape(group.name), "desc": escape(group.desc), "id": group.id},
        "lane": finding.lane,
        "seq": finding.seq,
        "op": _text(finding.op),
        "side": finding.side.value,
        "summary": escape(finding.summary),
        "evidence": [evidence_text(incident, line) for line in finding.evidence],
        "compare_first": escape(finding.compare_first),
        "not_concluded": [escape(line) for line in finding.not_concluded],
        "steps": [escape(step) for step in finding.steps],
    }


def _place(source: Source) -> tuple[int, bool, str]:
    """By rank where there is one, dumps first, then by path: the order of the files on disk decides nothing."""
    return (source.rank if source.rank is not None else 1 << 62), source.kind is not SourceKind.DUMP, source.path


def _text(text: str | None) -> str | None:
    return None if text is None else escape(text)
