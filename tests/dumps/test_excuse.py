"""A rank's file may say why there is no dump; that is shown where the dump is missed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hangview import load
from hangview.dumps.excuse import MOST, excuse

MISSING = Path(__file__).parents[2] / "fixtures" / "missing-file"
WHY = "flight recorder is off: TORCH_FR_BUFFER_SIZE is 0"


@pytest.mark.parametrize(
    "data",
    [
        f"{WHY}\n",
        "\ufeff  flight recorder is off:\n\tTORCH_FR_BUFFER_SIZE is 0\r\n",
        json.dumps(WHY),
        json.dumps({"ok": False, "reason": WHY}),
        json.dumps({"error": WHY, "rank": 2}, indent=2),
    ],
)
def test_the_reason_is_read(data):
    assert excuse(data.encode()) == WHY


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02}q\x00.",
        b"\xff\xfe\x00r\x00a",
        json.dumps({"ok": False}).encode(),
        json.dumps({"reason": 7}).encode(),
        b'{"reason": "cut',
        b"[" * 3000,
        b"a" * (MOST + 1),
        b"",
    ],
)
def test_what_gives_no_reason_gives_none(data):
    assert excuse(data) == ""


def test_it_stays_one_short_line_that_a_terminal_may_print():
    told = excuse(("no dump \x1b[31mred\n" * 100).encode())
    assert len(told) <= 160
    assert "\x1b" not in told
    assert "\n" not in told


def test_it_is_told_where_the_dump_is_missed(tmp_path):
    job = tmp_path / "job"
    shutil.copytree(MISSING, job)
    (job / "nccl_trace_rank_2").write_text(json.dumps({"ok": False, "reason": WHY}))
    incident = load(job)
    assert incident.coverage.missing[2].endswith(f': "{WHY}"')
    assert incident.leads == ()
