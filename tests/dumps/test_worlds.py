"""gloo's dumps of several jobs in one folder, told apart by what went through in them; and what must stay one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.dumps.job import calls, dump, entry, records, write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hangview.schema import Records


def numbered(count: int) -> dict[str, Any]:
    """gloo's key '' in a world of ``count``."""
    return {"": {"name": "", "desc": "", "ranks": str(list(range(count)))}}


def gloo(size: int, seqs: Iterable[int] = (1, 2, 3), **changes: Any) -> list[dict[str, Any]]:
    """All_reduces of ``size`` elements that are over."""
    sizes: dict[str, Any] = {"input_sizes": [[size]], "output_sizes": [[size]]}
    told: dict[str, Any] = {
        "profiling_name": "gloo:all_reduce",
        "state": "scheduled",
        "retired": True,
        "time_discovered_completed_ns": None,
    }
    return [entry(seq, **(sizes | told | changes)) for seq in seqs]


def gathered(parts: int) -> list[dict[str, Any]]:
    return gloo(8, profiling_name="gloo:all_gather", output_sizes=[[parts, 8]])


def folder(path: Path, *worlds: list[dict[str, Any]], each: int = 2, told: int | None = None) -> Records:
    """Files of several worlds of ``each`` ranks one after the other, all with the numbers of one world."""
    for i, content in enumerate(worlds):
        for rank in range(i * each, (i + 1) * each):
            write(path / f"trace_{rank}", dump(content, numbered(told or each)))
    return records(path)


def defaults(found: Records) -> set[tuple[str, str, tuple[int, ...]]]:
    return {(config.name, config.desc, config.ranks) for config in found.configs}


def test_two_jobs_whose_calls_differ_and_went_through_are_two(tmp_path):
    """No all_reduce ends well with 8 elements on one half of its ranks and 24 on the other, let alone three of them."""
    found = folder(tmp_path, gloo(8), gloo(24))
    assert defaults(found) == {("0", "default_pg", (0, 1)), ("0", "default_pg", (2, 3))}
    assert found.exist == (0, 1, 2, 3)


def test_an_all_gather_of_so_few_parts_cannot_be_of_all_ranks(tmp_path):
    assert defaults(folder(tmp_path, gathered(2), gathered(2))) == {
        ("0", "default_pg", (0, 1)),
        ("0", "default_pg", (2, 3)),
    }


@pytest.mark.parametrize(
    "contents",
    [
        (gloo(8), gloo(8)),  # torch 2.15 writes these numbers in one job too, for the group made last
        (gathered(4), gathered(4)),
        (gloo(8), gloo(8, (1, 2)) + gloo(24, (3,))),  # one call that differs may have failed
        (gloo(8), gloo(24) + gloo(8, process_group=("1", "tp"), pg_id=1)),  # the numbers may be those of tp
        (gloo(8), gloo(24, retired=False)),
    ],
)
def test_without_a_proof_they_stay_one_job(tmp_path, contents):
    assert defaults(folder(tmp_path, *contents)) == set()


def test_names_that_count_from_1_are_no_second_job(tmp_path):
    for rank in (1, 2, 3, 4):
        write(tmp_path / f"trace_{rank}", dump(gathered(4), numbered(4)))
    assert defaults(records(tmp_path)) == set()


def test_more_numbers_than_one_are_no_two_jobs_of_one_size(tmp_path):
    write(tmp_path / "trace_0", dump(gloo(8), numbered(1)))
    for rank in (1, 2):
        write(tmp_path / f"trace_{rank}", dump(gloo(24), numbered(2)))
    assert defaults(records(tmp_path)) == set()


def test_what_nccl_records_is_not_asked(tmp_path):
    for rank in range(4):
        size = 8 if rank < 2 else 24
        changes: dict[str, Any] = {"input_sizes": [[size]], "output_sizes": [[size]]}
        write(tmp_path / f"trace_{rank}", dump(calls(3, **changes), numbered(2)))
    assert {config.ranks for config in records(tmp_path).configs} == {(0, 1)}
