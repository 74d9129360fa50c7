"""A group that was destroyed and made again in one process: its generations, and which of them are the same between ranks.

The counter of names starts over when the default group is made anew, so that ranks that lived on and ranks that were replaced
give equal names (distributed_c10d.py, torch 2.13): the new groups have the names of the old ones, a higher ``pg_id``, and
count their calls from 1. The recorder keeps the records of the old ones, among them the calls that failed; a rank that was
replaced has another process, and so a dump that knows the newest generation alone.

A process makes a name anew only after it destroyed the group of that name. So a rank that recorded a later generation has left
the earlier ones, and no call of these is open. Which generation of one rank is which of another's is told by time: the newest
one began, for all, after the one before it was left. A rank whose records cannot be placed so is not lined up with the others.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hangview.producers import producer_of
from hangview.schema import DEFAULT_DESC
from hangview.text import group_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hangview.schema import Records

    #: What has records of its own: (source, label, pg_id, which life of one pg_id).
    Place = tuple[int, int, int | None, int]
    #: By (source, label), the places of a group that differs from others in name or members.
    Home = dict[tuple[int, int], tuple["Span", ...]]
    #: A group before it has an id: name, members, which of several that only differ by pg_id.
    Key = tuple[str, frozenset[int], int]

#: Which one of several groups that differ in nothing else: 0 is the newest generation, ``EARLIER + n`` the n-th before it,
#: and from ``UNPLACED`` on nobody can tell. Others are counted by creation.
EARLIER, UNPLACED = 1 << 20, 1 << 21

#: Names of groups that a framework makes anew under a higher number whenever members come or go (torchft).
_NUMBERED = re.compile(r"(torchft_quorum_)(\d+)(_rank_\d+)")

_PLACE = ["source", "label", "pg_id"]


@dataclass(frozen=True, slots=True)
class Span:
    """Where the records of one place stand in their file, and from when to when they were made (ns; None: not looked at)."""

    place: Place
    first: int
    last: int
    begun: int | None = None
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """``nth``: which of several groups that differ in nothing else each place is; ``back``: how often its rank has made the
    group anew since; ``behind``: sources whose newest records are not known to be of the newest generation -> why."""

    nth: Mapping[Place, int]
    back: Mapping[Place, int]
    behind: Mapping[int, str]


def places(records: Records) -> tuple[dict[tuple[int, int], tuple[Span, ...]], pl.Series | None]:
    """(source, label) -> its places that have entries, by creation; and for each entry which life of its pg_id it is of.

    The second is None where every pg_id has one life, which is nearly always.
    """
    entries = records.entries.lazy()
    heads = entries.group_by(_PLACE).agg(first=pl.col("position").min()).collect(engine="streaming")
    life = _lives(records, heads)
    if life is None and not heads.select("source", "label").is_duplicated().any() and not _remade(records):
        table = heads.select(*_PLACE, pl.lit(0).alias("life"), "first", last="first", begun=None, ended=None)
    else:
        numbered = entries.select(*_PLACE, "position", "created_ns", life=0 if life is None else pl.lit(life))
        asked = pl.col("created_ns")
        at = pl.col("position")
        table = numbered.group_by(*_PLACE, "life").agg(
            first=at.min(), last=at.max(), begun=asked.min(), ended=asked.max()
        ).collect()  # fmt: skip
    out: dict[tuple[int, int], list[Span]] = {}
    for *place, first, last, begun, ended in table.sort(*_PLACE, "life", nulls_last=True).iter_rows():
        source, label, pg_id, number = place
        out.setdefault((source, label), []).append(Span((source, label, pg_id, number), first, last, begun, ended))
    return {key: tuple(found) for key, found in out.items()}, life


def _lives(records: Records, heads: pl.DataFrame) -> pl.Series | None:
    """Where the number of a collective falls back to 1, another life of its pg_id begins."""
    entries = records.entries.lazy()
    counted = ~pl.col("is_p2p").fill_null(value=False) & pl.col("seq").is_not_null()
    low = entries.filter(counted & (pl.col("seq") <= 1)).group_by(_PLACE).agg(at=pl.col("position").max())
    again = low.collect(engine="streaming").join(heads, on=_PLACE, nulls_equal=True).filter(pl.col("at") > pl.col("first"))
    if again.is_empty():
        return None  # nearly always; else the rows of these places alone are looked at
    wanted = entries.select(*_PLACE, "position", "seq", "op_id", "is_p2p").with_row_index("row")
    rows = wanted.join(again.lazy().select(_PLACE), on=_PLACE, how="semi", nulls_equal=True).filter(counted)
    seq, op_id = pl.col("seq"), pl.col("op_id")
    before = seq.shift(1).over(_PLACE, order_by="position")
    fewer = (op_id <= op_id.shift(1).over(_PLACE, order_by="position")).fill_null(value=True)
    # lower by one alone, it may be the closing record of a batch that another thread began: operations go on being counted
    starts = rows.filter((seq <= 1) & ((before > 2) | ((before > 1) & fewer))).select(*_PLACE, "row").collect()
    if starts.is_empty():
        return None
    out = np.zeros(len(records.entries), np.uint16)
    of_these = (
        entries.select(_PLACE).with_row_index("row").join(starts.lazy().select(_PLACE).unique(), on=_PLACE, nulls_equal=True)
    )
    marked = of_these.with_columns(begins=pl.col("row").is_in(starts["row"].implode())).sort("row")  # the order of the files
    found = marked.select("row", life=pl.col("begins").cast(pl.Int32).cum_sum().over(_PLACE)).collect()
    out[found["row"].to_numpy()] = found["life"].to_numpy()
    return pl.Series("life", out)


def match(
    records: Records, spans: Mapping[tuple[int, int], tuple[Span, ...]], home_of: Mapping[tuple[int, int], tuple[object, ...]]
) -> Matched:
    """Which of several groups that differ in nothing else every place is. ``home_of``: what groups of a label differ by.

    Groups without a name are told apart by creation alone: with ``TORCH_DISTRIBUTED_DEBUG=DETAIL`` two groups are named '' in
    one process and live side by side, and only the local pg_id tells them apart. So are those whose records are mixed.
    """
    remade = _remade(records)
    if not remade and all(len(found) == 1 for found in spans.values()):
        return Matched({found[0].place: 0 for found in spans.values()}, {}, {})
    homes: dict[tuple[object, ...], Home] = defaultdict(dict)
    for key, found in spans.items():
        homes[home_of[key]][key] = found
    named = {home for home, its in homes.items() if records.labels[next(iter(its))[1]][0]}
    anew = {home for home in named if _made_anew(homes[home].values())}
    last = _last(spans)
    gone = _gone(records, [homes[home] for home in homes if home in anew], last, remade)
    nth: dict[Place, int] = {}
    back: dict[Place, int] = {}
    behind: dict[int, str] = {}
    for home, its in homes.items():
        left = {key: gone.holds(found[-1]) for key, found in its.items()}
        hidden = {key for key, found in its.items() if key[0] in remade and len(found) == 1 and not left[key]}
        parted = gone.parts(its)
        if home not in anew and (home not in named or not (any(left.values()) or hidden or parted)):
            nth |= {span.place: i for found in its.values() for i, span in enumerate(found)}
            continue
        moment = _moment(its, left) or (gone.since if parted else _since(its, hidden))
        longest = max(len(found) for found in its.values())
        for (source, label), found in its.items():
            unsure = source in remade and records.sources[source].only_active and remade[source].newer(found[-1].place[2])
            gone_too = left[source, label]
            first, why = _place(found, moment, longest, last.get(source), left=gone_too, unsure=unsure)
            if why:
                behind.setdefault(source, why.format(group_label(*records.labels[label])))
            for since, span in enumerate(reversed(found)):
                back[span.place] = since + gone_too
                nth[span.place] = (first or (EARLIER if since else 0)) + since
        if any(nth[found[-1].place] == 0 for found in its.values()):
            label = next(iter(its))[1]
            for source in _silent(records, home, {source for source, _ in its}, moment, last):
                called = group_label(*records.labels[label])
                behind.setdefault(source, f"{called} was made anew, and no record of this dump is of the time since")
    if remade and any(source.only_active for source in records.sources):
        for source in {i for i, info in enumerate(records.sources) if info.usable} - set(last):
            behind.setdefault(source, "groups were made anew, and of which of them its counters tell is not known")
    for place in nth:
        if place[0] in behind and nth[place] < EARLIER:
            nth[place] = UNPLACED  # nothing of an older dump is set beside what others did since
    return Matched(nth, back, behind)


def _made_anew(home: Iterable[tuple[Span, ...]]) -> bool:
    """Whether the places of one name in a file are generations: each begins after all records of the one made before it."""
    several = [spans for spans in home if len(spans) > 1]
    return bool(several) and all(earlier.last < later.first for spans in several for earlier, later in pairwise(spans))


@dataclass(frozen=True, slots=True)
class _Gone:
    """Groups that were destroyed with the default group, whatever their names: without it there are none.

    ``up_to``: source -> the highest pg_id of such a group. ``since``: a time at which there was none at all, for sources of
    which no pg_id tells (``by_time``) and that have records of later times.
    """

    up_to: Mapping[int, int]
    since: int
    by_time: frozenset[int]

    def holds(self, span: Span) -> bool:
        source, _, pg_id, _ = span.place
        if pg_id is not None and pg_id <= self.up_to.get(source, -1):
            return True
        return source in self.by_time and self.before(span)

    def before(self, span: Span) -> bool:
        return span.ended is not None and span.ended < self.since

    def parts(self, home: Home) -> bool:
        """Whether some of the newest places of a group are of before that time, and others are not."""
        return len({self.before(spans[-1]) for spans in home.values()}) > 1


def _gone(records: Records, anew: Sequence[Home], last: Mapping[int, int], remade: Collection[int]) -> _Gone:
    """Numbers as names start over when the default group is made anew, and what is older than it went with the one before."""
    worlds = [home for home in anew if any(records.labels[label][1] == DEFAULT_DESC for _, label in home)]
    since = max((_moment(home, {}) or 0 for home in worlds), default=0)
    up_to: dict[int, int] = {}
    told: set[int] = set()
    for home in anew:
        for (source, label), spans in home.items():
            name, desc = records.labels[label]
            old, new = (spans[-2].place[2], spans[-1].place[2]) if len(spans) > 1 else (None, None)
            if old is None or new is None or old == new:
                continue
            if desc == DEFAULT_DESC:
                up_to[source] = max(up_to.get(source, 0), new - 1)
                if (spans[-1].begun or 0) >= since:
                    told.add(source)
            elif name.isdecimal():
                up_to[source] = max(up_to.get(source, 0), old)
    several = {source for home in anew for (source, _), spans in home.items() if len(spans) > 1}
    by_time = {source for source in (several | set(remade)) - told if last.get(source, 0) >= since}
    return _Gone(up_to, since, frozenset(by_time))


@dataclass(frozen=True, slots=True)
class _Remade:
    """What a dump's counters say of groups that were made anew: the pg_ids that they count for, ascending, and how many groups
    there are of different names."""

    pg_ids: tuple[int, ...]
    names: int

    def newer(self, pg_id: int | None) -> bool:
        """Whether a group of this pg_id may have been made anew since: as many others were used after it as there are names,
        or, if each generation used all, one more than the rest of its own."""
        if pg_id is None:
            return True
        at = bisect_left(self.pg_ids, pg_id)
        last = len(self.pg_ids) - 1
        return last - at >= self.names or at // self.names < last // self.names


def _remade(records: Records) -> dict[int, _Remade]:
    """Sources that count for more groups than they name: some were made anew, and the records of the old ones may be gone.

    Of a dump that leaves completed entries out those of the new one may be missing, and what is left of a group be nothing but
    a call that failed long ago.
    """
    named: dict[int, set[str]] = defaultdict(set)
    for config in records.configs:
        named[config.source].add(config.name)
    counted: dict[int, list[int]] = defaultdict(list)
    for status in records.statuses:
        counted[status.source].append(status.pg_id)
    trusted = {source for source in counted if producer_of(records.sources[source].producer or "").config_trusted}
    return {
        s: _Remade(tuple(sorted(counted[s])), len(named[s]))
        for s in sorted(trusted)
        if named[s] and "" not in named[s] and len(counted[s]) > len(named[s])
    }


def _silent(
    records: Records, home: tuple[object, ...], with_records: set[int], moment: int | None, last: Mapping[int, int]
) -> list[int]:
    """Sources of members of a group, as configurations give them, that have no record of it, and none of any group that is
    known to be of the time of its newest generation. A whole dump without any record is of a rank that came to no call yet."""
    members = home[1]
    if not isinstance(members, frozenset):
        return []
    out = []
    for i, source in enumerate(records.sources):
        if source.usable and source.rank in members and i not in with_records:
            idle = i not in last and not any(other.only_active for other in records.sources)
            if not idle and (moment is None or last.get(i, 0) < moment):
                out.append(i)
    return out


def _last(spans: Mapping[tuple[int, int], tuple[Span, ...]]) -> dict[int, int]:
    """source -> time of its newest record."""
    out: dict[int, int] = {}
    for (source, _), found in spans.items():
        for span in found:
            if span.ended is not None:
                out[source] = max(out.get(source, span.ended), span.ended)
    return out


def _moment(home: Home, left: Mapping[tuple[int, int], bool]) -> int | None:
    """A time at which nobody was in any generation: half-way between the last time that one was left and the time that the
    newest began. None where no times tell."""
    begun = max((found[-1].begun or 0 for key, found in home.items() if not left.get(key) and len(found) > 1), default=0)
    ends = [found[-1 if left.get(key) else -2].ended for key, found in home.items() if left.get(key) or len(found) > 1]
    before = [at for at in ends if at is not None and at < begun]
    return (max(before) + begun) // 2 if before else None


def _since(home: Home, hidden: set[tuple[int, int]]) -> int | None:
    """The same where the records of the earlier generations are gone: the newest is at least as old as what is left of it."""
    return min((found[-1].begun or 0 for key, found in home.items() if key in hidden), default=0) or None


def _place(
    spans: tuple[Span, ...], moment: int | None, longest: int, last: int | None, *, left: bool, unsure: bool
) -> tuple[int, str]:
    """Which generation the newest one of a dump is (0, or from ``EARLIER`` on), and what is to be said where its rank is not
    known to be in the newest.

    Who recorded all of its newest after ``moment`` is in the newest generation of all. Who recorded nothing since in any group
    may have an older dump; who did has not come to it. Whose newest spans the moment has another clock: it is in the newest
    generation where it shows as many of them as others.
    """
    begun, ended = spans[-1].begun, spans[-1].ended
    if left:
        return EARLIER + 1, ""
    if unsure:
        return UNPLACED, "groups were made anew, and by its counters its records of {} may be of an earlier generation"
    if moment is not None and begun is not None and begun >= moment:
        return 0, ""
    if moment is not None and ended is not None and ended < moment:
        stale = last is None or last < moment
        return EARLIER + 1, "its newest records of {} are older than the generation of it that others are in" if stale else ""
    if len(spans) == longest:
        return 0, ""
    return UNPLACED, "{} was made anew, and by their times its records may be of either generation"


def outlived(groups: Iterable[Key]) -> frozenset[Key]:
    """Of groups those that a framework has made anew under a higher number, for a member that both have."""
    series: dict[tuple[str, str], list[tuple[int, Key]]] = defaultdict(list)
    for group in groups:
        found = _NUMBERED.fullmatch(group[0])
        if found:
            series[found[1], found[3]].append((int(found[2]), group))
    return frozenset(
        group
        for made in series.values()
        for number, group in made
        if any(later > number and other[1] & group[1] for later, other in made)
    )


def beside(nth: int) -> str:
    """What to say beside the name of an earlier generation."""
    if nth >= UNPLACED:
        return " (generation not known)"
    back = nth - EARLIER
    return " (earlier generation)" if back == 1 else f" ({back} generations ago)"


def unjudged(nth: int) -> str:
    """Why the calls of such a group are not judged."""
    if nth < EARLIER:
        return "the group was made anew since under another name: calls of this one are over"
    if nth >= UNPLACED:
        return "the group was made anew, and of which generation these records are cannot be told"
    return "the group was made anew since: calls of an earlier generation are over"
