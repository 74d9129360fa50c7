"""A dump's tables as JSON has them, and its columns by their types: what the cache and packs both keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hangview.dumps.decoded import BOOL_COLUMNS, ID_COLUMNS, INT_COLUMNS
from hangview.schema import Signature, StackFrame, Thread

if TYPE_CHECKING:
    from hangview.dumps.decoded import Decoded

#: The columns of a dump, and what numpy calls their types.
KINDS = {
    **dict.fromkeys(INT_COLUMNS, "<i8"),
    **dict.fromkeys(BOOL_COLUMNS, "|b1"),
    **dict.fromkeys(ID_COLUMNS, "<u4"),
    "state": "|u1",
    "duration_ms": "<f8",
}


def tables_out(decoded: Decoded) -> dict[str, Any]:
    """The tables that the ids of a dump, or of dumps that share them, point into; each frame once."""
    frames: dict[StackFrame, int] = {}
    stacks = [[frames.setdefault(frame, len(frames)) for frame in stack] for stack in decoded.stacks]
    return {
        "ops": decoded.ops,
        "labels": decoded.labels,
        "signatures": [(s.input_sizes, s.input_dtypes, s.output_sizes, s.output_dtypes) for s in decoded.signatures],
        "frames": [(frame.name, frame.filename, frame.line) for frame in frames],
        "stacks": stacks,
        "threads": [(thread.id, thread.name) for thread in decoded.threads],
    }


def tables_in(told: dict[str, Any] | None) -> dict[str, Any]:
    """The same as keyword arguments of :class:`~hangview.dumps.decoded.Decoded`; believes what it is told."""
    if told is None:
        return {}
    frames = [StackFrame(*frame) for frame in told["frames"]]
    return {
        "ops": tuple(told["ops"]),
        "labels": tuple((name, desc) for name, desc in told["labels"]),
        "signatures": tuple(_signature(*parts) for parts in told["signatures"]),
        "stacks": tuple(tuple(frames[i] for i in stack) for stack in told["stacks"]),
        "threads": tuple(Thread(*thread) for thread in told["threads"]),
    }


def _signature(sizes_in: Any, dtypes_in: Any, sizes_out: Any, dtypes_out: Any) -> Signature:
    return Signature(
        tuple(map(tuple, sizes_in)),
        None if dtypes_in is None else tuple(dtypes_in),
        tuple(map(tuple, sizes_out)),
        None if dtypes_out is None else tuple(dtypes_out),
    )
