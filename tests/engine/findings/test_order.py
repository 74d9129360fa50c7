"""Order of findings, whom they name, and their words."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hangview.engine.findings import leads, names, ordered
from hangview.engine.words import COMPARE_FIRST, NOT_CONCLUDED, compare_first, not_concluded
from hangview.terms import Finding, Kind, Role, Side


def finding(kind: Kind, role: Role, group: int | None = 0, seq: int | None = 1, ranks: tuple[int, ...] = (3,)) -> Finding:
    return Finding(kind, role, ranks, (0, 1), group, "collective", seq, "all_reduce", Side.HOST, "said")


def test_leads_come_first_then_notes_then_what_waits():
    found = [
        finding(Kind.WAITING, Role.WAITING),
        finding(Kind.STRAGGLER, Role.NOTE),
        finding(Kind.NOT_REQUESTED, Role.LEAD, group=9, seq=99),
    ]
    assert [f.role for f in ordered(found)] == [Role.LEAD, Role.NOTE, Role.WAITING]


def test_within_a_role_by_group_and_seq_whatever_the_order():
    found = [finding(Kind.NOT_REQUESTED, Role.LEAD, group, seq) for group in (None, 0, 1, 10) for seq in (2, 10, 100)]
    for seed in range(4):
        shuffled = found[:]
        random.Random(seed).shuffle(shuffled)
        assert list(ordered(shuffled)) == found


def test_of_one_group_by_seq_whatever_the_lane():
    """CONTRACT: within a role by group and seq."""
    found = [
        replace(finding(Kind.WAITING, Role.WAITING, 0, seq), lane=lane) for seq in (1, 2) for lane in ("collective", "p2p 0->1")
    ]
    assert list(ordered(reversed(found))) == found


def test_how_the_process_ended_stands_behind_what_the_dumps_show():
    ended, asked = finding(Kind.PROCESS_ENDED, Role.LEAD), finding(Kind.UNPAIRED_P2P, Role.LEAD)
    assert ordered([ended, asked]) == (asked, ended)


@pytest.mark.parametrize("role", [Role.NOTE, Role.WAITING])
def test_only_leads_name_ranks(role):
    assert names(finding(Kind.NOT_REQUESTED, role)) == ()


@pytest.mark.parametrize("kind", [Kind.NOT_OBSERVED, Kind.NOT_COMPLETED, Kind.ORDER_CYCLE])
def test_kinds_that_name_nobody(kind):
    assert leads([finding(kind, Role.LEAD)]) == ()


@pytest.mark.parametrize("kind", [Kind.NOT_REQUESTED, Kind.DIFFERENT_SIZE, Kind.PARTLY_COMPLETED, Kind.PROCESS_ENDED])
def test_a_side_without_another_side_names_nobody(kind):
    """A tie, a rooted call that some finished: the ranks are shown."""
    assert leads([finding(kind, Role.LEAD)]) == (3,)
    assert leads([replace(finding(kind, Role.LEAD), others=())]) == ()


def test_leads_are_ascending_and_once_each():
    found = [finding(Kind.NOT_REQUESTED, Role.LEAD, ranks=(7, 9)), finding(Kind.PROCESS_ENDED, Role.LEAD, ranks=(2, 7))]
    assert leads(found) == (2, 7, 9)


# -- words ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_says_what_to_compare_and_what_must_not_be_concluded(kind):
    first, never = compare_first(kind, "rank 3"), not_concluded(kind, "rank 3")
    assert first
    assert never
    assert all(each.startswith("that ") for each in never)  # they stand in one list, below "must not be concluded"
    assert "{" not in first + "".join(never)


@pytest.mark.parametrize("kind", Kind)
def test_nobody_is_called_names(kind):
    said = " ".join((COMPARE_FIRST[kind], *NOT_CONCLUDED[kind])).lower()
    for word in ("culprit", "guilty", "blame", "cause"):
        assert word not in said.replace("because", "")


def test_the_ranks_that_it_is_about_are_named_in_the_words():
    assert compare_first(Kind.DIFFERENT_SIZE, "ranks 5-6").endswith("on ranks 5-6")
    assert not_concluded(Kind.NOT_OBSERVED, "rank 3")[0] == "that rank 3 skipped the call"
