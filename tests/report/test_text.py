"""The text report: hand-written pages, what is cut, and what a terminal gets."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hangview.report.lines import Line, plain, show, wrap
from hangview.report.text import report_lines, to_text
from hangview.schema import Attempt, SourceKind, SourceStatus
from hangview.terms import Evidence, Finding, Group, Kind, Lane, Role, Side, Verdict
from tests.report.build import DEFAULT, HELD, NOT_REQUESTED, STRAGGLER, dump, healthy, incident, log, nothing, one_lead

if TYPE_CHECKING:
    from hangview.incident import Incident

ONE_LEAD = """\
LOOK FIRST  rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it
            waiting: ranks 0-2 (3 of 4 ranks, in 2 groups)

evidence
  rank 3: dump is whole, newest entry of default_pg is 41 (trace_3, record 40)
  ranks 0-2: requested 42, not completed
compare first
  rank 3's path before communication
must not be concluded
  that rank 0, which timed out, is at fault
  that the network is sound

waiting (explained by the above)
  rank 0 waits in all_reduce 9 of dp_0: held by an earlier call

note: rank 2 came 3.1 s late to all_reduce 17 of default_pg
  evidence
    rank 2: requested 3.1 s after the others (trace_2, record 16)

coverage  4 of 4 ranks read: 0-3
sources   4 dumps read (nccl, dump schema 2.10), 1 log read
"""

HEALTHY = """\
NO HANG SEEN  these files show no hang (3 of 4 ranks read, 1 group)
              if the job hung later, collect dumps again; if then, no record shows it: see the stacks of its processes
              no usable dump: rank 1 (1 of 4)

coverage  3 of 4 ranks read: 0,2-3
          missing: rank 1: empty file
sources   3 dumps read (nccl, dump schema 2.10), 0 logs read
          trace_1: empty: 0 bytes
"""

NOTHING = """\
NOT ENOUGH EVIDENCE  nothing to read in run-7

coverage  0 of 0 ranks read: none
sources   0 dumps read, 0 logs read
          hangview check says what makes PyTorch write dumps
"""


@pytest.mark.parametrize(("make", "page"), [(one_lead, ONE_LEAD), (healthy, HEALTHY), (nothing, NOTHING)])
def test_whole_page(make, page):
    assert to_text(make()) == page


def first_line(made: Incident) -> str:
    return to_text(made).splitlines()[0]


def test_several_leads_are_numbered_and_all_in_the_answer():
    other = replace(NOT_REQUESTED, ranks=(1,), summary="rank 1 did not request all_gather 7 of tp_0")
    lines = to_text(incident(NOT_REQUESTED, other, leads=(1, 3), sources=(dump(0), dump(1), dump(2), dump(3)))).splitlines()
    assert lines[0] == f"LOOK FIRST  {NOT_REQUESTED.summary}"
    assert lines[1] == f"AND         {other.summary}"
    assert f"1. {NOT_REQUESTED.summary}" in lines
    assert f"2. {other.summary}" in lines


def test_what_the_log_says_of_the_same_rank_is_no_second_place_to_look():
    raised = replace(NOT_REQUESTED, kind=Kind.PROCESS_ENDED, summary="rank 3 raised ValueError, by its log")
    other = replace(raised, ranks=(2,), summary="rank 2 raised KeyError, by its log")
    lines = to_text(incident(NOT_REQUESTED, raised, other, leads=(2, 3))).splitlines()
    assert [line.split("  ")[0] for line in lines[:3]] == ["LOOK FIRST", "ITS LOG", "AND"]


def test_many_leads_do_not_push_the_rest_off_the_screen():
    leads = [replace(NOT_REQUESTED, ranks=(rank,), summary=f"rank {rank} did not request 5", evidence=()) for rank in range(40)]
    lines = to_text(incident(*leads, leads=tuple(range(40)))).splitlines()
    assert lines[4] == "AND         rank 4 did not request 5"
    assert lines[5] == "AND         35 more leads, below"
    assert lines[6] == ""
    assert "10. rank 9 did not request 5" in lines
    assert "… 30 more: hangview report --all shows everything" in lines
    assert len(lines) < 90


def test_nobody_is_named_on_a_tie_but_the_evidence_is_shown():
    tie = Finding(
        Kind.DIFFERENT_SIZE,
        Role.WAITING,
        (0, 1),
        (2, 3),
        group=None,
        lane=None,
        seq=42,
        op="all_reduce",
        side=Side.HOST,
        summary="ranks 0-1 ask for 1,024 elements, ranks 2-3 for 512",
        evidence=(Evidence("ranks 0-1: [1024] Float"), Evidence("ranks 2-3: [512] Float")),
    )
    text = to_text(incident(tie))
    assert text.startswith(f"NO RANK NAMED  {tie.summary}\n")
    assert "ranks 2-3: [512] Float" in text
    assert "explained by the above" not in text


def test_a_divergence_that_only_notes_is_no_lead():
    made = incident(replace(STRAGGLER, summary="rank 2 asked for Half, the others for Float; it completed"))
    assert first_line(made) == "DIVERGENCE  rank 2 asked for Half, the others for Float; it completed"
    assert to_text(made).count("rank 2 asked for Half") == 1


def test_lead_that_names_no_rank():
    stuck = replace(
        NOT_REQUESTED, kind=Kind.NOT_COMPLETED, ranks=(), others=(), summary="all 4 ranks requested 4, none completed"
    )
    assert first_line(incident(stuck)) == "NO RANK NAMED  all 4 ranks requested 4, none completed"


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        (
            (dump(0, status=SourceStatus.EMPTY), dump(1, status=SourceStatus.REFUSED)),
            "no dump or log could be read (1 empty, 1 refused)",
        ),
        ((dump(0),), "no call could be compared between ranks (1 of 1 rank read, 2 groups)"),
    ],
)
def test_not_enough_evidence_says_why(sources, says):
    made = incident(verdict=Verdict.NOT_ENOUGH_EVIDENCE, sources=sources, expected=(0,))
    assert first_line(made) == f"NOT ENOUGH EVIDENCE  {says}"


def test_ten_lines_of_evidence_and_how_to_see_the_rest():
    many = replace(NOT_REQUESTED, evidence=tuple(Evidence(f"rank {rank}: line {rank}") for rank in range(1024)))
    waiting = [replace(HELD, summary=f"ranks wait in group {number}") for number in range(300)]
    made = incident(many, *waiting, leads=(3,), sources=(dump(0),))
    text = to_text(made)
    assert len(text.splitlines()) < 50
    assert "  rank 9: line 9\n  … 1,014 lines more: hangview report --all shows everything\n" in text
    assert "  ranks wait in group 9\n  … 290 more: hangview report --all shows everything\n" in text
    whole = to_text(made, everything=True)
    assert "rank 1023: line" in whole
    assert "ranks wait in group 299" in whole
    assert "more:" not in whole


LATE = replace(HELD, evidence=(NOT_REQUESTED.evidence[1], Evidence("rank 0: requested 9, not completed")), not_concluded=(
    "that the network is sound", "that it is known what rank 4 did"))  # fmt: skip


def test_of_those_that_wait_what_the_lead_does_not_say_is_said():
    text = to_text(incident(NOT_REQUESTED, LATE, LATE, leads=(3,)))
    assert (
        f"""
waiting (explained by the above)
  {HELD.summary}
    rank 0: requested 9, not completed
  {HELD.summary}
  must not be concluded
    that it is known what rank 4 did
"""
        in text
    )
    assert text.count("ranks 0-2: requested 42, not completed") == 1
    assert text.count("that the network is sound") == 1


def test_of_many_that_wait_ten_lines_of_evidence_are_shown():
    lines = [tuple(Evidence(f"line {number} of {group}") for number in range(5)) for group in range(10)]
    waiting = [replace(HELD, evidence=each) for each in lines]
    made = incident(NOT_REQUESTED, *waiting, leads=(3,))
    text = to_text(made)
    assert [text.count(f" of {group}\n") for group in range(10)] == [3, 3, 3, 1, 0, 0, 0, 0, 0, 0]
    assert "… 40 lines of evidence more: hangview report --all shows everything" in text
    assert "line 4 of 9" in to_text(made, everything=True)


def test_ranks_that_no_file_names_are_counted_in_where_there_must_be_some():
    """Ranks count from 0: where one is called 15, there are 16."""
    missing = dict.fromkeys((0, 3, 15), "no file")
    groups = (replace(DEFAULT, ranks=(0, 3, 15), inferred=True),)
    named = incident(NOT_REQUESTED, leads=(3,), expected=(0, 3, 15), missing=missing, groups=groups)
    text = to_text(named)
    assert "no usable dump: ranks 0,3,15 (3 of at least 16 ranks, of which the files name 3)" in text
    assert "coverage  0 of at least 16 ranks, of which the files name 3, read: none" in text
    recorded = replace(named, groups=(replace(groups[0], inferred=False),))
    assert "0 of 3 ranks read" in to_text(recorded)  # a configuration lists all there are


def test_of_many_that_wait_those_that_wait_for_a_lead_come_first():
    far = [replace(HELD, ranks=(number,), summary=f"rank {number} waits for rank 99, which waits too") for number in range(50)]
    near = replace(HELD, ranks=(3,), others=(7,), summary="rank 3 did not request 9 of tp_0; rank 7 waits for it")
    lines = to_text(incident(NOT_REQUESTED, *far[4:], near, leads=(3,))).splitlines()
    assert lines[lines.index("waiting (explained by the above)") + 1].strip() == near.summary


def test_coverage_folds_reasons_by_host_and_names_attempts_and_what_was_not_judged():
    missing = {12: "no file", 13: "no file", 20: "no file", 5: "refused"}
    made = incident(
        NOT_REQUESTED,
        leads=(3,),
        sources=(dump(0), dump(1), dump(2), dump(3), log(12, host="node-03"), log(13, host="node-03"), log(20, host="node-05")),
        expected=(0, 1, 2, 3, 5, 12, 13, 20),
        missing=missing,
        attempts=(Attempt(1, (0, 1), False, "3 h older"), Attempt(2, (0, 1, 2, 3), True)),
        lanes=(Lane(0, "p2p 0->1", 1, 4, None, None, False, "partner not recorded"),),
    )
    coverage = to_text(made).split("coverage  ")[1].split("sources")[0]
    assert [line.strip() for line in coverage.splitlines()] == [
        "4 of at least 21 ranks, of which the files name 8, read: 0-3",
        "missing: rank 5: refused",
        "missing: ranks 12-13 on node-03 (2 ranks): no file",
        "missing: rank 20 on node-05: no file",
        "attempt 1: ranks 0-1, left out (3 h older)",
        "attempt 2: ranks 0-3, shown here",
        "not judged: 1 lane: partner not recorded",
    ]


def test_default_groups_that_share_no_rank_are_said_in_the_first_lines():
    made = healthy()
    groups = (Group(0, "0", "default_pg", (0, 1)), Group(1, "0", "default_pg", (2, 3)))
    said = "2 default groups without a common rank (0-1; 2-3): replicas, or files of several jobs"
    assert said in to_text(replace(made, groups=groups)).splitlines()[1]
    again = (Group(0, "0", "default_pg", (0, 1)), Group(1, "9", "default_pg", (0, 1)))  # made anew in the same processes
    assert said not in to_text(replace(made, groups=again))


def test_what_the_recorder_leaves_out_is_said_with_no_hang():
    made = healthy()
    made = replace(made, coverage=replace(made.coverage, unrecorded=("gloo does not record sends",)))
    lines = to_text(made).splitlines()
    assert lines[0] == "NO HANG SEEN  these files show no hang in what is recorded (3 of 4 ranks read, 1 group)"
    assert "          not recorded: gloo does not record sends" in lines


def test_no_hang_says_of_when_the_newest_record_is():
    made = healthy()
    start = Attempt(0, (0, 2, 3), current=True, newest_ns=1_764_434_571_999_000_000)
    lines = to_text(replace(made, records=replace(made.records, attempts=(start,)))).splitlines()
    assert any(line.strip().startswith("newest record 2025-11-29 16:42:51 UTC: if the job hung later, ") for line in lines)


def test_sources_worth_a_word_come_worst_first_and_are_folded():
    cut = [dump(rank, status=SourceStatus.CUT, reason=f"ends after {rank}") for rank in range(30)]
    empty = [dump(rank, status=SourceStatus.EMPTY, reason="0 bytes") for rank in (40, 41, 42, 50)]
    other = dump(None, path="notes.txt", kind=SourceKind.OTHER, status=SourceStatus.IGNORED)
    refused = dump(31, status=SourceStatus.REFUSED, reason="asks for os.system")
    active = dump(32, only_active=True)
    text = to_text(incident(NOT_REQUESTED, leads=(3,), sources=(*cut, *empty, other, refused, active)))
    assert [line.strip() for line in text.split("sources   ")[1].splitlines()][:5] == [
        "31 dumps read (nccl, dump schema 2.10), 0 logs read, 1 other file left alone",
        "only unfinished entries were dumped by rank 32",
        "trace_31: refused: asks for os.system",
        "4 files of ranks 40-42,50: empty: 0 bytes",
        "trace_0: cut: ends after 0",
    ]
    assert text.endswith("… 22 more: hangview check lists every source\n")


def test_a_file_is_not_said_twice_to_be_empty():
    empty = dump(1, status=SourceStatus.EMPTY, reason="empty file (0 bytes)")
    made = incident(sources=(dump(0), empty), expected=(0, 1), missing={1: "trace_1: empty file (0 bytes)"})
    assert to_text(made).count("empty") == 1
    refused = dump(2, status=SourceStatus.REFUSED, reason="refused: asks for os.system")
    text = to_text(incident(sources=(dump(0), replace(empty, rank=None), refused), expected=(0,)))
    assert "trace_1: empty file (0 bytes)\n" in text
    assert "trace_2: refused: asks for os.system\n" in text


def test_logs_that_were_not_asked_for_are_not_read():
    assert "1 dump read (nccl, dump schema 2.10), 1 log not read" in to_text(
        replace(incident(sources=(dump(0), log(0))), logs=None)
    )


def test_other_attempts_are_said_once():
    sources = [dump(0), *(dump(rank, status=SourceStatus.OTHER_ATTEMPT, reason="2 h older") for rank in (1, 2))]
    attempts = (Attempt(1, (1, 2), False, "2 h older"), Attempt(2, (0,), True))
    assert to_text(incident(sources=tuple(sources), attempts=attempts)).count("2 h older") == 1


def test_mixed_builds_are_named_and_a_dump_without_entries_is_no_other_build():
    sources = (dump(0), dump(1, producer=None), dump(2, version="2.9"), dump(3, producer="gloo"))
    assert "4 dumps read (gloo, dump schema 2.10; nccl, dump schema 2.10; nccl, dump schema 2.9)," in to_text(
        incident(sources=sources)
    )


def test_order_of_the_files_changes_nothing():
    made = healthy()
    shuffled = replace(made, records=replace(made.records, sources=made.records.sources[::-1]))
    assert to_text(shuffled) == to_text(made)


def test_nothing_from_outside_reaches_the_terminal_raw():
    evil = replace(
        NOT_REQUESTED,
        summary="rank 3 did not request 42 of \x1b]0;owned\x07",
        evidence=(Evidence("first\nsecond \u202e", source=0),),
        compare_first="\x9b2J",
        not_concluded=("\x00",),
    )
    source = dump(0, path="a\x1b[31m", reason="b\rc")
    text = to_text(incident(evil, leads=(3,), sources=(source,), expected=(0, 1), missing={1: "d\x08"}))
    assert all(char == "\n" or char.isprintable() for char in text)
    assert r"first\nsecond \u202e (a\x1b[31m)" in text


def test_evidence_that_names_its_file_is_not_given_it_twice():
    made = incident(
        replace(NOT_REQUESTED, evidence=(Evidence("trace_0 ends at 41", source=0, record_id=7),)), sources=(dump(0),)
    )
    assert "  trace_0 ends at 41\n" in to_text(made)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_terminal_folds_with_a_hanging_indent_and_colours(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    show(report_lines(one_lead()), terminal)
    text = terminal.getvalue()
    assert "\x1b[1m" in text
    seen = text.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert max(map(len, (line for line in seen if not line.startswith("\x1b")))) <= 60
    assert seen[1].startswith(" " * 12)


def test_no_color_leaves_words_alone(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    show(report_lines(one_lead()), terminal)
    assert "\x1b[3" not in terminal.getvalue()


def test_long_words_stay_whole_when_folded():
    path = "/lustre/" + "x" * 100
    assert wrap(Line(f"see {path} please", indent=4), 40) == ["    see", f"      {path}", "      please"]
    assert plain([Line(f"see {path} please", indent=4)]) == f"    see {path} please\n"
