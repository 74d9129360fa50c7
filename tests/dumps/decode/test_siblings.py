"""A dump read after others like it gives what it gives alone, and most of it is taken over."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hangview.dumps.decode import siblings
from hangview.dumps.decode.dump import decode
from hangview.dumps.decode.known import Known
from tests.dumps.decode.sample import LIMITS, T0, check, dump, entry
from tests.support.torch_pickle import dump_bytes

QUICK = settings(max_examples=80, deadline=None, database=None, derandomize=True)


@pytest.fixture
def taken(monkeypatch) -> list[int]:
    """For each dump that was read like another one, how many of its rows were not."""
    out: list[int] = []
    fields_of = siblings._Sibling.fields_of

    def watched(self: Any, buffer: Any, starts: Any, ends: Any, pick: Any) -> Any:
        out.append(len(pick.rest))
        return fields_of(self, buffer, starts, ends, pick)

    monkeypatch.setattr(siblings._Sibling, "fields_of", watched)
    return out


def later(top: dict[str, Any], ns: int) -> dict[str, Any]:
    """The same calls at other times."""
    top = copy.deepcopy(top)
    for e in top["entries"]:
        for key in ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"):
            if e[key] is not None:
                e[key] += ns
        if "duration_ms" in e:
            e["duration_ms"] *= 1.5
    return top


def test_the_ranks_of_a_job(taken):
    together = Known(LIMITS)
    tops = [later(dump(400), 1000 * rank) for rank in range(4)]
    for top in tops:
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])
    assert len(taken) == 3
    assert max(taken) < 20


@pytest.mark.parametrize("few", [0, 20])
@pytest.mark.parametrize("count", [380, 399, 400, 401, 410])
def test_more_and_fewer_entries(taken, monkeypatch, count, few):
    """The rows that differ are read, or left to the interpreter, where the other dump has some and where it has none."""
    monkeypatch.setattr(siblings, "_FEW", few)
    together = Known(LIMITS)
    decode(dump_bytes(dump(400)), LIMITS, together)
    top = dump(420)
    del top["entries"][count:]
    for row in (100, 101, 200):
        top["entries"][row] |= {"state": "started", "output_sizes": [[3, 3, row]], "timeout_ms": 77}
    check(decode(dump_bytes(later(top, 5)), LIMITS, together), later(top, 5)["entries"])
    assert len(taken) == 1


def test_kinds_that_take_turns(taken):
    """The one that fits best is chosen, wherever it stands."""
    together = Known(LIMITS)
    tops = [dump(400, stacks=False) for _ in range(3)]
    for row in range(100, 130):
        tops[1]["entries"][row]["output_sizes"] = [[3, 3, row]]
    for row in range(200, 208):
        tops[2]["entries"][row]["output_sizes"] = [[4, 4, row]]
    for rank in range(6):
        top = later(tops[rank % 3], rank)
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])
    assert len(taken) == 4, "the first two are read alone"
    assert max(taken) < 20


def test_other_ranks_of_a_job_are_read_alone(taken):
    together = Known(LIMITS)
    for seed in range(3):
        top = dump(400, seed)
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])
    assert taken == []


def test_the_same_bytes_that_stand_for_other_strings(taken):
    """What a memo id means is looked up in the dump itself."""
    together = Known(LIMITS)
    for name in ("nccl:one", "nccl:two"):
        top = dump(400)
        for e in top["entries"]:
            e["profiling_name"] = name
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])
    assert len(taken) == 1


def test_rows_that_do_not_fit_lend_nothing():
    """Where a row is not as the others are, its numbers may seem to be anywhere, and must not hide a difference elsewhere."""
    together = Known(LIMITS)
    top = dump(400, stacks=False)
    for row in (50, 150, 250):
        top["entries"][row] = dict(reversed(top["entries"][row].items()))
    decode(dump_bytes(top), LIMITS, together)
    other = copy.deepcopy(top)
    for row in (49, 51, 149, 151, 251):
        other["entries"][row] |= {"state": "scheduled", "is_p2p": not other["entries"][row]["is_p2p"]}
    check(decode(dump_bytes(other), LIMITS, together), other["entries"])


def test_a_number_that_looks_like_the_start_of_a_row():
    together = Known(LIMITS)
    data = dump_bytes(dump(400, stacks=False))
    decode(data, LIMITS, together)
    at = data.index(b"u}(h") + 4
    token = data[at - 1 : at + 1]
    top = dump(400, stacks=False)
    top["entries"][200]["time_created_ns"] = int.from_bytes(b"u}(" + token + b"\1\1\1", "little")
    check(decode(dump_bytes(top), LIMITS, together), top["entries"])


def test_negative_numbers_and_numbers_of_all_lengths(taken):
    together = Known(LIMITS)
    kinds = [(0, 255), (256, 65_535), (65_536, 2**31 - 1), (-(2**31), -1), (2**31, 2**63 - 1), (-(2**63) + 1, -(2**31) - 1)]
    rng = random.Random(5)
    for rank in range(3):
        top = dump(300)
        for i, e in enumerate(top["entries"]):
            for key in ("op_id", "p2p_seq_id", "record_id"):
                e[key] = rng.randint(*kinds[i % len(kinds)])
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])
        assert len(taken) == rank


def test_a_cut_dump(taken):
    together = Known(LIMITS)
    top = dump(400)
    data = dump_bytes(top)
    decode(data, LIMITS, together)
    for lost in (1, 30, 200, 1000):
        part = decode(data[:-lost], LIMITS, together)
        assert not part.complete
        assert part.count == decode(data[:-lost], LIMITS).count
        check(part, top["entries"][: part.count])
    assert taken


def test_little_is_kept(monkeypatch):
    monkeypatch.setattr(siblings, "_KEPT", 2)
    together = Known(LIMITS)
    for seed in range(5):
        decode(dump_bytes(dump(100, seed)), LIMITS, together)
    assert len(together.siblings._kept) == 2
    monkeypatch.setattr(siblings, "_KEPT_BYTES", 1000)
    decode(dump_bytes(dump(100, 9)), LIMITS, together)
    assert len(together.siblings._kept) == 2, "a large one is not kept, and drops no other"


CHANGES = st.sampled_from(("time", "none", "state", "sizes", "number", "name", "gone", "new", "reversed"))


@QUICK
@given(
    changes=st.lists(st.tuples(st.integers(1, 118), CHANGES), max_size=12),
    numbers=st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=4),
    few=st.sampled_from((0, 3, 20)),
    stacks=st.booleans(),
)
def test_any_changes(changes, numbers, few, stacks):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(siblings, "_FEW", few)
        patch.setattr(siblings, "_DIFFERENT", 1.0)
        together = Known(LIMITS)
        decode(dump_bytes(dump(120, 4, stacks=stacks)), LIMITS, together)
        top = dump(120, 4, stacks=stacks)
        rng = random.Random(len(changes))
        for i, (row, what) in enumerate(changes):
            entries = top["entries"]
            number, row = numbers[i % len(numbers)], min(row, len(entries) - 1)
            if what == "gone":
                del entries[row]
            elif what == "new":
                entries.insert(row, entry(row, rng, None) | ({"frames": []} if stacks else {}))
            elif what == "reversed":
                entries[row] = dict(reversed(entries[row].items()))
            else:
                entries[row] |= {
                    "time": {"time_created_ns": T0 + abs(number) % 10**15},
                    "none": {"time_discovered_started_ns": None},
                    "state": {"state": "started", "retired": False},
                    "sizes": {"input_sizes": [[abs(number) % 300]]},
                    "number": {"op_id": number, "timeout_ms": number},
                    "name": {"profiling_name": f"nccl:{number}"},
                }[what]
        check(decode(dump_bytes(top), LIMITS, together), top["entries"])


def test_durations_are_read_anew():
    together = Known(LIMITS)
    tops = [dump(200), later(dump(200), 3)]
    columns = [decode(dump_bytes(top), LIMITS, together).columns["duration_ms"] for top in tops]
    has = ~np.isnan(columns[0].astype(float))
    assert np.allclose(columns[1][has].astype(float), 1.5 * columns[0][has].astype(float))
