"""How much of a lane fits into the grid: what follows from its size, the number of seqs and the zoom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hangview.tui.grid.zoom import zoom_levels


@dataclass(frozen=True, slots=True)
class Scale:
    """Counts of cells, columns and rows. A column is ``block`` seqs and ``cell_width`` cells wide."""

    label_width: int  #: cells of the frozen column: two for the sign, the rest for ranks
    levels: tuple[tuple[int, int], ...]  #: (block, cell_width) from near to far
    block: int
    cell_width: int
    columns: int  #: of the whole lane
    across: int  #: columns that fit
    down: int  #: rows that fit


@lru_cache(maxsize=64)
def scale_of(width: int, height: int, seqs: int, level: int) -> Scale:
    """Of a grid of ``width`` by ``height`` cells, the header not counted; ``seqs`` 0 where there is no lane yet.

    Kept: a step of the cursor asks for it dozens of times.
    """
    label_width = 10 if width < 48 else 16 if width < 90 else 24
    body = max(1, width - label_width)
    levels = tuple(zoom_levels(max(1, seqs), body))
    block, cell_width = levels[min(level, len(levels) - 1)]
    return Scale(label_width, levels, block, cell_width, -(-seqs // block), max(1, body // cell_width), max(1, height))
