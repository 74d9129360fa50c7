"""Which log of a rank to open, and at which line. Pure: nothing is read here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.logs.evidence import EndKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hangview.incident import Incident
    from hangview.logs.evidence import LogEvidence, LogLine, LogRead

#: Ends that the launcher or the kernel tells of: such a line bears no label of the rank.
_SAID_BY_OTHERS = frozenset({EndKind.SIGNAL, EndKind.EXIT_CODE, EndKind.OOM_KILLER})
#: Ends of which the log shows an error and not that the process is over: it may have been handled, or the process may hang.
_RAISED = frozenset({EndKind.EXCEPTION, EndKind.DEVICE})
#: How much a line matters, most first.
_END, _TIMED_OUT, _STOOD, _USED, _NONE = range(5)
_WHY = {
    _END: "how its process ended",
    _TIMED_OUT: "where its watchdog ended the wait",
    _STOOD: "where it stood",
    _USED: "a line that hangview used",
    _NONE: "no line of it was used: the end of the file",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One log of one rank. ``line`` is None where nothing in it was used for the rank: then its end is shown.

    ``used`` are the lines of the file that hangview used, ``own`` those of them that are about the rank, both by number.
    ``alone``: the whole file is the rank's. ``said`` are lines by the ranks themselves, which tell what their labels are.
    """

    rank: int
    source: int
    shown: str
    size: int  #: when it was read, of a compressed log unpacked
    line: LogLine | None
    why: str
    used: tuple[LogLine, ...]
    own: tuple[LogLine, ...]
    alone: bool
    said: tuple[tuple[int, LogLine], ...] = ()
    pids: tuple[tuple[int, int], ...] = ()  #: (rank, pid) where the logs tell it
    aside: str = ""  #: which of its lines are of another run than the incident

    @property
    def anchors(self) -> tuple[tuple[int, int], ...]:
        """(offset, number) of lines whose number is known."""
        return ((0, 1), *((line.offset, line.number) for line in self.used))


def targets(incident: Incident, rank: int) -> tuple[Target, ...]:
    """The logs of a rank, the one with the line that matters first; empty where there is none.

    A log of many ranks is one of this rank's when a line of it is about the rank; where no log is, those that are nobody's
    alone may hold lines of it.
    """
    logs = incident.logs
    if logs is None:
        return ()
    matter: dict[int, list[tuple[int, int, LogLine]]] = {}
    for weight, line in _about(logs, rank):
        matter.setdefault(line.source, []).append((weight, line.number, line))
    mine = [log for log in logs.logs if log.rank == rank or log.source in matter]
    if not mine:
        mine = [log for log in logs.logs if log.rank is None]
    said = tuple(_said(logs))
    pids = tuple((place.rank, place.pid) for place in logs.places if place.pid is not None)
    found = [(_order(logs, log, matter), _target(logs, log, rank, matter.get(log.source, []), said, pids)) for log in mine]
    return tuple(each for _, each in sorted(found, key=lambda pair: pair[0]))


def _order(logs: LogEvidence, log: LogRead, matter: dict[int, list[tuple[int, int, LogLine]]]) -> tuple[bool, int, bool, int]:
    """Logs of the current attempt first, then what matters most, then files with something in them."""
    old = log.attempt is not None and log.attempt != logs.attempt
    return old, min((each[0] for each in matter.get(log.source, [])), default=_NONE), log.size == 0, log.source


def _target(
    logs: LogEvidence,
    log: LogRead,
    rank: int,
    about: list[tuple[int, int, LogLine]],
    said: tuple[tuple[int, LogLine], ...],
    pids: tuple[tuple[int, int], ...],
) -> Target:
    aside = next((one.text for one in logs.aside if one.source == log.source and one.line is not None), "")
    weight, _, line = min(about, key=lambda each: each[:2], default=(_NONE, 0, None))
    return Target(
        rank, log.source, log.shown, log.size, line, _why(logs, rank, weight, line),
        _by_number(each for each in logs.lines if each.source == log.source),
        _by_number(each for _, _, each in about), log.rank == rank,
        tuple((one, each) for one, each in said if each.source == log.source), pids, aside,
    )  # fmt: skip


def _why(logs: LogEvidence, rank: int, weight: int, line: LogLine | None) -> str:
    """What the line shows. Of an end that is an error alone no more than that: it was raised."""
    ends = (end for end in logs.ends if end.rank == rank and end.line == line)
    return "what it raised" if weight == _END and any(end.kind in _RAISED for end in ends) else _WHY[weight]


def _by_number(lines: Iterable[LogLine]) -> tuple[LogLine, ...]:
    return tuple({line.number: line for line in sorted(lines, key=lambda line: line.number)}.values())


def _about(logs: LogEvidence, rank: int) -> Iterator[tuple[int, LogLine]]:
    """Every line about a rank with how much it matters."""
    for end in logs.ends:
        if end.rank == rank:
            yield _USED if end.follower else _END, end.line
            yield from ((_USED, line) for line in end.lines)
    for row in logs.groups:
        if row.rank == rank:
            yield _TIMED_OUT if row.timed_out else _STOOD, row.line
            if row.work_line is not None:
                yield _USED, row.work_line
    for part in (logs.dumps, logs.places, logs.stacks, logs.earlier_ends):
        for one in part:
            if one.rank == rank:
                yield _USED, one.line


def _said(logs: LogEvidence) -> Iterator[tuple[int, LogLine]]:
    """Lines that ranks printed themselves."""
    for row in logs.groups:
        yield from ((row.rank, line) for line in row.lines)
    for end in logs.ends:
        if end.kind not in _SAID_BY_OTHERS:
            yield end.rank, end.line
    for part in (logs.dumps, logs.places):
        for one in part:
            yield one.rank, one.line
