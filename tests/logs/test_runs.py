"""Lines of another run than the dumps': what the times in the files show, and what they leave open.

The dumps' records are of 2025-10-09 08:53:21 to 08:54:02 UTC, one a second.
"""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hangview
from hangview.logs import LogFile, of_this_run, scan_log
from hangview.logs.recorded import recorded
from hangview.report.coverage import source_lines
from hangview.schema import ReadOptions, SourceStatus
from tests.engine.support import FAILED, OPEN, T0, Pg, alike, lost, rank, records

if TYPE_CHECKING:
    from hangview.logs.evidence import LogEvidence
    from hangview.schema import Source
    from tests.engine.support import Dump

FIXTURES = Path(__file__).parents[2] / "fixtures"
RAISED = 'Traceback (most recent call last):\n  File "/srv/data.py", line 64, in read\n    f.read()\nOSError: shard 3\n'
LATER = RAISED.replace("shard 3", "shard 4")


def waiting() -> list[Dump]:
    """Ranks 0 to 2 wait in call 42, 41 calls were completed with rank 3, which left no dump."""
    return alike((0, 1, 2), "all_reduce", 42)


def said(folder: Path, text: str, *dumps: Dump | Source, name: str = "rank_3.log") -> LogEvidence:
    path = folder / name
    path.write_text(text)
    found = records(*(dumps or waiting()), lost(3))
    return of_this_run([scan_log(LogFile(1000, path, name))], found)


def signalled(head: str, enqueued: int, completed: int) -> str:
    return (
        f"[rank3]:[E{head}.117699427 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank 3] Received a dump signal due "
        f"to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL work: {enqueued}, "
        f"last completed NCCL work: {completed}.This is most likely\n"
    )


# -- of another run ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("head", "later"), [("815 09:12:11", False), ("1007 06:50:00", False), ("1211 10:00:00", True)])
def test_whether_what_is_set_aside_came_later_is_known(tmp_path, head, later):
    (aside,) = said(tmp_path, signalled(head, 41, 41)).aside
    assert aside.later is later


@pytest.mark.parametrize("head", ["815 09:12:11", "1007 06:50:00", "1211 10:00:00"])
def test_counters_of_another_day_are_set_aside(tmp_path, head):
    """Eight weeks before, two days before, and two months after: no zone explains that, and nobody waits for so long."""
    evidence = said(tmp_path, signalled(head, 41, 41))
    assert evidence.groups == ()
    [aside] = evidence.aside
    assert (aside.ranks, aside.line) == ((3,), None)
    assert "the dumps' records of 2025-10-09 08:53:21 to 08:54:02 UTC" in aside.text


@pytest.mark.parametrize("head", ["1009 09:04:02", "1009 23:00:00", "1008 18:00:00", "1010 10:00:00"])
def test_counters_of_the_same_day_in_any_zone_count(tmp_path, head):
    evidence = said(tmp_path, signalled(head, 41, 41))
    assert [(row.rank, row.enqueued) for row in evidence.groups] == [(3, 41)]
    assert evidence.aside == ()


def test_a_line_without_a_time_counts(tmp_path):
    evidence = said(tmp_path, signalled("1009 09:04:02", 41, 41).replace("E1009 09:04:02.117699427 ", "E "))
    assert [row.enqueued for row in evidence.groups] == [41]
    assert (evidence.aside, evidence.groups[0].line.printed.known) == ((), False)
    assert [end.type for end in said(tmp_path, RAISED).ends] == ["OSError"]


def test_an_exception_is_of_the_time_of_the_line_before_it(tmp_path):
    evidence = said(tmp_path, "2025-08-15 09:12:11,120 INFO step 17\n" + RAISED)
    assert (evidence.ends, evidence.ranks) == ((), ())
    [aside] = evidence.aside
    assert aside.text == (
        "of another run than the dumps: its lines are of 2025-08-15 09:12:11, the dumps' records of 2025-10-09 08:53:21 to 08:54:02 UTC"
    )


def test_a_quiet_log_of_a_long_run_counts(tmp_path):
    """Rank 3 printed at its start, and the ring buffers hold the newest of a million records: by their pace the run is two weeks
    old. What came after the start may have come at the end."""
    dumps = [dump.wrapped(1_000_000) for dump in waiting()]
    evidence = said(tmp_path, "2025-09-28 09:12:11,120 INFO start\n" + RAISED, *dumps)
    assert ([end.type for end in evidence.ends], evidence.aside) == (["OSError"], ())
    assert str(evidence.ends[0].line.printed) == "after 2025-09-28 09:12:11"


def test_a_line_of_long_before_the_records_tells_nothing_of_now_even_in_a_long_run(tmp_path):
    dumps = [dump.wrapped(1_000_000) for dump in waiting()]
    text = "2025-10-09 08:54:03 INFO step 41\n" + signalled("928 09:12:11", 41, 41)
    evidence = said(tmp_path, text, *dumps)
    assert evidence.groups == ()
    [aside] = evidence.aside
    assert aside.text.startswith("1 line set aside, from long before the dumps' records: line 2 was printed 09-28 09:12:11,")


def test_what_a_long_run_said_of_itself_at_its_beginning_is_kept(tmp_path):
    dumps = [dump.wrapped(1_000_000) for dump in waiting()]
    text = "2025-09-28 09:12:11 INFO NCCL version 2.27.3+cuda12.8\n2025-10-09 08:54:03 INFO step 41\n"
    assert [fact.value for fact in said(tmp_path, text, *dumps).facts if fact.name == "nccl"] == ["2.27.3"]
    assert said(tmp_path, text).facts == ()  # of this run all records are there: it was of another one


def test_of_a_log_that_two_runs_wrote_to_the_one_of_the_dumps_counts(tmp_path):
    old = "2025-08-15 09:12:11,120 INFO step 17\n" + RAISED + signalled("815 09:12:11", 17, 17)
    new = "2025-10-09 08:53:20,120 INFO step 0\n" + LATER + signalled("1009 09:04:02", 41, 41)
    evidence = said(tmp_path, old + new)
    assert [end.what for end in evidence.ends] == ["OSError: shard 4"]
    assert [row.enqueued for row in evidence.groups] == [41]
    [aside] = evidence.aside
    assert aside.line is not None
    assert (aside.ranks, aside.line.number) == ((3,), 5)


def test_whom_lines_of_another_run_name_is_no_rank_of_this_one(tmp_path):
    other = "".join(signalled("815 09:12:11", 17, 17).replace("rank3]", f"rank{rank}]") for rank in (1, 5, 6))
    evidence = said(
        tmp_path, "2025-08-15 09:12:11,120 INFO step 17\n" + other + signalled("1009 09:04:02", 41, 41), name="driver.log"
    )
    assert evidence.ranks == (3,)
    assert [aside.ranks for aside in evidence.aside] == [(1, 5, 6)]
    assert evidence.silent == (0, 1, 2)


def test_what_two_runs_say_in_the_same_words_counts_for_the_last_one(tmp_path):
    lines = "2025-{0} INFO step 0\n" + RAISED
    evidence = said(tmp_path, lines.format("08-15 09:12:11") + lines.format("10-09 08:54:01"))
    assert [(end.what, end.line.number) for end in evidence.ends] == [("OSError: shard 3", 10)]
    same = "".join(signalled(head, 41, 41) for head in ("815 09:12:11", "1009 09:04:02"))
    assert [row.line.number for row in said(tmp_path, same).groups] == [2]


def test_dumps_without_times_tell_nothing_of_another_run(tmp_path):
    evidence = said(tmp_path, signalled("815 09:12:11", 41, 41), lost(0))
    assert ([row.enqueued for row in evidence.groups], evidence.aside, evidence.recorded) == ([41], (), None)


# -- the rank went on ----------------------------------------------------------------------------------------------------


def test_counters_that_others_calls_go_beyond_are_not_the_last_ones(tmp_path):
    """No clock is needed: 41 calls that need every member were completed with rank 3."""
    evidence = said(tmp_path, signalled("1009 08:53:40", 17, 17))
    assert evidence.groups == ()
    assert [(row.rank, row.enqueued, row.outrun) for row in evidence.outrun] == [(3, 17, 41)]


def test_calls_that_are_completed_without_the_rank_prove_nothing(tmp_path):
    """A root is done with a broadcast before others have asked for it; an abort completes what failed; nothing moves nothing."""
    roots = [rank(0).calls("all_reduce", 1, 17).calls("broadcast", 18, 41).call("all_reduce", 42, OPEN)]
    torn = [rank(0).calls("all_reduce", 1, 17).calls("all_reduce", 18, 41, took=601.0)]
    failed = [rank(0).calls("all_reduce", 1, 17).calls("all_reduce", 18, 41, FAILED)]
    empty = [rank(0).calls("all_reduce", 1, 17).calls("all_reduce", 18, 41, size=0)]
    elsewhere = [rank(0).calls("all_reduce", 1, 41, group=Pg("0", "default_pg", (0, 1, 2)))]
    for dumps in (roots, torn, failed, empty, elsewhere):
        assert [row.enqueued for row in said(tmp_path, signalled("1009 08:53:40", 17, 17), *dumps).groups] == [17]


def test_an_exception_before_calls_that_its_own_dump_holds_was_handled(tmp_path):
    """The log says UTC, and is by the clock of the host that wrote the dump."""
    dumps = [*waiting(), rank(3).calls("all_reduce", 1, 41)]
    evidence = said(tmp_path, "2025-10-09T08:53:30Z INFO x\n" + RAISED + "2025-10-09T08:53:31Z WARNING trying again\n", *dumps)
    assert evidence.ends == ()
    assert [end.lived for end in evidence.handled] == ["it requested calls until 2025-10-09 08:54:01 UTC, after that"]


@pytest.mark.parametrize(
    "text",
    [
        "2025-10-09T08:53:30Z INFO x\n" + RAISED,  # after 08:53:30, and who knows when
        "2025-10-09 08:53:30 INFO x\n" + RAISED + "2025-10-09 08:53:31 WARNING trying again\n",  # of some zone
        "2025-10-09T08:53:58Z INFO x\n" + RAISED + "2025-10-09T08:53:59Z WARNING going down\n",  # at the last call
    ],
)
def test_an_exception_that_may_have_come_after_the_last_call_counts(tmp_path, text):
    dumps = [*waiting(), rank(3).calls("all_reduce", 1, 41)]
    assert [end.type for end in said(tmp_path, text, *dumps).ends] == ["OSError"]


def test_calls_of_others_prove_it_where_clocks_that_differ_cannot_explain_it(tmp_path):
    dumps = [rank(0).calls("all_reduce", 1, 40).call("all_reduce", 41, at=3600.0).call("all_reduce", 42, OPEN, at=3601.0)]
    text = "2025-10-09T{0}:30Z INFO x\n" + RAISED + "2025-10-09T{0}:31Z WARNING trying again\n"
    assert said(tmp_path, text.format("09:38"), *dumps).ends == ()
    assert [end.type for end in said(tmp_path, text.format("09:48"), *dumps).ends] == ["OSError"]


def test_the_next_line_of_a_log_of_many_ranks_is_of_another_process(tmp_path):
    """Logs put one behind the other: the line after rank 3's last one is rank 4's first."""
    dumps = [*waiting(), rank(3).calls("all_reduce", 1, 41)]
    text = "".join(f"[rank3]: {line}\n" for line in RAISED.splitlines())
    text += "2025-10-09T08:53:31Z [rank4]: hello\n"
    assert [end.rank for end in said(tmp_path, text, *dumps, name="all.log").ends] == [3]


# -- what the dumps say of time ------------------------------------------------------------------------------------------


def test_when_a_run_began():
    whole = recorded(records(*waiting()))
    assert whole is not None
    assert (whole.first, whole.began, whole.last) == (T0 / 1e9 + 1, T0 / 1e9 + 1, T0 / 1e9 + 42)
    # A second for a record, 1,000 of them gone; twenty times as long allowed for.
    wrapped = recorded(records(rank(0).wrapped(1000).calls("all_reduce", 1, 42)))
    assert wrapped is not None
    assert wrapped.began == pytest.approx(T0 / 1e9 + 1 - 20_000)
    active = recorded(records(rank(0).wrapped(1000).only_active().calls("all_reduce", 42, 43, OPEN)))
    assert active is not None
    assert active.began is None
    assert recorded(records(lost(0))) is None


def test_times_that_are_no_dates_are_held_against_nothing():
    """Counted from when the host was started, or damaged."""
    since_start = rank(0).clock(-1_759_900_000.0).calls("all_reduce", 1, 2)
    assert recorded(records(since_start)) is None


def test_how_long_a_wait_can_last():
    waits = [recorded(records(rank(0).calls("all_reduce", 1, 2, timeout_ms=ms))) for ms in (600_000, None)]
    assert [one.patience for one in waits if one] == [600.0, 86_400.0]


# -- from files ----------------------------------------------------------------------------------------------------------


def job(folder: Path, day: str) -> hangview.Incident:
    """Rank 3 raised before call 42 and left no dump; its log with another day."""
    shutil.copytree(FIXTURES / "seed-a-missing-dump", folder, dirs_exist_ok=True)
    log = folder / "logs" / "rank_3.log"
    log.write_text(log.read_text().replace("2026-11-29T", f"{day}T"))
    return hangview.load(str(folder), options=ReadOptions(cache=False))


def test_a_log_of_the_run_names_its_rank_with_both_times(tmp_path):
    incident = job(tmp_path, "2026-11-29")
    assert incident.leads == (3,)
    told = [line.text for finding in incident.findings for line in finding.evidence]
    assert any("printed after 2026-11-29 16:31:28Z, the dumps' records are of 2026-11-29 16:31:" in text for text in told)


@pytest.mark.parametrize("day", ["2026-11-20", "2025-11-29", "2026-12-24"])
def test_a_log_of_another_run_names_nobody_and_is_said_to_be_one(tmp_path, day):
    incident = job(tmp_path, day)
    assert incident.leads == ()
    [source] = [source for source in incident.records.sources if source.path == "logs/rank_3.log"]
    assert (source.status, source.rank) == (SourceStatus.OTHER_ATTEMPT, 3)
    assert any(f"its lines are of {day} 16:31:27Z" in line for line in source_lines(incident))
    told = [line.text for finding in incident.findings for line in finding.evidence]
    assert any(text.startswith("rank 3: logs/rank_3.log is ") and day in text for text in told)
    assert not any("ValueError" in text for text in told)
