"""Two sets' requests laid beside each other, row by row: in what each pair of rows differs, and which difference is first.

No row is looked at in Python: frames in, frames out. What is not recorded in one of the sets is null and equal to everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from hangview.compare.rows import ASKED, COLLECTIVE_LANE, site_names
from hangview.compare.sites import other_places
from hangview.compare.values import DifferenceKind
from hangview.schema import CellState
from hangview.terms import COLLECTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.compare.rows import Requests
    from hangview.incident import Incident

#: What a column ``kind`` holds: the place of the kind in this tuple, the most telling first.
KINDS = (
    DifferenceKind.OP,
    DifferenceKind.SIZE,
    DifferenceKind.DTYPE,
    DifferenceKind.NOT_REQUESTED,
    DifferenceKind.GROUP_ABSENT,
    DifferenceKind.CALL_SITE,
    DifferenceKind.STATE,
)
_PLACE = ["pair", "lane", "seq", "rank"]
_LANE = ["pair", "lane"]


@dataclass(frozen=True, slots=True)
class Input:
    """One set: its incident, its requests, and for each matched pair of groups the id of its own group."""

    incident: Incident
    requests: Requests
    groups: Sequence[int]

    def pairs(self) -> pl.DataFrame:
        """group → pair, of the groups that the other set has too."""
        numbers = range(len(self.groups))
        return pl.DataFrame({"group": self.groups, "pair": numbers}, schema={"group": pl.Int32, "pair": pl.Int32})

    def rows(self, ranks: Sequence[int]) -> pl.DataFrame:
        """Rows of matched groups and of these ranks, with ``pair`` in the place of the group's id."""
        return (
            self.requests.rows.filter(pl.col("rank").is_in(ranks))
            .join(self.pairs(), on="group", how="inner", maintain_order="left")
            .drop("group")
            .with_columns(there=pl.lit(value=True))
        )

    def windows(self, ranks: Sequence[int]) -> pl.DataFrame:
        """How far each rank's records reach in each pair's collective lane: what a request that is not there means."""
        wanted = set(ranks)
        fronts = {lane.group: lane.front for lane in self.incident.lanes if lane.lane == COLLECTIVE}
        rows: list[tuple[Any, ...]] = []
        for pair, group in enumerate(self.groups):
            for rank in self.incident.groups[group].ranks:
                window = self.incident.view.window(group, rank) if rank in wanted else None
                if window is not None:
                    absent = window.above is CellState.GROUP_ABSENT
                    rows.append((pair, COLLECTIVE_LANE, rank, window.newest, window.covers, absent, fronts.get(group, 0)))
        return pl.DataFrame(rows, schema=_WINDOW, orient="row")

    def message_ends(self, words: Sequence[Any]) -> pl.DataFrame:
        """The same for point-to-point lanes of which both ends are counted from the first message: a message that one end
        has and the other, with fewer, has not was not requested there."""
        lanes = {words[number]: number for number in self.requests.rows["lane"].unique().to_list() if number != COLLECTIVE_LANE}
        pair_of = {group: pair for pair, group in enumerate(self.groups)}
        rows: list[tuple[Any, ...]] = []
        for (group, source, target), lane in self.requests.traffic.lanes.items():
            number = lanes.get(("p2p", source, target))
            if number is None or group not in pair_of or not (lane.judged and lane.counted):
                continue
            front = max(lane.send.count, lane.recv.count)
            rows += [(pair_of[group], number, end.rank, end.count, True, False, front) for end in (lane.send, lane.recv)]
        return pl.DataFrame(rows, schema=_WINDOW, orient="row").unique(["pair", "lane", "rank"], maintain_order=True)


_WINDOW = {
    "pair": pl.Int32,
    "lane": pl.Int32,
    "rank": pl.Int32,
    "newest": pl.Int64,
    "covers": pl.Boolean,
    "absent": pl.Boolean,
    "front": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class Beside:
    """``rows``: one row per (pair, lane, seq, rank) of either set, those of B with the suffix ``_b``, with ``kind`` (null: no
    difference), ``before``: how many requests both sets have of that rank before it, and ``ended``: the other set was observed
    not to have the request. ``cut``: lanes whose numbers cannot be
    followed beyond a call, as one recorder has several records where the other has one: pair, lane, cut."""

    rows: pl.DataFrame
    cut: pl.DataFrame

    def first(self) -> pl.DataFrame:
        """The rows with a difference at the first differing call of each lane, by pair, lane and rank, with ``follows``: the
        rank differs earlier, in another lane."""
        off = self.rows.filter(pl.col("kind").is_not_null())
        earliest = off.group_by("rank").agg(earliest=pl.col("before").min())
        at = off.group_by(_LANE).agg(pl.col("seq").min())
        found = off.join(at, on=[*_LANE, "seq"], how="semi").join(earliest, on="rank")
        return found.with_columns(follows=pl.col("before") > pl.col("earliest")).sort(*_LANE, "rank")

    def first_by_kind(self) -> pl.DataFrame:
        """pair, lane, kind → seq of the first call that differs so."""
        off = self.rows.filter(pl.col("kind").is_not_null())
        return off.group_by(*_LANE, "kind").agg(pl.col("seq").min()).sort(*_LANE, "kind")

    def compared(self) -> pl.DataFrame:
        """pair, lane → how many calls both sets hold, the first and the last of them."""
        both = self.rows.filter(pl.col("there") & pl.col("there_b"))
        seq = pl.col("seq")
        return both.group_by(_LANE).agg(calls=seq.n_unique(), first=seq.min(), last=seq.max()).sort(*_LANE)


def lay(a: Input, b: Input, ranks: Sequence[int], words: Sequence[Any]) -> Beside:
    """Lay the requests of these ranks beside each other."""
    one, other = a.rows(ranks), b.rows(ranks)
    rows = one.join(other, on=_PLACE, how="full", coalesce=True, suffix="_b")
    rows = rows.with_columns(pl.col("there", "there_b").fill_null(value=False))
    both = pl.col("there") & pl.col("there_b")
    crossing = both & (pl.col("library") != pl.col("library_b"))
    rows = rows.with_columns(cross=crossing.fill_null(value=False))
    cut = (
        rows.filter(pl.col("cross") & (pl.col("bare") != pl.col("bare_b")) & (pl.col("api") == pl.col("api_b")))
        .group_by(_LANE)
        .agg(cut=pl.col("seq").min())
        .sort(*_LANE)
    )
    rows = rows.join(cut, on=_LANE, how="left").filter((pl.col("seq") < pl.col("cut")).fill_null(value=True)).drop("cut")
    rows = _elsewhere(_missing(rows, a, b, ranks, words), words)
    return Beside(_numbered(_kinds(rows)), cut)


def _missing(rows: pl.DataFrame, a: Input, b: Input, ranks: Sequence[int], words: Sequence[Any]) -> pl.DataFrame:
    """Add ``unasked`` and ``no_group``: a request of one set that the other was observed not to have, up to where its ranks
    came; and ``ended``: the same also where the whole set ends earlier."""
    for side, suffix in ((a, "_in_a"), (b, "_in_b")):
        ends = pl.concat([side.windows(ranks), side.message_ends(words)])
        rows = rows.join(ends, on=["pair", "lane", "rank"], how="left", suffix=suffix)
        rows = rows.rename(
            {name: f"{name}{suffix}" for name in ("newest", "covers", "absent", "front") if name in rows.columns}
        )

    def beyond(which: str, there: str) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
        reached = pl.col("seq") <= pl.col(f"front_{which}")
        unasked = ~pl.col(there) & pl.col(f"covers_{which}") & (pl.col("seq") > pl.col(f"newest_{which}"))
        absent = ~pl.col(there) & pl.col(f"absent_{which}")
        found = (reached & unasked, reached & absent, unasked | absent)
        first, second, third = (each.fill_null(value=False) for each in found)
        return first, second, third

    (unasked_a, absent_a, ended_a), (unasked_b, absent_b, ended_b) = beyond("in_a", "there"), beyond("in_b", "there_b")
    added = [f"{name}_in_{which}" for name in ("newest", "covers", "absent", "front") for which in "ab"]
    return rows.with_columns(unasked=unasked_a | unasked_b, no_group=absent_a | absent_b, ended=ended_a | ended_b).drop(added)


def _elsewhere(rows: pl.DataFrame, words: Sequence[Any]) -> pl.DataFrame:
    """Add ``elsewhere``: the two calls were issued from different places in the program."""
    pairs = rows.filter(pl.col("site").is_not_null() & pl.col("site_b").is_not_null()).group_by("site", "site_b").len()
    names = site_names(words, {*pairs["site"].to_list(), *pairs["site_b"].to_list()})
    found = other_places({(names[a], names[b]): count for a, b, count in pairs.iter_rows()})
    numbers = {site: number for number, site in names.items()}
    table = pl.DataFrame(
        [(numbers[a], numbers[b], other) for (a, b), other in sorted(found.items())],
        schema={"site": pl.Int32, "site_b": pl.Int32, "elsewhere": pl.Boolean},
        orient="row",
    )
    return rows.join(table, on=["site", "site_b"], how="left").with_columns(pl.col("elsewhere").fill_null(value=False))


def _kinds(rows: pl.DataFrame) -> pl.DataFrame:
    """Add ``kind``: the most telling difference of each row. Between recorders, families are compared and not spellings, and
    a batch is not measured against a single call."""
    both, cross = pl.col("there") & pl.col("there_b"), pl.col("cross")
    alike = ~cross | (pl.col("coalesced") == pl.col("coalesced_b"))
    op = both & pl.when(cross).then(pl.col("bare") != pl.col("bare_b")).otherwise(pl.col("op") != pl.col("op_b"))
    size = both & alike & (pl.col("sizes") != pl.col("sizes_b"))
    dtype = both & (pl.col("dtypes") != pl.col("dtypes_b"))
    state = both & (pl.col("over") != pl.col("over_b"))
    kind = pl.lit(None, dtype=pl.Int8)
    for code, found in reversed(
        list(enumerate((op, size, dtype, pl.col("unasked"), pl.col("no_group"), both & pl.col("elsewhere"), state)))
    ):
        kind = pl.when(found.fill_null(value=False)).then(pl.lit(code, dtype=pl.Int8)).otherwise(kind)
    return rows.with_columns(kind=kind)


def _numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Add ``before``: the place of a request in its rank's own order, counted in requests that both sets have."""
    common = (pl.col("there") & pl.col("there_b")).cast(pl.Int32)
    for position, name in (("position", "before_a"), ("position_b", "before_b")):
        rows = rows.sort("rank", position, nulls_last=True).with_columns((common.cum_sum() - common).over("rank").alias(name))
    place = pl.when(pl.col("there")).then("before_a").otherwise("before_b")
    dropped = [name for name in rows.columns if name.removesuffix("_b") in (set(ASKED) - {"library", "site"})]
    return rows.with_columns(before=place).drop("before_a", "before_b", *dropped)
