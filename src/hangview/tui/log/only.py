"""Which lines of a log of many ranks are one rank's, by the labels that launchers put in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.logs.lines import RawLine, clean, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.logs.lines import Who
    from hangview.tui.log.data import LogData
    from hangview.tui.log.target import Target

#: Lines whose labels are looked at, of the rank itself and of all others.
_OWN, _OTHERS = 40, 400
_LONGEST = 1 << 14


class OnlyRank:
    """Called with a line's bytes: whether a message on it is the rank's. A line that names nobody is nobody's.

    A launcher's label (local rank, task, pid) stands for the rank where a line that is known to be its own bears it, and
    none of another rank does.
    """

    def __init__(self, data: LogData, target: Target) -> None:
        self.rank = target.rank
        ranks: dict[tuple[str, int], set[int]] = {}
        own = [line for rank, line in target.said if rank == target.rank][:_OWN]
        others = [(rank, line) for rank, line in target.said if rank != target.rank][:_OTHERS]
        for rank, line in (*((target.rank, line) for line in own), *others):
            for who in _whos(_line_at(data, line.offset)):
                if who.rank in (None, rank):
                    for label in _labels(who):
                        ranks.setdefault(label, set()).add(rank)
        for rank, pid in target.pids:
            ranks.setdefault(("pid", pid), set()).add(rank)
        self.labels = frozenset(label for label, said_by in ranks.items() if said_by == {target.rank})
        self._numbers = tuple({str(number).encode() for number in (target.rank, *(number for _, number in self.labels))})

    def __call__(self, line: bytes) -> bool:
        if not any(number in line for number in self._numbers):
            return False  # most lines of the others, without taking them apart
        return any(
            who.rank == self.rank if who.rank is not None else not self.labels.isdisjoint(_labels(who)) for who in _whos(line)
        )


def _whos(line: bytes) -> Iterator[Who]:
    for text in clean(line.removesuffix(b"\n")):
        for piece in pieces(RawLine(0, 0, line), text):
            yield piece.who


def _labels(who: Who) -> list[tuple[str, int]]:
    named = (("local", who.local), ("task", who.task), ("pid", who.pid))
    return [(kind, number) for kind, number in named if number is not None]


def _line_at(data: LogData, offset: int) -> bytes:
    return data.read(offset, _LONGEST).split(b"\n", 1)[0]
