"""Starts of the job told apart by the times of calls that cannot be one call.

A call that needs every member is over on no rank before the last one has requested it. Where it was, by more than the clocks
of one cluster differ, the two files tell of two calls, and so of two starts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Nanoseconds by which two ranks' times of one call may differ. A clock that is off by an hour (summer time, a zone) is
#: legal.
SKEW = 90 * 60 * 1_000_000_000
#: Clocks of hosts that are kept in step differ by less. What is further apart is another start, unless it is so by the same at
#: every call, as a clock that is off is.
NEAR = 5 * 60 * 1_000_000_000
#: How far the times of the calls that two files share may be from one constant difference, and it be a clock's.
FIT = 2 * 1_000_000_000
_DEFAULT_TIMEOUT_MS = 600_000


@dataclass(frozen=True, slots=True)
class Dump:
    """What is needed of one dump. ``label``: the attempt that its folder names."""

    source: int
    rank: int
    label: int | None
    default: tuple[int, ...] | None
    oldest_ns: int | None
    newest_ns: int | None
    folder: str  #: as shown, and the file's name without its rank: what files of one collection have in common


def newest_ns(dumps: Iterable[Dump]) -> int | None:
    return max((dump.newest_ns for dump in dumps if dump.newest_ns is not None), default=None)


def rating(part: list[Dump]) -> tuple[int, int, int]:
    """The newer part, then the larger one, then the one with the lowest rank."""
    return newest_ns(part) or 0, len(part), -min(dump.rank for dump in part)


def by_time(dumps: list[Dump], entries: Callable[[], pl.DataFrame], joining: set[int]) -> list[list[Dump]]:
    """Apart by calls that cannot be one call, and by calls that came long after a member's last sign of life."""
    oldest = min((dump.oldest_ns for dump in dumps if dump.oldest_ns is not None), default=0)
    long = (newest_ns(dumps) or 0) - oldest > SKEW
    if not long and not _apart(dumps):
        return [dumps]
    calls = _joined_calls(entries(), [dump.source for dump in dumps], joining)
    parts = _without_late(_components(dumps, calls, SKEW), calls) if long else [dumps]
    return [piece for part in parts for piece in (_without_leftovers(part, calls) if _apart(part) else [part])]


def _apart(dumps: list[Dump]) -> bool:
    """Whether the newest records of some are long before those of others."""
    newest = [dump.newest_ns for dump in dumps if dump.newest_ns is not None]
    return bool(newest) and max(newest) - min(newest) > NEAR


def _joined_calls(entries: pl.DataFrame, sources: list[int], joining: set[int]) -> pl.DataFrame:
    """Finished calls that need every member: source, group, seq, begin, done (null where not recorded) and end: no later than
    the time-out."""
    end = pl.coalesce("completed_ns", pl.col("created_ns") + pl.coalesce("timeout_ms", _DEFAULT_TIMEOUT_MS) * 1_000_000)
    return entries.filter(
        pl.col("source").is_in(sources)
        & pl.col("group").is_not_null()
        & pl.col("op").is_in(sorted(joining))
        & ~pl.col("is_p2p")
        & ((pl.col("state") == 2) | pl.col("retired"))
        & pl.col("created_ns").is_not_null()
        & pl.col("seq").is_not_null()
    ).select(
        "source",
        "group",
        "seq",
        begin=pl.col("created_ns"),
        done=pl.col("completed_ns"),
        end=pl.max_horizontal(end, "created_ns"),
    )


def _components(dumps: list[Dump], calls: pl.DataFrame, tolerance: int) -> list[list[Dump]]:
    """Join dumps that share a call; calls that are too far apart in time are different calls.

    Dumps that share nothing with any other stay together with the newest: nothing separates them.
    """
    ordered = calls.sort("group", "seq", "begin").with_columns(
        gap=(pl.col("begin") - pl.col("end").cum_max().shift(1).over("group", "seq")) > tolerance
    )
    ordered = ordered.with_columns(turn=pl.col("gap").fill_null(value=False).cum_sum().over("group", "seq"))
    if not ordered["turn"].max():
        return [dumps]
    edges = (
        ordered.select("source", other=pl.col("source").first().over("group", "seq", "turn")).unique().sort("source", "other")
    )
    parent = {dump.source: dump.source for dump in dumps}

    def root(source: int) -> int:
        while parent[source] != source:
            parent[source] = parent[parent[source]]
            source = parent[source]
        return source

    for source, other in edges.iter_rows():
        a, b = root(source), root(other)
        parent[max(a, b)] = min(a, b)
    joined = set(ordered["source"].unique().to_list())
    parts: dict[int, list[Dump]] = defaultdict(list)
    alone: list[Dump] = []
    for dump in dumps:
        (parts[root(dump.source)] if dump.source in joined else alone).append(dump)
    merged = _merge_near(list(parts.values()), tolerance)
    max(merged, key=rating).extend(alone)
    return merged


def _merge_near(parts: list[list[Dump]], tolerance: int) -> list[list[Dump]]:
    """Parts that share no call with each other but are of one time are of one start (groups without common members)."""
    parts.sort(key=lambda part: newest_ns(part) or 0)
    out: list[list[Dump]] = []
    for part in parts:
        last = newest_ns(out[-1]) if out else None
        if last is not None and (newest_ns(part) or 0) - last <= tolerance:
            out[-1].extend(part)
        else:
            out.append(part)
    return out


def _without_late(parts: list[list[Dump]], calls: pl.DataFrame) -> list[list[Dump]]:
    """Take out dumps whose last sign of life is long before calls that others completed with them.

    They were written by an earlier start, or long before the others: either way they say nothing of this hang.
    """
    out: list[list[Dump]] = []
    for part in parts:
        mine = calls.filter(pl.col("source").is_in([dump.source for dump in part]))
        reach = mine.group_by("group").agg(
            seq=pl.col("seq").max(), begin=pl.col("begin").filter(pl.col("seq") == pl.col("seq").max()).min()
        )
        own = mine.group_by("group", "source").agg(own=pl.col("seq").max())
        newest = pl.DataFrame(
            {"source": [d.source for d in part], "newest": [d.newest_ns for d in part]},
            schema={"source": pl.UInt32, "newest": pl.Int64},
        )
        late = (
            own.join(reach, on="group")
            .join(newest, on="source")
            .filter((pl.col("own") < pl.col("seq")) & (pl.col("begin") - pl.col("newest") > SKEW))
        )
        behind = set(late["source"].to_list())
        rest = [dump for dump in part if dump.source not in behind]
        out.append(rest)
        if behind:
            out += _merge_near([[dump] for dump in part if dump.source in behind], SKEW)
    return [part for part in out if part]


def _without_leftovers(dumps: list[Dump], calls: pl.DataFrame) -> list[list[Dump]]:
    """Take out dumps that the start before left behind: who did not dump again has its old file.

    Each call that such a file shares with the newest ones was over in it long before these requested it. So it would be where a
    host's clock is behind; but then by the same at every call.
    """
    parts = _components(dumps, calls, NEAR)
    newest = max(parts, key=rating)
    now = _of(newest, calls)
    left = [part for part in parts if part is not newest and not _one_run(_of(part, calls), now)]
    gone = {dump.source for part in left for dump in part}
    return [[dump for dump in dumps if dump.source not in gone], *left]


def _of(part: list[Dump], calls: pl.DataFrame) -> pl.DataFrame:
    return calls.filter(pl.col("source").is_in([dump.source for dump in part]))


def _one_run(older: pl.DataFrame, newer: pl.DataFrame) -> bool:
    """Whether calls far apart in time are one run's all the same, on hosts whose clocks differ. True where they share none."""
    call = ["group", "seq"]
    one = older.join(newer, on=call, how="semi").group_by("source").len().sort("len", "source", descending=[True, False])
    if one.is_empty():
        return True
    both = older.filter(pl.col("source") == one["source"][0]).join(newer, on=call, suffix="_newer")
    off = pl.coalesce(pl.col("done_newer") - pl.col("done"), pl.col("begin_newer") - pl.col("begin"))
    # Every host has a clock of its own: two files are compared, those that have most calls in common.
    pairs = both.group_by("source_newer").agg(pl.len(), spread=off.quantile(0.9, "higher") - off.quantile(0.1, "lower"))
    spread: int = pairs.sort("len", "source_newer", descending=[True, False])["spread"][0]
    return spread <= FIT
