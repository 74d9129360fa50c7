"""Every fixture against its ground truth: what must be said from the dumps alone, and what the logs add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hangview
from hangview.schema import ReadOptions
from hangview.terms import Verdict

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Finding

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = {path.parent.name: json.loads(path.read_text()) for path in sorted(FIXTURES.glob("*/EXPECT.json"))}
WITH_LOGS = [name for name, expect in CASES.items() if (FIXTURES / name / "logs").is_dir() or "score_logs" in expect]
EXIT = {Verdict.NO_HANG: 0, Verdict.DIVERGENCE: 1, Verdict.NOT_ENOUGH_EVIDENCE: 3}


def wrong(incident: Incident, want: dict[str, Any]) -> list[str]:
    """What is wrong with an answer; empty when all that ``want`` names is as it should be."""
    said = []
    if "verdict" in want and incident.verdict != want["verdict"]:
        said.append(f"verdict {incident.verdict}, expected {want['verdict']}")
    if "exit" in want and EXIT[incident.verdict] != want["exit"]:
        said.append(f"exit {EXIT[incident.verdict]}, expected {want['exit']}")
    allowed = want.get("leads_any", [want["leads"]] if "leads" in want else None)
    if allowed is not None and sorted(incident.leads) not in [sorted(leads) for leads in allowed]:
        said.append(f"leads {list(incident.leads)}, expected one of {allowed}")
    if want.get("kinds"):
        said += _wrong_finding(incident, want)
    if "read" in want and sorted(incident.coverage.read) != want["read"]:
        said.append(f"read {incident.coverage.read}, expected {want['read']}")
    statuses = {Path(source.path).name: str(source.status) for source in incident.records.sources}
    for name, status in want.get("sources", {}).items():
        if statuses.get(name) not in ([status] if isinstance(status, str) else status):
            said.append(f"source {name} is {statuses.get(name)}, expected {status}")
    return said


def _wrong_finding(incident: Incident, want: dict[str, Any]) -> list[str]:
    """Whether no finding of the wanted kinds is at the wanted group, seq and ranks."""
    found = [finding for finding in incident.findings if finding.kind in want["kinds"]]
    if not found:
        return [f"no finding of kind {want['kinds']}, only {sorted({str(f.kind) for f in incident.findings})}"]

    def fits(finding: Finding) -> bool:
        group = None if finding.group is None else incident.groups[finding.group]
        return (
            ("seq" not in want or finding.seq == want["seq"])
            and ("group" not in want or (group is not None and want["group"] in (group.desc, group.name)))
            and ("ranks" not in want or sorted(finding.ranks) == sorted(want["ranks"]))
        )

    if any(map(fits, found)):
        return []
    seen = [(finding.kind, finding.group, finding.seq, finding.ranks) for finding in found]
    return [f"findings at {seen}, expected {want.get('group')} {want.get('seq')} {want.get('ranks')}"]


def test_fixtures_are_there():
    assert len(CASES) > 80
    assert all("score" in expect for expect in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_dumps_alone(name):
    incident = hangview.load(str(FIXTURES / name), options=ReadOptions(logs=False, cache=False))
    assert wrong(incident, CASES[name]["score"]) == []


@pytest.mark.parametrize("name", WITH_LOGS)
def test_dumps_and_logs(name):
    incident = hangview.load(str(FIXTURES / name), options=ReadOptions(cache=False))
    expect = CASES[name]
    assert wrong(incident, expect.get("score_logs", expect["score"])) == []
