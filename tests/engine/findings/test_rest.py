"""What explains no hang (notes), and what a lead explains (waiting)."""

from __future__ import annotations

from hangview.terms import Kind, Role, Side, Verdict
from tests.engine.support import OPEN, WORLD, Pg, alike, look, of_kind, rank, told
from tests.engine.test_clocks import on_time, tardy

TP = Pg("7", "tp", (0, 1, 2, 3))


# -- stragglers ----------------------------------------------------------------------------------------------------------


def test_a_straggler_is_a_note_and_no_divergence():
    incident = look(*on_time(32), tardy(3, 1, 32, dict.fromkeys(range(21, 33), 0.2)))
    (finding,) = incident.findings
    assert (finding.kind, finding.role, finding.ranks, finding.others) == (Kind.STRAGGLER, Role.NOTE, (3,), (0, 1, 2))
    assert finding.seq == 21
    assert (incident.verdict, incident.leads) == (Verdict.NO_HANG, ())
    assert "that this is a hang" in finding.not_concluded
    (line,) = finding.evidence
    assert line.text.startswith("rank 3: 12 calls from 21 on requested")
    assert line.source is not None


def test_the_uncertainty_of_clocks_is_said_with_it():
    """Rank 1's clock is four seconds ahead: half of that is what times of two ranks may be wrong by."""
    dumps = [*on_time(32), tardy(3, 1, 32, dict.fromkeys(range(21, 33), 0.2))]
    ahead = rank(1).clock(4.0).calls("all_reduce", 1, 32, took=0.5)
    (finding,) = look(dumps[0], ahead, dumps[2], dumps[3]).findings
    assert "±2." in finding.summary


# -- waiting -------------------------------------------------------------------------------------------------------------


def test_waiting_groups_stand_below_their_lead():
    """Ranks 0-2 wait in tp for 3, which waits in a pair for 4."""
    pair = Pg("5", "pair", (3, 4))
    dumps = [rank(r).calls("all_reduce", 1, 3, group=TP).call("all_reduce", 4, OPEN, group=TP) for r in range(3)]
    incident = look(
        *dumps,
        rank(3).calls("all_reduce", 1, 3, group=TP).call("all_reduce", 2, OPEN, group=pair),
        rank(4).call("all_reduce", 1, group=pair),
    )
    assert told(incident) == [("lead", "not_requested", (4,), "5", 2), ("waiting", "waiting", (0, 1, 2), "7", 4)]
    below = incident.findings[1]
    assert (below.others, below.side) == ((3,), Side.HOST)
    assert below.summary == ("ranks 0-2 wait in all_reduce 4 of tp for rank 3, which waits too (in the end for rank 4)")
    assert below.not_concluded == ("that these ranks are at fault: they wait",)


def test_of_a_queue_of_messages_only_the_nearest_waits():
    """Stage 2 has many receives queued; the first of each lane says it."""
    pipe = Pg("5", "pp", (0, 1, 2))
    middle = rank(1).recv(0, 1, OPEN, group=pipe)
    last = rank(2)
    for number in range(1, 9):
        last.recv(1, number, OPEN, group=pipe)
    incident = look(rank(0).knows(pipe), middle, last)
    assert incident.leads == (0,)
    assert [(f.role, f.ranks, f.seq) for f in incident.findings] == [(Role.LEAD, (0,), 1), (Role.WAITING, (2,), 1)]


def test_nothing_waits_where_there_is_no_lead():
    """Dumps of a running job: ranks in their newest call, and others whose dumps are older."""
    incident = look(*alike((0,), "all_reduce", 44), *(rank(r).calls("all_reduce", 1, 41) for r in (1, 2, 3)))
    assert of_kind(incident, Kind.WAITING) == []


def test_healthy_groups_are_not_told():
    dumps = [rank(r).calls("all_reduce", 1, 9, group=TP).calls("all_reduce", 1, 41) for r in range(4)]
    for dump in dumps[:3]:
        dump.call("all_reduce", 42, OPEN, group=WORLD)
    assert {f.group for f in look(*dumps).findings} == {0}
