"""Ranks that processes print of themselves give files their rank only where each is shown to be of one process."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs import conclude, leads_of
from tests.logs.support import read_text

#: torch 2.1: neither the watchdog's lines nor a traceback bears a world rank.
WAITS = "[E ProcessGroupNCCL.cpp:475] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=841, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.\n"
RAISED = 'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    main()\n  File "/job/reader.py", line 61, in read\n    f()\nKeyError: 7\n'
#: What workers print, by rank and local rank.
HEADS = [
    "Initializing distributed: GLOBAL_RANK: {0}, MEMBER: 1/3\n",
    "| distributed init (rank {0}): env://\n",
    "env: RANK={0} LOCAL_RANK={1} WORLD_SIZE=3\n",
    "RANK: {0} LOCAL_RANK: {1}\n",
    "export RANK={0}\nexport LOCAL_RANK={1}\n",
    "declare -x LOCAL_RANK=\"{1}\"\ndeclare -x RANK=\"{0}\"\n",
    "{{'MASTER_RANK': '0', 'LOCAL_RANK': '{1}', 'RANK': '{0}', 'NODE_RANK': '0'}}\n",
    "2026-06-26 05:04:30,100 INFO main: RANK={0}, LOCAL_RANK={1}, GROUP_RANK=4\n",
]  # fmt: skip


def jobs(*heads: str, raises: int = 2) -> dict[str, str]:
    return {
        f"proc_{'abcdefgh'[number]}_log": head + (RAISED if number == raises else WAITS.format(number))
        for number, head in enumerate(heads)
    }


@pytest.mark.parametrize("head", HEADS)
def test_ranks_that_workers_print_give_each_file_its_rank(tmp_path, head):
    told = read_text(tmp_path, **jobs(*(head.format(rank, rank) for rank in (3, 4, 5))))
    assert [log.rank for log in told.logs] == [3, 4, 5]
    assert leads_of(conclude(told)) == (5,)


@pytest.mark.parametrize(
    "heads",
    [
        # One file may hold the output of several, of which one prints.
        [HEADS[0].format(2)],
        [HEADS[2].format(0, 0), HEADS[2].format(8, 0), HEADS[2].format(16, 0)],
        [HEADS[2].format(0, 0), HEADS[2].format(1, 1) + HEADS[2].format(2, 2), HEADS[2].format(3, 3)],
        [HEADS[2].format(0, 0), HEADS[2].format(0, 0), HEADS[2].format(1, 1)],
        # In a container's environment RANK may be the number of the node.
        [f"RANK={rank}\nWORLD_SIZE=3\n" for rank in range(3)],
        # No ranks of the world, or of the process that prints them.
        *([f"{name}={rank}\n" for rank in range(3)] for name in ("LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "MASTER_RANK", "LORA_RANK")),
        [f"NODE_RANK={rank} LOCAL_RANK=0\n" for rank in range(3)],
        [f"waiting for RANK={rank}\nLOCAL_RANK=0\n" for rank in range(3)],
        [f"python train.py --RANK={rank} --nodes $RANK\nLOCAL_RANK=0\n" for rank in range(3)],
    ],
)  # fmt: skip
def test_what_may_be_of_a_node_or_of_another_process_gives_no_rank(tmp_path, heads):
    told = read_text(tmp_path, **jobs(*heads, raises=len(heads) - 1))
    assert {log.rank for log in told.logs} == {None}
    assert leads_of(conclude(told)) == ()


def test_a_file_whose_launcher_started_several_is_not_of_the_rank_that_one_printed(tmp_path):
    failed = "[2024-06-26 05:14:40,345] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 3 (pid: 8003) of binary: /usr/bin/python\n"
    told = read_text(tmp_path, **jobs(*(HEADS[2].format(rank, 0) + (failed if rank == 2 else "") for rank in range(3))))
    assert {log.rank for log in told.logs} == {None}
