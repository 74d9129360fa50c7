"""What must agree between the ranks of one call: op, element counts, dtypes, by the rules of each operation.

Element counts are compared, not shapes: ``all_gather_into_tensor`` takes reshaped outputs, and equal counts of another
shape are the same on the wire. NCCL asks for equal count and dtype on all ranks of a collective; what it leaves open
(uneven all-to-all, outputs on the root only) is not judged here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import polars as pl

from hangview.schema import FULL
from hangview.terms import SignatureSide

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.schema import Op, Records, Signature

#: One rank gives or takes: others may be over before it, and the root is not recorded.
ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})

#: More elements than any tensor has.
_MOST = 2**53
#: Views of one payload: a cast on one side changes the name only (FORMAT: Byte against Float8 and Bool).
_BYTE_VIEWS = frozenset({"Byte", "Char", "Bool"})


@dataclass(frozen=True, slots=True)
class Key:
    """What one record asks of the others. None: not judged."""

    op: str
    sizes: tuple[int, ...] | None
    dtypes: tuple[str, ...] | None
    sent: int = field(default=0, compare=False)  #: elements in all inputs
    received: int = field(default=0, compare=False)  #: elements in all outputs
    parts: int = field(default=1, compare=False)  #: records that it combines


def key_of(op: Op, signature: Signature) -> Key:
    """The comparison key of one record. A closing entry without its members (torch before 2.7 records only that) is a coalesced
    call, which is several calls of the library and meets no plain one."""
    sent = tuple(prod(shape) for shape in signature.input_sizes)
    received = tuple(prod(shape) for shape in signature.output_sizes)
    name = f"coalesced {op.family}" if op.closes_batch and op.family != "batch_end" else op.family
    sizes = _uneven(op, sent, received) or _sizes(op.family, sent, received)
    return Key(name, sizes, _dtypes(op.family, signature), _within(sum(sent)), _within(sum(received)))


def _within(elements: int) -> int:
    """Sums over ranks must not overflow: no tensor comes near it, and made-up sizes go beyond."""
    return max(-_MOST, min(_MOST, elements))


def _uneven(op: Op, sent: tuple[int, ...], received: tuple[int, ...]) -> tuple[int, ...] | None:
    """What ranks must agree on where each may give or take another count: the list of all of them, which every rank has. None
    where the counts are equal, or no list was recorded.

    torch: a list of "complex and uneven sized tensors" is legal in all_gather and reduce_scatter; the ``_v`` operations of
    torchcomms are uneven by definition.
    """
    several = {"all_gather": received, "reduce_scatter": sent}.get(op.family, ())
    if len(set(several)) > 1:
        return several
    return (sum(several),) if op.name.endswith("_v") and several else None


def _sizes(family: str, sent: tuple[int, ...], received: tuple[int, ...]) -> tuple[int, ...] | None:
    if family in ("all_reduce", "broadcast", "reduce"):
        return sent or received or None
    if family == "gather":
        return (sum(sent),) if sent else None
    if family == "scatter":
        return (sum(received),) if received else None
    if family in ("all_gather", "reduce_scatter"):
        return (sum(sent), sum(received)) if sent or received else None
    return None  # all_to_all is judged by its totals, barriers carry nothing, unknown operations are not judged


def _dtypes(family: str, signature: Signature) -> tuple[str, ...] | None:
    said = {*(signature.input_dtypes or ()), *(signature.output_dtypes or ())}
    if not said or family not in FULL | ROOTED or family == "barrier":
        return None
    plain = {"Byte" if d in _BYTE_VIEWS or d.startswith("Float8") else d for d in said}
    return tuple(sorted(plain))


def combine(parts: Sequence[Key], closing: str | None) -> Key:
    """The key of a coalesced call: its members in order, under the operation that its closing entry names.

    An uneven all_gather is one ``_broadcast_oop`` per member and a closing ``ALLGATHER_coalesced``; the parts differ from
    each other and agree between ranks.
    """
    sizes = tuple(n for part in parts for n in (part.sizes or ()))
    dtypes = sorted({d for part in parts for d in (part.dtypes or ())})
    ops = sorted({part.op for part in parts})
    op = f"coalesced {closing}" if closing and closing != "batch_end" else "+".join(ops) if ops else "batch_end"
    return Key(
        op,
        sizes or None,
        tuple(dtypes) or None,
        sum(p.sent for p in parts),
        sum(p.received for p in parts),
        len(parts) + bool(closing),
    )


def key_table(
    records: Records, pairs: Iterable[tuple[int, int]], extra: Mapping[int, Key]
) -> tuple[pl.DataFrame, tuple[Key, ...]]:
    """Keys of distinct (op, signature) pairs as integers, equal keys with equal numbers.

    Columns ``op``, ``signature``, ``key``, ``sent``, ``received``; ``extra`` gives the keys of combined signatures. What a
    record sends and receives is no part of its key: uneven splits of an all-to-all are legal.
    """
    known: dict[Key, int] = {}
    rows = []
    for op, signature in sorted(pairs):
        key = extra.get(signature) or key_of(records.ops[op], records.signatures[signature])
        rows.append((op, signature, known.setdefault(key, len(known)), key.sent, key.received))
    schema = {"op": pl.UInt32, "signature": pl.UInt32, "key": pl.UInt32, "sent": pl.Int64, "received": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row"), tuple(known)


def describe(signature: Signature, family: str = "") -> str:
    """A signature in a few words: "1,024 × Float", "in 4 → out 32 × Half", "" when nothing was recorded."""
    sent = [prod(shape) for shape in signature.input_sizes]
    received = [prod(shape) for shape in signature.output_sizes]
    kinds = sorted({*(signature.input_dtypes or ()), *(signature.output_dtypes or ())})
    dtype = " × " + "/".join(kinds) if kinds else ""
    if not sent and not received:
        return ""
    if sent == received or not received or family in ("all_reduce", "broadcast", "reduce"):
        return _count(sent or received) + dtype
    return f"in {_count(sent) if sent else 'nothing'} → out {_count(received)}{dtype}"


def _count(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{numbers[0]:,}"
    return f"{sum(numbers):,} in {len(numbers)} tensors"


def sides(members: Mapping[int, tuple[str, object, str]], unobserved: int) -> tuple[SignatureSide, ...]:
    """Ranks by what they requested, most ranks first, then lowest rank.

    ``members`` maps a rank to (op as recorded, what is compared, text). The first side is the reference only if it stays the
    largest whatever the ``unobserved`` members requested: on less nobody may be named.
    """
    by_key: dict[object, list[int]] = {}
    said: dict[object, tuple[str, str]] = {}
    for rank in sorted(members):
        op, key, text = members[rank]
        by_key.setdefault(key, []).append(rank)
        said.setdefault(key, (op, text))
    ordered = sorted(by_key.items(), key=lambda item: (-len(item[1]), item[1][0]))
    counts = [len(ranks) for _, ranks in ordered]
    clear = len(counts) == 1 or counts[0] - counts[1] > unobserved
    clear = clear and 2 * counts[0] > sum(counts)
    return tuple(
        SignatureSide(tuple(ranks), said[key][0], said[key][1], reference=clear and i == 0)
        for i, (key, ranks) in enumerate(ordered)
    )
