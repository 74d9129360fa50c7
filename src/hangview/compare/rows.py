"""The requests of one incident as rows to lay beside another's: what each asked for, from where, and whether it is over.

Sequence numbers are only compared within matched groups; ids of ops, signatures and stacks of two sets mean different things,
so everything compared is turned into ids of one :class:`Vocabulary` first. One row per (group, lane, seq, rank).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import polars as pl

from hangview.compare.sites import Site, entry_point, site_of
from hangview.engine import calls as engine_calls
from hangview.engine import p2p
from hangview.engine.readings import DONE, families

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from hangview.engine.calls import Calls
    from hangview.engine.compare import Key
    from hangview.engine.p2p import Traffic
    from hangview.incident import Incident

#: Columns that say what was requested, and how its ids are called in a laid-out pair of rows.
ASKED = ("op", "bare", "sizes", "dtypes", "library", "coalesced", "api", "site")


@dataclass(slots=True)
class Vocabulary:
    """Numbers for whatever is compared, the same for both sets."""

    known: dict[Hashable, int] = field(default_factory=dict)

    def id_of(self, value: Hashable | None) -> int | None:
        """The number of a value; None stays None: what is not recorded is not compared."""
        return None if value is None else self.known.setdefault(value, len(self.known))

    def values(self) -> list[Any]:
        """The values by their numbers."""
        return list(self.known)


@dataclass(frozen=True, slots=True)
class Requests:
    """One set's rows and what is needed to say why one is not there.

    ``rows``: group, lane (COLLECTIVE_LANE, else a number of the vocabulary), seq, rank, position, source, over
    (null: the recorder does not say) and the ids of ASKED; ``op_index``, ``signature`` and ``stack`` are the set's own.
    """

    rows: pl.DataFrame
    calls: Calls
    traffic: Traffic


def requests(incident: Incident, words: Vocabulary) -> Requests:
    """The rows of an incident, of collective lanes and of those point-to-point lanes whose numbers count from the start."""
    lined_up = engine_calls.line_up(incident.records, incident.entries, families(incident.records))
    traffic = p2p.traffic(incident.records, incident.groups, incident.entries)
    collective = _collectives(incident, lined_up, words)
    messages = _messages(incident, traffic, words)
    rows = collective if messages is None else pl.concat([collective, messages])
    return Requests(rows, lined_up, traffic)


_SCHEMA = {
    "group": pl.Int32,
    "lane": pl.Int32,
    "seq": pl.Int32,
    "rank": pl.Int32,
    "position": pl.Int32,
    "reading": pl.UInt8,
    "over": pl.Boolean,
    "op_index": pl.UInt32,
    "signature": pl.UInt32,
    "stack": pl.UInt32,
    **dict.fromkeys(ASKED, pl.Int32),
}
#: The lane number of every collective lane.
COLLECTIVE_LANE = -1


def _collectives(incident: Incident, lined_up: Calls, words: Vocabulary) -> pl.DataFrame:
    keys = pl.DataFrame(
        [(number, *_ids(key, words)) for number, key in enumerate(lined_up.keys)],
        schema={
            "key": pl.UInt32,
            "op": pl.Int32,
            "bare": pl.Int32,
            "sizes": pl.Int32,
            "dtypes": pl.Int32,
            "coalesced": pl.Int32,
        },
        orient="row",
    )
    rows = lined_up.rows.filter(~pl.col("group").is_in(list(lined_up.unjudged)))
    rows = rows.with_columns(position=incident.entries["position"].gather(rows["row"].to_numpy()))
    rows = rows.rename({"op": "op_index"}).join(keys, on="key", how="left", maintain_order="left")
    return _finish(incident, rows.with_columns(lane=pl.lit(COLLECTIVE_LANE)), words, pl.col("issued"))


def _ids(key: Key, words: Vocabulary) -> tuple[int | None, ...]:
    """The ids of a key: its op as it is and without "coalesced", sizes, dtypes, and whether it is a batch.

    A batch without a name of its own ("batch_end", or several ops in one) is compared with batches of the same recorder only.
    """
    bare = key.op.removeprefix("coalesced ")
    named = bare != "batch_end" and "+" not in bare
    coalesced = key.op != bare or key.parts > 1 or not named
    return (
        words.id_of(("op", key.op)),
        words.id_of(("op", bare)) if named else None,
        words.id_of(key.sizes),
        words.id_of(key.dtypes),
        int(coalesced),
    )


def _messages(incident: Incident, traffic: Traffic, words: Vocabulary) -> pl.DataFrame | None:
    """Sends and receives, numbered within (group, from, to); only of ranks whose records go back to the first one."""
    if traffic.rows.is_empty():
        return None
    whole = [
        (group, source, target, end.rank)
        for (group, source, target), lane in traffic.lanes.items()
        if lane.judged
        for end in (lane.send, lane.recv)
        if end.from_start
    ]
    places = [(*place, words.id_of(("p2p", place[1], place[2]))) for place in whole]
    schema = {"group": pl.Int32, "src": pl.Int32, "dst": pl.Int32, "rank": pl.Int32, "lane": pl.Int32}
    lanes = pl.DataFrame(places, schema=schema, orient="row").unique(["group", "src", "dst", "rank"], maintain_order=True)
    rows = traffic.rows.rename({"op": "op_index", "seq": "call_seq", "number": "seq"}).drop("lane")
    rows = rows.join(lanes, on=["group", "src", "dst", "rank"], how="inner", maintain_order="left")
    table = []
    for op, signature in sorted(rows.select("op_index", "signature").unique().rows()):
        said = incident.records.signatures[signature]
        shapes = said.input_sizes or said.output_sizes
        dtypes = said.input_dtypes or said.output_dtypes
        name = words.id_of(("op", incident.records.ops[op].family))
        size = words.id_of((sum(prod(shape) for shape in shapes),)) if shapes else None
        table.append((op, signature, name, name, size, words.id_of(tuple(sorted(set(dtypes))) if dtypes else None), 0))
    names = ("op", "bare", "sizes", "dtypes", "coalesced")
    schema_of_table = {"op_index": pl.UInt32, "signature": pl.UInt32, **dict.fromkeys(names, pl.Int32)}
    asked = pl.DataFrame(table, schema=schema_of_table, orient="row")
    rows = rows.join(asked, on=["op_index", "signature"], how="left", maintain_order="left")
    return _finish(incident, rows, words, pl.col("issued") | pl.col("unclear"))


def _finish(incident: Incident, rows: pl.DataFrame, words: Vocabulary, untold: pl.Expr) -> pl.DataFrame:
    """Add library, entry point, call site and whether the request is over, and keep what is compared."""
    ops = [words.id_of(("library", op.library)) for op in incident.records.ops]
    stacks = incident.records.stacks
    sites = [words.id_of(site_of(stack)) for stack in stacks]
    apis = [words.id_of(entry_point(stack) or None) for stack in stacks]
    over = pl.when(~untold).then(pl.col("reading").is_in(DONE))
    columns = {
        "library": pl.Series("library", ops, dtype=pl.Int32).gather(rows["op_index"]),
        "site": pl.Series("site", sites, dtype=pl.Int32).gather(rows["stack"]),
        "api": pl.Series("api", apis, dtype=pl.Int32).gather(rows["stack"]),
    }
    return rows.with_columns(over=over, **columns).select(pl.col(name).cast(dtype) for name, dtype in _SCHEMA.items())


def site_names(words: Sequence[Any], numbers: Iterable[int]) -> Mapping[int, Site]:
    """The call sites among the vocabulary's values."""
    return {number: words[number] for number in numbers if isinstance(words[number], Site)}
