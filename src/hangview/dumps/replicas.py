"""Replica groups (torchft): every replica is a small world of its own, which numbers its ranks from 0.

File names count over all replicas (``replica * size + rank``), the groups inside do not. Two replicas both have a group "0"
with ranks [0, 1]; they are told apart by moving each file's groups to where its name says it is. torch's own tool does so
with ``--transform-ft --group-world-size``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def shifts(
    numbers: Sequence[int | None], defaults: Sequence[tuple[int, ...] | None], forced: int | None
) -> tuple[int, list[int]]:
    """The size of a replica (0 when there are none) and, for each file, what to add to the ranks of its groups.

    ``numbers`` are ranks by file name, ``defaults`` the members of each file's default group. Replicas are assumed only where
    some file is outside its own default group and all default groups are 0 … n - 1 of one n. ``forced`` is the size given by
    the user.
    """
    if forced is not None and forced > 0:
        return forced, [0 if number is None else number // forced * forced for number in numbers]
    pairs = [(n, d) for n, d in zip(numbers, defaults, strict=True) if n is not None and d]
    sizes = {len(default) for _, default in pairs}
    if len(sizes) != 1 or all(number in default for number, default in pairs):
        return 0, [0] * len(numbers)
    size = sizes.pop()
    if any(sorted(default) != list(range(size)) for _, default in pairs):
        return 0, [0] * len(numbers)
    return size, [0 if number is None else number // size * size for number in numbers]


def shifted(ranks: tuple[int, ...], size: int, number: int, shift: int) -> tuple[int, ...]:
    """A group's ranks moved by ``shift``, if they are a replica's own numbers and hold this file's."""
    if shift and ranks and max(ranks) < size and number % size in ranks:
        return tuple(rank + shift for rank in ranks)
    return ranks
