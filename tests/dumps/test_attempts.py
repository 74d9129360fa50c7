from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hangview.dumps.assemble import assemble
from hangview.dumps.find import find
from hangview.dumps.names import BadOptionError
from hangview.dumps.read import read_file
from hangview.schema import ReadOptions, Source, SourceKind, SourceStatus
from tests.dumps.job import (
    HOUR,
    SECOND,
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

if TYPE_CHECKING:
    from hangview.schema import Records

MINUTE = 60 * SECOND


def starts(found: Records) -> list[tuple[int, tuple[int, ...], bool]]:
    return [(start.attempt, start.ranks, start.current) for start in found.attempts]


def test_one_start_is_attempt_1(tmp_path):
    for rank in range(2):
        write(tmp_path / f"rank_{rank}", plain(2))
    found = records(tmp_path)
    assert starts(found) == [(1, (0, 1), True)]
    assert found.attempts[0].reason is None
    assert {source.attempt for source in found.sources} == {1}


def test_folders_number_the_attempts_and_the_highest_counts(tmp_path):
    for attempt in range(3):
        for rank in range(2):
            # the folder decides, not the times: attempt 2 has the oldest ones here
            write(tmp_path / f"attempt_{attempt}/rank_{rank}", plain(2, at=START - attempt * HOUR))
    found = records(tmp_path)
    assert starts(found) == [(0, (0, 1), False), (1, (0, 1), False), (2, (0, 1), True)]
    assert ranks(found) == {"attempt_2/rank_0": 0, "attempt_2/rank_1": 1}
    assert reason(found, "attempt_0/rank_0") == "another folder than that of attempt 2"
    assert set(found.entries["source"]) == {4, 5}


def test_an_attempt_can_be_asked_for(tmp_path):
    for attempt in range(2):
        write(tmp_path / f"attempt_{attempt}/rank_0", plain(1))
    found = records(tmp_path, attempt=0)
    assert ranks(found) == {"attempt_0/rank_0": 0}
    assert statuses(found)["attempt_1/rank_0"] == "other_attempt"
    with pytest.raises(BadOptionError, match="--attempt 5: no file is of that attempt, there is 0-1"):
        records(tmp_path, attempt=5)


def test_files_that_could_not_be_read_are_of_the_attempt_of_their_folder(tmp_path):
    for attempt in range(2):
        write(tmp_path / f"attempt_{attempt}/rank_0", plain(2))
        (tmp_path / f"attempt_{attempt}/rank_1").write_bytes(b"")
    found = statuses(records(tmp_path))
    assert found["attempt_0/rank_1"] == "other_attempt"
    assert found["attempt_1/rank_1"] == "empty"


def test_another_world_is_another_start(tmp_path):
    """The second start came two seconds later with half of the ranks: no clock tells them apart."""
    for rank in range(4):
        write(tmp_path / f"rank_{rank}", plain(4, at=START + 2 * SECOND))
    for rank in range(4, 8):
        write(tmp_path / f"rank_{rank}", plain(8))
    found = records(tmp_path)
    assert starts(found) == [(1, (4, 5, 6, 7), False), (2, (0, 1, 2, 3), True)]
    assert reason(found, "rank_5") == "its default group has ranks 0-7, that of the newer start has ranks 0-3"


def test_replicas_are_no_starts(tmp_path):
    for rank in range(4):
        write(tmp_path / f"rank_{rank}", plain(2))
    found = records(tmp_path)
    assert starts(found) == [(1, (0, 1, 2, 3), True)]
    assert [c.ranks for c in found.configs] == [(0, 1), (0, 1), (2, 3), (2, 3)]


@pytest.mark.parametrize("shift", [-60 * MINUTE, -30 * SECOND, 45 * MINUTE, 61 * MINUTE])
def test_a_host_whose_clock_is_off_by_up_to_an_hour_is_of_the_same_start(tmp_path, shift):
    for rank in range(8):
        write(tmp_path / f"rank_{rank}", plain(8, count=20, at=START + (shift if rank >= 4 else 0)))
    assert starts(records(tmp_path)) == [(1, tuple(range(8)), True)]


@pytest.mark.parametrize("age", [2 * HOUR, 100 * HOUR])
def test_a_file_much_older_than_the_calls_it_took_part_in_is_of_an_earlier_start(tmp_path, age):
    for rank in range(4):
        write(tmp_path / f"rank_{rank}", plain(4, count=20, at=START - (age if rank == 1 else 0)))
    found = records(tmp_path)
    assert starts(found) == [(1, (1,), False), (2, (0, 2, 3), True)]
    assert "older than the newer start" in reason(found, "rank_1")


def slower(count: int, *, at: int, open_last: bool = False) -> list[dict[str, Any]]:
    """Calls each of which took a little longer than the one before: the pace of another run."""
    made = calls(count, at=at, open_last=open_last)
    for i, one in enumerate(made):
        one["time_created_ns"] += i * i * SECOND // 50
        if one["time_discovered_completed_ns"] is not None:
            one["time_discovered_completed_ns"] += i * i * SECOND // 50
    return made


def test_a_file_that_the_start_before_left_twenty_minutes_ago(tmp_path):
    """Both starts hung near the same call; who did not dump again in the second one has its file of the first."""
    for rank in range(4):
        old = rank == 3
        made = slower(20, at=START - 20 * MINUTE) if old else calls(19 if rank == 1 else 20, open_last=rank != 1)
        write(tmp_path / f"rank_{rank}", dump(made, config(default_pg=range(4))))
    found = records(tmp_path)
    assert starts(found) == [(1, (3,), False), (2, (0, 1, 2), True)]
    assert "older than the newer start" in reason(found, "rank_3")


def test_a_straggler_of_minutes_is_no_other_start(tmp_path):
    """Rank 3 stopped at 20; the others were asked for more by groups without it, for ten minutes."""
    groups = config(default_pg=range(4), rest=[0, 1, 2])
    for rank in range(4):
        made = calls(20)
        if rank < 3:
            made += calls(30, at=START + 10 * MINUTE, process_group=("1", "rest"), pg_id=1)
        write(tmp_path / f"rank_{rank}", dump(made, groups))
    assert starts(records(tmp_path)) == [(1, (0, 1, 2, 3), True)]


def test_the_newer_start_counts_even_when_it_has_fewer_files(tmp_path):
    for rank in range(4):
        write(tmp_path / f"rank_{rank}", plain(4, count=20, at=START + (3 * HOUR if rank == 2 else 0)))
    assert starts(records(tmp_path)) == [(1, (0, 1, 3), False), (2, (2,), True)]
    assert ranks(records(tmp_path, attempt=1)) == {"rank_0": 0, "rank_1": 1, "rank_3": 3}


def test_three_starts(tmp_path):
    for rank in range(6):
        write(tmp_path / f"rank_{rank}", plain(6, count=20, at=START + rank // 2 * 3 * HOUR))
    assert starts(records(tmp_path)) == [(1, (0, 1), False), (2, (2, 3), False), (3, (4, 5), True)]


def test_a_file_that_ended_hours_before_calls_that_needed_it(tmp_path):
    """No call in common: the ring of the others has gone on to 9,000 while this one ends at 40."""
    ring = [entry(seq, at=START - HOUR, record_id=seq) for seq in range(8_990, 9_001)]
    for rank in (0, 2, 3):
        write(tmp_path / f"rank_{rank}", dump(ring, config(default_pg=range(4)), {"0": status(9_000)}))
    write(tmp_path / "rank_1", plain(4, count=40, at=START - 2 * HOUR, open_last=False))
    found = records(tmp_path)
    assert starts(found) == [(1, (1,), False), (2, (0, 2, 3), True)]


def test_ranks_of_different_groups_hours_apart_are_one_start(tmp_path):
    """A long job: the group of ranks 2 and 3 was last used three hours ago, and nothing of it contradicts that."""
    groups = config(default_pg=range(4), left=[0, 1], right=[2, 3])
    quiet = calls(5, at=START - 3 * HOUR, process_group=("2", "right"), pg_id=1)
    busy = calls(5, process_group=("1", "left"), pg_id=1)
    for rank in range(4):
        write(tmp_path / f"rank_{rank}", dump(busy if rank < 2 else quiet, groups))
    assert starts(records(tmp_path)) == [(1, (0, 1, 2, 3), True)]


def test_a_wait_of_hours_in_one_call_is_one_call(tmp_path):
    """Ranks wait two hours in a barrier until rank 0 has prepared its data: the intervals of the call overlap."""
    late = calls(1, at=START + 2 * HOUR)
    early = calls(1)
    for one in early:
        one["time_discovered_completed_ns"] = late[0]["time_discovered_completed_ns"]
    for rank in range(3):
        write(tmp_path / f"rank_{rank}", dump(late if rank == 0 else early, config(default_pg=range(3))))
    assert starts(records(tmp_path)) == [(1, (0, 1, 2), True)]


def test_a_broadcast_proves_nothing_about_time(tmp_path):
    """The root of a broadcast goes on at once; a receiver may come hours later."""
    for rank in range(2):
        content = dump(calls(3, at=START + rank * 3 * HOUR, profiling_name="nccl:broadcast"), config(default_pg=range(2)))
        write(tmp_path / f"rank_{rank}", content)
    assert starts(records(tmp_path)) == [(1, (0, 1), True)]


def test_empty_dumps_are_of_the_current_start(tmp_path):
    for rank in range(3):
        write(tmp_path / f"rank_{rank}", plain(3, count=20, at=START - (3 * HOUR if rank == 1 else 0)))
    write(tmp_path / "rank_2", dump([], config(default_pg=range(3))))
    assert starts(records(tmp_path)) == [(1, (1,), False), (2, (0, 2), True)]


def test_two_folders_with_other_processes_of_the_same_ranks(tmp_path):
    """The job was started again after a minute, and its dumps went to another folder; hosts have folders below."""
    for run in range(2):
        for rank in range(4):
            write(tmp_path / f"run{run}/node{rank // 2}/rank_{rank}", plain(4, at=START + run * MINUTE))
    found = records(tmp_path)
    assert starts(found) == [(1, (0, 1, 2, 3), False), (2, (0, 1, 2, 3), True)]
    assert set(ranks(found)) == {f"run1/node{rank // 2}/rank_{rank}" for rank in range(4)}
    assert reason(found, "run0/node1/rank_2") == "other records than the newer files of the same ranks"


@pytest.mark.parametrize("later_ids", [0, 5_000])
def test_a_rank_without_a_dump_is_not_taken_from_the_folder_of_another_run(tmp_path, later_ids):
    """The ring of the first run has wrapped, so that no record is in both: its rank 3 would look far ahead of the others."""
    for rank in range(4):
        ring = [entry(seq, at=START - 30 * MINUTE) for seq in range(100, 121)]
        write(tmp_path / f"run1/rank_{rank}", dump(ring, config(default_pg=range(4)), {"0": status(120)}))
    for rank in range(3):
        entries = [{**one, "record_id": one["record_id"] + later_ids} for one in calls(5, open_last=True)]
        write(tmp_path / f"run2/rank_{rank}", dump(entries, config(default_pg=range(4)), {"0": status(5, -1, 4)}))
    found = records(tmp_path)
    assert starts(found) == [(1, (0, 1, 2, 3), False), (2, (0, 1, 2), True)]
    assert set(ranks(found)) == {f"run2/rank_{rank}" for rank in range(3)}


def test_nor_from_files_of_another_run_in_the_same_folder(tmp_path):
    for rank in range(4):
        write(tmp_path / f"job3_rank_{rank}.pickle", plain(4, at=START - 30 * MINUTE))
    for rank in range(3):
        write(tmp_path / f"job4_rank_{rank}.pickle", plain(4))
    found = records(tmp_path)
    assert starts(found) == [(1, (0, 1, 2, 3), False), (2, (0, 1, 2), True)]
    assert set(ranks(found)) == {f"job4_rank_{rank}.pickle" for rank in range(3)}


def test_one_rank_in_two_jobs_at_one_time_is_no_rank_of_both(tmp_path):
    """Two jobs that ran beside each other, each with all ranks by what is inside: no two files of one rank are one process."""
    for run in range(2):
        for rank in range(2 + run):
            groups = config(default_pg=range(3), own=[rank])
            write(tmp_path / f"run{run}/rank_{rank}", dump(calls(4, at=START + run * SECOND // 5), groups))
    assert starts(records(tmp_path)) == [(1, (0, 1), False), (2, (0, 1, 2), True)]


def test_jobs_that_ran_at_the_same_time_are_beside_each_other_and_starts_are_not(tmp_path):
    for rank in range(4):
        write(tmp_path / f"trainer_rank_{rank}", plain(4, count=20))
    for rank in range(2):
        write(tmp_path / f"server_rank_{rank}", plain(2, count=20, at=START + 10 * SECOND))
    assert [(start.ranks, start.beside) for start in records(tmp_path).attempts] == [((0, 1, 2, 3), True), ((0, 1), False)]
    for rank in range(2):
        write(tmp_path / f"server_rank_{rank}", plain(2, count=20, at=START + 30 * SECOND))
    assert [(start.ranks, start.beside) for start in records(tmp_path).attempts] == [((0, 1, 2, 3), False), ((0, 1), False)]


def test_a_folder_of_an_old_host_beside_those_of_the_others(tmp_path):
    for rank in range(4):
        write(tmp_path / f"node{rank // 2}/rank_{rank}", plain(4, at=START + MINUTE))
    for rank in range(2):
        write(tmp_path / f"spare/rank_{rank}", plain(4))
    found = records(tmp_path)
    assert starts(found) == [(1, (0, 1), False), (2, (0, 1, 2, 3), True)]
    assert "spare/rank_0" not in ranks(found)


def test_loose_files_beside_attempt_folders_join_the_nearest_in_time(tmp_path):
    for attempt in range(2):
        write(tmp_path / f"attempt_{attempt}/rank_0", plain(2, at=START + attempt * HOUR))
    write(tmp_path / "rank_1", plain(2, at=START))
    found = records(tmp_path)
    assert starts(found) == [(0, (0, 1), False), (1, (0,), True)]


def test_nothing_at_all(tmp_path):
    found = records(tmp_path)
    assert found.attempts == ()
    assert found.sources == ()
    assert records(tmp_path, attempt=3).attempts == ()  # nothing was found to choose from


def test_a_folder_that_may_not_be_read_keeps_its_number(tmp_path):
    write(tmp_path / "attempt_0/rank_0", plain(2))
    listing = [Source("attempt_1", SourceKind.OTHER, SourceStatus.UNREADABLE, "Permission denied")]
    options = ReadOptions()
    found = find([str(tmp_path)], options)
    files = [result for one in found.dumps for result in read_file(one, options.limits)]
    assert [source.attempt for source in assemble(files, listing, options).sources] == [0, 1]
