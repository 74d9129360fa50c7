"""Which side of a call is the majority: the finding about the call has the last word, as it counts the unobserved members."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.incident import Kind

if TYPE_CHECKING:
    from hangview.incident import Call, Finding, Incident, SignatureSide

#: Findings about requests of one call that differ.
MISMATCHES = (Kind.DIFFERENT_OP, Kind.DIFFERENT_SIZE, Kind.DIFFERENT_DTYPE)


def mismatch_at(incident: Incident, group: int, lane: str, seq: int) -> Finding | None:
    """What was found about requests that differ in one call."""
    return next(
        (
            finding
            for finding in incident.findings
            if finding.kind in MISMATCHES and (finding.group, finding.lane, finding.seq) == (group, lane, seq)
        ),
        None,
    )


def sides_of(incident: Incident, call: Call) -> tuple[SignatureSide, ...]:
    """The sides of a call. At most one of them is the reference where they disagree, and none where the finding has none."""
    finding = mismatch_at(incident, call.group, call.lane, call.seq)
    if finding is None or finding.others or len(call.sides) < 2:
        return call.sides
    return tuple(replace(side, reference=False) for side in call.sides)


def disagree(sides: tuple[SignatureSide, ...]) -> bool:
    """Whether the sides are a disagreement. A send and its receive differ too, and both are as they should be."""
    return len(sides) > 1 and not all(side.reference for side in sides)


def tied_seqs(incident: Incident, group: int, lane: str) -> frozenset[int]:
    """Calls of a lane on which no side is the majority, by the findings."""
    return frozenset(
        finding.seq
        for finding in incident.findings
        if finding.kind in MISMATCHES
        and (finding.group, finding.lane) == (group, lane)
        and finding.seq is not None
        and not finding.others
    )
