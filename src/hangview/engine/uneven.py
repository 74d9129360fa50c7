"""Sends whose receive asks for another amount of data.

NCCL wants the same count and dtype on both ends; where they are not, the larger end never ends or takes what is not there.
Bytes are compared, not elements: a message may be sent as one dtype and received as a view in another.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import polars as pl

from hangview.producers import messages_in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hangview.schema import Records, Signature

Lane = tuple[int, int, int]  #: (group, source, target), world ranks

_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool"), 1),
    **dict.fromkeys(("Short", "UInt16", "Half", "BFloat16"), 2),
    **dict.fromkeys(("Int", "UInt32", "Float", "ComplexHalf"), 4),
    **dict.fromkeys(("Long", "UInt64", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}


@dataclass(frozen=True, slots=True)
class Side:
    text: str  #: "8 × Float"
    source: int
    record_id: int | None


@dataclass(frozen=True, slots=True)
class Uneven:
    """One message of a lane: its two ends do not ask for the same."""

    number: int
    send: Side
    recv: Side
    over: bool  #: on both ends


def uneven(records: Records, rows: pl.DataFrame, lanes: Iterable[Lane]) -> Mapping[Lane, tuple[Uneven, ...]]:
    """Of the lanes of which it is known which send meets which receive, ascending by number. ``rows``: those of the traffic."""
    key = ["group", "src", "dst"]
    ordered = [i for i, op in enumerate(records.ops) if messages_in_order(op.library)]
    known = pl.DataFrame(list(lanes), schema={name: rows.schema[name] for name in key}, orient="row")
    mine = rows.filter(pl.col("op").is_in(ordered)).join(known, on=key, how="semi")
    mine = mine.select(*key, "number", "sends", "signature", "source", "record_id", "open")
    pairs = mine.filter("sends").join(mine.filter(~pl.col("sends")), on=[*key, "number"], suffix="_recv")
    differ = [(a, b) for a, b in pairs.select("signature", "signature_recv").unique().iter_rows() if _differ(records, a, b)]
    table = pl.DataFrame(differ, schema=dict.fromkeys(("signature", "signature_recv"), rows.schema["signature"]), orient="row")
    out: dict[Lane, tuple[Uneven, ...]] = {}
    for row in pairs.join(table, on=table.columns, how="semi").sort(*key, "number").iter_rows(named=True):
        sides = (
            Side(_text(records.signatures[row["signature" + end]]), row["source" + end], row["record_id" + end])
            for end in ("", "_recv")
        )
        lane: Lane = (row["group"], row["src"], row["dst"])
        found = Uneven(row["number"], next(sides), next(sides), over=not (row["open"] or row["open_recv"]))
        out[lane] = (*out.get(lane, ()), found)
    return out


def _differ(records: Records, send: int, recv: int) -> bool:
    if send == recv:
        return False
    sent, received = (_amount(records.signatures[i]) for i in (send, recv))
    if sent is None or received is None:
        return False
    (elements, dtype), (wanted, other) = sent, received
    if dtype == other or None in (dtype, other):
        return elements != wanted
    if dtype not in _BYTES or other not in _BYTES:
        return False
    return elements * _BYTES[dtype] != wanted * _BYTES[other]


def _text(signature: Signature) -> str:
    elements, dtype = _amount(signature) or (0, None)
    return f"{elements:,} × {dtype}" if dtype else f"{elements:,} elements"


def _amount(signature: Signature) -> tuple[int, str | None] | None:
    """(elements, dtype) of a message; None where no size was recorded. Older recorders note it on both sides."""
    for sizes, dtypes in (
        (signature.input_sizes, signature.input_dtypes),
        (signature.output_sizes, signature.output_dtypes),
    ):
        if sizes:
            said = set(dtypes or ())
            return sum(prod(shape) for shape in sizes), said.pop() if len(said) == 1 else None
    return None
