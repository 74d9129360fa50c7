"""The header alone, out of the first bytes of a pickled dump: what stands before its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.dumps.decode.header import Header as Begun
from hangview.dumps.decode.header import read_header
from hangview.dumps.decode.machine import count_steps, interpret

if TYPE_CHECKING:
    from hangview.schema import Limits

__all__ = ["Begun", "begin"]

_ENTRIES = b"X\x07\0\0\0entries"
_DUMP = b"\x80\x02}"


def begin(data: bytes, limits: Limits) -> Begun | None:
    """The header of a dump in torch's own layout, whose first bytes are ``data``; None where these do not reach to its end.

    Raises Refused as :func:`hangview.dumps.decode.decode` does.
    """
    end = data.find(_ENTRIES)
    if not data.startswith(_DUMP) or end < 0:
        return None
    machine = interpret(data[:end], limits, count_steps(limits, len(data)))
    root = machine.root()
    return read_header(root, limits) if type(root) is dict and not machine.damage else None
