"""Where in a frame of millions of rows the few of one call are: found by bisection, without another pass over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import numpy.typing as npt


class Places:
    """Rows of a frame by (group, seq). ``among``: which rows count; those without a group or a seq never do.

    Takes a sort of all rows once, and then 12 bytes a row.
    """

    def __init__(self, frame: pl.DataFrame, among: pl.Expr | None = None) -> None:
        group, seq = pl.col("group").cast(pl.Int64), pl.col("seq").cast(pl.Int64)
        counts = group.is_not_null() & seq.is_not_null()
        keys = frame.select(group=group, seq=seq, counts=counts if among is None else counts & among)
        rows = np.flatnonzero(keys["counts"].to_numpy()).astype(np.uint32)
        groups, seqs = (keys[name].fill_null(0).to_numpy()[rows] for name in ("group", "seq"))
        order = np.lexsort((seqs, groups))
        self._frame = frame
        self._rows: npt.NDArray[np.uint32] = rows[order]
        self._seqs: npt.NDArray[np.int64] = seqs[order]
        self._ends = np.cumsum(np.bincount(groups))

    def at(self, group: int, seq: int) -> pl.DataFrame:
        """The rows of one call, in the order of the frame."""
        if not 0 <= group < len(self._ends):
            return self._frame.clear()
        begin, end = (self._ends[group - 1] if group else 0), self._ends[group]
        first, last = np.searchsorted(self._seqs[begin:end], seq, "left"), np.searchsorted(self._seqs[begin:end], seq, "right")
        return self._frame[self._rows[begin + first : begin + last]]
