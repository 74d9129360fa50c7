"""Times without a zone: what a watchdog's line beside the dumps fixes, and what lines of one kind of clock say of each other.

The dumps' records are of 2025-10-09 08:53:21 UTC on, one a second unless said otherwise.
"""

# ruff: noqa: E501 - log lines are quoted whole

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.logs import LogFile, conclude, leads_of, of_this_run, scan_log
from hangview.logs.zones import ahead
from hangview.terms import Kind
from tests.engine.support import OPEN, lost, rank, records
from tests.logs.support import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.logs.events import LogScan
    from hangview.logs.evidence import LogEvidence
    from hangview.schema import Records

RAISED = 'Traceback (most recent call last):\n  File "/srv/data.py", line 64, in read\n    f.read()\nOSError: shard 3\n'
HOUR = 3600.0
FIRST, LAST = 1_760_000_001.0, 1_760_000_042.0


def caught(number: int, at: str, seq: int = 42, ran: int = 600) -> str:
    return (
        f"[rank{number}]:[E{at}.117699427 ProcessGroupNCCL.cpp:683] [Rank {number}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for {ran}009 milliseconds before timing out.\n"
        f"[rank{number}]:[E{at}.117699427 ProcessGroupNCCL.cpp:2241] [PG ID 0 PG GUID 0(default_pg) Rank {number}]  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {seq}, last completed work: {seq - 1}\n"
    )


def five_hours() -> Records:
    """Ranks 0 to 2 made 40 calls in 40 seconds, two more 5 hours later, and wait in the last one since 13:53:21 UTC."""
    late = 5 * HOUR
    return records(
        *(rank(r).calls("all_reduce", 1, 40).call("all_reduce", 41, at=late).call("all_reduce", 42, OPEN, at=late + 1) for r in range(3)),
        lost(3),
    )  # fmt: skip


def scans(folder: Path, **texts: str) -> list[LogScan]:
    found = []
    for number, (name, text) in enumerate(texts.items()):
        path = folder / f"{name}.log"
        path.write_text(text)
        found.append(scan_log(LogFile(1000 + number, path, path.name)))
    return found


def read(folder: Path, **texts: str) -> LogEvidence:
    return of_this_run(scans(folder, **texts), five_hours())


# -- how far clocks are ahead of UTC -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "hours"),
    [("1009 14:03:22", 0), ("1009 23:03:23", 9), ("1009 07:03:20", -7), ("1009 19:33:21", 5.5), ("1010 00:03:22", 10)],
)
def test_a_watchdog_s_line_about_a_call_of_the_dump_fixes_the_zone(tmp_path, at, hours):
    assert ahead(scans(tmp_path, rank_0=caught(0, at)), five_hours(), FIRST, LAST) == hours * HOUR


@pytest.mark.parametrize(
    "texts",
    [
        {"rank_0": caught(0, "1009 14:08:00")},  # off by minutes: no zone explains it
        {"rank_0": caught(0, "1009 14:03:22", seq=77)},  # no call of the dump
        {"rank_3": caught(3, "1009 14:03:22")},  # no dump of this rank
        {"rank_0": caught(0, "1009 14:03:22"), "rank_1": caught(1, "1009 23:03:22")},  # hosts in two zones
        {"rank_0": "2025-10-09T14:03:22Z stderr F " + caught(0, "1009 14:03:22").splitlines()[0] + "\n"},  # has a zone
        {"rank_0": "step 41\n"},
    ],
)
def test_else_it_is_not_known(tmp_path, texts):
    assert ahead(scans(tmp_path, **texts), five_hours(), FIRST, LAST) is None


# -- an exception of the past, beside dumps ------------------------------------------------------------------------------

WARNED = "2025-10-09 {} WARNING reader: shard 118 failed\n" + RAISED


def test_an_exception_before_calls_that_others_completed_with_the_rank_was_handled(tmp_path):
    """In a zone 9 hours ahead: 18:10 is 09:10 UTC; the others' call 41 of 13:53:20 UTC was completed with rank 3."""
    text = WARNED.format("18:10:00,221")
    evidence = read(tmp_path, rank_0=caught(0, "1009 23:03:23"), rank_3=text)
    assert evidence.ends == ()
    assert [end.type for end in evidence.handled] == ["OSError"]
    assert [end.type for end in read(tmp_path, rank_3=text).ends] == ["OSError"]  # nothing fixes the zone


def test_an_exception_near_the_last_call_counts(tmp_path):
    evidence = read(tmp_path, rank_0=caught(0, "1009 23:03:23"), rank_3=WARNED.format("22:53:20,100"))
    assert [end.type for end in evidence.ends] == ["OSError"]


@pytest.mark.parametrize(
    "before", ["INFO step 40", "WARNING torch: this setting will be dropped in 3.0", "validation error 0.12"]
)
def test_an_ordinary_line_before_it_tells_no_time(tmp_path, before):
    """It may be hours older than the exception."""
    text = f"2025-10-09 18:10:00,221 {before}\n" + RAISED
    evidence = read(tmp_path, rank_0=caught(0, "1009 23:03:23"), rank_3=text)
    assert [end.type for end in evidence.ends] == ["OSError"]


# -- by logs alone -------------------------------------------------------------------------------------------------------


def leads(folder: Path, text: str, *, at: str = "1009 14:03:22") -> tuple[int, ...]:
    evidence = read_text(folder, job_log=caught(0, at) + caught(1, at), rank_3_log=text)
    found = conclude(evidence)
    if not leads_of(found):
        [finding] = found
        assert finding.kind is Kind.NOT_OBSERVED
        assert any("began to wait" in line.text for line in finding.evidence)
    return leads_of(found)


def test_an_exception_hours_before_the_others_began_to_wait_is_of_the_past(tmp_path):
    assert leads(tmp_path, WARNED.format("09:10:00,221")) == ()
    assert leads(tmp_path, RAISED + "2025-10-09 09:10:01,221 WARNING trying again\n") == ()


def test_an_exception_that_nobody_caught_is_not_of_the_time_of_a_logged_one_before_it(tmp_path):
    """The log of a quiet rank: a read that was tried again in the morning, and nothing else until the end."""
    text = WARNED.format("09:10:00,221").replace(RAISED, "") + RAISED.replace(
        "  File", '  File "/srv/train.py", line 9, in <module>\n    main()\n  File', 1
    )
    assert leads(tmp_path, text) == (3,)


@pytest.mark.parametrize("clock", ["13:40:00,221", "13:53:30,000", "14:10:00,000"])
def test_an_exception_not_long_before_it_counts(tmp_path, clock):
    assert leads(tmp_path, WARNED.format(clock)) == (3,)


def test_clocks_of_two_kinds_are_not_compared(tmp_path):
    assert leads(tmp_path, WARNED.format("09:10:00,221Z")) == (3,)


def test_a_year_is_taken_from_the_line_that_has_one(tmp_path):
    text = WARNED.replace("2025-10-09 {}", "2025-12-31 23:50:00,000")
    assert leads(tmp_path, text, at="101 00:01:00") == (3,)
    assert leads(tmp_path, text, at="101 06:01:00") == ()
