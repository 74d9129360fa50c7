"""The simulator itself: that its jobs run as real ones do, and that its truth is what a careful reader would say."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from tests.jobs import faults, layouts
from tests.jobs.evidence import PRODUCERS, Recording
from tests.jobs.model import Call, Group, Job, Part, collective
from tests.jobs.plan import draw
from tests.jobs.record import tree
from tests.jobs.simulate import AHEAD, Key, Outcome, members, run
from tests.jobs.truth import judge
from tests.jobs.write import json_bytes

A = collective(0, "all_reduce", (8,), (8,), "a", sync=True)
B = collective(1, "all_reduce", (8,), (8,), "b", sync=True)
SEND = Call(0, (Part("send", ((4,),), ((4,),), "Float", 1),), "send")
RECV = Call(0, (Part("recv", ((4,),), ((4,),), "Float", 0),), "recv")


def job(*programs: list[Call], groups: int = 1, **more: Any) -> Job:
    world = tuple(range(len(programs)))
    named = tuple(Group(str(n), f"group{n}", world) for n in range(groups))
    return Job("by hand", named, tuple(list(program) for program in programs), **more)


def leads(outcome: Outcome, how: Recording | None = None) -> tuple[int, ...]:
    return judge(outcome, how or Recording()).expected


# ---- layouts and simulation


@pytest.mark.parametrize("kind", layouts.KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_healthy_job_ends_with_every_call_over(kind, seed):
    healthy = layouts.build(kind, random.Random(seed))
    outcome = run(healthy, seed)
    assert not outcome.hangs
    assert 4 <= healthy.world <= 64
    for rank, calls in enumerate(outcome.ranks):
        assert len(calls) == len(healthy.programs[rank])
        for made in calls:
            assert made.started is not None
            assert made.ended is not None
            assert made.made < made.started < made.ended
            assert all(set(outcome.came[key]) == set(members(healthy, key)) for key in made.keys)
    truth = judge(outcome, Recording())
    assert (truth.hangs, truth.expected, truth.allowed) == (False, (), ())


def test_times_change_nothing_in_how_far_everybody_comes():
    stuck = faults.inject("stop", layouts.build("full", random.Random(5)), random.Random(5))
    once, again = run(stuck, 1), run(stuck, 2)
    assert [[made.ended is None for made in calls] for calls in once.ranks] == [
        [made.ended is None for made in calls] for calls in again.ranks
    ]
    assert once.ranks[0][3].made != again.ranks[0][3].made


def test_a_rank_that_stops_is_waited_for():
    outcome = run(job(*[[A] * 10] * 4, stops={2: 5}, injected=frozenset({2})))
    assert [len(calls) for calls in outcome.ranks] == [6, 6, 5, 6]
    assert [calls[-1].ended is None for calls in outcome.ranks] == [True, True, False, True]
    assert leads(outcome) == (2,)


def test_a_host_runs_ahead_of_its_device_but_not_for_ever():
    loose = replace(A, sync=False)
    outcome = run(job(*[[loose] * 100] * 3, stops={0: 20}, injected=frozenset({0})))
    assert [len(calls) for calls in outcome.ranks] == [20, 20 + AHEAD, 20 + AHEAD]
    started = [made.started is not None for made in outcome.ranks[1][20:]]
    assert started == [True] + [False] * (AHEAD - 1)  # the device is at the first one, the others are behind it


def test_detached_calls_of_other_groups_do_not_hold_each_other():
    first = replace(A, sync=False, detached=True)
    programs = [[first, replace(B, sync=False)]] * 3
    outcome = run(job(*programs, groups=2, stalled=frozenset({Key(0, 1)})))
    assert all(calls[1].ended is not None for calls in outcome.ranks)
    held = run(job(*[[first, replace(B, sync=False, joins=True)]] * 3, groups=2, stalled=frozenset({Key(0, 1)})))
    assert all(calls[1].started is None for calls in held.ranks)


@pytest.mark.parametrize(
    "part",
    [Part("broadcast", ((8,),), ((8,),)), Part("all_reduce", ((9,),), ((9,),)), Part("all_reduce", ((8,),), ((8,),), "Half")],
)
def test_another_call_than_the_others_make_never_ends_and_the_odd_one_is_known(part):
    odd = [A, replace(A, parts=(part,)), A]
    outcome = run(job([A] * 3, odd, [A] * 3, injected=frozenset({1})))
    assert [len(calls) for calls in outcome.ranks] == [2, 2, 2]
    assert leads(outcome) == (1,)
    pair = run(job([A] * 3, odd, injected=frozenset({1})))
    assert pair.hangs
    assert judge(pair, Recording()).allowed == ()  # one against one: nobody


def test_opposite_orders_are_a_cycle_and_name_nobody():
    outcome = run(job([A, B] * 3, [A, B, B, A, A, B], [A, B] * 3, groups=2, injected=frozenset({1}), fault="swap"))
    assert outcome.hangs
    assert judge(outcome, Recording()).allowed == ()


def test_opposite_orders_on_the_device_alone():
    """Nobody's host waits: all requested everything, and each device is at another call."""
    a, b = replace(A, sync=False), replace(B, sync=False)
    outcome = run(job([a, b], [b, a], groups=2, injected=frozenset({1}), fault="swap"))
    assert [[made.started is not None for made in calls] for calls in outcome.ranks] == [[True, False], [True, False]]
    assert judge(outcome, Recording()).allowed == ()


def test_a_stall_names_nobody():
    outcome = run(job(*[[A] * 4] * 3, stalled=frozenset({Key(0, 2)})))
    assert all(calls[-1].started is not None and calls[-1].ended is None for calls in outcome.ranks)
    assert judge(outcome, Recording()).allowed == ()


def test_sends_meet_receives_in_order():
    outcome = run(job([SEND, SEND, A], [RECV, A], stops={1: 1}, injected=frozenset({1})))
    assert [made.ended is not None for made in outcome.ranks[0]] == [True, False, False]
    assert outcome.ranks[0][2].made  # the host went on; only its device waits
    assert leads(outcome) == (1,)


def test_a_batch_is_over_when_all_of_it_is():
    both = Call(0, (*SEND.parts, replace(SEND.parts[0], peer=2)), "both", batch=True)
    outcome = run(job([both], [RECV], [RECV], stops={2: 0}, injected=frozenset({2})))
    assert outcome.ranks[0][0].ended is None
    assert outcome.ranks[1][0].ended is not None
    assert leads(outcome) == (2,)


def test_a_lazy_communicator_needs_all_before_anything_is_recorded():
    stuck = job(*[[A, B, A]] * 3, groups=2, stops={2: 1}, injected=frozenset({2}), lazy=True)
    outcome = run(stuck)
    assert [len(calls) for calls in outcome.ranks] == [1, 1, 1]  # two of them are in the second call, unrecorded
    assert outcome.joining == {0: 1, 1: 1}
    truth = judge(outcome, Recording())
    assert (truth.expected, truth.allowed, truth.fair) == ((), (0, 1, 2), True)  # they all look alike
    assert not run(replace(stuck, stops={})).hangs


# ---- truth


def test_a_rank_that_waits_itself_is_no_lead():
    """Rank 2 stops; rank 1 would have stopped later, but waits for rank 2."""
    outcome = run(job(*[[A] * 9] * 4, stops={2: 3, 1: 5}, injected=frozenset({1, 2})))
    assert leads(outcome) == (2,)


def test_without_the_dump_of_the_rank_that_stops_nobody_is_named():
    outcome = run(job(*[[A] * 9] * 4, stops={2: 3}, injected=frozenset({2})))
    assert judge(outcome, Recording(missing=frozenset({2}))).allowed == ()
    cut = judge(outcome, Recording(cut={2: 0.5}))
    assert (cut.expected, cut.allowed) == ((), (2,))


def test_without_a_witness_nobody_need_be_named():
    outcome = run(job([A] * 9, [A] * 9, stops={1: 3}, injected=frozenset({1})))
    assert leads(outcome) == (1,)
    assert leads(outcome, Recording(missing=frozenset({0}))) == ()


def test_a_majority_of_those_seen_is_enough_only_if_it_is_one_of_all():
    odd = [A, replace(A, parts=(Part("broadcast", ((8,),), ((8,),)),)), A]
    outcome = run(job(odd, *[[A] * 3] * 3, injected=frozenset({0})))
    assert leads(outcome) == (0,)
    two_to_one = judge(outcome, Recording(missing=frozenset({3})))
    assert (two_to_one.expected, two_to_one.allowed) == ((), (0,))
    one_to_one = judge(outcome, Recording(missing=frozenset({2, 3})))
    assert one_to_one.allowed == ()


def test_a_quiet_group_that_the_ring_lost_shows_nothing_without_counters():
    noise = [collective(1, "all_reduce", (8,), (8,), "noise", sync=True)] * 300
    program = [A, *noise, A]
    stuck = job(*[program] * 3, groups=2, stops={0: 301}, injected=frozenset({0}))
    outcome = run(stuck)
    assert leads(outcome, Recording(ring=200)) == (0,)  # nccl's counters tell
    assert leads(outcome, Recording(ring=200, producer="gloo")) == ()


def test_innocent_ranks_that_ended_make_a_job_unfair():
    outcome = run(job([A, A], [A, A], [A, A, A], injected=frozenset({2}), fault="repeat"))
    assert not judge(outcome, Recording()).fair


@pytest.mark.parametrize("seed", range(16))
def test_the_truth_never_allows_a_rank_that_did_nothing(seed):
    plan = draw(seed)
    assert set(plan.truth.expected) <= set(plan.truth.allowed) <= set(plan.outcome.job.injected)
    assert plan.truth.hangs == (plan.outcome.job.fault != "none")
    assert draw(seed).truth == plan.truth


# ---- recording


def entries(outcome: Outcome, rank: int, **how: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tree(outcome, rank, Recording(**how))["entries"]
    return found


def test_nccl_numbers_a_batch_once_and_its_last_entry_has_the_state():
    both = Call(0, (*SEND.parts, replace(SEND.parts[0], peer=2)), "both", batch=True)
    outcome = run(job([A, both, A], [A, RECV, A], [A, RECV, A]))
    got = [
        (e["profiling_name"], e["collective_seq_id"], e["p2p_seq_id"], e["state"], e["retired"], e["is_p2p"])
        for e in entries(outcome, 0)
    ]
    assert got == [
        ("nccl:all_reduce", 1, 0, "completed", True, False),
        ("nccl:send 0->1", 1, 1, "scheduled", False, True),
        ("nccl:send 0->2", 1, 1, "scheduled", False, True),
        ("nccl:coalesced", 1, 1, "completed", True, False),
        ("nccl:all_reduce", 2, 1, "completed", True, False),
    ]
    old = entries(outcome, 0, old_batches=True)
    assert [e["collective_seq_id"] for e in old] == [1, 2, 2, 2, 3]


def test_the_hook_counts_operations_from_zero_and_knows_no_started():
    both = Call(0, (*SEND.parts, replace(SEND.parts[0], peer=2)), "both", batch=True)
    outcome = run(job([A, both, A], [A, RECV, A], [A, RECV], stops={}))
    dump = tree(outcome, 0, Recording(producer="nccl2"))
    got = [(e["profiling_name"], e["p2p_seq_id"], e["op_id"], e["state"], e["retired"]) for e in dump["entries"]]
    assert got == [
        ("nccl2:all_reduce", 0, 0, "completed", True),
        ("nccl2:send 0->1", 1, 1, "completed", True),
        ("nccl2:send 0->2", 2, 2, "completed", True),
        ("nccl2:all_reduce", 2, 3, "scheduled", False),
    ]
    assert dump["entries"][1]["output_sizes"] == []
    assert dump["pg_status"]["0"] == {
        "last_enqueued_collective": 3,
        "last_started_collective": -1,
        "last_completed_collective": 2,
    }
    assert {(e["state"], e["retired"]) for e in entries(outcome, 0, producer="hook")} == {("scheduled", True)}


def test_gloo_only_retires_and_its_configuration_is_of_no_use():
    outcome = run(job(*[[A, B, A]] * 3, groups=2, stops={2: 2}))
    dump = tree(outcome, 0, Recording(producer="gloo"))
    assert [(e["state"], e["retired"]) for e in dump["entries"]] == [
        ("scheduled", True),
        ("scheduled", True),
        ("scheduled", False),
    ]
    assert dump["pg_config"] == {"": {"name": "", "desc": "", "ranks": "[0, 1, 2]"}}
    assert len(entries(outcome, 2, producer="gloo")) == 2


def test_a_rank_inside_a_batch_has_no_closing_entry():
    both = Call(0, (*SEND.parts, replace(SEND.parts[0], peer=2)), "both", batch=True)
    outcome = run(job([both, A], [RECV, A], [RECV, A], stops={0: 0}, injected=frozenset({0})))
    how = Recording(inside=frozenset({0}))
    assert [e["profiling_name"] for e in tree(outcome, 0, how)["entries"]] == ["nccl:send 0->1", "nccl:send 0->2"]
    assert tree(outcome, 0, how)["pg_status"]["0"]["last_enqueued_collective"] == -1
    truth = judge(outcome, how)
    assert (truth.expected, truth.allowed) == ((), (0,))


def test_what_is_left_out_on_purpose():
    outcome = run(job(*[[A] * 9] * 2, stops={1: 7}))
    assert [e["record_id"] for e in entries(outcome, 0, ring=3)] == [5, 6, 7]
    assert [e["record_id"] for e in entries(outcome, 0, only_active=True)] == [7]
    assert entries(outcome, 1, only_active=True) == []
    early = entries(outcome, 0, early={0: outcome.ranks[0][4].made})
    assert len(early) == 5
    assert early[-1]["state"] == "scheduled"


def test_without_timing_nothing_is_started():
    outcome = run(job(*[[A] * 3] * 2, stops={1: 2}))
    assert [e["state"] for e in entries(outcome, 0)] == ["completed", "completed", "started"]
    untimed = entries(outcome, 0, timing=False)
    assert [e["state"] for e in untimed] == ["completed", "completed", "scheduled"]
    assert all("duration_ms" not in e and e["time_discovered_started_ns"] is None for e in untimed)


def test_clock_errors_are_per_host():
    outcome = run(job(*[[A]] * 4))
    plain = [entries(outcome, r)[0]["time_created_ns"] for r in range(4)]
    off = [entries(outcome, r, per_host=2, offsets=(0.0, 5.0))[0]["time_created_ns"] for r in range(4)]
    assert [b - a for a, b in zip(plain, off, strict=True)] == [0, 0, 5_000_000_000, 5_000_000_000]


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("seed", range(3))
def test_all_members_of_a_call_record_it_under_the_same_number(producer, seed):
    healthy = layouts.build("full" if producer != "gloo" else "tensor", random.Random(seed))
    outcome = run(healthy, seed)
    seen: dict[tuple[str, int], dict[int, str]] = {}
    for rank in range(healthy.world):
        for entry in entries(outcome, rank, producer=producer):
            if not entry["is_p2p"] and "coalesced" not in entry["profiling_name"]:
                key = (entry["process_group"][0], entry["collective_seq_id"])
                assert seen.setdefault(key, {}).setdefault(rank, entry["profiling_name"]) == entry["profiling_name"]
    of = {group.name: set(group.ranks) for group in healthy.groups}
    for (name, _), there in seen.items():
        assert set(there) == of[name]
        assert len(set(there.values())) == 1


def test_json_is_as_torch_writes_it():
    outcome = run(job(*[[A] * 2] * 2, stops={1: 1}))
    got = json.loads(json_bytes(tree(outcome, 0, Recording(timing=False))))
    assert "frames" not in got["entries"][0]
    assert got["entries"][1]["time_discovered_completed_ns"] == 0
    assert got["entries"][0]["process_group"] == ["0", "group0"]
    assert got["pg_status"]["0"]["last_started_collective"] == "-1"
    empty = run(job([A], [A], stops={1: 0}))
    assert "entries" not in json.loads(json_bytes(tree(empty, 1, Recording())))
