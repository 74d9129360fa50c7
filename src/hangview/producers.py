"""What each recorder's states and counters mean: one table, so that nothing downstream asks for a library or a version.

A producer is told by the prefix of its profiling names ("nccl:all_reduce"), never by the schema version: torch 2.15 writes
"2.10" for the old recorder and for the hook alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Completion(Enum):
    """How a record shows that its work is over."""

    RECORDED = "recorded"  #: ``state`` becomes completed; retired without completed means failed or timed out
    RETIRED = "retired"  #: only ``retired`` moves: over, but well or badly is not said (gloo, since torch 2.8)
    HOOK = "hook"  #: completed is written if the backend has completion hooks; else ``retired`` at issue, which says nothing


class Counters(Enum):
    """What ``pg_status`` counts."""

    SEQ = "seq"  #: collective_seq_id, but the P2P number after a P2P work: comparable only in groups without P2P
    OPS_LIKE = "ops_like"  #: operations, also unrecorded ones, numbered as op_id is; not comparable
    OPS_FROM_ZERO = "ops_from_zero"  #: op_id from 0, P2P counted: enqueued + 1 is the newest seq in groups without P2P
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Producer:
    """One recorder. ``config_trusted``: its ``pg_config`` gives names and world ranks. ``records_p2p``: sends and receives have
    entries. ``global_seq``: ``collective_seq_id`` runs over all communicators of the process (torchcomms) and is
    renumbered per communicator when read. ``on_device``: its calls run on a device, not in the process itself. ``note`` is a
    sentence for the source pane, ``no_dump`` one about a rank without a dump."""

    completion: Completion
    counters: Counters
    config_trusted: bool = True
    records_p2p: bool = True
    global_seq: bool = False
    on_device: bool = True
    note: str = ""
    no_dump: str = ""


_NCCL = Producer(Completion.RECORDED, Counters.SEQ)
_HOOK = Producer(
    Completion.HOOK,
    Counters.OPS_FROM_ZERO,
    note="recorded by torch 2.15's hook: nothing is ever 'started', counters count operations from 0",
    no_dump="with this backend only a rank that times out itself writes a dump, so one that never came often leaves none",
)
_GLOO = Producer(
    Completion.RETIRED,
    Counters.OPS_LIKE,
    config_trusted=False,
    records_p2p=False,
    on_device=False,
    note="gloo never records completion, only that a work is over; sends and receives are not recorded",
)
TORCHCOMMS = Producer(
    Completion.RECORDED,
    Counters.NONE,
    records_p2p=False,
    global_seq=True,
    note="torchcomms numbers calls over all communicators; renumbered per communicator by order",
)

#: XCCL (torch-xpu-ops, ProcessGroupXCCL.cpp in 2026-08) marks a work as over when it is enqueued.
_XCCL = Producer(
    Completion.HOOK, Counters.SEQ, note="xccl's records are retired as they are issued: whether one is over is not told"
)

#: By library prefix. Forks of the NCCL recorder (hccl, mccl, bccl, cncl, rccl) keep its meaning.
_BY_LIBRARY = {
    **dict.fromkeys(("nccl", "nccl-legacy", "hccl", "mccl", "bccl", "cncl", "rccl"), _NCCL),
    "xccl": _XCCL,
    **dict.fromkeys(("nccl2", "nccl-lazy", "fake", "ucc", "mpi", "c10d", "custom"), _HOOK),
    "gloo": _GLOO,
}


#: Hooked backends that, like NCCL, take the messages between two ranks in order. Others may go by a tag, which is not recorded.
_IN_ORDER = frozenset({"nccl2", "nccl-lazy"})


def messages_in_order(library: str) -> bool:
    """Whether the k-th send between two ranks is for certain the one that the k-th receive takes."""
    return library in _IN_ORDER or producer_of(library).counters is Counters.SEQ


def producer_of(library: str) -> Producer:
    """The recorder behind a library prefix; an unknown prefix is a hooked backend, the weakest reading.

    Since torch 2.15 (PR 189363) every backend without its own recorder is recorded by the hook under its own name.
    """
    return _BY_LIBRARY.get(library, _HOOK)
