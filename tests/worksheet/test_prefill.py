"""What the evidence fills in, and what it must leave blank."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

from hangview.logs.evidence import EndKind, GroupByLog, LogEvidence, LogLine, ProcessEnd
from hangview.schema import Attempt, CellState, GroupConfig, Source, SourceKind, SourceStatus, StackFrame
from hangview.terms import Clock, Fact, Kind, Role
from hangview.worksheet import Mark, Sheet, from_markdown, prefill, to_markdown
from hangview.worksheet.model import Prefilled
from hangview.worksheet.offered import offer
from tests.support import incidents
from tests.support.builder import Builder
from tests.support.incidents import four_ranks, healthy, missing_dump

if TYPE_CHECKING:
    from hangview.incident import Incident

ALL = sorted(
    name
    for name in ("four_ranks", "eight_in_five_groups", "large", "healthy", "missing_dump", "tie", "different_dtype", "cycle",
                 "nothing_called", "no_files", "every_state")
)  # fmt: skip


SHEETS = {name: prefill(getattr(incidents, name)()) for name in ALL}


def values(sheet: Sheet, key: str) -> list[str]:
    return [line.value for line in sheet[key].prefilled]


def with_sources(incident: Incident, *sources: Source) -> Incident:
    return replace(incident, records=replace(incident.records, sources=(*incident.records.sources, *sources)))


@pytest.mark.parametrize("name", ALL)
def test_the_same_incident_gives_the_same_sheet(name: str) -> None:
    assert prefill(getattr(incidents, name)()) == SHEETS[name]


def test_a_log_that_shows_what_was_raised_is_not_called_the_end_of_a_process() -> None:
    (finding, *_) = four_ranks().findings
    incident = replace(four_ranks(), findings=(replace(finding, kind=Kind.PROCESS_ENDED),))
    (first, *_) = prefill(incident)["hypothesis"].prefilled
    assert first.origin == "the finding “process ended or raised an error”"


@pytest.mark.parametrize("name", ALL)
def test_every_prefilled_line_says_where_it_comes_from(name: str) -> None:
    for field in SHEETS[name]:
        for line in field.prefilled:
            assert line.value.strip()
            assert line.origin.strip()
            assert "\n" not in line.value + line.origin


@pytest.mark.parametrize("name", ALL)
def test_no_field_that_only_a_person_can_fill_is_filled(name: str) -> None:
    sheet = SHEETS[name]
    for key in ("date", "model", "input", "batch", "compared", "changed", "against", "environment", "checkpoint", "restore"):
        assert sheet[key].mark is Mark.BLANK, key


@pytest.mark.parametrize("name", ALL)
def test_words_that_name_a_fault_in_a_rank_never_occur(name: str) -> None:
    text = to_markdown(SHEETS[name]).casefold()
    assert not re.search(r"culprit|guilty|blame|\bcauses?\b|\bcaused\b", text)


def test_run_date_is_the_callers_or_blank() -> None:
    assert prefill(four_ranks())["date"].mark is Mark.BLANK
    assert prefill(four_ranks(), run_date="2026-11-29")["date"].value == "2026-11-29"


def test_versions_and_backend_of_agreeing_dumps() -> None:
    sheet = prefill(four_ranks())
    assert values(sheet, "backend") == ["nccl"]
    assert values(sheet, "library") == ["2.27.3"]
    assert values(sheet, "schema") == ["2.10"]
    assert sheet["schema"].prefilled[0].origin == "header of nccl_trace_rank_0 and 3 more"


def test_versions_that_differ_are_shown_with_their_ranks() -> None:
    incident = four_ranks()
    sources = tuple(
        replace(source, version="2.4", library=None) if source.rank == 2 else source for source in incident.records.sources
    )
    sheet = prefill(replace(incident, records=replace(incident.records, sources=sources)))
    assert values(sheet, "schema") == ["2.10 (ranks 0-1,3); 2.4 (rank 2)"]
    assert values(sheet, "library") == ["2.27.3 (ranks 0-1,3)"]


def test_the_order_of_the_files_changes_nothing() -> None:
    incident = incidents.eight_in_five_groups()
    order = list(range(len(incident.records.sources)))[::-1]
    sources = tuple(incident.records.sources[at] for at in order)
    findings = tuple(
        replace(finding, evidence=tuple(replace(line, source=None) for line in finding.evidence))
        for finding in incident.findings
    )
    one = replace(incident, findings=findings)
    other = replace(one, records=replace(one.records, sources=sources))
    for key in ("backend", "schema", "missing", "states", "expected"):
        assert prefill(one)[key] == prefill(other)[key]


def test_facts_of_the_logs_fill_versions_devices_and_hosts() -> None:
    facts = (
        Fact("torch", "2.15.0", (0, 1, 2, 3), "rank_0.log, line 3"),
        Fact("driver", "580.65", (0,), "rank_0.log, line 9"),
        Fact("host", "node-01", (0, 1), "rank_0.log, line 1"),
        Fact("host", "node-02", (2, 3), "rank_2.log, line 1"),
        *(Fact("device", f"cuda:{rank % 2}", (rank,), f"rank_{rank}.log, line 5") for rank in range(4)),
    )
    sheet = prefill(replace(four_ranks(), facts=facts))
    assert sheet["torch"].prefilled == (Prefilled("2.15.0", "rank_0.log, line 3"),)
    assert values(sheet, "driver") == ["580.65 (rank 0)"]
    assert values(sheet, "hosts") == ["ranks 0-1 → node-01", "ranks 2-3 → node-02"]
    assert values(sheet, "devices") == ["ranks 0,2 → cuda:0", "ranks 1,3 → cuda:1"]
    assert prefill(four_ranks())["devices"].mark is Mark.BLANK


def test_what_the_logs_say_of_software_and_settings() -> None:
    facts = (
        Fact("torch", "2.5", (), "by the wording of the watchdog's lines; site builds differ (all.log, line 1)"),
        Fact("cuda", "12.4", (0,), "printed (all.log, line 2)"),
        Fact("env NCCL_DEBUG", "INFO", (0, 1), "printed (all.log, line 3)"),
        Fact("timeout", "600000 ms", (0, 1, 3), "limit of the work that timed out (all.log, line 9)"),
    )
    sheet = prefill(replace(four_ranks(), facts=facts))
    assert sheet["torch"].prefilled == (
        Prefilled("2.5", "the wording of the watchdog's lines; site builds differ (all.log, line 1)"),
    )
    assert sheet["driver"].prefilled == (Prefilled("CUDA 12.4 (rank 0)", "a line that was printed (all.log, line 2)"),)
    assert values(sheet, "settings") == ["NCCL_DEBUG=INFO (ranks 0-1)", "time-out=600000 ms (ranks 0-1,3)"]
    assert prefill(four_ranks())["settings"].hidden


def test_the_backend_by_the_logs_where_no_dump_says_it() -> None:
    facts = (Fact("backend", "nccl2", (0, 1), "wording of the watchdog's lines (all.log, line 2)"),)
    incident = four_ranks()
    incident = replace(incident, facts=facts, records=replace(incident.records, sources=()), findings=())
    assert values(prefill(incident), "backend") == ["nccl2 (ranks 0-1)"]
    assert prefill(incident)["transition"].items


def test_a_recorder_that_knows_only_the_end_is_not_said_to_have_completed() -> None:
    builder = Builder(2)
    group = builder.group("default_pg", (0, 1), name="0")
    builder.lane(group, 0, 5, state=CellState.ENDED)
    builder.put(group, 5, (1,), CellState.REQUESTED)
    builder.finding(Kind.PARTLY_COMPLETED, Role.LEAD, (1,), (0,), group, 5, "rank 1 has not completed 5")
    lines = values(prefill(builder.build()), "standing")
    assert lines[0].startswith("default_pg: rank 1: last ended 4; next 5: all_reduce 1,024 × Float: requested, not completed")
    assert lines[1].startswith("default_pg: rank 0: last ended 5; 5: all_reduce 1,024 × Float: ended, how is not recorded")


def test_groups_with_members_and_where_they_are_known_from() -> None:
    builder = Builder(4)
    builder.group("default_pg", range(4), name="0")
    builder.group("", (1, 3), name="7", inferred=True)
    incident = builder.build()
    configs = tuple(GroupConfig(source, "0", "default_pg", (0, 1, 2, 3)) for source in range(4))
    sheet = prefill(replace(incident, records=replace(incident.records, configs=configs)))
    assert sheet["groups"].prefilled == (
        Prefilled("0 (default_pg): 4 ranks, 0-3", "group configuration of nccl_trace_rank_0 and 3 more"),
        Prefilled("7: 2 ranks, 1,3; members inferred from who recorded it", "the records of its members"),
    )


def test_many_groups_are_folded_and_none_is_left_out() -> None:
    builder = Builder(256)
    builder.group("default_pg", range(256), name="0")
    for number in range(32):
        builder.group(f"tp_{number}", range(number * 8, number * 8 + 8))
    for number in range(8):
        builder.group(f"dp_{number}", range(number, 256, 8))
    lines = values(prefill(builder.build()), "groups")
    assert len(lines) <= 12
    shown = sum(1 for line in lines if "more group" not in line)
    folded = sum(int(found[1]) for line in lines if (found := re.search(r": (\d+) more group", line)))
    assert shown + folded == 41
    assert lines[0] == "0 (default_pg): 256 ranks, 0-255"


def test_standing_tells_the_lead_from_those_that_wait() -> None:
    assert values(prefill(four_ranks()), "standing") == [
        "default_pg: rank 3: last completed 41; next 42: not requested (dump is whole, newest entry of default_pg is 41)",
        "default_pg: ranks 0-2: last completed 41; next 42: all_reduce 1,024 × Float: started, not completed",
    ]


def test_standing_shows_what_differs_first() -> None:
    lines = values(prefill(incidents.different_dtype()), "standing")
    assert lines[0].startswith(
        "dp_0: rank 2: last completed 16; next 17: all_reduce 1,024 × Half: started, not completed, differs"
    )
    assert lines[1].startswith("dp_0: ranks 0-1,3: last completed 16; next 17: all_reduce 1,024 × Float")


def test_a_rank_without_a_dump_is_not_said_to_have_stopped() -> None:
    lines = values(prefill(missing_dump()), "standing")
    assert lines[0] == "default_pg: rank 2: last completed not known; next 42: no dump (no file of rank 2 among 3 dumps)"
    assert "not requested" not in " ".join(lines)


def test_a_rank_known_by_its_log_alone_has_its_request_from_there() -> None:
    builder = Builder(2, missing={1: "no file"})
    group = builder.group("default_pg", (0, 1), name="0")
    builder.lane(group, 0, 7)
    builder.put(group, 7, (0,), CellState.STARTED)
    builder.put(group, 7, (1,), CellState.REQUESTED, by_log=True)
    builder.finding(Kind.NOT_COMPLETED, Role.LEAD, (0, 1), (), group, 7, "no rank completed 7")
    incident = builder.build()
    call = builder.build().view.call(group, "collective", 7)
    assert call.cells[1].by_log
    line = LogLine(1, 4, "")
    row = GroupByLog(1, "0", "default_pg", 7, 6, 7, "all_reduce", 1024, 1024, line)
    incident = with_sources(incident, Source("rank_1.log", SourceKind.LOG, SourceStatus.READ, rank=1))
    # What a dump's record says goes before what a log says, so the fake view must not have one for rank 1.
    bare = replace(call, cells=(call.cells[0], replace(call.cells[1], entries=())), sides=call.sides[:0])
    incident.view.call = lambda *_: bare  # type: ignore[method-assign]
    shown = prefill(replace(incident, logs=LogEvidence((row,), ())))["standing"].prefilled
    request = "next 7: all_reduce in 1,024 → out 1,024: requested, not completed, by its log"
    assert Prefilled(f"default_pg: rank 1: last completed not known; {request}", "rank_1.log") in shown


def test_a_thousand_ranks_are_a_few_rows() -> None:
    lines = values(SHEETS["large"], "standing")
    assert len(lines) == 2
    assert lines[0].startswith("default_pg: ranks 37,511,900: last completed 1998; next 1999: not requested")
    assert "ranks 0-36,38-510,512-899,901-1023: last completed 1998" in lines[1]
    assert len(to_markdown(SHEETS["large"])) < 8_000


def test_ranks_that_all_stand_elsewhere_are_cut_short_with_a_count() -> None:
    builder = Builder(64)
    group = builder.group("default_pg", range(64), name="0")
    builder.lane(group, 0, 63)
    for rank in range(64):
        for seq in range(rank, 64):
            builder.put(group, seq, (rank,), CellState.NOT_REQUESTED)
    builder.finding(Kind.NOT_REQUESTED, Role.LEAD, (0,), (63,), group, 63, "rank 0 did not request 63")
    lines = values(prefill(builder.build()), "standing")
    assert len(lines) == 11
    assert "more rows" in lines[-1]
    named = sum(line.count("rank") > 0 for line in lines)
    assert named == 11


def test_waiting_groups_stand_below_and_are_counted() -> None:
    lines = values(prefill(incidents.eight_in_five_groups()), "standing")
    assert sum(line.startswith("waiting: ") for line in lines) == 4
    assert lines[0].startswith("TP1: rank 7")


def test_of_calls_beyond_the_listed_those_are_counted_that_wait() -> None:
    """Rank 7 did not come and waits for nobody; in six of the calls ranks 4 to 6 wait for it."""
    made = incidents.eight_in_five_groups()
    lead = made.findings[0]
    missed = replace(lead, role=Role.WAITING)
    lines = values(prefill(replace(made, findings=(*made.findings, *[missed] * 6))), "standing")
    assert lines[-1].startswith("waiting: ")
    assert "7" not in lines[-1].partition("ranks")[2]
    assert "4-6" in lines[-1]


def test_without_a_finding_the_newest_call_of_the_largest_group_is_shown() -> None:
    assert values(prefill(healthy()), "standing") == [
        "default_pg: ranks 0-3: last completed 20; 20: all_reduce 1,024 × Float: completed"
    ]


def test_states_are_told_apart_as_far_as_the_recorder_does() -> None:
    lines = values(prefill(four_ranks()), "states")
    assert lines[0] == "nccl: requested, started and completed are told apart"
    assert lines[1] == "all_reduce 42 of default_pg: not requested: rank 3; started, not completed: ranks 0-2"


@pytest.mark.parametrize(("producer", "words"), [("gloo", "nor whether it ended well"), ("nccl2", "started is never recorded")])
def test_what_a_recorder_does_not_tell_is_said(producer: str, words: str) -> None:
    incident = four_ranks()
    sources = tuple(replace(source, producer=producer) for source in incident.records.sources)
    lines = values(prefill(replace(incident, records=replace(incident.records, sources=sources))), "states")
    assert words in lines[0]


def test_missing_records_with_their_reasons() -> None:
    builder = Builder(8, missing={2: "no file", 3: "no file", 6: "it is empty"})
    builder.group("default_pg", range(8))
    incident = with_sources(
        builder.build(),
        Source("t_rank_6", SourceKind.DUMP, SourceStatus.EMPTY, "it is empty", rank=6),
        Source("t_rank_1", SourceKind.DUMP, SourceStatus.CUT, "ends in entry 12", rank=1),
        Source("t_rank_0", SourceKind.DUMP, SourceStatus.READ, None, rank=0, wrapped=True),
    )
    assert values(prefill(incident), "missing") == [
        "ranks 2-3: no file",
        "rank 6: it is empty",
        "cut: ends in entry 12",
        "empty: it is empty",
        "rank 0: the ring buffer overwrote older records",
    ]
    assert values(prefill(four_ranks()), "missing") == ["no rank: records of all 4 were recovered"]


def test_exceptions_of_the_logs_those_before_communication_first() -> None:
    log = Source("rank_3.log", SourceKind.LOG, SourceStatus.READ, rank=3)
    incident = with_sources(four_ranks(), log)
    at = len(incident.records.sources) - 1
    inside = (StackFrame("all_reduce", "/x/torch/distributed/distributed_c10d.py", 2810),)
    ends = (
        ProcessEnd(0, "signal 15 (SIGTERM)", False, True, LogLine(at, 90, ""), EndKind.SIGNAL),
        ProcessEnd(1, "signal 9 (SIGKILL)", False, False, LogLine(at, 70, ""), EndKind.SIGNAL),
        ProcessEnd(2, "RuntimeError: boom", False, False, LogLine(at, 71, ""), frames=inside, inside=True),
        ProcessEnd(3, "ValueError: shard_3.bin\x1b[31m", True, False, LogLine(at, 12, "")),
    )
    sheet = prefill(replace(incident, logs=LogEvidence((), ends)))
    assert sheet["exceptions"].prefilled == (
        Prefilled("rank 3, before communication: ValueError: shard_3.bin\\x1b[31m", "rank_3.log, line 12"),
        Prefilled("rank 1: ended by signal 9 (SIGKILL); where it was then is not recorded", "rank_3.log, line 70"),
        Prefilled("rank 2, inside a collective: RuntimeError: boom", "rank_3.log, line 71"),
        Prefilled("rank 0: ended by the end of others", "rank_3.log"),
    )


def test_no_log_is_not_the_same_as_no_exception() -> None:
    assert values(prefill(four_ranks()), "exceptions") == ["no log was among the files read"]
    log = Source("rank_3.log", SourceKind.LOG, SourceStatus.READ, rank=3)
    sheet = prefill(replace(with_sources(four_ranks(), log), logs=LogEvidence()))
    assert values(sheet, "exceptions") == ["none found"]


def test_clock_differences_are_said_with_their_spread() -> None:
    clocks = (Clock((0, 1), 0, 4_000_000, 41), Clock((2, 3), -12_500_000_000, 200_000_000, 41))
    assert values(prefill(replace(four_ranks(), clocks=clocks)), "clocks") == [
        "clocks differ by up to 12 s",
        "ranks 2-3: -12 s against the median, ± 0.2 s",
        "ranks 0-1: +0 ms against the median, ± 4 ms",
    ]


def test_collection_delay_from_the_newest_records() -> None:
    incident = four_ranks()
    assert prefill(incident)["delay"].mark is Mark.BLANK
    start = 1_795_960_800_000_000_000
    rows = [(0, start, None), (0, start + 9_000_000_000, None), (1, start, start + 30_000_000_000), (2, None, None)]
    entries = pl.DataFrame(
        [{"rank": rank, "created_ns": created, "started_ns": None, "completed_ns": done} for rank, created, done in rows],
        schema={"rank": pl.Int32, "created_ns": pl.Int64, "started_ns": pl.Int64, "completed_ns": pl.Int64},
    )
    line = values(prefill(replace(incident, entries=entries)), "delay")[0]
    assert line == (
        "the newest records lie 21 s apart, rank 0 first (2026-11-29 14:00:09 UTC by its clock), rank 1 last; "
        "differences of clocks are in it"
    )


def test_the_first_hypothesis_is_the_lead_with_its_evidence_and_the_case_against_it_blank() -> None:
    sheet = prefill(four_ranks())
    assert values(sheet, "hypothesis")[0] == "rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it"
    assert values(sheet, "not_concluded") == ["that rank 0, which timed out, is at fault", "that the network is sound"]
    assert sheet["against"].mark is Mark.BLANK
    assert values(sheet, "next_test")[0].startswith("with nothing else changed, compare rank 3's path before communication")


def test_no_hang_is_a_result() -> None:
    assert values(prefill(healthy()), "hypothesis") == [
        "these files show no hang: every call that could be compared agrees and is over"
    ]
    assert prefill(healthy())["next_test"].mark is Mark.BLANK


def test_evidence_names_file_and_record_once() -> None:
    incident = four_ranks()
    lead = incident.findings[0]
    line = replace(lead.evidence[0], source=3, record_id=41)
    sheet = prefill(replace(incident, findings=(replace(lead, evidence=(line,)),)))
    assert sheet["hypothesis"].prefilled[1] == Prefilled(
        "evidence: rank 3: dump is whole, newest entry of default_pg is 41", "nccl_trace_rank_3, record 41"
    )


def test_attempts_are_said_only_when_there_are_several() -> None:
    incident = four_ranks()
    assert prefill(incident)["attempt"].hidden
    attempts = (Attempt(1, (0, 1), False), Attempt(2, (0, 1, 2, 3), True, "its files are newer"))
    sheet = prefill(replace(incident, records=replace(incident.records, attempts=attempts)))
    assert sheet["attempt"].value == "2, one of 2 among the files: its files are newer"


def test_trials_say_how_far_the_evidence_goes() -> None:
    sheet = prefill(missing_dump())
    assert values(sheet, "trials") == ["devices known: 0 of 4 ranks", "records recovered: 3 of 4 ranks expected"]
    assert [item.checked for item in sheet["trials"].items] == [False, False, False]


@pytest.mark.parametrize(("producer", "offered"), [("nccl", False), ("gloo", False), ("nccl2", True), ("my_backend", True)])
def test_the_way_back_from_2_15_is_offered_where_the_evidence_shows_its_recorder(producer: str, offered: bool) -> None:
    incident = four_ranks()
    sources = tuple(replace(source, producer=producer) for source in incident.records.sources)
    sheet = prefill(replace(incident, records=replace(incident.records, sources=sources)))
    assert bool(sheet["transition"].items) is offered
    assert ("TORCH_DIST_USE_NCCL2=0" in to_markdown(sheet)) is offered
    assert not any(item.checked for item in sheet["transition"].items)


def test_names_from_files_cannot_break_the_page() -> None:
    builder = Builder(2, path="run\n## 9. x\x1b[2J")
    builder.group("de*sc*\n# title", (0, 1), name="`0`\r\n____")
    text = to_markdown(prefill(builder.build()))
    assert "\x1b" not in text
    assert "\r" not in text
    assert len([line for line in text.split("\n") if line.startswith("## ")]) == 8
    assert len([line for line in text.split("\n") if line.startswith("# ")]) == 1


def test_one_call_alone_tells_no_spread_of_clocks() -> None:
    clocks = (Clock((0, 1), 0, 0, 1), Clock((2, 3), 12_000_000, 0, 1))
    assert values(prefill(replace(four_ranks(), clocks=clocks)), "clocks") == [
        "clocks differ by up to 12 ms as far as single calls show",
        "ranks 2-3: +12 ms against the median, by one call alone, which tells no spread",
        "ranks 0-1: +0 ms against the median, by one call alone, which tells no spread",
    ]


def on_nccl2(incident: Incident) -> Incident:
    sources = tuple(replace(source, producer="nccl2") for source in incident.records.sources)
    return replace(incident, records=replace(incident.records, sources=sources))


def test_where_a_dump_is_missing_there_is_nothing_to_test_and_nothing_to_go_back_from() -> None:
    """The words of sections 7 and 8 are about a fault that was seen; here the record of rank 2 is missing."""
    sheet = prefill(on_nccl2(missing_dump()))
    test = values(sheet, "next_test")
    assert len(test) == 1
    assert test[0].startswith("nothing to compare yet: a record is missing. First look at ")
    assert test[0].endswith("; then read all files again")
    assert not sheet["transition"].items
    assert values(sheet, "transition") == [
        "no reason to go back yet: what stands first is a missing record (rank 2), not a fault seen"
    ]
    assert "TORCH_DIST_USE_NCCL2" not in to_markdown(sheet)
    assert from_markdown(to_markdown(sheet), missing_dump()) == sheet


def test_the_way_back_is_offered_when_the_missing_dump_has_come_and_shows_a_fault() -> None:
    sheet = prefill(on_nccl2(missing_dump()))
    change = next(change for change in offer(sheet, on_nccl2(four_ranks())) if change.key == "transition")
    after = sheet.accept(change)
    assert not after["transition"].prefilled
    assert any("TORCH_DIST_USE_NCCL2=0" in item.text for item in after["transition"].items)


def test_ranks_that_only_wait_give_no_test() -> None:
    incident = four_ranks()
    waiting = replace(
        incident.findings[0], kind=Kind.WAITING, role=Role.WAITING, compare_first="nothing here: look at the lead"
    )
    assert prefill(replace(incident, findings=(waiting,)))["next_test"].mark is Mark.BLANK


def test_ranks_whose_files_are_of_no_use_for_one_reason_are_one_line() -> None:
    builder = Builder(8, missing={rank: f"t_rank_{rank}: not read yet" for rank in range(2, 8)})
    builder.group("default_pg", range(8))
    growing = (Source(f"t_rank_{r}", SourceKind.DUMP, SourceStatus.GROWING, "not read yet", rank=r) for r in range(2, 8))
    assert values(prefill(with_sources(builder.build(), *growing)), "missing") == ["ranks 2-7: not read yet"]
