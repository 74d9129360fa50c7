"""The worst cell of each block: zooming out, and the map of the whole lane.

Each class of severity is one bit, so a row is one big integer; a block of ranks is the OR of their integers, a block of seqs
the OR of strided slices, at C speed: 1,024 × 2,000 cells take about 20 ms once, a map of 36 × 100 half a millisecond more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.glyphs import BY_LOG_CODE, SEVERITY

if TYPE_CHECKING:
    from collections.abc import Sequence


def _bit_of(code: int) -> int:
    base = code & ~BY_LOG_CODE
    for worse, codes in enumerate(SEVERITY):
        if base in codes:
            return 1 << (len(SEVERITY) - 1 - worse)
    return 1


_TO_BITS = bytes(_bit_of(code) for code in range(256))
#: Bits of a block to the drawn code of its worst cell.
_FROM_BITS = bytes(SEVERITY[len(SEVERITY) - max(bits.bit_length(), 1)][0] for bits in range(256))


class Zoomed:
    """A lane with ``block`` seqs in a column. ``rows`` are drawn codes by rank position."""

    def __init__(self, drawn: Sequence[bytes], columns: int, block: int) -> None:
        self.block = block
        self.columns = max(1, -(-columns // block))
        self._bits = tuple(int.from_bytes(_squeeze(row, self.columns, block), "little") for row in drawn)
        self.rows = tuple(self._draw(bits) for bits in self._bits)

    def _draw(self, bits: int) -> bytes:
        return bits.to_bytes(self.columns, "little").translate(_FROM_BITS)

    def overview(self, height: int, order: Sequence[int]) -> list[bytes]:
        """At most ``height`` rows: ranks in ``order`` (positions), equal rows once, of a block of more the worst."""
        distinct = list(dict.fromkeys(self._bits[at] for at in order))
        height = max(1, min(height, len(distinct)))
        rows = []
        for at in range(height):
            merged = 0
            for bits in distinct[at * len(distinct) // height : (at + 1) * len(distinct) // height]:
                merged |= bits
            rows.append(self._draw(merged))
        return rows


def _squeeze(row: bytes, columns: int, block: int) -> bytes:
    """One byte of bits for each block of seqs."""
    flat = row.translate(_TO_BITS).ljust(columns * block, _TO_BITS[:1])
    folded = 0
    for offset in range(block):
        folded |= int.from_bytes(flat[offset::block], "little")
    return folded.to_bytes(columns, "little")


def zoom_levels(columns: int, width: int) -> list[tuple[int, int]]:
    """(seqs in a column, cells wide) from near to far; the last one shows ``columns`` seqs in ``width`` cells."""
    levels = [(1, 2), (1, 1)]
    step = 1
    while -(-columns // levels[-1][0]) > width:
        step += 1
        levels.append(((1, 2, 5)[(step - 1) % 3] * 10 ** ((step - 1) // 3), 1))
    return levels
