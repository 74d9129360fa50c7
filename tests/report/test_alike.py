"""Lines that differ in the rank alone are told once."""

from __future__ import annotations

from hangview.report.alike import told_once
from hangview.terms import Evidence

KILLED = "signal 9 (SIGKILL), which only follows: srun: error: node7: tasks 4-7: Killed (slurm.out, line 23)"


def told(*lines: Evidence) -> list[str]:
    return [line.text for line in told_once(lines)]


def test_what_a_launcher_says_of_all_tasks_of_a_node_is_one_line():
    lines = [Evidence(f"rank {rank}: {KILLED}", 0) for rank in (4, 5, 6, 7)]
    assert told(*lines) == [f"ranks 4-7: {KILLED}"]


def test_they_stand_where_the_first_of_them_stood():
    lines = [Evidence(text, 0) for text in ("rank 1, by its log: left", "ranks 0-3 wait", "rank 2, by its log: left")]
    assert told(*lines) == ["ranks 1-2, by their logs: left", "ranks 0-3 wait"]


def test_other_files_and_other_records_stay_apart():
    assert told(Evidence("rank 0: requested", 0, 7), Evidence("rank 1: requested", 1, 7)) == [
        "rank 0: requested",
        "rank 1: requested",
    ]
    assert told(Evidence("rank 0: requested (a)", 0), Evidence("rank 1: requested (b)", 0)) == [
        "rank 0: requested (a)",
        "rank 1: requested (b)",
    ]
