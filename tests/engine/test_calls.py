"""Records of one (group, seq) over all ranks, lined up; coalesced calls as one; what differs; what is not compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hangview.engine.calls import Calls, line_up
from hangview.engine.groups import resolve
from hangview.engine.readings import families, read
from hangview.schema import CellState
from tests.engine.support import DONE, OPEN, PAIR, WORLD, Dump, Pg, rank, records

if TYPE_CHECKING:
    from tests.engine.support import Sizes


def lined_up(*dumps: Dump) -> Calls:
    made = records(*dumps)
    return line_up(made, read(made, resolve(made)), families(made))


def seqs(calls: Calls, column: str) -> dict[int, Any]:
    """One column of ``by_seq`` of the only group."""
    return dict(calls.by_seq.select("seq", column).iter_rows())


def pair(*seqs_of: tuple[tuple[str, Any], ...]) -> Calls:
    """Two ranks with these (op, size) from 1 on."""
    dumps = []
    for number, asked in enumerate(seqs_of):
        dump = rank(number)
        for seq, (op, size) in enumerate(asked, 1):
            dump.call(op, seq, group=PAIR, size=size)
        dumps.append(dump)
    return lined_up(*dumps)


def uneven(number: int, sizes: Sizes, how: Any = DONE) -> Dump:
    """An all_gather of uneven parts: one broadcast a member, and a closing entry."""
    assert isinstance(sizes, tuple)
    return rank(number).coalesced("ALLGATHER_coalesced", [("_broadcast_oop", n) for n in sizes], 1, how, group=PAIR)


# -- lining up -----------------------------------------------------------------------------------------------------------


def test_one_row_for_a_rank_at_a_seq():
    calls = lined_up(rank(0).calls("all_reduce", 1, 3), rank(1).calls("all_reduce", 2, 3))
    assert sorted(calls.rows.select("rank", "seq").iter_rows()) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    assert seqs(calls, "n") == {1: 1, 2: 2, 3: 2}


def test_ranks_meet_by_number_and_not_by_place_time_or_record():
    """Rank 1's buffer wrapped, its clock is an hour ahead, and two threads wrote out of order."""
    early = rank(0).call("all_reduce", 7, size=7).call("all_gather", 8, size=8, out=16)
    late = rank(1).wrapped().clock(3600).call("all_gather", 8, size=8, out=16).call("all_reduce", 7, size=7)
    assert seqs(lined_up(early, late), "differs") == {7: False, 8: False}


def test_one_number_in_two_groups_is_two_calls():
    tp = Pg("7", "tp", (0, 1, 2, 3))
    calls = lined_up(
        *(rank(r).call("all_reduce", 42, size=1).call("broadcast", 42, group=tp, size=9) for r in range(2)),
    )
    assert calls.by_seq.select("group", "seq", "n", "differs").rows() == [(0, 42, 2, False), (1, 42, 2, False)]


def test_states_are_counted():
    calls = lined_up(rank(0).call("all_reduce", 1), rank(1).call("all_reduce", 1, OPEN), rank(2, "gloo").call("all_reduce", 1))
    row = calls.by_seq.row(0, named=True)
    assert (row["n"], row["n_completed"], row["n_open"], row["n_ended"]) == (3, 1, 1, 1)


def test_sends_receives_and_control_are_no_calls():
    calls = lined_up(rank(0, "nccl2").send(1, 1).recv(1, 2).call("split", 1).call("all_reduce", 1))
    assert calls.rows["seq"].to_list() == [1]
    assert len(calls.rows) == 1


def test_a_batch_takes_no_number_of_the_collective_lane():
    calls = lined_up(rank(1).call("all_reduce", 5).batch(3, to=(2,), seq=5, how=OPEN))
    assert seqs(calls, "n_open") == {5: 0}


def test_details_come_from_the_record_itself():
    calls = lined_up(rank(0).calls("all_reduce", 1, 3), rank(1).wrapped(500).calls("all_reduce", 2, 3))
    found = calls.at(0, 3)
    assert found["rank"].to_list() == [0, 1]
    assert found["record_id"].to_list() == [2, 501]
    assert found["created_ns"].null_count() == 0
    assert (found["completed_ns"] > found["created_ns"]).all()


def test_no_records_no_calls():
    calls = lined_up(rank(0).knows(WORLD))
    assert calls.rows.is_empty()
    assert calls.by_seq.is_empty()


# -- what differs --------------------------------------------------------------------------------------------------------


def test_op_size_and_dtype_make_a_difference():
    calls = pair(
        (("all_reduce", 8), ("all_reduce", 8), ("all_reduce", 8)),
        (("all_reduce", 8), ("all_gather", 8), ("all_reduce", 4)),
    )
    assert seqs(calls, "differs") == {1: False, 2: True, 3: True}
    dumps = (rank(0).call("all_reduce", 1, group=PAIR), rank(1).call("all_reduce", 1, group=PAIR, dtype="Half"))
    assert seqs(lined_up(*dumps), "differs") == {1: True}


def test_started_against_scheduled_is_no_difference():
    calls = lined_up(rank(0).call("all_reduce", 1, OPEN), rank(1).call("all_reduce", 1, written=(1, False)))
    assert seqs(calls, "differs") == {1: False}


def test_only_operations_that_need_everyone_prove_anything_of_others():
    calls = pair(
        (("all_reduce", 8), ("broadcast", 8), ("barrier", None), ("gather", 8), ("all_to_all", 8), ("frobnicate", 8)),
        (("all_reduce", 8), ("broadcast", 8), ("barrier", None), ("gather", 8), ("all_to_all", 8), ("frobnicate", 8)),
    )
    assert seqs(calls, "full") == {1: True, 2: False, 3: True, 4: False, 5: True, 6: False}


def test_a_call_of_mixed_operations_proves_nothing():
    calls = pair((("all_reduce", 8),), (("all_gather", 8),))
    assert seqs(calls, "full") == {1: False}


def test_an_exchange_has_totals():
    calls = lined_up(
        rank(0).call("all_to_all", 1, group=PAIR, size=(1, 7), out=(1, 3)),
        rank(1).call("all_to_all", 1, group=PAIR, size=(3, 5), out=(7, 5)),
    )
    row = calls.by_seq.row(0, named=True)
    assert (row["exchange"], row["sent"], row["received"], row["differs"]) == (True, 16, 16, False)


# -- coalesced calls -----------------------------------------------------------------------------------------------------


def test_a_coalesced_call_is_one_row_with_the_state_of_its_closing_entry():
    calls = lined_up(uneven(0, (3, 5)), uneven(1, (3, 5), OPEN))
    assert dict(calls.rows.select("rank", "reading").iter_rows()) == {0: CellState.COMPLETED, 1: CellState.REQUESTED}
    assert seqs(calls, "n") == {1: 2}


def test_a_coalesced_call_whose_group_call_has_not_ended_is_open():
    calls = lined_up(uneven(0, (3, 5)), uneven(1, (3, 5), None))
    assert dict(calls.rows.select("rank", "reading").iter_rows())[1] == CellState.REQUESTED


def test_parts_that_differ_from_each_other_and_agree_between_ranks_are_legal():
    assert seqs(lined_up(uneven(0, (3, 5)), uneven(1, (3, 5))), "differs") == {1: False}


def test_another_part_is_a_difference():
    assert seqs(lined_up(uneven(0, (3, 5)), uneven(1, (3, 6))), "differs") == {1: True}
    assert seqs(lined_up(uneven(0, (3, 5)), uneven(1, (3,))), "differs") == {1: True}


def test_a_coalesced_call_and_a_plain_one_differ():
    plain = rank(1).call("all_gather", 1, group=PAIR, size=8, out=16)
    assert seqs(lined_up(uneven(0, (3, 5)), plain), "differs") == {1: True}


# -- not compared --------------------------------------------------------------------------------------------------------


def test_the_last_call_of_a_cut_file_is_not_compared():
    """More of its records may have been cut off."""
    calls = lined_up(uneven(0, (3, 5, 7)), uneven(1, (3, 5), None).cut())
    assert seqs(calls, "differs") == {1: False}
    assert calls.rows.filter(rank=1)["key"].to_list() == [None]


def test_earlier_calls_of_a_cut_file_are():
    calls = lined_up(
        rank(0).call("all_reduce", 1, size=8).call("all_reduce", 2),
        rank(1).call("all_reduce", 1, size=9).call("all_reduce", 2).cut(),
    )
    assert seqs(calls, "differs") == {1: True, 2: False}


def test_numbers_that_batches_took_are_not_judged():
    """About torch 2.5 a batch took the next collective number, so healthy stages number differently."""
    calls = lined_up(
        rank(0).batch(0, to=(1,), seq=1).batch(0, to=(1,), seq=2).call("all_reduce", 3),
        rank(1).batch(0, of=(0,), seq=1).call("all_reduce", 2),
    )
    assert list(calls.unjudged) == [0]
    assert "2.5" in calls.unjudged[0]


def test_batches_with_numbers_of_their_own_are_judged():
    calls = lined_up(rank(0).batch(1, to=(1,), seq=1).batch(2, to=(1,), seq=2).call("all_reduce", 3))
    assert calls.unjudged == {}
