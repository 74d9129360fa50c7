"""What logs say, in a few words: positions and ends of processes, all from ``rank_<n>.log``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hangview.logs.evidence import EndKind, GroupByLog, LogEvidence, LogLine, LogRead, ProcessEnd
from hangview.schema import Source, SourceKind, SourceStatus
from tests.engine.support import WORLD

if TYPE_CHECKING:
    from tests.engine.support import Pg

#: Index of rank 0's log in the sources; far behind all dumps.
FIRST = 1000


def log_file(rank: int) -> Source:
    return Source(f"rank_{rank}.log", SourceKind.LOG, SourceStatus.READ, rank=rank)


def stands(
    rank: int,
    enqueued: int | None,
    completed: int | None,
    *,
    group: Pg = WORLD,
    timed_out: int | None = None,
    named: bool = True,
) -> GroupByLog:
    """Where a rank stood in one group by its own log; ``named``: the line gives the group's name."""
    return GroupByLog(
        rank=rank,
        name=group.name if named else None,
        desc=group.desc,
        enqueued=enqueued,
        completed=completed,
        timed_out_seq=timed_out,
        timed_out_op="all_reduce" if timed_out else None,
        numel_in=None,
        numel_out=None,
        line=LogLine(FIRST + rank, 12, "watchdog line"),
    )


def end(rank: int, what: str = "ValueError: shard_3.bin", kind: EndKind = EndKind.EXCEPTION, **rest: Any) -> ProcessEnd:
    """An exception outside any collective, unless ``rest`` says otherwise."""
    rest = {"before_communication": True, "follower": False, **rest}
    return ProcessEnd(rank=rank, what=what, kind=kind, line=LogLine(FIRST + rank, 30, what), **rest)


def logs(*said: GroupByLog | ProcessEnd) -> LogEvidence:
    found = sorted({one.rank for one in said})
    return LogEvidence(
        groups=tuple(one for one in said if isinstance(one, GroupByLog)),
        ends=tuple(one for one in said if isinstance(one, ProcessEnd)),
        ranks=tuple(found),
        attempt=1,
        logs=tuple(LogRead(FIRST + r, f"rank_{r}.log", 1, 100, 1, r) for r in found),
    )
