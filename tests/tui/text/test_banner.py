"""The answer in one line, before anything is pressed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hangview
from hangview.report.page import build
from hangview.schema import Attempt, ReadOptions, Source, SourceKind, SourceStatus
from hangview.terms import Role, Verdict
from hangview.tui.prose import plain, wrap
from hangview.tui.text.banner import answer, banner, context, title
from hangview.tui.text.common import role_word
from tests.engine.support import OPEN, look, rank
from tests.support import incidents
from tests.support.builder import Builder

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("four_ranks", "LOOK FIRST  rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it"),
        ("healthy", "NO HANG SEEN  these files show no hang · 1 lane compared, all that was requested completed"),
        ("missing_dump", "NO RANK NAMED  no record of rank 2: whether it requested all_reduce 42 of default_pg is not known"),
        ("cycle", "NO RANK NAMED  ranks 0-1 wait for each other"),
        ("tie", "NO RANK NAMED  ranks 0-1 ask for 1,024 × Float and ranks 2-3 for 512 × Float"),
        ("nothing_called", "NOT ENOUGH EVIDENCE  ranks 0-2 hold no collective"),
        ("no_files", "NOT ENOUGH EVIDENCE  no readable dump in empty-folder"),
    ],
)
def test_answers(name, text):
    assert answer(getattr(incidents, name)()).text.startswith(text)


def test_without_a_hang_no_more_is_said_than_the_recorder_tells():
    """gloo records neither sends nor how a call ended."""
    incident = incidents.healthy()
    partly = replace(incident, coverage=replace(incident.coverage, unrecorded=("gloo records no sends",)))
    text = answer(partly).text
    assert text == "NO HANG SEEN  no hang in what is recorded · 1 lane compared, all that was recorded is over"


def test_calls_that_are_not_over_are_no_sign_that_nothing_hangs():
    """Rank 0 completed 2 and is in 3, the others have 2 open: a job that runs looks so, and one that has just stopped."""
    rest = [rank(r).call("all_reduce", 1).call("all_reduce", 2, OPEN) for r in (1, 2, 3)]
    incident = look(rank(0).calls("all_reduce", 1, 2).call("all_reduce", 3, OPEN), *rest)
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    said = answer(incident).text
    assert said.startswith("NOT ENOUGH EVIDENCE  rank 0 waits in all_reduce 3 of default_pg; whether ranks 1-3 should have ")
    assert build(incident).answers == (("NOT ENOUGH EVIDENCE", said.removeprefix("NOT ENOUGH EVIDENCE  ")),)


def test_a_second_lead_is_shown_when_it_is_the_current_finding():
    incident = incidents.four_ranks()
    second = replace(incident.findings[0], summary="rank 1 did something else")
    both = replace(incident, findings=(*incident.findings, second))
    for current in (None, incident.findings[0], second):
        assert banner(both, current, ("run",), "")[1].text.startswith("LOOK FIRST  rank 3 ")
    assert banner(both, second, ("run",), "")[2].text == "finding 2 of 2: AND  rank 1 did something else"


@pytest.mark.parametrize("fixture", ["seed-a", "two-leads", "crash-early", "size-tie", "healthy", "hsdp-32", "nccl2-no-dump"])
def test_the_screen_and_the_report_use_the_same_words(fixture):
    incident = hangview.load(str(FIXTURES / fixture), options=ReadOptions(cache=False))
    leads = [finding for finding in incident.findings if finding.role is Role.LEAD]
    shown = [answer(incident).text, *(f"{role_word(incident, finding)}  " for finding in leads[1:])]
    words = [word for word, _ in build(incident).answers]
    assert words
    assert [text.partition("  ")[0] for text in shown] == words


def test_the_answer_stays_while_waiting_groups_are_stepped_through():
    incident = incidents.eight_in_five_groups()
    waiting = next(finding for finding in incident.findings if finding.role is Role.WAITING)
    assert banner(incident, waiting, ("run",), "")[1].text.startswith("LOOK FIRST  rank 7 did not request")


def test_context_counts_who_waits_and_names_missing_dumps_with_their_reason():
    assert context(incidents.eight_in_five_groups()).text == "waiting because of it: 7 ranks in 5 groups"
    assert context(incidents.missing_dump()).text == (
        "waiting: 3 ranks in 1 group · no dump: 2 (no file of rank 2 among 3 dumps)"
    )


def test_title_counts_dumps_and_says_what_goes_on():
    incident = incidents.missing_dump()
    assert title(incident, ("run-4711",), "watching (poll 2 s)").text == (
        "hangview  run-4711 · dumps 3/4 · nccl, dump schema 2.10 · watching (poll 2 s)"
    )


def test_a_narrow_title_keeps_what_is_going_on():
    incident = incidents.missing_dump()
    text = title(incident, ("/scratch/jobs/run-4711",), "reading 12 of 64 files", width=60).text
    assert text == "hangview  run-4711 · dumps 3/4 · reading 12 of 64 files"


def test_a_title_that_is_too_wide_says_schema_alone_before_it_leaves_it_out():
    incident = incidents.missing_dump()
    whole = "hangview  run-4711 · dumps 3/4 · nccl, dump schema 2.10 · watching (poll 2 s)"
    shorter = whole.replace("dump schema", "schema")
    assert title(incident, ("run-4711",), "watching (poll 2 s)", width=len(whole)).text == whole
    assert title(incident, ("run-4711",), "watching (poll 2 s)", width=len(whole) - 1).text == shorter
    assert title(incident, ("run-4711",), "watching (poll 2 s)", width=len(shorter) - 1).text == (
        "hangview  run-4711 · dumps 3/4 · watching (poll 2 s)"
    )


def test_title_names_the_attempt_only_where_there_are_several():
    incident = incidents.four_ranks()
    two = (Attempt(1, (0, 1), False), Attempt(2, (0, 1, 2, 3), True))
    again = replace(incident, records=replace(incident.records, attempts=two))
    assert "attempt 2, 1 left out" in title(again, ("x",), "").text
    assert "attempt" not in title(incident, ("x",), "").text


def test_title_counts_the_logs_that_were_read():
    """Four more are of the attempt before."""
    assert title(hangview.load(str(FIXTURES / "logs" / "restart-2.12")), ("run",), "").text.endswith(" · 5 logs")


def test_title_says_that_ranks_have_several_files():
    """Two folders given by mistake: which one is shown must not be guessed from the evidence."""
    incident = incidents.four_ranks()
    old = [Source(f"old/rank_{rank}", SourceKind.DUMP, SourceStatus.SUPERSEDED, rank=rank) for rank in (1, 2)]
    for more, told in ((old, "2 files of 2 ranks, one used"), (old[:1], "2 files of rank 1, one used")):
        twice = replace(incident, records=replace(incident.records, sources=(*incident.records.sources, *more)))
        assert told in title(twice, ("run-4711",), "watching (poll 2 s)", width=80).text


def test_while_reading_there_is_no_answer():
    assert plain(banner(None, None, ("run-4711",), "reading 12 of 64 files")) == (
        "hangview  run-4711 · reading 12 of 64 files\nREADING  no answer yet: the files are being read\n"
    )


def test_a_look_that_failed_says_why():
    text = plain(banner(None, None, ("run",), "", trouble="/gone: No such file or directory"))
    assert text == "hangview  run\nNOT READ  /gone: No such file or directory\n"


def test_a_part_of_the_files_names_nobody():
    text = plain(banner(incidents.four_ranks(), None, ("run",), "reading 4 of 9 files", partial=True))
    assert "LOOK FIRST" not in text
    assert "SO FAR  rank 3 did not request" in text
    assert "(4 of 4 dumps read)" in text


def test_stays_short_at_a_thousand_ranks():
    assert len(plain(banner(incidents.large(), None, ("run",), ""))) < 400


def test_one_dump_alone_is_no_comparison():
    builder = Builder(4, missing=dict.fromkeys((1, 2, 3), "no file"))
    builder.lane(builder.group("default_pg", range(4), name="0"), 0, 5)
    assert context(builder.build()).text.startswith("one dump alone compares with nothing")
    assert "one dump alone" not in context(incidents.missing_dump()).text


def test_context_is_said_shorter_and_never_cut():
    incident = incidents.missing_dump()
    assert context(incident, 60).text == "waiting: 3 ranks in 1 group · no dump: 2"
    assert context(incident, 35).text == "waiting: 3 ranks · no dump: 2"
    shown = banner(incident, incident.findings[0], ("run",), "", width=60)
    assert all(row.width <= 60 for row in shown[2:])


def test_at_80_columns_no_hang_still_says_of_when_it_is():
    now = Attempt(0, (0, 1), current=True, newest_ns=1_764_424_931_000_000_000)
    incident = replace(incidents.healthy(), records=replace(incidents.healthy().records, attempts=(now,)))
    assert context(incident, 80).text == "newest record 2025-11-29 14:02:11 UTC: if it hung later, collect again"
    assert context(incident).text.endswith("see the stacks of its processes")


def test_how_it_watches_is_left_out_before_anything_is_cut():
    incident = incidents.missing_dump()
    told = title(incident, ("run-4711",), "watching (inotify) · 1 file being written", width=70)
    assert told.text.endswith("watching · 1 file being written")
    assert told.width <= 70


def two_leads():
    """Rank 2 holds its pair up, and rank 5 its own: one group each."""
    return hangview.load(str(FIXTURES / "two-leads"), options=ReadOptions(cache=False))


def test_what_waits_because_of_it_is_what_waits_for_this_lead():
    incident = two_leads()
    first, second = (finding for finding in incident.findings if finding.role is Role.LEAD)
    assert len({wait.rank for wait in incident.waits}) > len(first.others)
    counted = f"waiting because of it: {len(first.others)} ranks in 1 group"
    assert context(incident).text.startswith(counted)
    assert second.others != first.others


def test_beside_the_first_lead_the_others_are_named():
    incident = two_leads()
    _, second = (finding for finding in incident.findings if finding.role is Role.LEAD)
    (rank,) = second.ranks
    for short in (False, True):
        last = banner(incident, incident.findings[0], ("run",), "", short=short)[-1].text
        assert last.startswith(f"finding 1 of {len(incident.findings)} · AND rank {rank}")


@pytest.mark.parametrize(
    ("fixture", "told"),
    [
        ("alltoall-short", ["all inputs sum to 40 elements, all outputs to 41", "the call is over all the same"]),
        ("all-requested", ["every member requested all_reduce 2 of default_pg", "held on the device side"]),
        ("logs/tee-2.9", ["rank 11 raised torch.OutOfMemoryError", "(pp.py:402)", "wait in all_reduce 3301 of default_pg"]),
        ("logs/dataloader-2.4", ["rank 2 raised zlib.error", "ranks 0-1,3 wait in all_reduce 20471 of default_pg"]),
        ("damaged-truncated", ["rank 3 raised ValueError: shard_3", "ranks 0-2 wait in all_reduce 42 of default_pg"]),
        ("nccl-size", ["rank 5 in 402,653,192", "ranks 1,3,7 in 402,653,184", "[1,3,5,7]"]),
        ("nccl-tie", ["rank 5 in 402,653,192", "rank 7 in 402,653,184", "no majority"]),
        ("silent-dtype", ["dtype: rank 3 Int, ranks 0-2 Float", "the call is over all the same"]),
        ("group-partial", ["ranks 0-2 did not request", "it may be the odd one itself"]),
        ("p2p-missing-recv", ["ranks 1,3 did not request", "may stand in what gloo does not record"]),
        ("broadcast-root", ["over on ranks 0,2", "not on ranks 1,3"]),
        ("logs/started-2.13", ["none completed it", "started on rank 0, not on rank 1"]),
        ("logs/ray-2.6", ["rank 6 did not request", "up to 5 that Ray left out"]),
        ("logs/old-1.13", ["0,3", "no log gives their world ranks"]),
    ],
)
def test_at_80_columns_the_answer_is_said_in_fewer_words_and_not_cut(fixture, told):
    incident = hangview.load(str(FIXTURES / fixture), options=ReadOptions(cache=False))
    said = answer(incident, 80)
    assert len(wrap((said,), 80)) <= 2
    assert [each for each in told if each not in said.text] == []
    assert not said.text.endswith("…")


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_in_ascii_an_answer_of_the_same_length_is_the_same(width):
    """No word is given up for signs that are not there: this one fills its two rows to the last cell."""
    incident = incidents.four_ranks()
    (lead,) = incident.findings
    head, indent = "LOOK FIRST  ", 12
    summary = "x" * (width - len(head)) + " " + "y" * (width - indent - 4) + "; z"
    told = replace(incident, findings=(replace(lead, summary=summary),))
    assert answer(told, width).text == f"{head}{summary}"
    assert answer(told, width, ascii_only=True) == answer(told, width)
    assert len(wrap((answer(told, width),), width)) == 2


def test_in_ascii_fewer_words_are_chosen_by_what_is_drawn():
    """Each of the signs takes three cells there."""
    incident = incidents.four_ranks()
    (lead,) = incident.findings
    told = replace(incident, findings=(replace(lead, summary=f"{' '.join(['w…'] * 10)}; the root is not recorded"),))
    assert answer(told, 44).text.endswith("; the root is not recorded")
    assert answer(told, 44, ascii_only=True).text == f"LOOK FIRST  {' '.join(['w...'] * 10)}"
