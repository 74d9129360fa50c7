"""Cells of grids as a table, for who works with frames instead of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hangview.schema import BY_LOG, DIFFERS, NO_CALL, STATE, CellState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.terms import GridRows

_WORDS = pl.Enum([state.word for state in CellState])
#: The words of the states by their numbers, which count from 1.
_WORD_OF = pl.Series([state.word for state in CellState], dtype=_WORDS)
COLUMNS = pl.Schema(
    [
        ("group", pl.Int32()),  # Group.id
        ("lane", pl.String()),  # Lane.lane
        ("seq", pl.Int64()),
        ("rank", pl.Int32()),
        ("state", _WORDS),
        ("differs", pl.Boolean()),  # from the request of the majority
        ("by_log", pl.Boolean()),  # only the rank's log tells
    ]
)


def table(grids: Iterable[GridRows]) -> pl.DataFrame:
    """One row for each member and seq of a grid, but where no member has a call. Columns: :data:`COLUMNS`."""
    return pl.concat([pl.DataFrame(schema=COLUMNS), *(_part(grid) for grid in grids)])


def _part(grid: GridRows) -> pl.DataFrame:
    codes = np.array([np.frombuffer(row, dtype=np.uint8) for row in grid.rows])
    member, column = np.nonzero(codes != NO_CALL)
    code = codes[member, column]
    part = pl.DataFrame(
        {
            "seq": column + grid.first,
            "rank": np.array(grid.ranks)[member],
            "state": _WORD_OF.gather((code & STATE) - 1),
            "differs": (code & DIFFERS) != 0,
            "by_log": (code & BY_LOG) != 0,
        }
    )
    return part.with_columns(group=pl.lit(grid.group), lane=pl.lit(grid.lane)).select(COLUMNS.names()).cast(COLUMNS)
