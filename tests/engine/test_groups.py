"""Which groups there are: (name, member set), members inferred where nothing gives them, and what ranks say differently."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hangview.engine.groups import resolve
from hangview.schema import SourceStatus
from hangview.terms import Group, told_apart
from tests.engine.support import OPEN, WORLD, Pg, alike, look, lost, rank, records

if TYPE_CHECKING:
    from hangview.schema import Source
    from tests.engine.support import Dump


def groups(*dumps: Dump | Source) -> tuple[Group, ...]:
    return resolve(records(*dumps)).groups


def short(*dumps: Dump | Source) -> list[tuple[str, tuple[int, ...]]]:
    return [(g.name, g.ranks) for g in groups(*dumps)]


def disputes(*dumps: Dump | Source) -> list[tuple[str, str, Any, tuple[int, ...]]]:
    return [(d.about, d.name, d.views, d.minority) for d in resolve(records(*dumps)).disputes]


def of(number: int, *known: Pg) -> Dump:
    """A rank with a record in each of these groups."""
    dump = rank(number)
    for group in known:
        dump.call("all_reduce", 1, group=group)
    return dump


# -- identity ------------------------------------------------------------------------------------------------------------


def test_one_group_that_all_members_configure():
    (found,) = groups(*(of(r, WORLD) for r in range(4)))
    assert (found.id, found.name, found.desc, found.ranks, found.inferred) == (0, "0", "default_pg", (0, 1, 2, 3), False)


def test_equal_names_on_other_members_are_other_groups():
    low, high = Pg("7", "tp", (0, 1)), Pg("7", "tp", (2, 3))
    assert short(of(0, low), of(1, low), of(2, high), of(3, high)) == [("7", (0, 1)), ("7", (2, 3))]


def test_equal_members_under_two_names_are_two_groups_where_a_rank_knows_both():
    one, two = Pg("1", "dp", (0, 1)), Pg("2", "dp", (0, 1))
    assert short(of(0, one, two), of(1, one, two)) == [("1", (0, 1)), ("2", (0, 1))]


def test_a_group_without_records_is_known_by_its_configuration():
    assert short(rank(0).knows(WORLD)) == [("0", (0, 1, 2, 3))]


def test_members_keep_the_order_of_the_group():
    """The position is the rank within the group, which names of sends and receives use."""
    odd = Pg("5", "ring", (3, 1, 0, 2))
    assert groups(of(1, odd), of(0, odd))[0].ranks == (3, 1, 0, 2)


def test_groups_go_by_size_then_by_name_as_a_number_then_by_members():
    world = Pg("0", "default_pg", (0, 1, 2, 3))
    ten, two = Pg("10", "a", (0, 1)), Pg("2", "b", (0, 1))
    far = Pg("2", "b", (2, 3))
    dumps = [of(0, ten, two, world), of(1, world, ten, two), of(2, far, world), of(3, world, far)]
    expected = [("0", (0, 1, 2, 3)), ("2", (0, 1)), ("2", (2, 3)), ("10", (0, 1))]
    for seed in range(4):
        random.Random(seed).shuffle(dumps)
        assert short(*dumps) == expected


def test_every_record_finds_its_group():
    low, high = Pg("7", "tp", (0, 1)), Pg("7", "tp", (2, 3))
    grouping = resolve(records(of(0, low), of(1, low), of(2, high), of(3, high)))
    assert dict(grouping.of_label.select("source", "group").iter_rows()) == {0: 0, 1: 0, 2: 1, 3: 1}


def test_a_rank_without_a_configuration_learns_the_members_from_another():
    assert groups(of(0, WORLD), of(1, WORLD).unconfigured()) == groups(of(0, WORLD), of(1, WORLD))


def test_a_rank_that_others_place_in_two_groups_of_one_name_is_in_neither():
    one, two, unsaid = Pg("7", "tp", (0, 2)), Pg("7", "tp", (1, 2)), Pg("7", "tp", ())
    assert short(of(0, one), of(1, two), of(2, unsaid)) == [("7", (0, 2)), ("7", (1, 2)), ("7", (2,))]


def test_a_configuration_that_lists_no_members_says_nothing():
    (found,) = groups(of(0, Pg("7", "tp", ())), of(1, Pg("7", "tp", ())))
    assert (found.ranks, found.inferred) == ((0, 1), True)


def test_a_file_that_is_of_no_use_makes_no_group():
    assert groups(lost(0), lost(1)) == ()


# -- inferred members ----------------------------------------------------------------------------------------------------


def gloo(number: int, *known: Pg) -> Dump:
    dump = rank(number, "gloo")
    for group in known:
        dump.call("all_reduce", 1, group=group)
    return dump


def test_the_default_group_of_gloo_is_every_rank_that_is_known_of():
    (found,) = groups(gloo(0, WORLD), gloo(1, WORLD), lost(2))
    assert (found.ranks, found.inferred) == ((0, 1, 2), True)


def test_a_file_of_another_attempt_adds_no_rank_to_the_default_group():
    (found,) = groups(gloo(0, WORLD), gloo(1, WORLD), lost(7, SourceStatus.OTHER_ATTEMPT))
    assert found.ranks == (0, 1)


def test_ranks_count_from_0_so_a_hole_is_a_rank():
    assert groups(gloo(0, WORLD), gloo(1, WORLD), gloo(3, WORLD))[0].ranks == (0, 1, 2, 3)


def test_a_number_far_beyond_the_others_may_be_no_rank_and_proves_nothing():
    assert groups(gloo(0, WORLD), gloo(40_213, WORLD))[0].ranks == (0, 40_213)


def test_ranks_that_a_file_shows_to_exist_are_members_of_the_default_group():
    """Rank 3, the last one, left no file: gloo's key '' has the numbers 0 to 3 all the same."""
    said = replace(records(*(gloo(r, WORLD) for r in range(3))), exist=(0, 1, 2, 3))
    found = resolve(said)
    assert found.groups[0].ranks == (0, 1, 2, 3)
    assert found.sizes == {0: 4}
    assert found.world == {0, 1, 2, 3}


def test_ranks_that_logs_tell_of_are_members_of_the_default_group():
    assert resolve(records(gloo(0, WORLD), gloo(1, WORLD)), (2,)).groups[0].ranks == (0, 1, 2)


def test_but_not_of_one_that_is_configured():
    assert resolve(records(*(of(r, WORLD) for r in range(4))), (7,)).groups[0].ranks == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("gathered", "members", "size"),
    [
        ([(8, 32)], (0, 1, 2, 3), 4),
        ([(8, 32), (2, 8)], (0, 1, 2, 3), 4),
        ([(8, 32), (2, 4)], (0, 1, 2), None),  # they contradict each other
        ([(8, 30)], (0, 1, 2), None),
        ([(0, 0)], (0, 1, 2), None),
    ],
)
def test_an_all_gather_tells_how_many_members_its_group_has(gathered, members, size):
    dumps = [rank(r, "gloo") for r in range(3)]
    for dump in dumps:
        for seq, (sent, received) in enumerate(gathered, 1):
            dump.call("all_gather", seq, size=sent, out=received)
    found = resolve(records(*dumps))
    assert (found.groups[0].ranks, found.sizes.get(0)) == (members, size)


def test_a_group_of_n_shows_a_world_of_n_and_not_who_its_members_are():
    """Three ranks recorded a group of four; which fourth one it is nobody says."""
    tp = Pg("tp", "tp", (0, 1, 2, 3))
    found = resolve(records(*(rank(r, "gloo").call("all_gather", 1, group=tp, size=8, out=32) for r in (4, 5, 6))))
    assert (found.groups[0].ranks, found.sizes) == ((4, 5, 6), {0: 4})
    assert found.world == frozenset(range(7))


def test_where_there_are_other_groups_the_numbers_may_be_of_one_of_these():
    """torch 2.15 writes the numbers within the group that was made last: they prove no more than that these ranks exist."""
    low = Pg("tp", "tp", (0, 1))
    said = replace(records(gloo(0, WORLD, low), gloo(1, WORLD, low)), exist=(0, 1))
    assert resolve(said).sizes == {}


def test_other_groups_of_gloo_are_the_ranks_that_recorded_them():
    low, high = Pg("low", "", (0, 1)), Pg("high", "", (2, 3))
    found = groups(gloo(0, low), gloo(1, low), gloo(2, high), gloo(3, high))
    assert [(g.name, g.ranks, g.inferred) for g in found] == [("high", (2, 3), True), ("low", (0, 1), True)]


def test_the_description_tells_inferred_groups_of_one_name_apart():
    tp, dp = Pg("7", "tp", (0, 1)), Pg("7", "dp", (2, 3))
    assert {(g.desc, g.ranks) for g in groups(gloo(0, tp), gloo(1, tp), gloo(2, dp), gloo(3, dp))} == {
        ("tp", (0, 1)),
        ("dp", (2, 3)),
    }


def test_unnamed_groups_are_told_apart_by_the_order_of_their_creation():
    """TORCH_DISTRIBUTED_DEBUG=DETAIL: two groups named '' in one process, and pg_ids count differently on each."""
    found = groups(
        gloo(0, Pg("", "default_pg", (0, 1), 0), Pg("", "default_pg", (0, 1), 1)),
        gloo(1, Pg("", "default_pg", (0, 1), 2), Pg("", "default_pg", (0, 1), 5)),
    )
    assert [(g.name, g.ranks) for g in found] == [("", (0, 1)), ("", (0, 1))]
    grouping = resolve(
        records(
            gloo(0, Pg("", "default_pg", (0, 1), 0), Pg("", "default_pg", (0, 1), 1)),
            gloo(1, Pg("", "default_pg", (0, 1), 2), Pg("", "default_pg", (0, 1), 5)),
        )
    )
    placed = {(source, pg_id): g for source, pg_id, g in grouping.of_label.select("source", "pg_id", "group").iter_rows()}
    assert placed[0, 0] == placed[1, 2]
    assert placed[0, 1] == placed[1, 5]
    assert placed[0, 0] != placed[0, 1]


# -- one group, several names --------------------------------------------------------------------------------------------


def test_names_that_are_counters_may_differ_between_the_ranks_of_one_group():
    seven, eight = Pg("7", "dp", (0, 1, 2, 3)), Pg("8", "dp", (0, 1, 2, 3))
    dumps = [of(0, seven), of(1, seven), of(2, seven), of(3, eight)]
    assert short(*dumps) == [("7", (0, 1, 2, 3))]
    assert disputes(*dumps) == [("name", "7", (("name '7'", (0, 1, 2)), ("name '8'", (3,))), (3,))]


def test_of_two_names_that_as_many_ranks_use_the_lower_is_kept_and_nobody_is_off():
    seven, eight = Pg("7", "dp", (0, 1, 2, 3)), Pg("8", "dp", (0, 1, 2, 3))
    dumps = [of(0, eight), of(1, eight), of(2, seven), of(3, seven)]
    assert short(*dumps) == [("7", (0, 1, 2, 3))]
    assert [d[3] for d in disputes(*dumps)] == [()]


def test_groups_that_nothing_describes_are_not_made_one():
    seven, eight = Pg("7", "", (0, 1)), Pg("8", "undefined", (0, 1))
    assert short(of(0, seven), of(1, eight)) == [("7", (0, 1)), ("8", (0, 1))]


def test_groups_of_one_rank_are_not_made_one():
    one, two = Pg("7", "dp", (0,)), Pg("8", "dp", (0,))
    assert len(groups(of(0, one, two))) == 2


# -- disagreement --------------------------------------------------------------------------------------------------------


def test_a_rank_that_gives_its_group_other_members_is_in_dispute():
    mine, theirs = Pg("7", "dp", (2, 3)), Pg("7", "dp", (0, 1, 2, 3))
    dumps = [of(0, theirs), of(1, theirs), of(2, theirs), of(3, mine)]
    assert disputes(*dumps) == [("members", "7", (("members 0-3", (0, 1, 2)), ("members 2-3", (3,))), (3,))]


def test_no_side_of_an_even_dispute_is_the_minority():
    mine, theirs = Pg("7", "dp", (2, 3)), Pg("7", "dp", (0, 1, 2, 3))
    ((_, _, _, minority),) = disputes(of(0, theirs), of(1, theirs), of(2, mine), of(3, mine))
    assert minority == ()


def test_disjoint_groups_of_one_name_are_no_dispute():
    low, high = Pg("7", "tp", (0, 1)), Pg("7", "tp", (2, 3))
    assert disputes(of(0, low), of(1, low), of(2, high), of(3, high)) == []


@pytest.mark.parametrize("empty", ["", "undefined"])
def test_an_empty_description_disagrees_with_nothing(empty):
    said, unsaid = Pg("7", "dp", (0, 1)), Pg("7", empty, (0, 1))
    assert disputes(of(0, said), of(1, unsaid)) == []
    assert groups(of(0, said), of(1, unsaid))[0].desc == "dp"


def test_two_descriptions_of_one_group_are_a_dispute():
    dp, tp = Pg("7", "dp", (0, 1, 2)), Pg("7", "tp", (0, 1, 2))
    assert disputes(of(0, dp), of(1, tp), of(2, dp)) == [
        ("description", "7", (("description 'dp'", (0, 2)), ("description 'tp'", (1,))), (1,))
    ]


def test_a_group_is_called_as_most_of_its_ranks_call_it():
    """Not as the first one by the alphabet does."""
    most, odd = Pg("7", "model", (0, 1, 2)), Pg("7", "aaa", (0, 1, 2))
    assert [g.desc for g in groups(of(0, odd), of(1, most), of(2, most))] == ["model"]
    assert [g.desc for g in groups(of(0, odd), of(1, most))] == ["aaa"]


def test_what_each_file_configures_is_kept():
    tp = Pg("7", "tp", (0, 1))
    grouping = resolve(records(of(0, WORLD).knows(tp), of(1, WORLD)))
    assert [g.name for g in grouping.groups] == ["0", "7"]
    assert grouping.configured == {(0, 0), (0, 1), (1, 0)}


def test_a_dump_more_changes_the_groups_of_the_others_in_nothing():
    seven = Pg("7", "tp", (0, 1))
    before = groups(of(0, WORLD, seven), of(1, WORLD, seven))
    assert groups(of(0, WORLD, seven), of(1, WORLD, seven), *alike((2, 3), "all_reduce", 5)) == before


def test_a_member_that_says_nothing_may_be_of_the_minoritys_view():
    """Ranks 0 and 2 say 0-2, rank 1 says 0, 1 and 3: what rank 3 would say is not known, and it may be 2 against 2."""
    theirs, mine = Pg("1", "sub", (0, 1, 2)), Pg("1", "sub", (0, 1, 3))
    ((_, _, _, minority),) = disputes(of(0, theirs), of(1, mine), of(2, theirs), of(3, WORLD))
    assert minority == ()


# -- names in sentences --------------------------------------------------------------------------------------------------


def called(*groups: tuple[str, str, tuple[int, ...]]) -> list[str]:
    """What groups given as (name, description, ranks) are called in sentences."""
    return [each.label for each in told_apart([Group(at, *group) for at, group in enumerate(groups)])]


@pytest.mark.parametrize(
    ("made", "names"),
    [
        ([("0", "default_pg", (0, 1)), ("1", "dp", (0, 1))], ["default_pg", "dp"]),
        ([("1", "dp", (0, 1)), ("2", "dp", (2, 3)), ("0", "default_pg", (0, 1, 2, 3))], ["dp[0-1]", "dp[2-3]", "default_pg"]),
        ([("1", "dp", tuple(range(0, 64, 8))), ("2", "dp", tuple(range(1, 64, 8)))], ["dp[0,8,16,…]", "dp[1,9,17,…]"]),
        ([("4", "dp", (0, 1)), ("7", "dp", (0, 1))], ["dp[0-1, group 4]", "dp[0-1, group 7]"]),
        ([("dp", "", (0, 1)), ("dp", "undefined", (0, 1))], ["dp[0-1, number 0]", "dp[0-1, number 1]"]),
    ],
)
def test_groups_that_are_called_the_same_are_told_apart_in_sentences(made, names):
    assert called(*made) == names
    assert len(set(names)) == len(names)


def test_the_finding_of_a_replica_says_which_one_it_is():
    """Two replicas, each with a group called "replica"; rank 3 did not come to the second one's call 2."""
    one, other = Pg("1", "replica", (0, 1)), Pg("2", "replica", (2, 3))
    labels = {each.ranks: each.label for each in groups(of(0, one), of(1, one), of(2, other), of(3, other))}
    assert labels == {(0, 1): "replica[0-1]", (2, 3): "replica[2-3]"}


def test_a_size_that_no_job_has_makes_no_ranks():
    """Signatures are what somebody wrote: an all_gather of 1 into a million million would be a world without end."""
    dumps = [rank(r, "gloo").call("all_gather", 1, OPEN, size=1, out=10**12) for r in range(2)]
    assert look(*dumps).coverage.expected == (0, 1)


def test_a_rank_far_beyond_all_others_has_none_missing_before_it():
    """A number in a log that is no rank."""
    dumps = records(*(rank(r, "gloo").call("all_reduce", 1, OPEN) for r in range(2)))
    assert resolve(dumps, (9 * 10**8,)).world == {0, 1, 9 * 10**8}
