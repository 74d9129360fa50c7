"""Which start of the job a dump belongs to, when dumps of several lie in one place.

A restarted job leaves the files of earlier starts behind. They are told apart by the folder (``attempt_1/``), by default groups
that overlap and yet differ (another world size), and by time: calls that need every member were completed by two ranks at
times too far apart to be one call. Clocks of hosts differ, so up to :data:`SKEW` is taken for a clock; the time of a file on
disk says nothing (copies). Where nothing separates two dumps they count as one start.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: Nanoseconds by which two ranks' times of one call may differ. A clock that is off by an hour (summer time, a zone) is
#: legal.
SKEW = 90 * 60 * 1_000_000_000
#: A call of these families completes on one rank only when all others have requested it.
JOINING = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
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


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the job: its number, its dumps (sources), and why it is (not) the current one."""

    number: int
    sources: tuple[int, ...]
    ranks: tuple[int, ...]
    current: bool
    reason: str | None


def separate(
    dumps: Sequence[Dump],
    entries: Callable[[], pl.DataFrame],
    joining_ops: Iterable[int],
    clash: Callable[[int, int], bool],
    wanted: int | None,
) -> list[Start]:
    """Sort dumps into starts of the job, oldest first.

    ``entries`` is called only where times are far enough apart to tell. Its frame needs ``source``, ``group`` (an id that is
    equal on two dumps only for groups of the same name and members, null where these are not known), ``op``, ``seq``,
    ``is_p2p``, ``state``, ``retired``, ``created_ns``, ``completed_ns``, ``timeout_ms``. ``joining_ops`` are the ids of ops of
    the families :data:`JOINING`. ``clash`` tells whether the dumps of two sources of one rank are of two processes or moments.
    ``wanted`` picks the current start by its number; a number that no start has is for the caller to refuse.
    """
    if not dumps:
        return []
    folders = sorted({dump.label for dump in dumps if dump.label is not None})
    parts = [([d for d in dumps if d.label == label], "") for label in folders]
    loose = [dump for dump in dumps if dump.label is None]
    split = _split(loose, entries, set(joining_ops), clash) if loose else []
    if parts and len(split) == 1:
        _adopt(parts, loose)
        split = []
    return _numbered(parts + split, numbers_from_folders=bool(folders), wanted=wanted)


def _adopt(parts: list[tuple[list[Dump], str]], loose: list[Dump]) -> None:
    """Dumps beside attempt folders: of the start whose newest times are nearest to theirs."""
    for dump in loose:
        times = [(part, _newest(part[0])) for part in parts]
        known = [(abs(newest - dump.newest_ns), -i) for i, (_, newest) in enumerate(times) if newest and dump.newest_ns]
        parts[-min(known)[1] if known else -1][0].append(dump)


def _newest(dumps: Iterable[Dump]) -> int | None:
    return max((dump.newest_ns for dump in dumps if dump.newest_ns is not None), default=None)


def _numbered(parts: list[tuple[list[Dump], str]], *, numbers_from_folders: bool, wanted: int | None) -> list[Start]:
    """Give numbers, pick the current start: the highest folder, else the newest times inside."""
    if not numbers_from_folders:
        parts = sorted(parts, key=lambda part: _rating(part[0]))
    numbers: list[int] = []
    for dumps, _ in parts:
        label = next((dump.label for dump in dumps if dump.label is not None), None)
        numbers.append(label if label is not None else max([0, *numbers]) + 1)
    current = wanted if wanted in numbers else numbers[-1]
    out = []
    for number, (dumps, why) in zip(numbers, parts, strict=True):
        reason = why or (
            f"another folder than that of attempt {current}" if numbers_from_folders and number != current else None
        )
        if number == current and len(parts) > 1:
            reason = (
                "asked for" if wanted == number else "the highest folder" if numbers_from_folders else "the newest times inside"
            )
        sources = tuple(sorted(dump.source for dump in dumps))
        ranks = tuple(sorted({dump.rank for dump in dumps}))
        out.append(Start(number, sources, ranks, number == current, reason))
    return out


# --- by content


def _split(
    dumps: list[Dump], entries: Callable[[], pl.DataFrame], joining: set[int], clash: Callable[[int, int], bool]
) -> list[tuple[list[Dump], str]]:
    """Dumps without a folder of an attempt → starts, with the reason why a part is not the newest."""
    out: list[tuple[list[Dump], str]] = []
    places = _by_folder(dumps, clash)
    newest_place = max(places, key=_rating)
    for place in places:
        worlds = _by_world(place)
        newest_world = max(worlds, key=_rating)
        for world in worlds:
            times = _by_time(world, entries, joining)
            newest = max(times, key=_rating)
            for part in times:
                why = ""
                if part is not newest:
                    why = _age(part, newest)
                elif world is not newest_world:
                    why = _other_world(world, newest_world)
                elif place is not newest_place:
                    why = "other records than the newer files of the same ranks"
                out.append((part, why))
    return out


def _rating(part: list[Dump]) -> tuple[int, int, int]:
    """The newer part, then the larger one, then the one with the lowest rank."""
    return _newest(part) or 0, len(part), -min(dump.rank for dump in part)


def _by_folder(dumps: list[Dump], clash: Callable[[int, int], bool]) -> list[list[Dump]]:
    """Apart by folders that hold dumps of one rank but of two processes or two moments; folders without such a clash stay
    together. Else a rank without a dump in one folder would be seen as it stood in the other, that is, behind or ahead."""
    by_rank: dict[int, list[Dump]] = defaultdict(list)
    for dump in dumps:
        by_rank[dump.rank].append(dump)
    pairs = [
        (one, other)
        for claims in by_rank.values()
        for i, one in enumerate(claims)
        for other in claims[i + 1 :]
        if one.folder != other.folder and clash(one.source, other.source)
    ]
    if not pairs:
        return [dumps]
    depth = min(_common(one.folder, other.folder) for one, other in pairs)
    folders: dict[tuple[str, ...], list[Dump]] = defaultdict(list)
    for dump in dumps:
        folders[_parts(dump.folder)[: depth + 1]].append(dump)
    against: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for one, other in pairs:
        a, b = (_parts(dump.folder)[: depth + 1] for dump in (one, other))
        against[a].add(b)
        against[b].add(a)
    out: list[tuple[set[tuple[str, ...]], list[Dump]]] = []
    for folder in sorted(folders, key=lambda folder: (_rating(folders[folder]), folder), reverse=True):
        home = next((part for part in out if not part[0] & against[folder]), None)
        if home is None:
            out.append(({folder}, folders[folder]))
        else:
            home[0].add(folder)
            home[1].extend(folders[folder])
    return [part for _, part in out]


def _parts(folder: str) -> tuple[str, ...]:
    return tuple(part for part in folder.replace(":", "/").split("/") if part)


def _common(one: str, other: str) -> int:
    same = [a == b for a, b in zip(_parts(one), _parts(other), strict=False)]
    return same.index(False) if False in same else len(same)


def _by_world(dumps: list[Dump]) -> list[list[Dump]]:
    """Apart by the members of the default group, where two of them overlap: one rank cannot be in two worlds."""
    by_members: dict[frozenset[int], list[Dump]] = defaultdict(list)
    silent: list[Dump] = []
    sets = {dump.default: frozenset(dump.default or ()) for dump in dumps}
    for dump in dumps:
        members = sets[dump.default]
        (by_members[members] if dump.rank in members else silent).append(dump)
    worlds: list[tuple[frozenset[int], list[Dump]]] = []
    for members, part in sorted(by_members.items(), key=lambda item: (-(_newest(item[1]) or 0), sorted(item[0]))):
        home = next((world for world in worlds if not world[0] & members), None)
        if home is None:
            worlds.append((members, list(part)))
        else:  # disjoint: replicas, or the worlds of one start seen in parts
            worlds[worlds.index(home)] = (home[0] | members, home[1] + part)
    if not worlds:
        return [silent]
    worlds[0][1].extend(silent)
    return [part for _, part in worlds]


def _other_world(part: list[Dump], newest: list[Dump]) -> str:
    mine, others = (sorted({rank for dump in dumps for rank in dump.default or ()}) for dumps in (part, newest))
    return f"its default group has {name_ranks(mine, 8)}, that of the newer start has {name_ranks(others, 8)}"


def _by_time(dumps: list[Dump], entries: Callable[[], pl.DataFrame], joining: set[int]) -> list[list[Dump]]:
    """Apart by calls that cannot be one call, and by calls that came long after a member's last sign of life."""
    oldest = min((dump.oldest_ns for dump in dumps if dump.oldest_ns is not None), default=0)
    if (_newest(dumps) or 0) - oldest <= SKEW:
        return [dumps]
    calls = _joined_calls(entries(), [dump.source for dump in dumps], joining)
    parts = _components(dumps, calls)
    return _without_late(parts, calls)


def _joined_calls(entries: pl.DataFrame, sources: list[int], joining: set[int]) -> pl.DataFrame:
    """Finished calls that need every member: source, group, seq, begin and end. An end that was not recorded (gloo) is no
    later than the time-out."""
    end = pl.coalesce("completed_ns", pl.col("created_ns") + pl.coalesce("timeout_ms", _DEFAULT_TIMEOUT_MS) * 1_000_000)
    return entries.filter(
        pl.col("source").is_in(sources)
        & pl.col("group").is_not_null()
        & pl.col("op").is_in(sorted(joining))
        & ~pl.col("is_p2p")
        & ((pl.col("state") == 2) | pl.col("retired"))
        & pl.col("created_ns").is_not_null()
        & pl.col("seq").is_not_null()
    ).select("source", "group", "seq", begin=pl.col("created_ns"), end=pl.max_horizontal(end, "created_ns"))


def _components(dumps: list[Dump], calls: pl.DataFrame) -> list[list[Dump]]:
    """Join dumps that share a call; calls that are too far apart in time are different calls.

    Dumps that share nothing with any other stay together with the newest: nothing separates them.
    """
    ordered = calls.sort("group", "seq", "begin").with_columns(
        gap=(pl.col("begin") - pl.col("end").cum_max().shift(1).over("group", "seq")) > SKEW
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
    merged = _merge_near(list(parts.values()))
    max(merged, key=_rating).extend(alone)
    return merged


def _merge_near(parts: list[list[Dump]]) -> list[list[Dump]]:
    """Parts that share no call with each other but are of one time are of one start (groups without common members)."""
    parts.sort(key=lambda part: _newest(part) or 0)
    out: list[list[Dump]] = []
    for part in parts:
        last = _newest(out[-1]) if out else None
        if last is not None and (_newest(part) or 0) - last <= SKEW:
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
            out += _merge_near([[dump] for dump in part if dump.source in behind])
    return [part for part in out if part]


def _age(part: list[Dump], newest: list[Dump]) -> str:
    then, now = _newest(part) or 0, _newest(newest) or 0
    return f"{_hours(now - then)} older than the newer start, and no other dump has the calls that it completed with others"


def _hours(nanoseconds: int) -> str:
    minutes = nanoseconds // 60_000_000_000
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.1f} h".replace(".0 h", " h") if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
