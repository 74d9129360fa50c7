"""Version, library, groups and counters as dumps spell them."""

from __future__ import annotations

import json
import pickle

import pytest

from hangview.dumps.decode.header import parse_ranks
from hangview.dumps.decoded import RawConfig, RawStatus, Refused
from tests.dumps.decode.sample import dump, read
from tests.support.torch_pickle import dump_bytes


@pytest.mark.parametrize(
    ("value", "ranks"),
    [
        ("[0, 1, 2]", (0, 1, 2)),
        ("[0,1,2]", (0, 1, 2)),  # torchcomms
        ("[7]", (7,)),
        ("[2, 0]", (2, 0)),  # the group's own order
        ('"[0, 1]"', (0, 1)),
        ("'[0, 1]'", (0, 1)),
        ("(0, 1)", (0, 1)),
        ("(0,)", (0,)),
        ("0, 1", (0, 1)),
        ("[]", ()),
        ("", ()),
        ('""', ()),
        (None, ()),
        ([], ()),
        ([3, 1], (3, 1)),
        ((3, 1), (3, 1)),
        (["0", "1"], (0, 1)),
        ("[0, 1", (0, 1)),
        ("[-1]", None),
        ("[0, 7\x1d]", None),  # space to a regex, not to int()
        ("[\u0663]", None),
        (["\u0663"], None),
        (["7\x1d"], None),
        ("[0; 1]", None),
        ("[0, [1]]", None),
        ("__import__('os').getcwd()", None),
        ("[0, 99999999999]", None),
        ([1.5], None),
        ([True], None),
        ([None], None),
        ([-1], None),
        ({"0": 1}, None),
        (7, None),
    ],
)
def test_ranks(value, ranks):
    assert parse_ranks(value) == ranks


def test_many_ranks_in_no_time():
    assert parse_ranks(str(list(range(100_000)))) == tuple(range(100_000))
    assert parse_ranks("1" * 100_000) is None
    assert parse_ranks("1, " * 50_000 + "x") is None


@pytest.mark.parametrize(
    ("version", "read_as"),
    [("2.10", "2.10"), ("test", "test"), ("", ""), (2.4, "2.4"), (3, "3"), (None, None), ([2, 10], None), ("9" * 500, None)],
)
def test_odd_versions(version, read_as):
    decoded = read(pickle.dumps(dump(2) | {"version": version}))
    assert decoded.version == read_as
    assert len(decoded.notes) == (read_as is None and version is not None)


def test_no_version():
    top = dump(2)
    del top["version"]
    assert read(pickle.dumps(top)).version is None


def test_configs_of_every_kind():
    config = {
        "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"},
        3: [4, 5],
        "6": {"desc": None, "ranks": [6]},
        "7": "nonsense",
        "": {"name": "", "desc": "", "ranks": "[]"},
    }
    decoded = read(pickle.dumps(dump(2) | {"pg_config": config}))
    assert decoded.configs == (
        RawConfig("0", "0", "default_pg", (0, 1)),
        RawConfig("3", "3", "", (4, 5)),
        RawConfig("6", "6", "", (6,)),
        RawConfig("7", "7", "", ()),
        RawConfig("", "", "", ()),
    )
    assert decoded.notes == ("the ranks of group '7' in pg_config cannot be read",)


def test_statuses_of_every_kind():
    names = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    status = {
        "0": dict(zip(names, (5, -1, 4), strict=True)),
        1: dict(zip(names, ("5", "-1", "4"), strict=True)),
        "2": {names[0]: 9},
        "3": {},
        "4": dict(zip(names, ("x", None, 2**70), strict=True)),
        "default": {names[0]: 1},
        "5": 6,
    }
    decoded = read(pickle.dumps(dump(2) | {"pg_status": status}))
    assert decoded.statuses == (
        RawStatus(0, 5, -1, 4),
        RawStatus(1, 5, -1, 4),
        RawStatus(2, 9, None, None),
        RawStatus(3, None, None, None),
        RawStatus(4, None, None, None),
    )
    assert len(decoded.notes) == 2


@pytest.mark.parametrize("key", ["pg_config", "pg_status"])
@pytest.mark.parametrize("value", [[], "x", 5])
def test_a_header_value_of_another_kind_is_said_and_left_out(key, value):
    decoded = read(pickle.dumps(dump(2) | {key: value}))
    assert decoded.count == 2
    assert decoded.notes == (f"its {key} is no dictionary",)


def test_notes_stay_few_and_printable():
    config = {f"\x1b[31m{i}": {"name": "x", "desc": "", "ranks": "?"} for i in range(500)}
    notes = read(pickle.dumps(dump(2) | {"pg_config": config})).notes
    assert 0 < len(notes) < 20
    assert all(note.isprintable() for note in notes)


def test_unknown_keys_stay_few_and_printable():
    top = dump(2)
    top["entries"][0] |= {f"k\n{i}": None for i in range(500)}
    unknown = read(pickle.dumps(top)).unknown_keys
    assert 0 < len(unknown) <= 50
    assert all(key.isprintable() for key in unknown)


def test_the_state_of_communicators_is_left_alone():
    state = {"0x1": {"rank": "0", "x": "y"}}
    assert read(dump_bytes(dump(2) | {"nccl_comm_state": state})).notes == ()
    assert read(dump_bytes({"hccl_comm_state": state, "version": "2.4"})).count == 0


def test_long_names_are_refused():
    top = dump(1, stacks=False)
    top["pg_config"] = {"0": {"name": "x" * 2_000_000, "desc": "", "ranks": "[0]"}}
    for data in (json.dumps(top).encode(), pickle.dumps(top)):
        with pytest.raises(Refused, match="limit of"):
            read(data)
    top["pg_config"] = {"0": {"name": "x", "desc": "", "ranks": "0, " * 1_000_000}}
    with pytest.raises(Refused, match="limit of"):
        read(json.dumps(top).encode())


def test_a_counter_that_no_job_counts_to_is_none():
    status = {"0": {"last_enqueued_collective": 2**31, "last_started_collective": -2, "last_completed_collective": 2**62}}
    assert read(pickle.dumps(dump(2) | {"pg_status": status})).statuses == (RawStatus(0, None, None, None),)
