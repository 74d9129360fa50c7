"""What one set holds and the other's files lost: files that end early, were overwritten or hold open calls only, and no file.

A run that was stopped earlier, or a rank that was observed not to request a call, lost nothing and does not stand here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from hangview.compare.values import LeftOut, Loss
from hangview.text import count, name_ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.compare.beside import Beside, Input
    from hangview.schema import Source

#: Parts of a folded rank list before it is cut short.
RANK_PARTS = 12
#: What became of the files, after "its dump" or "their dumps", and in short.
_LOST = {
    Loss.CUT: ("cut or damaged", "cut"),
    Loss.ONLY_ACTIVE: ("of unfinished calls only", "unfinished calls only"),
    Loss.OVERWRITTEN: ("partly overwritten by the ring buffer", "overwritten"),
}


def lost_note(lost: LeftOut) -> str:
    """``"not compared: 65 calls of rank 13 that A holds: its dump in B is cut or damaged"``."""
    one = len(lost.ranks) == 1
    ranks = name_ranks(lost.ranks, RANK_PARTS)
    if lost.loss is Loss.NO_DUMP:
        return f"not compared: {ranks}: no dump of {'it' if one else 'them'} in {lost.side or 'either'}"
    whose = "its dump" if one else "their dumps"
    where = f"{whose} in {lost.side} {'is' if one else 'are'} {_LOST[lost.loss][0]}"
    return f"not compared: {count(lost.calls, 'call')} of {ranks} that {'B' if lost.side == 'A' else 'A'} holds: {where}"


def lost_text(left: Sequence[LeftOut], *, calls: bool = True) -> str:
    """All of them in short: ``"65 calls of rank 13 (cut in B), ranks 3-31 (no dump in B)"``; ``calls``: with how many."""
    told = []
    for lost in left:
        ranks = name_ranks(lost.ranks, RANK_PARTS)
        if lost.loss is Loss.NO_DUMP:
            told.append(f"{ranks} (no dump in {lost.side or 'either'})")
        else:
            told.append(f"{count(lost.calls, 'call') if calls else 'calls'} of {ranks} ({_LOST[lost.loss][1]} in {lost.side})")
    return ", ".join(told)


@dataclass(frozen=True, slots=True)
class Losses:
    """``sets``: for the comparison as a whole; ``pairs``: by number of the matched pair, the ranks that lost calls of it."""

    sets: tuple[LeftOut, ...]
    pairs: Mapping[int, tuple[int, ...]]


def losses(a: Input, b: Input, ranks: Sequence[int], beside: Beside) -> Losses:
    """What was not compared because of the files, that with the most telling reason first; ``ranks``: with a dump in both."""
    found: list[LeftOut] = []
    pairs: defaultdict[int, set[int]] = defaultdict(set)
    for word, mine, theirs, there, other in (("B", a, b, "there", "there_b"), ("A", b, a, "there_b", "there")):
        lost: defaultdict[Loss, dict[int, int]] = defaultdict(dict)
        why = _losses(theirs)
        missing = set(mine.incident.coverage.read) - set(ranks)
        alone = beside.rows.filter(pl.col(there) & ~pl.col(other) & ~pl.col("ended") & pl.col("kind").is_null())
        short = [
            alone.filter(pl.col("rank").is_in(list(why))).select("pair", "rank"),
            mine.rows(sorted(missing)).select("pair", "rank"),
        ]
        for pair, rank in pl.concat(short).unique().iter_rows():
            pairs[pair].add(rank)
        calls = _by_rank(alone)
        for rank, number in _by_rank(mine.requests.rows.filter(~pl.col("group").is_in(list(mine.groups)))).items():
            calls[rank] = calls.get(rank, 0) + number  # the other set has no such group, or not any more
        for rank in ranks:
            if rank in why and calls.get(rank):
                lost[why[rank]][rank] = calls[rank]
        everything = _by_rank(mine.requests.rows)
        for rank in missing:
            lost[Loss.NO_DUMP][rank] = everything.get(rank, 0)
        found += [LeftOut(loss, word, tuple(sorted(who)), sum(who.values())) for loss, who in lost.items()]
    nowhere = set(a.incident.coverage.expected) | set(b.incident.coverage.expected)
    nowhere -= set(a.incident.coverage.read) | set(b.incident.coverage.read)
    if nowhere:
        found.append(LeftOut(Loss.NO_DUMP, "", tuple(sorted(nowhere)), 0))
    order = list(Loss)
    found.sort(key=lambda each: (order.index(each.loss), each.side == "", each.side))
    return Losses(tuple(found), {pair: tuple(sorted(who)) for pair, who in pairs.items()})


def _by_rank(rows: pl.DataFrame) -> dict[int, int]:
    return dict(rows.group_by("rank").agg(calls=pl.len()).select("rank", "calls").iter_rows())


def _losses(side: Input) -> Mapping[int, Loss]:
    """Ranks whose dump is known to lack records that the rank had."""
    found = {source.rank: _loss(source) for source in side.incident.records.sources if source.usable}
    return {rank: loss for rank, loss in found.items() if rank is not None and loss is not None}


def _loss(source: Source) -> Loss | None:
    if source.partial:
        return Loss.CUT
    if source.only_active:
        return Loss.ONLY_ACTIVE
    return Loss.OVERWRITTEN if source.wrapped else None
