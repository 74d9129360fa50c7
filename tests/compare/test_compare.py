"""Two sets side by side: the first difference, whom it is about, and what is not observed and never a difference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

from hangview.compare import Comparison, Outcome, compare
from hangview.compare.values import DifferenceKind
from hangview.schema import SourceStatus
from tests.engine.support import DONE, ISSUED, OPEN, PAIR, Dump, Pg, alike, look, lost, rank

if TYPE_CHECKING:
    from hangview.incident import Incident

TP = Pg("1", "tp", (0, 1))


def told(found: Comparison) -> list[tuple[str, str, str, int | None, tuple[tuple[str, tuple[int, ...]], ...]]]:
    """Differences in short: (kind, group, lane, seq, ((kind, ranks) of each part))."""
    return [
        (d.kind.value, found.groups[d.pair].label, d.lane, d.seq, tuple((p.kind.value, p.ranks) for p in d.parts))
        for d in found.differences
    ]


def full(numbers: range, last: int = 10, library: str = "nccl", **rest) -> list[Dump]:
    return [rank(number, library).calls("all_reduce", 1, last, **rest) for number in numbers]


def test_a_set_does_not_differ_from_itself():
    a = look(*full(range(4)))
    found = compare(a, a)
    assert (found.outcome, found.differences, found.changed) == (Outcome.SAME, (), ())
    assert found.groups[0].compared == 10


def test_ids_of_one_set_mean_nothing_in_the_other():
    """The same calls, but ops, signatures and stacks are met in another order, so that their ids are others."""
    extra = Pg("9", "extra", (0, 1))
    a = look(rank(0).call("all_reduce", 1, group=PAIR, place="step@train.py:1"), rank(1).call("all_reduce", 1, group=PAIR))
    b = look(
        rank(0)
        .call("barrier", 1, group=extra, size=None, place="x@y.py:2")
        .call("all_reduce", 1, group=PAIR, place="step@train.py:1"),
        rank(1).call("barrier", 1, group=extra, size=None).call("all_reduce", 1, group=PAIR),
    )
    assert told(compare(a, b)) == [("only_in_one", "extra", "collective", None, (("only_in_one", (0, 1)),))]


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        (rank(2).calls("all_reduce", 1, 5).call("all_gather", 6), "op"),
        (rank(2).calls("all_reduce", 1, 5).call("all_reduce", 6, size=512), "size"),
        (rank(2).calls("all_reduce", 1, 5).call("all_reduce", 6, dtype="Half"), "dtype"),
    ],
    ids=["op", "size", "dtype"],
)
def test_another_op_size_or_dtype_is_named_with_its_rank(odd, kind):
    b = look(*full(range(2), 6), odd, *full(range(3, 4), 6))
    assert told(compare(look(*full(range(4), 6)), b))[0] == (kind, "default_pg", "collective", 6, ((kind, (2,)),))


def test_the_words_name_both_sides():
    found = compare(look(*full(range(2), 3, group=PAIR)), look(*full(range(2), 3, group=PAIR, size=512)))
    (part,) = found.differences[0].parts
    assert (part.a, part.b, part.ranks) == ("1,024 × Float", "512 × Float", (0, 1))
    assert found.differences[0].seq == 1


def test_a_call_that_is_over_in_one_set_only():
    found = compare(look(*full(range(4))), look(*alike(range(4), "all_reduce", 10)))
    assert told(found) == [("state", "default_pg", "collective", 10, (("state", (0, 1, 2, 3)),))]
    (part,) = found.differences[0].parts
    assert (part.a, part.b) == ("completed", "requested, not over")


def test_a_call_that_was_observed_not_to_be_requested_comes_before_those_who_wait():
    b = look(rank(0).calls("all_reduce", 1, 9), *alike(range(1, 4), "all_reduce", 10))
    found = compare(look(*full(range(4))), b)
    assert told(found) == [("not_requested", "default_pg", "collective", 10, (("not_requested", (0,)), ("state", (1, 2, 3))))]


def test_the_other_way_round_it_is_the_same_call():
    b = look(rank(0).calls("all_reduce", 1, 9), *alike(range(1, 4), "all_reduce", 10))
    found = compare(b, look(*full(range(4))))
    assert found.differences[0].parts[0].a.startswith("not requested")
    assert found.differences[0].parts[0].b == "completed"


def test_a_run_that_ends_earlier_does_not_differ():
    """A run that was stopped, or dumped, earlier: no rank is behind another one."""
    found = compare(look(*full(range(4), 10)), look(*full(range(4), 7)))
    assert (found.outcome, found.groups[0].compared) == (Outcome.SAME, 7)
    assert (found.groups[0].held_a, found.groups[0].held_b) == ((1, 10), (1, 7))


def test_a_rank_without_a_dump_is_not_compared():
    b = look(*full(range(3)), lost(3))
    found = compare(look(*full(range(4))), b)
    assert found.outcome is Outcome.SAME
    assert found.groups[0].ranks == (0, 1, 2)
    assert found.notes == ("not compared: rank 3: no dump of it in B",)


def test_windows_that_do_not_overlap_are_not_observed():
    a = look(*(rank(n).calls("all_reduce", 1, 5) for n in range(4)))
    b = look(*(rank(n).wrapped().calls("all_gather", 50, 55) for n in range(4)))
    found = compare(a, b)
    assert (found.outcome, found.differences) == (Outcome.NOTHING, ())
    assert found.groups[0].unobserved == ("no call is held by both: A holds calls 1-5, B calls 50-55",)


def test_what_a_ring_buffer_has_overwritten_may_have_differed():
    b = look(*(rank(n).wrapped().calls("all_reduce", 4, 10) for n in range(4)))
    found = compare(look(*full(range(4))), b)
    assert (found.outcome, found.groups[0].first, found.groups[0].compared) == (Outcome.SAME, 4, 7)
    assert "calls before 4 are not in B's dumps any more" in found.groups[0].unobserved[0]


def test_the_last_call_of_a_file_that_ends_early_is_not_compared():
    b = look(*full(range(3)), rank(3).calls("all_reduce", 1, 8).call("all_reduce", 9, size=1).cut())
    assert compare(look(*full(range(4))), b).outcome is Outcome.SAME


def test_one_more_call_on_one_rank_shows_by_its_call_site():
    """Ops and sizes agree; rank 1 issues the third call from elsewhere."""

    def train(n: int, odd: str = "step@train.py:40") -> Dump:
        return (
            rank(n)
            .calls("all_reduce", 1, 2, group=PAIR, place="step@train.py:40")
            .call("all_reduce", 3, group=PAIR, place=odd)
            .call("all_reduce", 4, group=PAIR, place="log@train.py:90")
        )

    found = compare(look(train(0), train(1)), look(train(0), train(1, "step@train.py:44")))
    assert told(found) == [("call_site", "default_pg", "collective", 3, (("call_site", (1,)),))]
    assert found.differences[0].parts[0].b == "from step (train.py:44)"


def test_an_edited_file_moves_lines_and_is_no_difference():
    a = look(*full(range(4), place="step@train.py:40"))
    assert compare(a, look(*full(range(4), place="step@train.py:43"))).outcome is Outcome.SAME


def test_gloo_does_not_say_completed_and_does_not_differ_by_that():
    found = compare(look(*full(range(4), library="nccl")), look(*full(range(4), library="gloo")))
    assert (found.outcome, [c.name for c in found.changed]) == (Outcome.SAME, ["backend"])


def test_a_recorder_that_only_says_issued_says_nothing_about_the_end():
    issued = [rank(n, "nccl2").calls("all_reduce", 1, 10, ISSUED) for n in range(4)]
    a = look(*alike(range(4), "all_reduce", 10))
    found = compare(a, look(*issued))
    assert found.outcome is Outcome.SAME
    assert any("nccl2 records only that they were issued" in note for note in found.notes)


def test_spellings_of_one_op_do_not_differ():
    a = look(*(rank(n).calls("_all_gather_base", 1, 3, size=8, out=32) for n in range(4)))
    b = look(*(rank(n, "nccl2").calls("all_gather_single", 1, 3, ISSUED, size=8, out=32) for n in range(4)))
    assert compare(a, b).outcome is Outcome.SAME


def test_a_batch_of_one_recorder_is_not_measured_against_a_single_call_of_another():
    a = look(
        *(rank(n).coalesced("ALLGATHER_coalesced", [("_all_gather_base", 8), ("_all_gather_base", 8)], 1) for n in range(4))
    )
    b = look(*(rank(n, "nccl2").call("all_gather_single", 1, ISSUED, size=8, out=32) for n in range(4)))
    assert compare(a, b).outcome is Outcome.SAME


def test_where_one_recorder_takes_a_call_apart_the_numbers_end():
    """gloo runs reduce_scatter as one all_reduce a rank, each with a number; the stack names what was called."""
    from hangview.schema import StackFrame
    from tests.engine import support

    def scatter(library: str, ops: list[str]) -> list[Dump]:
        dumps = [rank(n, library).call("broadcast", 1, group=PAIR) for n in range(2)]
        for dump in dumps:
            for seq, op in enumerate(ops, 2):
                dump.call(op, seq, group=PAIR, size=2, out=1)
                torch = StackFrame("reduce_scatter", "/x/torch/distributed/distributed_c10d.py", 6035)
                dump.entries[-1]["stack"] = (torch, *support.stack("step@train.py:3"))
        return dumps

    found = compare(look(*scatter("nccl", ["_reduce_scatter_base", "barrier"])), look(*scatter("gloo", ["all_reduce"] * 3)))
    assert found.outcome is Outcome.SAME
    assert found.groups[0].compared == 1
    assert any(reason.startswith("from call 2 on") for reason in found.groups[0].unobserved)


def test_another_op_on_another_recorder_is_another_op():
    """Nothing shows that one recorder took the call apart: it was called by another name, or no stack says."""
    a = look(*full(range(2), 3, group=PAIR, place="step@train.py:3"))
    b = look(*(rank(n, "gloo").calls("all_reduce", 1, 2, group=PAIR).call("broadcast", 3, group=PAIR) for n in range(2)))
    assert told(compare(a, b))[0] == ("op", "default_pg", "collective", 3, (("op", (0, 1)),))


def test_messages_are_compared_by_their_place_in_the_lane():
    def pipe(second: int) -> tuple[Dump, Dump]:
        return (
            rank(0).send(1, 1, group=PAIR).send(1, 2, group=PAIR, size=second),
            rank(1).recv(0, 1, group=PAIR).recv(0, 2, group=PAIR, size=second),
        )

    found = compare(look(*pipe(1024)), look(*pipe(64)))
    assert told(found) == [("size", "default_pg", "p2p 0->1", 2, (("size", (0, 1)),))]
    assert found.groups[0].messages == 2


def test_a_message_that_the_other_end_waits_for_was_not_requested():
    whole = (rank(0).send(1, 1, group=PAIR).send(1, 2, group=PAIR), rank(1).recv(0, 1, group=PAIR).recv(0, 2, group=PAIR))
    hung = (rank(0).send(1, 1, group=PAIR), rank(1).recv(0, 1, group=PAIR).recv(0, 2, OPEN, group=PAIR))
    found = compare(look(*whole), look(*hung))
    assert told(found) == [("not_requested", "default_pg", "p2p 0->1", 2, (("not_requested", (0,)), ("state", (1,))))]


def test_messages_cannot_be_counted_once_the_oldest_are_gone():
    a = (rank(0).send(1, 1, group=PAIR), rank(1).recv(0, 1, group=PAIR))
    b = (rank(0).wrapped().send(1, 9, group=PAIR, size=1), rank(1).wrapped().recv(0, 9, group=PAIR, size=1))
    found = compare(look(*a), look(*b))
    assert found.outcome is Outcome.NOTHING
    assert any("cannot be counted" in reason for reason in found.groups[0].unobserved)


def test_gloo_has_no_messages_and_does_not_differ_by_that():
    a = (
        rank(0).call("barrier", 1, group=PAIR).send(1, 1, group=PAIR),
        rank(1).call("barrier", 1, group=PAIR).recv(0, 1, group=PAIR),
    )
    b = (rank(0, "gloo").call("barrier", 1, group=PAIR), rank(1, "gloo").call("barrier", 1, group=PAIR))
    found = compare(look(*a), look(*b))
    assert found.outcome is Outcome.SAME
    assert any("gloo does not record them (B)" in reason for reason in found.groups[0].unobserved)


def test_what_differs_first_on_its_ranks_comes_before_what_follows_from_it():
    """Rank 0 passes another size in the world's call 3; that it never comes to tp's second call only follows."""

    def job(odd: bool) -> list[Dump]:
        dumps = []
        for n in range(2):
            dump = rank(n).calls("all_reduce", 1, 2, group=PAIR).call("all_gather", 1, group=TP)
            then = {"size": 7, "how": OPEN} if odd and n == 0 else {"how": OPEN if odd else DONE}
            dump.call("all_reduce", 3, group=PAIR, **then)
            dump.call("all_gather", 2, group=TP, size=9 if odd else 8)
            dumps.append(dump)
        return dumps

    found = compare(look(*job(odd=False)), look(*job(odd=True)))
    assert [(d.kind, d.seq, d.follows) for d in found.differences] == [
        (DifferenceKind.SIZE, 3, False),
        (DifferenceKind.SIZE, 2, True),
    ]


def test_what_comes_first_on_a_rank_comes_first_whatever_its_kind():
    """Both ranks never get over the world's call 3; another size in tp afterwards is told second."""

    def job(odd: bool) -> list[Dump]:
        how, size = (OPEN, 9) if odd else (DONE, 8)
        dumps = [rank(n).calls("all_reduce", 1, 2, group=PAIR) for n in range(2)]
        return [dump.call("all_reduce", 3, how, group=PAIR).call("all_gather", 1, how, group=TP, size=size) for dump in dumps]

    found = compare(look(*job(odd=False)), look(*job(odd=True)))
    assert [(d.kind.value, found.groups[d.pair].label, d.follows) for d in found.differences] == [
        ("state", "default_pg", False),
        ("size", "tp", True),
    ]


def test_a_group_with_calls_in_one_set_only():
    a = look(*(rank(n).call("all_reduce", 1, group=PAIR).call("all_reduce", 1, group=TP) for n in range(2)))
    b = look(*(rank(n).call("all_reduce", 1, group=PAIR).knows(PAIR) for n in range(2)))
    assert told(compare(a, b)) == [("only_in_one", "tp", "collective", None, (("only_in_one", (0, 1)),))]
    assert compare(b, a).differences[0].parts[0].a == "no call"


def test_a_group_that_a_ring_buffer_may_have_lost_is_no_difference():
    a = look(*(rank(n).call("all_reduce", 1, group=PAIR).call("all_reduce", 1, group=TP) for n in range(2)))
    b = look(*(rank(n).wrapped().call("all_reduce", 1, group=PAIR) for n in range(2)))
    assert compare(a, b).outcome is Outcome.SAME


def test_a_group_that_was_made_and_never_used_is_no_difference():
    a = look(*(rank(n).call("all_reduce", 1, group=PAIR).knows(PAIR, TP) for n in range(2)))
    b = look(*(rank(n).call("all_reduce", 1, group=PAIR) for n in range(2)))
    assert compare(a, b).outcome is Outcome.SAME


def test_nothing_readable_is_nothing_comparable():
    found = compare(look(lost(0, SourceStatus.EMPTY)), look(*full(range(4))))
    assert found.outcome is Outcome.NOTHING


def test_the_order_of_the_files_changes_nothing():
    dumps = alike(range(4), "all_reduce", 10)
    a = look(*full(range(4)))
    one, other = compare(a, look(*dumps)), compare(a, look(*reversed(dumps)))
    assert (one.differences, one.groups, one.conditions) == (other.differences, other.groups, other.conditions)


def test_durations_stand_beside_each_other_and_decide_nothing():
    def timed(*took: float | None) -> Incident:
        incident = look(*(rank(n).calls("all_reduce", 1, len(took), group=PAIR) for n in range(2)))
        return replace(incident, entries=incident.entries.with_columns(pl.Series("duration_ms", took * 2, dtype=pl.Float64)))

    found = compare(timed(1.0, 2.0, 3.0), timed(6.0, None, 4.0))
    (duration,) = found.durations
    assert found.outcome is Outcome.SAME
    assert (duration.op, duration.a_ms, duration.b_ms, duration.a_count, duration.b_count) == ("all_reduce", 2.0, 5.0, 6, 4)
    assert duration.ratio == 2.5
    assert compare(timed(1.0), timed(None)).durations == ()
