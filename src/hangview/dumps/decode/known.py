"""What the dumps of one job have in common, so that it is interpreted once: frames, stacks, and the rows that introduce them.

The ranks of a job run one program: most of them meet the same call sites in the same order, so the rows that introduce a stack
are equal byte for byte, and reading them is most of the work on a dump. Bytes count as known only if every value that they
refer to is the same as it was when they were interpreted; then the result is the same too.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from hangview.dumps.decode.siblings import Siblings
from hangview.schema import StackFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class Piece(NamedTuple):
    """What became of rows that stand one behind the other: the memo's length before them, what they looked up there, what they
    added to it, their entries."""

    base: int
    texts: tuple[int, ...]
    text_values: list[str]
    frames: tuple[int, ...]
    frame_ids: list[int]  #: as of id(); ``kept`` keeps them alive
    kept: list[Any]
    added: list[Any]
    entries: list[KnownStack]
    cost: int


class _Run(NamedTuple):
    """Stacks of nothing but memo ids: the frames they meant, and of each stack its key."""

    frames: tuple[int, ...]
    frame_ids: list[int]
    kept: list[Any]
    keys: tuple[Key, ...]


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
        self._pieces: dict[tuple[bytes, ...], list[Piece]] = {}
        self._runs: dict[tuple[bytes, ...], list[_Run]] = {}
        self._dicts: dict[tuple[tuple[Any, Any], ...], dict[Any, Any]] = {}
        self.numbers: dict[int, int | None] = {}  #: id() of a frame in ``_dicts`` -> its number, once somebody has asked for it
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
                shared = memo[i] = self._dicts.setdefault(tuple(value.items()), value)
                if shared is value:
                    self.numbers[id(value)] = None

    def feed(self, machine: Machine, data: bytes) -> Piece | None:
        """As ``machine.feed(data)`` for a row of nothing but a stack; what is known of it now."""
        return self._again(machine, (data,)) or self._learn(machine, data)

    def feed_all(self, machine: Machine, rows: tuple[bytes, ...]) -> bool:
        """Feed many such rows if they were fed before, one behind the other and to the same end; whether they were."""
        return self._again(machine, rows) is not None

    def learn_all(self, rows: tuple[bytes, ...], fed: Sequence[Piece | None]) -> None:
        """Remember rows that were fed one by one: what each looked up of the memo before the first one counts for all."""
        pieces = [piece for piece in fed if piece is not None]
        if len(pieces) < max(2, len(rows)):
            return
        base = pieces[0].base
        texts = {i: text for p in pieces for i, text in zip(p.texts, p.text_values, strict=True) if i < base}
        frames = {i: frame for p in pieces for i, frame in zip(p.frames, p.kept, strict=True) if i < base}
        kept = list(frames.values())
        added, entries = (
            list(chain.from_iterable(parts)) for parts in ((p.added for p in pieces), (p.entries for p in pieces))
        )
        whole = Piece(
            base, tuple(texts), list(texts.values()), tuple(frames), list(map(id, kept)), kept, added, entries,
            sum(piece.cost for piece in pieces),
        )  # fmt: skip
        self._bytes += sum(map(len, rows))
        self._pieces.setdefault(rows, []).append(whole)

    def _again(self, machine: Machine, rows: tuple[bytes, ...]) -> Piece | None:
        memo = machine.memo
        base = len(memo)
        for piece in self._pieces.get(rows, ()):
            if (
                piece.base == base
                and machine.room >= piece.cost
                and [memo[i] for i in piece.texts] == piece.text_values
                and [id(memo[i]) for i in piece.frames] == piece.frame_ids
            ):
                memo.extend(piece.added)
                machine.levels[-1].extend(piece.entries)
                machine.room -= piece.cost
                machine.mid_value = False
                return piece
        return None

    def _learn(self, machine: Machine, data: bytes) -> Piece | None:
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
            return None
        used = sorted(i for i in watched.asked if i < base)
        texts = tuple(i for i in used if type(memo[i]) is str)
        frames = tuple(i for i in used if type(memo[i]) is not str)
        kept = [memo[i] for i in frames]
        entry = machine.levels[-1][-1] = KnownStack(machine.levels[-1][-1])
        piece = Piece(
            base, texts, [memo[i] for i in texts], frames, list(map(id, kept)), kept, memo[base:], [entry], room - machine.room
        )
        self._bytes += len(data)
        self._pieces.setdefault((data,), []).append(piece)
        return piece

    def runs(self, rows: tuple[bytes, ...], memo: list[Any]) -> tuple[Key, ...] | None:
        """The stacks that rows of memo gets stand for, if they meant them before too."""
        for run in self._runs.get(rows, ()):
            if len(memo) > max(run.frames, default=-1) and [id(memo[i]) for i in run.frames] == run.frame_ids:
                return run.keys
        return None

    def learn_runs(self, rows: tuple[bytes, ...], frames: tuple[int, ...], memo: list[Any], keys: tuple[Key, ...]) -> None:
        """``frames``: all memo ids in the rows."""
        kept = [memo[i] for i in frames]
        self._bytes += sum(map(len, rows))
        self._runs.setdefault(rows, []).append(_Run(frames, list(map(id, kept)), kept, keys))


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
