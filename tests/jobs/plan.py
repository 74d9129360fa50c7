"""A seed to a job, its fault, its recording, and the truth."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.jobs import faults, layouts
from tests.jobs.evidence import Recording
from tests.jobs.simulate import members, run
from tests.jobs.truth import Truth, judge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.jobs.model import Job
    from tests.jobs.simulate import Outcome


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    outcome: Outcome
    how: Recording
    truth: Truth

    @property
    def label(self) -> str:
        job = self.outcome.job
        return f"seed {self.seed}: {job.kind}, {job.world} ranks, {self.how.producer}, {job.fault}"

    def write(self, folder: Path) -> None:
        from tests.jobs.write import write

        write(self.outcome, self.how, folder)


def draw(seed: int, fault: str | None = None, kind: str | None = None) -> Plan:
    """The job of a seed. A fault that has no effect, or that blames the innocent, is drawn again."""
    rng = random.Random(seed)
    fault = fault or rng.choice(faults.FAULTS)
    while True:
        producer = "nccl" if fault in faults.MORE_FAULTS else rng.choices(("nccl", "nccl2", "gloo", "hook"), (70, 15, 10, 5))[0]
        job = layouts.build(kind or rng.choice(layouts.KINDS), rng)
        if producer == "gloo":
            if any(call.is_p2p for program in job.programs for call in program):
                continue  # gloo records no sends
            job = _blocking(job)
        outcome = run(faults.inject(fault, job, rng), seed)
        if fault != "none" and not outcome.hangs:
            continue
        how = _recording(outcome, producer, rng)
        if fault == "init":
            how = replace(how, configured=False)
        elif fault == "inside":
            how = replace(how, inside=_inside(outcome), old_batches=False, early={}, only_active=False)
        truth = judge(outcome, how)
        if truth.fair:
            return Plan(seed, outcome, how, truth)


def _blocking(job: Job) -> Job:
    """gloo's calls keep the host until they are over."""
    programs = tuple([replace(call, sync=True, detached=False) for call in program] for program in job.programs)
    return replace(job, programs=programs)


def _recording(outcome: Outcome, producer: str, rng: random.Random) -> Recording:
    """How the run was recorded: mostly all of it, now and then wrapped, only active calls, dumps missing, cut or early."""
    job = outcome.job
    fault = job.fault
    nccl = producer == "nccl"
    how = Recording(
        producer=producer,
        version=rng.choice(("2.10", "2.10", "2.9", "2.7", "2.4")) if nccl else "2.10",
        as_json=rng.random() < 0.3,
        ring=rng.choice((200, 300)) if rng.random() < 0.25 else None,
        only_active=producer in ("nccl", "nccl2") and rng.random() < 0.15,
        timing=rng.random() < 0.6,
        frames=rng.random() < 0.8,
        configured=fault == "first" or rng.random() < 0.6,
        old_batches=nccl and rng.random() < 0.1,
        per_host=rng.choice((2, 4, 8)),
        offsets=tuple(rng.uniform(-0.3, 0.3) if rng.random() < 0.8 else rng.uniform(0, 3600) for _ in range(8)),
        prefix=rng.choice(("nccl_trace_rank_", "comm_lib_trace_rank_", "trace_")),
    )
    if nccl and outcome.hangs and not how.only_active and rng.random() < 0.1:  # what looks completed would be left out
        how = replace(how, aborted=frozenset(rng.sample(range(job.world), job.world // 2)))
    if fault != "none" and rng.random() < 0.3:
        how = _spoil(outcome, how, rng)
    return how


def _spoil(outcome: Outcome, how: Recording, rng: random.Random) -> Recording:
    """One or two dumps are missing, cut, or were written too early: half of the time that of the odd rank."""
    job = outcome.job
    some = sorted(job.injected) if job.injected and rng.random() < 0.5 else range(job.world)
    rank = rng.choice(some)
    way = rng.choice(("missing", "cut", "early" if how.producer != "hook" else "cut"))  # a hook never shows that a call is over
    if way == "missing":
        more = {rng.randrange(job.world)} if rng.random() < 0.3 and job.world > 4 else set()
        return replace(how, missing=frozenset({rank} | (more - set(job.injected))))
    if way == "cut":
        return replace(how, cut={rank: rng.uniform(0.3, 0.95)})
    moment = _early(outcome, rank, rng)
    return how if moment is None else replace(how, early={rank: moment})


def _inside(outcome: Outcome) -> frozenset[int]:
    """Ranks that came to a stop before a batch of sends and receives."""
    stops = outcome.job.stops
    return frozenset(rank for rank, index in stops.items() if outcome.at_stop(rank) and outcome.job.programs[rank][index].batch)


def _early(outcome: Outcome, rank: int, rng: random.Random) -> float | None:
    """A moment at which a rank's dump shows that it is too old: calls that it had not made yet are over on other ranks."""
    calls = outcome.ranks[rank]
    over = [
        made.made
        for made in calls
        if made.ended is not None and made.call.parts[0].peer is None and len(members(outcome.job, made.keys[0])) > 1
    ]
    if len(over) < 10:
        return None
    return rng.choice(over[len(over) // 4 : -3]) - 1e-6
