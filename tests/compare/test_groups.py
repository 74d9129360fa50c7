"""Which group of one set is which of the other: nothing is paired by chance."""

from __future__ import annotations

from hangview.compare.groups import match_groups
from hangview.terms import Group


def groups(*rows: tuple[str, str, tuple[int, ...]], inferred: bool = False) -> tuple[Group, ...]:
    return tuple(Group(number, name, desc, ranks, inferred) for number, (name, desc, ranks) in enumerate(rows))


def told(ones: tuple[Group, ...], others: tuple[Group, ...]) -> list[tuple[int | None, int | None, str]]:
    return [(m.a.id if m.a else None, m.b.id if m.b else None, m.by) for m in match_groups(ones, others)]


def test_description_and_members_match_whatever_the_name():
    """Names are counters: a group more before it moves them by one."""
    one = groups(("0", "default_pg", (0, 1)), ("1", "dp", (0, 1)))
    other = groups(("0", "default_pg", (0, 1)), ("7", "tp", (0, 1)), ("8", "dp", (1, 0)))
    assert told(one, other) == [
        (0, 0, "name, description and members"),
        (1, 2, "description and members"),
        (None, 1, ""),
    ]


def test_groups_that_only_their_names_tell_apart_are_matched_by_name():
    one = groups(("1", "dp", (0, 1)), ("2", "dp", (0, 1)))
    other = groups(("2", "dp", (0, 1)), ("1", "dp", (0, 1)))
    assert told(one, other) == [(0, 1, "name, description and members"), (1, 0, "name, description and members")]


def test_an_undefined_description_says_nothing():
    one, other = groups(("3", "undefined", (2, 3))), groups(("3", "", (2, 3)))
    assert told(one, other) == [(0, 0, "name and members")]
    assert told(one, groups(("3", "pp", (2, 3)))) == [(0, 0, "name and members")]


def test_another_description_is_another_group():
    assert told(groups(("3", "tp", (2, 3))), groups(("3", "pp", (2, 3)))) == [(0, None, ""), (None, 0, "")]


def test_earlier_generations_are_paired_with_nothing():
    """The job of the first set made its default group anew: its newest is the one that the other set has."""
    newest, old = Group(0, "0", "default_pg", (0, 1)), Group(1, "0", "default_pg", (0, 1), earlier=True)
    assert told((newest, old), (newest,)) == [(0, 0, "name, description and members"), (1, None, "")]
    assert told((newest,), (newest, old)) == [(0, 0, "name, description and members"), (None, 1, "")]


def test_what_nothing_tells_apart_is_not_paired():
    one = groups(("1", "dp", (0, 1)), ("2", "dp", (0, 1)))
    other = groups(("5", "dp", (0, 1)), ("6", "dp", (0, 1)))
    found = match_groups(one, other)
    assert all(match.a is None or match.b is None for match in found)
    assert len(found) == 4
    assert all("neither description nor name" in match.doubt for match in found)


def test_members_inferred_from_fewer_dumps_match_by_name_and_description():
    assert told(groups(("1", "tp", (0, 1)), inferred=True), groups(("1", "tp", (0, 1, 2)))) == [(0, 0, "name and description")]
    assert told(groups(("1", "tp", (0, 3)), inferred=True), groups(("1", "tp", (0, 1, 2)))) == [(0, None, ""), (None, 0, "")]


def test_the_default_group_is_one_group_whatever_the_size_of_the_world():
    one = groups(("0", "default_pg", (0, 1)), ("1", "dp", (0, 1)))
    other = groups(("0", "default_pg", (0, 1, 2, 3)), ("1", "dp", (0, 1, 2, 3)))
    assert told(one, other) == [(0, 0, "the default group"), (1, None, ""), (None, 1, "")]
