"""Dumps as torch writes them, in every version's layout, against Python's own unpickler."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest

from hangview.dumps.decode import rows as fast
from hangview.dumps.decode.columns import Column, Finished, Tables, from_entries
from hangview.dumps.decode.known import Known
from hangview.dumps.decode.machine import interpret
from hangview.dumps.decoded import BOOL_COLUMNS, ID_COLUMNS, INT_COLUMNS, NONE, RawConfig, RawStatus
from tests.dumps.decode.sample import CONFIG, LIMITS, STATUS, T0, check, dump, entry, frames, read
from tests.support.torch_pickle import dump_bytes


def version_1_4(count: int) -> dict[str, Any]:
    """torch 2.3: seq_id, no group names, no dtypes, groups by number."""
    top = dump(count)
    entries = []
    for e in top["entries"]:
        e = {("seq_id" if k == "collective_seq_id" else k): v for k, v in e.items()}
        for key in ("process_group", "thread_name", "thread_id", "p2p_seq_id", "input_dtypes", "output_dtypes"):
            del e[key]
        del e["timeout_ms"], e["is_p2p"]
        entries.append(e)
    return {"entries": entries, "version": "1.4", "pg_config": {0: [0, 1, 2, 3], 1: [2, 0]}}


def version_2_2_list(count: int) -> list[dict[str, Any]]:
    """torch 2.2: a bare list, microseconds, frames last."""
    return [
        {
            "pg_id": e["pg_id"],
            "seq_id": e["collective_seq_id"],
            "profiling_name": e["profiling_name"],
            "time_created_us": T0 // 1000 + e["record_id"],
            "input_sizes": e["input_sizes"],
            "output_sizes": e["output_sizes"],
            "state": e["state"],
            "retired": e["retired"],
            "frames": e["frames"],
        }
        for e in dump(count)["entries"]
    ]


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 34, 500])
@pytest.mark.parametrize("stacks", [True, False])
def test_same_as_pickle(count, stacks):
    data = dump_bytes(dump(count, stacks=stacks))
    decoded = read(data)
    check(decoded, pickle.loads(data)["entries"])
    assert decoded.complete
    assert decoded.encoding == "pickle 2"
    assert (decoded.version, decoded.library) == ("2.10", "2.27.7")
    assert decoded.configs == (RawConfig("0", "0", "default_pg", (0, 1, 2, 3)), RawConfig("5", "5", "tp", (2, 0)))
    assert decoded.statuses == (RawStatus(0, 300, -1, 299), RawStatus(1, 7, 7, 70_000))
    assert decoded.has_entries_key
    assert not decoded.unknown_keys
    assert not decoded.notes


@pytest.mark.parametrize("seed", range(4))
def test_stacks_with_many_frames_need_long_memo_ids(seed):
    top = dump(500, seed, many_frames=400)
    assert b"r\x00\x01\x00\x00" in dump_bytes(top)  # memo id 256 was given out
    check(read(dump_bytes(top)), top["entries"])


@pytest.mark.parametrize("make", [version_1_4, version_2_2_list])
@pytest.mark.parametrize("count", [3, 200])
def test_old_versions(make, count):
    top = make(count)
    decoded = read(dump_bytes(top))
    check(decoded, top["entries"] if isinstance(top, dict) else top)
    assert decoded.complete
    assert set(decoded.labels) <= {("0", ""), ("1", "")}
    if isinstance(top, dict):
        assert decoded.configs == (RawConfig("0", "0", "", (0, 1, 2, 3)), RawConfig("1", "1", "", (2, 0)))
    else:
        assert decoded.version is None
        assert decoded.configs == ()


def test_dtypes_of_versions_without_them_are_unknown_not_empty():
    decoded = read(dump_bytes(version_1_4(100)))
    assert {s.input_dtypes for s in decoded.signatures} == {None}


def test_the_old_name_of_the_library_version():
    top = dump(2)
    top["nccl_version"] = top.pop("comm_lib_version")
    assert read(dump_bytes(top)).library == "2.27.7"


def test_an_empty_library_version_is_none():
    assert read(dump_bytes(dump(2) | {"comm_lib_version": ""})).library is None


@pytest.mark.parametrize("count", [0, 3])
def test_a_dump_without_collectives(count):
    top = dump(count)
    if count:
        del top["entries"]
    decoded = read(dump_bytes(top))
    assert decoded.count == 0
    assert decoded.has_entries_key is (count == 0)
    assert decoded.stacks == ((),)
    assert len(decoded.statuses) == len(STATUS)
    assert len(decoded.configs) == len(CONFIG)


def test_the_empty_recorder_of_torch_2_2():
    decoded = read(dump_bytes([]))
    assert (decoded.count, decoded.complete, decoded.version) == (0, True, None)


def test_missing_keys_get_defaults():
    entries = [{"record_id": i, "state": "completed"} for i in range(100)]
    decoded = read(dump_bytes({"version": "2.10", "entries": entries}))
    check(decoded, entries)
    assert set(decoded.columns["seq"].tolist()) == {NONE}
    assert decoded.ops == ("",)


@pytest.mark.parametrize("count", [5, 100])
def test_unknown_keys_are_named_and_passed_over(count):
    entries = dump(count)["entries"]
    for i, e in enumerate(entries):
        e |= {"stream": i, "host": "n1", "graph": i % 2 == 0, "note": None}
    odd = entries[count // 2]
    odd["extra"] = [1, [2]]
    decoded = read(dump_bytes({"version": "3.0", "entries": entries}))
    check(decoded, entries)
    assert decoded.unknown_keys == ("extra", "graph", "host", "note", "stream")


def test_two_keys_for_one_column_the_newer_one_counts():
    entries = [{"record_id": i, "seq_id": 900 + i, "collective_seq_id": i} for i in range(100)]
    decoded = read(dump_bytes({"version": "2.0", "entries": entries}))
    assert decoded.columns["seq"].tolist() == list(range(100))


def test_unknown_states_are_other():
    entries = [{"record_id": i, "state": ("completed", "paused")[i % 2]} for i in range(100)]
    assert read(dump_bytes({"version": "2.10", "entries": entries})).columns["state"].tolist() == [2, 3] * 50


def test_columns_have_their_types():
    for count in (3, 200):
        columns = read(dump_bytes(dump(count))).columns
        assert all(columns[name].dtype == np.int64 for name in INT_COLUMNS)
        assert all(columns[name].dtype == np.bool_ for name in BOOL_COLUMNS)
        assert all(columns[name].dtype == np.uint32 for name in ID_COLUMNS)
        assert columns["state"].dtype == np.uint8
        assert columns["duration_ms"].dtype == np.float64


def test_equal_frames_that_are_not_shared_give_one_stack():
    rng = random.Random(3)
    same = [frames(3, random.Random(9)) for _ in range(100)]
    entries = [entry(i, rng, []) | {"frames": same[i]} for i in range(100)]
    decoded = read(dump_bytes({"version": "2.10", "entries": entries}))
    assert len(decoded.stacks) == 2
    check(decoded, entries)


# The fast way -------------------------------------------------------------------------------------------------------


def interpreted(data: bytes) -> tuple[dict[str, Column], Finished]:
    """What the slow way makes of a dump."""
    top = interpret(data, LIMITS).root()
    tables = Tables(LIMITS, len(data), Known(LIMITS))
    columns, _ = from_entries(top["entries"] if isinstance(top, dict) else top, tables)
    return columns, tables.finish()


@pytest.mark.parametrize("make", [lambda n: dump(n), lambda n: dump(n, stacks=False), version_1_4, version_2_2_list])
def test_regular_dumps_take_the_fast_way(make):
    """It is an optimisation, so only its being taken can be seen to fail: the results are the same."""
    data = dump_bytes(make(400))
    result = fast.decode_rows(data, LIMITS, Known(LIMITS))
    assert result is not None
    columns, finished = interpreted(data)
    fast_finished = result.tables.finish()
    for name, table in zip(ID_COLUMNS, ("ops", "labels", "signatures", "stacks", "threads"), strict=True):
        values, other = getattr(finished, table), getattr(fast_finished, table)
        assert [values[i] for i in columns[name]] == [other[i] for i in result.columns[name]]
    for name in (*INT_COLUMNS, *BOOL_COLUMNS, "state"):
        assert columns[name].tolist() == result.columns[name].tolist()


def test_rows_are_read_in_blocks(monkeypatch):
    from hangview.dumps.decode import cursors

    monkeypatch.setattr(cursors, "_BLOCK", 7)
    top = dump(123)
    data = dump_bytes(top)
    assert fast.decode_rows(data, LIMITS, Known(LIMITS)) is not None
    check(read(data), top["entries"])


def test_a_size_whose_bytes_look_like_the_next_key():
    """The token that ends the sizes may lie inside a number: find the memo id of "state" and build such sizes."""
    entries = [entry(i, random.Random(i), None) for i in range(200)]
    data = dump_bytes({"version": "2.10", "entries": entries})
    at = data.index(b"X\x05\0\0\0stateq")
    number = int.from_bytes(b"h" + data[at + 11 : at + 12], "little")
    for i, e in enumerate(entries[1:]):
        e["input_sizes"] = [[number, i], [number * 65536 + 5], [number, number]]
    data = dump_bytes({"version": "2.10", "entries": entries})
    assert data.count(number.to_bytes(2, "little")) >= 5 * (len(entries) - 1)
    result = fast.decode_rows(data, LIMITS, Known(LIMITS))
    assert result is not None
    check(read(data), entries)


def test_long_size_lists():
    entries = [entry(i, random.Random(i), None) for i in range(100)]
    for i, e in enumerate(entries):
        e["output_sizes"] = [[300 + i % 3, 5]] * (i * 7 % 90)
    check(read(dump_bytes({"version": "2.10", "entries": entries})), entries)


def test_spans_with_equal_hashes_are_told_apart(monkeypatch):
    from hangview.dumps.decode import spans

    monkeypatch.setattr(spans, "_FACTOR", np.uint64(0))
    top = dump(200)
    check(read(dump_bytes(top)), top["entries"])


@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_an_entry_of_another_layout(where):
    entries = dump(200)["entries"]
    i = {"first": 0, "middle": 100, "last": 199}[where]
    entries[i] = dict(reversed(entries[i].items()))
    check(read(dump_bytes({"version": "2.10", "entries": entries})), entries)


def test_changing_layouts_are_interpreted():
    entries = [dict(sorted(e.items())) if i % 2 else e for i, e in enumerate(dump(100)["entries"])]
    check(read(dump_bytes({"version": "2.10", "entries": entries})), entries)


def test_a_string_with_the_bytes_of_an_entry_inside():
    entries = dump(200)["entries"]
    data = dump_bytes({"version": "2.10", "entries": entries})
    begin = data.index(b"u}(h") + 1
    inside = data[begin : data.index(b"u}(h", begin) + 4].decode("latin-1")
    entries[50]["profiling_name"] = inside
    check(read(dump_bytes({"version": "2.10", "entries": entries})), entries)
