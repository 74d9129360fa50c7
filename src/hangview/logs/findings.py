"""One finding per question about one call: who is behind, who asks for something else, who waits, who is not heard of.

A log can show that a rank is behind (its own counters of the same group), that sizes differ at one (group, sequence,
operation), or that all joined. What a silent rank did it cannot show: it is a candidate, never a lead.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.logs import words
from hangview.logs.calls import ROOTED, sides
from hangview.logs.evidence import EndKind, StatusFrom
from hangview.logs.followers import of_a_call
from hangview.terms import COLLECTIVE, Finding, Kind, Role, Side
from hangview.text import fold_ranks, name_ranks, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.logs.calls import LogCall
    from hangview.logs.evidence import GroupByLog, LogEvidence, ProcessEnd
    from hangview.terms import Evidence

_ALIKE = 8  #: ends of silent ranks that are quoted
_ERRORS = frozenset({EndKind.EXCEPTION, EndKind.DEVICE, EndKind.ABORT})
_NO_DTYPES = "that dtypes and shapes are alike: the log prints element counts alone"
_DEEPSPEED = "that it is the process of this command: DeepSpeed prints that of its last process, whichever failed"
_NOT_SOUND = "that there is no network fault at all"


@dataclass(frozen=True, slots=True)
class Scene:
    """What every question about one folder of logs needs. ``waits`` maps ranks to the call whose time-out they printed."""

    evidence: LogEvidence
    calls: tuple[LogCall, ...]
    ends: Mapping[int, tuple[ProcessEnd, ...]]
    waits: Mapping[int, LogCall]

    @property
    def known(self) -> frozenset[int]:
        """Every rank that exists, as far as the logs tell."""
        return frozenset((*self.evidence.ranks, *self.evidence.silent))

    @property
    def busy(self) -> frozenset[int]:
        """Ranks that had unfinished works in some group: they stand or wait themselves."""
        return frozenset(row.rank for row in self.evidence.groups if row.unfinished)

    def positions(self, call: LogCall, ranks: Iterable[int], *, sizes: bool = False) -> tuple[Evidence, ...]:
        """What the logs of ``ranks`` say about their place in the call's group, one line per distinct place."""
        label = call.where if call.group else "group not named"
        return words.position_lines(self.evidence, [call.rows[rank] for rank in ranks], label, sizes=sizes)

    def candidates(self, call: LogCall) -> tuple[int, ...]:
        """Ranks that belong to the call's group for certain and of which no log says that they requested it."""
        return tuple(sorted(self.known - set(call.joined))) if call.default else ()


def group_id(call: LogCall) -> int | None:
    """The index that ``Finding.group`` takes."""
    return call.group.id if call.group is not None else None


def lane(call: LogCall) -> str | None:
    """Logs know collective lanes only; without a group there is none."""
    return COLLECTIVE if call.group is not None else None


def _steps(call: LogCall) -> tuple[str, ...]:
    how = sorted({call.rows[rank].rank_from for rank in (*call.waiting, *call.behind)} - {""})
    steps = [f"ranks are known from: {', '.join(how)}"] if how else []
    if call.several:
        steps.append("these ranks are of more than one group, or may be: what they ask for is not compared")
    if any(call.rows[rank].group_rank not in (None, rank) for rank in call.waiting):
        steps.append("the number in the watchdog's bracket counts within the group; world ranks are used here")
    return tuple(steps)


def _busy(ranks: Sequence[int]) -> str:
    """Why ranks whose counters stop below the call are not said to be missing."""
    has, stand = ("has", "stands or waits itself") if len(ranks) == 1 else ("have", "stand or wait themselves")
    return (
        f"{name_ranks(ranks, 8)} {has} fewer works completed than enqueued and so {stand}, in an earlier call or in a "
        "send or receive, which the same counter takes"
    )


def mismatch(scene: Scene, call: LogCall) -> Finding | None:
    """Waiting ranks that ask for another operation or size at the same sequence number. On a tie nobody is named."""
    found = sides(call)
    if found is None:
        return None
    if found.kind == "op":
        kind, first, wrong = Kind.DIFFERENT_OP, words.OP_FIRST, "that the network equipment is at fault"
        summary = f"call {call.seq} of {call.where} is requested as different operations, by log: "
    else:
        kind, first, wrong = Kind.DIFFERENT_SIZE, words.SIZE_FIRST, "that there is a lack of memory"
        summary = f"{call.name} is requested with different sizes, by log: "
    summary += "; ".join(f"{name_ranks(ranks, 12)}: {text}" for text, ranks in reversed(found.sides))
    odd = tuple(sorted(rank for _, ranks in found.sides[1:] for rank in ranks))
    ranks, others = odd, found.sides[0][1]
    if not found.majority:
        summary += "; no side has the majority, nobody is named"
        ranks, others = (), call.waiting
    return Finding(
        kind, Role.LEAD, ranks, others, group_id(call), lane(call), call.seq, call.op, Side.HOST, summary,
        scene.positions(call, call.waiting, sizes=True), first, (wrong, _NO_DTYPES), _steps(call),
    )  # fmt: skip


def behind(scene: Scene, call: LogCall) -> Finding | None:
    """Ranks whose own counters stop below a call that others wait in, and that print no wait of their own.

    Where no time-out of this group was printed, counters seconds apart name nobody, unless everyone else who is behind is
    accounted for by a wait elsewhere.
    """
    free = tuple(rank for rank in call.behind if rank not in scene.waits and rank not in scene.busy)
    held = tuple(rank for rank in call.behind if rank in scene.waits)
    if not free or (call.open_only and (len(free) > 1 or not held)):
        return None
    if _signalled(scene, call, free):
        return _behind_unsure(scene, call, free)
    own, them = ("its own log", "it") if len(free) == 1 else ("their own logs", "them")
    summary = f"{name_ranks(free, 12)} did not request {call.name}, by {own}; {words.waits(call.waiting)} for {them}"
    if scene.evidence.hidden:
        summary += f", and up to {scene.evidence.hidden} ranks whose lines Ray left out"
    lines = scene.positions(call, free) + scene.positions(call, call.waiting)
    steps = list(_steps(call))
    if held:
        steps.append(f"{name_ranks(held, 8)} stop below it as well: they wait elsewhere themselves")
        for other in dict.fromkeys(scene.waits[rank] for rank in held):
            lines += scene.positions(other, [rank for rank in held if rank in other.waiting])
    busy = tuple(sorted({*call.busy, *(rank for rank in call.behind if rank in scene.busy and rank not in scene.waits)}))
    if busy:
        steps.append(_busy(busy))
        lines += scene.positions(call, busy)
    if call.op in ROOTED:
        steps.append(f"in a {call.op} one rank may run ahead of the others: only ranks below {call.seq} count as behind")
    wrong = words.first_printed([call.rows[rank] for rank in (*free, *call.waiting)])
    if len(free) > 1 and all(call.rows[rank].status_from is StatusFrom.DUMP_SIGNAL for rank in free):
        wrong += (f"that each of {name_ranks(free, 8)} is late by itself: their lines tell of the default group alone",)
    return Finding(
        Kind.NOT_REQUESTED, Role.LEAD, free, call.waiting, group_id(call), lane(call), call.seq, call.op, Side.HOST, summary,
        lines,
        f"{name_ranks(free, 8)}'s path before communication: data loading, branches, exceptions, whether the process ended",
        (*wrong, _NOT_SOUND, f"that a dump of {them} exists: the log says at most that one was begun"), tuple(steps),
    )  # fmt: skip


def _signalled(scene: Scene, call: LogCall, free: Sequence[int]) -> bool:
    """Whether two or more ranks are behind by dump-signal lines alone, in a job of several groups: such a line tells of the
    default group whatever the rank does, and one of them may wait for another in a group of theirs."""
    if len(free) < 2 or any(call.rows[rank].status_from is not StatusFrom.DUMP_SIGNAL for rank in free):
        return False
    return any((row.name, row.desc) != (call.rows[free[0]].name, call.rows[free[0]].desc) for row in scene.evidence.groups)


def _behind_unsure(scene: Scene, call: LogCall, free: Sequence[int]) -> Finding:
    """The same where the lines cannot tell which of the ranks waits for another one of them: nobody is named."""
    summary = (
        f"{words.waits(call.waiting)} in {call.name}; {name_ranks(free, 12)} did not request it, by their own logs, which tell "
        "of this group alone: one of them may wait for another in one of their other groups"
    )
    wrong = words.first_printed([call.rows[rank] for rank in (*free, *call.waiting)])
    return Finding(
        Kind.NOT_OBSERVED, Role.LEAD, tuple(free), call.waiting, group_id(call), lane(call), call.seq, call.op, Side.UNKNOWN,
        summary, scene.positions(call, free) + scene.positions(call, call.waiting), words.COLLECTION_FIRST,
        (*wrong, f"that each of {name_ranks(free, 8)} is late by itself"), _steps(call),
    )  # fmt: skip


def waiting(scene: Scene, call: LogCall, leads: Sequence[int]) -> Finding:
    """A call that leads explain, as far as they are members of its group."""
    summary = f"{words.waits(call.waiting)} in {call.name}; "
    certain = call.default or any(rank in call.rows for rank in leads)
    behind = set(leads) <= set(call.behind)
    if certain and behind:
        summary += f"{name_ranks(leads, 8)} did not come"
    elif certain:
        summary += f"no log says whether {name_ranks(leads, 8)} came"
    else:
        summary += f"whether {name_ranks(leads, 8)} {'belongs' if len(leads) == 1 else 'belong'} to it is not in the logs"
    if call.absent:
        summary += f" ({_absent(call)})"
    silent = [rank for rank in scene.candidates(call) if rank not in leads]
    return Finding(
        Kind.WAITING, Role.WAITING, call.waiting, tuple(leads), group_id(call), lane(call), call.seq, call.op,
        Side.HOST if certain else Side.UNKNOWN, summary, scene.positions(call, call.waiting),
        not_concluded=(f"that it is known what {name_ranks(silent, 12)} did: no log says it",) if silent else (),
    )  # fmt: skip


def all_in(scene: Scene, call: LogCall) -> bool:
    """Whether every member is known to have requested the call: by the group's size, or because no rank is left over."""
    if call.seq is None or call.group is None or len(call.joined) < 2:
        return False
    if call.size is not None:
        return call.size == len(call.joined)
    if any(not end.follower and not end.went_on for end in scene.evidence.unplaced_ends):
        return False  # a process of unknown rank is over: it may be one more
    numbers = sorted(number for rank in call.joined if (number := call.rows[rank].group_rank) is not None)
    left = scene.known - set(call.joined)
    nobody_left = not left if call.default else left <= set(scene.waits)
    return numbers == list(range(len(call.joined))) and nobody_left and not scene.evidence.hidden


def not_completed(scene: Scene, call: LogCall) -> Finding:
    """All that the logs know of requested, none completed: nobody is missing, if there are no more."""
    summary = f"{name_ranks(call.joined, 12)} requested {call.name} and none completed it, by their logs"
    first = words.DEVICE_FIRST
    wrong: tuple[str, ...] = (words.NOT_NETWORK, _NO_DTYPES)
    if call.size is not None or scene.evidence.proven == len(scene.known):
        summary += ": no rank is missing"
    else:
        summary += "; how many ranks there are the logs do not say: one may be missing"
        first = f"how many ranks the launcher started; if these are all, {first}"
        wrong = (f"that nobody but {name_ranks(call.joined, 8)} belongs to this group", *wrong)
    started = {rank: seq for rank in call.joined if (seq := call.rows[rank].started) is not None}
    early = [rank for rank, seq in started.items() if seq >= (call.seq or 0)]
    late = [rank for rank, seq in started.items() if seq < (call.seq or 0)]
    if early and late:
        summary += f"; its kernel started on {name_ranks(early, 8)} and not on {name_ranks(late, 8)}, "
        summary += "whose stream is held up before it"
    return Finding(
        Kind.NOT_COMPLETED, Role.LEAD, (), call.joined, group_id(call), lane(call), call.seq, call.op, Side.DEVICE, summary,
        scene.positions(call, call.joined), first, wrong, _steps(call),
    )  # fmt: skip


def not_observed(scene: Scene, call: LogCall) -> Finding:
    """Ranks wait, and of the members that are missing no log tells."""
    candidates = scene.candidates(call)
    summary = f"{words.waits(call.waiting)} in {call.name}; "
    if candidates:
        summary += f"of {name_ranks(candidates, 12)} no log says whether {'it' if len(candidates) == 1 else 'they'} came"
    elif call.absent:
        summary += f"{_absent(call)}, and the logs do not say which world ranks these are"
    else:
        summary += "who else belongs to it and whether they came is not in these logs"
    if scene.evidence.hidden:
        summary += f" (Ray left out similar lines of up to {scene.evidence.hidden} ranks)"
    wrong = [f"that {name_ranks(candidates, 8)} skipped the call" if candidates else "that any other rank skipped the call"]
    if call.seq is None:
        wrong.append("that its number or operation is known: nccl2 prints neither, the dumps hold them")
    ends = tuple(
        words.quoted(scene.evidence, end.line, f"rank {rank}: {end.what}, which only follows ({end.why_follower}): ")
        for rank in candidates
        for end in scene.ends.get(rank, ())[:1]
        if end.follower
    )
    ends += tuple(
        words.quoted(scene.evidence, end.line, f"rank {end.rank} {end.what}: ")
        for end in scene.evidence.left
        if end.rank in candidates
    )
    ends += tuple(
        words.quoted(scene.evidence, end.line, f"rank {end.rank} raised this; {end.beside}: ")
        for end in scene.evidence.handled
        if end.rank in candidates
    )
    steps = (*_steps(call), _busy(call.busy)) if call.busy else _steps(call)
    return Finding(
        Kind.NOT_OBSERVED, Role.LEAD, candidates, call.waiting, group_id(call), lane(call), call.seq, call.op, Side.UNKNOWN,
        summary, scene.positions(call, call.waiting) + scene.positions(call, call.busy) + ends[:_ALIKE], words.COLLECTION_FIRST,
        (*words.first_printed([call.rows[rank] for rank in call.waiting]), *wrong), steps,
    )  # fmt: skip


def _absent(call: LogCall) -> str:
    return f"number {fold_ranks(call.absent, 8)} of its {call.size} members did not report it"


def nameless(scene: Scene) -> list[Finding]:
    """Time-outs of processes whose world rank no log gives (torch ≤ 2.1 prints the rank within the group)."""
    found: dict[tuple[int | None, str | None], list[GroupByLog]] = defaultdict(list)
    for row in scene.evidence.unplaced:
        found[row.timed_out_seq, row.timed_out_op].append(row)
    made = []
    for (seq, op), rows in found.items():
        numbers = fold_ranks(row.group_rank for row in rows if row.group_rank is not None)
        summary = f"processes that call themselves {numbers} within their group wait in {op or 'call'} {seq} of a group "
        summary += "that the log does not name; their world ranks are not in these logs"
        made.append(
            Finding(
                Kind.NOT_OBSERVED, Role.LEAD, (), (), None, None, seq, op, Side.UNKNOWN, summary,
                tuple(words.quoted(scene.evidence, row.line) for row in rows), words.COLLECTION_FIRST,
                ("that these numbers are world ranks", "that any other rank skipped the call"),
            )
        )  # fmt: skip
    return made


def only_exceptions(scene: Scene) -> list[Finding]:
    """Ranks that waited or lost a connection by their exceptions alone (gloo prints neither sequence number nor group)."""
    ends = [ends[0] for ends in scene.ends.values() if ends[0].follower and ends[0].kind in _ERRORS]
    if not ends:
        return []
    ranks = tuple(end.rank for end in ends)
    ended = {
        rank for rank, told in scene.ends.items() if told[0].follower and told[0].kind in (EndKind.SIGNAL, EndKind.EXIT_CODE)
    }
    silent = tuple(sorted(scene.known - set(scene.ends) | ended))
    left = {end.rank: end.what for end in scene.evidence.left if end.rank in silent}
    heard = {log.rank for log in scene.evidence.logs if log.lines} - ended - set(left)
    mute = [rank for rank in silent if rank not in heard and rank not in left]
    summary = _waited_or_raised(ends)
    if mute:
        summary += f"; of {name_ranks(mute, 12)} no log says what happened" + (", but how its process ended" if ended else "")
    if spoke := [rank for rank in silent if rank in heard]:
        shows = f"the log of {name_ranks(spoke)} shows" if len(spoke) == 1 else f"the logs of {name_ranks(spoke, 12)} show"
        summary += f"; {shows} neither a wait nor an end"
    if left:
        summary += f"; {name_ranks(left, 12)} {next(iter(left.values()))}"
    first = words.COLLECTION_FIRST
    if not mute:
        last = f"what {name_ranks(silent, 8)} printed last, and whether the process is over"
        first = last if silent else words.ALL_RAISED_FIRST
    why: dict[str, list[int]] = defaultdict(list)
    for end in ends:
        why[end.why_follower].append(end.rank)
    return [
        Finding(
            Kind.NOT_OBSERVED, Role.LEAD, silent, ranks, None, None, None, None, Side.UNKNOWN, summary,
            tuple(words.quoted(scene.evidence, end.line, f"rank {end.rank}: ") for end in ends), first,
            (f"that {name_ranks(ranks, 8)}, which reported it, {words.is_or_are(ranks)} at fault",),
            tuple(f"what {name_ranks(those, 8)} raised is taken to follow: {reason}" for reason, those in why.items()),
        )
    ]  # fmt: skip


def _waited_or_raised(ends: Sequence[ProcessEnd]) -> str:
    """What exceptions that follow say of their ranks: that they waited, where they are of the communication library."""
    waited = [end.rank for end in ends if end.inside or of_a_call(end.why_follower)]
    raised = {end.rank: end for end in ends if end.rank not in waited}
    parts = [f"{words.waits(waited)} in a call that the logs do not name, or lost a connection there"] if waited else []
    if raised:
        types = ", ".join(dict.fromkeys(end.type or end.what for end in raised.values()))
        parts.append(f"{name_ranks(sorted(raised))} raised {shorten(types, words.SUMMARY_PART)}, which is taken to follow")
    return "; ".join(parts)


def ended_somewhere(scene: Scene) -> list[Finding]:
    """Processes that ended by themselves and whose rank no log gives (tracebacks bear a rank from torch 2.3 on)."""
    ends = [end for end in scene.evidence.unplaced_ends if not end.follower and not end.went_on]
    found = []
    for end in ends[:_ALIKE]:
        process = "a process" if end.pid is None else f"the process with pid {end.pid}"
        did = "raised" if end.kind in (EndKind.EXCEPTION, EndKind.DEVICE) else "ended:"
        summary = f"{process}, whose rank the logs do not give, {did} {end.what}"
        found.append(
            Finding(
                Kind.PROCESS_ENDED, Role.LEAD, (), tuple(sorted(scene.waits)), None, None, None, None,
                Side.HOST if end.before_communication else Side.UNKNOWN, summary,
                tuple(words.quoted(scene.evidence, line) for line in (end.line, *end.lines)),
                "which rank this process is: its pid, its host, its place in the launcher's log",
                (_NOT_SOUND, _DEEPSPEED) if "] exits with return code" in end.line.text else (_NOT_SOUND,),
                (f"it was raised in {end.where}",) if end.where else (),
            )
        )  # fmt: skip
    return found


def aborted_inside(scene: Scene) -> list[Finding]:
    """gloo aborts one rank at once when sizes or dtypes differ, and not always the odd one: nobody is named."""
    ends = [end for ends in scene.ends.values() for end in ends if "EnforceNotMet" in end.what and "preamble" in end.what]
    if not ends:
        return []
    ranks = tuple(end.rank for end in ends)
    summary = f"{name_ranks(ranks)} aborted inside a call in which another rank sends another number of bytes; "
    summary += "the log does not say which rank is the odd one"
    return [
        Finding(
            Kind.DIFFERENT_SIZE, Role.LEAD, (), ranks, None, None, None, None, Side.HOST, summary,
            tuple(words.quoted(scene.evidence, end.line, f"rank {end.rank}: ") for end in ends),
            "inputs, batches and tensors of all ranks at that call",
            ("that there is a lack of memory", f"that {name_ranks(ranks)}, which aborted, {words.is_or_are(ranks)} at fault"),
        )
    ]  # fmt: skip
