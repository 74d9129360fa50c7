"""Calls that every member requested and not every member finished, and ranks that wait for each other."""

from __future__ import annotations

import pytest

from hangview.terms import Kind, Role, Side, Verdict
from tests.engine.support import DONE, FAILED, OPEN, PAIR, STARTED, Dump, How, Pg, alike, look, lost, of_kind, rank, told

A, B = Pg("1", "a", (0, 1)), Pg("2", "b", (0, 1))


# -- nobody finished it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [OPEN, STARTED])
def test_a_call_that_all_are_in_names_nobody(how):
    incident = look(*alike(range(4), "all_reduce", 42, how))
    assert told(incident) == [("lead", "not_completed", (0, 1, 2, 3), "0", 42)]
    assert incident.leads == ()


@pytest.mark.parametrize("before", [0, 3])
def test_a_first_call_under_two_names_may_be_of_two_groups(before):
    """Names count the groups that a process made. Calls that completed before on all of them prove that it is one group."""
    three, seven = (Pg(name, "mesh", (0, 1, 2, 3)) for name in "37")
    incident = look(
        *(
            rank(r).calls("all_reduce", 1, before, group=three).call("all_reduce", before + 1, OPEN, group=three)
            for r in range(3)
        ),
        rank(3).calls("all_reduce", 1, before, group=seven).call("all_reduce", before + 1, OPEN, group=seven),
    )
    assert incident.leads == ()
    (held,) = of_kind(incident, Kind.NOT_COMPLETED)
    assert ("device side" in held.summary) == (before > 0)
    assert ("rank 3 knows it by the name '7', so these may be two groups" in held.summary) == (before == 0)
    assert held.compare_first.startswith("whether these are one group") == (before == 0)


def test_started_against_scheduled_names_nobody_either():
    """Without timing "scheduled" says nothing about whether the kernel started."""
    incident = look(*alike((0, 1, 2), "all_reduce", 42, STARTED), *alike((3,), "all_reduce", 42, OPEN))
    assert told(incident) == [("lead", "not_completed", (0, 1, 2, 3), "0", 42)]
    assert incident.leads == ()


def test_what_is_queued_behind_a_held_call_is_not_told():
    incident = look(*(rank(r).calls("all_reduce", 1, 41).calls("all_reduce", 42, 60, OPEN) for r in range(4)))
    assert told(incident) == [("lead", "not_completed", (0, 1, 2, 3), "0", 42)]


def test_a_group_behind_a_held_call_waits():
    """0 and 1 are held in a; 2 waits for 1, which requested their call behind it."""
    chain = Pg("5", "chain", (1, 2))
    incident = look(
        rank(0).call("all_reduce", 1, OPEN, group=A),
        rank(1).call("all_reduce", 1, OPEN, group=A).call("all_reduce", 1, OPEN, group=chain),
        rank(2).call("all_reduce", 1, OPEN, group=chain),
    )
    assert told(incident) == [("lead", "not_completed", (0, 1), "1", 1), ("waiting", "waiting", (2,), "5", 1)]
    assert incident.findings[1].side is Side.DEVICE


def test_both_ends_of_a_message_requested_and_neither_over():
    incident = look(rank(0).send(1, 1, OPEN, group=PAIR), rank(1).recv(0, 1, OPEN, group=PAIR))
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.side) == (Kind.NOT_COMPLETED, (0, 1), Side.DEVICE)
    assert incident.leads == ()


def test_a_call_that_a_member_has_no_record_of_was_not_requested_by_all():
    """Rank 3's whole dump goes from 41 to 44, the others are in 42: that is no matter of the device."""
    dumps = [rank(r, "gloo").calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN) for r in range(3)]
    incident = look(*dumps, rank(3, "gloo").calls("all_reduce", 1, 41).call("all_reduce", 44, OPEN))
    assert incident.verdict is Verdict.DIVERGENCE
    assert of_kind(incident, Kind.NOT_COMPLETED) == []


def gloos(*numbers: int, last: int = 42) -> list[Dump]:
    return [rank(r, "gloo").calls("all_reduce", 1, last - 1).call("all_reduce", last, OPEN) for r in numbers]


def test_a_rank_without_a_dump_is_missed_although_gloo_names_no_members():
    """Ranks 0, 1 and 3 wait; that there is a rank 2 follows from there being a rank 3."""
    incident = look(*gloos(0, 1, 3))
    assert told(incident) == [("lead", "not_observed", (2,), "0", 42)]
    assert incident.leads == ()
    assert incident.coverage.missing == {2: "no dump file of this rank was found"}


def test_without_a_proof_of_the_number_of_ranks_one_may_be_missing():
    (finding,) = look(*gloos(0, 1, 2)).findings
    assert finding.kind is Kind.NOT_COMPLETED
    assert "no rank is missing" not in finding.summary
    assert "one may be missing" in finding.summary


def test_with_a_proof_no_rank_is_missing_and_gloo_has_no_device():
    dumps = [
        rank(r, "gloo").call("all_gather", 1, size=8, out=24).call("all_reduce", 2, OPEN)
        for r in range(3)
    ]  # fmt: skip
    (finding,) = look(*dumps).findings
    assert "no rank is missing" in finding.summary
    assert "device" not in finding.summary
    assert "GPU" not in finding.compare_first


def test_a_group_that_is_larger_than_who_recorded_it_has_a_member_without_a_record():
    tp = Pg("5", "tp", (0, 1, 2, 3))
    dumps = [
        rank(r, "gloo").call("all_gather", 1, size=8, out=32, group=tp).call("all_reduce", 2, OPEN, group=tp) for r in (0, 1, 3)
    ]
    (finding,) = look(*dumps).findings
    assert "by its all_gathers it has 4 members, so of 1 there is no record" in finding.summary
    assert "rank 2: no dump file of this rank was found" in [line.text for line in finding.evidence]


def test_one_rank_alone_in_a_group_waits_for_somebody_who_left_no_record():
    """A call of a group of one is over at once."""
    tp = Pg("5", "tp", (3, 4))
    (finding,) = look(*(rank(r, "gloo") for r in range(3)), rank(3, "gloo").call("all_reduce", 1, OPEN, group=tp)).findings
    assert "nobody waits in a group of its own, so the other members left no record" in finding.summary


def test_who_belongs_to_a_group_without_recorded_members_is_asked_first():
    tp = Pg("5", "tp", (0, 1, 3))
    dumps = [rank(r, "gloo").call("all_reduce", 1, OPEN, group=tp) for r in (0, 1)]
    (finding,) = of_kind(look(*dumps, rank(3, "gloo")), Kind.NOT_COMPLETED)
    assert finding.compare_first.startswith("which ranks are members of tp, and whether rank 2, without a dump, is one; then ")


def test_what_gloo_says_is_over_is_not_called_finished():
    """A rank that raised is "retired" as one that went well is; and no GPU is to be compared."""
    dumps = [rank(r, "gloo").call("all_gather", 1, size=8, out=24) for r in range(3)]
    dumps[0].call("all_reduce", 2)
    (finding,) = look(dumps[0], dumps[1].call("all_reduce", 2, OPEN), dumps[2].call("all_reduce", 2)).findings
    assert (finding.kind, finding.ranks) == (Kind.PARTLY_COMPLETED, (1,))
    assert "it is over on ranks 0,2, well or badly is not recorded, and not on rank 1" in finding.summary
    assert "GPU" not in finding.compare_first
    assert "that the ranks where it is over finished it: it may have failed there" in finding.not_concluded


# -- some finished it ----------------------------------------------------------------------------------------------------


def test_a_rooted_call_that_some_finished_names_nobody():
    """The root is not recorded: whoever is done may be it."""
    dumps = [rank(0).call("broadcast", 1), *(rank(r).call("broadcast", 1, OPEN) for r in (1, 2, 3))]
    incident = look(*dumps)
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.others) == (Kind.PARTLY_COMPLETED, (1, 2, 3), ())
    assert incident.leads == ()
    assert "the root is not recorded" in finding.summary


def test_one_that_has_not_finished_what_three_finished_is_the_lead():
    """All of them completed it, which needs its part: what is unfinished is its own."""
    incident = look(*(rank(r).calls("all_reduce", 1, 42) for r in range(3)), *alike((3,), "all_reduce", 42))
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.others, finding.side) == (
        Kind.PARTLY_COMPLETED,
        (3,),
        (0, 1, 2),
        Side.DEVICE,
    )
    assert incident.leads == (3,)
    assert "GPU execution errors" in finding.compare_first
    assert "that the ranks which finished are sound" in finding.not_concluded


def test_others_that_wait_for_it_elsewhere_stand_below_it():
    """Ranks 0-2 went on to 43, where they wait for rank 3, which is held in 42."""
    dumps = [rank(r).calls("all_reduce", 1, 42).call("all_reduce", 43, OPEN) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN))
    assert incident.leads == (3,)
    assert {f.ranks for f in incident.findings if f.role is Role.LEAD} == {(3,)}


def test_a_majority_that_has_not_finished_yet_is_no_lead():
    """Dumps of a running job, one a moment later than the rest."""
    incident = look(rank(0).calls("all_reduce", 1, 42), *alike((1, 2, 3), "all_reduce", 42))
    assert incident.leads == ()
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert incident.findings[0].summary.endswith("; stuck there or a moment behind: not recorded")


@pytest.mark.parametrize("how", ["given up", "went on"])
def test_a_majority_that_stands_still_is_where_to_look(how):
    """What tells it from a running job: their recorder gave the call up, or their own records go on for over a minute."""

    def late(number: int) -> Dump:
        dump = rank(number).calls("all_reduce", 1, 41).call("all_reduce", 42, FAILED if how == "given up" else OPEN)
        return dump if how == "given up" else dump.call("all_reduce", 1, DONE, group=Pg("5", "own", (number,)), at=120.0)

    incident = look(rank(0).calls("all_reduce", 1, 42), *(late(r) for r in (1, 2, 3)))
    assert (incident.leads, incident.verdict) == ((), Verdict.DIVERGENCE)
    assert told(incident)[0] == ("lead", "partly_completed", (1, 2, 3), "0", 42)


def test_one_of_a_pair_for_which_all_others_wait_is_named():
    """Rank 6 alone has not finished its pair's call; all have gone on to the world's call, and no other rank lags."""
    world = Pg("0", "default_pg", tuple(range(8)))
    pairs = [Pg(str(i + 1), f"replicate_{i}", (i, i + 4)) for i in range(4)]

    def one(number: int, how: How) -> Dump:
        dump = rank(number).calls("all_reduce", 1, 20, group=pairs[number % 4])
        return dump.call("all_reduce", 21, how, group=pairs[number % 4]).call("all_reduce", 1, OPEN, group=world)

    incident = look(*(one(r, OPEN if r == 6 else DONE) for r in range(8)))
    assert incident.leads == (6,)
    incident = look(*(one(r, OPEN if r > 3 else DONE) for r in range(8)))
    assert (incident.leads, incident.verdict) == ((), Verdict.NOT_ENOUGH_EVIDENCE)
    assert of_kind(incident, Kind.ORDER_CYCLE) == []


@pytest.mark.parametrize(("how", "verdict"), [(OPEN, Verdict.NOT_ENOUGH_EVIDENCE), (FAILED, Verdict.DIVERGENCE)])
def test_a_receive_that_is_not_over_though_its_send_is(how, verdict):
    sends = rank(0).send(1, 1, group=PAIR).send(1, 2, group=PAIR)
    incident = look(sends, rank(1).recv(0, 1, group=PAIR).recv(0, 2, how, group=PAIR))
    assert (incident.leads, incident.verdict) == ((), verdict)
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.lane) == (Kind.PARTLY_COMPLETED, (1,), "p2p 0->1")


def test_nor_is_a_majority_that_is_two_calls_behind_the_newest_dump():
    """43 is over on rank 0, so 42 is over everywhere: what the others' records say is merely older than rank 0's."""
    dumps = [rank(r).calls("all_reduce", 1, 41).calls("all_reduce", 42, 43, OPEN) for r in (1, 2, 3)]
    assert look(rank(0).calls("all_reduce", 1, 43), *dumps).leads == ()


def test_a_cut_file_that_seems_to_lag_is_not_named():
    incident = look(*(rank(r).calls("all_reduce", 1, 42) for r in range(3)), *(d.cut() for d in alike((3,), "all_reduce", 42)))
    assert incident.leads == ()


def test_an_only_active_dump_keeps_members_of_batches_that_are_over():
    """The closing entry of a finished batch is left out and its members never move: no hang."""
    dumps = []
    for number in range(4):
        dump = rank(number).only_active().coalesced("", [("_broadcast_oop", 3), ("_broadcast_oop", 5)], 7, None)
        dumps.append(dump.counts(9, 9))
    incident = look(*dumps)
    assert (incident.verdict, incident.findings) == (Verdict.NO_HANG, ())


def test_sends_of_finished_batches_in_only_active_dumps_wait_for_nobody():
    dumps: list[Dump] = []
    for number in range(2):
        dump = rank(number).only_active()
        dump.batch(4, to=(1 - number,), of=(1 - number,), how=None, group=PAIR)
        dumps.append(dump.counts(None, None, group=PAIR, raw=(4, 4)))
    incident = look(*dumps)
    assert (incident.verdict, incident.findings) == (Verdict.NO_HANG, ())


# -- circles -------------------------------------------------------------------------------------------------------------


def test_a_circle_on_the_host_side_names_no_single_rank():
    incident = look(
        rank(0).knows(B).call("all_reduce", 1, OPEN, group=A), rank(1).knows(A).call("all_reduce", 1, OPEN, group=B)
    )
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.others, finding.side) == (Kind.ORDER_CYCLE, (0, 1), (), Side.HOST)
    assert incident.leads == ()
    assert "the order in which ranks 0-1 issue" in finding.compare_first
    assert any("one of these ranks is at fault" in text for text in finding.not_concluded)


def test_a_circle_on_the_device_side_shows_the_order_on_both_sides():
    incident = look(
        rank(0).call("all_reduce", 1, OPEN, group=A).call("all_reduce", 1, OPEN, group=B),
        rank(1).call("all_reduce", 1, OPEN, group=B).call("all_reduce", 1, OPEN, group=A),
    )
    (finding,) = incident.findings
    assert (finding.kind, finding.ranks, finding.side) == (Kind.ORDER_CYCLE, (0, 1), Side.DEVICE)
    assert [line.text for line in finding.evidence] == [
        "rank 0: open in the order a 1, then b 1 (trace_rank_0)",
        "rank 1: open in the order b 1, then a 1 (trace_rank_1)",
    ]
    assert incident.leads == ()


def test_swapped_calls_of_one_group_are_a_difference_and_no_circle():
    """Within one group the number decides: the two ranks ask for different things at 1."""
    dumps = [rank(0).call("all_reduce", 1, OPEN, group=PAIR).call("broadcast", 2, OPEN, group=PAIR)]
    dumps.append(rank(1).call("broadcast", 1, OPEN, group=PAIR).call("all_reduce", 2, OPEN, group=PAIR))
    assert [f.kind for f in look(*dumps).findings] == [Kind.DIFFERENT_OP]


def test_who_waits_for_a_circle_stands_below_it():
    chain = Pg("5", "chain", (1, 2))
    incident = look(
        rank(0).knows(B).call("all_reduce", 1, OPEN, group=A),
        rank(1).knows(A, chain).call("all_reduce", 1, OPEN, group=B),
        rank(2).call("all_reduce", 1, OPEN, group=chain),
    )
    assert [(f.role, f.kind, f.ranks) for f in incident.findings] == [
        (Role.LEAD, Kind.ORDER_CYCLE, (0, 1)),
        (Role.WAITING, Kind.WAITING, (2,)),
    ]


def test_a_circle_with_a_rank_that_nothing_tells_of_is_not_closed():
    third, first = Pg("5", "third", (1, 2)), Pg("6", "first", (2, 0))
    dumps = [
        rank(0).knows(first).call("all_reduce", 1, OPEN, group=A),
        rank(1).knows(A).call("all_reduce", 1, OPEN, group=third),
    ]
    incident = look(*dumps, lost(2))
    assert of_kind(incident, Kind.ORDER_CYCLE) == []
    assert incident.leads == ()


def test_a_pipeline_whose_stages_all_send_first_is_a_circle():
    """Each sends to its neighbour and then receives; without a buffer nobody gets to its receive."""
    ring = Pg("5", "ring", (0, 1, 2))
    dumps = [rank(r).send((r + 1) % 3, 1, OPEN, group=ring) for r in range(3)]
    incident = look(*dumps)
    assert [(f.kind, f.ranks) for f in incident.findings] == [(Kind.ORDER_CYCLE, (0, 1, 2))]
    assert incident.leads == ()


def test_done_states_are_what_the_recorder_calls_done():
    """gloo retires; nothing is open, nothing hangs."""
    incident = look(*(rank(r, "gloo").calls("all_reduce", 1, 42, DONE) for r in range(4)))
    assert incident.verdict is Verdict.NO_HANG


# -- members that are not recorded ---------------------------------------------------------------------------------------


def test_a_dump_without_any_call_is_shown_where_members_are_not_recorded():
    """Gloo does not say who is in a group: rank 3 may be the one that is missing, or not a member at all."""
    shard = Pg("2", "SHARD", (0, 1, 2, 3))
    incident = look(*(rank(r, "gloo").call("all_gather", 1, OPEN, group=shard) for r in range(3)), rank(3, "gloo"))
    (finding,) = incident.findings
    assert (incident.leads, finding.ranks) == ((), (0, 1, 2))
    assert "one may be missing" in finding.summary
    assert finding.evidence[-1].text == "rank 3: dump is whole and holds no call of any group (trace_rank_3)"


# -- what is known by counters alone -------------------------------------------------------------------------------------


def cut_before(number: int, seq: int) -> Dump:
    """Its counters, at the beginning of the file, have ``seq`` requested; the file ends before the record."""
    return rank(number).calls("all_reduce", 1, seq - 12).counts(seq, seq - 1).cut()


def test_of_a_call_known_by_counters_nobody_knows_what_was_asked_for():
    incident = look(*alike((0, 1, 2), "all_reduce", 42), cut_before(3, 42))
    (finding,) = (f for f in incident.findings if f.role is Role.LEAD)
    assert (finding.kind, incident.leads) == (Kind.NOT_COMPLETED, ())
    assert "equal arguments" not in " ".join((finding.summary, *finding.steps))
    assert "device side" not in finding.summary
    assert "what rank 3 asked for is not recorded, so it may differ" in finding.summary
    assert "rank 3: its counters show 42 requested, not what it asked for: cut (trace_rank_3)" in [
        each.text for each in finding.evidence
    ]
    assert "that all asked for the same: of rank 3 it is not recorded" in finding.not_concluded


def test_a_member_of_whose_request_nothing_is_told_may_be_of_either_side():
    """Two asked for Float, one for Half, and the fourth by its counters for anything: no majority."""
    odd = rank(2).calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN, dtype="Half")
    incident = look(*alike((0, 1), "all_reduce", 42), odd, cut_before(3, 42))
    assert incident.leads == ()
    assert [f.kind for f in incident.findings if f.role is Role.LEAD] == [Kind.DIFFERENT_DTYPE]


# -- what tells the ranks of one call apart ------------------------------------------------------------------------------


def test_a_rank_that_has_not_returned_from_the_launch_is_said_and_not_named():
    """nccl bumps last_enqueued once the launch has returned (FlightRecorder entry 42, counter 41)."""
    stuck = alike(range(4), "all_reduce", 42)
    for dump in stuck:
        dump.counts(41 if dump.number == 3 else 42, 41)
    incident = look(*stuck)
    (finding,) = incident.findings
    assert incident.leads == ()
    assert finding.summary.endswith("no rank is missing; rank 3 has not returned from the launch by its counters")
    assert finding.compare_first.startswith("the host stack of rank 3; then ")
    for dump in stuck:
        dump.counts(41, 41)
    assert "launch" not in look(*alike(range(4), "all_reduce", 42)).findings[0].summary


def test_a_kernel_that_has_not_begun_on_one_rank_is_said_where_it_would_have_been_recorded():
    def in_42(number: int, how: How, timed: bool) -> Dump:
        dump = rank(number).calls("all_reduce", 1, 41)
        for entry in dump.entries:
            entry["started_ns"] = entry["created_ns"] if timed else None
        return dump.call("all_reduce", 42, how)

    begun = [in_42(number, STARTED, timed=True) for number in (0, 1, 2)]
    timed, untimed = (look(*begun, in_42(3, OPEN, timed)).findings[0].summary for timed in (True, False))
    assert "started on ranks 0-2 and not on rank 3, whose stream is held up" in timed
    assert "held up" not in untimed


@pytest.mark.parametrize(("op", "equal"), [("all_reduce", True), ("my_own_exchange", False)])
def test_arguments_that_nobody_judged_are_not_said_to_be_equal(op, equal):
    sizes = [1024] * 4 if equal else [1024, 1024, 1024, 512]
    incident = look(*(rank(r).call(op, 1, OPEN, size=size) for r, size in enumerate(sizes)))
    assert ("with equal arguments" in incident.findings[0].summary) is equal


def test_a_ring_full_of_open_calls_does_not_say_what_holds_them():
    """42 to 60 are open and all that is left: the calls before may be open too, and nothing tells whom they wait for."""
    full = look(*(rank(r).wrapped().calls("all_reduce", 42, 60, OPEN) for r in range(4)))
    assert of_kind(full, Kind.NOT_COMPLETED) == []
    one_over = look(*(rank(r).wrapped().call("all_reduce", 41).calls("all_reduce", 42, 60, OPEN) for r in range(4)))
    assert told(one_over) == [("lead", "not_completed", (0, 1, 2, 3), "0", 42)]
    pair = [rank(r).wrapped().call("all_reduce", 41, OPEN).call("all_reduce", 9, group=A).counts(41, 30) for r in (0, 1)]
    assert of_kind(look(*pair), Kind.NOT_COMPLETED) == []


@pytest.mark.parametrize(
    ("roots", "told"),
    [
        ((0,), "; the root is rank 0"),
        ((0, 1), "; ranks 0-1 each take themselves for the root"),
        ((), "; the root is not recorded"),
    ],
)
def test_the_root_of_a_gather_is_who_has_what_comes_out(roots, told):
    """FORMAT: of a gather the root alone has outputs. Two that have some do not agree on whose it is."""
    out = {r: (1024, 1024) if r in roots else () for r in range(4)}
    dumps = [rank(r).call("gather", 1, OPEN if r < 2 else DONE, out=out[r]) for r in range(4)]
    (finding,) = look(*dumps).findings
    assert finding.summary.endswith(told)
