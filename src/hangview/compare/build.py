"""``compare(a, b)``: two incidents in, one :class:`~hangview.compare.values.Comparison` out."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.compare import parts
from hangview.compare.beside import KINDS, Input, lay
from hangview.compare.conditions import conditions
from hangview.compare.durations import durations
from hangview.compare.groups import match_groups
from hangview.compare.left_out import losses, lost_note
from hangview.compare.moved import moved_by
from hangview.compare.pairs import pairs
from hangview.compare.rows import COLLECTIVE_LANE, Vocabulary, requests
from hangview.compare.values import Comparison, Difference, DifferenceKind, Part, Side
from hangview.terms import COLLECTIVE, Role, p2p_lane
from hangview.text import count, escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.compare.beside import Beside
    from hangview.compare.groups import Match
    from hangview.compare.values import LeftOut, Pair
    from hangview.incident import Incident


def compare(a: Incident, b: Incident) -> Comparison:
    """Lay two incidents side by side. Groups are matched by description and members, ranks by world rank, calls by number.

    Only what both sets hold is compared: a call that a ring buffer has overwritten, a rank without a dump and a state that a
    recorder does not write are named as not observed and never as a difference.
    """
    words = Vocabulary()
    matches = match_groups(a.groups, b.groups)
    place = [index for index, match in enumerate(matches) if match.a is not None and match.b is not None]
    both = [(match.a.id, match.b.id) for match in matches if match.a is not None and match.b is not None]
    one = Input(a, requests(a, words), [group for group, _ in both])
    other = Input(b, requests(b, words), [group for _, group in both])
    ranks = sorted(set(a.coverage.read) & set(b.coverage.read))
    names = words.values()
    beside = lay(one, other, ranks, names)
    left = losses(one, other, ranks, beside)
    built = pairs(matches, one, other, ranks, beside)
    for number, index in enumerate(place):
        built[index] = replace(built[index], left_out=left.pairs.get(number, ()))
    found = _differences(beside, one, other, place, names)
    if found or any(pair.compared or pair.messages for pair in built):
        # Where nothing is held by both, that a group has calls in one set only says that these are two other programs.
        found += [
            alone for index, match in enumerate(matches) if (alone := _alone(index, match, one, other, ranks)) is not None
        ]
    return Comparison(
        _side(a),
        _side(b),
        conditions(a, b),
        tuple(built),
        tuple(sorted(found, key=lambda each: _telling(each, built, a, b))),
        tuple(parts.renumbered(durations(one, other, ranks), place)),
        _notes(left.sets, one, other),
        same_files=bool(a.paths) and _real_paths(a) == _real_paths(b),
        left_out=left.sets,
    )


def _side(incident: Incident) -> Side:
    from hangview.report.page import build

    label, sentence = build(incident).answers[0]
    coverage = incident.coverage
    return Side(
        tuple(escape(path) for path in incident.paths),
        incident.verdict,
        tuple(sorted(incident.leads)),
        f"{label.lower()}: {sentence}",
        tuple(sorted(coverage.expected)),
        tuple(sorted(coverage.read)),
        len(incident.groups),
        incident.entries.height,
        len(incident.lanes),
    )


def _real_paths(incident: Incident) -> set[str]:
    """Where a set was read from, however that was typed."""
    return {os.path.realpath(path) for path in incident.paths}


def _alone(index: int, match: Match, a: Input, b: Input, ranks: Sequence[int]) -> Difference | None:
    """The difference that a group with calls in one set only is, unless the other set's dumps may have lost them."""
    mine, theirs, group = (a, b, match.a) if match.b is None else (b, a, match.b)
    if (match.a is not None and match.b is not None) or group is None or match.doubt:
        return None
    rows = mine.requests.calls.rows.filter((pl.col("group") == group.id) & pl.col("rank").is_in(ranks))
    callers = sorted(rows["rank"].unique().to_list())
    sources = {source.rank: source for source in theirs.incident.records.sources if source.usable}
    whole = [rank for rank in callers if not (sources[rank].wrapped or sources[rank].only_active or sources[rank].partial)]
    if not whole or len(whole) < len(callers):
        return None
    text = count(rows["seq"].n_unique(), "call")
    said = (text, "no call") if mine is a else ("no call", text)
    return Difference(
        DifferenceKind.ONLY_IN_ONE, index, COLLECTIVE, None, None, (Part(DifferenceKind.ONLY_IN_ONE, tuple(callers), *said),)
    )


# Differences


#: Kinds that say that something else was requested: one call more or fewer looks so.
_ASKED = frozenset({DifferenceKind.OP, DifferenceKind.SIZE, DifferenceKind.DTYPE, DifferenceKind.CALL_SITE})


def _differences(beside: Beside, a: Input, b: Input, place: Sequence[int], words: Sequence[object]) -> list[Difference]:
    later: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for pair, lane, kind, seq in beside.first_by_kind().select("pair", "lane", "kind", "seq").iter_rows():
        later.setdefault((pair, lane), []).append((kind, seq))
    out = []
    for (pair, lane), rows in beside.first().group_by("pair", "lane", maintain_order=True):
        number, at = int(pair), int(rows["seq"][0])
        found = parts.parts_of(rows.rows(named=True), a, b, number, words)
        here = {part.kind for part in found}
        place_of = words[lane] if lane != COLLECTIVE_LANE else None
        out.append(
            Difference(
                found[0].kind,
                place[number],
                COLLECTIVE if not isinstance(place_of, tuple) else p2p_lane(place_of[1], place_of[2]),
                at,
                parts.op_of(rows, a, b),
                found,
                bool(rows["follows"].all()),
                tuple((KINDS[kind], seq) for kind, seq in later[number, int(lane)] if KINDS[kind] not in here),
                moved_by(a, b, number, found[0].ranks[0], at) if place_of is None and found[0].kind in _ASKED else None,
            )
        )
    return out


_ORDER = {kind: place for place, kind in enumerate((*KINDS, DifferenceKind.ONLY_IN_ONE))}


def _telling(difference: Difference, groups: Sequence[Pair], a: Incident, b: Incident) -> tuple[object, ...]:
    """Sort key: what differs before anything else on its ranks, then by kind, then where a report's lead stands."""
    pair = groups[difference.pair]
    leads: set[tuple[int | None, str | None, int | None]] = set()
    for incident, group in ((a, pair.a), (b, pair.b)):
        leads |= {
            (f.group, f.lane, f.seq)
            for f in incident.findings
            if f.role is Role.LEAD and group is not None and f.group == group.id
        }
    led = any((lane, seq) == (difference.lane, difference.seq) for _, lane, seq in leads)
    return (
        difference.kind is DifferenceKind.ONLY_IN_ONE,
        difference.follows,
        _ORDER[difference.kind],
        not led,
        difference.pair,
        difference.lane,
    )


def _notes(left: Sequence[LeftOut], one: Input, other: Input) -> tuple[str, ...]:
    read = {"A": one.incident.coverage.read, "B": other.incident.coverage.read}
    notes = [lost_note(each) for each in left if read.get(each.side, True)]  # of a set without any dump there is more to say
    silent = sorted({producer_of_row for side in (one, other) for producer_of_row in _issue_only(side)})
    if silent:
        notes.append(
            f"whether calls are over is not compared: {', '.join(map(escape, silent))} records only that they were issued"
        )
    return tuple(notes)


def _issue_only(side: Input) -> Mapping[str, None]:
    """Recorders that marked requests as over when they were issued."""
    rows = side.incident.entries.filter(pl.col("issued"))["op"].unique().to_list()
    return dict.fromkeys(side.incident.records.ops[op].library for op in sorted(rows))
