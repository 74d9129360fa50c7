"""Who waits for whom, for every pane alike: what the records prove, or, where there are none, what the findings say by logs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.incident import Kind, Role, Wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hangview.incident import Finding, Incident

#: Kinds whose ``others`` wait for its ``ranks``; where requests differ, all are in the same call and wait for what it lacks.
_MISSED = frozenset({Kind.NOT_REQUESTED, Kind.PROCESS_ENDED, Kind.NOT_OBSERVED})


def waits_of(incident: Incident) -> tuple[Wait, ...]:
    """The waits that the records prove. Where there is none, those that findings tell by logs alone: of these no record says
    whether the rank that is waited for came."""
    return incident.waits or tuple(dict.fromkeys(wait for finding in incident.findings for wait in _told(finding)))


def _told(finding: Finding) -> Iterator[Wait]:
    if finding.group is None or finding.lane is None or finding.seq is None:
        return
    if finding.role is Role.WAITING:
        who, on = finding.ranks, finding.others
    elif finding.role is Role.LEAD and finding.kind in _MISSED:
        who, on = finding.others, finding.ranks
    else:
        return
    for rank in who:
        for missed in on:
            yield Wait(rank, missed, finding.group, finding.lane, finding.seq, finding.side, observed=False)


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
