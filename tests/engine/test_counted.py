"""Calls that are open by a rank's own counters, where the ring buffer has dropped their records."""

from __future__ import annotations

import pytest

from hangview.terms import Kind, Role, Verdict
from tests.engine.support import OPEN, Dump, Pg, look, rank

SIDE = Pg("1", "checkpoints", (0, 1, 2, 3))


def lives_on(number: int, enqueued: int, completed: int, library: str = "nccl") -> Dump:
    """The main loop's calls are all over; of the side group only counters are left."""
    dump = rank(number, library).calls("all_reduce", 5000, 5010).counts(5010, 5010)
    told = -1 if completed == -1 else None  # what cannot be compared with sequence numbers is not, but for "none yet"
    return dump.knows(SIDE).counts(None, told, group=SIDE, raw=(enqueued, completed)).wrapped(9000)


@pytest.mark.parametrize("library", ["nccl", "gloo"])
def test_no_hang_is_not_said_where_a_call_is_open_by_the_counters(library):
    """Ranks 0, 1 and 3 wait in the side group's second call, and rank 2 did not come to it."""
    incident = look(*(lives_on(r, 1 if r == 2 else 2, 1, library) for r in range(4)))
    assert (incident.verdict, incident.leads) == (Verdict.NOT_ENOUGH_EVIDENCE, ())
    (note,) = incident.findings
    assert (note.role, note.kind, note.ranks) == (Role.NOTE, Kind.NOT_OBSERVED, (0, 1, 3))
    assert note.summary.startswith("ranks 0-1,3 have a call of ")
    assert [line.text.partition(":")[2] for line in note.evidence] == [
        " last enqueued 2, last completed 1",
        " last enqueued 1, last completed 1",
    ]


def test_the_first_call_of_a_group_may_be_the_open_one():
    incident = look(*(lives_on(r, 1, -1) for r in range(4)))
    assert incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert incident.findings[0].ranks == (0, 1, 2, 3)


@pytest.mark.parametrize(("enqueued", "completed"), [(2, 2), (0, -1), (-1, -1)])
def test_counters_of_calls_that_are_over_say_nothing(enqueued, completed):
    incident = look(*(lives_on(r, enqueued, completed) for r in range(4)))
    assert (incident.verdict, incident.findings) == (Verdict.NO_HANG, ())


def test_counters_that_count_sequence_numbers_name_who_did_not_come():
    dumps = [rank(r).calls("all_reduce", 5000, 5010).counts(5010, 5010).knows(SIDE).wrapped(9000) for r in range(4)]
    incident = look(*(dump.counts(1 if r == 2 else 2, 1, group=SIDE) for r, dump in enumerate(dumps)))
    assert incident.leads == (2,)
    assert [f.kind for f in incident.findings] == [Kind.NOT_REQUESTED]


def test_where_there_are_records_these_tell():
    """The counters lag behind: the watchdog notes what is completed a little later."""
    dumps = [lives_on(r, 2, 1).call("all_reduce", 2, group=SIDE) for r in range(4)]
    assert look(*dumps).verdict is Verdict.NO_HANG


def test_beside_a_rank_that_is_named_it_is_a_note():
    dumps = [lives_on(r, 2, 1) for r in range(4)]
    for dump in dumps[:3]:
        dump.call("all_reduce", 5011, OPEN).counts(5011, 5010)
    incident = look(*dumps)
    assert incident.leads == (3,)
    assert [f.role for f in incident.findings] == [Role.LEAD, Role.NOTE]
