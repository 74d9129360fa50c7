"""Logs to which several runs were appended: what is of an earlier run is left out, the newest is what counts.

Folders are used again, Slurm requeues a job into the same file, a launcher starts its workers again. Numbers of calls begin
anew then, so a line of one run beside a line of another says nothing true. A new start is shown by what a process prints
once, by its launcher, or by a wait that began after another one of the same rank had timed out. Within a file the order of
lines and one clock decide; another file's lines are of an earlier run where their times lie in one that such a file shows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from hangview.logs.cuts import CANCELLED, DYING, RESTART, ROWS, Clock, cuts_of, in_order, may_hold_several, process_of
from hangview.logs.events import ChildFailed, Fatal, KernelKill, Left, Raised, Said, StackSeen, SummaryEntry, TaskEnd
from hangview.logs.evidence import Aside
from hangview.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.logs.cuts import Cut, Key
    from hangview.logs.events import Event, LogScan
    from hangview.logs.times import Stamp

#: What tells of a run that hangs or ends; other lines alone do not make it the one that counts.
_TELLING = (*ROWS, Raised, Fatal, ChildFailed, SummaryEntry, TaskEnd, KernelKill, StackSeen)
#: Facts that say how one run went; others hold for the next one as well, until it says something else.
_OF_A_RUN = frozenset({"nccl_warning", "desync_report", RESTART, CANCELLED})
#: Of an earlier run: whether its times have a zone, from when to when it lasted.
_Span: TypeAlias = tuple[bool, float, float]


def newest(scans: Sequence[LogScan]) -> tuple[tuple[LogScan, ...], tuple[Aside, ...]]:
    """The scans with what is of the newest run alone, and one line for each file that holds more."""
    if not any(may_hold_several(scan) for scan in scans):
        return tuple(scans), ()
    clock = Clock(scans)
    cuts = cuts_of(scans, clock)
    found = [cut for whole, own in cuts.values() for cut in (whole, *own.values()) if cut is not None]
    if not found:
        return tuple(scans), ()
    spans = {(cut.zoned, cut.first, cut.since) for cut in found if cut.since is not None and cut.first is not None}
    kept, aside = [], []
    restarts = [(cut.zoned, cut.since) for cut in found if cut.restart and cut.since is not None]
    for scan in scans:
        whole, own = cuts[scan.source]
        earlier = {id(event) for event in (*scan.events, *scan.again) if _is_earlier(event, scan, whole, own, spans, clock)}
        earlier |= _of_no_time(scan, whole, own, spans, clock)
        if whole is None and not own:
            earlier |= _before_restart(scan, restarts, clock)
        if whole is not None and whole.restart:
            earlier -= _of_attempts(scan, whole)
        rest = _without(scan, earlier)
        kept.append(rest)
        if gone := [event for event in scan.events if id(event) in earlier and isinstance(event, _TELLING)]:
            aside.append(_aside(scan, gone, whole or next(iter(own.values()), None)))
    if not any(isinstance(event, _TELLING) for scan in kept for event in scan.events):
        return tuple(scans), ()  # nothing is known of a newer run: then it is not the one that is looked at
    return tuple(kept), tuple(aside)


def _is_earlier(
    event: Event,
    scan: LogScan,
    whole: Cut | None,
    own: Mapping[Key, Cut],
    spans: Iterable[_Span],
    clock: Clock,
) -> bool:
    key = process_of(event, scan)
    mine = own.get(key) if key is not None else None
    cut = max((cut for cut in (whole, mine) if cut is not None), key=lambda cut: cut.line, default=None)
    before = cut is not None and event.line.number < cut.line
    if before and cut is not None and cut.over is not None and not isinstance(event, ROWS) and event.line.number > cut.over:
        before = False
    stamp, near = event.line.printed.own, event.line.printed.before
    about = stamp or (near if isinstance(event, ROWS) else None)  # the watchdog's last words bear no time
    if about is not None:
        at, zoned = clock.at(about), about.zone is not None
        # What a process's own lines say of it goes before times, which hosts may print in several zones.
        known = mine.since if mine is not None and not before else None
        if _lies_in(at, (span for span in spans if known is None or known < span[2]), zoned=zoned):
            return True
    if stamp is not None:
        if cut is None or cut.since is None or cut.zoned != zoned:
            return before
        ending = isinstance(event, ROWS) and cut.since - DYING <= at <= cut.since + cut.dying and cut.dying > 0
        return at <= cut.since if before else ending
    if before and cut is not None and cut.since is not None and near is not None and (near.zone is not None) == cut.zoned:
        return clock.at(near) <= cut.since
    return before


def _lies_in(at: float, spans: Iterable[_Span], *, zoned: bool) -> bool:
    """Whether a moment is of an earlier run; times with a zone and without one are not compared."""
    return any(kind == zoned and first <= at <= since for kind, first, since in spans)


def _of_no_time(scan: LogScan, whole: Cut | None, own: Mapping[Key, Cut], spans: Iterable[_Span], clock: Clock) -> set[int]:
    """What was raised without a time, after a line of an earlier run: it may be of that one, and then tells nothing of the
    newest. Not where its process had waited in that one: that had got so far."""
    found: set[int] = set()
    waited: set[Key | None] = set()
    left = _left(scan)
    for event in in_order(scan):
        key = process_of(event, scan)
        if isinstance(event, ROWS):
            waited.add(key)
        if not isinstance(event, (Raised, Fatal)) or event.line.printed.own is not None or key is None or key in waited:
            continue
        cut = own.get(key) or whole
        near = _near(event, left.get(key, ()))
        if near is None or (cut is not None and event.line.number >= cut.line):
            continue
        if _lies_in(clock.at(near), spans, zoned=near.zone is not None):
            found.add(id(event))
    return found


def _left(scan: LogScan) -> dict[Key, list[Left]]:
    found: dict[Key, list[Left]] = defaultdict(list)
    for event in scan.events:
        if isinstance(event, Left) and (key := process_of(event, scan)) is not None:
            found[key].append(event)
    return found


def _near(event: Event, left: Iterable[Left]) -> Stamp | None:
    """The time of what was raised: its own, or that at which its process says behind it that it leaves, else that before it."""
    own, after = event.line.printed.own, event.line.printed.after
    if own is not None:
        return own
    gone = next((other.line.printed.own for other in left if other.line.number > event.line.number), None)
    return gone if gone is not None and after is not None and gone.text == after.text else event.line.printed.before


def _before_restart(scan: LogScan, restarts: Iterable[tuple[bool, float]], clock: Clock) -> set[int]:
    """What was raised before a launcher started the workers again, by the times of the lines around it. Another file tells of
    the launcher, perhaps by another clock: where one of the times is missing, it may be of the newest run."""
    found: set[int] = set()
    left = _left(scan)
    for event in in_order(scan):
        key, after = process_of(event, scan), event.line.printed.after
        if not isinstance(event, (Raised, Fatal)) or key is None or after is None:
            continue
        near = _near(event, left.get(key, ()))
        if near is None or (near.zone is None) != (after.zone is None):
            continue
        at, later, kind = clock.at(near), clock.at(after), near.zone is not None
        if any(zoned == kind and at < since < later for zoned, since in restarts):
            found.add(id(event))
    return found


def _of_attempts(scan: LogScan, cut: Cut) -> set[int]:
    """Ends that the launcher's own lines tell apart by attempts: those are told of as ends of an earlier one."""
    failed = [event.line.number for event in scan.events if isinstance(event, ChildFailed)]
    if not any(line < cut.line for line in failed) or not any(line >= cut.line for line in failed):
        return set()
    ends = (Raised, Fatal, ChildFailed, SummaryEntry)
    return {id(event) for event in (*scan.events, *scan.again) if isinstance(event, ends)}


def _without(scan: LogScan, earlier: set[int]) -> LogScan:
    """A scan without these events. What its file says again in the newest run comes in their stead."""
    if not earlier:
        return scan
    events = [event for event in scan.events if id(event) not in earlier]
    kept = {_what(event) for event in events}
    events += [event for event in scan.again if id(event) not in earlier and _what(event) not in kept]
    names = {event.name for event in events if isinstance(event, Said)}
    events += [
        event
        for event in scan.events
        if id(event) in earlier and isinstance(event, Said) and event.name not in names | _OF_A_RUN
    ]
    cancelled = [event.line.number for event in events if isinstance(event, Said) and event.name == CANCELLED]
    events = [
        replace(event, after_cancel=any(line < event.line.number for line in cancelled))
        if isinstance(event, TaskEnd) and event.after_cancel
        else event
        for event in events
    ]
    return replace(scan, events=tuple(sorted(events, key=lambda event: event.line.number)))


def _what(event: Event) -> tuple[object, ...]:
    """What makes two events say the same: the place apart."""
    if isinstance(event, Raised):
        return (Raised, event.who, event.type, event.message, event.frames)
    if isinstance(event, Said):
        return (Said, event.who, event.name, event.value)
    return (type(event), event.who, getattr(event, "seq", None), getattr(event, "rank", None), event.line.text)


def _aside(scan: LogScan, gone: Sequence[Event], cut: Cut | None) -> Aside:
    lines = sorted({event.line.number: event.line for event in gone}.values(), key=lambda line: line.number)
    printed = lines[0].printed
    when = f", printed {printed}" if printed.known else ""
    text = f"{count(len(lines), 'line')} set aside, of an earlier run: the first is line {lines[0].number:,}{when}"
    if cut is not None:
        text = f"holds more than one run, the newest from line {cut.line:,} on ({cut.why}); {text}"
    else:
        text += "; other logs go on to a newer one"
    named = {event.who.rank for event in gone if event.who.rank is not None}
    ranks = tuple(sorted(named)) or ((scan.path_rank,) if scan.path_rank is not None else ())
    return Aside(scan.source, scan.shown, ranks, text, lines[0])
