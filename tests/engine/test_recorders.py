"""Two libraries number their calls on their own: records of one are not lined up with those of the other."""

from __future__ import annotations

from hangview.engine.recorders import one_recorder
from hangview.terms import Kind
from tests.engine.support import OPEN, alike, look, of_kind, rank, steps


def test_a_dump_of_the_other_library_of_a_group_says_nothing_of_this_one():
    """Rank 3's gloo numbers end at 12, the others' nccl numbers at 13: neither is behind the other."""
    gloo = rank(3, "gloo").calls("all_reduce", 1, 12)
    incident = look(*alike((0, 1, 2), "all_reduce", 13), gloo)
    assert incident.leads == ()
    (finding,) = of_kind(incident, Kind.NOT_OBSERVED)
    assert "gloo records only, this group was recorded by nccl" in finding.evidence[0].text


def test_records_of_both_libraries_in_one_dump_are_no_reason_to_leave_it_out():
    both = rank(3).calls("all_reduce", 1, 12)
    both.library = "gloo"
    found = steps(*alike((0, 1, 2), "all_reduce", 13), both.call("barrier", 1))
    assert one_recorder(found.records, found.entries)["group"].null_count() == 0


def test_two_against_two_line_up_nobody():
    incident = look(*alike((0, 1), "all_reduce", 13, OPEN), *(rank(r, "gloo").calls("barrier", 1, 9) for r in (2, 3)))
    assert incident.leads == ()
