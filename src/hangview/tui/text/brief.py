"""A finding in few words, what tells most first: for lines that are cut at 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.incident import Kind, Role
from hangview.text import name_ranks
from hangview.tui.sides import MISMATCHES
from hangview.tui.text.common import lane_name

if TYPE_CHECKING:
    from hangview.incident import Finding, Incident, SignatureSide

_WHAT = {Kind.DIFFERENT_OP: "operation", Kind.DIFFERENT_SIZE: "size", Kind.DIFFERENT_DTYPE: "dtype"}


def brief(incident: Incident, finding: Finding) -> str:
    """``"dtype: rank 13 Half, ranks 9,11,15 Float, reduce_scatter 9 of tp_1"`` where requests differ, else the summary."""
    if finding.kind not in MISMATCHES or finding.role is not Role.LEAD or None in (finding.group, finding.lane, finding.seq):
        return finding.summary
    assert finding.group is not None
    assert finding.lane is not None
    assert finding.seq is not None
    sides = incident.view.call(finding.group, finding.lane, finding.seq).sides
    told = [_told(finding.kind, side) for side in sides]
    if len(set(told)) < 2 or "" in told:
        return finding.summary
    ordered = sorted(zip(sides, told, strict=True), key=lambda each: each[0].reference)
    parts = [f"{name_ranks(side.ranks, 4)} {what}" for side, what in ordered]
    call = "call" if finding.kind is Kind.DIFFERENT_OP or finding.op is None else finding.op
    parts.append(f"{call} {finding.seq} of {lane_name(incident, finding.group, finding.lane)}")
    if not any(side.reference for side in sides):
        parts.append("no side is the majority")
    return f"{_WHAT[finding.kind]}: {', '.join(parts)}"


def _told(kind: Kind, side: SignatureSide) -> str:
    """The part of a request that the finding is about."""
    size, _, dtype = side.text.rpartition(" × ")
    if kind is Kind.DIFFERENT_OP:
        return side.op
    return dtype if kind is Kind.DIFFERENT_DTYPE and size else size or side.text
