"""One call as both sets show it, and the standing of groups."""

from __future__ import annotations

from pathlib import Path

import pytest

import hangview
from hangview.compare import compare
from hangview.compare.call import call_aspects, has_lane
from hangview.compare.standing import Standing, standings
from hangview.compare.values import Comparison, Difference, DifferenceKind, Pair, Part, Side
from hangview.schema import ReadOptions
from hangview.terms import COLLECTIVE, Group, Verdict

FIXTURES = Path(__file__).parents[2] / "fixtures"


def load(name: str) -> hangview.Incident:
    return hangview.load(str(FIXTURES / name), options=ReadOptions(cache=False))


def test_what_the_skipped_call_shows():
    """Rank 2 of the second run went on without all_reduce 10 of the first group (its EXPECT.json)."""
    a, b = load("real-2.15.0-healthy"), load("real-2.15.0-skip")
    comparison = compare(a, b)
    difference = comparison.differences[0]
    pair = comparison.groups[difference.pair]
    aspects = {aspect.name: aspect for aspect in call_aspects(a, b, pair, difference.lane, difference.seq or 0, difference)}
    assert list(aspects) == ["op", "size × dtype", "state", "call site"]
    assert [value.ranks for value in aspects["op"].a] == [pair.ranks]
    told = {rank: value.text for value in aspects["state"].b for rank in value.ranks}
    assert set(told) == set(pair.ranks)
    assert told[2] != told[0]


def test_the_size_of_one_rank():
    a, b = load("nccl-none"), load("nccl-size")
    comparison = compare(a, b)
    difference = comparison.differences[0]
    aspects = call_aspects(a, b, comparison.groups[difference.pair], difference.lane, difference.seq or 0, difference)
    size = next(aspect for aspect in aspects if aspect.name.startswith("size"))
    assert size.differs
    assert [value.ranks for value in size.a] == [(1, 3, 5, 7)]
    assert {value.ranks for value in size.b} == {(1, 3, 7), (5,)}
    op = next(aspect for aspect in aspects if aspect.name == "op")
    assert not op.differs
    assert op.a == op.b


def test_a_lane_that_one_set_does_not_have_shows_nothing():
    a = load("p2p-chain")
    b = load("healthy")
    pair = Pair(a.groups[1], b.groups[0], "pp", a.groups[1].ranks)
    lane = next(each.lane for each in a.lanes if each.lane != COLLECTIVE)
    assert has_lane(a, a.groups[1], lane)
    assert not has_lane(b, b.groups[0], lane)
    for aspect in call_aspects(a, b, pair, lane, 1, None):
        assert aspect.a or aspect.name == "call site"
        assert not aspect.b
        assert not aspect.differs


SIDE = Side((), Verdict.NO_HANG, (), "", (), (), 0, 0)


def pair(name: str, *, a: bool = True, b: bool = True, compared: int = 3) -> Pair:
    group = Group(0, name, name, (0, 1))
    return Pair(group if a else None, group if b else None, name, (0, 1), compared=compared)


def difference(at: int, kind: DifferenceKind = DifferenceKind.STATE, *, follows: bool = False) -> Difference:
    return Difference(kind, at, COLLECTIVE, 1, "all_reduce", (Part(kind, (0,), "x", "y"),), follows)


def test_the_most_telling_group_first():
    groups = (
        pair("agrees"), pair("unseen", compared=0), pair("b", a=False), pair("a", b=False), pair("later"), pair("first"),
    )  # fmt: skip
    found = (difference(5), difference(4, follows=True), difference(5, DifferenceKind.CALL_SITE))
    comparison = Comparison(SIDE, SIDE, (), groups, found, ())
    told = [(groups[each.pair].label, each.standing, each.differences) for each in standings(comparison)]
    assert told == [
        ("first", Standing.DIFFERS, (0, 2)),
        ("later", Standing.DIFFERS_LATER, (1,)),
        ("a", Standing.ONLY_IN_A, ()),
        ("b", Standing.ONLY_IN_B, ()),
        ("unseen", Standing.NOT_OBSERVED, ()),
        ("agrees", Standing.AGREES, ()),
    ]


@pytest.mark.parametrize("names", [("healthy", "seed-a"), ("nccl-stuck-wrapped", "nccl-stuck")])
def test_every_group_once(names):
    comparison = compare(*map(load, names))
    assert sorted(each.pair for each in standings(comparison)) == list(range(len(comparison.groups)))
