"""Collective calls: every record of a group's collective lane, lined up by (group, seq) over all ranks at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine import compare
from hangview.engine.readings import COLLECTIVE, DONE, OPEN, P2P
from hangview.schema import CellState, SourceStatus

if TYPE_CHECKING:
    from hangview.engine.compare import Key
    from hangview.schema import Records

COMPLETED = int(CellState.COMPLETED)
ENDED = int(CellState.ENDED)


@dataclass(frozen=True, slots=True)
class Calls:
    """``rows``: one row per (group, seq, rank) of a collective lane, columns source, position, record_id,
    op, signature, stack, reading, created_ns, completed_ns, key (index into ``keys``), op_key, size_key, dtype_key, sent,
    received, parts (number of records).

    ``by_seq``: one row per (group, seq): n, n_open, n_completed, op/size/dtype agreement flags, sent and received totals.
    ``unjudged``: groups whose collective numbers do not correspond between ranks, with the reason.
    """

    rows: pl.DataFrame
    by_seq: pl.DataFrame
    keys: tuple[Key, ...]
    unjudged: dict[int, str]

    def at(self, group: int, seq: int) -> pl.DataFrame:
        """The rows of one call, ascending by rank."""
        return self.rows.filter((pl.col("group") == group) & (pl.col("seq") == seq)).sort("rank")


def line_up(records: Records, entries: pl.DataFrame, family_names: tuple[str, ...]) -> Calls:
    """Calls of all groups. ``entries`` is what ``readings.read`` gives."""
    wanted = (
        "group", "seq", "rank", "source", "position", "record_id", "op", "signature", "stack", "family", "reading",
        "created_ns", "completed_ns", "issued",
    )  # fmt: skip
    lane = entries.filter((pl.col("lane") == COLLECTIVE) & pl.col("seq").is_not_null() & pl.col("group").is_not_null())
    rows = lane.select(*wanted, parts=pl.lit(1, dtype=pl.UInt32))
    rows, extra = _merge_batches(records, rows, family_names)
    pairs = rows.select("op", "signature").unique().rows()
    table, keys = compare.key_table(records, pairs, extra)
    rows = rows.join(table, on=["op", "signature"], how="left", maintain_order="left")
    rows = _doubtful(records, rows)
    return Calls(rows, _by_seq(rows, family_names), keys, _unjudged(entries))


def _merge_batches(records: Records, rows: pl.DataFrame, family_names: tuple[str, ...]) -> tuple[pl.DataFrame, dict[int, Key]]:
    """One row for the several records that a coalesced call leaves on a rank; its closing entry carries the state."""
    key = ["group", "seq", "rank"]
    repeated = rows.group_by(key).len().filter(pl.col("len") > 1).drop("len")
    if repeated.is_empty():
        return rows, {}
    many = rows.join(repeated, on=key, how="semi").sort(*key, "position")
    extra: dict[int, Key] = {}
    known: dict[tuple[object, ...], int] = {}
    merged = []
    for _, part in many.group_by(key, maintain_order=True):
        items = part.rows(named=True)
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
        merged.append({**last, "signature": known[identity], "created_ns": items[0]["created_ns"], "parts": len(items)})
    single = rows.join(repeated, on=key, how="anti")
    return pl.concat([single, pl.DataFrame(merged, schema=rows.schema)]), extra


def _doubtful(records: Records, rows: pl.DataFrame) -> pl.DataFrame:
    """Leave the last call of a file that ends early out of comparisons: more of its records may have been cut off."""
    cut = [i for i, s in enumerate(records.sources) if s.status is SourceStatus.CUT]
    if not cut:
        return rows
    last = pl.col("source").is_in(cut) & (pl.col("position") == pl.col("position").max().over("source"))
    return rows.with_columns(
        pl.when(last).then(None).otherwise(pl.col(name)).alias(name) for name in ("op_key", "size_key", "dtype_key")
    )


def _by_seq(rows: pl.DataFrame, family_names: tuple[str, ...]) -> pl.DataFrame:
    full = [i for i, name in enumerate(family_names) if name in compare.FULL]
    exchange = [i for i, name in enumerate(family_names) if name == "all_to_all"]
    reading = pl.col("reading")
    return (
        rows.group_by("group", "seq")
        .agg(
            n=pl.len().cast(pl.Int32),
            n_open=reading.is_in(OPEN).sum().cast(pl.Int32),
            n_completed=(reading == COMPLETED).sum().cast(pl.Int32),
            n_done=reading.is_in(DONE).sum().cast(pl.Int32),
            n_ended=(reading == ENDED).sum().cast(pl.Int32),
            op_differs=pl.col("op_key").min() != pl.col("op_key").max(),
            size_differs=pl.col("size_key").min() != pl.col("size_key").max(),
            dtype_differs=pl.col("dtype_key").min() != pl.col("dtype_key").max(),
            sent=pl.col("sent").sum(),
            received=pl.col("received").sum(),
            exchange=pl.col("family").is_in(exchange).all(),
            full=pl.col("family").is_in(full).all(),
        )
        .with_columns(pl.col("op_differs", "size_differs", "dtype_differs").fill_null(value=False))
        .sort("group", "seq")
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
