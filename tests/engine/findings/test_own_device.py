"""A rank that others wait for and whose own earlier call is not over although others completed it: its device may hold it."""

from __future__ import annotations

from hangview.terms import Kind, Role, Side
from tests.engine.support import OPEN, Dump, Pg, look, rank

DP = Pg("7", "dp", (0, 1, 2, 3))
PIPE = Pg("8", "pipe", (0, 3))


def late(number: int) -> Dump:
    """Its call 5 of dp is open; others completed it. It requested 41 calls of the default group."""
    dump = rank(number).calls("all_reduce", 1, 4, group=DP).call("all_reduce", 5, OPEN, group=DP)
    return dump.calls("all_reduce", 1, 41)


def waits(number: int) -> Dump:
    dump = rank(number).calls("all_reduce", 1, 5, group=DP)
    return dump.calls("all_reduce", 1, 41).call("all_reduce", 42, OPEN)


def test_its_device_is_to_be_looked_at_too():
    incident = look(*(waits(r) for r in range(3)), late(3))
    lead = incident.findings[0]
    assert (lead.kind, lead.ranks) == (Kind.NOT_REQUESTED, (3,))
    assert "rank 3's path before communication" in lead.compare_first
    assert lead.compare_first.endswith(
        "? Also, as to the earlier call that others completed: "
        "GPU execution errors, stream progress and earlier errors on rank 3, where it is not over"
    )


def test_whether_the_host_or_the_device_holds_it_up_is_left_open():
    """It is the second thing that is said, and stands right behind where its records stop."""
    lead = look(*(waits(r) for r in range(3)), late(3)).findings[0]
    assert lead.side is Side.UNKNOWN
    assert lead.summary.endswith("; an earlier call that others completed is not over on rank 3")
    assert "not over here although" in lead.evidence[1].text
    plain = rank(3).calls("all_reduce", 1, 5, group=DP).calls("all_reduce", 1, 41)
    assert look(*(waits(r) for r in range(3)), plain).findings[0].side is Side.HOST


def test_a_rank_without_such_a_call_sends_nobody_to_the_device():
    plain = rank(3).calls("all_reduce", 1, 5, group=DP).calls("all_reduce", 1, 41)
    lead = look(*(waits(r) for r in range(3)), plain).findings[0]
    assert lead.ranks == (3,)
    assert "GPU" not in lead.compare_first


def test_what_is_said_of_two_ranks_cites_the_files_of_both():
    lead = look(waits(0), waits(1), late(2), late(3)).findings[0]
    assert lead.ranks == (2, 3)
    assert [line.text for line in lead.evidence if "others completed it" in line.text] == [
        "ranks 2-3: 5 of dp is not over here although others completed it (last completed 4) (trace_rank_2, trace_rank_3)"
    ]


def test_of_two_leads_the_one_without_such_a_call_is_not_said_to_have_one():
    plain = rank(2).calls("all_reduce", 1, 5, group=DP).calls("all_reduce", 1, 41)
    lead = look(waits(0), waits(1), plain, late(3)).findings[0]
    assert lead.ranks == (2, 3)
    assert [line.text.partition(":")[0] for line in lead.evidence if "others completed it" in line.text] == ["rank 3"]


def test_a_lead_is_not_said_to_wait_too():
    """Rank 0 waits for what rank 3 sends behind its own open call, and in the default group nobody is missed but rank 3."""
    sender = late(3).send(0, 1, OPEN, group=PIPE)
    first = rank(0).calls("all_reduce", 1, 5, group=DP).calls("all_reduce", 1, 41).recv(3, 1, OPEN, group=PIPE)
    incident = look(first, waits(1), waits(2), sender)
    (waiting,) = [f for f in incident.findings if f.role is Role.WAITING and f.lane == "p2p 3->0"]
    assert incident.leads
    assert "waits too" not in waiting.summary
