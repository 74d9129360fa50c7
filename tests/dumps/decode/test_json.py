"""JSON dumps of torch and of others, and what is kept of one that ends early."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hangview.dumps.decoded import Decoded, NotADump, Refused
from tests.dumps.decode.sample import as_json, check, dump, expected, read, rows


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize("count", [1, 2, 50])
def test_as_torch_writes_it(count):
    top = dump(count, stacks=False)
    decoded = read(compact(as_json(top)))
    check(decoded, top["entries"])
    assert decoded.encoding == "json"
    assert decoded.complete
    assert [c.ranks for c in decoded.configs] == [(0, 1, 2, 3), (2, 0)]
    assert [(s.pg_id, s.enqueued, s.started, s.completed) for s in decoded.statuses] == [(0, 300, -1, 299), (1, 7, 7, 70_000)]


def test_an_empty_list_of_entries_is_left_out():
    decoded = read(compact(as_json(dump(0))))
    assert decoded.count == 0
    assert decoded.complete
    assert not decoded.has_entries_key
    assert len(decoded.statuses) == 2


@pytest.mark.parametrize("text", ["  \n\t{}", "\ufeff{}", "{}\n\n", "\ufeff \n{} "])
def test_space_and_marks_around(text):
    top = dump(4, stacks=False)
    check(read(text.replace("{}", json.dumps(as_json(top), indent=2)).encode()), top["entries"])


def test_integers_as_text():
    top = dump(9, stacks=False)
    changed = as_json(top)
    for e in changed["entries"]:
        for key, value in e.items():
            if type(value) is int:
                e[key] = str(value)
    assert rows(read(compact(changed))) == [expected(e) for e in top["entries"]]


def test_nothing_known_is_null():
    top = dump(3, stacks=False)
    for e in top["entries"]:
        e |= {"duration_ms": None, "time_created_ns": None, "timeout_ms": None, "thread_name": None}
    check(read(compact(top)), top["entries"])


def test_a_json_text_inside_a_json_text():
    top = dump(3, stacks=False)
    decoded = read(json.dumps(json.dumps(as_json(top))).encode())
    check(decoded, top["entries"])
    assert decoded.encoding == "json of text"


def test_a_bare_list_of_entries():
    top = dump(3, stacks=False)
    decoded = read(compact(top["entries"]))
    check(decoded, top["entries"])


@pytest.mark.parametrize("key", ["entries", "pg_config", "pg_status"])
def test_null_for_what_there_is_none_of(key):
    top = as_json(dump(3, stacks=False))
    top[key] = None
    assert read(compact(top)).complete


def test_half_characters_can_still_be_written():
    top = dump(1, stacks=False)
    top["entries"][0]["profiling_name"] = "nccl:\ud800"
    top["pg_config"] = {"\udfff": {"name": "\udfff", "desc": "\ud800x", "ranks": []}}
    decoded = read(compact(top))
    for text in (decoded.ops[0], decoded.configs[0].key, decoded.configs[0].name, decoded.configs[0].desc):
        assert text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[1, 2]",
        "{",
        "[",
        '{"a": 1}',
        '{"version": "1.0.0", "name": "some-package", "dependencies": {}}',
        '{"version": "1.0.0", "name": "some-pack',
        '{"entries": [1, 2]}',
        '{"entries": [1, 2',
        '{"entries": {"a": 1}}',
        '{"entries": "none"}',
        '{"entries": [{"startedDateTime": "x", "time": 3}]}',
        '{"log": {"entries": [{"record_id": 1}]}}',
        '"text"',
        '"{}"',
        "null",
        "{nonsense",
        "[]]",
        '{"a": NaN}',
        "{'pg_status': {}}",
    ],
)
def test_other_json_is_no_dump(text):
    with pytest.raises(NotADump):
        read(text.encode())


# Cut ----------------------------------------------------------------------------------------------------------------


def test_cut_anywhere_gives_the_whole_entries():
    top = dump(3, stacks=False)
    data = compact(as_json(top))
    wanted = [expected(e) for e in top["entries"]]
    ends = []  # where each entry is over
    at = data.index(b'"entries":[') + len(b'"entries":')
    decoder = json.JSONDecoder()
    for _ in top["entries"]:
        _, at = decoder.raw_decode(data.decode(), at + 1)
        ends.append(at)
    assert data[at : at + 1] == b"]"
    for cut in range(len(b'{"c'), len(data)):
        decoded = read(data[:cut])
        assert not decoded.complete
        assert rows(decoded) == wanted[: sum(end <= cut for end in ends)]


def test_cut_in_the_groups_keeps_the_whole_ones():
    data = compact(as_json(dump(2, stacks=False)))
    decoded = read(data[: data.rindex(b'"tp"')])
    assert [c.name for c in decoded.configs] == ["0"]
    decoded = read(data[: data.index(b'"last_enqueued_collective":"7"')])
    assert [s.pg_id for s in decoded.statuses] == [0]


def test_a_cut_file_padded_with_zeros():
    data = compact(as_json(dump(6, stacks=False)))
    decoded = read(data[:1500] + b"\0" * 5000)
    assert not decoded.complete
    assert any("5,000 bytes are zeros" in note for note in decoded.notes)
    assert rows(decoded) == rows(read(data[:1500]))


def test_a_cut_bare_list():
    top = dump(3, stacks=False)
    data = compact(top["entries"])
    decoded = read(data[:-20])
    assert not decoded.complete
    check(decoded, top["entries"][:2])


def test_cut_in_a_character():
    top = dump(3, stacks=False)
    top["entries"][2]["profiling_name"] = "nccl:\u00e9"
    data = json.dumps(as_json(top), ensure_ascii=False).encode()
    cut = data[: data.index(b"\xc3\xa9") + 1]
    check(read(cut), top["entries"][:2])


# Limits -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opens", ["[", '{"a":'])
def test_deep_nesting(opens):
    for text in (opens * 200_000, '{"pg_status":{},"entries":[{"record_id":' + opens * 200_000):
        try:
            decoded = read(text.encode())
        except (NotADump, Refused):
            continue
        assert isinstance(decoded, Decoded)
        assert decoded.count == 0


def test_numbers_of_many_digits():
    text = '{"pg_status":{},"entries":[{"record_id":%s}]}'
    with pytest.raises(NotADump, match="beyond 64 bits"):
        read((text % ("9" * 30)).encode())
    decoded = read((text % ("9" * 5000)).encode())  # beyond what Python takes for a number
    assert (decoded.count, decoded.complete) == (0, False)


def test_too_many_lists(monkeypatch):
    from hangview.dumps.decode import text

    monkeypatch.setattr(text, "step_limit", lambda limits, size: 1000)
    with pytest.raises(Refused, match="--max-entries"):
        read(b'{"pg_status":{},"x":[' + b"[]," * 1100 + b"[]]}")
