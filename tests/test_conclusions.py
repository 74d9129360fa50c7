"""Conclusions that are kept give the same reports as those that are drawn anew, and only for exactly the same files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields

import pytest

from hangview import conclusions, loading
from hangview.dumps import find, shelf
from hangview.incident import Incident
from hangview.loading import load_brief, load_incident
from hangview.report.as_json import to_json
from hangview.report.explain import explanation_lines
from hangview.report.ledger import ledger_lines
from hangview.report.lines import plain
from hangview.report.text import report_lines
from hangview.schema import ReadOptions, Records
from tests.dumps.job import plain as dump_of
from tests.dumps.job import write

NO_LOGS = ReadOptions(logs=False)


@pytest.fixture
def job(tmp_path):
    folder = tmp_path / "job"
    for rank in range(4):
        write(folder / f"rank_{rank}", dump_of(4, count=41 if rank == 3 else 42, open_last=rank != 3))
    (folder / "EXPECT.json").write_text("{}")
    return folder


@pytest.fixture
def looks(monkeypatch):
    """How often files were read and analysed."""
    seen: list[tuple[str, ...]] = []

    def watched(paths, options=None, on_progress=None, listing=None):
        seen.append(tuple(paths))
        return load_incident(paths, options, on_progress, listing)

    monkeypatch.setattr(shelf, "SMALL", 0)
    monkeypatch.setattr(loading, "load_incident", watched)
    return seen


def said(incident: Incident) -> list[str]:
    lines = (report_lines(incident, everything=True), ledger_lines(incident), explanation_lines(incident))
    return [to_json(incident), *map(plain, lines)]


def test_the_second_time_nothing_is_read_and_the_same_is_said(job, looks):
    first = load_brief([str(job)])
    second = load_brief([str(job)])
    assert len(looks) == 1
    assert second.leads == (3,)
    assert said(first) == said(second)
    for field in fields(Incident):
        if field.name not in ("records", "entries", "view"):
            assert getattr(first, field.name) == getattr(second, field.name), field.name
    assert first.records.sources == second.records.sources
    assert first.records.attempts == second.records.attempts


def test_what_was_not_kept_is_read_when_it_is_asked_for(job, looks):
    first = load_brief([str(job)])
    second = load_brief([str(job)])
    assert second.entries.equals(first.entries)
    assert second.view.positions(3) == first.view.positions(3)
    for field in fields(Records):
        if field.name != "entries":
            assert getattr(first.records, field.name) == getattr(second.records, field.name), field.name
    assert len(looks) == 2
    with pytest.raises(AttributeError):
        getattr(second, "nothing_of_the_kind")  # noqa: B009
    with pytest.raises(AttributeError):
        getattr(second.records, "nothing_of_the_kind")  # noqa: B009


def test_the_files_are_looked_for_once(job, looks, monkeypatch):
    searches = []
    look = find.Search.look

    def watched(*args):
        searches.append(1)
        return look(*args)

    monkeypatch.setattr(find.Search, "look", watched)
    for expected in (1, 2):  # when they are read, and when what was concluded is known
        load_brief([str(job)])
        assert len(searches) == expected


def one_more_dump(job):
    write(job / "rank_4", dump_of(4, count=42))


def one_less(job):
    (job / "rank_0").unlink()


def written_again(job):
    info = (job / "rank_0").stat()
    os.utime(job / "rank_0", ns=(info.st_atime_ns, info.st_mtime_ns + 1))


def another_name(job):
    (job / "rank_3").rename(job / "rank_03")


def a_log(job):
    (job / "train.log").write_text("hello\n")


def something_else(job):
    (job / "notes.md").write_text("hello\n")


@pytest.mark.parametrize("change", [one_more_dump, one_less, written_again, another_name, a_log, something_else])
def test_anything_else_in_the_folder_is_another_set(job, looks, change):
    load_brief([str(job)])
    change(job)
    again = load_brief([str(job)])
    assert len(looks) == 2
    assert said(again) == said(load_incident([str(job)]))


@pytest.mark.parametrize(
    "options", [NO_LOGS, ReadOptions(attempt=1), ReadOptions(prefix="rank_"), ReadOptions(follow_symlinks=True)]
)
def test_other_options_are_another_question(job, looks, options):
    load_brief([str(job)])
    load_brief([str(job)], options)
    load_brief([str(job / "rank_0"), str(job)], options)
    assert len(looks) == 3


def test_the_number_of_workers_does_not_matter(job, looks):
    load_brief([str(job)])
    load_brief([str(job)], ReadOptions(workers=3))
    assert len(looks) == 1


def test_another_program_draws_its_own_conclusions(job, looks, monkeypatch):
    load_brief([str(job)])
    monkeypatch.setattr(shelf, "modules", lambda folder: ["changed"])
    load_brief([str(job)])
    assert len(looks) == 2


def test_without_the_cache_nothing_is_kept(job, looks):
    load_brief([str(job)], ReadOptions(cache=False))
    assert not shelf.folder().exists()


def test_small_sets_are_not_kept(job, looks, monkeypatch):
    monkeypatch.setattr(shelf, "SMALL", 1 << 30)
    load_brief([str(job)])
    assert not shelf.folder().exists()


def test_nothing_is_kept_where_logs_had_a_say(job, looks):
    a_log(job)
    for _ in range(2):
        load_brief([str(job)])
    assert len(looks) == 2
    load_brief([str(job)], NO_LOGS)
    load_brief([str(job)], NO_LOGS)
    assert len(looks) == 3


def test_nothing_is_kept_of_what_may_be_read_better_the_next_time(job, looks):
    (job / "rank_2").write_bytes(b"no dump at all, under the name of one")
    for _ in range(2):
        load_brief([str(job)])
    assert len(looks) == 2


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: data[:60] + b"x" + data[61:], lambda data: b""])
def test_damage_is_noticed(job, looks, damage):
    load_brief([str(job)])
    (path,) = shelf.folder().glob("*.report")
    path.write_bytes(damage(path.read_bytes()))
    again = load_brief([str(job)])
    assert len(looks) == 2
    assert again.leads == (3,)


@pytest.mark.parametrize("body", [b"", b"hello", json.dumps([[], []]).encode()])
def test_a_checksum_over_nonsense_is_no_proof(job, looks, body):
    load_brief([str(job)])
    (path,) = shelf.folder().glob("*.report")
    assert shelf.keep(path.name, lambda: [body], 1 << 20)
    assert load_brief([str(job)]).leads == (3,)
    assert len(looks) == 2


def test_values_of_any_other_kind_are_not_kept_by_mistake():
    with pytest.raises(TypeError, match="cannot be kept"):
        conclusions._reader(dict[str, int], {})
    with pytest.raises(TypeError, match="cannot be kept"):
        conclusions._plain({1})


def test_a_report_that_is_known_needs_no_numbers(job, looks):
    load_brief([str(job)])
    code = f"""
import sys
from hangview.dumps import shelf
shelf.SMALL = 0
from hangview.loading import load_brief
from hangview.report.text import report_lines
report_lines(load_brief([{str(job)!r}]))
assert not {{"numpy", "polars"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
