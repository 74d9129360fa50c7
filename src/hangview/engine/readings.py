"""From records as written to records as read: group, lane, op family, and what the state means.

This is where a producer's habits (hangview.producers) become one vocabulary; nothing behind it asks for a producer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hangview.producers import Completion, producer_of
from hangview.schema import FULL, CellState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.engine.groups import Grouping
    from hangview.schema import Records

#: Values of the column ``lane``.
COLLECTIVE, P2P, BATCH_END, CONTROL = 0, 1, 2, 3

#: Nanoseconds within which works that are torn down together end, as the watchdog polls.
_MOMENT_NS = 1_000_000_000
#: Clocks of the members of one call, where a completion there is to be the same moment.
_CLOCKS_NS = 5_000_000_000

#: Readings of a request that is not over.
OPEN = (int(CellState.REQUESTED), int(CellState.STARTED), int(CellState.FAILED))
DONE = (int(CellState.COMPLETED), int(CellState.ENDED))


def read(records: Records, grouping: Grouping) -> pl.DataFrame:
    """``records.entries`` with the columns added:

    * ``group``: Group.id
    * ``lane``: COLLECTIVE, P2P (sends and receives), BATCH_END (closes a batch of P2P), CONTROL (splits, windows)
    * ``family``: id into the sorted tuple that :func:`families` gives
    * ``reading``: CellState as UInt8; a member of a coalesced batch has its closing entry's (members never move by
      themselves: PyTorch issue 137969)
    * ``closed``: for P2P, whether a closing entry of its batch is there; null where there are no batches
    * ``issued``: the recorder marks every request as over at once (a hook on a backend without completion)
    * ``unclear``: nothing tells whether it is over

    A call of a generation that the rank has left is over, well or badly (:mod:`hangview.engine.generations`).
    """
    entries = records.entries
    # only what is needed is joined, and the result laid beside the entries: two million rows of them are not copied
    place = ["source", "label", "pg_id"]
    keys = entries.lazy().select(place)
    of_label = grouping.of_label.lazy()
    if grouping.life is not None:
        place, keys = [*place, "life"], keys.with_columns(life=pl.lit(grouping.life))
    joined = keys.join(of_label, on=place, how="left", maintain_order="left", nulls_equal=True)
    back = None
    if grouping.earlier:
        both = joined.select("group", "back").collect(engine="streaming")
        homes, back = both["group"], both["back"]
    else:
        homes = joined.select("group").collect(engine="streaming")["group"]
    ops = _op_table(records)
    by_op = {name: ops[name].gather(entries["op"]) for name in ops.columns}
    ends = entries.group_by("source").agg(newest_ns=pl.col("created_ns").max(), last_ns=pl.col("completed_ns").max())
    ends = pl.DataFrame({"source": range(len(records.sources))}, schema={"source": pl.UInt32}).join(
        ends, on="source", how="left", maintain_order="left"
    )
    timed = entries.select("state", "retired", "created_ns", "completed_ns", "timeout_ms").with_columns(
        by_op["completion"], *(ends[name].gather(entries["source"]) for name in ("newest_ns", "last_ns"))
    )
    flags = (by_op[name] for name in ("completion", "closes", "ends", "peers", "control"))
    torn = timed.lazy().filter(_torn_down()).select("completed_ns").collect(engine="streaming")["completed_ns"]
    reading = timed.lazy().select(reading=_reading(torn)).collect(engine="streaming")["reading"]
    frame = entries.select("source", "label", "seq", "p2p_seq", "position", "is_p2p").with_columns(*flags, reading)
    if back is not None:  # numbers begin again with every generation, so records of several are kept apart as by a label
        frame = frame.with_columns(label=pl.col("label") + back * len(records.labels))
    frame = _cut_batches(records, _survivors(records, _lanes(frame), _newest(grouping)))
    if back is not None:
        left = (back > 0).fill_null(value=False) & frame["reading"].is_in(OPEN)
        frame = frame.with_columns(reading=frame["reading"].set(left, int(CellState.ENDED)))
    issued = (pl.col("completion") == 2) & (pl.col("reading") == int(CellState.ENDED))
    added = frame.select("lane", "reading", "closed", "unclear", issued=issued)
    added = _completed_elsewhere(added, entries, homes, pl.Series("full", [op.family in FULL for op in records.ops]))
    return entries.with_columns(homes, by_op["family"]).hstack(added)


def _newest(grouping: Grouping) -> dict[tuple[int, int], int]:
    """(source, label) -> the pg_id of the generation that its rank has not left, or of the last group of several."""
    now = grouping.of_label.filter((pl.col("back") == 0) & pl.col("pg_id").is_not_null()).sort("pg_id")
    return {(source, label): pg_id for source, label, pg_id in now.select("source", "label", "pg_id").iter_rows()}


def _survivors(records: Records, frame: pl.DataFrame, newest: Mapping[tuple[int, int], int]) -> pl.DataFrame:
    """Read the members of coalesced batches that an only-active dump kept although the batch is over.

    The closing entry of a finished batch is left out and its members never leave "scheduled" (PyTorch 137969). What tells:

    * calls of a group end in order, so an open one before a call that was left out as completed is over
    * the rank's counters (``newest``: of which pg_id): all that was enqueued was completed, or the last completed number is not
      below its own.
      ``last_completed_collective`` holds the number of the last work, which is a P2P number after a send or receive; it can be
      compared with those as long as it lies beyond every collective number
    """
    frame = frame.with_columns(unclear=pl.lit(value=False))
    holey = [i for i, s in enumerate(records.sources) if s.usable and s.only_active]
    if not holey:
        return frame
    place = ["source", "label"]
    counters = [
        (s.source, label, s.completed, s.raw[0], s.raw[2])
        for s in records.statuses
        if records.sources[s.source].only_active and s.name is not None
        for label, (name, _) in enumerate(records.labels)
        if name == s.name and newest.get((s.source, label), s.pg_id) == s.pg_id
    ]
    schema = {"source": pl.UInt32, "label": pl.UInt32, "done": pl.Int64, "raw_asked": pl.Int64, "raw_done": pl.Int64}
    table = pl.DataFrame(counters, schema=schema, orient="row").unique(place, keep="first", maintain_order=True)
    mine = frame.filter(pl.col("source").is_in(holey))
    highest = mine.group_by(place).agg(highest=pl.col("seq").max(), batched=(pl.col("p2p_seq") == 0).all())
    behind = (
        mine.filter(pl.col("lane") == COLLECTIVE)
        .select(*place, "seq")
        .unique()
        .sort("seq", descending=True)
        .with_columns(later=pl.int_range(pl.len()).over(place))
        .join(highest, on=place)
        .select(*place, "seq", left_out=pl.col("later") < pl.col("highest") - pl.col("seq"))
    )
    frame = (
        frame.join(highest, on=place, how="left", maintain_order="left")
        .join(table, on=place, how="left", maintain_order="left")
        .join(behind, on=[*place, "seq"], how="left", maintain_order="left")
    )
    still, sends = pl.col("reading").is_in(OPEN) & (pl.col("completion") == 0), pl.col("lane") == P2P
    loose = still & sends & ~pl.col("closed").fill_null(value=False)
    number = pl.when(~sends | pl.col("batched")).then("seq").otherwise("p2p_seq")
    comparable = pl.col("batched") | (pl.col("highest") == 0) | (pl.col("raw_done") > pl.col("highest"))
    idle = (pl.col("raw_asked") == pl.col("raw_done")) & (number <= pl.col("raw_done"))
    idle &= pl.col("batched") | (sends & comparable)  # else one may be the number of a collective, the other of a send
    over = (
        (still & ~sends & (pl.col("left_out") | (pl.col("seq") <= pl.col("done"))).fill_null(value=False))
        | (still & idle.fill_null(value=False))
        | (loose & (comparable & (number <= pl.col("raw_done"))).fill_null(value=False))
    )
    completed = pl.lit(int(CellState.COMPLETED), dtype=pl.UInt8)
    return frame.with_columns(
        reading=pl.when(over).then(completed).otherwise("reading"),
        unclear=(loose & ~over & pl.col("raw_done").is_not_null() & ~comparable).fill_null(value=False),
    ).drop("done", "raw_asked", "raw_done", "highest", "batched", "left_out")


def _cut_batches(records: Records, frame: pl.DataFrame) -> pl.DataFrame:
    """Of the batch in which a file ends nothing is clear: its members never move, and its closing entry may be cut off."""
    cut = [i for i, s in enumerate(records.sources) if s.usable and s.partial]
    if not cut:
        return frame
    batch = ["source", "label", "seq", "p2p_seq"]
    ends = (
        frame.lazy().filter(pl.col("source").is_in(cut)).sort("position").unique("source", keep="last").select(batch).collect()
    )
    last = pl.struct(batch).is_in(ends.to_struct().implode())
    unclosed = (pl.col("lane") == P2P) & ~pl.col("closed").fill_null(value=True)
    return frame.with_columns(unclear=pl.col("unclear") | (pl.col("source").is_in(cut) & unclosed & last))


def families(records: Records) -> tuple[str, ...]:
    """Op families by their id in the column ``family``."""
    return tuple(sorted({op.family for op in records.ops}))


def _op_table(records: Records) -> pl.DataFrame:
    """What matters of each op, in the order of ``records.ops``."""
    ids = {name: i for i, name in enumerate(families(records))}
    modes = {Completion.RECORDED: 0, Completion.RETIRED: 1, Completion.HOOK: 2}
    return pl.DataFrame(
        {
            "family": [ids[op.family] for op in records.ops],
            "completion": [modes[producer_of(op.library).completion] for op in records.ops],
            "closes": [op.closes_batch for op in records.ops],
            "ends": [op.family == "batch_end" for op in records.ops],
            "peers": [op.family in ("send", "recv") for op in records.ops],
            "control": [op.family == "control" for op in records.ops],
        },
        schema={
            "family": pl.UInt16,
            "completion": pl.UInt8,
            "closes": pl.Boolean,
            "ends": pl.Boolean,
            "peers": pl.Boolean,
            "control": pl.Boolean,
        },
    )


def _torn_down() -> pl.Expr:
    """Completed later than the record's own time-out, with nothing issued after it: the mark of an abort (PyTorch PR 119249). A
    communicator's kernels end when it is torn down."""
    took = pl.col("completed_ns") - pl.col("created_ns")
    late = (pl.col("timeout_ms") > 0) & (took > pl.col("timeout_ms") * 1_000_000)
    return ((pl.col("state") == 2) & late & (pl.col("completed_ns") >= pl.col("newest_ns"))).fill_null(value=False)


def _reading(torn: pl.Series) -> pl.Expr:
    """CellState of each record by itself. ``torn``: when communicators were torn down (:func:`_torn_down`). The job's others go
    with them, and what their kernels wait in ends then as the last thing in its file, whatever the time-out of its group."""
    state, retired, mode = pl.col("state"), pl.col("retired"), pl.col("completion")
    completed = state == 2
    aborted = _torn_down()
    if len(torn):
        first, last = torn.min(), torn.max()
        then = pl.col("completed_ns").is_between(pl.lit(first) - _CLOCKS_NS, pl.lit(last) + _CLOCKS_NS)
        at_last = (pl.col("completed_ns") >= pl.col("last_ns") - _MOMENT_NS) & (pl.col("completed_ns") >= pl.col("newest_ns"))
        waited = pl.col("completed_ns") - pl.col("created_ns") > _CLOCKS_NS
        aborted |= (completed & then & at_last & waited).fill_null(value=False)
    code = {s: pl.lit(int(s), dtype=pl.UInt8) for s in CellState}
    return (
        pl.when(mode == 1)
        .then(pl.when(retired).then(code[CellState.ENDED]).otherwise(code[CellState.REQUESTED]))
        .when(aborted)
        .then(code[CellState.FAILED])
        .when(completed)
        .then(code[CellState.COMPLETED])
        .when(retired & (mode == 2))
        .then(code[CellState.ENDED])
        .when(retired)
        .then(code[CellState.FAILED])
        .when(state == 1)
        .then(code[CellState.STARTED])
        .otherwise(code[CellState.REQUESTED])
    )


def _completed_elsewhere(added: pl.DataFrame, entries: pl.DataFrame, homes: pl.Series, full: pl.Series) -> pl.DataFrame:
    """What looks like an abort is none where another member completed the call, in that moment or, as all are needed for it, at
    any time: it had waited for that member."""
    lane = (pl.col("lane") == COLLECTIVE) & pl.col("group").is_not_null() & (pl.col("state") == 2)
    table = added.lazy().select("lane", "reading").with_columns(homes, *entries.select("op", "seq", "state", "completed_ns"))
    call = ("group", "seq", "op", "completed_ns")
    failed = lane & (pl.col("reading") == int(CellState.FAILED))
    seen = table.with_row_index("row").filter(failed).select(*call, "row").collect()
    if seen.is_empty():
        return added
    done = table.filter(lane & (pl.col("reading") == int(CellState.COMPLETED))).select(*call).collect()
    apart = (pl.col("completed_ns") - pl.col("completed_ns_there")).abs()
    met = seen.join(done, on=["group", "seq"], suffix="_there")
    met = met.with_columns(full=full.gather(met["op"]))
    at = met.filter(pl.col("full") | (apart <= _CLOCKS_NS))["row"].unique()
    return added.with_columns(reading=added["reading"].scatter(at, int(CellState.COMPLETED)))


def _lanes(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort records into lanes and give members of a batch the state of its closing entry.

    Members of one P2P batch and its closing entry share both numbers (collective_seq_id, p2p_seq_id); about torch 2.5 the
    batch took the next collective number instead of a P2P one, which the pair of numbers covers too.
    """
    p2p = pl.col("is_p2p") | pl.col("peers")
    frame = frame.with_columns(
        lane=pl.when(p2p).then(P2P).when(pl.col("control")).then(CONTROL).otherwise(COLLECTIVE).cast(pl.UInt8)
    ).drop("peers", "control")
    key = ["source", "label", "seq", "p2p_seq"]
    rows = frame.lazy().with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
    closing = rows.filter("closes").select(*key, "row", "ends", closing_reading=pl.col("reading")).collect()
    if closing.is_empty():
        return frame.with_columns(closed=pl.lit(None, dtype=pl.Boolean))
    # only members and closing entries are joined, and their rows changed: whole frames of two million rows would be copied
    members = rows.filter(pl.col("lane") == P2P).select(*key, "row").collect()
    closing = closing.filter(_of_p2p(frame, closing, members))
    states = closing.group_by(key).agg(pl.col("closing_reading").last(), closed=pl.lit(value=True))
    closed_members = members.join(states, on=key)
    lane, reading = frame["lane"].to_numpy().copy(), frame["reading"].to_numpy().copy()
    closed = np.zeros(len(lane), np.bool_)
    at = closed_members["row"].to_numpy()
    reading[at] = closed_members["closing_reading"].to_numpy()
    closed[at] = True
    lane[closing["row"].to_numpy()] = BATCH_END
    is_p2p = pl.col("lane") == P2P
    return frame.with_columns(closed=pl.when(is_p2p).then(pl.Series(closed))).with_columns(
        lane=pl.Series(lane), reading=pl.Series(reading)
    )


def _of_p2p(frame: pl.DataFrame, closing: pl.DataFrame, members: pl.DataFrame) -> pl.Series:
    """Whether closing entries end a P2P batch.

    Its members are there; or they are gone, this rank uses P2P in the group, and no collective has the same number.
    """
    key = ["source", "label", "seq", "p2p_seq"]
    with_members = closing["row"].is_in(closing.join(members, on=key, how="semi")["row"].implode())
    groups = members.select("source", "label").unique()
    alone = closing.filter(~with_members & closing["ends"]).join(groups, on=["source", "label"], how="semi")
    if alone.is_empty():
        return with_members
    plain = frame.lazy().filter((pl.col("lane") == COLLECTIVE) & ~pl.col("closes")).select("source", "label", "seq")
    gone = alone.lazy().join(plain, on=["source", "label", "seq"], how="anti").collect()
    return with_members | closing["row"].is_in(gone["row"].implode())
