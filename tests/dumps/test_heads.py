"""Headers before entries: the same as the whole file tells, and nothing where that cannot be known."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import hangview
from hangview.dumps import heads as heads_room
from hangview.dumps.decode.begin import begin
from hangview.dumps.decode.dump import decode
from hangview.dumps.find import find, likely
from hangview.dumps.heads import Heads, numbered, read_heads
from hangview.schema import Limits, ReadOptions
from tests.support.torch_pickle import dump_bytes

FIXTURES = Path(__file__).parents[2] / "fixtures"
OPTIONS = ReadOptions(cache=False)
TORCH = sorted(
    path
    for path in FIXTURES.glob("*/*")
    if path.is_file() and path.stat().st_size and path.read_bytes().startswith(b"\x80\x02}(X\x07\0\0\0version")
)


def heads_of(folder: Path) -> Heads | None:
    found = find([str(folder)], OPTIONS).dumps
    return read_heads([one for one in found if likely(Path(one.shown).name, OPTIONS)], OPTIONS, never)


def never() -> bool:
    return False


@pytest.mark.parametrize("path", TORCH, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_header_is_that_of_the_whole_file(path):
    data = path.read_bytes()
    head = begin(data[: heads_room.BEGINNING], Limits())
    if b"X\x07\0\0\0entries" not in data:
        assert head is None
        return
    whole = decode(data, Limits())
    assert head is not None
    assert (head.version, head.library, head.configs, head.statuses) == (
        whole.version,
        whole.library,
        whole.configs,
        whole.statuses,
    )


def test_there_are_such_fixtures():
    assert len(TORCH) > 300


def test_a_header_that_is_not_all_there_is_none():
    data = (FIXTURES / "nccl-stuck" / "nccl_trace_rank_0").read_bytes()
    end = data.index(b"X\x07\0\0\0entries")
    assert begin(data[:end], Limits()) is None
    assert begin(b"", Limits()) is None
    assert begin(b'{"version": "2.4", "entries": []}', Limits()) is None


def test_groups_and_ranks_are_those_of_the_incident():
    heads = heads_of(FIXTURES / "nccl-stuck")
    incident = hangview.load(str(FIXTURES / "nccl-stuck"), options=OPTIONS)
    assert heads is not None
    assert heads.read == heads.expected == incident.coverage.read
    assert {(group.called, tuple(sorted(group.ranks))) for group in incident.groups} <= {
        (group.label, tuple(sorted(group.ranks))) for group in heads.groups
    }


def test_counters_tell_who_is_behind():
    """By the truth beside it rank 3 never requested the 42nd all_reduce, which the others wait in."""
    truth = json.loads((FIXTURES / "seed-a" / "EXPECT.json").read_text())
    (behind,), seq = truth["score"]["leads"], truth["score"]["seq"]
    heads = heads_of(FIXTURES / "seed-a")
    assert heads is not None
    (group,) = heads.groups
    assert group.parts == ((seq - 1, (behind,)), (seq, tuple(sorted({0, 1, 2, 3} - {behind}))))


def test_a_pipeline_has_no_numbers_that_can_be_compared(tmp_path):
    for rank in range(2):
        count = {"last_enqueued_collective": 7 + rank, "last_started_collective": 7, "last_completed_collective": 7}
        top = {
            "version": "2.10",
            "pg_config": {"0": {"name": "0", "desc": "PIPELINE_MODEL_PARALLEL_GROUP", "ranks": "[0, 1]"}},
            "pg_status": {"0": count},
            "entries": [],
        }
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(dump_bytes(top))
    heads = heads_of(tmp_path)
    assert heads is not None
    assert [(group.ranks, group.parts) for group in heads.groups] == [((0, 1), ())]


def test_a_rank_that_left_no_dump_is_expected():
    heads = heads_of(FIXTURES / "nccl-stuck-no-dump")
    assert heads is not None
    assert set(heads.expected) - set(heads.read) == {10}


def test_two_files_of_one_rank_need_their_records(tmp_path):
    for folder in ("a", "b"):
        shutil.copytree(FIXTURES / "seed-a", tmp_path / folder)
    assert heads_of(tmp_path) is None


def test_files_that_cannot_be_read_are_left_out(tmp_path):
    shutil.copytree(FIXTURES / "seed-a", tmp_path / "run")
    (tmp_path / "run" / "comm_lib_trace_rank_1").write_bytes(
        b"\x80\x02}(X\x07\0\0\0version" + b"\xff" * 50 + b"X\x07\0\0\0entries"
    )
    (tmp_path / "run" / "comm_lib_trace_rank_2").unlink()
    os.mkfifo(tmp_path / "run" / "comm_lib_trace_rank_2")
    heads = heads_of(tmp_path / "run")
    assert heads is not None
    assert heads.read == (0, 3)
    assert heads.expected == (0, 1, 2, 3)


def test_code_in_a_header_is_refused_like_anywhere(tmp_path):
    data = dump_bytes({"version": "2.10", "pg_config": {}, "entries": []})
    evil = data.replace(b"X\x04\0\0\x002.10", b"cos\nsystem\n", 1)
    (tmp_path / "nccl_trace_rank_0").write_bytes(evil)
    assert evil != data
    assert heads_of(tmp_path) is None


def test_only_so_much_time_is_taken(monkeypatch):
    monkeypatch.setattr(heads_room, "ENOUGH", -1.0)
    assert heads_of(FIXTURES / "seed-a") is None


def test_it_ends_when_it_is_told_to():
    found = find([str(FIXTURES / "seed-a")], OPTIONS).dumps
    assert read_heads(found, OPTIONS, lambda: True) is None


def test_numbers_stand_for_names_only_where_all_do():
    assert numbered([1, 0], ["10", "9"]) == {0: "9", 1: "10"}
    assert numbered([0], ["0", "1"]) == {}
    assert numbered([0], ["a3f"]) == {}
