"""Collective calls: every record of a group's collective lane, lined up by (group, seq) over all ranks at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hangview.engine import compare
from hangview.engine.readings import COLLECTIVE, OPEN, P2P
from hangview.schema import FULL, CellState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import numpy.typing as npt

    from hangview.engine.compare import Key
    from hangview.schema import Records

#: Pairs of op and signature for which a table of all possible ones is small.
_FEW = 4_000_000
#: One number for (group, seq), in their order: a single key is half the work of two.
_GROUP, _SEQ = 2**32, 2**31
_PLACE = pl.col("group").cast(pl.Int64) * _GROUP + (pl.col("seq").cast(pl.Int64) + _SEQ)

#: Columns of the entries that are looked at of few calls only.
DETAILS = ("source", "position", "record_id", "created_ns", "completed_ns")

COMPLETED = int(CellState.COMPLETED)
ENDED = int(CellState.ENDED)


@dataclass(frozen=True, slots=True)
class Calls:
    """``rows``: one row per (group, seq, rank) of a collective lane, as narrow as two million of them ask for: op, signature,
    stack, family, reading, issued, ``key`` (index into ``keys``; null: not compared) and ``row`` (index into the entries,
    which has the order of the files). :meth:`detail` adds the rest where it is looked at.

    ``by_seq``: one row per (group, seq): n, n_open, n_completed, n_ended, n_stacks (members with a stack), ``parted`` (these
    differ), ``differs`` (keys of any kind), ``full`` (an operation that needs every member), ``exchange`` and for these the
    totals ``sent`` and ``received``.
    ``unjudged``: groups whose collective numbers do not correspond between ranks, or whose calls are not to be judged, with the
    reason.
    """

    rows: pl.DataFrame
    by_seq: pl.DataFrame
    keys: tuple[Key, ...]
    entries: pl.DataFrame
    unjudged: dict[int, str]

    def without(self, groups: Collection[int]) -> Calls:
        """The calls of all other groups."""
        if not groups:
            return self
        other = ~pl.col("group").is_in(list(groups))
        return replace(self, rows=self.rows.filter(other), by_seq=self.by_seq.filter(other))

    def at(self, group: int, seq: int) -> pl.DataFrame:
        """The rows of one call with their details, ascending by rank."""
        return self.detail(self.rows.filter((pl.col("group") == group) & (pl.col("seq") == seq)).sort("rank"))

    def at_all(self, places: Iterable[tuple[int, int]]) -> pl.DataFrame:
        """The rows of several calls with their details, ascending by group, seq and rank."""
        wanted = [group * _GROUP + seq + _SEQ for group, seq in places]
        found = self.rows.lazy().filter(_PLACE.is_in(wanted)).collect(engine="streaming")  # it holds no number for every row
        return self.detail(found.sort("group", "seq", "rank"))

    def next_seqs(self, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """For each (group, seq) the first seq of the group from there on that anybody recorded; left out where there is none.

        Some calls take a number and leave no record (gloo's monitored_barrier).
        """
        recorded = self.by_seq.select(_PLACE.alias("place"))["place"].to_numpy()  # ascending
        out = {}
        for group, seq in places:
            at = int(np.searchsorted(recorded, group * _GROUP + seq + _SEQ))
            if at < len(recorded) and recorded[at] // _GROUP == group:
                out[group, seq] = int(recorded[at] % _GROUP) - _SEQ
        return out

    def detail(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with what their records have of ``DETAILS``."""
        wanted = self.entries.select(DETAILS)  # first: else all columns are gathered
        return rows.hstack(wanted[rows["row"].to_numpy()])


def line_up(
    records: Records, entries: pl.DataFrame, family_names: tuple[str, ...], unjudged: Mapping[int, str] | None = None
) -> Calls:
    """Calls of all groups. ``entries`` is what ``readings.read`` gives; ``unjudged``: groups not to be judged."""
    wanted = ("group", "rank", "op", "signature", "stack", "family", "reading", "issued")
    rows = (
        entries.lazy()
        .select(*wanted, "lane", pl.col("seq").cast(pl.Int32, strict=False), row=pl.int_range(pl.len(), dtype=pl.UInt32))
        .filter((pl.col("lane") == COLLECTIVE) & pl.col("seq").is_not_null() & pl.col("group").is_not_null())
        .drop("lane")
        .collect()
    )
    rows, extra = _merge_batches(records, rows, family_names)
    pairs, number = _pairs(rows)
    table, keys = compare.key_table(records, pairs, extra)
    at = {(op, signature): key for op, signature, key in table.select("op", "signature", "key").iter_rows()}
    rows = rows.with_columns(key=pl.Series(np.array([at[pair] for pair in pairs], np.uint32)[number]))
    rows = _doubtful(records, rows, entries)
    return Calls(rows, _by_seq(rows, table, family_names), keys, entries, {**_unjudged(entries), **(unjudged or {})})


def _pairs(rows: pl.DataFrame) -> tuple[list[tuple[int, int]], npt.NDArray[np.intp]]:
    """Distinct (op, signature), and which of them each row has. They are few: no join of two million rows is needed."""
    op, signature = rows["op"].to_numpy(), rows["signature"].to_numpy()
    width = int(signature.max(initial=0)) + 1
    code = op.astype(np.int64) * width + signature
    size = (int(op.max(initial=0)) + 1) * width
    if size <= _FEW:
        used = np.zeros(size, np.bool_)
        used[code] = True
        codes = np.flatnonzero(used)
        number = (np.cumsum(used) - 1)[code]
    else:
        codes, number = np.unique(code, return_inverse=True)
    return [(int(c) // width, int(c) % width) for c in codes], number


def _merge_batches(records: Records, rows: pl.DataFrame, family_names: tuple[str, ...]) -> tuple[pl.DataFrame, dict[int, Key]]:
    """One row for the several records that a coalesced call leaves on a rank; its closing entry carries the state."""
    place = ["group", "rank", "seq"]
    # one integer in place of three keys: a false match only sends a row the slow way
    rank, group, seq = (pl.col(name).cast(pl.Int64) for name in ("rank", "group", "seq"))
    numbers = rows.lazy().select(at=rank * 2**48 + group * 2**30 + seq)
    packed = numbers.collect(engine="streaming")["at"].to_numpy()
    ordered = np.sort(packed)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return rows, {}
    repeated = pl.Series(np.isin(packed, twice))
    many = rows.filter(repeated).sort(*place, "row")
    extra: dict[int, Key] = {}
    known: dict[tuple[object, ...], int] = {}
    merged = []
    for _, part in many.group_by(place, maintain_order=True):
        items = part.rows(named=True)
        if len(items) == 1:
            merged.append(items[0])
            continue
        closing = next((x for x in reversed(items) if records.ops[x["op"]].closes_batch), None)
        members = [x for x in items if x is not closing]
        shown = tuple((x["op"], x["signature"]) for x in members)
        name = family_names[closing["family"]] if closing else None
        identity = (name, *shown)
        if identity not in known:
            number = len(records.signatures) + len(known)
            known[identity] = number
            extra[number] = compare.combine([compare.key_of(records.ops[op], records.signatures[s]) for op, s in shown], name)
        open_parts = [x for x in items if x["reading"] in OPEN]
        last = closing or (open_parts or items)[-1]
        merged.append({**last, "signature": known[identity]})
    return pl.concat([rows.filter(~repeated), pl.DataFrame(merged, schema=rows.schema)]), extra


def _doubtful(records: Records, rows: pl.DataFrame, entries: pl.DataFrame) -> pl.DataFrame:
    """Leave the last call of a file that ends early out of comparisons: more of its records may have been cut off."""
    cut = [i for i, s in enumerate(records.sources) if s.partial]
    if not cut:
        return rows
    in_cut = entries.select("source", row=pl.int_range(pl.len(), dtype=pl.UInt32)).filter(pl.col("source").is_in(cut))
    last = in_cut.join(rows.select("row"), on="row", how="semi").group_by("source").agg(pl.col("row").max())
    return rows.with_columns(key=pl.when(~pl.col("row").is_in(last["row"].implode())).then("key"))


def _by_seq(rows: pl.DataFrame, table: pl.DataFrame, family_names: tuple[str, ...]) -> pl.DataFrame:
    full = [i for i, name in enumerate(family_names) if name in FULL]
    exchange = [i for i, name in enumerate(family_names) if name == "all_to_all"]
    reading, family = pl.col("reading"), pl.col("family")
    stack = pl.when(pl.col("stack") > 0).then("stack")
    calls = (
        rows.lazy()
        .group_by(place=_PLACE)
        .agg(
            n=pl.len().cast(pl.Int32),
            n_open=reading.is_in(OPEN).sum().cast(pl.Int32),
            n_completed=(reading == COMPLETED).sum().cast(pl.Int32),
            n_ended=(reading == ENDED).sum().cast(pl.Int32),
            n_stacks=stack.count().cast(pl.Int32),
            parted=(stack.min() != stack.max()).fill_null(value=False),
            differs=(pl.col("key").min() != pl.col("key").max()).fill_null(value=False),
            family=family.min(),
            same=family.min() == family.max(),
        )
        .with_columns(full=pl.col("same") & family.is_in(full), exchange=pl.col("same") & family.is_in(exchange))
        .sort("place")
        .select(
            (pl.col("place") // _GROUP).cast(pl.Int32).alias("group"),
            (pl.col("place") % _GROUP - _SEQ).cast(pl.Int32).alias("seq"),
            pl.exclude("place", "family", "same"),
        )
        .collect(engine="streaming")  # it keeps no list of the rows of each call
    )
    if not exchange:
        return calls.with_columns(sent=pl.lit(0, dtype=pl.Int64), received=pl.lit(0, dtype=pl.Int64))
    moved = (
        rows.filter(family.is_in(exchange) & pl.col("key").is_not_null())
        .join(table.drop("key"), on=["op", "signature"])
        .group_by("group", "seq")
        .agg(pl.col("sent").sum(), pl.col("received").sum())
    )
    return calls.join(moved, on=["group", "seq"], how="left", maintain_order="left").with_columns(
        pl.col("sent", "received").fill_null(0)
    )


def _unjudged(entries: pl.DataFrame) -> dict[int, str]:
    """Groups in which batches of P2P took collective numbers (about torch 2.5): these differ between healthy stages."""
    taken = (
        entries.filter((pl.col("lane") == P2P) & (pl.col("closed").fill_null(value=False)))
        .group_by("source", "group")
        .agg(numbers=pl.col("seq").n_unique(), p2p_numbers=pl.col("p2p_seq").n_unique())
        .filter((pl.col("numbers") > 1) & (pl.col("p2p_numbers") == 1))
    )
    reason = "batches of sends and receives took numbers of the collective lane (as about torch 2.5)"
    return dict.fromkeys(sorted(taken["group"].drop_nulls().unique().to_list()), reason)
