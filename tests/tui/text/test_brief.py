"""A finding in few words."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import hangview
from hangview.schema import ReadOptions
from hangview.terms import Kind
from hangview.tui.text.banner import banner
from hangview.tui.text.brief import brief, briefs
from hangview.tui.text.call import call_lines
from tests.support import incidents

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.mark.parametrize(
    ("fixture", "text"),
    [
        ("nccl-dtype", "dtype: rank 13 Half, ranks 9,11,15 Float, reduce_scatter 9 of DATA_PARALLEL_GROUP[9,11,13,15]"),
        ("nccl-op", "operation: rank 2 all_reduce, ranks 0,4,6 _reduce_scatter_base, call 9 of DATA_PARALLEL_GROUP[0,2,4,6]"),
        ("size-tie", "size, no side is the majority: ranks 0-1 512, ranks 2-3 1,024, all_reduce 3 of default_pg"),
    ],
)
def test_what_differs_comes_first(fixture, text):
    incident = hangview.load(str(FIXTURES / fixture), options=ReadOptions(cache=False))
    assert brief(incident, incident.findings[0]) == text


def test_other_findings_are_told_by_their_summary():
    incident = incidents.four_ranks()
    assert brief(incident, incident.findings[0]) == incident.findings[0].summary


def test_where_the_sides_say_the_same_the_summary_tells(monkeypatch):
    """A request may differ in something that a side's text leaves out."""
    incident = incidents.different_dtype()
    alike = incident.view.call(0, "collective", 17)
    alike = replace(alike, sides=tuple(replace(side, text="1,024 × Float") for side in alike.sides))
    monkeypatch.setattr(type(incident.view), "call", lambda *_: alike)
    assert brief(incident, incident.findings[0]) == incident.findings[0].summary


def lines_at(incident, finding):
    call = incident.view.call(finding.group, finding.lane, finding.seq)
    return "\n".join(each.text for each in call_lines(incident, call, finding.ranks[0], finding))


def test_the_pane_has_a_majority_only_where_the_finding_has_one(tmp_path):
    """Three members asked for Float and one for Half. Without the dump of one of the three no side is the majority: what that
    member asked for may be Half too."""
    dumps = FIXTURES / "nccl-dtype"
    whole = hangview.load(str(dumps), options=ReadOptions(cache=False))
    assert whole.findings[0].ranks == (13,)
    assert "majority  3 of 4" in lines_at(whole, whole.findings[0])
    shutil.copytree(dumps, tmp_path / "run")
    (tmp_path / "run" / "nccl_trace_rank_15").unlink()
    incident = hangview.load(str(tmp_path / "run"), options=ReadOptions(cache=False))
    finding = next(each for each in incident.findings if each.kind is Kind.DIFFERENT_DTYPE)
    told = lines_at(incident, finding)
    assert "side A" in told
    assert "no side is the majority" in told
    assert "minority" not in told
    assert brief(incident, finding).startswith("dtype, no side is the majority: ")


def test_sides_keep_their_commas_where_what_comes_out_is_left_out():
    incident = hangview.load(str(FIXTURES / "nccl-tie"), options=ReadOptions(cache=False))
    texts = list(briefs(incident, incident.findings[0]))
    fewest = next(text for text in texts if "→" not in text)
    assert "rank 5 in 402,653,192, rank 7 in 402,653,184, " in fewest


def test_a_send_and_its_receive_are_no_two_majorities():
    incident = hangview.load(str(FIXTURES / "p2p-unpaired"), options=ReadOptions(cache=False))
    for lane in incident.lanes:
        if lane.lane.startswith("p2p"):
            call = incident.view.call(lane.group, lane.lane, 1)
            assert len(call.sides) == 2
            text = "\n".join(each.text for each in call_lines(incident, call, 0))
            assert "majority" not in text
            assert "send" in text
            assert "recv" in text


@pytest.mark.parametrize("number", range(4))
def test_the_banner_always_tells_where_n_has_come_to(number):
    incident = incidents.eight_in_five_groups()
    finding = incident.findings[number]
    last = banner(incident, finding, ("run",), "")[-1].text
    assert last.startswith(f"finding {number + 1} of {len(incident.findings)}")
    assert number == 0 or finding.summary in last
    low = banner(incident, finding, ("run",), "", short=True)
    assert number == 0 or finding.summary in low[-1].text
