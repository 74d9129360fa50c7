"""What the dumps of one job have in common, so that it is interpreted once: frames, stacks, and the rows that introduce them.

The ranks of a job run one program: most of them meet the same call sites in the same order, so the rows that introduce a stack
are equal byte for byte, and reading them is most of the work on a dump. Bytes count as known only if every value that they
refer to is the same as it was when they were interpreted; then the result is the same too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hangview.dumps.decode.siblings import Siblings
from hangview.schema import StackFrame

if TYPE_CHECKING:
    from hangview.dumps.decode.machine import Machine
    from hangview.schema import Limits

#: Bytes of rows, and frames and stacks, that are kept; a job that has more starts over.
MAX_BYTES = 4 << 20
MAX_VALUES = 100_000
_FRAME = {"name": str, "filename": str, "line": int}

Key = tuple[int, ...]  #: a stack: the numbers of its frames in :attr:`Known.frames`, innermost first


class KnownStack(dict[Any, Any]):
    """An entry of nothing but a stack that several dumps share; ``key`` is the stack, once somebody has looked at it."""

    key: Key | None = None


class _Piece(NamedTuple):
    """What became of a row: the memo's length before it, what it looked up there, what it added to it, its entry."""

    base: int
    texts: tuple[int, ...]
    text_values: list[str]
    frames: tuple[int, ...]
    frame_ids: list[int]  #: as of id(); ``kept`` keeps them alive
    kept: list[Any]
    added: list[Any]
    entry: KnownStack
    cost: int


class _Run(NamedTuple):
    """A stack of nothing but memo ids: the frames it meant."""

    frames: tuple[int, ...]
    frame_ids: list[int]
    kept: list[Any]
    key: Key


class _Stacks(dict[Key, tuple[StackFrame, ...]]):
    """Stacks by their keys, each made once."""

    def __init__(self, frames: dict[tuple[str, str, int], int]) -> None:
        super().__init__()
        self.frames = frames
        self.values_of: list[StackFrame] = []

    def __missing__(self, key: Key) -> tuple[StackFrame, ...]:
        made = self.values_of
        if len(made) < len(self.frames):
            made.extend(StackFrame(*frame) for frame in list(self.frames)[len(made) :])
        stack = self[key] = tuple(map(made.__getitem__, key))
        return stack


class Known:
    """What was interpreted before, in whatever dump. For one process and one set of limits; not for two threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._clear()

    def _clear(self) -> None:
        self.frames: dict[tuple[str, str, int], int] = {}  #: (name, filename, line) -> number
        self.stacks = _Stacks(self.frames)
        self._pieces: dict[bytes, list[_Piece]] = {}
        self._runs: dict[bytes, list[_Run]] = {}
        self._dicts: dict[tuple[tuple[Any, Any], ...], dict[Any, Any]] = {}
        self._bytes = 0
        self.siblings = Siblings()

    def begin(self) -> None:
        """Before a dump: start over if this takes too much memory. During one, numbers must stay what they are."""
        if self._bytes > MAX_BYTES or len(self.frames) + len(self.stacks) + len(self._dicts) > MAX_VALUES:
            self._clear()

    def share_frames(self, memo: list[Any], start: int) -> None:
        """Replace the frames in a memo, from ``start`` on, by equal ones that were met before: the same objects then."""
        for i in range(start, len(memo)):
            value = memo[i]
            if type(value) is dict and {key: type(part) for key, part in value.items()} == _FRAME:
                memo[i] = self._dicts.setdefault(tuple(value.items()), value)

    def feed(self, machine: Machine, data: bytes) -> None:
        """As ``machine.feed(data)`` for a row of nothing but a stack."""
        memo = machine.memo
        base = len(memo)
        for piece in self._pieces.get(data, ()):
            if (
                piece.base == base
                and machine.room >= piece.cost
                and [memo[i] for i in piece.texts] == piece.text_values
                and [id(memo[i]) for i in piece.frames] == piece.frame_ids
            ):
                memo.extend(piece.added)
                machine.levels[-1].append(piece.entry)
                machine.room -= piece.cost
                machine.mid_value = False
                return
        self._learn(machine, data)

    def _learn(self, machine: Machine, data: bytes) -> None:
        memo, room, depth = machine.memo, machine.room, len(machine.levels)
        base, before = len(memo), len(machine.levels[-1])
        watched = _Watched(memo)
        machine.memo = watched
        try:
            machine.feed(data)
        finally:
            machine.memo = memo
        memo.extend(watched[base:])
        whole = not (machine.damage or machine.mid_value or machine.complete)
        if not whole or len(machine.levels) != depth or len(machine.levels[-1]) != before + 1:
            return
        used = sorted(i for i in watched.asked if i < base)
        texts = tuple(i for i in used if type(memo[i]) is str)
        frames = tuple(i for i in used if type(memo[i]) is not str)
        kept = [memo[i] for i in frames]
        entry = machine.levels[-1][-1] = KnownStack(machine.levels[-1][-1])
        piece = _Piece(
            base, texts, [memo[i] for i in texts], frames, list(map(id, kept)), kept, memo[base:], entry, room - machine.room
        )
        self._bytes += len(data)
        self._pieces.setdefault(data, []).append(piece)

    def run(self, data: bytes, memo: list[Any]) -> Key | None:
        """The stack that some memo gets stand for, if they meant it before too."""
        for run in self._runs.get(data, ()):
            if len(memo) > max(run.frames, default=-1) and [id(memo[i]) for i in run.frames] == run.frame_ids:
                return run.key
        return None

    def learn_run(self, data: bytes, frames: tuple[int, ...], memo: list[Any], key: Key) -> None:
        kept = [memo[i] for i in frames]
        self._bytes += len(data)
        self._runs.setdefault(data, []).append(_Run(frames, list(map(id, kept)), kept, key))


class _Watched(list[Any]):
    """A memo that notes which of its values were asked for."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.asked: set[int] = set()

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if type(key) is int:
            self.asked.add(key)
        return value
