"""The groups of a comparison: what to call them, how far each set's records of them reach, and what could not be compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.compare.rows import COLLECTIVE_LANE
from hangview.compare.values import Pair
from hangview.producers import producer_of
from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.compare.beside import Beside, Input
    from hangview.compare.groups import Match
    from hangview.terms import Group

#: How the reason of a group begins whose dumps reach to different calls.
NO_OVERLAP = "no call is held by both: "


def labels(matches: Sequence[Match]) -> list[str]:
    """What to call each group: its description, with the name where several share that."""
    groups = [match.a or match.b for match in matches]
    shown = [escape(group.label) if group is not None else "" for group in groups]
    often = Counter(shown)
    return [
        label
        if often[label] == 1 or group is None or not group.name or escape(group.name) == label
        else f"{label} ({escape(group.name)})"
        for label, group in zip(shown, groups, strict=True)
    ]


def pairs(matches: Sequence[Match], a: Input, b: Input, ranks: Sequence[int], beside: Beside) -> list[Pair]:
    """One pair for each match, in their order, with what was compared of it and what could not be."""
    held = [_held(side, ranks) for side in (a, b)]
    compared: defaultdict[int, dict[int, tuple[int, int, int]]] = defaultdict(dict)
    for number, lane, calls, first, last in beside.compared().select("pair", "lane", "calls", "first", "last").iter_rows():
        compared[number][lane] = (calls, first, last)
    cuts = dict(beside.cut.filter(pl.col("lane") == COLLECTIVE_LANE).select("pair", "cut").iter_rows())
    out = []
    matched = 0
    for match, label in zip(matches, labels(matches), strict=True):
        pair = _pair(match, label, a, b, ranks, held)
        if match.a is not None and match.b is not None:
            pair = _with_calls(pair, compared[matched], cuts.get(matched), a, b)
            matched += 1
        out.append(pair)
    return out


def _pair(
    match: Match, label: str, a: Input, b: Input, ranks: Sequence[int], held: Sequence[Mapping[int, tuple[int, int]]]
) -> Pair:
    members = set(match.a.ranks if match.a else ()) | set(match.b.ranks if match.b else ())
    if match.a is not None and match.b is not None:
        members = set(match.a.ranks) & set(match.b.ranks)
    unobserved = [match.doubt] if match.doubt else []
    for word, side, group in (("A", a, match.a), ("B", b, match.b)):
        reason = side.requests.calls.unjudged.get(group.id) if group is not None else None
        if reason:
            unobserved.append(f"the numbers of its calls in {word} do not correspond between ranks: {reason}")
    common = tuple(sorted(members & set(ranks)))
    if not common:
        unobserved.append("no rank of it has a dump in both sets")
    return Pair(
        match.a,
        match.b,
        label,
        common,
        match.by,
        held_a=held[0].get(match.a.id) if match.a is not None else None,
        held_b=held[1].get(match.b.id) if match.b is not None else None,
        unobserved=tuple(unobserved),
        called=_called(a, match.a) or _called(b, match.b),
    )


def _called(side: Input, group: Group | None) -> bool:
    return group is not None and any(lane.group == group.id for lane in side.incident.lanes)


def _held(side: Input, ranks: Sequence[int]) -> dict[int, tuple[int, int]]:
    """By group: oldest and newest call of its collective lane of which a set holds a record of one of these ranks."""
    rows = side.requests.calls.rows.filter(pl.col("rank").is_in(ranks))
    table = rows.group_by("group").agg(oldest=pl.col("seq").min(), newest=pl.col("seq").max())
    return {group: (oldest, newest) for group, oldest, newest in table.select("group", "oldest", "newest").iter_rows()}


def _with_calls(pair: Pair, compared: Mapping[int, tuple[int, int, int]], cut: int | None, a: Input, b: Input) -> Pair:
    """The pair with what was compared, by lane: how many calls, the first and the last."""
    calls, first, last = compared.get(COLLECTIVE_LANE, (0, None, None))
    messages = sum(each[0] for lane, each in compared.items() if lane != COLLECTIVE_LANE)
    unobserved = [*pair.unobserved, *_windows(pair, first)]
    if cut is not None:
        unobserved.append(
            f"from call {cut:,} on the numbers do not correspond: one recorder has several records for another's one"
        )
    sends = [bool(_lanes_of(side, group)) for side, group in ((a, pair.a), (b, pair.b))]
    if any(sends) and not messages:
        unobserved.append(f"sends and receives: {_why_no_messages(a, b, sends)}")
    return replace(pair, compared=calls, first=first, last=last, messages=messages, unobserved=tuple(unobserved))


def _windows(pair: Pair, first: int | None) -> Iterable[str]:
    """Calls that only one set holds because the other's dumps do not reach so far back."""
    if pair.held_a is None or pair.held_b is None:
        for word, mine, theirs in (("A", pair.held_a, pair.held_b), ("B", pair.held_b, pair.held_a)):
            if mine is None and theirs is not None and pair.ranks:
                yield f"no call of it is recorded in {word}"
        return
    if first is None:
        if max(pair.held_a[0], pair.held_b[0]) <= min(pair.held_a[1], pair.held_b[1]):
            return  # they overlap: that their numbers do not correspond is said beside it
        yield f"{NO_OVERLAP}A holds {_span(pair.held_a)}, B {_span(pair.held_b)}"
    elif first > min(pair.held_a[0], pair.held_b[0]):
        word = "A" if pair.held_a[0] > pair.held_b[0] else "B"
        yield f"calls before {first:,} are not in {word}'s dumps any more: an earlier difference would not show"


def _span(held: tuple[int, int]) -> str:
    return f"call {held[0]:,}" if held[0] == held[1] else f"calls {held[0]:,}-{held[1]:,}"


def _lanes_of(side: Input, group: Group | None) -> list[tuple[int, int, int]]:
    return [lane for lane in side.requests.traffic.lanes if group is not None and lane[0] == group.id]


def _why_no_messages(a: Input, b: Input, sends: Sequence[bool]) -> str:
    for word, side, there in (("A", a, sends[0]), ("B", b, sends[1])):
        libraries = sorted({source.producer for source in side.incident.records.sources if source.usable and source.producer})
        if not there:
            silent = [name for name in libraries if not producer_of(name).records_p2p]
            return f"{escape(silent[0])} does not record them ({word})" if silent else f"{word} holds no record of them"
    return "the dumps do not go back to the first one, or a receive names no source, so that they cannot be counted"
