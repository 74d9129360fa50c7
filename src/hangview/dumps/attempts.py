"""Which start of the job a dump belongs to, when dumps of several lie in one place.

A restarted job leaves the files of earlier starts behind. They are told apart by the folder (``attempt_1/``), by default groups
that overlap and yet differ (another world size), and by time: calls that need every member were completed by two ranks at
times too far apart to be one call (``attempt_times.py``). The time of a file on disk says nothing (copies). Where nothing
separates two dumps they count as one start.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.dumps.attempt_times import FIT, by_time, newest_ns, rating
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl

    from hangview.dumps.attempt_times import Dump


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the job: its number, its dumps (sources), and why it is (not) the current one.

    ``beside``: it ran while the current one did, as two starts of one job do not; ``newest_ns``: its newest record.
    """

    number: int
    sources: tuple[int, ...]
    ranks: tuple[int, ...]
    current: bool
    reason: str | None
    beside: bool
    newest_ns: int | None


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
    the families :data:`~hangview.schema.FULL`. ``clash`` tells whether the dumps of two sources of one rank are of two
    processes or moments. ``wanted`` picks the current start by its number; a number that no start has is for the caller to
    refuse.
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
        times = [(part, newest_ns(part[0])) for part in parts]
        known = [(abs(newest - dump.newest_ns), -i) for i, (_, newest) in enumerate(times) if newest and dump.newest_ns]
        parts[-min(known)[1] if known else -1][0].append(dump)


def _numbered(parts: list[tuple[list[Dump], str]], *, numbers_from_folders: bool, wanted: int | None) -> list[Start]:
    """Give numbers, pick the current start: the highest folder, else the newest times inside."""
    if not numbers_from_folders:
        parts = sorted(parts, key=lambda part: rating(part[0]))
    numbers: list[int] = []
    for dumps, _ in parts:
        label = next((dump.label for dump in dumps if dump.label is not None), None)
        numbers.append(label if label is not None else max([0, *numbers]) + 1)
    current = wanted if wanted in numbers else numbers[-1]
    shown = parts[numbers.index(current)][0]
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
        beside = number != current and not numbers_from_folders and _side_by_side(dumps, shown)
        out.append(Start(number, sources, ranks, number == current, reason, beside, newest_ns(dumps)))
    return out


def _side_by_side(one: Iterable[Dump], other: Iterable[Dump]) -> bool:
    """Whether both made records at the same time, clocks allowed for."""
    spans = [[time for dump in part for time in (dump.oldest_ns, dump.newest_ns) if time is not None] for part in (one, other)]
    return all(spans) and min(map(max, spans)) - max(map(min, spans)) > FIT


# --- by content


def _split(
    dumps: list[Dump], entries: Callable[[], pl.DataFrame], joining: set[int], clash: Callable[[int, int], bool]
) -> list[tuple[list[Dump], str]]:
    """Dumps without a folder of an attempt → starts, with the reason why a part is not the newest."""
    out: list[tuple[list[Dump], str]] = []
    places = _by_folder(dumps, clash)
    newest_place = max(places, key=rating)
    for place in places:
        worlds = _by_world(place)
        newest_world = max(worlds, key=rating)
        for world in worlds:
            times = by_time(world, entries, joining)
            newest = max(times, key=rating)
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
    for folder in sorted(folders, key=lambda folder: (rating(folders[folder]), folder), reverse=True):
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
    for members, part in sorted(by_members.items(), key=lambda item: (-(newest_ns(item[1]) or 0), sorted(item[0]))):
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


def _age(part: list[Dump], newest: list[Dump]) -> str:
    then, now = newest_ns(part) or 0, newest_ns(newest) or 0
    return f"{_hours(now - then)} older than the newer start, and no other dump has the calls that it completed with others"


def _hours(nanoseconds: int) -> str:
    minutes = nanoseconds // 60_000_000_000
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.1f} h".replace(".0 h", " h") if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
