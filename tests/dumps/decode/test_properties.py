"""Any dump survives writing and reading; any part of one gives a beginning of it; any bytes give a dump or an error of ours."""

from __future__ import annotations

import json
import pickle
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hangview.dumps.decoded import Decoded, NotADump, Refused
from tests.dumps.decode.sample import T0, as_json, check, expected, read, rows
from tests.support.torch_pickle import dump_bytes

QUICK = settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

NAMES = st.text(max_size=8)
NUMBERS = st.one_of(st.integers(0, 3), st.integers(0, 70_000), st.integers(-(2**63) + 1, 2**63 - 1))
SHAPES = st.lists(st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**50)), max_size=4), max_size=4)
DTYPES = st.lists(st.sampled_from(("Float", "Half", "Long", "")), max_size=3)
TIMES = st.one_of(st.none(), st.integers(T0, T0 + 10**12))
FRAMES = st.lists(st.fixed_dictionaries({"name": NAMES, "filename": NAMES, "line": st.integers(0, 10**6)}), max_size=5)
STATES = st.sampled_from(("scheduled", "started", "completed", "other"))


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """A record with the keys of version 2.10, some of them perhaps missing."""
    result: dict[str, Any] = {
        "record_id": draw(NUMBERS),
        "pg_id": draw(st.integers(0, 5)),
        "process_group": (draw(NAMES), draw(NAMES)),
        "thread_name": draw(NAMES),
        "thread_id": draw(NAMES),
        "collective_seq_id": draw(NUMBERS),
        "p2p_seq_id": draw(NUMBERS),
        "op_id": draw(NUMBERS),
        "profiling_name": draw(NAMES),
        "time_created_ns": draw(TIMES),
        "duration_ms": draw(st.floats(allow_nan=False)),
        "input_sizes": draw(SHAPES),
        "input_dtypes": draw(DTYPES),
        "output_sizes": draw(SHAPES),
        "output_dtypes": draw(DTYPES),
        "state": draw(STATES),
        "time_discovered_started_ns": draw(TIMES),
        "time_discovered_completed_ns": draw(TIMES),
        "retired": draw(st.booleans()),
        "timeout_ms": draw(NUMBERS),
        "is_p2p": draw(st.booleans()),
    }
    for key in draw(st.sets(st.sampled_from(sorted(result)), max_size=3)) - {"record_id"}:
        del result[key]
    return result


@st.composite
def tops(draw: st.DrawFn) -> dict[str, Any]:
    """Few distinct records, often repeated, so that the fast way is taken too; frames are shared as torch shares them."""
    kinds = draw(st.lists(entries(), min_size=1, max_size=3))
    pool = draw(FRAMES)
    with_frames = draw(st.booleans())
    chosen = draw(st.lists(st.integers(0, len(kinds) - 1), max_size=5)) * draw(st.sampled_from((1, 1, 20)))
    result = []
    for i, kind in enumerate(chosen):
        e: dict[str, Any] = {"frames": [pool[j % len(pool)] for j in range(i % 3)] if pool else []} if with_frames else {}
        result.append(e | kinds[kind] | {"record_id": i})
    return {"version": "2.10", "pg_config": {}, "pg_status": {}, "entries": result}


@QUICK
@given(tops())
def test_torchs_layout(top):
    data = dump_bytes(top)
    assert pickle.loads(data) == top
    decoded = read(data)
    assert decoded.complete
    check(decoded, top["entries"])


@QUICK
@given(tops(), st.integers(2, 5))
def test_pythons_layouts(top, protocol):
    decoded = read(pickle.dumps(top, protocol))
    assert decoded.complete
    check(decoded, top["entries"])


@QUICK
@given(tops())
def test_json(top):
    for e in top["entries"]:
        e.pop("frames", None)
        for key in ("process_group", "time_discovered_started_ns", "time_discovered_completed_ns"):
            e.setdefault(key, ("", "") if key == "process_group" else None)
    decoded = read(json.dumps(as_json(top)).encode())
    assert decoded.complete
    check(decoded, top["entries"])


@QUICK
@given(tops(), st.data())
def test_a_cut_dump_is_a_beginning(top, data):
    whole = dump_bytes(top)
    wanted = [expected(e) for e in top["entries"]]
    for _ in range(5):
        decoded = read(whole[: data.draw(st.integers(2, len(whole) - 1))])
        assert not decoded.complete
        assert rows(decoded) == wanted[: decoded.count]


@QUICK
@given(tops(), st.data())
def test_a_longer_part_never_holds_less(top, data):
    whole = dump_bytes(top)
    cuts = sorted(data.draw(st.lists(st.integers(2, len(whole)), min_size=2, max_size=6)))
    counts = [read(whole[:cut]).count for cut in cuts]
    assert counts == sorted(counts)
    assert read(whole).count == len(top["entries"])


def only_ours(data: bytes) -> Decoded | None:
    """What decoding gives; anything but a dump or one of the two errors fails the test."""
    message = ""
    decoded = None
    try:
        decoded = read(data)
        assert isinstance(decoded, Decoded)
        assert len(rows(decoded)) == decoded.count
    except (NotADump, Refused) as error:
        message = str(error)
    assert message.isprintable()
    assert len(message) < 1000
    return decoded


@QUICK
@given(tops(), st.sampled_from(("torch", "python", "json")), st.data())
def test_flipped_bytes(top, kind, data):
    whole = dump_bytes(top) if kind == "torch" else pickle.dumps(top) if kind == "python" else json.dumps(top).encode()
    for _ in range(10):
        changed = bytearray(whole)
        for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
            changed[at] = data.draw(st.integers(0, 255))
        only_ours(bytes(changed))


@settings(QUICK, max_examples=300)
@given(
    st.binary(max_size=60), st.sampled_from((b"", b"\x80\x02", b"\x80\x04", b"\x80\x02}(X\x07\0\0\0version", b"{", b"[", b'"'))
)
def test_any_bytes(data, start):
    only_ours(start + data)


@settings(QUICK, max_examples=300)
@given(st.lists(st.sampled_from([bytes((op,)) for op in b"(]}eut.as)\x85\x86\x87NK\x01h\0q\0\x94\x88\x89X\x04"]), max_size=40))
def test_any_opcodes(ops):
    only_ours(b"\x80\x02" + b"".join(ops) + b".")


@QUICK
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), NAMES),
        lambda v: st.lists(v) | st.dictionaries(NAMES, v),
    )
)
def test_any_value(value):
    """Other people's pickles and JSON, as themselves and where an entry should be."""
    for top in (value, {"entries": value}, {"entries": [value]}, {"pg_config": value, "pg_status": value, "version": value}):
        only_ours(pickle.dumps(top, 4))
        only_ours(json.dumps(top).encode())


@QUICK
@given(st.data())
def test_any_value_of_any_key(data):
    keys = (
        "record_id",
        "frames",
        "process_group",
        "input_sizes",
        "input_dtypes",
        "state",
        "retired",
        "duration_ms",
        "thread_id",
    )
    value = data.draw(
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), NAMES, st.binary(max_size=3)),
            lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=2) | st.tuples(v, v),
            max_leaves=5,
        )
    )
    only_ours(pickle.dumps({"version": "2.10", "entries": [{"record_id": 1, data.draw(st.sampled_from(keys)): value}]}))


NEARLY_NUMBERS = st.text("0123456789,[]()\"' -+._eE\t\n\x1c\x1d\x85\u0663\u00b2\u2003", max_size=12)


@settings(QUICK, max_examples=400)
@given(NEARLY_NUMBERS, NEARLY_NUMBERS)
def test_any_text_where_numbers_are(ranks, number):
    """Ranks, counters and every number of an entry, as text that is nearly one."""
    keys = ("record_id", "collective_seq_id", "time_created_ns", "duration_ms", "timeout_ms")
    config = {"0": {"name": "0", "desc": "", "ranks": ranks}, "1": {"name": "1", "desc": "", "ranks": [number]}}
    status = {number: {"last_enqueued_collective": ranks}, "0": {"last_enqueued_collective": number}}
    only_ours(json.dumps({"pg_config": config, "pg_status": status, "version": number}).encode())
    for key in keys:
        only_ours(json.dumps({"entries": [{"record_id": 1, "input_sizes": [[number]]} | {key: number}]}).encode())
