"""The markdown report: a hand-written page, and nothing that markdown would take for markup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hangview.report.markdown import markup_free, to_markdown
from hangview.terms import Evidence
from tests.report.build import HELD, NOT_REQUESTED, incident, one_lead

ONE_LEAD = """\
# hangview report

**LOOK FIRST**: rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it

- waiting: ranks 0-2 (3 of 4 ranks, in 2 groups)

## Lead: rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it

Evidence:

- rank 3: dump is whole, newest entry of default_pg is 41 (trace_3, record 40)
- ranks 0-2: requested 42, not completed

Compare first: rank 3's path before communication

Must not be concluded:

- that rank 0, which timed out, is at fault
- that the network is sound

## Waiting (explained by the above)

- rank 0 waits in all_reduce 9 of dp_0: held by an earlier call

## Note: rank 2 came 3.1 s late to all_reduce 17 of default_pg

Evidence:

- rank 2: requested 3.1 s after the others (trace_2, record 16)

## Coverage

- 4 of 4 ranks read: 0-3

## Sources

- 4 dumps read (nccl, dump schema 2.10), 1 log read
"""


def test_whole_page():
    assert to_markdown(one_lead()) == ONE_LEAD


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("all_reduce 42 of default_pg", "all_reduce 42 of default_pg"),
        ("_all_gather_base", r"\_all_gather_base"),
        ("a|b *c* [d](e) `f` <script>", r"a\|b \*c\* \[d\](e) \`f\` \<script\>"),
        ("# no title", r"\# no title"),
        ("1. no list", r"1\. no list"),
        ("- no item", r"\- no item"),
        ("&lt;", r"\&lt;"),
        ("back\\slash", r"back\\slash"),
    ],
)
def test_markup_is_escaped_and_words_stay_readable(text, safe):
    assert markup_free(text) == safe


def test_long_reports_are_cut_and_can_be_had_whole():
    many = replace(NOT_REQUESTED, evidence=tuple(Evidence(f"line {number}") for number in range(30)))
    waiting = [replace(HELD, summary=f"group {number} waits") for number in range(30)]
    text = to_markdown(incident(many, *waiting, leads=(3,)))
    assert "- line 9\n- … 20 more lines\n" in text
    assert "- group 9 waits\n\n… 20 more waiting\n" in text
    whole = to_markdown(incident(many, *waiting, leads=(3,)), everything=True)
    assert "- line 29\n" in whole
    assert "- group 29 waits\n" in whole


def test_of_those_that_wait_what_the_lead_does_not_say_is_said():
    own = replace(
        HELD, evidence=(NOT_REQUESTED.evidence[1], Evidence("rank 0: requested 9")), not_concluded=("that x", "that y")
    )
    told = replace(NOT_REQUESTED, not_concluded=("that x",))
    text = to_markdown(incident(told, own, leads=(3,)))
    assert f"- {HELD.summary}\n  - rank 0: requested 9\n\nMust not be concluded:\n\n- that y\n" in text
