"""Times without a zone, held against each other and against the dumps' times.

Hosts of one job mostly print in one zone. A watchdog's line fixes which: it says for how long the call had run that the rank's
dump holds with the time of its request. Without dumps lines of one kind of clock can still be held against each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import Caught
from hangview.logs.evidence import EndKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.logs.events import LogScan
    from hangview.logs.evidence import GroupByLog, ProcessEnd
    from hangview.logs.times import Stamp
    from hangview.schema import Records

#: Zones lie a multiple of 15 minutes from UTC, 12 hours west to 14 hours east of it.
_STEP = 900
_WEST, _EAST = -12 * 3600, 14 * 3600
#: The watchdog looks once a second or so, and clocks of the hosts are not the same.
_OFF = 30.0
#: An exception so long before the others began to wait is none that they wait because of: they had called with its rank since.
LONG = 3600.0
_RAISED = frozenset({EndKind.EXCEPTION, EndKind.DEVICE})


def ahead(scans: Iterable[LogScan], records: Records, first: float, last: float) -> float | None:
    """How many seconds clocks that print no zone are ahead of UTC, by all watchdog lines about calls that the dumps hold; None
    where there is no such line, or where they do not agree. ``first`` and ``last`` are the dumps' times, Unix seconds."""
    began: dict[tuple[int, int], set[float]] = {}
    for scan in scans:
        for event in scan.events:
            rank = event.who.rank if event.who.rank is not None else scan.path_rank
            stamp = event.line.printed.own
            if isinstance(event, Caught) and rank is not None and event.ran_ms is not None and stamp and stamp.zone is None:
                began.setdefault((rank, event.seq), set()).add(stamp.moment(first, last) - event.ran_ms / 1000)
    if not began:
        return None
    found: set[int] | None = None
    for place, requested in _requests(records, began).items():
        fitting = {step for at in began[place] for made in requested for step in _steps(at - made)}
        if fitting:
            found = fitting if found is None else found & fitting
    return float(next(iter(found))) if found is not None and len(found) == 1 else None


def _steps(difference: float) -> Iterable[int]:
    step = round(difference / _STEP) * _STEP
    return (step,) if abs(difference - step) <= _OFF and _WEST <= step <= _EAST else ()


def _requests(records: Records, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], list[float]]:
    """When ranks requested their call of a number, in whatever group: (rank, seq) -> Unix seconds."""
    import polars as pl

    wanted = pl.DataFrame(sorted(places), schema=["rank", "seq"], orient="row")
    rows = records.entries.lazy().filter(~pl.col("is_p2p") & pl.col("created_ns").is_not_null())
    rows = rows.select(pl.col("rank").cast(pl.Int64), pl.col("seq").cast(pl.Int64), "created_ns")
    out: dict[tuple[int, int], list[float]] = {}
    for rank, seq, at in wanted.lazy().join(rows, on=["rank", "seq"]).collect().iter_rows():
        out.setdefault((rank, seq), []).append(at / 1e9)
    return out


def long_before(ends: Iterable[ProcessEnd], rows: Sequence[GroupByLog]) -> tuple[ProcessEnd, ...]:
    """Ends, marked where they were raised so long before others began to wait that these had called with the rank since."""
    waits = [row for row in rows if row.timed_out and row.ran_ms is not None and row.line.printed.own is not None]
    return tuple(_marked(end, [row for row in waits if row.rank != end.rank]) for end in ends)


def _marked(end: ProcessEnd, waits: Sequence[GroupByLog]) -> ProcessEnd:
    stamp = end.line.printed.own or end.line.printed.after
    if stamp is None or end.kind not in _RAISED or end.follower or end.beside:
        return end
    ended = [(row.line.printed.own, (row.ran_ms or 0) / 1000) for row in waits]
    gaps = [_gap(stamp, at, ran) for at, ran in ended if at is not None and (at.zone is None) == (stamp.zone is None)]
    if len(gaps) != len(ended) or not gaps or min(gaps) < LONG:
        return end
    ranks = sorted({row.rank for row in waits})
    return replace(end, lived=f"rank {ranks[0]} began to wait {min(gaps) / 3600:.1f} h after that")


def _gap(stamp: Stamp, other: Stamp, ran: float) -> float:
    """Seconds from one time to the beginning of a wait that ended at the other; years are taken from the one that has one."""
    dated = stamp if stamp.days[0][0] is not None else other
    base = dated.moment(0.0, 0.0)
    return other.moment(base, base) - ran - stamp.moment(base, base)
