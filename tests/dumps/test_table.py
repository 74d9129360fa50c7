from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hangview.dumps.decode.dump import decode
from hangview.dumps.decoded import NONE, Decoded
from hangview.dumps.interning import share_tables
from hangview.dumps.table import build
from hangview.schema import Limits, entries_schema
from tests.dumps.job import START, calls, config, dump, entry, plain, write


def decoded(tmp_path: Path, content: dict[str, Any]) -> Decoded:
    return decode(write(tmp_path / "x", content).read_bytes(), Limits())


@pytest.fixture
def two(tmp_path):
    """Dumps of two ranks whose tables have the same values in another order."""
    first = [entry(1), entry(2, profiling_name="nccl:broadcast", frames=[]), entry(3, state="scheduled")]
    second = [
        entry(1, profiling_name="nccl:broadcast", frames=[]),
        entry(2, duration_ms=1.5),
        entry(3, input_sizes=[[4], [2, 2]]),
    ]
    return [decoded(tmp_path, dump(entries, config(default_pg=[0, 1]))) for entries in (first, second)]


def test_the_frame_has_the_documented_columns_and_values(two):
    table = build([(5, 0, two[0]), (7, 1, two[1])], {})
    frame = table.entries
    assert dict(frame.schema) == entries_schema()
    assert frame["source"].to_list() == [5, 5, 5, 7, 7, 7]
    assert frame["rank"].to_list() == [0, 0, 0, 1, 1, 1]
    assert frame["position"].to_list() == [0, 1, 2, 0, 1, 2]
    reduce, broadcast = "nccl:all_reduce", "nccl:broadcast"
    assert [table.ops[i] for i in frame["op"]] == [reduce, broadcast, reduce, broadcast, reduce, reduce]
    assert [len(table.stacks[i]) for i in frame["stack"]] == [2, 0, 2, 0, 2, 2]
    assert [table.signatures[i].input_sizes for i in frame["signature"]] == [((8,),)] * 5 + [((4,), (2, 2))]
    assert table.labels == (("0", "default_pg"),)
    assert frame["created_ns"].to_list() == [START + seq * 10**9 for seq in (1, 2, 3)] * 2
    assert frame["completed_ns"].null_count() == 1
    assert frame["started_ns"].null_count() == 6
    assert frame["duration_ms"].to_list() == [None, None, None, None, 1.5, None]
    assert frame["state"].to_list() == [2, 2, 0, 2, 2, 2]


def test_stack_0_is_the_empty_one_even_when_none_is_empty(tmp_path):
    table = build([(0, 0, decoded(tmp_path, plain(1)))], {})
    assert table.stacks[0] == ()
    assert set(table.entries["stack"]) == {1}


def test_ids_do_not_show_how_the_dumps_were_read(two):
    dumps = [(0, 0, two[0]), (1, 1, two[1])]
    alone = build(dumps, {})
    together = build([(i, i, d) for i, d in enumerate(share_tables(two))], {})
    backwards = build([(i, i, d) for i, d in enumerate(reversed(share_tables(two[::-1])))], {})
    for other in (together, backwards):
        assert other.entries.equals(alone.entries)
        assert (other.ops, other.signatures, other.stacks, other.threads) == (
            alone.ops,
            alone.signatures,
            alone.stacks,
            alone.threads,
        )


def test_shared_tables_keep_every_value(two):
    shared = share_tables(two)
    assert shared[0].ops is shared[1].ops
    for before, after in zip(two, shared, strict=True):
        assert [before.ops[i] for i in before.columns["op"]] == [after.ops[i] for i in after.columns["op"]]
        assert [before.stacks[i] for i in before.columns["stack"]] == [after.stacks[i] for i in after.columns["stack"]]
        assert before.configs == after.configs


def test_nothing_is_a_table_too():
    table = build([], {})
    assert dict(table.entries.schema) == entries_schema()
    assert table.entries.is_empty()
    assert share_tables([]) == []


def test_dumps_without_entries_among_others(tmp_path, two):
    empty = decoded(tmp_path, dump([], config(default_pg=[0, 1])))
    assert build([(0, 0, empty), (1, 1, two[0])], {}).entries["source"].to_list() == [1, 1, 1]
    assert len(share_tables([empty, two[0]])) == 2


def test_seqs_can_be_given(tmp_path):
    one = decoded(tmp_path, plain(1, count=3))
    given = build([(4, 0, one)], {4: np.array([7, NONE, 9])})
    assert given.entries["seq"].to_list() == [7, None, 9]


def test_numbers_that_no_recorder_would_write_become_null(tmp_path):
    odd = decoded(tmp_path, dump([entry(1, pg_id=2**40), entry(2, collective_seq_id=2**62)], {}))
    frame = build([(0, 0, odd)], {}).entries
    assert frame["pg_id"].to_list() == [None, 0]
    assert frame["seq"].to_list() == [1, 2**62]


def test_many_entries_are_not_looped_over(tmp_path):
    one = decoded(tmp_path, dump(calls(400), config(default_pg=range(64))))
    table = build([(rank, rank, one) for rank in range(64)], {})
    assert table.entries.group_by("source").len()["len"].unique().to_list() == [400]
    assert table.entries.select(pl.col("op").n_unique()).item() == 1
