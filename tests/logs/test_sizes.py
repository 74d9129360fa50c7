"""How many ranks there are: what proves it, and what is said where nothing does."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import pytest

from hangview.logs import conclude
from hangview.terms import Kind
from tests.logs.support import caught, read_text

ALL_OF_3 = "".join(caught(rank, 42) for rank in range(3))
NCCL = "n0:4711:5000 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks {} cudaDev 0 nvmlDev 0 busId 1000 commId 0xa - Init COMPLETE\n"
CLOSED = "W0626 05:14:47.400000 4000 torch/distributed/elastic/multiprocessing/api.py:900] Sending process {} closing signal SIGTERM\n"
FAILED = "E0626 05:14:47.466000 4000 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -6) local_rank: 0 (pid: 4710) of binary: python\n"
TELLS = {
    "the ranks": "world_size: {}\n",
    "Lightning": "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/{}\n",
    "NCCL": NCCL,
}


def one(tmp_path, text: str) -> tuple[Kind, tuple[int, ...], str]:
    [found] = conclude(read_text(tmp_path, job_log=text))
    return found.kind, found.ranks, found.summary


@pytest.mark.parametrize("line", TELLS.values(), ids=TELLS)
def test_the_highest_rank_that_printed_nothing_is_known_by_the_number_of_ranks(tmp_path, line):
    kind, ranks, summary = one(tmp_path, line.format(4) + ALL_OF_3)
    assert (kind, ranks) == (Kind.NOT_OBSERVED, (3,))
    assert "of rank 3 no log says whether it came" in summary


@pytest.mark.parametrize("line", TELLS.values(), ids=TELLS)
def test_that_none_is_missing_is_said_where_their_number_is_that_of_those_that_speak(tmp_path, line):
    kind, ranks, summary = one(tmp_path, line.format(3) + ALL_OF_3)
    assert (kind, ranks) == (Kind.NOT_COMPLETED, ())
    assert summary.endswith("no rank is missing")


@pytest.mark.parametrize("line", ["", NCCL.format(2), "world_size: 2\n", "world_size: 2\nworld_size: 3\n"])
def test_where_nothing_proves_it_one_may_be_missing(tmp_path, line):
    [found] = conclude(read_text(tmp_path, job_log=line + ALL_OF_3))
    assert (found.kind, found.ranks) == (Kind.NOT_COMPLETED, ())
    assert "no rank is missing" not in found.summary
    assert "one may be missing" in found.summary
    assert found.compare_first.startswith("how many ranks the launcher started")
    assert "that nobody but ranks 0-2 belongs to this group" in found.not_concluded


def test_processes_of_a_launcher_are_ranks(tmp_path):
    def text(pids: range) -> str:
        return ALL_OF_3 + "".join(CLOSED.format(pid) for pid in pids) + FAILED

    assert one(tmp_path, text(range(4711, 4714)))[:2] == (Kind.NOT_OBSERVED, (3,))
    # As many as those that speak: there may be more of them on another host.
    assert "one may be missing" in one(tmp_path, text(range(4711, 4713)))[2]
    # What the ranks say themselves goes before it: some may be of a start before.
    assert one(tmp_path, "world_size: 3\n" + text(range(4711, 4714)))[0] is Kind.NOT_COMPLETED


def test_a_number_that_no_job_has_is_none(tmp_path):
    """One line of a log must not make a thousand million missing ranks."""
    evidence = read_text(tmp_path, rank_0_log="world_size: 1000000000\n" + caught(0, 42))
    assert (evidence.world_size, evidence.proven) == (None, None)
    assert len(evidence.silent) < 10
