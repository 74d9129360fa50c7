"""What must agree between the ranks of one call, by the rules of each operation, and who is then the majority."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hangview.dumps.ops import parse_op
from hangview.engine.compare import Key, combine, describe, key_of, sides
from hangview.schema import Signature
from tests.engine.support import signature

if TYPE_CHECKING:
    from tests.engine.support import Sizes


def key(op: str, size: Sizes = 1024, out: Sizes | str = "same", dtype: str | None = "Float") -> Key:
    return key_of(parse_op(f"nccl:{op}"), signature(size, out, dtype))


# -- one record ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["all_reduce", "broadcast", "reduce"])
def test_an_operation_on_one_tensor_compares_its_elements(op):
    assert key(op, 1024) == key(op, 1024)
    assert key(op, 1024) != key(op, 512)


def test_elements_count_and_not_the_shape():
    assert key("all_reduce", [(32, 32)]) == key("all_reduce", 1024)
    assert key("_all_gather_base", [(4, 8)], [(4, 4, 8)]) == key("_all_gather_base", 32, 128)


def test_a_scalar_is_one_element():
    assert key("all_reduce", [()]) == key("all_reduce", 1)


def test_a_dtype_is_compared_even_where_the_count_is_equal():
    full, half = key("all_reduce"), key("all_reduce", dtype="Half")
    assert full.sizes == half.sizes
    assert full.dtypes != half.dtypes


def test_what_was_not_recorded_is_not_compared():
    assert key("all_reduce", dtype=None).dtypes is None
    assert key("all_reduce", None).sizes is None


@pytest.mark.parametrize("view", ["Byte", "Bool", "Char", "Float8_e4m3fn", "Float8_e5m2"])
def test_a_cast_to_bytes_on_one_side_is_no_difference(view):
    assert key("all_gather", 8, 32, view).dtypes == key("all_gather", 8, 32, "Byte").dtypes


def test_a_gather_is_the_same_as_a_flat_buffer_or_a_list():
    assert key("all_gather", 8, 32) == key("all_gather", 8, (8, 8, 8, 8))


def test_a_gather_differs_by_either_end():
    base = key("all_gather", 8, 32)
    assert base != key("all_gather", 16, 32)
    assert base != key("all_gather", 8, 64)


def test_only_the_root_of_a_gather_has_outputs_and_only_that_of_a_scatter_inputs():
    assert key("gather", 8, 32).sizes == key("gather", 8, None).sizes
    assert key("scatter", 32, 8).sizes == key("scatter", None, 8).sizes
    assert key("gather", 8, None).sizes != key("gather", 4, None).sizes
    assert key("scatter", None, 8).sizes != key("scatter", None, 4).sizes


def test_the_splits_of_an_all_to_all_are_its_own():
    assert key("all_to_all", (1, 7), (3, 5)) == key("all_to_all", (4, 4), (9, 9))


def test_a_barrier_carries_nothing():
    """Recorded without tensors by the hook and with one float by nccl."""
    assert key("barrier", None) == key("all_reduce_barrier", 1)


def test_spellings_of_one_operation_meet():
    assert key("_all_gather_base", 8, 32) == key("all_gather", 8, 32)
    assert key("_broadcast_oop", 8) == key("broadcast", 8)


def test_a_closing_entry_by_itself_is_no_plain_call():
    """Before torch 2.7 only the closing entry of a coalesced call is recorded."""
    assert key("ALLREDUCE_coalesced", None).op != key("all_reduce").op


def test_unknown_operations_meet_by_name_alone():
    assert key("frobnicate", 8) == key("frobnicate", 16, dtype="Half")
    assert key("frobnicate").op != key("all_reduce").op


# -- several records of one call -----------------------------------------------------------------------------------------


def test_parts_of_a_coalesced_call_are_compared_in_order():
    parts = [key("_broadcast_oop", n) for n in (3, 5, 7)]
    assert combine(parts, "all_gather") == combine(list(parts), "all_gather")
    assert combine(parts, "all_gather") != combine(parts[::-1], "all_gather")
    assert combine(parts, "all_gather") != combine(parts[:2], "all_gather")


def test_a_coalesced_call_meets_no_plain_one():
    parts = [key("all_reduce", 3), key("all_reduce", 5)]
    assert combine(parts, "all_reduce").op != "all_reduce"
    assert combine(parts, "all_reduce").op == key("ALLREDUCE_coalesced", None).op


def test_totals_of_a_coalesced_call_are_those_of_its_parts():
    found = combine([key("all_reduce", 3), key("all_reduce", 5)], "all_reduce")
    assert (found.sent, found.received) == (8, 8)


def test_totals_are_no_part_of_what_is_compared():
    assert Key("all_to_all", None, None, sent=1, received=2) == Key("all_to_all", None, None, sent=3, received=4)


# -- in words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "family", "text"),
    [
        (signature(1024), "all_reduce", "1,024 × Float"),
        (signature(1, None), "send", "1 × Float"),
        (signature(4, 32, "Half"), "all_gather", "in 4 → out 32 × Half"),
        (signature(None, 8), "scatter", "in nothing → out 8 × Float"),
        (signature((2, 3)), "all_reduce", "5 in 2 tensors × Float"),
        (signature(None), "barrier", ""),
        (signature(8, dtype=None), "all_reduce", "8"),
        (Signature(((4,),), ("Float",), ((4,),), ("Half",)), "all_reduce", "4 × Float/Half"),
    ],
)
def test_a_signature_in_a_few_words(asked, family, text):
    assert describe(asked, family) == text


# -- sides ---------------------------------------------------------------------------------------------------------------


def found_sides(unobserved: int = 0, **by_rank: str) -> list[tuple[str, tuple[int, ...], bool]]:
    """``r0="a"``: rank 0 requested "a"."""
    members = {int(name[1:]): ("op", value, value) for name, value in by_rank.items()}
    return [(side.text, side.ranks, side.reference) for side in sides(members, unobserved)]


def test_the_most_ranks_come_first_and_are_the_reference():
    assert found_sides(r0="b", r1="a", r2="a") == [("a", (1, 2), True), ("b", (0,), False)]


def test_one_side_alone_is_the_reference():
    assert found_sides(r0="a", r1="a") == [("a", (0, 1), True)]


def test_a_tie_has_no_reference_and_the_lowest_rank_decides_nothing():
    assert found_sides(r0="a", r1="b", r2="b", r3="a") == [("a", (0, 3), False), ("b", (1, 2), False)]


def test_the_largest_of_many_sides_is_no_majority():
    assert [side[2] for side in found_sides(r0="a", r1="a", r2="b", r3="c", r4="d")] == [False] * 4


@pytest.mark.parametrize(("unobserved", "clear"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_majority_that_unobserved_members_could_overturn_is_none(unobserved, clear):
    """Three against one: two more could make it three against three."""
    assert found_sides(unobserved, r0="a", r1="a", r2="a", r3="b")[0][2] is clear


@given(st.dictionaries(st.integers(0, 40), st.sampled_from("abc"), min_size=1), st.integers(0, 5), st.randoms())
def test_sides_part_the_ranks_whatever_the_order(values, unobserved, rng):
    members = {r: ("op", value, value) for r, value in values.items()}
    shuffled = list(members.items())
    rng.shuffle(shuffled)
    found = sides(members, unobserved)
    assert sides(dict(shuffled), unobserved) == found
    assert sorted(r for side in found for r in side.ranks) == sorted(values)
    named = [side for side in found if side.reference]
    assert len(named) <= 1
    for side in named:  # whatever the others turn out to have requested, more of all members asked for this
        assert all(len(side.ranks) > len(other.ranks) + unobserved for other in found if other is not side)
        assert 2 * len(side.ranks) > len(members)


# -- lists of uneven tensors ---------------------------------------------------------------------------------------------


def test_an_uneven_all_gather_is_compared_by_the_list_that_all_have():
    """torch: all_gather and reduce_scatter take lists of uneven tensors; the hook of 2.15 writes the list into one record."""
    lists = (100, 40, 100)
    assert key("all_gather", 100, lists) == key("all_gather", 40, lists)
    assert key("all_gather", 100, lists) != key("all_gather", 100, (100, 50, 100))
    assert key("reduce_scatter", lists, 40) == key("reduce_scatter", lists, 100)
    assert key("all_gather", 100, (100, 100)) != key("all_gather", 40, (100, 100))  # even: each gives as much as the others


def test_operations_that_are_uneven_by_definition_are_compared_by_their_totals():
    assert key("all_gather_v", 100, 240) == key("all_gather_v", 40, 240)
    assert key("all_gather_v", 100, 240) != key("all_gather_v", 40, 230)
    assert key("reduce_scatter_v", 240, 100) == key("reduce_scatter_v", 240, 40)


def test_made_up_sizes_do_not_overflow_what_is_summed_over_ranks():
    huge = key("all_reduce", [(2**62, 2**62)])
    assert 2**50 < huge.sent < 2**63 // 512
