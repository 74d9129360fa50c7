"""An answer of hangview beside the truth of an invented job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import hangview
from hangview.schema import ReadOptions, SourceKind, SourceStatus
from hangview.terms import Verdict
from tests.jobs import faults

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.incident import Incident
    from tests.jobs.plan import Plan

OPTIONS = ReadOptions(logs=False, cache=False, workers=1)


def ask(folder: Path) -> Incident:
    return hangview.load(str(folder), options=OPTIONS)


def wrong(plan: Plan, incident: Incident) -> list[str]:
    """What is wrong with an answer: each line starts with "false", "missed", "verdict" or "source"."""
    truth, how = plan.truth, plan.how
    said = []
    if kind := truth.wrong(incident.leads):
        said.append(f"{kind}: named {list(incident.leads)}, expected {list(truth.expected)}, allowed {list(truth.allowed)}")
    if (
        how.producer != "hook" and plan.outcome.job.fault not in faults.MORE_FAULTS
    ):  # it never says that a call is over, so a hang in which all made their calls is not to be seen
        verdicts = {Verdict.DIVERGENCE if truth.hangs else Verdict.NO_HANG}
        if not truth.hangs and how.only_active:
            verdicts.add(Verdict.NOT_ENOUGH_EVIDENCE)  # everything was left out: nothing to compare
        if incident.verdict not in verdicts:
            said.append(f"verdict: {incident.verdict}, expected {' or '.join(sorted(verdicts))}")
    status = {source.rank: source.status for source in incident.records.sources if source.kind is SourceKind.DUMP}
    whole = set(range(plan.outcome.job.world)) - how.missing - how.cut.keys() - how.early.keys()
    unread = sorted(rank for rank in whole if status.get(rank) is not SourceStatus.READ)
    return [*said, *(f"source: the dump of rank {rank} is {status.get(rank)}" for rank in unread)]


def describe(plan: Plan, said: list[str], incident: Incident | None) -> str:
    """Everything needed to look into a wrong answer, as JSON."""
    job, how = plan.outcome.job, plan.how
    spoilt = {"missing": sorted(how.missing), "cut": how.cut, "early": how.early, "aborted": sorted(how.aborted)}
    facts = {
        "seed": plan.seed,
        "job": job.kind,
        "world": job.world,
        "fault": job.fault,
        "what": plan.truth.why,
        "recording": {"producer": how.producer, "version": how.version, "ring": how.ring, "only_active": how.only_active}
        | {"timing": how.timing, "json": how.as_json, "frames": how.frames, "old_batches": how.old_batches}
        | {key: value for key, value in spoilt.items() if value},
        "truth": {"expected": plan.truth.expected, "allowed": plan.truth.allowed, "hangs": plan.truth.hangs},
        "wrong": said,
        "findings": [] if incident is None else [f"{f.role} {f.kind} {f.ranks}: {f.summary}" for f in incident.findings],
    }
    return json.dumps(facts, indent=1)
