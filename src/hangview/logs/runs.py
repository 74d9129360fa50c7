"""Which lines of the logs are of the run that the dumps are of: folders are used again, logs are appended to.

A line of another run tells neither what a rank requested nor how it ended. Only times in the files decide, and only where
they are further apart than what is unknown of them; where a line has none, it counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import CommInit, Hidden, Said
from hangview.logs.evidence import Aside, LogEvidence
from hangview.logs.reading import combine
from hangview.logs.recorded import recorded
from hangview.logs.times import span
from hangview.logs.zones import ahead
from hangview.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.logs.events import Event, LogScan
    from hangview.logs.evidence import GroupByLog, ProcessEnd
    from hangview.logs.recorded import Recorded
    from hangview.logs.times import Printed, Stamp
    from hangview.schema import Records

#: Zones lie up to 26 hours apart (UTC-12 to UTC+14), and which one a log was written in is mostly not said.
ZONES = 26 * 3600.0
_ANOTHER = "of another run than the dumps"
_BEFORE = "from long before the dumps' records"
_AFTER = "from long after the dumps' records"
#: What holds for a run from its beginning on.
_FACTS = (Said, CommInit, Hidden)
#: A rank's log and its dump are by the same clock, but a line may be printed late.
_SAME_HOST = 5.0
#: Clocks of hosts that nobody keeps in step.
_HOSTS = 600.0


def of_this_run(scans: Iterable[LogScan], records: Records) -> LogEvidence:
    """What the logs say about the run that the dumps are of. Where no dump has a time, that is all they say."""
    times = recorded(records)
    if times is None:
        return combine(scans)
    kept: list[LogScan] = []
    aside: list[Aside] = []
    for scan in scans:
        rest, found = _sorted_out(scan, times)
        kept += [rest] if rest is not None else []
        aside += [found] if found is not None else []
    evidence = combine(kept, times.world)
    east = ahead(kept, records, times.first, times.last)
    ends = [_judged(end, times, east) for end in evidence.ends]
    rows = [_held_against(row, times) for row in evidence.groups]
    return replace(
        evidence,
        groups=tuple(row for row in rows if row.outrun is None),
        outrun=tuple(row for row in rows if row.outrun is not None),
        ends=tuple(end for end in ends if not end.lived),
        handled=(*evidence.handled, *(end for end in ends if end.lived)),
        aside=tuple(sorted((*aside, *evidence.aside), key=lambda one: one.source)),
        recorded=(times.first, times.last),
    )


def _sorted_out(scan: LogScan, times: Recorded) -> tuple[LogScan | None, Aside | None]:
    """A scan without what is not of the time of the dumps (None: nothing is left), and what that is."""
    judged = [(event, _why(event, times)) for event in scan.events]
    others = [event for event, why in judged if why]
    whole = _whole(scan, times) if len(others) == len(scan.events) else ""
    if whole and scan.first is not None and scan.last is not None:
        between = scan.last.text if scan.first.text == scan.last.text else f"{scan.first.text} to {scan.last.text}"
        text = f"{whole}: its lines are of {between}, the dumps' records of {_recorded(times)}"
        return None, Aside(scan.source, scan.shown, _ranks(scan), text, later=whole == _AFTER and _tells(scan.events))
    if not others:
        return scan, None
    first, why = next((event.line, why) for event, why in judged if why)
    lines = count(len({event.line.number for event in others}), "line")
    text = (
        f"{lines} set aside, {why}: line {first.number:,} was printed {first.printed}, "
        f"the dumps' records are of {_recorded(times)}"
    )
    ranks = tuple(sorted({event.who.rank for event in others if event.who.rank is not None}))
    rest = tuple(event for event, why in judged if not why)
    # Whom lines of another run name is no rank of this one for that.
    named = tuple(sorted({event.who.rank for event in rest if event.who.rank is not None}))
    rest_of_it = replace(
        scan, events=rest, again=tuple(event for event in scan.again if not _why(event, times)), ranks=named,
        tasks=tuple(sorted({event.who.task for event in rest if event.who.task is not None})),
    )  # fmt: skip
    later = _tells(event for event, why in judged if why == _AFTER)
    return rest_of_it, Aside(scan.source, scan.shown, ranks or _ranks(scan), text, first, later)


def _tells(events: Iterable[Event]) -> bool:
    """Whether any of them is about a hang or an end, and not what holds for every run."""
    return any(not isinstance(event, _FACTS) for event in events)


def _why(event: Event, times: Recorded) -> str:
    return _not_of(event.line.printed, times, fact=isinstance(event, _FACTS))


def _recorded(times: Recorded) -> str:
    return span(times.first, times.last)


def _ranks(scan: LogScan) -> tuple[int, ...]:
    return (scan.path_rank,) if scan.path_rank is not None else scan.ranks


def _earlier(stamp: Stamp | None, than: float | None, times: Recorded) -> bool:
    if stamp is None or than is None:
        return False
    return stamp.moment(times.first, times.last) + ZONES < than


def _later(stamp: Stamp | None, times: Recorded) -> bool:
    """Whether nobody can still have waited then: a wait ends with its time-out."""
    return stamp is not None and stamp.moment(times.first, times.last) - ZONES > times.last + times.patience


def _not_of(printed: Printed, times: Recorded, *, fact: bool) -> str:
    """Why a line says nothing of what the dumps show, in a phrase; "" where it may.

    By its own time; else by that of the line after it, and by that of the one before it. The line before says only that this
    one came later, perhaps much later: most ranks print nothing while all goes well. So it is held against the beginning of the
    run, and so is what is a ``fact`` of a whole run: a full ring buffer holds the run's end alone.
    """
    near = printed.own or printed.after
    if _earlier(near, times.began, times) or (printed.own is None and _earlier(printed.before, times.began, times)):
        return _ANOTHER
    if not fact and _earlier(near, times.first, times):
        return _BEFORE
    return _AFTER if _later(printed.own or printed.before, times) else ""


def _whole(scan: LogScan, times: Recorded) -> str:
    """The same of a whole log. What it holds without a time came after its last one."""
    if _earlier(scan.last, times.began, times):
        return _ANOTHER
    if times.began is None and _earlier(scan.last, times.first, times):
        return _BEFORE
    return _AFTER if _later(scan.first, times) else ""


def _held_against(row: GroupByLog, times: Recorded) -> GroupByLog:
    """A rank's counters, marked where others completed calls with it that they do not reach: then they are older than these.

    That needs no clock. A send or a receive takes a number of its own, which falls behind in the same way.
    """
    reached = times.reached(row.rank, row.name, row.desc)
    newest = max((n for n in (row.enqueued, row.timed_out_seq) if n is not None), default=None)
    return replace(row, outrun=reached) if reached is not None and newest is not None and newest < reached else row


def _judged(end: ProcessEnd, times: Recorded, east: float | None) -> ProcessEnd:
    """An end, marked where its rank went on afterwards: by requests in its own dump, or calls that others completed with it.

    ``east``: how far clocks that print no zone are ahead of UTC, where a line beside the dumps fixes it.
    """
    stamp = end.line.printed.own or end.line.printed.after
    if stamp is None:
        return end
    unknown = 0.0 if stamp.zone is not None else ZONES if east is None else -east
    at = stamp.moment(times.first, times.last) + unknown
    own, others = times.asked.get(end.rank), times.answered(end.rank)
    if own is not None and own > at + _SAME_HOST:
        return replace(end, lived=f"it requested calls until {span(own, own)}, after that")
    if others is not None and others > at + _HOSTS:
        return replace(end, lived=f"others completed a call of {span(others, others)} with it, after that")
    return end
