"""Where logs speak for ranks whose dumps do not: positions by their own counters, and how their process ended.

Dumps win where both speak. A log adds: what it shows of a rank without records, and beside a lead how that rank's process
ended. An end that others brought about (SIGTERM of the launcher, a lost connection, the abort after a time-out) is no lead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.engine.evidence import user_frame
from hangview.engine.frames import is_python
from hangview.engine.outside import main_stacks
from hangview.incident import COLLECTIVE, UNNAMED, Evidence, Finding, Kind, Role
from hangview.logs import judge, quiet, reported, together
from hangview.logs.calls import P2P
from hangview.logs.evidence import EndKind, ReportKind, StatusFrom
from hangview.schema import BLIND, CellState
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.engine.stalls import Stall
    from hangview.engine.windows import Window, Windows
    from hangview.incident import Group
    from hangview.logs.evidence import GroupByLog, LogEvidence, OutsideStack, ProcessEnd

#: Ends that the launcher, the scheduler or the kernel tells of.
_SAID_BY_OTHERS = frozenset({EndKind.EXIT_CODE, EndKind.SIGNAL, EndKind.OOM_KILLER})
#: Calls that a rank may complete beyond the newest of all dumps: a broadcast's root runs ahead, dumps differ by seconds.
FAR = 64
_NO_PART = "that others wait because of it: no record shows that they do"
#: So many notes say what ranks met that are not known to have a part in it.
_NOTES = 4
#: So many ranks of a finding get a line with their stack.
_STACKS = 8


def fill(windows: Windows, groups: Sequence[Group], logs: LogEvidence, with_p2p: frozenset[int]) -> Windows:
    """Windows in which ranks without records stand where their own logs say.

    ``with_p2p``: groups with sends and receives, whose counters in the log mix two numbers (ProcessGroupNCCL keeps one field).
    """
    out = dict(windows)
    said = (*logs.groups, *logs.outrun)
    busy = {row.rank: row for row in said if row.unfinished}
    homes = _homes(said, groups, with_p2p)
    unsure = _signalled(homes, windows, busy, groups)
    alone = all(window.source is None for window in windows.values())
    for row, home in homes:
        window = windows[home.id, row.rank]
        if window.above not in BLIND:
            continue
        dumped = max((w.newest for r in home.ranks if (w := windows[home.id, r]).newest is not None), default=None)
        if dumped is not None and row.completed is not None and row.completed > dumped + FAR:
            told: Window | None = replace(window, reason=f"{window.reason}; {_beyond(row, dumped, logs)}")
        else:
            doubt = row.rank in unsure.get(home.id, frozenset())
            # Where no dump speaks, the log's own findings say who is where to look first: a cell then says no more than the
            # counters of its group do, whatever else the rank waits in.
            held = (None if _counted(row) else row) if alone else busy.get(row.rank)
            told = _by_log(window, row, held, logs, unsure=doubt and not alone)
        out[home.id, row.rank] = told or window
    return out


def _homes(
    said: Sequence[GroupByLog], groups: Sequence[Group], with_p2p: frozenset[int]
) -> tuple[tuple[GroupByLog, Group], ...]:
    """The rows whose group is known, with that group."""
    found = ((row, [g for g in groups if row.rank in g.ranks and row.is_of(g)]) for row in said)
    return tuple((row, homes[0]) for row, homes in found if len(homes) == 1 and homes[0].id not in with_p2p)


def _signalled(
    homes: Sequence[tuple[GroupByLog, Group]],
    windows: Windows,
    busy: Mapping[int, GroupByLog],
    groups: Sequence[Group],
) -> dict[int, frozenset[int]]:
    """By group, two or more ranks that are behind by dump-signal lines alone, in a job of several groups. Such a line tells of
    the default group whatever the rank does: one of them may wait for another in a group of theirs."""
    found: dict[int, frozenset[int]] = {}
    for group in {home.id: home for _, home in homes}.values():
        told = [row for row, home in homes if home.id == group.id]
        beside = any(one.id != group.id and len(one.ranks) > 1 for one in groups)
        front = max(
            [row.enqueued or row.timed_out_seq or 0 for row in told] + [windows[group.id, r].newest or 0 for r in group.ranks]
        )
        blind = [row for row in told if windows[group.id, row.rank].above in BLIND and row.rank not in busy]
        behind = [row for row in blind if (row.enqueued or 0) < front and not row.timed_out]
        if beside and len(behind) > 1 and all(row.status_from is StatusFrom.DUMP_SIGNAL for row in behind):
            found[group.id] = frozenset(row.rank for row in behind)
    return found


def _counted(row: GroupByLog) -> bool:
    """Whether a rank's newest number in a group is that of a collective, so that it shows which ones it did not request."""
    return not row.unfinished or (row.timed_out_seq == row.enqueued and row.timed_out_op not in P2P)


def _beyond(row: GroupByLog, dumped: int, logs: LogEvidence) -> str:
    where = f"({logs.shown(row.line)}{logs.dated(row.line)})"
    return (
        f"its log says that it completed {row.completed}, far beyond {dumped}, the newest of all dumps: the line is of another "
        f"run or a later time {where}"
    )


def timed_out(groups: Sequence[Group], logs: LogEvidence) -> frozenset[tuple[int, int, int]]:
    """(group, seq, rank) of the collectives that a rank's own watchdog reports as timed out."""
    return frozenset(
        (home.id, row.timed_out_seq, row.rank)
        for row, home in _homes(logs.groups, groups, frozenset())
        if row.timed_out_seq is not None and row.timed_out_op not in P2P
    )


def in_a_barrier(logs: LogEvidence) -> frozenset[int]:
    """Ranks whose own error shows that they waited in a monitored_barrier, of which no recorder has an entry."""
    return frozenset(one.rank for one in logs.reports if one.kind is ReportKind.BARRIER)


def _by_log(
    window: Window, row: GroupByLog, busy: GroupByLog | None, logs: LogEvidence, *, unsure: bool = False
) -> Window | None:
    """The window that a rank's own counters give. ``unsure``: what it says of one group says nothing of what the rank does.

    A rank that had enqueued more than it had completed (``busy``, in whatever group) stood or waited itself, in a collective
    or in a send or receive, which take the same counter: that it enqueued no more shows nothing then.
    """
    newest = max((n for n in (row.enqueued, row.timed_out_seq, window.newest) if n is not None), default=None)
    if newest is None or (row.enqueued is None and row.timed_out_seq is None):
        return None
    newest = max(newest, 0)
    where = f"({logs.shown(row.line)}{logs.dated(row.line)})"
    if row.outrun is not None and newest < row.outrun:
        reason = (
            f"its log says that it enqueued {newest}, but others completed {row.outrun} with it: the line is older, or counts "
            f"a send or receive {where}"
        )
        return replace(window, reason=f"{window.reason}; {reason}")
    covers = row.enqueued is not None and busy is None
    if row.unfinished and row.completed is not None:
        reason = (
            f"by its log it had unfinished works itself: last enqueued {row.enqueued}, last completed {row.completed} {where}"
        )
        window = replace(window, reason=f"{window.reason}; {reason}")
    reason = f"by its log, the newest it enqueued is {newest} {where}"
    if unsure:
        covers = False
        window = replace(
            window,
            reason=f"{window.reason}; {reason}: like those of others that are behind, its line tells of this group alone, and "
            "one of them may wait for another in a group of theirs",
        )
    return replace(
        window,
        newest=newest,
        newest_from="log",
        last_done=row.completed if row.completed is not None and row.completed > 0 else window.last_done,
        open_seq=row.timed_out_seq or window.open_seq,
        above=CellState.NOT_REQUESTED if covers else window.above,
        reason=reason if covers else window.reason,
    )


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
    out: list[Finding] = []
    told: set[int] = set()
    for finding in (_with_stacks(one, logs) for one in findings):
        if finding.kind is Kind.NOT_OBSERVED:
            found = [] if _differs(finding, stalls) else [r for r in finding.ranks if _origin(ends.get(r), logs)]
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
