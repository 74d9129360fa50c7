"""Who asks for something else may have made a call more or less: its requests beside the others'."""

from __future__ import annotations

from hangview.engine.shifted import Shifted, shifted
from hangview.terms import Kind
from tests.engine.support import DONE, OPEN, Dump, look, rank, steps

#: Elements that each call of a step takes, one after the other.
SIZES = (64, 1024, 512, 2048)


def asks(number: int, upto: int, more: int = 0) -> Dump:
    """A rank that makes calls of the sizes in turn, the last one open; ``more`` of them before the fifth, so that its numbers
    are the others' moved from there on."""
    dump = rank(number)
    for seq in range(1, upto + 1):
        dump.call("all_reduce", seq, DONE if seq < upto else OPEN, size=SIZES[(seq - 1 - (more if seq > 4 else 0)) % 4])
    return dump


def moved(*dumps: Dump) -> dict[tuple[int, int], tuple[Shifted, ...]]:
    found = steps(*dumps)
    return shifted(found.calls, found.stalls)


def test_who_asks_for_what_the_others_asked_for_before_is_told():
    """Rank 0 made its fourth call twice: what it asks for in 5 the others asked for in 4."""
    dumps = [asks(0, 5, 1), *(asks(r, 5) for r in (1, 2, 3))]
    assert moved(*dumps) == {(0, 5): (Shifted(0, 5, 4),)}
    (finding, *_) = look(*dumps).findings
    assert (finding.kind, finding.ranks) == (Kind.DIFFERENT_SIZE, (0,))
    assert finding.compare_first.startswith("how many calls rank 0 made before")
    assert any(
        line.text.startswith("rank 0 asks in 5 of default_pg for what the others ask for in 4") for line in finding.evidence
    )


def test_who_asks_later_for_what_the_others_ask_for_now_is_told():
    odd = rank(0).call("all_reduce", 1, size=64).call("all_reduce", 2, OPEN, size=7).call("all_reduce", 3, OPEN, size=1024)
    dumps = [odd, *(asks(r, 2) for r in (1, 2, 3))]
    assert moved(*dumps) == {(0, 2): (Shifted(0, 3, 2),)}


def test_another_size_among_calls_that_are_all_alike_is_nothing_of_that_kind():
    """A last batch that is smaller: its next call is like all others, which tells nothing."""
    odd = rank(0).calls("all_reduce", 1, 3).call("all_reduce", 4, OPEN, size=7).call("all_reduce", 5, OPEN)
    dumps = [odd, *(rank(r).calls("all_reduce", 1, 3).call("all_reduce", 4, OPEN) for r in (1, 2, 3))]
    assert moved(*dumps) == {}
    assert look(*dumps).findings[0].compare_first.startswith("the input, batch and tensor construction")
