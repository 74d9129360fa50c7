"""How each group of a comparison stands, in a word, the most telling group first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hangview.compare.values import Comparison, Pair


class Standing(StrEnum):
    """The values are the words for it."""

    DIFFERS = "differs"
    DIFFERS_LATER = "differs later"  #: its ranks differ in an earlier call of another lane already
    ONLY_IN_A = "only in A"
    ONLY_IN_B = "only in B"
    NOT_OBSERVED = "not observed"  #: no call of it is held by both sets
    AGREES_PARTLY = "agrees partly"  #: a file lacks calls of it that the other set holds
    AGREES = "agrees"


@dataclass(frozen=True, slots=True)
class GroupStanding:
    """``pair``: an index into Comparison.groups; ``differences``: indices into Comparison.differences, ascending."""

    pair: int
    standing: Standing
    differences: tuple[int, ...] = ()


def standings(comparison: Comparison) -> tuple[GroupStanding, ...]:
    """Every group once: those that differ in the order of their first differences, then the others by their standing."""
    found: dict[int, list[int]] = {}
    for number, difference in enumerate(comparison.differences):
        found.setdefault(difference.pair, []).append(number)
    every = [
        GroupStanding(index, _standing(comparison, pair, found.get(index, [])), tuple(found.get(index, ())))
        for index, pair in enumerate(comparison.groups)
    ]
    order = list(Standing)
    last = len(comparison.differences)
    return tuple(
        sorted(
            every, key=lambda each: (each.differences[0] if each.differences else last, order.index(each.standing), each.pair)
        )
    )


def _standing(comparison: Comparison, pair: Pair, differences: list[int]) -> Standing:
    if pair.b is None:
        return Standing.ONLY_IN_A
    if pair.a is None:
        return Standing.ONLY_IN_B
    if differences:
        later = all(comparison.differences[number].follows for number in differences)
        return Standing.DIFFERS_LATER if later else Standing.DIFFERS
    if not (pair.compared or pair.messages):
        return Standing.NOT_OBSERVED
    return Standing.AGREES_PARTLY if pair.left_out else Standing.AGREES
