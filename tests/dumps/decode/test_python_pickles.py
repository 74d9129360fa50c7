"""Dumps that a Python program pickled: re-saved ones, torch.profiler's plugin, and pickles of a dump's bytes."""

from __future__ import annotations

import json
import pickle
import pickletools
from dataclasses import replace

import pytest

from hangview.dumps.decoded import NotADump, Refused
from tests.dumps.decode.sample import LIMITS, as_json, check, dump, expected, read, rows
from tests.support.torch_pickle import dump_bytes

PROTOCOLS = (2, 3, 4, 5)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("count", [0, 1, 2, 999, 1000, 1001, 2001])
def test_a_dump_that_was_saved_again(protocol, count):
    """Python appends in batches of a thousand, and a single item by itself."""
    top = dump(count)
    decoded = read(pickle.dumps(top, protocol))
    check(decoded, top["entries"])
    assert decoded.complete
    assert decoded.encoding == f"pickle {protocol}"
    assert decoded.configs == read(dump_bytes(top)).configs
    assert decoded.statuses == read(dump_bytes(top)).statuses


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_its_unneeded_opcodes(protocol):
    top = dump(50)
    check(read(pickletools.optimize(pickle.dumps(top, protocol))), top["entries"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lists_for_tuples_and_tuples_for_lists(protocol):
    top = dump(60)
    for i, e in enumerate(top["entries"]):
        e["process_group"] = list(e["process_group"])
        e["input_sizes"] = tuple(tuple(s) for s in e["input_sizes"])
        e["output_sizes"] = [tuple(range(i % 6)), ()]
        e["frames"] = tuple(e["frames"])
        e["output_dtypes"] = ("Float", "Half")[: i % 3]
    check(read(pickle.dumps(top, protocol)), top["entries"])


def test_the_profilers_plugin():
    """CUPTI plugin: list process_group, duration None while scheduled, one status key, the members beside."""
    top = dump(30)
    for e in top["entries"]:
        e["process_group"] = list(e["process_group"])
        e["process_group_ranks"] = [0, 1, 2, 3]
        e.setdefault("duration_ms", None)
    decoded = read(pickle.dumps(top, 4))
    check(decoded, top["entries"])
    assert decoded.unknown_keys == ("process_group_ranks",)


@pytest.mark.parametrize("value", [0, 255, 256, -1, 2**31, -(2**31) - 1, 2**40, 2**63 - 1, -(2**63) + 1])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_integers_of_every_length(protocol, value):
    top = dump(1)
    top["entries"][0]["op_id"] = value
    assert rows(read(pickle.dumps(top, protocol)))[0]["op_id"] == value


@pytest.mark.parametrize("value", [2**63, -(2**64), 2**200, 2**2000])
def test_integers_beyond_64_bits_are_said(value):
    top = dump(1)
    top["entries"][0]["op_id"] = value
    with pytest.raises(NotADump) as error:
        read(pickle.dumps(top, 4))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("count", [1, 300])
def test_bytes_that_hold_a_dump(protocol, count, kind):
    if kind is bytearray and protocol < 5:
        pytest.skip("before protocol 5 a bytearray is a class")
    top = dump(count)
    decoded = read(pickle.dumps(kind(dump_bytes(top)), protocol))
    check(decoded, top["entries"])
    assert decoded.encoding == f"pickle {protocol} of bytes"
    assert decoded.complete


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_text_that_holds_a_json_dump(protocol):
    top = dump(20, stacks=False)
    decoded = read(pickle.dumps(json.dumps(as_json(top)), protocol))
    check(decoded, top["entries"])
    assert decoded.encoding == f"pickle {protocol} of text"


def test_a_wrapped_dump_may_be_longer_than_any_other_text():
    top = dump(300)
    data = dump_bytes(top)
    check(read(pickle.dumps(data), replace(LIMITS, string_bytes=400)), top["entries"])
    assert len(data) > 400


def test_wrapped_again_and_again():
    data = dump_bytes(dump(3))
    for _ in range(4):
        data = pickle.dumps(data)
        assert read(data).count == 3
    with pytest.raises(Refused, match="wrapped more than 4 times"):
        read(pickle.dumps(data))


@pytest.mark.parametrize("inner", [b"", b"hello", b"\x80\x02N.", pickle.dumps({"a": 1})])
def test_bytes_of_something_else(inner):
    with pytest.raises(NotADump):
        read(pickle.dumps(inner))


def test_numbers_as_text_and_other_spellings():
    top = dump(40)
    changed = []
    for e in top["entries"]:
        e = dict(e)
        for key in ("record_id", "collective_seq_id", "p2p_seq_id", "op_id", "pg_id", "time_created_ns", "timeout_ms"):
            e[key] = str(e[key])
        e["retired"] = int(e["retired"])
        e["is_p2p"] = str(e["is_p2p"]).lower()
        e["thread_id"] = int(e["thread_id"])
        changed.append(e)
    got = rows(read(pickle.dumps({**top, "entries": changed})))
    assert got == [expected(e) for e in top["entries"]]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("record_id", []),
        ("collective_seq_id", "twelve"),
        ("op_id", 1.5),
        ("time_created_ns", {}),
        ("retired", "perhaps"),
        ("is_p2p", 2),
        ("profiling_name", []),
        ("process_group", {}),
        ("process_group", [[], []]),
        ("input_sizes", 3),
        ("input_sizes", [3]),
        ("input_sizes", [["x"]]),
        ("input_sizes", "ab"),
        ("output_dtypes", 5),
        ("output_dtypes", [[]]),
        ("frames", "main.py"),
        ("frames", ["main.py"]),
        ("frames", [{"name": []}]),
        ("frames", [{"line": "x"}]),
        ("duration_ms", "long"),
        ("duration_ms", []),
        ("thread_id", b"1"),
    ],
)
def test_a_value_of_another_kind_is_named(key, value):
    top = dump(50)
    top["entries"][7][key] = value
    with pytest.raises(NotADump) as error:
        read(pickle.dumps(top))
    words = {"input_sizes": "sizes", "output_dtypes": "dtype", "frames": "frame", "process_group": "process_group"}
    text = str(error.value)
    assert words.get(key, key) in text or "line" in text or "name" in text
    assert "\n" not in text
