"""The worst cell of each block: zooming out, and the map of the whole lane.

Cells become their place in the order of severity, so that the worst of a block is a maximum, taken for all blocks at once:
1,024 × 2,000 cells take a few milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.tui.glyphs import BY_LOG_CODE, SEVERITY

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Drawn codes, least first; a cell is drawn as itself, never as another one of its class.
_ORDER = tuple(reversed([code for codes in SEVERITY for code in codes]))
_PLACES = {code: at for at, code in enumerate(_ORDER)}
_TO_PLACE = bytes(_PLACES.get(code & ~BY_LOG_CODE, 0) for code in range(256))
_FROM_PLACE = bytes(_ORDER[place] if place < len(_ORDER) else 0 for place in range(256))


class Zoomed:
    """A lane with ``block`` seqs in a column. ``rows`` are drawn codes by rank position."""

    def __init__(self, drawn: Sequence[bytes], columns: int, block: int) -> None:
        import numpy as np  # here: the first screen is drawn without

        self.block = block
        self.columns = max(1, -(-columns // block))
        width = self.columns * block
        flat = b"".join(row.translate(_TO_PLACE).ljust(width, b"\0") for row in drawn)
        self._worst = np.frombuffer(flat, dtype=np.uint8).reshape(len(drawn), self.columns, block).max(axis=2)
        self.rows = tuple(row.tobytes().translate(_FROM_PLACE) for row in self._worst)

    def overview(self, height: int, order: Sequence[int]) -> list[bytes]:
        """At most ``height`` rows: ranks in ``order`` (positions), equal rows once, of a block of more the worst."""
        first: dict[bytes, int] = {}
        for at in order:
            first.setdefault(self.rows[at], at)
        distinct = list(first.values())
        height = max(1, min(height, len(distinct)))
        rows = []
        for at in range(height):
            block = distinct[at * len(distinct) // height : (at + 1) * len(distinct) // height]
            rows.append(self._worst[block].max(axis=0).tobytes().translate(_FROM_PLACE))
        return rows


def zoom_levels(columns: int, width: int) -> list[tuple[int, int]]:
    """(seqs in a column, cells wide) from near to far; the last one shows ``columns`` seqs in ``width`` cells."""
    levels = [(1, 2), (1, 1)]
    step = 1
    while -(-columns // levels[-1][0]) > width:
        step += 1
        levels.append(((1, 2, 5)[(step - 1) % 3] * 10 ** ((step - 1) // 3), 1))
    return levels
