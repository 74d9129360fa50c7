"""What a large set is to be, and what every rank of it has behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.large_job import Layout, progress, step_of

if TYPE_CHECKING:
    from benchmarks.large_job import Progress, Step


@dataclass(frozen=True, slots=True)
class Options:
    ranks: int
    entries: int
    tp: int
    pp: int
    layers: int
    micro: int
    fault: str
    rank: int
    wrap: bool
    timing: bool
    frames: bool
    depth: int
    missing: frozenset[int]
    cut: frozenset[int]
    prefix: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a worker needs to write one rank. ``before``: whole steps that every rank has behind it."""

    options: Options
    layout: Layout
    steps: tuple[Step, ...]  #: by pipeline stage
    before: int
    progress: Progress


def plan(options: Options) -> Plan:
    layout = Layout(options.ranks, options.tp, options.pp)
    steps = tuple(step_of(layout, stage, options.layers, options.micro) for stage in range(layout.pp))
    longest = max(sum(2 if call.way else 1 for call in step.calls) for step in steps)
    before = max(1, (options.entries - longest) // longest) * (3 if options.wrap else 1)
    return Plan(options, layout, steps, before, progress(layout, steps, options.fault, options.rank))
