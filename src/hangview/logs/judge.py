"""What follows from logs alone: for the case that there are no dumps at all, and the pieces that help where there are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs import findings as made
from hangview.logs import quiet, reported, together, words
from hangview.logs.calls import calls, groups_by_log
from hangview.logs.evidence import EndKind
from hangview.logs.findings import Scene
from hangview.terms import UNNAMED, Finding, Kind, Role, Side
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.logs.evidence import LogEvidence, ProcessEnd
    from hangview.terms import Group

__all__ = ["conclude", "ends_by_rank", "groups_by_log", "leads_of", "process_ended_finding"]

#: Notes about earlier attempts and heartbeats; more would bury the rest.
_MOST_NOTES = 8
_ORDER = {Role.LEAD: 0, Role.NOTE: 1, Role.WAITING: 2}
_TELLING = {
    EndKind.OOM_KILLER: 0,
    EndKind.EXCEPTION: 1,
    EndKind.FATAL: 1,
    EndKind.DEVICE: 1,
    EndKind.ABORT: 2,
    EndKind.SIGNAL: 3,
}


def leads_of(findings: Iterable[Finding]) -> tuple[int, ...]:
    """The ranks to look at first, ascending; none for kinds that name nobody."""
    return tuple(sorted({rank for one in findings if one.role is Role.LEAD and one.kind not in UNNAMED for rank in one.ranks}))


def ends_by_rank(evidence: LogEvidence) -> Mapping[int, tuple[ProcessEnd, ...]]:
    """The ends of the current attempt by rank; of each rank the most telling first, followers last."""
    found: dict[int, list[ProcessEnd]] = defaultdict(list)
    for end in evidence.ends:
        found[end.rank].append(end)
    return {rank: tuple(sorted(ends, key=_telling)) for rank, ends in sorted(found.items())}


def _telling(end: ProcessEnd) -> tuple[bool, bool, int, int, int]:
    return (end.follower, end.went_on, _TELLING.get(end.kind, 4), end.line.source, end.line.number)


def process_ended_finding(
    evidence: LogEvidence,
    end: ProcessEnd,
    *,
    ranks: Sequence[int] = (),
    role: Role = Role.LEAD,
    others: Sequence[int] = (),
    group: int | None = None,
    lane: str | None = None,
    seq: int | None = None,
    op: str | None = None,
    call: str = "",
) -> Finding:
    """A ``process_ended`` finding for the rank of ``end``, or for ``ranks`` that ended alike.

    ``others`` are the ranks that wait for it, in ``call`` ("all_reduce 42 of default_pg") if that is known; ``group``,
    ``lane``, ``seq`` and ``op`` are that call's as in :class:`Finding`.
    """
    ranks = tuple(sorted(ranks)) or (end.rank,)
    summary = words.what_happened(end, ranks, evidence.attempt)
    if others:
        summary += f"; {words.waits(others)}" + (f" in {call}" if call else "")
    lines = [words.quoted(evidence, end.line, f"rank {end.rank}: ")]
    lines += [words.quoted(evidence, line) for line in end.lines]
    steps = [f"rank {end.rank} is known from: {end.rank_from}"] if end.rank_from else []
    if end.where:
        steps.append(f"it was raised in {end.where}")
    if end.follower:
        steps.append(f"the end follows: {end.why_follower}")
    elif end.why_follower:
        steps.append(f"{end.why_follower}; it is named because all other ranks wait themselves")
    first = words.end_first(end, ranks, evidence.attempt)
    unsure: tuple[str, ...] = ()
    if end.why_follower and not end.follower:
        first = (
            f"what the thread or task does that {name_ranks(ranks, 8)} waited for: a file, a service, or a call of another rank"
        )
        unsure = ("that what it waited for is known",)
    side = Side.HOST if end.before_communication else Side.DEVICE if end.kind is EndKind.DEVICE else Side.UNKNOWN
    return Finding(
        Kind.PROCESS_ENDED, role, ranks, tuple(sorted(others)), group, lane, seq, op, side, summary, tuple(lines),
        first, (*words.end_not_concluded(end, others), *unsure), tuple(steps),
    )  # fmt: skip


def conclude(evidence: LogEvidence, groups: Sequence[Group] | None = None) -> tuple[Finding, ...]:
    """Findings from logs alone, leads first; nothing when the logs show no trouble.

    ``Finding.group`` is an index into ``groups``, by default those of :func:`groups_by_log`. Only what the current attempt
    shows makes a lead; how earlier attempts ended is a note.
    """
    groups = groups_by_log(evidence) if groups is None else groups
    found = calls(evidence, groups)
    waits = {rank: call for call in found if not call.open_only for rank in call.waiting}
    known = {*evidence.ranks, *evidence.silent}
    ends = together.marked(ends_by_rank(evidence), known, {*waits, *(row.rank for row in evidence.groups)}, waits)
    waited = reported.waited(evidence) | set(waits)
    ends = together.without_a_wait(together.gathered(ends, known), known, waited)
    scene = Scene(evidence, found, ends, waits)
    leads: list[Finding] = []
    unexplained = []
    for call in scene.calls:
        one = made.mismatch(scene, call) or made.behind(scene, call)
        if one is None:
            unexplained.append(call)
        else:
            leads.append(one)
    leads += [_ended(scene, ends) for ends in alike(_origins(scene))]
    leads += reported.findings(evidence, scene.known, waited)
    leads = leads or made.aborted_inside(scene) or made.ended_somewhere(scene)
    named = leads_of(leads)
    for call in unexplained:
        if named:
            leads.append(made.waiting(scene, call, named))
        elif not call.open_only:
            all_in = made.all_in(scene, call)
            leads.append(made.not_completed(scene, call) if all_in else made.not_observed(scene, call))
    leads = leads or made.nameless(scene) or made.only_exceptions(scene)
    over = [] if leads else noted(evidence, (told[0] for told in ends.values() if quiet.is_quiet(told[0])))
    return tuple(sorted([*leads, *over, *_notes(scene)], key=_order))


def _order(finding: Finding) -> tuple[int, int, int, tuple[int, ...]]:
    return (_ORDER[finding.role], 1 << 30 if finding.group is None else finding.group, finding.seq or 0, finding.ranks)


def _origins(scene: Scene) -> list[ProcessEnd]:
    """Of each rank that did not wait itself: the end that others did not bring about, if the evidence carries it."""
    first = [ends[0] for rank, ends in scene.ends.items() if not ends[0].follower and rank not in scene.waits]
    strong = [end for end in first if end.kind is not EndKind.EXIT_CODE and not end.went_on]
    if strong:
        return strong
    # An exit code without a word, or an exception after which the rank went on while others wait: good enough only where
    # one rank alone has it. An exception that was handled, and nobody waits, is no trouble.
    weak = [end for end in first if not end.went_on or scene.waits]
    return weak if len(weak) == 1 and not _one_of_more(scene, weak[0]) else []


def _one_of_more(scene: Scene, end: ProcessEnd) -> bool:
    """Whether an exit code is of one of several ranks that did not wait: of the others, that one may be who is waited for.
    Where others lost a connection, or waited in what their logs do not name, it may have met the same and not have said so; and
    where nobody waits, of those that printed something one whose end nothing tells may have left while it was needed."""
    if end.kind is not EndKind.EXIT_CODE or quiet.first_to_go(scene.evidence, end):
        return False
    if not scene.waits:
        ended = len(scene.ends) + sum(1 for one in scene.evidence.unplaced_ends if one.follower)
        return bool(reported.waited(scene.evidence) - {end.rank}) or ended < len({*scene.evidence.ranks, *scene.ends})
    return bool(scene.known - set(scene.waits) - {end.rank})


def _ended(scene: Scene, ends: Sequence[ProcessEnd]) -> Finding:
    ranks = tuple(end.rank for end in ends)
    # Of the default group every rank is a member: the call misses these for certain.
    timed = (one for one in scene.calls if one.default and not one.open_only)
    call = next((one for one in timed if not set(ranks) & set(one.joined)), None)
    if call is None:
        return process_ended_finding(scene.evidence, ends[0], ranks=ranks, others=sorted(scene.waits))
    return process_ended_finding(
        scene.evidence, ends[0], ranks=ranks, others=call.waiting, group=made.group_id(call), lane=made.lane(call),
        seq=call.seq, op=call.op, call=call.name,
    )  # fmt: skip


def alike(ends: Iterable[ProcessEnd]) -> list[list[ProcessEnd]]:
    """Ends of several ranks that are the same story: one type raised at one place, or one signal."""
    found: dict[tuple[object, ...], list[ProcessEnd]] = defaultdict(list)
    for end in ends:
        if end.kind is EndKind.OOM_KILLER:
            key: tuple[object, ...] = (end.rank,)
        else:
            key = (end.kind, end.attempt, end.type or end.what, end.where)
        found[key].append(end)
    return list(found.values())


def noted(evidence: LogEvidence, ends: Iterable[ProcessEnd]) -> list[Finding]:
    """A note for each story that these ends are."""
    return [process_ended_finding(evidence, told[0], ranks=[end.rank for end in told], role=Role.NOTE) for told in alike(ends)]


def _notes(scene: Scene) -> list[Finding]:
    """What is worth knowing and explains no hang: how an earlier attempt ended, and what the heartbeat monitors ended."""
    evidence = scene.evidence
    earlier = [end for end in evidence.earlier_ends if not end.follower and not end.beside]
    notes = noted(evidence, earlier)
    # Who waited until a time-out and met an error of the device beside it: which of them came first, no line tells.
    met = [one for rank, ends in scene.ends.items() for one in ends[:1] if rank in scene.waits and one.kind is EndKind.DEVICE]
    notes += noted(evidence, (end for end in met if not end.follower))
    # What was raised in a cleanup, beside the end that others waited for.
    late = [ends[0] for ends in scene.ends.values() if ends[0].why_follower == quiet.AFTERWARDS]
    notes += noted(evidence, late)
    beats = [ends[0] for ends in scene.ends.values() if ends[0].kind is EndKind.HEARTBEAT]
    for ends in alike(beats):
        ranks = [end.rank for end in ends]
        rows = [row for row in evidence.groups if row.rank in ranks and row.pending is not None]
        note = process_ended_finding(evidence, ends[0], ranks=ranks, role=Role.NOTE)
        notes.append(replace(note, evidence=note.evidence + words.position_lines(evidence, rows, "group in the bracket")))
    return notes[:_MOST_NOTES]
