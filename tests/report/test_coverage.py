"""What belongs to the first lines of an answer: that it is about some of the files only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hangview
from hangview.report.coverage import mixed_lines, newer_unread, source_lines
from tests.dumps.job import HOUR, START, plain, write
from tests.logs.test_starts import hang

if TYPE_CHECKING:
    from pathlib import Path


def attempts(folder: Path, *numbers: int) -> None:
    for number in numbers:
        for rank in range(2):
            write(folder / f"attempt_{number}/rank_{rank}", plain(2, at=START + number * HOUR))


def empty(folder: Path, number: int) -> None:
    """An attempt with one file and nothing in it."""
    path = folder / f"attempt_{number}/rank_0"
    path.parent.mkdir()
    path.write_bytes(b"")


def test_a_newer_attempt_of_which_nothing_could_be_read_is_said_first(tmp_path):
    attempts(tmp_path, 0)
    empty(tmp_path, 1)
    incident = hangview.load(str(tmp_path))
    assert [source.attempt for source in newer_unread(incident)] == [1]
    assert mixed_lines(incident)[0] == (
        "attempt 1 could not be read (attempt_1/rank_0: empty file (0 bytes)): attempt 0 is shown, an older one"
    )


def test_an_older_one_is_not_and_neither_is_one_that_was_read_in_part(tmp_path):
    attempts(tmp_path, 1, 2)
    empty(tmp_path, 0)
    (tmp_path / "attempt_2/rank_7").write_bytes(b"")
    incident = hangview.load(str(tmp_path))
    assert newer_unread(incident) == ()
    assert mixed_lines(incident)[0].startswith("files of 2 attempts or jobs: attempt 2 alone is shown")


def test_logs_that_hold_more_than_one_run_are_said_to(tmp_path):
    old, new = hang("01:17:21", 42, 3), hang("05:20:01", 120, 2)
    for rank, text in new.items():
        (tmp_path / f"rank_{rank}.log").write_text(text)
    assert not any("another run" in line for line in source_lines(hangview.load(str(tmp_path))))
    (tmp_path / "rank_0.log").write_text(old[0] + new[0])
    said = "rank_0.log holds lines of another run, which were set aside: hangview check says which"
    assert said in source_lines(hangview.load(str(tmp_path)))
    (tmp_path / "rank_3.log").write_text(old[3] + new[3])
    said = "2 logs (rank_0.log, …) hold lines of another run, which were set aside: hangview check says which"
    assert said in source_lines(hangview.load(str(tmp_path)))
