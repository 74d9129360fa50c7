"""Call, entry, stack, source, rank: what each level says, and what it says was not recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hangview
from hangview.engine.frames import is_torch
from hangview.logs.evidence import LogEvidence, LogLine, OutsideStack
from hangview.schema import NOT_READ_YET, CellState, ReadOptions, SourceStatus, StackFrame
from hangview.terms import Clock, Kind, Role, Side
from hangview.tui.place import Place
from hangview.tui.prose import plain
from hangview.tui.text.call import call_lines, status_words
from hangview.tui.text.details import LEVELS, details
from hangview.tui.text.finding import finding_lines
from hangview.tui.text.rank import rank_lines
from hangview.tui.text.source import ledger_lines, one_source
from hangview.tui.titles import fitting, shorter
from tests.engine.support import OPEN, look, rank
from tests.support import incidents

if TYPE_CHECKING:
    from hangview.incident import Incident


FIXTURES = Path(__file__).parents[3] / "fixtures"


def said(incident: Incident, place: Place, level: str) -> tuple[str, str]:
    title, prose = details(incident, place, LEVELS.index(level))
    return shorter(title)[0], plain(prose)


def test_call_with_a_rank_that_did_not_request():
    title, text = said(incidents.four_ranks(), Place(0, "collective", 42, 3), "call")
    assert title == "call 42 of default_pg · all_reduce · 1,024 × Float"
    rows = text.splitlines()
    assert rows[0].split("  ", 1)[0] == "not requested"
    assert "dump is whole, newest entry of default_pg is 41" in rows[0]
    # created at 14:00:00 + 42 × 0.5 s + rank × 1 ms, all clocks one group with a spread of 0.2 s
    assert "0-2  requested first 14:00:21.000 UTC, last +2 ms (clocks: ±0.2 s)" in rows[1]
    assert rows[2].startswith("rank 3 was last seen in sync_gradients (train.py:212)")
    assert rows[3].startswith("LOOK FIRST  rank 3 did not request")


def test_a_finding_that_stands_elsewhere_is_not_told_twice():
    incident = incidents.four_ranks()
    _, prose = details(incident, Place(0, "collective", 42, 3), 0, incident.findings[0])
    assert "LOOK FIRST" not in plain(prose)


def test_sides_with_counts_majority_first():
    title, text = said(incidents.different_dtype(), Place(0, "collective", 17, 2), "call")
    assert title == "call 17 of dp_0 · all_reduce"
    assert "majority  3 of 4   all_reduce 1,024 × Float    ranks 0-1,3" in text
    assert "minority  1 of 4   all_reduce 1,024 × Half     rank 2" in text


def test_where_sides_may_differ_who_did_not_come_stands_first():
    """An all_to_all of three with sizes of their own, and rank 3 did not request it."""
    ranks = [rank(r).call("all_to_all", 1).call("all_to_all", 2, OPEN, size=100 + r, out=100 + r) for r in range(3)]
    incident = look(*ranks, rank(3).call("all_to_all", 1))
    _, text = said(incident, Place(0, "collective", 2, 3), "call")
    lines = text.splitlines()
    assert lines[0].startswith("not requested")
    assert any("100" in each for each in lines[1:])


def test_a_tie_has_sides_and_no_majority():
    _, text = said(incidents.tie(), Place(0, "collective", 42, 0), "call")
    assert "side A    2 of 4" in text
    assert "side B    2 of 4" in text
    assert "no side is the majority: no rank is named" in text
    assert "majority " not in text.replace("no side is the majority", "")


def test_entry_says_requested_started_completed_and_what_is_missing():
    _, text = said(incidents.four_ranks(), Place(0, "collective", 42, 0), "entry")
    assert "state      started, not retired, as recorded → started, as read" in text
    assert "requested  2026-11-29 14:00:21.000 UTC" in text
    assert "started    2026-11-29 14:00:21.001 UTC" in text
    assert "completed  not recorded" in text
    assert "time-out   600 s" in text
    assert "in         [1024] Float, 1,024 elements" in text
    assert "time completed" not in text  # its own line says that it was not recorded
    assert "nccl_trace_rank_0, entry 42 of the file, record_id 42" in text


def test_entry_of_a_rank_without_a_dump_does_not_say_that_it_did_not_call():
    _, text = said(incidents.missing_dump(), Place(0, "collective", 42, 2), "entry")
    assert text.startswith("rank 2 at default_pg 42: no dump\n")
    assert "why        no file of rank 2 among 3 dumps" in text
    assert "that there is none does not say that the rank did not call" in text


@pytest.mark.parametrize("rank", range(13))
def test_every_state_that_was_not_observed_says_why(rank):
    _, text = said(incidents.every_state(), Place(0, "collective", 5, rank), "entry")
    state = list(CellState)[rank]
    assert state.word in text.splitlines()[0]
    if not state.observed or state is CellState.NOT_REQUESTED:
        assert "why  " in text
        assert "so  " in text


def test_stacks_fold_torch_and_group_ranks():
    _, text = said(incidents.different_dtype(), Place(0, "collective", 17, 2), "stack")
    assert text.splitlines()[0] == "rank 2: 1 rank"  # the cursor's rank first
    assert "ranks 0-1,3: 3 ranks" in text
    assert "1 frame of torch, from all_gather_into_tensor" in text
    assert "2 frames of torch, from all_reduce" in text
    assert "evaluate  /home/ada/job/evaluate.py:88" in text


def test_stacks_from_outside_are_grouped_and_stand_with_their_rank():
    where = (StackFrame("load_batch", "data.py", 88), StackFrame("main", "train.py", 64))
    stacks = tuple(
        OutsideStack(rank, 40 + rank, "MainThread", where[rank == 0 :], "py-spy", LogLine(0, 4, "Thread")) for rank in (0, 2, 3)
    )
    incident = replace(incidents.four_ranks(), logs=LogEvidence(stacks=stacks))
    _, call = said(incident, Place(0, "collective", 42, 3), "stack")
    assert call.index("ranks 2-3, from outside by py-spy") < call.index("rank 0, from outside by py-spy")
    assert call.count("load_batch  data.py:88") == 1
    _, rank = said(incident, Place(0, "collective", 42, 3), "rank")
    assert "rank 3, from outside by py-spy" in rank
    assert "rank 0, from outside" not in rank


def test_a_rank_without_an_entry_shows_where_it_was_last():
    _, text = said(incidents.four_ranks(), Place(0, "collective", 42, 3), "stack")
    assert "rank 3: no entry here, so no stack of this call" in text
    assert "rank 3's newest entry of any group: all_reduce 41" in text


def test_frames_of_torch_are_told_by_their_file():
    frames = incidents.four_ranks().view.stacks(0, "collective", 42)[0][1]
    assert [is_torch(frame) for frame in frames] == [True, True, False, False, False]


def test_source_of_a_rank_without_a_file():
    _, text = said(incidents.missing_dump(), Place(0, "collective", 42, 2), "source")
    assert text.startswith("rank 2: no usable dump · no file of rank 2 among 3 dumps")


def test_source_says_producer_and_window():
    _, text = said(incidents.four_ranks(), Place(0, "collective", 42, 1), "source")
    assert "file       nccl_trace_rank_1" in text
    assert "producer   nccl, schema 2.10" in text
    assert "library    2.27.3" in text
    assert "host       not recorded" in text


def test_rank_stands_in_all_its_groups():
    _, text = said(incidents.eight_in_five_groups(), Place(2, "collective", 6, 7), "rank")
    assert text.startswith("rank 7: look here first, others wait for it and it waits for nobody\n")
    assert "· ranks 4-6 wait for it in TP1 6" in text
    assert "· rank 3 waits for it in DP3 6" in text
    assert "no log was read" in text
    _, text = said(incidents.eight_in_five_groups(), Place(3, "collective", 6, 0), "rank")
    assert "· waits for rank 4 in DP0 6, host side" in text


def test_rank_without_a_record():
    _, text = said(incidents.missing_dump(), Place(0, "collective", 42, 2), "rank")
    assert "no entry of this rank was recorded" in text


def test_finding_has_all_its_parts():
    incident = incidents.four_ranks()
    text = plain(finding_lines(incident, incident.findings[0]))
    for part in ("LOOK FIRST", "compare first  rank 3's path before communication", "must not be concluded",
                 "x that the network is sound", "evidence", "how it was reached", "1. all members completed 0-41"):  # fmt: skip
        assert part in text


def test_ledger_tells_equal_stories_once():
    text = plain(ledger_lines(incidents.large()))
    assert "1,024 files looked at under run-4711" in text
    assert "dump, read: 1,024 files  ranks 0-1023" in text
    assert "u lists every one" in text
    assert len(text.splitlines()) == 4
    every = plain(ledger_lines(incidents.large(), unfolded=True)).splitlines()
    assert len(every) == 2 + 1 + 1024  # two of heading, one of the story, one a file
    assert "no dump: rank 2  no file of rank 2 among 3 dumps" in plain(ledger_lines(incidents.missing_dump()))


def test_a_file_that_is_still_to_be_read_is_not_said_to_be_written():
    incident = incidents.four_ranks()
    first, *rest = incident.records.sources
    waiting = replace(first, status=SourceStatus.GROWING, reason=NOT_READ_YET)
    growing = replace(rest[0], status=SourceStatus.GROWING, reason="grew 1 s ago")
    text = plain(ledger_lines(replace(incident, records=replace(incident.records, sources=(waiting, growing, *rest[1:])))))
    assert "dump, not read yet: 1 file  rank 0" in text
    assert "dump, being written: 1 file  rank 1" in text
    assert plain(one_source(waiting)).splitlines()[1] == "status     not read yet"


def test_a_finding_that_waits_says_where_its_evidence_stands_and_an_unknown_side_is_left_out():
    incident = incidents.four_ranks()
    bare = replace(incident.findings[0], role=Role.WAITING, evidence=(), steps=(), side=Side.UNKNOWN)
    text = plain(finding_lines(incident, bare))
    assert "its evidence stands with the lead that it waits for" in text
    assert "no record is quoted" not in text
    assert "unknown side" not in text
    assert "no record is quoted for it" in plain(finding_lines(incident, replace(bare, role=Role.NOTE)))


def test_a_lead_inside_a_call_is_not_said_to_wait_for_nobody_without_its_requests():
    """A rank that asked for another size stands in the same call as the others: its request is open."""
    incident = incidents.different_dtype()
    (lead,) = incident.leads
    _, text = said(incident, Place(0, "collective", 17, lead), "rank")
    assert "others wait for it and its own open requests wait for no other rank" in text


def test_a_rank_that_recorded_nothing_is_not_said_to_have_records_that_stop():
    incident = hangview.load(str(FIXTURES / "waiting-across-groups"), options=ReadOptions(cache=False))
    finding = next(each for each in incident.findings if each.kind is Kind.NO_COLLECTIVE)
    assert finding.group is not None
    _, text = said(incident, Place(finding.group, "collective", 1, finding.ranks[0]), "entry")
    assert "holds no call: it stopped before its first one" in text
    assert "records stop below" not in text


def test_one_call_alone_tells_no_spread_of_clocks():
    incident = replace(incidents.four_ranks(), clocks=(Clock((0, 1, 2, 3), 0, 0, 1),))
    _, text = said(incident, Place(0, "collective", 42, 3), "call")
    assert "(clocks: by one call alone, spread not known)" in text
    assert "±" not in text


def test_the_newest_entries_of_a_rank_name_their_group():
    incident = hangview.load(str(FIXTURES / "two-groups"), options=ReadOptions(cache=False))
    rows = plain(rank_lines(incident, 7)).splitlines()
    newest = rows[next(at for at, row in enumerate(rows) if row.startswith("its newest entries")) + 1 :]
    names = {group.label for group in incident.groups if 7 in group.ranks}
    assert newest
    for row, entry in zip(newest, incident.view.newest_entries(7, 8), strict=True):
        name = row.split()[1]
        assert name in names
        group = next(each.id for each in incident.groups if each.label == name)
        assert any(
            cell.rank == 7 and entry in cell.entries for cell in incident.view.call(group, "collective", entry.seq or 0).cells
        )


def test_the_state_of_a_cell_is_said_whole_at_any_width():
    incident = incidents.eight_in_five_groups()
    forms = status_words(incident, Place(2, "collective", 6, 7), "requested, differs from the majority", (4, 5))
    assert "differs from the majority · row of 2" in forms[0]
    for width in (60, 40):
        said = fitting(forms, width)
        assert len(said) <= width
        assert said.endswith("differs") or "differs from the majority" in said


def test_what_the_log_of_a_lead_says_stands_before_who_waits():
    """On the first screen of 80 columns the pane has five lines: the exception was below them."""
    incident = incidents.four_ranks()
    first = incident.findings[0]
    raised = replace(first, kind=Kind.PROCESS_ENDED, summary="rank 3 raised ValueError: checksum")
    incident = replace(incident, findings=(first, raised))
    assert raised.group is not None
    assert raised.lane is not None
    assert raised.seq is not None
    call = incident.view.call(raised.group, raised.lane, raised.seq)
    lines = [row.text for row in call_lines(incident, call, raised.ranks[0], first)]
    log = next(at for at, row in enumerate(lines) if raised.summary in row)
    waiting = next(at for at, row in enumerate(lines) if "not completed" in row)
    assert log < waiting
    assert all(row.startswith(("not requested", "failed")) for row in lines[:log])
