"""How far the ranks' clocks are apart, measured on calls that all members completed, and who comes late to them.

Times of two ranks are never compared without this: hosts' clocks differ, and a recorder notes completion when its watchdog
looks (every 100 ms with NCCL, about 1 s with the hook of torch 2.15), not when it happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.calls import COMPLETED
from hangview.terms import Clock

if TYPE_CHECKING:
    from hangview.engine.calls import Calls
    from hangview.schema import Records

#: The newest so many calls of a group are measured.
_CALLS = 200
#: Late by less than this is no straggler, whatever the clocks.
_LATE_NS = 50_000_000
#: The newest calls that all must be late.
_RECENT = 8


@dataclass(frozen=True, slots=True)
class Late:
    """A rank that comes last to the newest calls of a group, ``by_ns`` after the median of the others."""

    group: int
    rank: int
    by_ns: int
    since: int  #: first of the late calls
    calls: int


@dataclass(frozen=True, slots=True)
class Newest:
    """Calls that all present members have finished, and their requests.

    ``calls``: by number, ``group``, ``seq``, ``n`` members and the ``newest`` such seq of the group; ``rows``: ``call``,
    ``rank``, ``reading`` and ``row`` in the entries. Of a thousand ranks these are a million requests: so few columns.
    """

    calls: pl.DataFrame
    rows: pl.DataFrame
    entries: pl.DataFrame

    def apart(self, column: str) -> pl.DataFrame:
        """The requests of which the time in ``column`` is known, with ``apart``: ns after the call's median."""
        rows = self.rows.with_columns(self.entries[column].gather(self.rows["row"].to_numpy())).drop("row")
        rows = rows.filter(pl.col(column).is_not_null())
        middle = pl.col(column).median().over("call")
        rows = rows.select("call", "rank", "reading", apart=pl.col(column) - middle)
        at = rows["call"].to_numpy()
        return rows.drop("call").with_columns(self.calls[name].gather(at) for name in ("group", "seq", "n", "newest"))


def clocks(records: Records, common: Newest) -> tuple[Clock, ...]:
    """By the calls of :func:`newest`: offsets per host where hosts are known, else per rank; largest first.

    Empty where nothing was completed with a time.
    """
    rows = common.apart("completed_ns").filter(pl.col("reading") == COMPLETED)
    if rows.is_empty():
        return ()
    host_of = {s.rank: s.host for s in records.sources if s.usable}
    table = (
        rows.group_by("group", "rank")
        .agg(
            offset=pl.col("apart").median(),
            low=pl.col("apart").quantile(0.1),
            high=pl.col("apart").quantile(0.9),
            n=pl.len(),
            members=pl.col("n").first(),
        )
        .sort("rank", "members", "n", "group", descending=[False, True, True, False])
        .unique("rank", keep="first", maintain_order=True)
    )
    by_place: dict[str | int, list[tuple[int, int, int, int]]] = {}
    for row in table.iter_rows(named=True):
        place = host_of.get(row["rank"]) or row["rank"]
        spread = int(row["high"] - row["low"])
        by_place.setdefault(place, []).append((row["rank"], int(row["offset"]), spread, row["n"]))
    out = []
    for found in by_place.values():
        offsets = sorted(o for _, o, _, _ in found)
        spread = max(max(s for _, _, s, _ in found), offsets[-1] - offsets[0])
        out.append(Clock(tuple(sorted(r for r, *_ in found)), offsets[len(offsets) // 2], spread, min(n for *_, n in found)))
    return tuple(sorted(out, key=lambda c: (-abs(c.offset_ns), c.ranks)))


def uncertainty_ns(found: tuple[Clock, ...]) -> int | None:
    """Half the width within which times of two ranks cannot be told apart; None when it was not measured."""
    if not found:
        return None
    offsets = [c.offset_ns for c in found]
    return (max(offsets) - min(offsets)) // 2 + max(c.spread_ns for c in found) // 2


def stragglers(common: Newest) -> tuple[Late, ...]:
    """By the calls of :func:`newest`: ranks that came late to each of the last of them, and had not done so before. A constant
    offset is a clock's."""
    rows = common.apart("created_ns").sort("group", "rank", "seq")
    if rows.is_empty():
        return ()
    out = []
    recent = rows.filter(pl.col("seq") > pl.col("newest") - _RECENT)
    table = (
        recent.group_by("group", "rank")
        .agg(least=pl.col("apart").min(), n=pl.len())
        .filter((pl.col("least") > _LATE_NS) & (pl.col("n") >= _RECENT))
    )
    for group, rank, *_ in table.sort("group", "rank").iter_rows():
        mine = rows.filter((pl.col("group") == group) & (pl.col("rank") == rank))
        usual = mine.filter(pl.col("apart") <= _LATE_NS)
        if len(usual) < _RECENT:
            continue
        last = usual["seq"].max()
        late = mine.filter(pl.col("seq") > last)
        by, base = late["apart"].median(), usual["apart"].median()
        if isinstance(by, float) and isinstance(base, float) and isinstance(last, int) and by - base > _LATE_NS:
            out.append(Late(group, rank, int(by - base), last + 1, len(late)))
    return tuple(out)


def newest(calls: Calls) -> Newest:
    """The newest calls of each group that all present members have finished."""
    whole = calls.by_seq.filter((pl.col("n") > 1) & (pl.col("n_open") == 0) & pl.col("full")).select("group", "seq", "n")
    last = whole.group_by("group").agg(newest=pl.col("seq").max(), most=pl.col("n").max())
    whole = whole.join(last, on="group").filter((pl.col("seq") > pl.col("newest") - _CALLS) & (pl.col("n") == pl.col("most")))
    whole = whole.drop("most").with_row_index("call")  # one number for what is grouped by next
    wanted = calls.rows.lazy().select("group", "seq", "rank", "reading", "row")
    found = wanted.join(whole.lazy().select("group", "seq", "call"), on=["group", "seq"]).select(
        "call", "rank", "reading", "row"
    )
    return Newest(whole, found.collect(engine="streaming"), calls.entries)  # a table of the few, not of all rows
