"""What logs say beside the findings from dumps: how a process ended, what was reported, where somebody saw it stand.

Dumps win where both speak. An end that others brought about (SIGTERM of the launcher, a lost connection, the abort after a
time-out) is no lead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.engine.evidence import user_frame
from hangview.engine.frames import is_python
from hangview.engine.outside import main_stacks
from hangview.logs import judge, quiet, reported, together
from hangview.logs.evidence import EndKind
from hangview.terms import COLLECTIVE, UNNAMED, Evidence, Finding, Kind, Role
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.engine.stalls import Stall
    from hangview.logs.evidence import LogEvidence, OutsideStack, ProcessEnd
    from hangview.terms import Group

#: Ends that the launcher, the scheduler or the kernel tells of.
_SAID_BY_OTHERS = frozenset({EndKind.EXIT_CODE, EndKind.SIGNAL, EndKind.OOM_KILLER})
_NO_PART = "that others wait because of it: no record shows that they do"
#: So many notes say what ranks met that are not known to have a part in it.
_NOTES = 4
#: So many ranks of a finding get a line with their stack.
_STACKS = 8


def beside_open_calls(logs: LogEvidence, stalls: Mapping[tuple[int, int], Stall]) -> LogEvidence:
    """The same, but that no end of a rank which had requested a call that is not over is said to be before communication."""
    waiting = {rank for stall in stalls.values() for rank in stall.waiting}
    ends = (replace(end, before_communication=False) if end.rank in waiting else end for end in logs.ends)
    return replace(logs, ends=tuple(ends))


def join(
    findings: Sequence[Finding], groups: Sequence[Group], stalls: Mapping[tuple[int, int], Stall], logs: LogEvidence
) -> tuple[Finding, ...]:
    """Findings from the dumps, with what the logs say of the same ranks beside them."""
    waiting = {rank for stall in stalls.values() for rank in stall.waiting}
    # Who waits in a call got over what it reports, and what others quote of whom it names is as old.
    past = {rank for one in logs.reports if one.rank in waiting for rank in one.named}
    known = {rank for group in groups for rank in group.ranks} | set(logs.ranks)
    unheard = {rank for one in findings if one.kind is Kind.NOT_OBSERVED for rank in one.ranks}
    spoke = known - unheard | {row.rank for row in logs.groups}
    ends = {**{end.rank: (end,) for end in logs.left}, **together.marked(judge.ends_by_rank(logs), known, spoke, waiting)}
    ends = {rank: told for rank, told in ends.items() if not (told[0].by and rank in past)}
    # What those who wait met too is no fault of a rank without records.
    theirs = {(end.type, end.what) for rank in waiting for end in ends.get(rank, ())}
    out: list[Finding] = []
    told: set[int] = set()
    for finding in (_with_stacks(one, logs) for one in findings):
        if finding.kind is Kind.NOT_OBSERVED:
            found = [] if _differs(finding, stalls) else [r for r in finding.ranks if _origin(ends.get(r), logs)]
            found = [r for r in found if (ends[r][0].type, ends[r][0].what) not in theirs]
            found = found or _gone(finding, ends, logs, stalls)
            out += [_ended(finding, ends[r][0], groups, logs) for r in found if r not in told]
            told.update(found)
            rest = [r for r in finding.ranks if r not in found]
            lines = tuple(_follower(logs, ends[r][0]) for r in rest if r in ends and ends[r][0].follower)[:_STACKS]
            lines += tuple(_line(logs, ends[r][0]) for r in rest if r in ends and _is_over(ends[r][0]))[:_STACKS]
            lines += _told_beside(rest, logs) + _of_nobody(logs)
            out.append(replace(finding, evidence=(*finding.evidence, *lines), role=finding.role if rest else Role.NOTE))
        elif finding.role is Role.LEAD and finding.kind in (Kind.NOT_REQUESTED, Kind.NO_COLLECTIVE, Kind.GROUP_ABSENT):
            found = [r for r in finding.ranks if _origin(ends.get(r), logs)]
            told_of = [r for r in finding.ranks if r in found or (r in ends and _is_over(ends[r][0]))]
            lines = tuple(_line(logs, ends[r][0]) for r in told_of) + _told_beside(finding.ranks, logs)
            out.append(replace(finding, evidence=(*finding.evidence, *lines)) if lines else finding)
            out += [_ended(finding, ends[r][0], groups, logs) for r in found if r not in told]
            told.update(found)
        else:
            out.append(finding)
    # Of who waits, what it met outside every call: inside one, it met what the others did.
    met = [told for rank, told in ends.items() if _origin(told, logs) and not (rank in waiting and told[0].inside)]
    devices = [told for told in ends.values() if told[0].kind is EndKind.DEVICE and not told[0].follower]
    out = _with_what_was_met(out, [*devices, *(told for told in met if told[0].rank in waiting)], logs)
    out += _beside(out, met, logs)
    logs = replace(logs, reports=tuple(one for one in logs.reports if one.rank not in waiting))
    if logs.reports and not any(one.role is Role.LEAD for one in out):
        # What the recorder leaves out (a monitored_barrier), or never saw (what was compared before the call).
        known = {rank for group in groups for rank in group.ranks} | set(logs.ranks)
        out += reported.findings(logs, known, waiting | reported.waited(logs))
    return tuple(out)


def _beside(findings: Sequence[Finding], ends: Iterable[Sequence[ProcessEnd]], logs: LogEvidence) -> list[Finding]:
    """Notes of what ranks met by themselves, where no rank is named: those that the dumps ask about may wait for one of them in
    what nobody recorded, and a call that all requested is not over before a process that has gone."""
    leads = [finding for finding in findings if finding.role is Role.LEAD]
    if not leads or any(finding.kind not in UNNAMED for finding in leads):
        return []
    met = judge.noted(logs, (told[0] for told in ends))[:_NOTES]
    return [replace(one, not_concluded=(*one.not_concluded, _NO_PART)) for one in met]


#: Findings about ranks that did not come, or of which nothing tells: where they stand now is the question.
_ABSENT = frozenset({Kind.NOT_REQUESTED, Kind.NO_COLLECTIVE, Kind.GROUP_ABSENT, Kind.NOT_OBSERVED})


def _with_stacks(finding: Finding, logs: LogEvidence) -> Finding:
    """A finding with where its ranks stood when somebody looked from outside (py-spy, pystack, faulthandler)."""
    if finding.role is not Role.LEAD or finding.kind not in _ABSENT:
        return finding
    lines = [
        Evidence(
            f"rank {stack.rank}, by {stack.tool}: {stack.thread} stood in {_where(stack)} ({logs.shown(stack.line)})",
            stack.line.source,
        )
        for stack in main_stacks(logs, finding.ranks)[:_STACKS]
    ]
    return replace(finding, evidence=(*finding.evidence, *lines)) if lines else finding


def _with_what_was_met(findings: Sequence[Finding], ends: Iterable[Sequence[ProcessEnd]], logs: LogEvidence) -> list[Finding]:
    """The findings; the first that looks somewhere says which of its other ranks met an error of their device, or one of their
    own although they had requested the call. Whether that was before or after the call, no line tells: it names nobody."""
    out = list(findings)
    place = next((i for i, one in enumerate(out) if one.role is Role.LEAD and one.kind is not Kind.PROCESS_ENDED), None)
    if place is None:
        return out
    named = {rank for one in out if one.kind is Kind.PROCESS_ENDED for rank in one.ranks}
    lines = {
        told[0].rank: Evidence(
            f"rank {told[0].rank}, by its log: {told[0].what}; whether it met that before or after this call is not known "
            f"({logs.shown(told[0].line)}{logs.dated(told[0].line)})",
            told[0].line.source,
        )
        for told in ends
        if told[0].rank not in named
    }
    kept = [lines[rank] for rank in sorted(lines)][:_STACKS]
    first = out[place]
    out[place] = replace(first, evidence=(*first.evidence, *kept))
    if kept and first.kind is Kind.NOT_COMPLETED:
        who, whose = name_ranks(sorted(lines), _STACKS), "its log tells" if len(lines) == 1 else "their logs tell"
        out[place] = replace(
            out[place],
            summary=f"{first.summary}, if {who} went on after what {whose}",
            compare_first=f"what {whose} of {who}: a process that has ended takes no part in a call; {first.compare_first}",
        )
    return out


def _where(stack: OutsideStack) -> str:
    """The innermost frame of the user's own code: a lock of the standard library says nothing."""
    own = [frame for frame in stack.frames if not is_python(frame)]
    return user_frame(own or stack.frames)


def _differs(finding: Finding, stalls: Mapping[tuple[int, int], Stall]) -> bool:
    """Whether requests of the call differ: a rank that raises or aborts inside such a call follows from it."""
    if finding.group is None or finding.seq is None or finding.lane != COLLECTIVE:
        return False
    stall = stalls.get((finding.group, finding.seq))
    return stall is not None and stall.mismatch is not None


def _origin(ends: Sequence[ProcessEnd] | None, logs: LogEvidence) -> bool:
    """Whether a rank that others wait for has an end of its own making. That it printed something after an exception
    (an exit handler, a script that caught it) takes nothing away: it raised before the call that it never made. What it
    raised and then went on for long is not among the ends (``LogEvidence.handled``)."""
    if not ends:
        return False
    first = ends[0]
    if first.kind in _SAID_BY_OTHERS and logs.may_restart:
        return False  # it may be of the start before
    if any(row.timed_out and row.rank == first.rank for row in logs.groups):
        return False  # it waited itself
    if first.gathered:
        return False  # all ranks print the same of what they gathered from each other
    return not first.follower and not quiet.is_quiet(first) and (not first.went_on or not first.inside)


def _is_over(end: ProcessEnd) -> bool:
    """Whether others, or its last words, say that a process is over, and nobody says that this only follows."""
    return quiet.is_quiet(end) or (end.kind in _SAID_BY_OTHERS and not end.follower)


def _gone(
    finding: Finding, ends: Mapping[int, Sequence[ProcessEnd]], logs: LogEvidence, stalls: Mapping[tuple[int, int], Stall]
) -> list[int]:
    """The one rank of which nothing tells whether it came, where its process is known to be over and was the first to go.

    With several such ranks it may have exited because it waited for another one of them until its time-out.
    """
    if len(finding.ranks) != 1 or logs.may_restart or _differs(finding, stalls):
        return []
    return [rank for rank in finding.ranks if rank in ends and quiet.first_to_go(logs, ends[rank][0])]


def _told_beside(ranks: Sequence[int], logs: LogEvidence) -> tuple[Evidence, ...]:
    """What logs hold of these ranks that names nobody: what was raised and handled, and what is of another run."""
    handled = [
        Evidence(
            f"rank {end.rank}, by its log: {end.what}; {end.beside} ({logs.shown(end.line)}{logs.dated(end.line)})",
            end.line.source,
        )
        for end in logs.handled
        if end.rank in ranks
    ]
    aside = [
        Evidence(f"{name_ranks(one.ranks, _STACKS)}: {one.shown} is {one.text}", one.source)
        if one.line is None
        else Evidence(f"{name_ranks(one.ranks, _STACKS)}, {one.shown}: {one.text}", one.source)
        for one in logs.aside
        if not set(ranks).isdisjoint(one.ranks)
    ]
    named = [one for one in logs.reports if not one.world or not set(one.named).isdisjoint(ranks)]
    return (*handled[:_STACKS], *reported.lines(logs, named), *aside[:_STACKS])


def _of_nobody(logs: LogEvidence) -> tuple[Evidence, ...]:
    """Processes that ended by themselves, and of which no log says which ranks they are."""
    return tuple(
        Evidence(
            f"a process whose rank no log gives: {end.what} ({logs.shown(end.line)}{logs.dated(end.line)})", end.line.source
        )
        for end in [end for end in logs.unplaced_ends if not end.follower and not end.went_on][:_STACKS]
    )


def _line(logs: LogEvidence, end: ProcessEnd) -> Evidence:
    again = "; the launcher may have started it again" if end.kind in _SAID_BY_OTHERS and logs.may_restart else ""
    by = end.by or ("by the line of who started it" if end.kind in _SAID_BY_OTHERS else "by its log")
    return Evidence(f"rank {end.rank}, {by}: {end.what}{again} ({logs.shown(end.line)}{logs.dated(end.line)})", end.line.source)


def _follower(logs: LogEvidence, end: ProcessEnd) -> Evidence:
    """How a rank without records ended: it names nobody, and it is all that is known of the rank."""
    where = f"{logs.shown(end.line)}{logs.dated(end.line)}"
    return Evidence(
        f"rank {end.rank}, by its log: {end.what}; that only follows: {end.why_follower} ({where})", end.line.source
    )


def _ended(finding: Finding, end: ProcessEnd, groups: Sequence[Group], logs: LogEvidence) -> Finding:
    where = groups[finding.group].label if finding.group is not None else ""
    made = judge.process_ended_finding(
        logs, end, role=Role.LEAD, others=finding.others, group=finding.group, lane=finding.lane, seq=finding.seq,
        op=finding.op, call=f"{finding.op} {finding.seq} of {where}" if finding.lane == COLLECTIVE else "",
    )  # fmt: skip
    when = logs.dated(end.line).removeprefix("; ")
    return replace(made, evidence=(*made.evidence, Evidence(when, end.line.source))) if when else made
