"""Files made to cost much, in small: what may be done for one is counted, whatever is in it."""

from __future__ import annotations

import itertools

import pytest

from hangview.dumps.decode import machine, text
from hangview.dumps.decode.dump import decode
from hangview.dumps.decoded import NotADump, Refused
from hangview.dumps.find import Found
from hangview.dumps.read import read_file
from hangview.schema import Limits, SourceKind
from tests.fuzz import hostile

SIZE = 12_000
STEPS = 1_500


@pytest.fixture
def steps(monkeypatch):
    """How many steps each decoding took; a file of this size may take ``STEPS``."""
    taken: list[int] = []

    def counted(limits, size):
        taken.append(0)
        for _ in range(STEPS):
            taken[-1] += 1
            yield None

    monkeypatch.setattr("hangview.dumps.decode.dump.count_steps", counted)
    monkeypatch.setattr(machine, "count_steps", counted)
    return taken


def outcome(data: bytes) -> str:
    try:
        return "whole" if decode(data, Limits()).complete else "in part"
    except (NotADump, Refused) as error:
        words = str(error)
    assert words.isprintable()
    return words


def test_no_flood_of_opcodes_takes_more_steps_than_it_may(steps):
    said = {}
    for name, data in itertools.chain(hostile.singles(SIZE), itertools.islice(hostile.pairs(SIZE), 0, None, 7)):
        steps.clear()
        said[name] = outcome(data)
        assert len(steps) == 1, name
        assert steps[0] <= STEPS, name
    endless = {name for name, words in said.items() if words.startswith("takes more steps")}
    assert {"NONE in list", "EMPTY_LIST in nothing", "BININT1 in list", "MEMOIZE in field"} - endless == {"MEMOIZE in field"}
    assert len(endless) > 50


def test_a_flood_between_rows_of_torchs_layout_is_counted_once(steps):
    """The quick way and the slow one share what may be done."""
    for _, data in hostile.pickles(SIZE):
        steps.clear()
        outcome(data)
        assert sum(steps) <= 2 * STEPS  # bytes in bytes are two files


def test_entries_that_say_nothing_are_too_many(monkeypatch):
    looked: list[int] = []
    value = text._value
    monkeypatch.setattr(text, "entry_limit", lambda size: 50)
    monkeypatch.setattr("hangview.dumps.decode.dump.entry_limit", lambda size: 50)

    def counted(*args):
        looked.append(1)
        return value(*args)

    monkeypatch.setattr(text, "_value", counted)
    shapes = dict(hostile.jsons(SIZE))
    assert outcome(shapes["entries of one field, cut"]).startswith("has more than 50 entries in ")
    assert len(looked) < 60
    assert outcome(dict(hostile.pickles(SIZE))["entries of 1 fields"]).endswith(" bytes, which no recorder writes")


def test_keys_and_groups_are_counted(monkeypatch):
    from hangview.dumps.decode import header

    shapes = dict(hostile.jsons(SIZE))
    monkeypatch.setattr(header, "_GROUPS", 100)
    assert outcome(shapes["groups"]) == f"tells of {SIZE // 13:,} groups, more than the limit of 100"
    assert outcome(shapes["counters"]) == f"tells of {SIZE // 12:,} groups, more than the limit of 100"
    monkeypatch.setattr(text, "_FIELDS", 100)
    assert outcome(shapes["keys"]) == "has more keys than a dump of its size should"


def test_nothing_that_is_packed_breaks_or_makes_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, (name, data) in enumerate(hostile.packed(SIZE)):
        path = tmp_path / f"rank_{number}"
        path.write_bytes(data)
        info = path.stat()
        found = Found(str(path), path.name, SourceKind.DUMP, info.st_size, info.st_mtime_ns, info.st_ino)
        results = read_file(found, Limits())
        assert results, name
        assert all((result.reason or "").isprintable() and "please report" not in (result.reason or "") for result in results)
        path.unlink()
    assert list(tmp_path.iterdir()) == []
