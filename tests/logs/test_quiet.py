"""Processes that are over, of which no line says why: which rank they are, and what follows."""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.engine.analyse import analyse
from hangview.logs import LogFile, conclude, leads_of, of_this_run, scan_log
from hangview.logs.evidence import EndKind
from hangview.logs.recorded import recorded
from hangview.terms import Kind, Role
from tests.engine.support import Pg, alike, lost, rank, records
from tests.logs.support import caught, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.logs.evidence import LogEvidence
    from hangview.schema import Records, Source
    from tests.engine.support import Dump

HEAD = "1009 08:54:05.000000 6177 torch/distributed/elastic/multiprocessing/api.py"
LEFT = "[rank{0}]:[W1009 08:54:05.000000000 ProcessGroupNCCL.cpp:1479] Warning: WARNING: {1} (function operator())\n"
NEWER = "destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown"
OLDER = "process group has NOT been destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group"
BIG = Pg("0", "default_pg", tuple(range(8)))


def failed(code: int, local: int) -> str:
    return (
        f"E{HEAD}:989] failed (exitcode: {code}) local_rank: {local} (pid: {6200 + local}) of binary: /opt/env/bin/python3.11\n"
    )


def closing(*locals_: int) -> str:
    return "".join(f"W{HEAD}:1015] Sending process {6200 + local} closing signal SIGTERM\n" for local in locals_)


def summary(code: int, number: int) -> str:
    """What a launcher prints when it gives up."""
    return f"""Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 317, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-10-09_08:54:05
  host      : mica-2
  rank      : {number} (local_rank: {number})
  exitcode  : {code} (pid: {6200 + number})
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""


def four() -> list[Dump | Source]:
    return [*alike((0, 1, 2), "all_reduce", 42), lost(3)]


def read(folder: Path, found: Records, **texts: str) -> LogEvidence:
    scans = []
    for number, (name, text) in enumerate(texts.items()):
        path = folder / f"{name}.log"
        path.write_text(text)
        scans.append(scan_log(LogFile(1000 + number, path, path.name)))
    return of_this_run(scans, found)


def leads(folder: Path, *dumps: Dump | Source, **texts: str) -> tuple[int, ...]:
    found = records(*dumps)
    return analyse(found, read(folder, found, **texts), ("run",)).leads


# -- which rank it is ----------------------------------------------------------------------------------------------------


def test_the_number_of_ranks_is_that_of_the_default_group_where_the_dumps_agree():
    def world(*dumps: Dump | Source) -> int | None:
        times = recorded(records(*dumps))
        assert times is not None
        return times.world

    assert world(*four()) == 4
    assert world(rank(0).calls("all_reduce", 1, 3, group=BIG)) == 8
    assert world(rank(0).calls("all_reduce", 1, 3), rank(1).calls("all_reduce", 1, 3, group=BIG)) is None
    assert world(rank(0).calls("all_reduce", 1, 3, group=Pg("7", "tp", (0, 1)))) is None


@pytest.mark.parametrize(
    ("text", "rank_"),
    [
        (failed(1, 3), 3),  # local rank 3 of a launcher, of four ranks: it has all of them
        (closing(0, 2, 3) + failed(1, 1), 1),  # four pids
        (closing(0) + failed(1, 1), None),  # two of four: there may be another node
        (failed(1, 1), None),
    ],
)
def test_a_local_rank_is_the_world_rank_where_one_launcher_has_all_ranks(tmp_path, text, rank_):
    evidence = read(tmp_path, records(*four()), launcher=text)
    own = [end for end in (*evidence.ends, *evidence.unplaced_ends) if end.kind is EndKind.EXIT_CODE]
    assert [end.rank for end in own] == [-1 if rank_ is None else rank_]


def test_folders_of_local_ranks_are_those_of_ranks_where_one_launcher_has_all(tmp_path):
    """Before torch 2.3 a traceback bears no rank."""
    raised = 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in load\n    x\nOSError: shard 3\n'

    def of(found: Records, *names: str) -> list[int]:
        scans = []
        for number, name in enumerate(names):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(raised if "/3/" in name else "")
            scans.append(scan_log(LogFile(1000 + number, path, name)))
        return [end.rank for end in of_this_run(scans, found).ends]

    one = [f"job_a1/attempt_0/{local}/stderr.log" for local in range(4)]
    assert of(records(*four()), *one) == [3]
    assert of(records(*alike(range(7), "all_reduce", 42, group=BIG), lost(7)), *one) == []
    assert of(records(*four()), *one, "job_b2/attempt_0/0/stderr.log") == []


def test_two_launchers_or_more_ranks_leave_it_open(tmp_path):
    two = read(tmp_path, records(*four()), launcher_0=failed(1, 3), launcher_1=closing(0, 1, 2, 3))
    assert [end.kind for end in two.ends] == []
    big = records(*alike(range(7), "all_reduce", 42, group=BIG), lost(7))
    assert read(tmp_path, big, launcher=failed(1, 3)).ends == ()


def test_without_dumps_a_local_rank_is_no_world_rank(tmp_path):
    assert read_text(tmp_path, launcher_log=failed(1, 3)).ends == ()


# -- what follows --------------------------------------------------------------------------------------------------------


def test_the_process_that_a_launcher_saw_fail_first_is_the_one_that_others_wait_for(tmp_path):
    """An exit code alone may be how a script ends that gave up waiting, which a kill is not."""
    for code, named in ((1, ()), (-9, (3,))):
        assert leads(tmp_path, *four(), launcher=closing(0, 1, 2) + failed(code, 3) + summary(code, 3)) == named
        assert leads(tmp_path, *four(), launcher=failed(code, 3)) == named


@pytest.mark.parametrize("code", [1, -9])
def test_a_launcher_that_gave_nothing_up_may_have_started_the_processes_again(tmp_path, code):
    """The dumps may be of the next start, in which rank 3 lives."""
    found = records(*four())
    incident = analyse(found, read(tmp_path, found, launcher=closing(0, 1, 2) + failed(code, 3)), ("run",))
    assert incident.leads == ()
    assert any("the launcher may have started it again" in line.text for line in incident.findings[0].evidence)


def test_what_the_launcher_ended_names_nobody(tmp_path):
    assert leads(tmp_path, *four(), launcher=closing(3, 1, 2) + failed(-6, 0)) == ()


@pytest.mark.parametrize("text", [NEWER, OLDER])
def test_a_program_that_came_to_its_end_while_others_wait(tmp_path, text):
    found = records(*four())
    incident = analyse(found, read(tmp_path, found, rank_3=LEFT.format(3, text)), ("run",))
    assert incident.leads == ()
    [finding] = [one for one in incident.findings if one.kind is Kind.NOT_OBSERVED]
    assert any("rank 3, by its log: left its program without destroy_process_group()" in line.text for line in finding.evidence)


def test_a_program_that_ends_after_its_own_time_out_or_exception_is_not_said_to_have_left(tmp_path):
    evidence = read_text(tmp_path, job_log=caught(3, 42) + LEFT.format(3, NEWER))
    assert evidence.left == ()
    raised = 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in load\n    x\nKeyboardInterrupt\n'
    assert read_text(tmp_path, rank_3_log=raised + LEFT.format(3, NEWER)).left == ()


def test_a_program_that_was_started_again_in_the_same_log_has_not_left(tmp_path):
    text = LEFT.format(3, NEWER) + "start of training\nstep 1\n"
    assert read_text(tmp_path, rank_3_log=text).left == ()


def test_a_healthy_job_whose_programs_all_end_so_names_nobody(tmp_path):
    text = "".join(LEFT.format(n, NEWER) for n in range(4))
    evidence = read_text(tmp_path, job_log=text)
    assert [end.rank for end in evidence.left] == [0, 1, 2, 3]
    assert conclude(evidence) == ()
    assert conclude(read_text(tmp_path, job_log=LEFT.format(0, NEWER))) == ()
    assert leads(tmp_path, *four(), job=text) == ()


def test_by_logs_alone_it_is_a_line(tmp_path):
    found = conclude(read_text(tmp_path, job_log="".join(caught(n, 42) for n in range(3)) + LEFT.format(3, NEWER)))
    assert leads_of(found) == ()
    assert any("rank 3 left its program" in line.text for line in found[0].evidence)


# -- srun, which prints no time ------------------------------------------------------------------------------------------

WAITED = "".join(caught(n, 42) for n in range(2))
STEPS = "".join(f"{n}: [rank{n}]: step 41\n" for n in range(4))


def srun(tasks: str, what: str) -> str:
    return f"srun: error: gpu-b: tasks {tasks}: {what}\n"


def test_whom_srun_ended_below_the_time_outs_had_lived_until_then(tmp_path):
    killed = srun("2-3", "Killed")
    assert leads_of(conclude(read_text(tmp_path, slurm_out=STEPS + WAITED + srun("0-1", "Aborted") + killed))) == ()
    assert leads_of(conclude(read_text(tmp_path, slurm_out=STEPS + killed + WAITED))) == (2, 3)
    # Of another file the order is not known.
    assert leads_of(conclude(read_text(tmp_path, slurm_out=STEPS + killed, job_log=WAITED))) == (2, 3)


def test_an_exit_code_is_named_only_where_nobody_else_may_be_waited_for(tmp_path):
    left = srun("3", "Exited with exit code 1")
    assert leads_of(conclude(read_text(tmp_path, slurm_out=STEPS + WAITED + left))) == ()
    assert leads_of(conclude(read_text(tmp_path, slurm_out=STEPS + WAITED + caught(2, 42) + left))) == (3,)


# -- whose process a launcher ended ------------------------------------------------------------------------------------------


def node(first: int, time: str, code: int, failed_pid: int, *, task: str = "") -> str:
    """What one launcher of a node with three processes prints, whose pids are those of every node."""
    pids = [pid for pid in (51, 52, 53) if pid != failed_pid]
    local = failed_pid - 51
    lines = [f"W{HEAD}:1015] Sending process {pid} closing signal SIGTERM" for pid in pids]
    lines += [f"E{HEAD}:989] failed (exitcode: {code}) local_rank: {local} (pid: {failed_pid}) of binary: python"]
    lines += [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "=" * 60, "train.py FAILED", "-" * 60, "Failures:",
        "  <NO_OTHER_FAILURES>", "-" * 60, "Root Cause (first observed failure):", "[0]:", f"  time      : 2026-10-09_{time}",
        f"  host      : n{first}", f"  rank      : {first + local} (local_rank: {local})", f"  exitcode  : {code} (pid: {failed_pid})",
        "  error_file: <N/A>", "=" * 60,
    ]  # fmt: skip
    return "".join(f"{task}{line}\n" for line in lines)


def test_a_pid_that_a_launcher_ended_is_of_its_own_node(tmp_path):
    first, later = node(3, "08:44:05", 1, 52), node(0, "08:54:05", -6, 51)
    assert leads_of(conclude(read_text(tmp_path, n0_log=later, n1_log=first))) == (4,)
    one = node(3, "08:44:05", 1, 52, task="1: ") + node(0, "08:54:05", -6, 51, task="0: ")
    assert leads_of(conclude(read_text(tmp_path, slurm_out=one))) == (4,)


def test_a_copy_of_a_launcher_s_log_tells_the_same(tmp_path):
    both = node(0, "08:54:05", 1, 52) + f"W{HEAD}:1015] Sending process 52 closing signal SIGTERM\n"
    assert leads_of(conclude(read_text(tmp_path, a_log=both, b_log=both))) == ()


# -- an exit code, and nobody is seen in a call -------------------------------------------------------------------------------

RESET = (
    'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    step()\n'
    "RuntimeError: [gloo/transport/tcp/pair.cc:537] Read error [10.0.0.1]:7: Connection reset by peer\n"
)


def test_an_exit_code_alone_names_nobody_where_another_one_may_have_left(tmp_path):
    console = node(0, "08:54:05", 1, 52)
    assert leads_of(conclude(read_text(tmp_path, console_log=console))) == (1,)  # all that there is
    logs = {f"rank_{rank}_log": "step 1\n" for rank in range(3)}
    assert leads_of(conclude(read_text(tmp_path, console_log=console, **logs))) == (1,)  # it ended the others
    [note] = conclude(read_text(tmp_path, console_log=console, **logs, rank_3_log="step 1\ndone\n"))
    assert (note.role, note.ranks) == (Role.NOTE, (1,))  # of rank 3 nothing tells how it ended
    logs["rank_2_log"] = RESET
    assert leads_of(conclude(read_text(tmp_path, console_log=console, **logs))) == ()  # rank 1 may have met the same
