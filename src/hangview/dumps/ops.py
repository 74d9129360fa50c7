"""Takes a ``profiling_name`` apart: library, operation, family, peers.

One operation has several spellings: by recorder (``_all_gather_base``, ``all_gather_single``), by version (a barrier of nccl is
``all_reduce_barrier`` since about torch 2.6) and by way of calling (coalesced). Families are what may be compared across ranks.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hangview.schema import Op

BATCH_END = "batch_end"

_FAMILIES = {
    "all_reduce": ("all_reduce", "allreduce", "allreduce_coalesced", "sparse_all_reduce", "all_reduce_sparse"),
    "barrier": ("barrier", "all_reduce_barrier"),
    "all_gather": (
        "all_gather",
        "_all_gather_base",
        "all_gather_base",
        "all_gather_single",
        "all_gather_v",
        "allgather",
        "allgather_base",
        "allgather_coalesced",
        "all_gather_into_tensor",
        "all_gather_into_tensor_coalesced",
    ),
    "reduce_scatter": (
        "reduce_scatter",
        "_reduce_scatter_base",
        "reduce_scatter_base",
        "reduce_scatter_single",
        "reduce_scatter_v",
        "reduce_scatter_tensor",
        "reduce_scatter_tensor_coalesced",
    ),
    "all_to_all": ("all_to_all", "all_to_all_single", "all_to_all_v_single", "alltoall", "alltoall_base"),
    "broadcast": ("broadcast", "_broadcast_oop"),
    "reduce": ("reduce", "_reduce_oop"),
    "gather": ("gather", "gather_single"),
    "scatter": ("scatter",),
    "send": ("send",),
    "recv": ("recv", "recvAnySource"),
    "control": ("split", "new_window", "batch_op_issue"),
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names}
#: Op types as nccl's coalescing manager names the entry that closes a batch: ``<OPTYPE>_coalesced``.
_FAMILY_OF_TYPE = {
    "ALLREDUCE": "all_reduce",
    "ALLREDUCE_COALESCED": "all_reduce",
    "ALLREDUCE_SPARSE": "all_reduce",
    "_ALLREDUCE_SPARSE": "all_reduce",
    "ALLGATHER": "all_gather",
    "ALLGATHER_COALESCED": "all_gather",
    "_ALLGATHER_BASE": "all_gather",
    "REDUCE_SCATTER": "reduce_scatter",
    "_REDUCE_SCATTER_BASE": "reduce_scatter",
    "ALLTOALL": "all_to_all",
    "ALLTOALL_BASE": "all_to_all",
    "BROADCAST": "broadcast",
    "_BROADCAST_OOP": "broadcast",
    "REDUCE": "reduce",
    "_REDUCE_OOP": "reduce",
    "GATHER": "gather",
    "SCATTER": "scatter",
    "BARRIER": "barrier",
}
_CLOSING = re.compile(r"([A-Z_0-9]+)_coalesced")
_PEERS = re.compile(r"\s*(\d{1,9}|\?)\s*(->|<-)\s*(\d{1,9}|\?)\s*")


#: What an operation is called whose record does not name it.
NAMELESS = "call"


@lru_cache(maxsize=65536)
def parse_op(text: str) -> Op:
    """A ``profiling_name``, taken apart; never raises. Peers are group ranks; None where unknown ("recv 1<-?") or not said.

    An entry that closes a batch has the family of its op type if it names one of a collective, else ``batch_end``. A record
    without a name is of a :data:`NAMELESS` one.
    """
    library, _, call = text.rpartition(":")
    name, _, rest = call.strip().partition(" ")
    source = target = None
    if name in ("send", "recv") and (m := _PEERS.fullmatch(rest)):
        left, right = (None if x == "?" else int(x) for x in (m[1], m[3]))
        source, target = (left, right) if m[2] == "->" else (right, left)
    closing = _CLOSING.fullmatch(name)
    if name == "coalesced" or closing:
        family = _FAMILY_OF_TYPE.get(closing[1], BATCH_END) if closing else BATCH_END
        return Op(text, library, name, family, closes_batch=True)
    family = _FAMILY.get(name, name) if name else text
    return Op(text, library, name or NAMELESS, family or NAMELESS, source, target)
