"""What the logs tell the worksheet: versions with how certain they are, places, settings, time-outs, announced dumps."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.logs.events import Caught, CommInit, DumpLine, Said, Status, SummaryEntry, TaskEnd, TimedOut
from hangview.logs.evidence import DumpByLog, Place, StatusFrom
from hangview.terms import Fact
from hangview.text import escape, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs.events import Event, LogScan
    from hangview.logs.evidence import GroupByLog, LogLine
    from hangview.logs.resolve import Resolver

#: Source line of "Watchdog caught" by torch version, as seen in public logs: a hint, site builds differ.
_BY_SOURCE_LINE = {
    821: "1.13", 828: "2.0", 457: "2.1", 458: "2.1", 467: "2.1", 474: "2.1", 475: "2.1", 523: "2.2", 563: "2.3", 607: "2.4",
    616: "2.5", 629: "2.6", 632: "2.7", 683: "2.8-2.9",
}  # fmt: skip

#: Said for the runs to be told apart by.
_TOLD_ELSEWHERE = frozenset({"restart", "cancelled"})
_NCCL2 = "2.14 or newer (nccl2)"


def collect(
    events: Sequence[Event], scans: Sequence[LogScan], resolver: Resolver, rows: Sequence[GroupByLog], places: Sequence[Place]
) -> tuple[Fact, ...]:
    """All facts, by name, value and ranks."""
    shown = {scan.source: scan.shown for scan in scans}
    found: dict[tuple[str, str], tuple[set[int], LogLine, str]] = {}

    def add(name: str, value: str, rank: int | None, line: LogLine, how: str) -> None:
        ranks, _, _ = found.setdefault((name, shorten(escape(value), 300)), (set(), line, how))
        if rank is not None:
            ranks.add(rank)

    for event in events:
        rank = resolver.of(event).rank
        if isinstance(event, Said) and event.name not in _TOLD_ELSEWHERE:
            add(event.name, event.value, rank, event.line, "printed")
        elif isinstance(event, Caught) and event.timeout_ms is not None:
            add("timeout", f"{event.timeout_ms} ms", rank, event.line, "limit of the work that timed out")
        elif isinstance(event, DumpLine) and event.path is not None and event.what in ("path", "finished"):
            add(
                "dump_path", event.path, rank, event.line, "announced" if event.what == "path" else "written, by the rank's log"
            )
        elif isinstance(event, SummaryEntry) and event.host is not None:
            add("host", event.host, event.rank, event.line, "the launcher's summary")
        elif isinstance(event, TaskEnd) and event.host is not None:
            for task in event.tasks:
                add("host", event.host, resolver.of_task(task).rank, event.line, "Slurm's line about the task")
    for row in rows:
        backend = "nccl2" if row.status_from is StatusFrom.NCCL2 else "nccl"
        add("backend", backend, row.rank, row.line, "wording of the watchdog's lines")
    for place in places:
        if place.host is not None:
            add("host", place.host, place.rank, place.line, "NCCL's or the launcher's line")
        if place.device is not None:
            device = f"cuda:{place.device}" + (f" (bus {place.bus_id})" if place.bus_id else "")
            add("device", device, place.rank, place.line, "NCCL's init line")
    facts = [
        Fact(name, value, tuple(sorted(ranks)), f"{how} ({shown[line.source]}, line {line.number:,})")
        for (name, value), (ranks, line, how) in found.items()
    ]
    if not any(fact.name == "torch" for fact in facts):
        guess = torch_by_wording(events, scans)
        if guess is not None:
            facts.append(guess)
    facts += _attempts(resolver)
    return tuple(sorted(facts, key=lambda fact: (fact.name, fact.ranks, fact.value)))


def _attempts(resolver: Resolver) -> list[Fact]:
    known = resolver.attempts.known
    if len(known) < 2:
        return []
    value = f"{', '.join(map(str, known))}; the last one is {resolver.attempts.current}"
    return [Fact("attempts", value, (), "torchrun's folders and the launcher's lines about failed processes")]


def torch_by_wording(events: Sequence[Event], scans: Sequence[LogScan]) -> Fact | None:
    """The torch version by which lines exist and how they are worded; a range, and a hint from source line numbers."""
    shown = {scan.source: scan.shown for scan in scans}
    for event in events:
        if isinstance(event, TimedOut):
            return Fact(
                "torch",
                _NCCL2,
                (),
                f"by the wording of the watchdog's lines ({shown[event.line.source]}, line {event.line.number:,})",
            )
    works = [event for event in events if isinstance(event, Caught)]
    if not works:
        return None
    low, high = _range(works[0], events)
    value = low if low == high else f"{low} to {high}"
    hint = next((event for event in works if event.source_line in _BY_SOURCE_LINE), None)
    if hint is not None and _BY_SOURCE_LINE[hint.source_line] != value:
        value += f"; source line {hint.source_line} is that of {_BY_SOURCE_LINE[hint.source_line]}"
    line = works[0].line
    return Fact(
        "torch",
        value,
        (),
        f"by the wording of the watchdog's lines; site builds differ ({shown[line.source]}, line {line.number:,})",
    )


def _range(first: Caught, events: Sequence[Event]) -> tuple[str, str]:
    """Oldest and newest version whose lines are worded like these."""
    statuses = [event for event in events if isinstance(event, Status) and not event.signal and event.enqueued is not None]
    texts = [event.line.text for event in statuses]
    if any("last started work" in text for text in texts):
        return "2.13", "2.15"
    if any("failure detected by watchdog" in text for text in texts):
        return "2.7" if any(isinstance(event, DumpLine) and event.what == "first" for event in events) else "2.6", "2.12"
    if any("[PG ID " in text for text in texts):
        return "2.5", "2.5"
    if statuses:
        return ("2.4", "2.4") if first.at is not None else ("2.3", "2.3")
    if first.at is not None:
        return "2.4", "2.15"
    if first.who.rank is not None:
        return "2.2", "2.3"
    return ("2.1", "2.1") if first.numel_in is not None else ("1.12", "2.0")


def collect_dumps(events: Sequence[Event], resolver: Resolver) -> tuple[DumpByLog, ...]:
    """What each rank of the current attempt says about its dump."""
    by_rank: dict[int, list[DumpLine]] = defaultdict(list)
    for event in events:
        rank = resolver.of(event).rank
        if isinstance(event, DumpLine) and rank is not None and resolver.attempts.of(event) == resolver.attempts.current:
            by_rank[rank].append(event)
    made = []
    for rank, lines in sorted(by_rank.items()):
        said = {line.what for line in lines}
        path = next((line.path for line in lines if line.path is not None), None)
        finished = True if "finished" in said else False if "failed" in said else None
        sender = next((line.signal_from for line in lines if line.signal_from is not None), None)
        made.append(DumpByLog(rank, bool(said & {"began", "path", "finished"}), path, finished, sender, lines[-1].line))
    return tuple(made)


def collect_places(events: Sequence[Event], resolver: Resolver) -> tuple[Place, ...]:
    """Host, local rank, pid and device of each rank, from NCCL's init lines, the launcher's summary and Ray's prefix."""
    places: dict[int, Place] = {}
    for event in events:
        if isinstance(event, CommInit):
            rank = resolver.of_pid(event.who.pid).rank
            if rank is not None and (rank not in places or places[rank].device is None):
                places[rank] = Place(
                    rank, event.who.host, None, event.who.pid, event.device, event.bus_id, event.line, "NCCL's init line"
                )
        elif isinstance(event, SummaryEntry) and event.rank is not None:
            kept = places.get(event.rank)
            device, bus_id = (kept.device, kept.bus_id) if kept else (None, None)
            places[event.rank] = Place(
                event.rank, event.host, event.local, event.pid, device, bus_id, event.line, "the launcher's summary"
            )
        elif event.who.host is not None and event.who.rank is not None and event.who.rank not in places:
            places[event.who.rank] = Place(
                event.who.rank, event.who.host, None, event.who.pid, None, None, event.line, "prefix of the line"
            )
    return tuple(places[rank] for rank in sorted(places))
