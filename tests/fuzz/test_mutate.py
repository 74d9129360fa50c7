"""A short run of the fuzzer over dumps of every container."""

from __future__ import annotations

import json
import pickle

import pytest

from tests.dumps.decode.sample import as_json, dump
from tests.fuzz import mutate
from tests.support.torch_pickle import dump_bytes


@pytest.fixture(scope="module")
def seeds():
    stacks, plain = dump(60), dump(12, stacks=False)
    return [
        dump_bytes(stacks),
        dump_bytes(dump(40, stacks=False)),
        dump_bytes(plain["entries"]),
        pickle.dumps(plain),
        pickle.dumps(dump_bytes(plain)),
        json.dumps(as_json(plain)).encode(),
    ]


def test_nothing_but_dumps_and_our_errors(seeds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = mutate.run(seeds, 7, range(600))
    assert outcome.broken == []
    assert sum(outcome.results.values()) == 600
    assert len(outcome.results) >= 3  # the mutations are neither all harmless nor all fatal


def test_mutations_are_repeatable(seeds):
    assert mutate.mutate(seeds, 1, 5) == mutate.mutate(seeds, 1, 5)
    assert len({mutate.mutate(seeds, 1, n) for n in range(50)}) > 40


def test_what_is_broken_is_seen(seeds, tmp_path, monkeypatch):
    """The fuzzer itself: it must notice a traceback and a marker."""
    monkeypatch.chdir(tmp_path)

    def bad_decode(data, limits):
        (tmp_path / mutate.MARKER).touch()
        raise KeyError("oops")

    monkeypatch.setattr(mutate, "decode", bad_decode)
    outcome = mutate.run(seeds, 1, range(2))
    assert [why for _, why in outcome.broken] == ["KeyError: 'oops'", "code was run"] * 2


def test_seeds_are_the_dumps_of_a_folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "dump_0").write_bytes(dump_bytes(dump(1)))
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").touch()
    assert mutate.read_seeds(tmp_path) == [dump_bytes(dump(1))]
