"""Pairs of the dump sets under fixtures/: what differs first is known from how they were made (their EXPECT.json)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import hangview
from hangview.compare import Comparison, Outcome, compare
from hangview.schema import ReadOptions

FIXTURES = Path(__file__).parents[2] / "fixtures"


@cache
def compared(a: str, b: str) -> Comparison:
    one, other = (hangview.load(str(FIXTURES / name), options=ReadOptions(cache=False)) for name in (a, b))
    return compare(one, other)


def first(found: Comparison) -> tuple[str, str, int | None, tuple[int, ...]]:
    """(kind, description of the group, seq, ranks of the first part) of the first difference."""
    difference = found.differences[0]
    group = found.groups[difference.pair].a or found.groups[difference.pair].b
    assert group is not None
    return difference.kind.value, group.desc, difference.seq, difference.parts[0].ranks


@pytest.mark.parametrize("name", ["gloo2.15-ops", "nccl-none", "nccl-size", "nccl2-hook", "p2p-chain", "coalesced", "seed-a"])
def test_a_set_does_not_differ_from_itself(name):
    found = compared(name, name)
    assert (found.outcome, found.changed) == (Outcome.SAME, ())


def test_the_size_that_one_rank_passes_is_the_first_difference():
    truth = json.loads((FIXTURES / "nccl-size/EXPECT.json").read_text())["truth"]
    found = compared("nccl-none", "nccl-size")
    assert first(found) == ("size", truth["group"]["desc"], truth["seq"], tuple(truth["ranks"]))
    group = found.groups[found.differences[0].pair].b
    assert group is not None
    assert (group.name, list(group.ranks)) == (truth["group"]["name"], truth["group"]["ranks"])
    # The other members of that call wait in it; everything else either waits on its own or follows.
    assert [(part.kind.value, part.ranks) for part in found.differences[0].parts[1:]] == [("state", (1, 3, 7))]
    assert {difference.kind.value for difference in found.differences[1:]} == {"state"}


def test_two_programs_differ_from_their_first_call_on():
    """One reduces 4 elements, the other (8, 3) of them, on all four ranks."""
    found = compared("gloo2.15-hang-skip", "gloo2.15-ops")
    assert first(found) == ("size", "default_pg", 1, (0, 1, 2, 3))
    (part,) = found.differences[0].parts
    assert (part.a, part.b) == ("4 × Float", "24 × Float")


@pytest.mark.parametrize("version", ["2.8.0", "2.13.0", "2.14.1", "2.15.0"])
def test_the_call_that_one_rank_skips_is_the_first_difference(version):
    truth = json.loads((FIXTURES / f"real-{version}-skip/EXPECT.json").read_text())["score"]
    found = compared(f"real-{version}-healthy", f"real-{version}-skip")
    assert first(found) == ("not_requested", truth["group"], truth["seq"], tuple(truth["ranks"]))
    assert len(found.differences) == 1


def test_the_same_job_on_another_version_does_not_differ():
    """Real runs of one script: 2.8.0 writes another format, 2.14.1 and 2.15.0 the same."""
    old, new = compared("real-2.8.0-healthy", "real-2.15.0-healthy"), compared("real-2.14.1-healthy", "real-2.15.0-healthy")
    assert (old.outcome, [condition.name for condition in old.changed]) == (Outcome.SAME, ["dump schema"])
    assert (new.outcome, new.changed) == (Outcome.SAME, ())


def test_json_and_pickle_of_one_run_do_not_differ():
    assert compared("real-2.15.0-skip", "real-2.15.0-skip-json").outcome is Outcome.SAME


def test_rings_that_kept_other_calls_are_not_compared():
    found = compared("nccl-stuck-wrapped", "nccl-stuck")
    assert (found.outcome, found.differences) == (Outcome.NOTHING, ())
    assert found.groups[0].unobserved[0].startswith("no call is held by both: A holds calls 321-324")


def test_durations_are_compared_where_both_record_them():
    durations = compared("nccl-none", "nccl-none").durations
    assert durations
    assert {duration.ratio for duration in durations} == {1.0}
    assert compared("real-2.15.0-healthy", "real-2.15.0-healthy").durations == ()
