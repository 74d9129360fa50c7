"""What the logs conclude by themselves, where the dumps beside them show nothing to look at.

Dumps may be older than the hang (asked for by hand, or by a monitor), and of some recorders a call that failed looks like one
that is over (gloo). What a watchdog or a traceback says is not less true for them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.engine.bylog import FAR
from hangview.logs import judge
from hangview.logs.followers import of_a_call
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side
from hangview.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.windows import Windows
    from hangview.logs.evidence import LogEvidence
    from hangview.terms import Group

#: Logs that get a line of evidence each.
_LINES = 8


def conclude(logs: LogEvidence, groups: Sequence[Group], known: Windows) -> tuple[Finding, ...]:
    """Leads of the logs, and what waits because of them; none that names a rank whose dump shows that it made the call. Where
    there is none, notes: of calls far beyond the dumps', of an end for which nobody waits.

    ``Finding.group`` is a group of the dumps where the log's is one of them, else None.
    """
    named = judge.groups_by_log(logs)
    home = {group.id: _home(group, groups) for group in named}
    found, notes = [], []
    for finding in judge.conclude(logs, named):
        group = None if finding.group is None else home[finding.group]
        here = replace(finding, group=group, lane=COLLECTIVE if group is not None else None)
        if finding.role is Role.NOTE or (finding.role is Role.LEAD and _requested(here, known)):
            continue
        if _far_beyond(here, known):
            notes += [_of_another_time(here)] if finding.role is Role.LEAD else []
        elif finding.kind is Kind.PROCESS_ENDED and not finding.others:
            # It may have been handled: the calls went on. Where all others met the end of a wait, they did not.
            if finding.role is Role.LEAD and (lost := _all_others_lost_it(logs, finding)):
                found.append(replace(here, others=lost))
            else:
                notes.append(replace(here, role=Role.NOTE))
        else:
            found.append(here)
    return tuple(found) if any(finding.role is Role.LEAD for finding in found) else tuple(notes)


def _all_others_lost_it(logs: LogEvidence, finding: Finding) -> tuple[int, ...]:
    """All other ranks, if each of them ended by a lost connection or by its own time-out; else none."""
    rest = tuple(sorted({*logs.ranks, *logs.silent} - set(finding.ranks)))
    first = {rank: ends[0] for rank, ends in judge.ends_by_rank(logs).items()}
    lost = all(rank in first and first[rank].follower and of_a_call(first[rank].why_follower) for rank in rest)
    return rest if lost else ()


def of_later(logs: LogEvidence) -> tuple[Finding, ...]:
    """A note where logs tell of trouble long after the dumps' records: these are of another run, or were written before it."""
    later = [aside for aside in logs.aside if aside.later]
    if not later:
        return ()
    ranks = tuple(sorted({rank for aside in later for rank in aside.ranks}))
    tell = f"{count(len(later), 'log')} {'tells' if len(later) == 1 else 'tell'}"
    return (
        Finding(
            Kind.NOT_OBSERVED, Role.NOTE, ranks, (), None, None, None, None, Side.UNKNOWN,
            f"{tell} of what came long after these dumps: they are of another run, or were written before it",
            tuple(Evidence(f"{aside.shown}: {aside.text}", aside.source) for aside in later[:_LINES]),
            "when the dumps were written, and where those of the run that the logs are of went",
            ("that these dumps and these logs tell of one hang",),
        ),
    )  # fmt: skip


def _home(group: Group, groups: Sequence[Group]) -> int | None:
    """The one group of the dumps that a log's is: by its name, or by its description where the log gives no name."""
    alike = [g for g in groups if (g.name == group.name if group.name else bool(group.desc) and g.desc == group.desc)]
    alike = [g for g in alike if set(group.ranks) <= set(g.ranks)]
    return alike[0].id if len(alike) == 1 else None


def _far_beyond(finding: Finding, known: Windows) -> bool:
    """Whether a call is so far beyond all dumps that its line may as well be of another run in the same folder."""
    homes = (w for (group, _), w in known.items() if finding.group in (None, group) and w.newest is not None)
    return finding.seq is not None and finding.seq > max((w.newest or 0 for w in homes), default=0) + FAR


def _of_another_time(finding: Finding) -> Finding:
    return replace(
        finding,
        kind=Kind.NOT_OBSERVED,
        role=Role.NOTE,
        summary=f"of a later time or another run, for its number is far beyond all dumps: {finding.summary}",
        not_concluded=("that it is of the run that the dumps are of", *finding.not_concluded),
    )


def _requested(finding: Finding, known: Windows) -> bool:
    """Whether a rank that is told not to have come to a call has it in its dump."""
    if finding.group is None:
        return False
    windows = (known.get((finding.group, rank)) for rank in finding.ranks)
    made = (w for w in windows if w is not None and w.source is not None and w.newest is not None)
    return finding.seq is not None and any((w.newest or 0) >= finding.seq for w in made)
