"""Two jobs in one folder: a healthy one that goes on must not hide the one that hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import hangview
from hangview.report.coverage import left_standing, mixed_lines
from hangview.schema import ReadOptions
from hangview.terms import Verdict
from tests.dumps.job import SECOND, START, calls, config, dump, write

if TYPE_CHECKING:
    from pathlib import Path

TRAINER, SERVER = 4, 2


def two_jobs(folder: Path, *, later: int = 10 * SECOND, trainer_hangs: bool = True, server_hangs: bool = False) -> None:
    """A trainer of four ranks, of which rank 3 stops before 20, and a server of two that made its last records ``later``."""
    for rank in range(TRAINER):
        stopped = trainer_hangs and rank == 3
        made = calls(19 if stopped else 20, open_last=trainer_hangs and not stopped)
        write(folder / f"trainer_rank_{rank}", dump(made, config(default_pg=range(TRAINER))))
    for rank in range(SERVER):
        stopped = server_hangs and rank == 1
        made = calls(19 if stopped else 20, at=START + later, open_last=server_hangs and not stopped)
        write(folder / f"server_rank_{rank}", dump(made, config(default_pg=range(SERVER))))


@pytest.mark.parametrize("later", [-5 * SECOND, 10 * SECOND])
def test_the_job_that_hangs_is_shown(tmp_path, later):
    two_jobs(tmp_path, later=later)
    incident = hangview.load(str(tmp_path))
    assert incident.leads == (3,)
    assert [(attempt.ranks, attempt.current) for attempt in sorted(incident.records.attempts, key=lambda a: a.ranks)] == [
        ((0, 1), False),
        ((0, 1, 2, 3), True),
    ]


def test_a_difference_that_stopped_nobody_does_not_hide_it_either(tmp_path):
    """In the healthy job rank 1 once asked for another dtype, and went on."""
    two_jobs(tmp_path)
    made = calls(20, at=START + 10 * SECOND)
    made[5] |= {"input_dtypes": ["BFloat16"], "output_dtypes": ["BFloat16"]}
    write(tmp_path / "server_rank_1", dump(made, config(default_pg=range(SERVER))))
    assert hangview.load(str(tmp_path)).leads == (3,)
    for each in tmp_path.glob("trainer_*"):
        each.unlink()
    incident = hangview.load(str(tmp_path))
    assert (incident.verdict, incident.leads) == (Verdict.DIVERGENCE, ())


def test_where_the_newer_one_hangs_it_stays(tmp_path):
    two_jobs(tmp_path, trainer_hangs=False, server_hangs=True)
    assert hangview.load(str(tmp_path)).leads == (1,)


def test_of_two_healthy_jobs_the_newer_one_is_shown(tmp_path):
    two_jobs(tmp_path, trainer_hangs=False)
    incident = hangview.load(str(tmp_path))
    assert incident.verdict is Verdict.NO_HANG
    assert incident.coverage.read == (0, 1)


def test_a_hang_of_the_start_before_is_no_news(tmp_path):
    """The same job, started again with half of its ranks after it hung, and healthy since."""
    two_jobs(tmp_path, later=60 * SECOND)
    assert hangview.load(str(tmp_path)).verdict is Verdict.NO_HANG


def test_who_asks_for_an_attempt_gets_it(tmp_path):
    two_jobs(tmp_path)
    numbers = {attempt.ranks: attempt.attempt for attempt in hangview.load(str(tmp_path)).records.attempts}
    assert hangview.load(str(tmp_path), options=ReadOptions(attempt=numbers[0, 1])).verdict is Verdict.NO_HANG


@pytest.mark.parametrize("hangs", [True, False])
def test_of_an_attempt_before_a_healthy_one_it_is_said_whether_it_hangs(tmp_path, hangs):
    """A run that hung and its successor two hours later, in folders of one parent: the newer one is shown."""
    for name, at, stops in (("run-1", START, hangs), ("run-2", START + 7200 * SECOND, False)):
        for rank in range(TRAINER):
            stopped = stops and rank == 3
            made = calls(19 if stopped else 20, at=at, open_last=stops and not stopped)
            write(tmp_path / name / f"trace_rank_{rank}", dump(made, config(default_pg=range(TRAINER))))
    incident = hangview.load(str(tmp_path))
    assert incident.verdict is Verdict.NO_HANG
    assert [attempt.stands for attempt in sorted(incident.records.attempts, key=lambda a: a.attempt)] == [hangs, False]
    said = "attempt 1, left out, shows a hang: --attempt 1"
    assert left_standing(incident) == (said if hangs else "")
    assert any(said in line for line in mixed_lines(incident)) is hangs
    assert hangview.load(str(tmp_path), options=ReadOptions(attempt=1)).leads == ((3,) if hangs else ())


def test_beside_an_attempt_that_hangs_nothing_is_said_of_one_before_it(tmp_path):
    for name, at in (("run-1", START), ("run-2", START + 7200 * SECOND)):
        for rank in range(TRAINER):
            made = calls(19 if rank == 3 else 20, at=at, open_last=rank != 3)
            write(tmp_path / name / f"trace_rank_{rank}", dump(made, config(default_pg=range(TRAINER))))
    incident = hangview.load(str(tmp_path))
    assert incident.leads == (3,)
    assert left_standing(incident) == ""
