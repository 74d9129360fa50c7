"""Every term that the screens use is explained in the help: the terms are taken from where the program has them."""

from __future__ import annotations

import re

import pytest

from hangview.report.page import lead_words
from hangview.schema import CellState, SourceStatus
from hangview.terms import Kind, Role, Side
from hangview.tui.prose import Tone, plain
from hangview.tui.text.banner import banner
from hangview.tui.text.common import ROLE_WORDS
from hangview.tui.text.entry import entry_lines
from hangview.tui.text.finding import finding_lines
from hangview.tui.text.glossary import FILES, HEADS, KINDS, SIDES, STATES, file_word
from hangview.tui.text.help import help_lines
from hangview.tui.text.rank import rank_lines
from tests.support import incidents

#: The words of the project's own list (docs and README use them too).
DESIGN = ("attempt", "rank", "group", "lane", "seq", "entry", "call", "window", "divergence", "finding", "lead", "waiting")


def explained() -> dict[str, str]:
    """Every term of the help with what it says of it; terms that stand together count each by itself."""
    told: dict[str, str] = {}
    for each in help_lines(ascii_only=False):
        spans = [span for span in each.spans if span.text.strip()]
        if each.spans and each.spans[0].text == "  " and len(spans) >= 2:
            at = 1 if len(spans) == 3 else 0  # a cell has its sign before its word
            for term in re.split(r",\s+", spans[at].text.strip()):
                told[term] = spans[at + 1].text.strip()
    return told


def test_every_state_kind_side_role_and_status_has_words_of_its_own():
    assert set(STATES) == set(CellState)
    assert set(KINDS) == set(Kind)
    assert set(SIDES) == set(Side) - {Side.UNKNOWN}
    assert set(FILES) == set(SourceStatus)
    told = explained()
    terms = [
        *(state.word for state in CellState), *(kind.words for kind in Kind), "host side", "device side",
        *(file_word(status) for status in SourceStatus), *(ROLE_WORDS[role] for role in Role), *DESIGN,
    ]  # fmt: skip
    assert [term for term in terms if not told.get(term)] == []


@pytest.mark.parametrize("name", ["four_ranks", "tie", "cycle", "missing_dump", "healthy", "nothing_called", "no_files"])
def test_what_stands_first_is_explained(name):
    incident = getattr(incidents, name)()
    heads = {word for key in HEADS for word in key.split(", ")}
    leads = [each for each in incident.findings if each.role is Role.LEAD]
    assert set(lead_words(incident, leads)) <= heads
    answer = banner(incident, None, incident.paths, "")[1]
    assert answer.spans[0].text.strip() in heads


def test_words_of_the_panes_are_explained():
    """``retired``, the columns of a rank's table, the headings of a finding."""
    told, incident = explained(), incidents.four_ranks()
    entry = plain(entry_lines(incident, incident.view.call(0, "collective", 42), 0))
    for term in ("not retired", "as recorded", "as read", "time-out"):
        assert term in entry
        assert told[term]
    table = plain(rank_lines(incident, 3))
    for term in ("newest", "done", "open", "oldest", "newest from"):
        assert term in table
        assert told[term]
    finding = finding_lines(incident, incident.findings[0])
    headings = {span.text.strip() for each in finding for span in each.spans if span.tone is Tone.HEAD}
    assert {"compare first", "must not be concluded"} <= headings & set(told)


def test_the_words_that_name_nobody_guilty_do_not_occur():
    assert not re.search("culprit|guilty|cause|blame", plain(help_lines(ascii_only=False)))
