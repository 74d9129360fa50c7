"""From the wait graph to findings: leads first, then notes, then what only waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.engine.evidence import Telling
from hangview.engine.findings.absent import not_requested
from hangview.engine.findings.case import Case, Quiet
from hangview.engine.findings.differing import mismatches
from hangview.engine.findings.held import cycles, held
from hangview.engine.findings.open_calls import open_calls
from hangview.engine.findings.rest import notes, waiting
from hangview.engine.findings.sizes import uneven
from hangview.engine.findings.unseen import not_observed
from hangview.terms import Finding, Kind, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.engine.waits import Place

__all__ = ["OF_OPEN_CALLS", "Case", "Quiet", "find", "leads", "ordered"]


def find(case: Case) -> tuple[Finding, ...]:
    """All findings that the records support."""
    tell = Telling(case.records, case.groups, case.windows, case.traffic, case.ops)
    out: list[Finding] = []
    told: set[Place] = set()
    out += not_requested(case, tell, told)
    out += mismatches(case, tell, told)
    out += uneven(case, tell, told)
    out += held(case, tell, told)
    out += cycles(case, tell, told)
    named_ranks = {r for f in out for r in names(f)}
    out += not_observed(case, tell, told, bool(named_ranks))
    out += notes(case, tell, out)
    out += waiting(case, tell, told)
    if all(f.role is not Role.LEAD for f in out):
        out = [f for f in out if f.role is Role.NOTE]  # nothing to wait for
        if all(f.kind not in OF_OPEN_CALLS for f in out):
            out += open_calls(case, tell)
    return tuple(out)


#: What notes are about that tell of a call which is not over.
OF_OPEN_CALLS = frozenset({Kind.PARTLY_COMPLETED, Kind.NOT_OBSERVED})


def ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Leads first, of these the ones that name a rank, and what is recorded before what is not; then notes, then waiting.
    Within these by group and seq."""
    order = {Role.LEAD: 0, Role.NOTE: 1, Role.WAITING: 2}
    none = -1
    return tuple(
        sorted(
            found,
            key=lambda f: (
                order[f.role],
                f.role is Role.LEAD and not names(f),
                f.role is Role.LEAD and f.kind is Kind.NOT_OBSERVED,
                none if f.group is None else f.group,
                f.seq or 0,
                f.lane or "",
                f.kind is Kind.PROCESS_ENDED,
                f.kind.value,
                f.ranks,
            ),
        )
    )


def leads(found: Iterable[Finding]) -> tuple[int, ...]:
    """The ranks to look at first, ascending; none where the evidence names nobody."""
    return tuple(sorted({r for f in found for r in names(f)}))


#: Kinds that name ranks by themselves: where nobody may be named, these findings carry an empty minority.
_NAMING = frozenset(
    {
        Kind.NOT_REQUESTED, Kind.NO_COLLECTIVE, Kind.GROUP_ABSENT, Kind.UNPAIRED_P2P, Kind.DIFFERENT_OP, Kind.DIFFERENT_SIZE,
        Kind.DIFFERENT_DTYPE, Kind.PARTLY_COMPLETED, Kind.DIFFERENT_CALL_SITE, Kind.PROCESS_ENDED, Kind.GROUP_MISMATCH,
    }
)  # fmt: skip


def names(finding: Finding) -> tuple[int, ...]:
    """The ranks that a finding makes leads; a side that is no minority names nobody (its ``others`` are then empty)."""
    if finding.role is not Role.LEAD or finding.kind not in _NAMING or not finding.others:
        return ()
    return finding.ranks
