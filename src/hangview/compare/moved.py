"""A call more or fewer: from some call on, one set's requests are the other's moved by a few numbers.

A collective that a new version adds, or that a rank skips, makes every later number differ; the difference is one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hangview.compare.rows import COLLECTIVE_LANE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.compare.beside import Input

#: Calls that are looked at behind the first difference, how many must fit, and how far requests may have moved.
_WINDOW, _FITTING, _FARTHEST = 64, 4, 3
#: Calls of which only the moved number fits: a loop of equal calls fits any.
_TELLING = 2

_Asked = tuple[int | None, int | None, int | None]


def moved_by(a: Input, b: Input, pair: int, rank: int, seq: int) -> int | None:
    """How many calls B has more than A before ``seq`` goes on as in A; negative: fewer. None where nothing fits, or where more
    than one answer does."""
    one, other = (_asked(side, pair, rank, seq) for side in (a, b))
    for far in range(1, _FARTHEST + 1):
        fitting = [by for by in (far, -far) if _fits(one, other, seq, by)]
        if fitting:
            return fitting[0] if len(fitting) == 1 else None
    return None


def _asked(side: Input, pair: int, rank: int, seq: int) -> Mapping[int, _Asked]:
    """What the rank requested from ``seq`` on: op family, sizes, dtypes."""
    rows = side.requests.rows.filter(
        (pl.col("group") == side.groups[pair])
        & (pl.col("lane") == COLLECTIVE_LANE)
        & (pl.col("rank") == rank)
        & pl.col("seq").is_between(seq, seq + _WINDOW)
    )
    return {number: tuple(asked) for number, *asked in rows.select("seq", "bare", "sizes", "dtypes").iter_rows()}


def _fits(one: Mapping[int, _Asked], other: Mapping[int, _Asked], seq: int, by: int) -> bool:
    """Whether B's call ``s + by`` is A's call ``s`` wherever both have one."""
    judged = [number for number in sorted(one) if number >= seq and number + by >= seq and number + by in other]
    telling = sum(one[number] != other[number] for number in judged if number in other)
    return len(judged) >= _FITTING and telling >= _TELLING and all(one[number] == other[number + by] for number in judged)
