"""Whose line it is, and of which attempt: what the lines, the paths and the launchers of all files say together.

Order of trust: ``[rankN]:`` on the line, a rank in the file's path, every labelled line of the file agreeing, a local rank on
a node whose offset is known, the pid, Slurm's task number where it is known to be the rank. The rank inside a watchdog's
group bracket is never used: it counts within the group.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.logs import tasks
from hangview.logs.events import Caught, ChildFailed, Closed, CommInit, SummaryEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.logs.events import Event, LogScan
    from hangview.logs.lines import Who


@dataclass(frozen=True, slots=True)
class Named:
    """A rank with the reason why it is that one."""

    rank: int | None
    how: str = ""
    by: str = ""  #: by whose logs, in a phrase, where others tell of the rank


_UNKNOWN = Named(None, "unknown")
#: Names by which no host can be told from another one.
_ADDRESS = re.compile(r"localhost.*|[\d.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")


class Resolver:
    """Looks up ranks and attempts over all scans."""

    def __init__(self, scans: Sequence[LogScan], world: int | None = None) -> None:
        self._scans = {scan.source: scan for scan in scans}
        self._offsets = _offsets(scans)
        self._one_node = world is not None and _one_node(scans, world)
        self._tasks_are_ranks = tasks.are_ranks(scans, world)
        self._own = _own_files(scans)
        self._consoles = {scan.source: set(scan.locals) for scan in scans if scan.offsets and scan.locals}
        self._trees = {scan.tree for scan in scans if scan.path_local is not None}
        self._shifts = _shifts(scans)
        self._attempts = Attempts(scans)
        self._files = {scan.source: self._file_rank(scan) for scan in scans}
        self._pids = self._pid_table(scans)
        self._pid_hosts = _pid_hosts(scans)

    @property
    def attempts(self) -> Attempts:
        return self._attempts

    def file_rank(self, source: int) -> Named:
        """The rank whose file it is, if it is one rank's."""
        return self._files[source]

    @property
    def ranks_of_files(self) -> frozenset[int]:
        """The ranks that have a file of their own."""
        return frozenset(named.rank for named in self._files.values() if named.rank is not None)

    def of(self, event: Event) -> Named:
        """The world rank an event is about; ``rank`` is None where nothing gives it."""
        return self.of_who(event.who, self._scans[event.line.source])

    def of_who(self, who: Who, scan: LogScan) -> Named:
        if who.rank is not None:
            return Named(who.rank, who.rank_from)
        file = self._files[scan.source]
        if file.rank is not None:
            return file
        if who.local is not None:
            offset = self._offset(scan)
            if offset is not None:
                return Named(who.local + offset, f"local rank {who.local} on a node whose first rank is {offset}")
        if (named := self.of_pid(who.pid, who.host)).rank is not None:
            return named
        if who.task is not None:
            return self.of_task(who.task)
        return _UNKNOWN

    def of_pid(self, pid: int | None, host: str | None = None) -> Named:
        """``host``: on which the process ran, where that is known. In containers every node counts pids from 1 on."""
        if pid is None or pid not in self._pids:
            return _UNKNOWN
        hosts = self._pid_hosts.get(pid, ())
        if host is not None and hosts and all(_other_host(host, one) for one in hosts):
            return _UNKNOWN
        return Named(self._pids[pid], f"pid {pid}")

    def of_local(self, local: int | None, source: int) -> Named:
        """A launcher's local rank; the offset of its node must be known from the same file or the same job."""
        offset = self._offset(self._scans[source])
        if local is None or offset is None:
            return _UNKNOWN
        return Named(local + offset, f"local rank {local} on a node whose first rank is {offset}")

    def of_task(self, task: int) -> Named:
        why = self._tasks_are_ranks
        return Named(task, f"task number of the launcher, which {why}") if why else _UNKNOWN

    def _offset(self, scan: LogScan) -> int | None:
        # What is known of one node says nothing of another one, whose local ranks have a folder of their own.
        alone = self._only_console(scan) if scan.tree is None else len(self._trees) == 1
        anywhere = [("all", None)] if alone else []
        for key in (("source", scan.source), ("tree", scan.tree), *anywhere):
            if len(self._offsets.get(key, ())) == 1:
                return next(iter(self._offsets[key]))
        return 0 if self._one_node and not self._offsets.get(("all", None)) else None

    def _only_console(self, scan: LogScan) -> bool:
        """Whether no other file with an offset of its own has labels of the same local ranks: that is of another node."""
        return not any(source != scan.source and labels & set(scan.locals) for source, labels in self._consoles.items())

    def _shift(self, scan: LogScan) -> int | None:
        """How far a file's rank is from the number in its name; None where lines show that the number is no world rank."""
        shifts = self._shifts.get(_folder(scan), [])
        if len(scan.ranks) == 1 and scan.path_rank is not None:
            own = scan.ranks[0] - scan.path_rank
            return 0 if own == 0 else None  # by its lines
        if not any(shifts) or 0 in shifts:
            return 0
        return shifts[0] if len(shifts) > 1 and len(set(shifts)) == 1 else None

    def _file_rank(self, scan: LogScan) -> Named:
        if scan.path_rank is not None:
            if _of_several(scan):
                return _UNKNOWN  # the number in its name is that of a node
            shift = self._shift(scan)
            if shift == 0:
                return Named(scan.path_rank, "file name")
            if shift is not None:
                return Named(scan.path_rank + shift, f"file name, in a folder whose files hold lines of ranks {shift} higher")
            if 0 in self._shifts.get(_folder(scan), []):
                return _UNKNOWN  # of all files there, this one alone holds another rank's lines: it may be of several
        if scan.source in self._own:
            return Named(scan.ranks[0], "every labelled line of the file")
        if scan.itself is not None and not _of_several(scan):
            return Named(scan.itself, "the rank that its process printed, as those of the other files did")
        if scan.path_local is not None and not scan.ranks:
            offset = self._offset(scan)
            if offset is not None:
                return Named(
                    scan.path_local + offset, f"folder of local rank {scan.path_local} on a node whose first rank is {offset}"
                )
        if scan.path_task is not None and not scan.ranks and self._tasks_are_ranks:
            return Named(scan.path_task, f"task number in the file name, which {self._tasks_are_ranks}")
        return _UNKNOWN

    def _pid_table(self, scans: Iterable[LogScan]) -> dict[int, int]:
        """Ranks by pid; a pid that two ranks have (on two hosts) is left out."""
        found: dict[int, set[int]] = defaultdict(set)
        world = max((event.nranks for scan in scans for event in scan.events if isinstance(event, CommInit)), default=0)
        for scan in scans:
            for labelled, its_rank in scan.pids:
                found[labelled].add(its_rank)
            for event in scan.events:
                pid, rank = _pid_and_rank(event, self, scan, world)
                if pid is not None and rank is not None:
                    found[pid].add(rank)
        return {pid: next(iter(ranks)) for pid, ranks in found.items() if len(ranks) == 1}


def _pid_and_rank(event: Event, resolver: Resolver, scan: LogScan, world: int) -> tuple[int | None, int | None]:
    if isinstance(event, SummaryEntry):
        return event.pid, event.rank
    if isinstance(event, ChildFailed):
        return event.pid, resolver.of_local(event.local, scan.source).rank
    if isinstance(event, CommInit):
        own = event.who.rank if event.who.rank is not None else resolver.file_rank(scan.source).rank
        # The communicator of all ranks numbers them as the world does.
        return event.who.pid, own if own is not None else event.comm_rank if event.nranks == world else None
    return None, None


def _is_launcher(scan: LogScan) -> bool:
    return any(isinstance(event, (ChildFailed, Closed, SummaryEntry)) for event in scan.events)


def _of_several(scan: LogScan) -> bool:
    """Whether a file holds the output of several processes: its launcher started more than one, or lines without a rank call
    themselves by two numbers in one call, which no process does."""
    if any(isinstance(event, (ChildFailed, SummaryEntry)) and (event.local or 0) > 0 for event in scan.events):
        return True
    pids: set[int] = set()
    numbers: dict[tuple[int, str], set[int]] = defaultdict(set)
    for event in scan.events:
        if isinstance(event, (ChildFailed, Closed)):
            pids.add(event.pid)
            if len(pids) > 1:
                return True
            if isinstance(event, ChildFailed):
                pids.clear()  # of the next attempt it has other pids
        elif isinstance(event, Caught) and event.printed_rank is not None and event.who.rank is None:
            numbers[event.seq, event.op_type].add(event.printed_rank)
    return any(len(found) > 1 for found in numbers.values())


def _pid_hosts(scans: Sequence[LogScan]) -> dict[int, set[str]]:
    """On which hosts the processes ran that have these pids, as far as the lines tell that give them a rank."""
    found: dict[int, set[str]] = defaultdict(set)
    for scan in scans:
        for event in scan.events:
            if isinstance(event, CommInit) and event.who.pid is not None and event.who.host is not None:
                found[event.who.pid].add(event.who.host)
            elif isinstance(event, SummaryEntry) and event.pid is not None and event.host is not None:
                found[event.pid].add(event.host)
    return dict(found)


def _other_host(one: str, other: str) -> bool:
    """Whether two names are of two hosts. Of an address and a name that is not known, and a domain may be left out."""
    if _ADDRESS.fullmatch(one) is not None or _ADDRESS.fullmatch(other) is not None:
        return False
    return one.partition(".")[0].lower() != other.partition(".")[0].lower()


def _offsets(scans: Sequence[LogScan]) -> dict[tuple[str, int | str | None], set[int]]:
    """Distinct rank - local rank per file, per torchrun tree and over all."""
    offsets: dict[tuple[str, int | str | None], set[int]] = defaultdict(set)
    for scan in scans:
        votes = set(scan.offsets)
        votes |= {
            event.rank - event.local
            for event in scan.events
            if isinstance(event, SummaryEntry) and event.rank is not None and event.local is not None
        }
        if scan.path_local is not None and len(scan.ranks) == 1:
            offsets["tree", scan.tree].add(scan.ranks[0] - scan.path_local)
            offsets["all", None].add(scan.ranks[0] - scan.path_local)
        offsets["source", scan.source] |= votes
        offsets["all", None] |= votes
    return offsets


def _folder(scan: LogScan) -> str:
    return scan.shown.replace("\\", "/").rpartition("/")[0]


def _shifts(scans: Sequence[LogScan]) -> dict[str, list[int]]:
    """By folder, how far the rank on the lines of each of its files is from the number in its name: where that is the same for
    several, and not 0, the names count within a node."""
    found: dict[str, list[int]] = defaultdict(list)
    for scan in scans:
        if scan.path_rank is not None and len(scan.ranks) == 1:
            found[_folder(scan)].append(scan.ranks[0] - scan.path_rank)
    return dict(found)


def _one_node(scans: Sequence[LogScan], world: int) -> bool:
    """Whether one launcher has as many processes as there are ranks: then its local ranks are the world ranks.

    Its processes are counted by the highest local rank that it names or has a folder of, and by their pids within one attempt.
    """
    folders = {(scan.tree, scan.path_local) for scan in scans if scan.path_local is not None}
    if len({tree for tree, _ in folders}) == 1 and max(local for _, local in folders) + 1 >= world:
        return True
    found = [scan for scan in scans if any(isinstance(event, (ChildFailed, Closed)) for event in scan.events)]
    if len(found) != 1:
        return False
    failed = [event for event in found[0].events if isinstance(event, ChildFailed)]
    pids = {event.pid for event in found[0].events if isinstance(event, (ChildFailed, Closed))}
    local = max([event.local for event in failed] + list(found[0].locals), default=-1) + 1
    return max(local, len(pids) if len(failed) <= 1 else 0) >= world


def _own_files(scans: Sequence[LogScan]) -> frozenset[int]:
    """Files whose labelled lines are all of one rank, and that are that rank's alone.

    A console may hold labelled lines of one rank and unlabelled ones of others; so the path must speak for it, or several
    files must each be of another rank.
    """
    single = {scan.source: scan for scan in scans if len(scan.ranks) == 1 and len(scan.locals) <= 1 and len(scan.tasks) <= 1}
    single = {source: scan for source, scan in single.items() if not _is_launcher(scan)}
    several = len({scan.ranks[0] for scan in single.values()}) > 1
    return frozenset(
        source
        for source, scan in single.items()
        if several or scan.path_local is not None or str(scan.ranks[0]) in re.findall(r"\d+", scan.shown.rsplit("/", 1)[-1])
    )


class Attempts:
    """Which start of the job an event belongs to.

    torchrun's folders number the attempts. A launcher's own log covers all of them: every ``failed (exitcode …)`` of one agent
    ends one. Files without a number, among rank files that have one, are of the last attempt.
    """

    def __init__(self, scans: Sequence[LogScan]) -> None:
        self._scans = {scan.source: scan for scan in scans}
        by_path = {scan.attempt for scan in scans if scan.attempt is not None}
        loose = any(scan.attempt is None and scan.path_rank is not None for scan in scans)
        self._ends = {scan.source: _Ends(_attempt_ends(scan)) for scan in scans}
        started = max((ends.attempts for ends in self._ends.values()), default=0)
        last = max(by_path, default=-1) + (1 if by_path and loose else 0)
        self.current = max(last, started - 1, 0)
        self.known = tuple(sorted({*by_path, *range(max(self.current - max(started - 1, 0), 0), self.current + 1)}))

    def of(self, event: Event) -> int:
        scan = self._scans[event.line.source]
        if scan.attempt is not None:
            return scan.attempt
        ends = self._ends[scan.source]
        if ends.attempts <= 1:
            return self.current
        return self.current - (ends.attempts - 1) + ends.before(event)


def _attempt_ends(scan: LogScan) -> tuple[ChildFailed, ...]:
    """The launcher's lines that each ended one attempt: those of the agent that has most of them."""
    by_agent: dict[object, list[ChildFailed]] = defaultdict(list)
    for event in scan.events:
        if isinstance(event, ChildFailed):
            by_agent[event.who.pid if event.who.pid is not None else event.who.host].append(event)
    return tuple(sorted(by_agent.values(), key=len)[-1]) if by_agent else ()


class _Ends:
    """The lines that each ended an attempt, of which all but the last lie between two of them: how many lie before an event, by
    the printed times where both have one (the lines of many ranks are not in order), else by line number."""

    def __init__(self, ends: Sequence[ChildFailed]) -> None:
        self.attempts = len(ends)
        between = ends[:-1]
        self._times = sorted(end.at for end in between if end.at is not None)
        self._untimed = sorted(end.line.number for end in between if end.at is None)
        self._numbers = sorted(end.line.number for end in between)

    def before(self, event: Event) -> int:
        if event.at is None:
            return bisect_left(self._numbers, event.line.number)
        return bisect_left(self._times, event.at) + bisect_left(self._untimed, event.line.number)
