"""A launcher's number of a task is a rank only where something shows that it started one process for each rank."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.logs import LogFile, combine, conclude, leads_of, scan_log
from tests.logs.support import caught, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.logs import LogEvidence

KILLED = "srun: error: n{0}: task {1}: Killed\n"
CLEANED = "srun: error: n0: tasks 0-3: Terminated\nsrun: error: n1: tasks 4,6-7: Terminated\n"
MPIRUN = "mpirun noticed that process rank {0} with PID 0 on node n{1} exited on signal 9 (Killed).\n"
PALS = "n1.hsn: rank 5 died from signal 9\nn0.hsn: rank 0 died from signal 15\nn0.hsn: rank 1 died from signal 15\n"
HYDRA = "=   RANK {0} PID 4711 RUNNING AT n1\n=   KILLED BY SIGNAL: 9 (Killed)\n"
AGENT = "[2024-06-26 05:14:40,345] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 0 (pid: 8003) of binary: /usr/bin/python\n"


def steps(*tasks: int) -> str:
    return "".join(f"{task:2}: 2026-06-26 05:14:{task:02},100 INFO train: step 1 loss 2.9\n" for task in tasks)


def waited(*ranks: int) -> str:
    return "".join(caught(rank, 42) for rank in ranks)


def with_dumps(folder: Path, world: int, text: str) -> LogEvidence:
    """The log beside dumps that prove the number of ranks."""
    path = folder / "slurm-1.out"
    path.write_text(text)
    return combine([scan_log(LogFile(0, path, path.name))], world)


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        (steps(*range(8)) + KILLED.format(1, 5) + CLEANED, 5),  # four of one host
        (steps(*range(8)) + KILLED.format(1, 5).replace("Killed", "Segmentation fault") + CLEANED, 5),
        (PALS, 5),
        (KILLED.format(0, 3) + waited(0, 1, 2, 4, 5), 3),  # the only one that says nothing
        (KILLED.format(0, 3).replace("Killed", "Exited with exit code 137") + waited(0, 1, 2, 4, 5), 3),
        (MPIRUN.format(3, 0) + waited(0, 1, 2, 4, 5), 3),
        (MPIRUN.format(3, 0) + waited(0, 1, 2), 3),
        (HYDRA.format(3) + waited(0, 1, 2), 3),
    ],
)
def test_a_task_is_the_rank_where_the_log_shows_one_for_each(tmp_path, text, rank):
    assert leads_of(conclude(read_text(tmp_path, job_log=text))) == (rank,)


@pytest.mark.parametrize(
    "text",
    [
        # Two or three on a host may be nodes' sockets, or one of each node.
        steps(0, 1) + KILLED.format(1, 1) + "srun: error: n0: task 0: Terminated\n",
        steps(*range(8)) + "".join(KILLED.format(task, task) for task in range(8)),
        MPIRUN.format(7, 7),
        HYDRA.format(7),
        # More ranks than tasks.
        steps(*range(8)) + KILLED.format(1, 5) + CLEANED + caught(12, 42),
        steps(*range(8)) + caught(12, 42).replace("[rank12]:", "") + KILLED.format(1, 5) + CLEANED,
        MPIRUN.format(1, 1) + waited(*range(8), 12, 13, 14, 15),
        KILLED.format(1, 1) + waited(0, 1, 2, 3),
        # More than one rank says nothing, or another one.
        MPIRUN.format(4, 1) + waited(0, 1, 2),
        MPIRUN.format(5, 1) + waited(0, 1, 3, 4),
        MPIRUN.format(1, 1) + waited(0, 2),
        # The end of the step killed the others before its line was printed.
        steps(*range(8)) + "srun: error: n0: tasks 0-3: Killed\nsrun: error: n1: tasks 4,6-7: Killed\n"
        "srun: error: n1: task 5: Exited with exit code 2\nsrun: Terminating StepId=7.0\n",
        # torchrun started the ranks.
        steps(*range(8)) + KILLED.format(1, 5) + CLEANED + AGENT,
        AGENT + MPIRUN.format(3, 0) + waited(0, 1, 2, 4, 5),
        MPIRUN.format(3, 0) + waited(0, 1, 2, 4, 5) + "[default0]:step 1\n",
        # One line shows that tasks are not ranks.
        steps(*range(8)) + "1: " + caught(4, 42) + KILLED.format(1, 5) + CLEANED,
    ],
)  # fmt: skip
def test_a_task_that_may_be_a_node_names_nobody(tmp_path, text):
    assert leads_of(conclude(read_text(tmp_path, job_log=text))) == ()


def test_more_tasks_than_half_of_the_ranks_are_one_for_each(tmp_path):
    text = steps(0, 1, 3) + KILLED.format(1, 2)
    assert [(end.rank, end.follower) for end in with_dumps(tmp_path, 4, text).ends] == [(2, False)]
    assert [(end.rank, end.follower) for end in with_dumps(tmp_path, 6, MPIRUN.format(3, 0)).ends] == [(3, False)]
    for world in (3, 8, 16):  # another step's, or nodes of several ranks each
        assert with_dumps(tmp_path, world, text).ends == ()
