"""A call more or fewer makes every later number differ; it is one difference, and said as one."""

from __future__ import annotations

import pytest

from hangview.compare import Comparison, compare
from hangview.compare.page import to_text
from tests.engine.support import PAIR, Dump, look, rank

#: One step of a job: no two neighbours alike.
STEP = (("all_gather", 8), ("all_reduce", 16), ("reduce_scatter", 32), ("broadcast", 4))


def job(*calls: tuple[str, int]) -> list[Dump]:
    dumps = [rank(n) for n in range(2)]
    for dump in dumps:
        for seq, (op, size) in enumerate(calls, 1):
            dump.call(op, seq, group=PAIR, size=size)
    return dumps


def against(*other: tuple[str, int]) -> Comparison:
    return compare(look(*job(*STEP * 4)), look(*job(*other)))


@pytest.mark.parametrize(
    ("other", "moved", "seq"),
    [
        ((*STEP, ("all_reduce", 1), *STEP * 3), 1, 5),
        ((*STEP, *STEP[1:], *STEP * 2), -1, 5),
        ((*STEP, ("all_reduce", 1), ("all_reduce", 2), *STEP * 3), 2, 5),
        ((*STEP, *(("all_reduce", 1) for _ in range(12))), None, 5),
        ((*STEP, ("all_gather", 9), *(STEP * 3)[1:]), None, 5),
    ],
    ids=["added", "left out", "two added", "other calls", "one call differs"],
)
def test_by_how_many_calls_it_moved(other, moved, seq):
    difference = against(*other).differences[0]
    assert (difference.moved, difference.seq) == (moved, seq)


def test_a_loop_of_two_calls_does_not_tell_more_from_fewer():
    loop = (("all_gather", 8), ("all_reduce", 16))
    found = compare(look(*job(*loop * 6)), look(*job(*loop * 2, ("all_reduce", 16), *loop * 3)))
    assert found.differences[0].moved is None


def test_too_few_calls_tell_nothing():
    found = compare(look(*job(*STEP)), look(*job(("barrier", 1), *STEP[:3])))
    assert found.differences[0].moved is None


def test_equal_calls_tell_nothing():
    """From call 5 on they are issued from elsewhere; any number fits a run of equal calls."""

    def run(last: int, place: str) -> list[Dump]:
        dumps = [rank(n).calls("all_reduce", 1, 4, group=PAIR, place="step@train.py:9") for n in range(2)]
        return [dump.calls("all_reduce", 5, last, group=PAIR, place=place) for dump in dumps]

    found = compare(look(*run(8, "step@train.py:9")), look(*run(9, "other@train.py:5")))
    assert (found.differences[0].kind.value, found.differences[0].seq, found.differences[0].moved) == ("call_site", 5, None)


def test_it_is_said():
    assert "B has 1 more call here and then goes on as A does" in to_text(against(*STEP, ("all_reduce", 1), *STEP * 3))
    assert "B has 1 fewer call here" in to_text(against(*STEP, *STEP[1:], *STEP * 2))
