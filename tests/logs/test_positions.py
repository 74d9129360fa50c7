"""Two groups at the same number: each status line goes with its own work."""

from __future__ import annotations

import pytest

from hangview.logs.judge import conclude, leads_of
from tests.logs.support import caught, read_text

DP = "PG ID 1 PG GUID 1(dp)"
BIG = 25_557_032


def works(evidence, rank):
    return {row.desc: (row.timed_out_op, row.numel_in) for row in evidence.groups if row.rank == rank}


def split(rank: int, *lines: tuple[str, int]) -> tuple[list[str], list[str]]:
    """Lines about works, and the status lines behind them."""
    both = [caught(rank, 42, group=group, numel_in=size, numel_out=size).splitlines(keepends=True) for group, size in lines]
    return [one for one, _ in both], [other for _, other in both]


DEFAULT = "PG ID 0 PG GUID 0(default_pg)"


@pytest.mark.parametrize("order", [((DP, BIG), (DEFAULT, 1)), ((DEFAULT, 1), (DP, BIG))])
def test_two_groups_at_one_number_have_each_its_own_work(tmp_path, order):
    text = "".join(caught(0, 42, group=group, numel_in=size, numel_out=size) for group, size in order)
    others = {f"rank_{rank}_log": caught(rank, 42, numel_in=1, numel_out=1) for rank in (1, 2)}
    evidence = read_text(tmp_path, rank_0_log=text, **others)
    assert works(evidence, 0) == {"dp": ("all_reduce", BIG), "default_pg": ("all_reduce", 1)}
    assert leads_of(conclude(evidence)) == ()


def test_a_rank_that_asks_for_another_size_is_still_named(tmp_path):
    text = caught(0, 42, group=DP, numel_in=BIG, numel_out=BIG) + caught(0, 42, numel_in=7, numel_out=7)
    others = {f"rank_{rank}_log": caught(rank, 42, numel_in=1, numel_out=1) for rank in (1, 2)}
    assert leads_of(conclude(read_text(tmp_path, rank_0_log=text, **others))) == (0,)


def test_where_two_groups_print_at_once_the_sizes_are_of_neither(tmp_path):
    """Two watchdogs, two threads: which of the works the first status line means is not to be told."""
    lines, statuses = split(0, (DP, BIG), (DEFAULT, 1))
    others = {f"rank_{rank}_log": caught(rank, 42, numel_in=1, numel_out=1) for rank in (1, 2)}
    evidence = read_text(tmp_path, rank_0_log="".join([*lines, *reversed(statuses)]), **others)
    assert works(evidence, 0) == {"dp": (None, None), "default_pg": (None, None)}
    assert {row.timed_out_seq for row in evidence.groups} == {42}
    assert leads_of(conclude(evidence)) == ()


def test_the_line_of_the_thread_that_ends_names_group_and_work(tmp_path):
    lines, statuses = split(0, (DP, BIG), (DEFAULT, 1))
    head = "[rank0]:[E626 05:15:36.393067540 ProcessGroupNCCL.cpp:1895] "
    work = lines[1].split("] ", 1)[1].rstrip("\n")
    last = f"{head}[{DEFAULT} Rank 0] Process group watchdog thread terminated with exception: {work}\n"
    evidence = read_text(tmp_path, rank_0_log="".join([*lines, *statuses, last]))
    assert works(evidence, 0)["default_pg"] == ("all_reduce", 1)


def test_works_without_a_world_rank_keep_the_name_of_their_group(tmp_path):
    """Lines of several processes one after the other: of one number there is one group."""
    lines, statuses = zip(*(split(rank, (DEFAULT, 1)) for rank in (0, 1)), strict=True)
    text = "".join(part for pair in (*lines, *statuses) for part in pair)
    text = text.replace("[rank0]:", "").replace("[rank1]:", "")
    evidence = read_text(tmp_path, job_log=text)
    assert {(row.group_rank, row.desc) for row in evidence.unplaced} == {(0, "default_pg"), (1, "default_pg")}


def test_the_line_with_the_sizes_is_cited_beside_the_line_with_the_group(tmp_path):
    """Sizes stand in the line in front of the one that names the group: who checks them is not sent to the wrong one."""
    others = {f"rank_{rank}_log": caught(rank, 42, numel_in=1, numel_out=1) for rank in (1, 2)}
    evidence = read_text(tmp_path, rank_0_log=caught(0, 42, numel_in=7, numel_out=7), **others)
    (row,) = (row for row in evidence.groups if row.rank == 0)
    assert "NumelIn=7" in row.lines[0].text
    assert (row.line.number, [line.number for line in row.lines]) == (2, [1, 2])
    (finding,) = conclude(evidence)
    assert any("7 elements in" in line.text and "(rank_0.log, line 1 and line 2)" in line.text for line in finding.evidence)
