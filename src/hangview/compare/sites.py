"""Call sites of two sets: the innermost frame of each stack that is not PyTorch's own, and whether two of them are one place.

A program that was edited between the runs has its calls on other lines; a call that is issued from elsewhere is on another
line too. A line further down the same file that did not move tells them apart: an edit above it would have moved it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.engine.frames import file_name, first_own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.schema import StackFrame


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A place in a program. The folder is left out: two runs may lie in two folders."""

    file: str
    function: str
    line: int

    @property
    def text(self) -> str:
        """``"forward (train.py:212)"``."""
        return f"{self.function} ({self.file}:{self.line})"


def site_of(stack: Sequence[StackFrame]) -> Site | None:
    """The innermost frame that is not PyTorch's own (frames are stored innermost first); None where there is none."""
    frame = first_own(stack)
    return Site(file_name(frame), frame.name, frame.line) if frame is not None else None


def entry_point(stack: Sequence[StackFrame]) -> str:
    """The function of PyTorch that was called, as far as the stack says: the innermost frame's name."""
    return stack[0].name if stack else ""


def other_places(counts: Mapping[tuple[Site, Site], int]) -> dict[tuple[Site, Site], bool]:
    """For each pair of different call sites seen at one call: whether they are really two places.

    ``counts`` says how often A's call was issued from one and B's from the other. Another file or function is another place.
    Another line is one where a line further down that file is where it was, or where A's line usually stands on a third line
    of B; else the file was edited and the line moved.
    """
    fixed: dict[str, int] = {}
    usual: dict[Site, Site] = {}
    for (a, b), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        usual.setdefault(a, b)
    for a, b in counts:
        if a == b:
            usual[a] = a
            fixed[a.file] = max(fixed.get(a.file, 0), a.line)
    return {
        (a, b): (a.file, a.function) != (b.file, b.function) or fixed.get(a.file, 0) >= max(a.line, b.line) or usual[a] != b
        for a, b in counts
        if a != b
    }
