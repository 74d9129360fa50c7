import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from hangview.dumps.assemble import assemble
from hangview.dumps.find import find
from hangview.dumps.read import read_file
from hangview.schema import GroupConfig, ReadOptions, Records, Source, SourceKind, SourceStatus
from tests.dumps.job import (
    START,
    calls,
    config,
    dump,
    entry,
    plain,
    ranks,
    reason,
    records,
    status,
    statuses,
    write,
)

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = sorted(path.parent.name for path in FIXTURES.glob("*/EXPECT.json"))


def configs(found: Records, rank: int = 0) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(c.name, c.desc, c.ranks) for c in found.configs if found.sources[c.source].rank == rank]


def source(found: Records, path: str) -> Source:
    return next(one for one in found.sources if one.path == path)


# --- the ledger


def test_every_file_has_a_line_and_every_line_that_is_not_read_a_reason(tmp_path):
    for rank in range(3):
        write(tmp_path / f"rank_{rank}", plain(5))
    (tmp_path / "rank_3").write_bytes(b"")
    (tmp_path / "rank_4").write_bytes(b"\x00\x01garbage")
    (tmp_path / "EXPECT.json").write_text('{"score": {}}')
    (tmp_path / "trace_view.json").write_text('{"traceEvents": []}')
    (tmp_path / "core.77").write_bytes(b"x")
    (tmp_path / "train.log").write_text("hello")
    found = records(tmp_path)
    assert statuses(found) == {
        "train.log": "read",
        "EXPECT.json": "ignored",
        "rank_0": "read",
        "rank_1": "read",
        "rank_2": "read",
        "rank_3": "empty",
        "rank_4": "unreadable",
        "trace_view.json": "ignored",
        "core.77": "ignored",
    }
    assert all(one.reason for one in found.sources if one.status is not SourceStatus.READ)
    assert all("\n" not in (one.reason or "") for one in found.sources)
    assert [one.rank for one in found.sources if one.kind is SourceKind.DUMP] == [0, 1, 2, 3, 4]


def test_logs_come_first_so_that_their_numbers_do_not_change_when_dumps_arrive(tmp_path):
    (tmp_path / "z.log").write_text("hello")
    write(tmp_path / "rank_1", plain(2))
    first = records(tmp_path)
    write(tmp_path / "rank_0", plain(2))
    second = records(tmp_path)
    for found in (first, second):
        assert found.sources[0].path == "z.log"
        assert {found.sources[i].rank for i in found.entries["source"]} == set(ranks(found).values())
    assert second.sources[second.configs[0].source].rank == 0
    assert second.statuses[0].source == 1


def test_a_stray_file_with_a_number_is_nobodys_missing_dump(tmp_path):
    write(tmp_path / "node07_0", plain(2))
    (tmp_path / "node07_1").write_bytes(b"\x00\x01garbage")  # named as the dumps are
    (tmp_path / "weights_1").write_bytes(b"\x00\x01garbage")
    (tmp_path / "trace_0").write_bytes(b"\x00\x01garbage")  # a dump's word, but rank 0 is there
    (tmp_path / "trace_2").write_bytes(b"\x00\x01garbage")  # a dump's word, but the job has two ranks
    found = statuses(records(tmp_path))
    assert found.pop("node07_0") == "read"
    assert found.pop("node07_1") == "unreadable"
    assert set(found.values()) == {"ignored"}


def test_but_a_missing_rank_may_be_called_otherwise(tmp_path):
    write(tmp_path / "node07_0", plain(3))
    (tmp_path / "trace_2").write_bytes(b"\x00\x01garbage")
    assert statuses(records(tmp_path)) == {"node07_0": "read", "trace_2": "unreadable"}


def test_a_dump_without_a_rank_says_what_would_give_it_one(tmp_path):
    write(tmp_path / "dump.pkl", plain(2))
    found = records(tmp_path)
    assert statuses(found) == {"dump.pkl": "unreadable"}
    assert "--rank-regex" in reason(found, "dump.pkl")
    assert found.entries.is_empty()


def test_files_that_an_option_does_not_fit_say_so(tmp_path):
    write(tmp_path / "a_0", plain(1))
    write(tmp_path / "b_1", plain(1))
    found = records(tmp_path, prefix="a_")
    assert ranks(found) == {"a_0": 0}
    assert "--prefix" in reason(found, "b_1")


def test_what_a_source_says_of_itself(tmp_path):
    write(tmp_path / "rank_0", plain(1))
    wrapped = dump([entry(i + 1, record_id=i + 30) for i in range(4)], config(default_pg=[0, 1]))
    write(tmp_path / "node7_rank_1.json", wrapped)
    found = records(tmp_path)
    plain_one, other = source(found, "rank_0"), source(found, "node7_rank_1.json")
    assert (plain_one.producer, plain_one.version, plain_one.library, plain_one.entries) == ("nccl", "2.10", "2.27.7", 4)
    assert (plain_one.wrapped, plain_one.only_active, plain_one.has_stacks, plain_one.configured) == (False, False, True, True)
    assert other.wrapped
    assert any("30 older records were overwritten" in note for note in other.notes)
    assert any(note == "read as json" for note in other.notes)


@pytest.mark.parametrize(
    ("content", "only_active"),
    [
        (dump([entry(3, state="scheduled"), entry(7, state="scheduled")], config(default_pg=[0])), True),  # holes
        (dump([entry(9, state="scheduled")], config(default_pg=[0]), {"0": status(9, -1, 8)}), True),
        (dump([], config(default_pg=[0]), {"0": status(9, -1, 9)}), True),
        # a ring of unfinished calls: 6, by the counters unfinished, is overwritten; or nothing is gone before the first
        (dump([entry(9, state="scheduled")], config(default_pg=[0]), {"0": status(9, -1, 5)}), False),
        (dump([entry(1, state="scheduled")], config(default_pg=[0]), {"0": status(1, -1, 1)}), False),
        (dump([], config(default_pg=[0])), False),
        (dump([], config(default_pg=[0]), {"0": status(-1)}), False),
        (dump([entry(1, state="scheduled")], config(default_pg=[0]), {"0": status(1)}), False),
        (plain(1), False),
    ],
)
def test_only_active_dumps_are_told(tmp_path, content, only_active):
    write(tmp_path / "rank_0", content)
    assert source(records(tmp_path), "rank_0").only_active is only_active


def test_a_dump_of_unfinished_calls_beside_whole_ones_is_a_full_ring(tmp_path):
    """What is left out when dumps are written is left out of all of them."""
    write(tmp_path / "rank_0", dump([entry(9, state="scheduled")], config(default_pg=[0, 1]), {"0": status(9, -1, 8)}))
    write(tmp_path / "rank_1", dump(calls(9, open_last=True), config(default_pg=[0, 1]), {"0": status(9, -1, 8)}))
    first = source(records(tmp_path), "rank_0")
    assert (first.only_active, first.wrapped) == (False, True)


# --- groups


def test_configurations_keep_the_groups_own_order(tmp_path):
    write(tmp_path / "rank_0", dump(calls(1), config(default_pg=[2, 0, 1])))
    assert configs(records(tmp_path)) == [("0", "default_pg", (2, 0, 1))]


def test_a_group_that_the_rank_is_not_in_is_none_of_its_own(tmp_path):
    write(tmp_path / "rank_0", dump(calls(1), config(default_pg=[0, 1], tp=[2, 3])))
    assert configs(records(tmp_path)) == [("0", "default_pg", (0, 1))]


def test_a_group_without_members_stays_without(tmp_path):
    write(tmp_path / "rank_0", dump(calls(1), config(default_pg=[])))
    assert records(tmp_path).configs == (GroupConfig(0, "0", "default_pg", ()),)


@pytest.mark.parametrize("said", ["", "undefined"])
def test_a_description_that_says_nothing_is_taken_from_the_records(tmp_path, said):
    groups = {"0": {"name": "0", "desc": said, "ranks": "[0]"}}
    write(tmp_path / "rank_0", dump(calls(1), groups))
    assert configs(records(tmp_path)) == [("0", "default_pg", (0,))]


def gloo(groups: dict[str, Any]) -> dict[str, Any]:
    entries = [
        *calls(2, profiling_name="gloo:all_reduce"),
        *calls(2, profiling_name="gloo:all_reduce", process_group=("hash", "split"), pg_id=1),
    ]
    return dump(entries, groups)


@pytest.mark.parametrize(
    ("groups", "kept"),
    [
        ({"": {"name": "", "desc": "", "ranks": "[0, 1]"}}, []),
        ({"hash": {"name": "hash", "desc": "", "ranks": "[2, 3]"}}, [("hash", "split", (2, 3))]),
        ({"hash": {"name": "hash", "desc": "", "ranks": "[0, 1]"}}, []),  # numbers within the group
        ({"0": {"name": "0", "desc": "", "ranks": "[0, 1, 2, 3]"}}, [("0", "default_pg", (0, 1, 2, 3))]),
        ({"other": {"name": "other", "desc": "", "ranks": "[2, 3]"}}, []),
        ({"hash": {"name": "hash", "desc": "", "ranks": "[]"}}, []),
    ],
)
def test_gloos_configuration_is_kept_only_where_it_looks_right(tmp_path, groups, kept):
    write(tmp_path / "rank_2", gloo(groups))
    assert configs(records(tmp_path), 2) == kept


@pytest.mark.parametrize(
    ("number", "groups", "exist"),
    [
        (2, {"": {"name": "", "desc": "", "ranks": "[0, 1, 2, 3]"}}, (0, 1, 2, 3)),  # torch 2.13: the first group
        (2, {"": {"name": "", "desc": "", "ranks": "[0, 1]"}}, (0, 1)),  # torch 2.15: the numbers within the last group
        (2, {"": {"name": "", "desc": "", "ranks": "[]"}}, ()),  # torch 2.13: a later group
    ],
)
def test_gloos_nameless_numbers_are_ranks_that_exist(tmp_path, number, groups, exist):
    write(tmp_path / f"rank_{number}", gloo(groups))
    found = records(tmp_path)
    assert (configs(found, number), found.exist) == ([], exist)


def test_a_nameless_group_of_another_recorder_says_nothing_of_the_kind(tmp_path):
    write(tmp_path / "rank_0", dump(calls(2), {"": {"name": "", "desc": "", "ranks": "[0, 1, 2, 3]"}}))
    assert records(tmp_path).exist == ()


def test_replicas_are_moved_to_where_their_names_say_they_are(tmp_path):
    for rank in range(4):
        write(tmp_path / f"rank_{rank}", dump(calls(2), config(default_pg=[0, 1], tp=[rank % 2])))
    found = records(tmp_path)
    assert configs(found, 3) == [("0", "default_pg", (2, 3)), ("1", "tp", (3,))]
    assert configs(found, 1) == [("0", "default_pg", (0, 1)), ("1", "tp", (1,))]


def test_the_size_of_a_replica_can_be_given(tmp_path):
    write(tmp_path / "rank_3", plain(2))
    assert configs(records(tmp_path, group_world_size=2), 3) == [("0", "default_pg", (2, 3))]


# --- numbers


def test_torchcomms_calls_are_numbered_per_communicator(tmp_path):
    def call(number: int, comm: str) -> dict[str, Any]:
        return entry(
            number, profiling_name="ncclx:all_reduce", process_group=(comm, "ncclx"), pg_id=ord(comm), record_id=number
        )

    write(tmp_path / "rank_0", dump([call(i, comm) for i, comm in enumerate("abbab")], {}))
    found = records(tmp_path)
    assert found.entries["seq"].to_list() == [1, 1, 2, 2, 3]

    write(tmp_path / "rank_0", dump([call(i, comm) for i, comm in enumerate("abbab", start=7)], {}))
    assert records(tmp_path).entries["seq"].to_list() == [None] * 5  # the ring wrapped: nobody knows


def test_entries_of_other_starts_and_twins_are_left_out(tmp_path):
    write(tmp_path / "rank_0", plain(2))
    write(tmp_path / "rank_0.json", plain(2))
    write(tmp_path / "attempt_0/rank_1", plain(2))
    write(tmp_path / "attempt_1/rank_1", plain(2, at=START + 10**9))
    found = records(tmp_path)
    assert {found.sources[i].path for i in found.entries["source"]} == set(ranks(found))
    assert {c.source for c in found.configs} == set(found.entries["source"])
    assert {s.source for s in found.statuses} == set(found.entries["source"])


# --- the whole


@pytest.mark.parametrize("case", CASES)
def test_fixtures_are_read_as_their_truth_says(case):
    truth = json.loads((FIXTURES / case / "EXPECT.json").read_text())["score"]
    found = records(FIXTURES / case)
    if "read" in truth:
        assert sorted(rank for rank in ranks(found).values() if rank is not None) == truth["read"]
    by_name = {Path(one.path).name: one.status.value for one in found.sources}
    for name, status_ in truth.get("sources", {}).items():
        assert by_name[name] in ([status_] if isinstance(status_, str) else status_)
    assert len(set(ranks(found).values())) == len(ranks(found))


@pytest.mark.parametrize(
    "case", ["stale-mixed", "json-twin", "names-host-before-rank", "damaged-truncated", "replicas-same-name"]
)
def test_the_order_of_files_changes_nothing(case):
    options = ReadOptions()
    listing = find([str(FIXTURES / case)], options)
    files = [result for found in listing.dumps for result in read_file(found, options.limits)]
    expected = assemble(files, listing.others, options)
    for seed in range(3):
        shuffled = random.Random(seed).sample(files, len(files))
        again = assemble(shuffled, listing.others[::-1], options)
        assert again.entries.equals(expected.entries)
        for part in ("sources", "configs", "statuses", "labels", "ops", "signatures", "stacks", "threads", "attempts"):
            assert getattr(again, part) == getattr(expected, part), part


def test_a_copy_elsewhere_is_read_alike(tmp_path):
    """Copying changes times and inodes, and no answer."""
    shutil.copytree(FIXTURES / "stale-mixed", tmp_path / "copy")
    there, here = records(FIXTURES / "stale-mixed"), records(tmp_path / "copy")
    assert statuses(there) == statuses(here)
    assert there.attempts == here.attempts
    assert there.entries.equals(here.entries)
