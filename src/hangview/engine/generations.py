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

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hangview.producers import producer_of
from hangview.text import group_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hangview.schema import Records

    #: What has records of its own: (source, label, pg_id, which life of one pg_id).
    Place = tuple[int, int, int | None, int]

#: Which one of several groups that differ in nothing else: 0 is the newest generation, ``EARLIER + n`` the n-th before it,
#: and from ``UNPLACED`` on nobody can tell. Others are counted by creation.
EARLIER, UNPLACED = 1 << 20, 1 << 21

#: What torch calls the group of all ranks.
DEFAULT_DESC = "default_pg"
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
    if life is None and not heads.select("source", "label").is_duplicated().any():
        table = heads.select(*_PLACE, pl.lit(0), "first", last="first", begun=None, ended=None)
    else:
        numbered = entries.select(*_PLACE, "position", "created_ns", life=0 if life is None else pl.lit(life))
        asked = pl.col("created_ns")
        at = pl.col("position")
        table = numbered.group_by(*_PLACE, "life").agg(
            first=at.min(), last=at.max(), begun=asked.min(), ended=asked.max()
        ).collect()  # fmt: skip
    out: dict[tuple[int, int], list[Span]] = {}
    for *place, first, last, begun, ended in table.sort(*_PLACE, table.columns[3], nulls_last=True).iter_rows():
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
    doubtful = _doubtful(records)
    one_each = len({(source, home) for (source, _), home in home_of.items()}) == len(spans)
    if not doubtful and one_each and all(len(found) == 1 for found in spans.values()):
        return Matched({found[0].place: 0 for found in spans.values()}, {}, {})
    homes: dict[tuple[object, ...], dict[int, tuple[Span, ...]]] = defaultdict(dict)
    labels: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    for (source, label), found in spans.items():
        of_source = homes[home_of[source, label]]
        of_source[source] = tuple(sorted((*of_source.get(source, ()), *found), key=_by_creation))
        labels[home_of[source, label]].append((source, label))
    named = {home for home, its in labels.items() if records.labels[its[0][1]][0]}
    anew = {home for home in named if _made_anew(homes[home].values())}
    gone = _gone(records, [its for home, its in homes.items() if home in anew])
    last = _last(spans)
    nth: dict[Place, int] = {}
    back: dict[Place, int] = {}
    behind: dict[int, str] = {}
    for home, its in homes.items():
        left = {source: _is_gone(found[-1], gone) for source, found in its.items()}
        unsure = {source for source, found in its.items() if source in doubtful and len(found) == 1}
        if home not in anew and (home not in named or not (any(left.values()) or unsure)):
            nth |= {span.place: i for key in labels[home] for i, span in enumerate(spans[key])}
            continue
        moment = _moment(its, left)
        longest = max(len(found) for found in its.values())
        for source, found in its.items():
            first, why = _place(found, moment, longest, last.get(source), left=left[source], unsure=source in unsure)
            if why:
                behind.setdefault(source, why.format(group_label(*records.labels[found[-1].place[1]])))
            for since, span in enumerate(reversed(found)):
                back[span.place] = since + left[source]
                nth[span.place] = (first or (EARLIER if since else 0)) + since
    return Matched(nth, back, behind)


def _by_creation(span: Span) -> tuple[bool, int, int, int]:
    _, label, pg_id, life = span.place
    return pg_id is None, pg_id or 0, life, label


def _made_anew(home: Iterable[tuple[Span, ...]]) -> bool:
    """Whether the places of one name in a file are generations: each begins after all records of the one made before it."""
    several = [spans for spans in home if len(spans) > 1]
    return bool(several) and all(
        earlier.last < later.first and earlier.place[2:] != later.place[2:]
        for spans in several
        for earlier, later in pairwise(spans)
    )


def _gone(records: Records, anew: Iterable[Mapping[int, tuple[Span, ...]]]) -> dict[int, int]:
    """source -> the highest pg_id of a group that was destroyed with the default group, whatever its name.

    Numbers as names start over when the default group is made anew, and a group that is older than it was destroyed with
    the one before.
    """
    out: dict[int, int] = {}
    for home in anew:
        for source, spans in home.items():
            name, desc = records.labels[spans[-1].place[1]]
            old, new = (spans[-2].place[2], spans[-1].place[2]) if len(spans) > 1 else (None, None)
            if old is None or new is None or old == new:
                continue
            if desc == DEFAULT_DESC:
                out[source] = max(out.get(source, 0), new - 1)
            elif name.isdecimal():
                out[source] = max(out.get(source, 0), old)
    return out


def _is_gone(span: Span, gone: Mapping[int, int]) -> bool:
    source, _, pg_id, _ = span.place
    return source in gone and pg_id is not None and pg_id <= gone[source]


def _doubtful(records: Records) -> frozenset[int]:
    """Sources that leave completed entries out, and that count for more groups than they name: some were made anew.

    What such a dump holds of a group may be nothing but a call that failed long ago.
    """
    named: dict[int, set[str]] = defaultdict(set)
    for config in records.configs:
        named[config.source].add(config.name)
    counted = Counter(status.source for status in records.statuses)
    out = set()
    for source, number in counted.items():
        info = records.sources[source]
        trusted = info.producer is not None and producer_of(info.producer).config_trusted
        if info.only_active and trusted and named[source] and "" not in named[source] and number > len(named[source]):
            out.add(source)
    return frozenset(out)


def _last(spans: Mapping[tuple[int, int], tuple[Span, ...]]) -> dict[int, int]:
    """source -> time of its newest record."""
    out: dict[int, int] = {}
    for (source, _), found in spans.items():
        for span in found:
            if span.ended is not None:
                out[source] = max(out.get(source, span.ended), span.ended)
    return out


def _moment(home: Mapping[int, tuple[Span, ...]], left: Mapping[int, bool]) -> int | None:
    """A time at which nobody was in any generation: half-way between the last time that one was left and the time that the
    newest began. None where no times tell."""
    begun = max((found[-1].begun or 0 for source, found in home.items() if not left[source] and len(found) > 1), default=0)
    ends = [found[-1 if left[source] else -2].ended for source, found in home.items() if left[source] or len(found) > 1]
    before = [at for at in ends if at is not None and at < begun]
    return (max(before) + begun) // 2 if before else None


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
    if moment is not None and begun is not None and begun > moment:
        return 0, ""
    if moment is not None and ended is not None and ended < moment:
        stale = last is None or last < moment
        return EARLIER + 1, "its newest records of {} are older than the generation of it that others are in" if stale else ""
    if len(spans) > 1 and len(spans) == longest:
        return 0, ""
    return UNPLACED, "{} was made anew, and by their times its records may be of either generation"


def beside(nth: int) -> str:
    """What to say beside the name of an earlier generation."""
    if nth >= UNPLACED:
        return " (generation not known)"
    back = nth - EARLIER
    return " (earlier generation)" if back == 1 else f" ({back} generations ago)"


def unjudged(nth: int) -> str:
    """Why the calls of such a group are not judged."""
    if nth >= UNPLACED:
        return "the group was made anew, and of which generation these records are cannot be told"
    return "the group was made anew since: calls of an earlier generation are over"
