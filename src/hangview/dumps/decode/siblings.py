"""Rows that are equal to those of a dump read before, but for the values of numbers: the rest of them is taken over from it.

The ranks of a job run one program. Row by row most of their dumps have the same bytes, but for times. A row that is as long as
the other dump's row of that place and has the same bytes wherever that one has no number's value is read to the same end, with
the same opcodes at the same places, whatever the numbers are. So only the numbers are read anew, and the rows that differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from hangview.dumps.decode.cursors import Fields, Layout, Number, number_at, read_fields, read_numbers
from hangview.dumps.decode.spans import Span

if TYPE_CHECKING:
    from hangview.dumps.decode.cursors import Bools, Buffer
    from hangview.dumps.decode.spans import Ints, Words

    Array = np.ndarray[Any, Any]
    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

#: Of a dump's rows, how many may differ from another's before it is read as if it were alone.
_DIFFERENT = 1 / 20
#: How many may, for no other dump to be tried.
_ALIKE = 1 / 100
#: So few rows are left to the interpreter: most of them introduce something, and do not fit anyway.
_FEW = 20
#: Runs of rows that are as long as the other dump's; every run is compared with a few calls.
_MAX_RUNS = 200
#: How many dumps are remembered, and how many bytes they may have together. Of neighbouring ranks a few kinds take turns.
_KEPT = 12
_KEPT_BYTES = 8 << 20


class Siblings:
    """Dumps that were read before, the one that was of use last first."""

    def __init__(self) -> None:
        self._kept: list[_Sibling] = []

    def read(self, buffer: Buffer, starts: Ints, ends: Ints, layout: Layout) -> Fields:
        """As :func:`~hangview.dumps.decode.cursors.read_fields`, and remembered where it is like nothing before."""
        best: tuple[_Sibling, _Pick] | None = None
        for sibling in self._kept:
            pick = sibling.alike(buffer, starts, ends, layout)
            if pick is not None and (best is None or len(pick.rest) < len(best[1].rest)):
                best = sibling, pick
                if len(pick.rest) <= len(starts) * _ALIKE:
                    break
        if best is None:
            fields = read_fields(buffer, starts, ends, layout)
            if buffer.size <= _KEPT_BYTES:
                self._keep(_Sibling(buffer, starts, ends, layout, fields))
            return fields
        self._keep(best[0])
        return best[0].fields_of(buffer, starts, ends, best[1])

    def _keep(self, sibling: _Sibling) -> None:
        """Put a dump first, and forget the last ones where there are too many."""
        kept = self._kept = [sibling, *(other for other in self._kept if other is not sibling)]
        while len(kept) > _KEPT or sum(other.buffer.size for other in kept) > _KEPT_BYTES:
            kept.pop()


class _Pick(NamedTuple):
    """What another dump has in common with a sibling. The arrays have one value for each row that both have."""

    same: Bools  #: the rows that are alike
    shift: Ints  #: how much further back they lie in the other dump
    rest: Ints  #: the other dump's rows that are like none here


@dataclass(frozen=True)
class _Sibling:
    buffer: Buffer
    starts: Ints
    ends: Ints
    layout: Layout
    fields: Fields  #: not to be changed by anybody

    @cached_property
    def _numbers(self) -> dict[str, Number]:
        return {key: number_at(self.buffer, at) for key, at in self.fields.places.items()}

    @cached_property
    def _fixed(self) -> Bytes:
        """All bits of the bytes that are no number's value, and none of the others."""
        fixed = np.full(self.buffer.size + 8, 0xFF, np.uint8)
        words: Words = np.ndarray((self.buffer.size,), "<u8", buffer=fixed, strides=(1,))  # at every byte
        fits = self.fields.fits  # the others may seem to have numbers where another row has none
        for number in self._numbers.values():
            words[number.at[fits]] &= ~number.mask[fits]
        at = self.fields.floats_at
        words[at[fits & (at >= 0)]] = 0
        return fixed

    def alike(self, buffer: Buffer, starts: Ints, ends: Ints, layout: Layout) -> _Pick | None:
        """Which rows of another dump are like this one's; None when too few are."""
        common = min(len(starts), len(self.starts))
        most = int(len(starts) * _DIFFERENT)
        if layout != self.layout or len(starts) - common > most:
            return None
        same: Bools = (ends - starts)[:common] == (self.ends - self.starts)[:common]
        same &= self.fields.fits[:common]
        if len(starts) - np.count_nonzero(same) > most:
            return None
        runs = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8))).reshape(-1, 2)
        if len(runs) > _MAX_RUNS:
            return None
        for begin, end in runs.tolist():
            at, stop = int(self.starts[begin]), int(self.ends[end - 1])
            other = int(starts[begin])
            odd: Bools = self.buffer.bytes[at:stop] != buffer.bytes[other : other + stop - at]
            odd.view(np.uint8)[:] &= self._fixed[at:stop]
            places = np.flatnonzero(odd)
            if len(places):
                same[np.searchsorted(self.starts, places + at, side="right") - 1] = False
        different = np.ones(len(starts), np.bool_)
        different[:common] = ~same
        rest = np.flatnonzero(different)
        return None if len(rest) > most else _Pick(same, starts[:common] - self.starts[:common], rest)

    def fields_of(self, buffer: Buffer, starts: Ints, ends: Ints, pick: _Pick) -> Fields:
        """The fields of that dump: its own numbers, else this one's, and the rows that differ as they are read alone."""
        mine, rest = self.fields, pick.rest
        own = read_fields(buffer, starts[rest], ends[rest], self.layout, mine) if len(rest) > _FEW else None
        count, common = len(starts), len(pick.shift)

        def joined(values: Array, other: Array | None) -> Array:
            """Values of the common rows, and those of the rows that differ."""
            if other is None and count == len(values):
                return values
            out = np.zeros(count, values.dtype)
            out[:common] = values[:common]
            if other is not None:
                out[rest] = other
            return out

        def span(name: Literal["frames", "lists"]) -> Span | None:
            whole = getattr(mine, name)
            if whole is None:
                return None
            stops = whole.ends[:common] + pick.shift
            if own is None:
                return Span(joined(whole.ids, None), whole.values, joined(stops, None))
            other = getattr(own, name)
            return Span(joined(whole.ids, other.ids), other.values, joined(stops, other.ends))

        return Fields(
            joined(mine.fits, np.zeros(len(rest), np.bool_) if own is None else own.fits),
            {key: joined(self._read(key, buffer, pick), None if own is None else own.numbers[key]) for key in mine.numbers},
            {key: joined(values, None if own is None else own.gets[key]) for key, values in mine.gets.items()},
            joined(self._durations(buffer, pick), None if own is None else own.duration),
            span("frames"),
            span("lists"),
            mine.list_keys,
            {},
            np.empty(0, np.int64),
        )

    def _read(self, key: str, buffer: Buffer, pick: _Pick) -> Array:
        """A field's numbers in the rows that are alike."""
        number, common = self._numbers.get(key), len(pick.shift)
        if number is None:  # true or false: its opcode tells all
            return self.fields.numbers[key][:common]
        at = np.where(pick.same, number.at[:common] + pick.shift, 0)  # those that differ: anywhere in the buffer
        return read_numbers(buffer, Number(at, number.mask[:common], number.four[:common], number.none[:common]))

    def _durations(self, buffer: Buffer, pick: _Pick) -> Array:
        at = self.fields.floats_at[: len(pick.shift)]
        has = np.flatnonzero((at >= 0) & pick.same)
        out = np.full(len(at), np.nan)
        out[has] = buffer.floats[at[has] + pick.shift[has]]
        return out
