"""Unfinished calls: who requested them, who did not, whom nothing tells of, and whether the requests agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hangview.terms import Kind
from tests.engine.support import DONE, FAILED, ISSUED, OPEN, STARTED, WORLD, Pg, alike, lost, rank, steps

if TYPE_CHECKING:
    from hangview.engine.stalls import Mismatch, Stall
    from hangview.schema import Source
    from tests.engine.support import Dump

TP = Pg("7", "tp", (0, 1, 2, 3))


def stall(seq: int, *dumps: Dump | Source, group: Pg = WORLD) -> Stall:
    found = steps(*dumps)
    return found.stalls[found.group(group), seq]


def where(*dumps: Dump | Source) -> list[int]:
    """Seqs of all stalls of the default group."""
    return [seq for _, seq in sorted(steps(*dumps).stalls)]


# -- who is where --------------------------------------------------------------------------------------------------------


def test_every_member_is_on_one_side_of_an_unfinished_call():
    found = stall(
        42,
        rank(0).calls("all_reduce", 1, 41).call("broadcast", 42, OPEN),
        rank(1).calls("all_reduce", 1, 41).call("broadcast", 42),
        rank(2).calls("all_reduce", 1, 41),
        lost(3),
    )
    assert (found.waiting, found.done, found.missing, found.unobserved) == ((0,), (1,), (2,), (3,))
    assert found.family == "broadcast"
    assert not found.passed


def test_started_and_failed_requests_are_unfinished_too():
    dumps = [rank(0).call("all_reduce", 1, STARTED), rank(1).call("all_reduce", 1, FAILED), rank(2), rank(3)]
    assert stall(1, *(d.knows(WORLD) for d in dumps)).waiting == (0, 1)


def test_of_several_open_calls_the_first_of_each_rank_counts():
    dumps = [rank(r).calls("all_reduce", 1, 41).calls("all_reduce", 42, 45, OPEN) for r in range(3)]
    assert where(*dumps, rank(3).calls("all_reduce", 1, 41)) == [42]


def test_ranks_that_wait_at_different_calls_make_a_stall_each():
    dumps = [*alike((0, 1), "all_reduce", 42), rank(2).calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN)]
    assert where(*dumps, rank(3).calls("all_reduce", 1, 42)) == [42, 43]


def test_nothing_open_no_stall():
    assert where(*(rank(r).calls("all_reduce", 1, 41) for r in range(4))) == []


def test_a_dump_that_lacks_the_group_is_missing_and_said_to_be_absent():
    dumps = [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 1, OPEN, group=TP) for r in range(3)]
    found = stall(1, *dumps, rank(3).calls("all_reduce", 1, 3), group=TP)
    assert (found.missing, found.absent) == ((3,), (3,))


def test_a_dump_that_is_older_is_not_observed():
    dumps = [rank(0).calls("all_reduce", 1, 42), *(rank(r).calls("all_reduce", 1, 41) for r in (1, 2))]
    dumps[0].call("all_reduce", 43, OPEN)
    found = stall(43, *dumps, rank(3).calls("all_reduce", 1, 41))
    assert (found.missing, found.unobserved, found.older) == ((), (1, 2, 3), (1, 2, 3))


def test_a_cut_file_is_not_observed():
    assert stall(42, *alike((0, 1, 2), "all_reduce", 42), rank(3).calls("all_reduce", 1, 9).cut()).unobserved == (3,)


def test_a_rank_whose_record_was_overwritten_did_request_it():
    """Its newest is beyond: older records are gone, and that is no absence."""
    dumps = alike((0, 1, 2), "broadcast", 42)
    found = stall(42, *dumps, rank(3).wrapped().calls("broadcast", 50, 60))
    assert (found.missing, found.unobserved, found.done) == ((), (), (3,))


def test_a_rank_whose_counters_go_further_did_request_it():
    found = stall(42, *alike((0, 1, 2), "all_reduce", 42), rank(3).only_active().knows(WORLD).counts(42, 41))
    assert (found.waiting, found.missing, found.unobserved) == ((0, 1, 2, 3), (), ())


@pytest.mark.parametrize("library", ["gloo", "nccl"])
def test_a_rank_that_skipped_the_number_was_not_observed_to_request_it(library):
    """Its dump is whole and goes from 41 to 44: it made a call that leaves no record (gloo's monitored_barrier takes two)."""
    dumps = [rank(r, library).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in range(3)]
    found = stall(42, *dumps, rank(3, library).calls("all_reduce", 1, 41).call("all_reduce", 44, OPEN))
    assert 3 in (*found.missing, *found.unobserved)


def test_numbers_that_are_not_judged_make_no_stall():
    """About torch 2.5 batches took numbers of the lane."""
    busy = rank(0).batch(0, to=(1,), seq=1).batch(0, to=(1,), seq=2).call("all_reduce", 3, OPEN)
    assert where(busy, *(rank(r).call("all_reduce", 1) for r in (1, 2, 3))) == []


# -- passed: others completed it -----------------------------------------------------------------------------------------


def test_a_call_that_needs_everyone_and_that_a_member_completed_is_passed():
    dumps = [rank(0).calls("all_reduce", 1, 41), *alike((1,), "all_reduce", 41, OPEN)]
    found = stall(41, *dumps, *(rank(r).calls("all_reduce", 1, 41) for r in (2, 3)))
    assert (found.passed, found.waiting, found.done) == (True, (1,), (0, 2, 3))


def test_a_later_completed_call_passes_the_earlier_ones():
    """Its own record of 41 is long overwritten."""
    dumps = [rank(r).wrapped().calls("all_reduce", 50, 60) for r in (0, 2, 3)]
    found = stall(41, *dumps, rank(1).calls("all_reduce", 1, 40).calls("all_reduce", 41, 60, OPEN))
    assert found.passed


def test_a_rooted_call_is_not_passed_by_one_that_is_over():
    dumps = [rank(0).call("broadcast", 1), *(rank(r).call("broadcast", 1, OPEN) for r in (1, 2, 3))]
    assert not stall(1, *dumps).passed


def test_what_gloo_says_is_over_may_have_failed_and_passes_nothing():
    dumps = [rank(0, "gloo").calls("all_reduce", 1, 2), *(rank(r, "gloo").call("all_reduce", 1) for r in (1, 2, 3))]
    for dump in dumps[1:]:
        dump.call("all_reduce", 2, OPEN)
    found = stall(2, *dumps)
    assert (found.waiting, found.done, found.passed) == ((1, 2, 3), (0,), False)


# -- recorders that do not say how a work ended --------------------------------------------------------------------------


@pytest.mark.parametrize(("library", "how"), [("gloo", DONE), ("fake", ISSUED)])
def test_a_call_that_a_member_did_not_request_cannot_have_ended_well(library, how):
    """gloo retires a request that timed out; a hook without completion retires all at issue."""
    dumps = [rank(r, library).calls("all_reduce", 1, 42, how) for r in range(3)]
    found = stall(42, *dumps, rank(3, library).calls("all_reduce", 1, 41, how))
    assert (found.waiting, found.missing) == ((0, 1, 2), (3,))


@pytest.mark.parametrize(("library", "how"), [("gloo", DONE), ("fake", ISSUED)])
def test_a_rooted_call_may_have_ended_well_although_a_member_did_not_request_it(library, how):
    """The root is over before the others come."""
    dumps = [rank(r, library).calls("broadcast", 1, 41, how) for r in range(4)]
    dumps[0].call("broadcast", 42, how)
    assert where(*dumps) == []


def test_completed_calls_of_nccl_are_never_taken_for_unfinished():
    dumps = [rank(r).calls("broadcast", 1, 42) for r in range(3)]
    assert where(*dumps, rank(3).calls("broadcast", 1, 41)) == []


# -- what the requests disagree on ---------------------------------------------------------------------------------------


Asked = tuple[str, dict[str, Any]]


def asked(*what: Asked | None) -> Mismatch | None:
    """Four ranks at call 1, each with (op, how); None: no dump."""
    dumps: list[Dump | Source] = []
    for number, one in enumerate(what):
        if one is None:
            dumps.append(lost(number))
        else:
            op, rest = one
            dumps.append(rank(number).call(op, 1, OPEN, **rest))
    return stall(1, *dumps).mismatch


REDUCE: Asked = ("all_reduce", {})
HALF: Asked = ("all_reduce", {"dtype": "Half"})
SHORT: Asked = ("all_reduce", {"size": 512})
GATHER: Asked = ("all_gather", {"size": 1024, "out": 4096})


@pytest.mark.parametrize(
    ("odd", "kind"), [(GATHER, Kind.DIFFERENT_OP), (SHORT, Kind.DIFFERENT_SIZE), (HALF, Kind.DIFFERENT_DTYPE)]
)
def test_one_of_four_that_requests_something_else_is_the_minority(odd, kind):
    found = asked(REDUCE, REDUCE, REDUCE, odd)
    assert found is not None
    assert (found.kind, found.minority) == (kind, (3,))
    assert [side.ranks for side in found.sides] == [(0, 1, 2), (3,)]


def test_rank_0_can_be_the_minority():
    found = asked(GATHER, REDUCE, REDUCE, REDUCE)
    assert found is not None
    assert found.minority == (0,)


@pytest.mark.parametrize("odd", [GATHER, SHORT, HALF])
def test_two_against_two_names_nobody(odd):
    found = asked(REDUCE, odd, REDUCE, odd)
    assert found is not None
    assert found.minority == ()


def test_the_operation_comes_before_the_size_and_the_size_before_the_dtype():
    both: Asked = ("all_reduce", {"size": 512, "dtype": "Half"})
    assert asked(REDUCE, REDUCE, REDUCE, both).kind is Kind.DIFFERENT_SIZE  # type: ignore[union-attr]
    three: Asked = ("all_gather", {"size": 512, "out": 2048, "dtype": "Half"})
    assert asked(REDUCE, REDUCE, REDUCE, three).kind is Kind.DIFFERENT_OP  # type: ignore[union-attr]


def test_what_is_equal_is_no_mismatch():
    assert asked(REDUCE, REDUCE, REDUCE, REDUCE) is None


def test_a_majority_that_a_rank_without_a_dump_could_overturn_names_nobody():
    """Two against one, and the fourth rank is unknown: two against two is possible."""
    found = asked(REDUCE, REDUCE, GATHER, None)
    assert found is not None
    assert (found.kind, found.minority) == (Kind.DIFFERENT_OP, ())


def test_requests_that_record_nothing_agree_with_anything():
    """Versions without dtypes, files with other recorders."""
    assert asked(REDUCE, REDUCE, REDUCE, ("all_reduce", {"dtype": None})) is None
    assert asked(REDUCE, REDUCE, REDUCE, ("all_reduce", {"size": None})) is None


def test_a_rank_that_did_not_record_its_size_takes_no_side():
    found = asked(REDUCE, REDUCE, SHORT, ("all_reduce", {"size": None}))
    assert found is not None
    assert sorted(r for side in found.sides for r in side.ranks) == [0, 1, 2]


def test_a_rank_alone_disagrees_with_nobody():
    assert asked(REDUCE, None, None, None) is None


def test_a_root_that_alone_has_outputs_is_no_mismatch():
    leaf: Asked = ("gather", {"out": None})
    assert asked(("gather", {"out": 4096}), leaf, leaf, leaf) is None


# -- all_to_all ----------------------------------------------------------------------------------------------------------


def exchange(size: tuple[int, ...], out: tuple[int, ...]) -> Asked:
    return "all_to_all", {"size": size, "out": out}


def test_uneven_splits_that_add_up_are_legal():
    assert asked(exchange((1, 9), (5, 5)), exchange((4, 6), (2, 8)), exchange((9, 1), (3, 7)), exchange((5, 5), (9, 1))) is None


def test_totals_that_do_not_add_up_differ_and_name_nobody():
    """The split between pairs is not recorded: which side is wrong cannot be told."""
    found = asked(exchange((10,), (10,)), exchange((10,), (10,)), exchange((10,), (10,)), exchange((11,), (10,)))
    assert found is not None
    assert (found.kind, found.minority) == (Kind.DIFFERENT_SIZE, ())
    assert "41" in found.detail
    assert "40" in found.detail


def test_totals_are_judged_only_where_every_member_is_seen():
    assert asked(exchange((10,), (10,)), exchange((10,), (10,)), exchange((11,), (10,)), None) is None


def test_a_dtype_that_differs_in_an_exchange_differs():
    same, odd = exchange((4,), (4,)), ("all_to_all", {"size": 4, "dtype": "Half"})
    found = asked(same, same, same, odd)
    assert found is not None
    assert (found.kind, found.minority) == (Kind.DIFFERENT_DTYPE, (3,))


# -- coalesced -----------------------------------------------------------------------------------------------------------


def parts(number: int, *sizes: int) -> Dump:
    return rank(number).coalesced("ALLREDUCE_coalesced", [("all_reduce", n) for n in sizes], 1, OPEN)


def test_a_coalesced_call_of_other_parts_differs_in_size():
    found = stall(1, *(parts(r, 4, 8) for r in range(3)), parts(3, 4, 9)).mismatch
    assert found is not None
    assert (found.kind, found.minority) == (Kind.DIFFERENT_SIZE, (3,))


def test_a_coalesced_call_against_a_plain_one_is_another_operation():
    found = stall(1, *(parts(r, 4, 8) for r in range(3)), rank(3).call("all_reduce", 1, OPEN, size=12)).mismatch
    assert found is not None
    assert (found.kind, found.minority) == (Kind.DIFFERENT_OP, (3,))


# -- calls without a record, and dumps of different times ----------------------------------------------------------------


def test_numbers_that_nobody_recorded_are_passed_over():
    """gloo's monitored_barrier takes a number and leaves no record: after 40 the next recorded call is 43."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 40).call("all_reduce", 43) for r in range(3)]
    found = stall(43, *dumps, rank(3, "gloo").calls("all_reduce", 1, 40))
    assert (found.waiting, found.missing) == ((0, 1, 2), (3,))


def test_who_waits_in_an_older_dump_of_gloo_has_been_answered():
    """Rank 3 was written while 42 was open; the others ended 42 and 43 with it since."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 44) for r in range(3)]
    found = stall(42, *dumps, rank(3, "gloo").calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN))
    assert (found.waiting, found.passed) == ((3,), True)


def test_who_waits_in_a_dump_of_the_same_time_has_not():
    """The others' newest call is over, and may have failed for want of rank 3."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 43) for r in range(3)]
    found = stall(43, *dumps, rank(3, "gloo").calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN))
    assert not found.passed
