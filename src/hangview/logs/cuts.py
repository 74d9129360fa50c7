"""Where in a log the newest of several runs begins: by what a process prints once, by its launcher, or by a wait that began
after another one of the same rank had timed out.

In doubt there is one run: who splits it loses what its ranks raised, and may name one that is well.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from hangview.logs.events import Began, Caught, Heartbeat, Said, Status, TaskEnd, TimedOut, WorkStack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.logs.events import Event, LogScan
    from hangview.logs.times import Stamp

#: Seconds by which a wait must have begun after another one's end, to be of a later time: times are printed in whole seconds.
_APART = 60.0
#: So long a process may go on to print after its time-out (60 s for its dump, then it aborts), or after it was cancelled.
DYING = 120.0
#: What was printed so long before the first wait of an earlier run is still of it.
_BEFORE = 3600.0
#: Lines of a launcher or scheduler that are looked at, the last ones.
_MOST_TOLD = 64
#: What the watchdog says of a wait.
ROWS = (Caught, Status, Heartbeat, TimedOut, WorkStack)
#: Names of facts: a launcher starts the workers again, Slurm ends the job.
RESTART, CANCELLED = "restart", "cancelled"
#: Sends and receives have numbers of their own.
_P2P = frozenset({"SEND", "RECV", "COALESCED", "RECVANYSOURCE"})
#: What a process is told by in its file: "rank", "local", "task" or "path", and the number.
Key: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where in a file the newest run begins: at ``line``. By its clock everything until ``since`` is of an earlier one, and
    those lasted from ``first`` on (both None where the file tells no time)."""

    line: int
    why: str
    since: float | None = None
    first: float | None = None
    zoned: bool = False
    past: int = 0  #: last line that is of an earlier run for certain
    dying: float = 0.0  #: for so long after ``since`` processes of the earlier run may still print, behind ``line``
    over: int | None = None  #: line behind which none of the earlier run is left that could still raise anything
    restart: bool = False  #: by a launcher's line


@dataclass(frozen=True, slots=True)
class _Wait:
    line: int
    began: float
    at: float
    zoned: bool


class Clock:
    """Printed times as seconds; a date without a year is of the year that is nearest to the logs' others."""

    def __init__(self, scans: Iterable[LogScan]) -> None:
        ends = [scan.last for scan in scans if scan.last is not None]
        dated = next((stamp for stamp in ends if stamp.days[0][0] is not None), ends[0] if ends else None)
        self._base = dated.moment(0.0, 0.0) if dated is not None else 0.0

    def at(self, stamp: Stamp) -> float:
        return stamp.moment(self._base, self._base)


def cuts_of(scans: Sequence[LogScan], clock: Clock) -> dict[int, tuple[Cut | None, Mapping[Key, Cut]]]:
    """By file, where the newest run begins in it; and for the processes of which their own lines show it."""
    again = _printed_again(scans)
    of_all = _of_all(again, scans)
    begun = {source: _begun(events, clock, of_all=of_all) for source, events in again.items()}
    return {scan.source: _cuts(scan, begun.get(scan.source, {}), clock, of_all=of_all) for scan in scans}


def in_order(scan: LogScan) -> list[Event]:
    """What a file says, and what it says again, in the order of its lines."""
    return sorted((*scan.events, *scan.again), key=lambda event: event.line.number)


def may_hold_several(scan: LogScan) -> bool:
    waits: set[tuple[Key | None, int]] = set()
    begun: set[tuple[Key | None, str]] = set()
    for event in scan.events:
        if isinstance(event, Said) and event.name in (RESTART, CANCELLED):
            return True
        if isinstance(event, Began):
            if _counts(event) and (process_of(event, scan), event.what) in begun:
                return True
            begun.add((process_of(event, scan), event.what))
        elif isinstance(event, (Caught, TimedOut)):
            waits.add((process_of(event, scan), event.line.number))
    again = any(isinstance(event, (Caught, TimedOut)) or (isinstance(event, Began) and _counts(event)) for event in scan.again)
    return again or len(waits) > len({key for key, _ in waits})


def process_of(event: Event, scan: LogScan) -> Key | None:
    """The process that a line is of, as far as its own file tells."""
    who = event.who
    if who.rank is not None:
        return ("rank", who.rank)
    if scan.path_rank is not None:
        return ("rank", scan.path_rank)
    if who.local is not None and _one_node(scan):
        return ("local", who.local)
    if who.task is not None:
        return ("task", who.task)
    if scan.path_local is not None:
        return ("path", scan.path_local)
    return None if scan.path_task is None else ("path", scan.path_task)


def _one_node(scan: LogScan) -> bool:
    """Whether a file is known to hold the lines of one node alone: on each of several, a process has the same local rank."""
    if len(scan.offsets) != 1:
        return False
    [offset] = scan.offsets
    return all(0 <= rank - offset <= max(scan.locals, default=-1) for rank in scan.ranks)


def _cuts(scan: LogScan, begun: Mapping[Key, Cut], clock: Clock, *, of_all: bool) -> tuple[Cut | None, Mapping[Key, Cut]]:
    """Where the newest run begins in a file, and for the processes of which their own lines show it."""
    waited, by_launcher = _waited(scan, clock), _by_launcher(scan, clock)
    strong = [cut for cut in (_earliest(begun.values()) if of_all else None, by_launcher) if cut is not None]
    whole = max(strong, key=lambda cut: cut.line, default=None)
    weak = _earliest(_latest(waited.values()))
    if weak is not None and (whole is None or whole.line <= weak.past):
        whole = weak
    own = dict(begun)
    for key, cut in waited.items():
        if key not in own or own[key].line <= cut.past:
            own[key] = cut
    return whole, own


def _earliest(cuts: Iterable[Cut]) -> Cut | None:
    return min(cuts, key=lambda cut: cut.line, default=None)


def _latest(cuts: Iterable[Cut]) -> list[Cut]:
    """Those that show the newest run: of a process that is silent now the own lines show an earlier one."""
    listed = list(cuts)
    newest = max((cut.since for cut in listed if cut.since is not None), default=None)
    return [cut for cut in listed if newest is None or (cut.since is not None and cut.since >= newest - _BEFORE)]


def _printed_again(scans: Iterable[LogScan]) -> dict[int, dict[Key, list[Began]]]:
    """By file and process, the lines that a process prints once in each start, where they are as many as any has."""
    found: dict[tuple[str, int, Key], list[Began]] = defaultdict(list)
    for scan in scans:
        for event in in_order(scan):
            if not isinstance(event, Began) or not _counts(event) or (key := process_of(event, scan)) is None:
                continue
            known = found[event.what, scan.source, key]
            if known and (known[-1].line.number == event.line.number or _same_process(known[-1], event)):
                continue
            known.append(event)
    found = {key: events for key, events in found.items() if not _side_by_side(events)}
    most = max(map(len, found.values()), default=0)
    cuts: dict[int, dict[Key, list[Began]]] = defaultdict(dict)
    if most < 2:
        return cuts
    for (_, source, key), events in found.items():
        known = cuts[source].get(key, [])
        if len(events) == most and (not known or events[-1].line.number < known[-1].line.number):
            cuts[source][key] = events
    return cuts


def _counts(event: Began) -> bool:
    """NCCL tells of its version once in a process until 2.21.5, and for each communicator that it leads from 2.22.3 on: a
    second line shows another start by its pid alone, which is only there at level INFO."""
    return event.what != "nccl" or event.who.pid is not None


def _same_process(one: Began, other: Began) -> bool:
    return one.who.pid is not None and one.who.pid == other.who.pid


def _side_by_side(events: Sequence[Began]) -> bool:
    """Whether processes take turns: those run at the same time, and none of them is another's new start."""
    pids = [event.who.pid for event in events if event.who.pid is not None]
    return len(set(pids)) < len(pids)


def _of_all(again: Mapping[int, Mapping[Key, list[Began]]], scans: Iterable[LogScan]) -> bool:
    """Whether all processes that print what each prints once do so again: then the job was started again. Where one does not,
    the others may have made their process groups anew, in the same run."""
    whats = {events[0].what for found in again.values() for events in found.values()}
    told = {
        (scan.source, key)
        for scan in scans
        for event in scan.events
        if isinstance(event, Began) and event.what in whats and _counts(event) and (key := process_of(event, scan)) is not None
    }
    return sum(map(len, again.values())) >= len(told)


def _begun(again: Mapping[Key, list[Began]], clock: Clock, *, of_all: bool) -> dict[Key, Cut]:
    """Processes that print anew what each prints once. ``of_all``: the whole job was started again."""
    cuts: dict[Key, Cut] = {}
    for key, events in again.items():
        first, last = (event.line.printed.own for event in (events[0], events[-1]))
        said = "its NCCL version" if events[0].what == "nccl" else "its first barrier"
        cut = Cut(events[-1].line.number, f"{key[0]} {key[1]} tells of {said} again", past=events[-2].line.number)
        if first is not None and last is not None:
            since, start = clock.at(last) - 1, clock.at(first) - _BEFORE
            cut = replace(cut, since=since, first=start if of_all else None, zoned=last.zone is not None)
        cuts[key] = cut
    return cuts


def _by_launcher(scan: LogScan, clock: Clock) -> Cut | None:
    """A launcher that starts its workers again, or a scheduler that ended the job, with lines long after that."""
    cut: Cut | None = None
    events = in_order(scan)
    told = [event for event in events if isinstance(event, Said) and event.name in (RESTART, CANCELLED)]
    for event in told[-_MOST_TOLD:]:
        stamp = event.line.printed.own or event.line.printed.before
        at = None if stamp is None else clock.at(stamp)
        if event.name == RESTART:
            why, zoned = "the launcher started the workers again", stamp is not None and stamp.zone is not None
            cut = Cut(event.line.number + 1, why, at, zoned=zoned, dying=_APART, restart=True)
        elif at is not None and stamp is not None:
            since = at + DYING
            for other in events:
                later = other.line.printed.own or other.line.printed.before
                if other.line.number > event.line.number and later is not None and clock.at(later) > since:
                    zoned, over = stamp.zone is not None, _last_ended(event, at, events, clock)
                    cut = Cut(other.line.number, "the job was cancelled before it", since, zoned=zoned, over=over)
                    break
    return cut


def _last_ended(cancelled: Event, at: float, events: Iterable[Event], clock: Clock) -> int | None:
    """The last line of Slurm that tells how the tasks of a cancelled job ended: no line with a later time is before it."""
    ended = [
        event.line.number
        for event in events
        if isinstance(event, TaskEnd)
        and event.line.number > cancelled.line.number
        and (stamp := event.line.printed.own or event.line.printed.before) is not None
        and clock.at(stamp) <= at
    ]
    return max(ended, default=None)


def _waited(scan: LogScan, clock: Clock) -> dict[Key, Cut]:
    """Processes that began to wait after a wait of theirs had timed out: it was over, and mostly its process as well."""
    waits: dict[Key, list[_Wait]] = defaultdict(list)
    stamped: dict[Key, list[Event]] = defaultdict(list)
    for event in in_order(scan):
        if (key := process_of(event, scan)) is None:
            continue
        if event.line.printed.own is not None:
            stamped[key].append(event)
        if isinstance(event, (Caught, TimedOut)):
            limit = event.timeout_ms if isinstance(event, Caught) else None
            ran = event.ran_ms if event.ran_ms is not None else limit
            if event.line.printed.own is not None and ran is not None:
                at = clock.at(event.line.printed.own)
                waits[key].append(_Wait(event.line.number, at - ran / 1000, at, event.line.printed.own.zone is not None))
    cuts = {}
    for key, found in waits.items():
        last = max(found, key=lambda wait: (wait.began, -wait.line))
        past = [wait for wait in found if wait.at + _APART < last.began and wait.zoned == last.zoned]
        if past:
            until = max(wait.line for wait in past)
            since = min(max(wait.at for wait in past) + DYING, last.began)
            first = min(wait.began for wait in past) - _BEFORE
            begins = [
                event.line.number
                for event in stamped[key]
                if event.line.number > until and (own := event.line.printed.own) is not None and clock.at(own) > since
            ]
            why = f"{key[0]} {key[1]} began to wait after an earlier wait of its own had timed out"
            cuts[key] = Cut(min([*begins, last.line]), why, since, first, last.zoned, until)
    return cuts or _fallen(scan)


def _fallen(scan: LogScan) -> dict[Key, Cut]:
    """The same where no time is printed (torch 2.2 and 2.3): the numbers of one group fall, or went on past the call."""
    found: dict[tuple[Key, object], list[tuple[int, int, int]]] = defaultdict(list)
    works = {}
    for event in in_order(scan):
        key = process_of(event, scan)
        if key is None or event.line.printed.own is not None:
            continue
        if isinstance(event, Caught):
            works[key, event.seq] = event.op_type
        elif isinstance(event, Status) and event.seq is not None and event.completed is not None:
            if works.get((key, event.seq)) in _P2P:
                continue
            group = (event.group.name, event.group.desc, event.group.pg_id)
            if not any(group):  # torch 2.2 names none: each group counts for itself
                continue
            found[key, group].append((event.line.number, event.seq, event.completed))
    cuts = {}
    for (key, _), rows in found.items():
        timed = {seq for _, seq, _ in rows}
        for (line, seq, completed), (later, next_seq, next_completed) in pairwise(rows):
            over = next_completed - seq + 1 > len([n for n in timed if seq <= n <= next_completed])
            if next_seq < completed or over:
                cuts[key] = Cut(later, f"{key[0]} {key[1]}'s numbers do not go on from the earlier ones", past=line)
    return cuts
