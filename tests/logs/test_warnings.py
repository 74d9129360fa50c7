"""Lines that are quoted in the worksheet and from which nothing is concluded: NCCL's warnings, PyTorch's own desync report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.logs import conclude
from hangview.logs.prefilter import WHOLE
from tests.logs.support import read_text

if TYPE_CHECKING:
    from pathlib import Path

CLOSED = "socketProgress: Connection closed by remote peer node-7<41234>"
WARNED = f"node-1:904:1206 [2] misc/socket.cc:49 NCCL WARN {CLOSED}\n"
DATED = f"[2026-11-29 14:02:40] node-1:904:1206 [2] misc/socket.cc:49 NCCL WARN {CLOSED}\n"
DESYNC = """\
\t - [2] Timeout at collective: ALLREDUCE, #43
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   - [0, 1] joined but didn't finish collective #43 (count from 1)
\t     [3] finished collective #42, but didn't join collective #43 (count from 1)
"""


def facts(folder: Path, name: str, text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(fact.value, fact.ranks) for fact in read_text(folder, rank_2_log=text).facts if fact.name == name]


def test_nccl_warnings_are_kept_with_the_rank_of_their_log(tmp_path):
    assert facts(tmp_path, "nccl_warning", WARNED + "step 12\n" + DATED) == [(CLOSED, (2,))]


def test_a_warning_in_the_middle_of_a_big_log_is_found(tmp_path):
    noise = "node-1:904:1206 [2] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM\n" * (2 * WHOLE // 70)
    assert facts(tmp_path, "nccl_warning", noise + WARNED + noise) == [(CLOSED, (2,))]


def test_the_desync_report_is_quoted_and_names_nobody(tmp_path):
    told = [value for value, _ in facts(tmp_path, "desync_report", DESYNC)]
    assert sorted(told) == [
        "To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:",
        "[0, 1] joined but didn't finish collective #43 (count from 1)",
        "[3] finished collective #42, but didn't join collective #43 (count from 1)",
    ]
    assert conclude(read_text(tmp_path, rank_2_log=DESYNC)) == ()
