"""Which log of a rank, and which line: by what the fixtures hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from hangview.loading import load
from hangview.logs.evidence import Aside, EndKind, LogEvidence, LogLine, LogRead, ProcessEnd
from hangview.tui.log.data import LogData
from hangview.tui.log.only import OnlyRank
from hangview.tui.log.target import targets
from hangview.tui.log.words import why_line
from tests.logs.support import FIXTURES
from tests.support import incidents

if TYPE_CHECKING:
    from hangview.incident import Incident


@cache
def of(name: str) -> Incident:
    return load(str(FIXTURES / name))


def first_line(incident: Incident, rank: int) -> str:
    """The whole line that matters, as it is in the file."""
    found = targets(incident, rank)[0]
    assert found.line is not None
    return (FIXTURES.parent / incident.paths[0] / found.shown).read_bytes()[found.line.offset :].split(b"\n")[0].decode()


@pytest.mark.parametrize(
    ("name", "rank", "log", "line"),
    [
        ("seed-a-missing-dump", 3, "logs/rank_3.log", "ValueError: shard_3.bin"),  # its process end
        ("logs/tee-2.9", 11, "anvil02.log", "torch.OutOfMemoryError"),
        ("logs/tee-2.9", 8, "anvil02.log", "failure detected by watchdog at work sequence id"),  # its time-out
        ("logs/dataloader-2.4", 2, "slurm-7719-2.out", "Error"),
        ("logs/oom-killer-2.3", 3, "kern.log", "Killed process"),
        ("logs/two-groups-2.7", 6, "mixed.log", "[rank6]"),
    ],
)
def test_the_line_that_matters(name, rank, log, line):
    assert targets(of(name), rank)[0].shown == log
    assert line in first_line(of(name), rank)


@pytest.mark.parametrize(
    ("name", "rank", "why"),
    [
        ("seed-a-missing-dump", 3, "what it raised"),  # a traceback: it may have been handled, and its process go on
        ("logs/tee-2.9", 11, "what it raised"),
        ("logs/oom-killer-2.3", 3, "how its process ended"),  # the kernel killed it
        ("logs/tee-2.9", 8, "where its watchdog ended the wait"),
    ],
)
def test_of_an_error_it_is_not_said_that_the_process_ended(name, rank, why):
    assert targets(of(name), rank)[0].why == why


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (EndKind.EXCEPTION, "what it raised"),
        (EndKind.DEVICE, "what it raised"),
        (EndKind.FATAL, "how its process ended"),
        (EndKind.ABORT, "how its process ended"),
        (EndKind.SIGNAL, "how its process ended"),
        (EndKind.EXIT_CODE, "how its process ended"),
        (EndKind.OOM_KILLER, "how its process ended"),
        (EndKind.HEARTBEAT, "how its process ended"),
    ],
)
def test_what_each_kind_of_end_shows(kind, why):
    line = LogLine(0, 3, "told of rank 1", 40)
    end = ProcessEnd(1, "something", before_communication=False, follower=False, line=line, kind=kind)
    logs = LogEvidence(logs=(LogRead(0, "rank_1.log", 99, 5, 0, rank=1),), ends=(end,))
    (found,) = targets(replace(incidents.four_ranks(), logs=logs), 1)
    assert (found.line, found.why) == (line, why)


def test_an_end_that_follows_from_others_is_not_what_matters():
    found = targets(of("logs/restart-2.12"), 0)
    assert found[0].shown == "logs/ft_7_r2d8y0aa/attempt_1/0/stderr.log"
    assert "launcher.log" in [each.shown for each in found[1:]]  # it sent SIGTERM to all of them
    assert found[-1].shown == "logs/ft_7_r2d8y0aa/attempt_0/0/stderr.log"  # of the attempt before


def test_a_log_of_which_nothing_was_used_is_opened_at_its_end():
    incident = of("logs/behind-2.6")
    assert incident.logs is not None
    quiet = replace(incident, logs=replace(incident.logs, groups=(), ends=(), dumps=(), places=(), lines=()))
    found = targets(quiet, 5)[0]
    assert (found.line, found.alone) == (None, True)


def test_a_rank_without_a_log_may_be_in_those_of_many_ranks():
    logs = LogEvidence(logs=(LogRead(0, "rank_1.log", 5, 1, 0, rank=1), LogRead(1, "all.log", 5, 1, 0)))
    incident = replace(incidents.four_ranks(), logs=logs)
    assert [(each.shown, each.alone) for each in targets(incident, 3)] == [("all.log", False)]
    assert [each.shown for each in targets(incident, 1)] == ["rank_1.log"]


def test_no_log_was_read():
    assert targets(incidents.four_ranks(), 3) == ()


@pytest.mark.parametrize(
    ("name", "rank", "sign"),
    [
        ("logs/two-groups-2.7", 6, b"[rank6]:"),
        ("logs/tee-2.9", 8, b"[default0]:"),  # its stack and its abort bear the launcher's label alone
        ("logs/tee-2.9", 11, b"[default3]:"),
        ("logs/srun-l-2.5", 10, b"10: "),
        ("logs/srun-l-2.5", 1, b" 1: "),
        ("logs/ray-2.6", 6, b"(RayTrainWorker pid=4417, ip=10.44.0.9)"),
    ],
)
def test_only_lines_of_one_rank(name, rank, sign):
    found = targets(of(name), rank)[0]
    with LogData(FIXTURES / name / found.shown) as data:
        lines = data.read(0, data.size).splitlines()
        only = OnlyRank(data, found)
        kept = [line for line in lines if only(line)]
    assert kept == [line for line in lines if sign in line[:60]]
    assert kept


def test_a_label_of_two_ranks_is_nobodys(tmp_path):
    """Two nodes in one file: both have a local rank 0."""
    text = b"[default0]:[rank0]: one\n[default0]:[rank8]: two\n[default0]:three\n"
    (tmp_path / "all.log").write_bytes(text)
    found = targets(of("logs/tee-2.9"), 8)[0]
    lines = [replace(found.own[0], offset=at, number=number) for number, at in ((1, 0), (2, text.index(b"\n") + 1))]
    found = replace(found, said=((0, lines[0]), (8, lines[1])), pids=())
    with LogData(tmp_path / "all.log") as data:
        only = OnlyRank(data, found)
        assert [only(line) for line in text.splitlines()] == [False, True, False]


def test_lines_of_another_run_are_told_above_the_log():
    incident = of("logs/two-groups-2.7")
    assert incident.logs is not None
    (log,) = (each for each in incident.logs.logs if each.shown == "mixed.log")
    told = "2 lines set aside, of an earlier run: the first is line 1"
    aside = Aside(log.source, log.shown, (6,), told, incident.logs.lines[0])
    with_them = replace(incident, logs=replace(incident.logs, aside=(aside,)))
    (target,) = (each for each in targets(with_them, 6) if each.shown == "mixed.log")
    assert f" · {told} · * lines that hangview used" in why_line(target).text
    assert "set aside" not in why_line(targets(incident, 6)[0]).text
