"""Stacks that were taken of ranks from outside (py-spy, pystack, faulthandler): the telling one of each rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs.evidence import LogEvidence, OutsideStack

#: Names of a Python process's first thread; faulthandler gives numbers only.
_MAIN = ("MainThread", "Thread-0")


def main_stacks(logs: LogEvidence, ranks: Sequence[int]) -> list[OutsideStack]:
    """The stack that was taken of each rank's main thread last; of another thread where the main one is not among them."""
    found: dict[int, OutsideStack] = {}
    for stack in logs.stacks:
        if stack.rank is None or stack.rank not in ranks:
            continue
        if stack.rank not in found or stack.thread in _MAIN or found[stack.rank].thread not in _MAIN:
            found[stack.rank] = stack
    return [found[rank] for rank in sorted(found)]
