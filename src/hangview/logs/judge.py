"""What follows from logs alone: for the case that there are no dumps at all.

A log can show that a rank is behind (its own counters of the same group), that it left (exception, signal, the kernel's
line), that sizes differ at one (group, sequence, operation), or that all joined. What a silent rank did, it cannot show.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.incident import COLLECTIVE, Evidence, Finding, Kind, Role, Side
from hangview.logs import calls as log_calls
from hangview.logs import words
from hangview.logs.calls import LogCall, groups_by_log
from hangview.logs.evidence import EndKind
from hangview.text import fold_ranks, name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.incident import Group
    from hangview.logs.evidence import LogEvidence, ProcessEnd

__all__ = ["conclude", "ends_by_rank", "groups_by_log", "leads_of", "process_ended_finding"]

#: Kinds whose ranks are shown and not named: nothing was observed of them, or all are in the same call.
UNNAMED = frozenset({Kind.NOT_OBSERVED, Kind.NOT_COMPLETED, Kind.ORDER_CYCLE})
_ORDER = {Role.LEAD: 0, Role.NOTE: 1, Role.WAITING: 2}


def leads_of(findings: Iterable[Finding]) -> tuple[int, ...]:
    """The ranks to look at first, ascending; none for kinds that name nobody."""
    return tuple(sorted({rank for one in findings if one.role is Role.LEAD and one.kind not in UNNAMED for rank in one.ranks}))


def ends_by_rank(evidence: LogEvidence) -> Mapping[int, tuple[ProcessEnd, ...]]:
    """The ends of the current attempt by rank; of each rank the most telling first (followers last)."""
    found: dict[int, list[ProcessEnd]] = defaultdict(list)
    for end in evidence.ends:
        found[end.rank].append(end)
    return {rank: tuple(sorted(ends, key=_telling)) for rank, ends in sorted(found.items())}


def _telling(end: ProcessEnd) -> tuple[bool, bool, int, int, int]:
    weight = {EndKind.OOM_KILLER: 0, EndKind.EXCEPTION: 1, EndKind.FATAL: 1, EndKind.DEVICE: 1, EndKind.ABORT: 2, EndKind.SIGNAL: 3}
    return (end.follower, end.went_on, weight.get(end.kind, 4), end.line.source, end.line.number)


def process_ended_finding(
    evidence: LogEvidence,
    end: ProcessEnd,
    *,
    role: Role = Role.LEAD,
    others: Sequence[int] = (),
    group: int | None = None,
    lane: str | None = None,
    seq: int | None = None,
    op: str | None = None,
    call: str = "",
) -> Finding:
    """A ``process_ended`` finding for one rank.

    ``others`` are the ranks that wait for it, in ``call`` ("all_reduce 42 of default_pg") if that is known; ``group``, ``lane``,
    ``seq`` and ``op`` are that call's as in :class:`Finding`.
    """
    summary = f"{_what_happened(end)}"
    if others:
        where = f" in {call}" if call else ""
        summary += f"; {words.waits(others)}{where}"
    lines = [words.quoted(evidence, end.line, f"rank {end.rank}: ")]
    lines += [words.quoted(evidence, line) for line in end.lines]
    if end.where:
        lines.append(Evidence(f"rank {end.rank}: raised in {end.where}", end.line.source))
    steps = [f"rank {end.rank} is known from: {end.rank_from}"] if end.rank_from else []
    if end.follower:
        steps.append(f"its end follows: {end.why_follower}")
    side = Side.HOST if end.before_communication else Side.DEVICE if end.kind is EndKind.DEVICE else Side.UNKNOWN
    return Finding(
        Kind.PROCESS_ENDED, role, (end.rank,), tuple(sorted(others)), group, lane, seq, op, side, summary, tuple(lines),
        words.end_first(end), words.end_not_concluded(end, others), tuple(steps),
    )  # fmt: skip


def _what_happened(end: ProcessEnd) -> str:
    rank = f"rank {end.rank}"
    attempt = "" if end.attempt is None else f" in attempt {end.attempt}"
    if end.kind in (EndKind.EXCEPTION, EndKind.FATAL, EndKind.DEVICE, EndKind.ABORT):
        before = " before its next call" if end.before_communication else ""
        place = f" ({end.where})" if end.where else ""
        return f"{rank} raised {end.what}{before}{place}, by its log"
    if end.kind is EndKind.OOM_KILLER:
        return f"{rank} was {end.what}"
    if end.kind is EndKind.HEARTBEAT:
        return f"{rank} was {end.what}"
    return f"{rank}'s process ended{attempt if end.attempt else ''}: {end.what}"


def conclude(evidence: LogEvidence, groups: Sequence[Group] | None = None) -> tuple[Finding, ...]:
    """Findings from logs alone, leads first. ``Finding.group`` is an index into ``groups`` (:func:`groups_by_log`)."""
    groups = groups_by_log(evidence) if groups is None else groups
    calls = log_calls.calls(evidence, groups)
    judge = _Judge(evidence, calls)
    findings = judge.leads()
    findings += judge.rest(findings)
    findings += _notes(evidence)
    return tuple(sorted(findings, key=lambda one: (_ORDER[one.role], one.group if one.group is not None else 1 << 30, one.seq or 0, one.ranks)))


class _Judge:
    """Holds what all questions about one folder of logs need: who waits, who ended, and in which calls."""

    def __init__(self, evidence: LogEvidence, calls: Sequence[LogCall]) -> None:
        self._evidence = evidence
        self._calls = calls
        self._waits = {rank: call for call in calls if not call.open_only for rank in call.waiting}
        self._ends = ends_by_rank(evidence)
        self._explained: set[int] = set()  #: positions in calls that a lead explains

    def leads(self) -> list[Finding]:
        findings: list[Finding] = []
        for number, call in enumerate(self._calls):
            made = self._mismatch(call) or self._behind(call)
            if made:
                self._explained.add(number)
                findings += made
        return findings + [self._ended(end) for end in self._origins()]

    # Ranks that ended by themselves

    def _origins(self) -> list[ProcessEnd]:
        """Of each rank that did not wait itself: the end that others did not bring about, if the evidence carries it."""
        first = [ends[0] for rank, ends in self._ends.items() if not ends[0].follower and rank not in self._waits]
        strong = [end for end in first if end.kind is not EndKind.EXIT_CODE and not end.went_on]
        if strong:
            return strong
        # An exit code without a word, or an exception after which the rank went on: good enough only where one rank has it.
        return first if len(first) == 1 else []

    def _ended(self, end: ProcessEnd) -> Finding:
        call = self._call_without(end.rank)
        if call is None:
            waiting = sorted(self._waits)
            return process_ended_finding(self._evidence, end, others=waiting)
        return process_ended_finding(
            self._evidence, end, others=call.waiting, group=_group_id(call), lane=COLLECTIVE if call.group else None, seq=call.seq, op=call.op, call=call.name
        )

    def _call_without(self, rank: int) -> LogCall | None:
        """The call that misses this rank for certain: one of the default group, of which every rank is a member."""
        return next((call for call in self._calls if call.default and not call.open_only and rank not in call.joined), None)

    # Ranks that are behind, or ask for something else

    def _mismatch(self, call: LogCall) -> list[Finding]:
        found = log_calls.sides(call)
        if found is None:
            return []
        odd = tuple(sorted(rank for _, ranks in found.sides[1:] for rank in ranks))
        most = found.sides[0][1]
        kind, first, wrong = (
            (Kind.DIFFERENT_OP, words.OP_FIRST, "the network equipment")
            if found.kind == "op"
            else (Kind.DIFFERENT_SIZE, words.SIZE_FIRST, "lack of memory")
        )
        shown = ", ".join(f"{name_ranks(ranks, 12)}: {text}" for text, ranks in reversed(found.sides))
        label = f"{call.op or 'call'} {call.seq}" if found.kind == "size" else f"call {call.seq}"
        where = call.group.label if call.group else "a group that the log does not name"
        summary = f"{label} of {where} is requested with different {'sizes' if found.kind == 'size' else 'operations'}, by log: {shown}"
        if not found.majority:
            summary += "; no side has the majority, nobody is named"
        return [
            Finding(
                kind, Role.LEAD, odd if found.majority else (), most if found.majority else call.waiting, _group_id(call), COLLECTIVE,
                call.seq, call.op, Side.HOST, summary, self._positions(call, call.waiting), first,
                (wrong, "dtypes and shapes: the log prints element counts alone"), self._steps(call),
            )
        ]  # fmt: skip

    def _behind(self, call: LogCall) -> list[Finding]:
        """Ranks whose own counters stop below a call that others wait in, and that wait nowhere themselves."""
        free = tuple(rank for rank in call.behind if rank not in self._waits)
        if not free:
            return []
        if call.open_only and (len(free) != 1 or len(call.behind) == 1 or call.seq is None):
            return []  # counters alone, seconds apart, name nobody unless everyone else who is behind is accounted for
        one = len(free) == 1
        summary = f"{name_ranks(free, 12)} did not request {call.name}, by {'its own log' if one else 'their own logs'}; {words.waits(call.waiting)} for {'it' if one else 'them'}"
        if self._evidence.hidden:
            summary += f", and up to {self._evidence.hidden} ranks whose lines Ray left out"
        held = tuple(rank for rank in call.behind if rank in self._waits)
        lines = self._positions(call, free) + self._positions(call, call.waiting)
        steps = list(self._steps(call))
        if held:
            steps.append(f"{name_ranks(held)} {'is' if len(held) == 1 else 'are'} behind as well and {words.waits(held).split(' ', 2)[-1]} elsewhere")
            lines += tuple(line for other in self._calls for line in self._positions(other, [rank for rank in held if rank in other.waiting and not other.open_only]))
        if call.op in log_calls.ROOTED:
            steps.append(f"in a {call.op} one rank may run ahead of the others: only ranks below {call.seq} count as behind")
        first = f"{name_ranks(free, 8)}'s path before communication: data loading, branches, exceptions, whether the process ended"
        wrong = [text for text in (words.first_printed([*(call.rows[rank] for rank in free), *(call.rows[rank] for rank in call.waiting)]),) if text]
        wrong += ["that there is no network fault at all", "that a dump of it exists: the log says at most that one was begun"]
        return [
            Finding(
                Kind.NOT_REQUESTED, Role.LEAD, free, call.waiting, _group_id(call), COLLECTIVE, call.seq, call.op, Side.HOST, summary, lines, first,
                tuple(wrong), tuple(steps),
            )
        ]  # fmt: skip

    # What no lead explains

    def rest(self, leads: Sequence[Finding]) -> list[Finding]:
        named = leads_of(leads)
        findings = []
        for number, call in enumerate(self._calls):
            if number in self._explained:
                continue
            if named:
                findings.append(self._waiting(call, named))
            elif call.open_only:
                continue
            elif self._all_in(call):
                findings.append(self._not_completed(call))
            else:
                findings.append(self._not_observed(call))
        if not leads and not findings:
            findings += self._unplaced()
        return findings

    def _waiting(self, call: LogCall, named: Sequence[int]) -> Finding:
        certain = call.default or any(rank in call.rows for rank in named)
        summary = f"{words.waits(call.waiting)} in {call.name}"
        summary += f"; {name_ranks(named, 8)} did not come" if certain else f"; whether {name_ranks(named, 8)} belongs to it is not in the logs"
        return Finding(
            Kind.WAITING, Role.WAITING, call.waiting, tuple(named), _group_id(call), COLLECTIVE if call.group else None, call.seq, call.op,
            Side.HOST if certain else Side.UNKNOWN, summary, self._positions(call, call.waiting),
            not_concluded=self._silent_words(call),
        )  # fmt: skip

    def _all_in(self, call: LogCall) -> bool:
        """Whether every member is known to have requested the call: by the group's size, or because no rank is left over."""
        if call.seq is None or call.group is None or len(call.joined) < 2:
            return False
        if call.size is not None:
            return call.size == len(call.joined)
        numbers = sorted(row.group_rank for rank in call.joined if (row := call.rows[rank]).group_rank is not None)
        left = {*self._evidence.ranks, *self._evidence.silent} - set(call.joined)
        elsewhere = {rank for rank in left if rank in self._waits}
        return numbers == list(range(len(call.joined))) and left == elsewhere and (not call.default or not left) and not self._evidence.hidden

    def _not_completed(self, call: LogCall) -> Finding:
        lines = self._positions(call, call.joined)
        summary = f"{name_ranks(call.joined, 12)} requested {call.name} and none completed it, by their logs: no rank is missing"
        steps = list(self._steps(call))
        late = [rank for rank in call.joined if (started := call.rows[rank].started) is not None and call.seq is not None and started < call.seq]
        early = [rank for rank in call.joined if (started := call.rows[rank].started) is not None and call.seq is not None and started >= call.seq]
        if late and early:
            summary += f"; its kernel started on {name_ranks(early, 8)} and not on {name_ranks(late, 8)}, whose stream is held up before it"
        return Finding(
            Kind.NOT_COMPLETED, Role.LEAD, (), call.joined, _group_id(call), COLLECTIVE, call.seq, call.op, Side.DEVICE, summary, lines,
            words.DEVICE_FIRST, (words.NOT_NETWORK, "dtypes and shapes: the log prints element counts alone"), tuple(steps),
        )  # fmt: skip

    def _not_observed(self, call: LogCall) -> Finding:
        candidates = self._candidates(call)
        waiting = words.waits(call.waiting)
        if candidates:
            summary = f"{waiting} in {call.name}; of {name_ranks(candidates, 12)} no log says whether {'it' if len(candidates) == 1 else 'they'} came"
        elif call.group is not None and call.size is not None and call.size > len(call.joined):
            missing = call.size - len(call.joined)
            summary = f"{waiting} in {call.name}; {missing} of its {call.size} members did not report it, and the logs do not say which ranks they are"
        else:
            summary = f"{waiting} in {call.name}; who else belongs to it and whether they came is not in these logs"
        if self._evidence.hidden:
            summary += f" (Ray left out similar lines of up to {self._evidence.hidden} ranks)"
        wrong = [text for text in (words.first_printed([call.rows[rank] for rank in call.waiting]),) if text]
        wrong += [f"that {name_ranks(candidates, 8)} skipped the call" if candidates else "that any other rank skipped the call"]
        if call.seq is None:
            wrong.append("a sequence number or an operation: nccl2 prints neither, the dumps hold them")
        return Finding(
            Kind.NOT_OBSERVED, Role.LEAD, candidates, call.waiting, _group_id(call), COLLECTIVE if call.group else None, call.seq, call.op, Side.UNKNOWN,
            summary, self._positions(call, call.waiting) + self._end_lines(candidates), words.COLLECTION_FIRST, tuple(wrong), self._steps(call),
        )  # fmt: skip

    def _candidates(self, call: LogCall) -> tuple[int, ...]:
        """Ranks that belong to the call's group for certain and say nothing of it."""
        if not call.default:
            return ()
        known = {*self._evidence.ranks, *self._evidence.silent}
        return tuple(sorted(rank for rank in known if rank not in call.joined))

    def _silent_words(self, call: LogCall) -> tuple[str, ...]:
        silent = [rank for rank in self._candidates(call) if rank not in self._ends or self._ends[rank][0].follower]
        return (f"what {name_ranks(silent, 12)} did: their logs do not say",) if silent else ()

    def _unplaced(self) -> list[Finding]:
        """Time-outs of processes whose world rank no log gives, and waits that only an exception tells of."""
        found: dict[tuple[int | None, str | None], list[int]] = defaultdict(list)
        for number, row in enumerate(self._evidence.unplaced):
            found[row.timed_out_seq, row.timed_out_op].append(number)
        findings = [self._nameless([self._evidence.unplaced[number] for number in numbers]) for numbers in found.values()]
        waited = [ends[0] for ends in self._ends.values() if ends[0].follower and ends[0].kind is EndKind.EXCEPTION]
        if not findings and waited:
            ranks = tuple(end.rank for end in waited)
            silent = tuple(rank for rank in {*self._evidence.ranks, *self._evidence.silent} if rank not in ranks)
            findings.append(
                Finding(
                    Kind.NOT_OBSERVED, Role.LEAD, tuple(sorted(silent)), ranks, None, None, None, None, Side.UNKNOWN,
                    f"{words.waits(ranks)} in a call that the logs do not name, or lost a connection there"
                    + (f"; of {name_ranks(silent, 12)} no log says what happened" if silent else ""),
                    tuple(words.quoted(self._evidence, end.line, f"rank {end.rank}: ") for end in waited), words.COLLECTION_FIRST,
                    (f"that {name_ranks(ranks, 8)}, which reported it, {'is' if len(ranks) == 1 else 'are'} at fault",),
                )
            )  # fmt: skip
        return findings

    def _nameless(self, rows: Sequence[log_calls.GroupByLog]) -> Finding:
        numbers = fold_ranks(row.group_rank for row in rows if row.group_rank is not None)
        call = f"{rows[0].timed_out_op or 'call'} {rows[0].timed_out_seq}"
        summary = f"processes that call themselves {numbers} within their group wait in {call} of a group that the log does not name; their world ranks are not in these logs"
        lines = tuple(words.quoted(self._evidence, row.line) for row in rows)
        return Finding(
            Kind.NOT_OBSERVED, Role.LEAD, (), (), None, None, rows[0].timed_out_seq, rows[0].timed_out_op, Side.UNKNOWN, summary, lines,
            words.COLLECTION_FIRST, ("that these numbers are world ranks", "that any other rank skipped the call"),
        )  # fmt: skip

    # Lines

    def _positions(self, call: LogCall, ranks: Iterable[int]) -> tuple[Evidence, ...]:
        label = call.group.label if call.group else "group not named"
        return words.position_lines(self._evidence, [call.rows[rank] for rank in ranks], label)

    def _end_lines(self, ranks: Iterable[int]) -> tuple[Evidence, ...]:
        """How silent ranks ended, as far as others say: it follows, and is shown because it is all there is."""
        return tuple(
            words.quoted(self._evidence, end.line, f"rank {end.rank}: {end.what}, which follows ({end.why_follower}): ")
            for rank in ranks
            for end in self._ends.get(rank, ())[:1]
        )[:8]

    def _steps(self, call: LogCall) -> tuple[str, ...]:
        how = sorted({call.rows[rank].rank_from for rank in (*call.waiting, *call.behind) if call.rows[rank].rank_from})
        steps = [f"ranks are known from: {', '.join(how)}"] if how else []
        if call.group is not None:
            numbers = {rank: call.rows[rank].group_rank for rank in call.waiting}
            if any(number is not None and number != rank for rank, number in numbers.items()):
                steps.append("the number in the watchdog's bracket counts within the group; world ranks are used here")
        return tuple(steps)


def _group_id(call: LogCall) -> int | None:
    return call.group.id if call.group is not None else None


def _notes(evidence: LogEvidence) -> list[Finding]:
    """What is worth knowing and explains no hang: how an earlier attempt ended, and processes that the heartbeat monitor ended."""
    notes = []
    for end in evidence.earlier_ends:
        if not end.follower:
            notes.append(process_ended_finding(evidence, end, role=Role.NOTE))
    notes += [
        process_ended_finding(evidence, ends[0], role=Role.NOTE)
        for ends in ends_by_rank(evidence).values()
        if ends[0].kind is EndKind.HEARTBEAT
    ]
    return notes
