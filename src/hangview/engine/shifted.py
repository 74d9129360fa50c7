"""Whether who asks for something else in a call may have made a call more or less before it: its requests beside the others'.

Numbers count calls, so a rank that made one more stands at the same number with the call before or behind. What it asks for
then differs, and the input is the wrong place to look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.engine.stalls import rows_at
from hangview.terms import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.engine.calls import Calls
    from hangview.engine.stalls import Stall

#: Calls beside the one that differs, on both sides, that are looked at.
_NEAR = 2


@dataclass(frozen=True, slots=True)
class Shifted:
    """``rank`` asks in ``seq`` for what the others ask for in ``like``, by operation, sizes and dtypes."""

    rank: int
    seq: int
    like: int


def shifted(calls: Calls, stalls: Mapping[tuple[int, int], Stall]) -> dict[tuple[int, int], tuple[Shifted, ...]]:
    """By (group, seq) of an open call whose requests differ: ranks of the minority whose requests fit the others', moved."""
    odd = {
        place: stall.mismatch
        for place, stall in stalls.items()
        if stall.mismatch is not None and stall.mismatch.minority and stall.mismatch.kind is not Kind.DIFFERENT_DTYPE
    }
    near = {(group, seq + by) for group, seq in odd for by in range(-_NEAR, _NEAR + 1) if seq + by > 0}
    asked = {place: {row["rank"]: row["key"] for row in rows} for place, rows in rows_at(calls, near).items()}
    out = {}
    for (group, seq), found in odd.items():
        most = found.sides[0].ranks[0]
        moved = tuple(one for rank in found.minority if (one := _moved(asked, group, seq, rank, most)) is not None)
        if moved:
            out[group, seq] = moved
    return out


def _moved(
    asked: Mapping[tuple[int, int], Mapping[int, int | None]], group: int, seq: int, rank: int, most: int
) -> Shifted | None:
    """What the rank asks for in a later call is what most ask for in this one, or it asks in this one for what they did before.

    Where they ask for the same all the time, that a later call is like the others' tells nothing.
    """

    def key(of: int, at: int) -> int | None:
        return asked.get((group, at), {}).get(of)

    before = key(most, seq - 1)
    if before != key(most, seq):
        for by in range(1, _NEAR + 1):
            if key(rank, seq + by) is not None and key(rank, seq + by) == key(most, seq):
                return Shifted(rank, seq + by, seq)
    if before is not None and key(rank, seq) == before:
        return Shifted(rank, seq, seq - 1)
    return None
