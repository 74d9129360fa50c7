"""Who waits for whom, for every pane alike: what the records prove, or, where there are none, what the findings say by logs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.schema import CellState
from hangview.terms import Kind, Role, Wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hangview.incident import Incident
    from hangview.terms import Finding, Group

#: Kinds whose ``others`` wait for its ``ranks``; where requests differ, all are in the same call and wait for what it lacks.
_MISSED = frozenset({Kind.NOT_REQUESTED, Kind.PROCESS_ENDED, Kind.NOT_OBSERVED})


def waits_of(incident: Incident) -> tuple[Wait, ...]:
    """The waits that the records prove. Where there is none, those that findings tell by logs alone: observed where the log of
    the rank that is waited for stops below the call, and none for a rank that is not known to belong to the group."""
    told = (wait for finding in incident.findings for wait in _told(incident, finding))
    return incident.waits or tuple(dict.fromkeys(told))


def for_whom_unknown(incident: Incident) -> tuple[Finding, ...]:
    """Findings of ranks that wait, by logs alone, where nobody that they may wait for is known to belong to the group."""
    if incident.waits:
        return ()
    waiting = (finding for finding in incident.findings if finding.role is Role.WAITING and finding.group is not None)
    return tuple(finding for finding in waiting if not any(True for _ in _told(incident, finding)))


def _told(incident: Incident, finding: Finding) -> Iterator[Wait]:
    if finding.group is None or finding.lane is None or finding.seq is None:
        return
    if finding.role is Role.WAITING:
        who, on = finding.ranks, finding.others
    elif finding.role is Role.LEAD and finding.kind in _MISSED:
        who, on = finding.others, finding.ranks
    else:
        return
    group = next((each for each in incident.groups if each.id == finding.group), None)
    on = tuple(rank for rank in on if group is None or _belongs(group, rank))
    seen = {rank for rank in on if _stopped(incident, finding, rank)} if on else set()
    for rank in who:
        for missed in on:
            yield Wait(rank, missed, finding.group, finding.lane, finding.seq, finding.side, observed=missed in seen)


def _belongs(group: Group, rank: int) -> bool:
    """Whether a rank is known to be a member: every rank is of the default group, whoever recorded it."""
    return rank in group.ranks or group.default


def _stopped(incident: Incident, finding: Finding, rank: int) -> bool:
    """Whether the rank is known not to have requested the call, by its log."""
    if finding.role is Role.LEAD and finding.kind is Kind.NOT_REQUESTED:
        return True
    assert finding.group is not None
    assert finding.lane is not None
    assert finding.seq is not None
    try:
        return incident.view.cell(finding.group, finding.lane, finding.seq, rank).state is CellState.NOT_REQUESTED
    except KeyError:  # it has no row there
        return False


def waiting_for(incident: Incident, leads: Iterable[int] | None) -> tuple[set[int], set[int]]:
    """The ranks that wait for one of ``leads``, or for one that does, and the groups in which they do; all that wait
    where ``leads`` is None. No lead of the incident is among the ranks."""
    waits = waits_of(incident)
    if leads is None:
        every = {wait.rank for wait in waits} - set(incident.leads)
        return every, {wait.group for wait in waits if wait.rank in every}
    by_target: defaultdict[int, list[Wait]] = defaultdict(list)
    for wait in waits:
        by_target[wait.on].append(wait)
    found: set[int] = set(leads)
    groups: set[int] = set()
    work = list(found)
    while work:
        for wait in by_target.get(work.pop(), ()):
            if wait.rank in incident.leads:
                continue
            groups.add(wait.group)
            if wait.rank not in found:
                found.add(wait.rank)
                work.append(wait.rank)
    return found - set(leads) - set(incident.leads), groups
