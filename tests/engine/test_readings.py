"""What a record's state means, by its recorder, and which lane it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.engine.groups import resolve
from hangview.engine.readings import BATCH_END, COLLECTIVE, CONTROL, P2P, read
from hangview.schema import CellState
from tests.engine.support import DONE, FAILED, ISSUED, OPEN, PAIR, STARTED, WORLD, Pg, rank, records

if TYPE_CHECKING:
    import polars as pl

    from tests.engine.support import Dump

COMPLETED, ENDED, BEGUN, REQUESTED, LOST = (
    CellState.COMPLETED,
    CellState.ENDED,
    CellState.STARTED,
    CellState.REQUESTED,
    CellState.FAILED,
)


def table(*dumps: Dump) -> pl.DataFrame:
    made = records(*dumps)
    return read(made, resolve(made))


def read_as(*dumps: Dump) -> list[CellState]:
    return [CellState(code) for code in table(*dumps)["reading"]]


def lanes(*dumps: Dump) -> list[int]:
    return table(*dumps)["lane"].to_list()


# -- one record ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "written", "meaning"),
    [
        # nccl's watchdog writes all three states
        ("nccl", (0, False), REQUESTED),
        ("nccl", (1, False), BEGUN),
        ("nccl", (2, True), COMPLETED),
        ("nccl", (2, False), COMPLETED),  # the watchdog has not come round to it
        ("nccl", (0, True), LOST),  # taken off the list without having completed
        ("nccl", (1, True), LOST),
        # forks keep its meaning
        ("hccl", (0, True), LOST),
        ("rccl", (2, True), COMPLETED),
        # xccl takes each off its list as it is issued (torch-xpu-ops, ProcessGroupXCCL.cpp, 2026-08)
        ("xccl", (0, True), ENDED),
        # gloo: the state never moves
        ("gloo", (0, False), REQUESTED),
        ("gloo", (0, True), ENDED),
        # torch 2.15's hook: completed if the backend tells, else retired at issue
        ("nccl2", (0, False), REQUESTED),
        ("nccl2", (2, True), COMPLETED),
        ("nccl2", (0, True), ENDED),
        ("fake", (0, True), ENDED),
        # whatever no list knows is a hooked backend, the weakest reading
        ("my_backend", (0, True), ENDED),
        ("my_backend", (0, False), REQUESTED),
    ],
)
def test_states_mean_what_their_recorder_means(library, written, meaning):
    assert read_as(rank(0, library).call("all_reduce", 1, written=written)) == [meaning]


@pytest.mark.parametrize(("library", "issued"), [("fake", True), ("nccl2", True), ("gloo", False), ("nccl", False)])
def test_only_a_hook_marks_a_request_as_over_at_once(library, issued):
    """Retired without completion says "issued" there, "over" with gloo and "failed" with nccl."""
    assert table(rank(0, library).call("all_reduce", 1, ISSUED))["issued"].to_list() == [issued]


def test_a_completion_of_the_hook_is_more_than_issued():
    assert table(rank(0, "nccl2").call("all_reduce", 1, DONE))["issued"].to_list() == [False]


# -- completed, but after its own time-out -------------------------------------------------------------------------------


def test_completed_only_after_its_own_time_out_is_failed():
    """When a communicator is torn down its kernels end, and the record says "completed"."""
    dump = rank(0).call("all_reduce", 1).call("all_reduce", 2, took=601, timeout_ms=600_000)
    assert read_as(dump) == [COMPLETED, LOST]


@pytest.mark.parametrize(
    "what",
    [
        {"took": 600},  # at the limit, not beyond
        {"took": 599},
        {"took": 10_000, "timeout_ms": None},
        {"took": 10_000, "timeout_ms": 0},
    ],
)
def test_slow_is_not_too_late(what):
    assert read_as(rank(0).call("all_reduce", 1, **what)) == [COMPLETED]


def test_a_rank_that_went_on_after_a_late_completion_was_not_torn_down():
    dump = rank(0).call("all_reduce", 1, took=700, at=0).call("all_reduce", 2, at=800)
    assert read_as(dump) == [COMPLETED, COMPLETED]


def test_the_time_out_is_the_records_own():
    """Groups have different time-outs."""
    slow = Pg("1", "slow", (0, 1, 2, 3))
    dump = rank(0).call("all_reduce", 1, group=slow, took=300, timeout_ms=600_000, at=0)
    dump.call("all_reduce", 1, took=320, timeout_ms=180_000, at=0)
    assert read_as(dump) == [COMPLETED, LOST]


# -- lanes ---------------------------------------------------------------------------------------------------------------


def test_collectives_sends_and_control_go_apart():
    dump = rank(0, "nccl2").call("all_reduce", 1).send(1, 1).recv(1, 2).call("split", 2)
    assert lanes(dump) == [COLLECTIVE, P2P, P2P, CONTROL]


def test_a_send_is_told_by_its_name_where_the_flag_is_not_set():
    """torchcomms never sets it."""
    assert lanes(rank(0, "ncclx").call("send", 1)) == [P2P]


def test_sends_without_a_batch_have_states_of_their_own():
    dump = rank(0).send(1, 1).send(1, 2, STARTED).recv(1, 3, OPEN)
    assert read_as(dump) == [COMPLETED, BEGUN, REQUESTED]
    assert table(dump)["closed"].to_list() == [None, None, None]


@pytest.mark.parametrize(("how", "meaning"), [(DONE, COMPLETED), (STARTED, BEGUN), (OPEN, REQUESTED), (FAILED, LOST)])
def test_members_of_a_batch_have_the_state_of_its_closing_entry(how, meaning):
    """They stay "scheduled" for ever."""
    dump = rank(1).batch(1, to=(2,), of=(0,), how=how)
    assert read_as(dump) == [meaning] * 3
    assert lanes(dump) == [P2P, P2P, BATCH_END]


def test_each_batch_has_its_own_closing_entry():
    dump = rank(1).batch(1, to=(2,), how=DONE).batch(2, to=(2,), how=OPEN).batch(3, to=(2,), how=None)
    assert read_as(dump) == [COMPLETED, COMPLETED, REQUESTED, REQUESTED, REQUESTED]
    assert table(dump)["closed"].to_list() == [True, None, True, None, False]


def test_the_end_of_a_batch_is_no_collective_although_it_bears_the_number_of_one():
    """It carries the current collective_seq_id, which is that of the collective before it."""
    dump = rank(1).call("all_reduce", 1).batch(1, to=(2,), seq=1, how=OPEN)
    assert lanes(dump) == [COLLECTIVE, P2P, BATCH_END]
    assert read_as(dump)[0] is COMPLETED


def test_a_batch_of_another_group_ends_nothing_here():
    pipe = Pg("1", "pp", (0, 1, 2, 3))
    dump = rank(1).batch(1, to=(2,), how=None).batch(1, to=(2,), group=pipe, how=DONE)
    assert read_as(dump) == [REQUESTED, COMPLETED, COMPLETED]


def test_the_closing_entry_of_a_coalesced_collective_stays_a_collective():
    dump = rank(0).coalesced("ALLGATHER_coalesced", [("_broadcast_oop", 3), ("_broadcast_oop", 5)], 1)
    assert lanes(dump) == [COLLECTIVE] * 3


def test_so_it_does_in_a_group_that_also_sends_and_receives():
    dump = rank(0).batch(1, to=(1,)).coalesced("ALLGATHER_coalesced", [("_broadcast_oop", 3)], 1, p2p_seq=1)
    assert lanes(dump) == [P2P, BATCH_END, COLLECTIVE, COLLECTIVE]


def test_so_it_does_where_its_members_were_not_recorded():
    """Before torch 2.7 only the closing entry of a coalesced collective is written; its name tells it from a batch's end."""
    dump = rank(0).batch(1, to=(1,)).call("ALLREDUCE_coalesced", 1, size=None, p2p_seq=1)
    assert lanes(dump) == [P2P, BATCH_END, COLLECTIVE]


def test_a_batchs_end_whose_members_were_overwritten_is_no_collective():
    dump = rank(1).call("coalesced", 5, size=None, p2p_seq=8).batch(9, to=(2,), seq=5).wrapped()
    assert lanes(dump)[0] == BATCH_END


def test_about_torch_2_5_a_batch_took_a_collective_number():
    dump = rank(1).batch(0, to=(2,), seq=7, how=DONE).batch(0, to=(2,), seq=8, how=OPEN)
    assert read_as(dump) == [COMPLETED, COMPLETED, REQUESTED, REQUESTED]
    assert lanes(dump) == [P2P, BATCH_END, P2P, BATCH_END]


# -- what an only-active dump keeps --------------------------------------------------------------------------------------

GATHER = [("_broadcast_oop", 3), ("_broadcast_oop", 5)]


def test_members_of_a_finished_coalesced_call_are_over_where_later_calls_were_left_out():
    """Calls of a group end in order: 6 to 8 were left out as completed, so 5 is over too."""
    dump = rank(0).coalesced("", GATHER, 5, None).call("all_reduce", 9, OPEN).only_active()
    assert read_as(dump) == [COMPLETED, COMPLETED, REQUESTED]


def test_nothing_is_over_where_nothing_was_left_out_behind_it():
    dump = rank(0).coalesced("", GATHER, 8, None).call("all_reduce", 9, OPEN).only_active()
    assert read_as(dump) == [REQUESTED] * 3


def test_a_whole_dump_leaves_nothing_out():
    """A gap in a whole dump is no sign of completion (gaps that are equal on all ranks are legal)."""
    assert read_as(rank(0).call("all_reduce", 5, OPEN).call("all_reduce", 9, OPEN)) == [REQUESTED, REQUESTED]


def test_members_are_over_up_to_the_ranks_own_last_completed():
    dump = rank(0).coalesced("", GATHER, 5, None).only_active()
    assert read_as(dump.counts(5, 5)) == [COMPLETED, COMPLETED]
    other = rank(0).coalesced("", GATHER, 5, None).only_active()
    assert read_as(other.counts(5, 4)) == [REQUESTED, REQUESTED]


def test_sends_of_a_finished_batch_are_over_where_the_rank_completed_all_it_enqueued():
    """The counter holds the number of the last work, of whatever kind."""
    dump = rank(1).batch(4, to=(2,), how=None).only_active().counts(None, None, raw=(4, 4))
    assert read_as(dump) == [COMPLETED]


def test_equal_counters_of_a_collective_and_a_send_do_not_mean_that_all_is_over():
    """Collective 4 was enqueued last, send 4 completed last: the collective is open."""
    dump = rank(0).call("all_reduce", 4, OPEN, p2p_seq=4).only_active().counts(None, None, raw=(4, 4))
    assert read_as(dump) == [REQUESTED]


def test_sends_beyond_the_last_completed_work_are_open():
    dump = rank(1).batch(3, to=(2,), how=None).batch(4, to=(2,), how=None).only_active()
    assert read_as(dump.counts(None, None, raw=(4, 3))) == [COMPLETED, REQUESTED]


def test_a_send_that_no_counter_can_place_is_unclear():
    """The last work may have been collective 9 or send 9: nothing tells."""
    dump = rank(1).batch(4, to=(2,), how=None, seq=9).call("all_reduce", 10, OPEN, p2p_seq=4).only_active()
    found = table(dump.counts(None, None, raw=(10, 9)))
    assert found["unclear"].to_list() == [True, False]
    assert found["reading"].to_list() == [REQUESTED, REQUESTED]


def test_counters_of_another_rank_say_nothing():
    busy = rank(0).coalesced("", GATHER, 5, None).only_active()
    done = rank(1).knows(WORLD).only_active().counts(5, 5)
    assert read_as(busy, done) == [REQUESTED, REQUESTED]


# -- the frame -----------------------------------------------------------------------------------------------------------


def test_records_keep_their_order_and_number():
    dump = rank(0).calls("all_reduce", 1, 5).batch(1, to=(1,)).call("barrier", 6, size=None)
    found = table(dump, rank(1).calls("all_reduce", 1, 3))
    assert found["position"].to_list() == [*range(len(dump.entries)), 0, 1, 2]
    assert found["source"].to_list() == [0] * len(dump.entries) + [1] * 3


def test_a_record_without_a_number_is_kept():
    assert len(table(rank(0).call("all_reduce", None, at=1).call("all_reduce", 1))) == 2


def test_records_know_their_group():
    tp = Pg("7", "tp", (0, 1))
    found = table(rank(0).call("all_reduce", 1, group=PAIR).call("all_reduce", 1, group=tp), rank(1).knows(PAIR, tp))
    assert found["group"].to_list() == [0, 1]


def test_of_the_batch_in_which_a_file_ends_nothing_is_clear():
    """Its closing entry may be what was cut off. The batch before it has one, and a send by itself has a state of its own."""
    cut = rank(0).batch(1, to=(1,)).send(1, 2, OPEN).batch(3, to=(1,), how=None).cut()
    rows = table(cut, rank(1).batch(1, of=(0,))).rows(named=True)
    assert [row["unclear"] for row in rows if row["rank"] == 0 and row["lane"] == P2P] == [False, False, True]
