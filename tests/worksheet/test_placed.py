"""Who is where: each group with the files that give it these members, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

import hangview
from hangview.worksheet.placed import group_lines

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="module")
def lines() -> dict[str, str]:
    """16 ranks in dozens of groups, one dump missing: text -> origin."""
    incident = hangview.load(str(FIXTURES / "nccl-stuck-no-dump"))
    return {line.value: line.origin for line in group_lines(incident)}


def test_groups_of_one_name_that_are_folded_have_the_files_of_all_of_them(lines):
    """Every dump knows its own pair alone: the 8 pairs are told by all 15 dumps."""
    (origin,) = (origin for text, origin in lines.items() if text.startswith("TENSOR_MODEL_PARALLEL_GROUP: 8 more groups"))
    assert origin == "group configuration of nccl_trace_rank_0 and 14 more"


def test_a_group_of_all_is_told_by_every_dump(lines):
    (origin,) = (origin for text, origin in lines.items() if "default_pg" in text)
    assert origin == "group configuration of nccl_trace_rank_0 and 14 more"


def test_a_group_of_some_is_told_by_those(lines):
    """Of the data-parallel group of ranks 8, 10, 12 and 14 the dump of rank 10 is missing."""
    (origin,) = (origin for text, origin in lines.items() if "(DATA_PARALLEL_GROUP)" in text and "8,10,12,14" in text)
    assert origin == "group configuration of nccl_trace_rank_8 and 2 more"
