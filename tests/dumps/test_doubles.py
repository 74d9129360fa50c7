import itertools
import os
from pathlib import Path
from typing import Any

from hangview.dumps.decode.dump import decode
from hangview.dumps.decoded import Decoded
from hangview.dumps.doubles import Relation, relation
from hangview.schema import Limits
from tests.dumps.job import SECOND, START, calls, config, dump, entry, plain, ranks, reason, records, statuses, write


def decoded(tmp_path: Path, content: dict[str, Any]) -> Decoded:
    return decode(write(tmp_path / "x", content).read_bytes(), Limits())


def test_the_pickle_with_stacks_stands_for_its_json_twin(tmp_path):
    write(tmp_path / "rank_0", plain(1))
    content = plain(1)
    for one in content["entries"]:
        del one["frames"]
    write(tmp_path / "rank_0.json", content)
    found = records(tmp_path)
    assert ranks(found) == {"rank_0": 0}
    assert statuses(found)["rank_0.json"] == "superseded"
    assert reason(found, "rank_0.json") == "rank_0 of the same rank has the same newest entry, and stacks"


def test_the_newest_entries_win_whatever_else(tmp_path):
    write(tmp_path / "rank_0.json", plain(1, count=5))
    write(tmp_path / "rank_0", plain(1, count=4))
    assert ranks(records(tmp_path)) == {"rank_0.json": 0}


def test_of_equal_newest_ones_the_whole_one_wins_then_the_one_with_more(tmp_path):
    whole = plain(1, count=40)
    write(tmp_path / "a/rank_0", whole)
    write(tmp_path / "b/rank_0", {**whole, "entries": whole["entries"][-1:]})
    found = records(tmp_path)
    assert ranks(found) == {"a/rank_0": 0}
    assert reason(found, "b/rank_0") == "a/rank_0 of the same rank has more entries"


def test_neither_the_files_own_times_nor_their_order_decide(tmp_path):
    for i, folder in enumerate(itertools.permutations("abc", 1)):
        path = write(tmp_path / folder[0] / "rank_0", plain(1, count=3 + i))
        os.utime(path, (START // SECOND - i * 1000,) * 2)
    assert ranks(records(tmp_path)) == {"c/rank_0": 0}
    (tmp_path / "c").rename(tmp_path / "_c")
    assert ranks(records(tmp_path)) == {"_c/rank_0": 0}


def test_equal_files_are_settled_by_their_names(tmp_path):
    for folder in "cab":
        write(tmp_path / folder / "rank_0", plain(1))
    found = records(tmp_path)
    assert ranks(found) == {"a/rank_0": 0}
    assert reason(found, "b/rank_0") == "a/rank_0 of the same rank has the same entries"


def test_a_file_that_cannot_be_used_supersedes_nothing(tmp_path):
    write(tmp_path / "rank_0.json", plain(1))
    (tmp_path / "rank_0").write_bytes(b"")
    assert ranks(records(tmp_path)) == {"rank_0.json": 0}
    assert statuses(records(tmp_path))["rank_0"] == "empty"


def test_relations(tmp_path):
    early, later = decoded(tmp_path, plain(2)), decoded(tmp_path, plain(2, count=9))
    assert relation(early, later) is Relation.SAME
    assert relation(early, decoded(tmp_path, plain(2, at=START + 60 * SECOND))) is Relation.OTHER
    assert relation(early, decoded(tmp_path, plain(2, at=START + SECOND // 5))) is Relation.CONCURRENT
    assert relation(early, decoded(tmp_path, dump([entry(50)], {}))) is Relation.APART
    assert relation(early, decoded(tmp_path, dump([entry(50, at=START - 90 * SECOND)], {}))) is Relation.OTHER
    assert relation(early, decoded(tmp_path, dump([], {}))) is Relation.UNKNOWN


def test_numbers_that_count_within_a_host_are_no_ranks(tmp_path):
    """Two hosts of two ranks, each named by the local rank: reading them as ranks would name healthy ones."""
    for host in range(2):
        for local in range(2):
            write(tmp_path / f"node{host}/rank_{local}", plain(4, at=START + (2 * host + local) * SECOND // 1000))
    found = records(tmp_path)
    assert ranks(found) == {}
    assert set(statuses(found).values()) == {"unreadable"}
    assert "node1/rank_0 has it too" in reason(found, "node0/rank_0")


def test_but_the_groups_may_tell_whose_they_are(tmp_path):
    for rank in range(4):
        groups = config(default_pg=range(4), tp=[rank // 2 * 2, rank // 2 * 2 + 1], dp=[rank % 2, rank % 2 + 2])
        content = dump(calls(4, at=START + rank * SECOND // 1000), groups)
        write(tmp_path / f"node{rank // 2}/rank_{rank % 2}", content)
    found = records(tmp_path)
    assert set(ranks(found).values()) == {0, 1, 2, 3}
    assert ranks(found)["node1/rank_0"] == 2
    assert {source.rank_from for source in found.sources} == {"members and peers inside"}
    assert found.entries.group_by("rank").len()["len"].to_list() == [4, 4, 4, 4]
