import random
from collections.abc import Sequence
from typing import Any

import pytest

from hangview.dumps.names import BY_CONTENT, BY_NAME, BadOptionError, Inside, Named, attempt_of, name_files, shape, without_rank
from hangview.schema import ReadOptions


def named(paths: list[str], inside: Sequence[Inside | None] | None = None, **options: Any) -> dict[str, Named]:
    """Ranks by path. Without ``inside`` the files are decoded ones that tell nothing."""
    inside = [Inside()] * len(paths) if inside is None else inside
    _, found = name_files(paths, inside, [None] * len(paths), ReadOptions(**options))
    return dict(zip(paths, found, strict=True))


def ranks(paths: list[str], inside: Sequence[Inside | None] | None = None, **options: Any) -> list[int | None]:
    return [one.rank for one in named(paths, inside, **options).values()]


def world(*members: int, own: int | None = None) -> Inside:
    return Inside(frozenset(members), own)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "nccl_trace_rank_{}",
            "comm_lib_trace_rank_{}",
            "_dump_{}",
            "comm_traces/rank_{}",
            "trace_{}",
            "torch_nccl_trace_rank_{}",
        ),
        *("nccl_rank_{}", "nccl_fr_trace_{}", "dump_991_rank_{}", "nccl_flightrecorder_991_rank{}", "nccl_trace{}", "rank{}"),
        *(
            "nccl_trace_rank{}.pkl",
            "nccl_trace_rank{}.json",
            "nccl_dump_%h_%p.json{}",
            "{}.json",
            "fr_rank_{}.json.gz",
            "rank_{}.txt",
        ),
        *("rank_{}_host7.pkl", "trace_rank_{}_20261129_140200.json", "{}_nccl_trace", "rank{}/dump.pkl", "run.tar:x/rank_{}"),
        *("nccl_trace_rank_10.0.0.1_{}", "nccl_trace_rank_ip-10-0-0-7.ec2.internal_{}", "local_rank_0_global_rank_{}"),
        *("job7_attempt_2_rank_{}", "RANK-{}.bin", "a.b.c_{}"),
    ],
)
@pytest.mark.parametrize("count", [1, 4, 12])
def test_names_seen_in_the_wild(pattern, count):
    if count == 1 and "10.0.0.1" in pattern:
        pytest.skip("one name alone does not show which of its numbers changes")
    assert ranks([pattern.format(i) for i in range(count)]) == list(range(count))


@pytest.mark.parametrize(
    ("paths", "hosts"),
    [
        (
            ["nccl_trace_rank_container-node02_0", "nccl_trace_rank_container-node01_1"],
            ["container-node02", "container-node01"],
        ),
        (["node-1_rank_0", "node-0_rank_1"], ["node-1", "node-0"]),
        (["host0.pci3_rank_0", "host1.pci3_rank_1"], ["host0.pci3", "host1.pci3"]),
        (["node01.tar.gz:rank_0", "node02.tgz:rank_1"], ["node01", "node02"]),
        (["node07_0", "node07_1"], ["node07", "node07"]),
        (["node0/comm_lib_trace_rank_0", "node1/comm_lib_trace_rank_1"], ["node0", "node1"]),
        (["alpha/dumps/rank_0", "beta/dumps/rank_1"], ["alpha", "beta"]),
        (["nccl_trace_rank_0", "nccl_trace_rank_1"], [None, None]),
        (["dump_991_rank_0", "dump_991_rank_1"], [None, None]),
        (["myjob_rank_0", "myjob_rank_1"], [None, None]),
        (["dumps/rank_0", "dumps/rank_1"], [None, None]),
        (["attempt_0/rank_0", "attempt_0/rank_1"], [None, None]),
    ],
)
def test_hosts_in_names_and_folders(paths, hosts):
    found = named(paths)
    assert [one.rank for one in found.values()] == [0, 1]
    assert [one.host for one in found.values()] == hosts


def test_folders_that_share_ranks_are_no_hosts():
    assert [one.host for one in named(["run1/rank_0", "run2/rank_0"]).values()] == [None, None]


def test_a_rank_that_happens_to_start_alike_keeps_its_digits():
    paths = [f"nccl_trace_rank_{i}" for i in range(10, 18)]
    assert ranks(paths) == list(range(10, 18))
    assert ranks([f"nccl_trace{i}" for i in range(10, 18)]) == list(range(10, 18))


def test_glued_digits_are_settled_by_what_is_inside():
    paths = [f"torch_nccl_trace_node1{i}" for i in range(8)]
    assert ranks(paths, [world(*range(8))] * 8) == list(range(8))
    assert ranks(paths, [world(*range(8, 24))] * 8) == list(range(10, 18))


def test_glued_digits_of_two_nodes_by_the_ranks_that_come_out_without_gaps():
    paths = [f"torch_nccl_trace_node0{i}" for i in range(8)] + [f"torch_nccl_trace_node1{i}" for i in range(8, 16)]
    assert ranks(paths) == list(range(16))
    assert "node" in named(paths)[paths[0]].notes[0]


def test_content_gives_a_rank_where_the_name_has_none():
    found = named(["a.pkl", "b.pkl", "c.pkl"], [world(3), world(0, 1, 2, own=1), world(0, 1)])
    assert [(one.rank, one.origin) for one in found.values()] == [(3, BY_CONTENT), (1, BY_CONTENT), (None, None)]


def test_sends_and_receives_outweigh_the_name():
    found = named(["rank_0", "rank_1"], [world(0, 1, own=0), world(0, 1, own=0)])["rank_1"]
    assert (found.rank, found.origin) == (0, BY_CONTENT)
    assert found.notes == ("its name says rank 1, its sends and receives say rank 0",)


def test_a_name_that_the_groups_contradict_is_said():
    found = named(["rank_7"], [world(0, 1)])["rank_7"]
    assert (found.rank, found.origin) == (7, BY_NAME)
    assert "no group that it knows has rank 7" in found.notes[0]


def test_files_that_are_no_dumps_have_no_say():
    """Otherwise the job id of a stray file, or its odd name, would change how all others are read."""
    paths = ["node07_0", "node07_1", "EXPECT.json", "99_bottles", "rank_5_of_wall"]
    inside = [Inside(), Inside(), None, None, None]
    assert ranks(paths, inside)[:2] == [0, 1]
    assert named(paths, inside)["EXPECT.json"].rank is None


def test_an_undecoded_file_is_named_as_its_siblings_are():
    paths = [f"nccl_trace_rank_10.0.0.1_{i}" for i in range(4)]
    assert ranks(paths, [Inside(), Inside(), Inside(), None]) == [0, 1, 2, 3]
    assert ranks(paths, [None] * 4) == [0, 1, 2, 3]  # none could be decoded


def test_numbers_that_are_times_are_no_ranks():
    assert ranks(["dump_20261129140200.pkl"]) == [None]


@pytest.mark.parametrize("name", ["nccl_trace_rank_-1", "comm_lib_trace_rank_-1", "trace.-1", "-1.pickle", "rank=-1"])
def test_a_number_below_zero_is_no_rank(name):
    """torch writes -1 for a rank that is not set."""
    paths = [name, "nccl_trace_rank_0", "nccl_trace_rank_1"]
    assert ranks(paths) == [None, 0, 1]


def test_a_dash_before_a_rank_is_no_minus():
    assert ranks(["trace-1", "trace-2", "host-a-3"]) == [1, 2, 3]


def test_digits_by_the_thousand_are_no_ranks():
    long = "9" * 5000
    assert ranks([f"rank_{long}", f"rank{long}_x", long, f"{long}/a.pkl"]) == [None] * 4
    assert ranks([f"x_{long}"], prefix="x_") == [None]
    assert ranks([f"x_{long}"], rank_regex="x_{rank}") == [None]


def test_a_prefix_decides_alone():
    paths = ["torch_node13", "torch_node1x", "other_3"]
    found = named(paths, prefix="/tmp/torch_node1")
    assert [(one.rank, one.origin) for one in found.values()] == [(3, "--prefix"), (None, None), (None, None)]
    assert "--prefix" in found["other_3"].notes[0]
    assert ranks(["torch_node13.json"], prefix="torch_node1") == [3]


@pytest.mark.parametrize(
    ("pattern", "host"),
    [
        ("x_{host}_{rank}", "node7"),
        (r"x_(?P<host>\w+)_(?P<rank>\d+)$", "node7"),
        ("x_*_{rank}", None),
        (r"_(?P<rank>\d+)", None),
    ],
)
def test_patterns_and_templates(pattern, host):
    found = named(["x_node7_2", "y"], rank_regex=pattern)
    assert (found["x_node7_2"].rank, found["x_node7_2"].host, found["x_node7_2"].origin) == (2, host, "--rank-regex")
    assert found["y"].rank is None
    assert ranks(["x_node7_2.json.gz"], rank_regex=pattern) == [2]


def test_a_pattern_sees_folders():
    assert ranks(["node3/local_1"], rank_regex=r"node(?P<rank>\d+)/") == [3]


@pytest.mark.parametrize("pattern", ["(", "rank_\\d+", "(?P<rank>\\d+"])
def test_patterns_that_cannot_mean_anything_are_refused_in_one_line(pattern):
    with pytest.raises(BadOptionError, match="--rank-regex") as caught:
        named(["rank_0"], rank_regex=pattern)
    assert "\n" not in str(caught.value)


def test_replicas_have_their_own_numbers_inside():
    paths = [f"rank_{i}" for i in range(4)]
    inside = [world(0, 1, own=i % 2) for i in range(4)]
    size, found = name_files(paths, inside, [(0, 1)] * 4, ReadOptions())
    assert size == 2
    assert [(one.rank, one.shift) for one in found] == [(0, 0), (1, 0), (2, 2), (3, 2)]


def test_the_order_of_files_decides_nothing():
    paths = [f"nccl_trace_rank_10.0.0.{i % 3}_{i}" for i in range(12)] + ["x.json", "rank_3_old.json"]
    inside = [world(*range(12))] * 12 + [None, Inside()]
    expected = named(paths, inside)
    for seed in range(5):
        order = random.Random(seed).sample(range(len(paths)), len(paths))
        assert named([paths[i] for i in order], [inside[i] for i in order]) == expected


@pytest.mark.parametrize(
    ("path", "attempt"),
    [
        ("attempt_1/rank_0", 1),
        ("none_x/attempt_0/3/stdout.log", 0),
        ("a/attempt_1/restart_2/rank_0", 2),
        ("job-retry3/rank_0", 3),
        ("rank_0", None),
        ("entry_5/rank_0", None),
    ],
)
def test_attempts_in_paths(path, attempt):
    assert attempt_of(path) == attempt


def test_shapes():
    assert shape("a/rank_3.json") == shape("b/rank_17") == "rank_#"


@pytest.mark.parametrize(
    ("shown", "rank", "rest"),
    [
        ("run/job3_rank_3.pickle", 3, "run/job3_rank_#.pickle"),
        ("a.tar:node3/rank-3", 3, "a.tar:node3/rank-#"),
        ("dump_7", 7, "dump_#"),
        ("dump_7", 8, "dump_7"),
        (f"rank_{'9' * 5000}", 3, f"rank_{'9' * 5000}"),
    ],
)
def test_a_name_without_its_rank(shown, rank, rest):
    """Members of a tar may be called anything: digits without end are no number."""
    assert without_rank(shown, rank) == rest
