"""Requests of one call that differ: whether its sides disagree, and on which calls no side is the majority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.terms import Kind

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import SignatureSide

#: Findings about requests of one call that differ.
MISMATCHES = (Kind.DIFFERENT_OP, Kind.DIFFERENT_SIZE, Kind.DIFFERENT_DTYPE)


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
