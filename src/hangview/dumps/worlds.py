"""gloo's dumps of several jobs (or replicas) in one place: each counts its ranks from 0, the files' names count on.

NCCL's recorder writes the members of the default group, and :mod:`hangview.dumps.replicas` goes by these. gloo's key '' alone
proves nothing: torch 2.15 writes the numbers within whatever group was made last there. So worlds are told apart only where
every file has records of the default group alone, all have the numbers 0 to n - 1, and the records say that the worlds are
not one: an all_gather has n parts, or calls that need every member went through although they differ from world to world.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from hangview.dumps.decoded import NONE
from hangview.dumps.facts import flags, ids, ints
from hangview.dumps.ops import parse_op
from hangview.producers import producer_of
from hangview.schema import DEFAULT_DESC, FULL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.dumps.decoded import Decoded

#: Calls that went through in two worlds and differ, before that counts: after one that failed a rank may go on all the same.
_DIFFERING = 2
#: Calls of a file that are looked at.
_LOOKED_AT = 64

#: What a call asked for: family, elements in, elements out.
_Call = tuple[str, int, int]


def worlds(ranks: Sequence[int | None], dumps: Sequence[Decoded | None]) -> int:
    """The size of each world where these files hold several; 0 where nothing proves it. ``ranks`` by file name."""
    pairs = [(rank, dump) for rank, dump in zip(ranks, dumps, strict=True) if rank is not None and dump is not None]
    sizes = {_numbered(dump) for _, dump in pairs}
    if len(sizes) != 1:
        return 0
    size = sizes.pop()
    if not size or len({rank for rank, _ in pairs}) <= size:  # so many are one world, whatever their names count from
        return 0
    parts: dict[int, list[Decoded]] = defaultdict(list)
    for rank, dump in pairs:
        parts[rank // size].append(dump)
    gathered = {each for _, dump in pairs for each in _gathered(dump)}
    if gathered:
        return size if gathered == {size} else 0
    calls = [_agreed(dumps) for dumps in parts.values()]
    differing = (
        sum(one[seq] != other[seq] for seq in one.keys() & other.keys())
        for i, one in enumerate(calls)
        for other in calls[i + 1 :]
    )
    return size if len(calls) > 1 and all(n >= _DIFFERING for n in differing) else 0


def default_label(dump: Decoded) -> tuple[str, str] | None:
    """The default group's label of a gloo dump that has records of no other group; else None."""
    gloo = dump.count and all(not producer_of(parse_op(op).library).config_trusted for op in dump.ops)
    return dump.labels[0] if gloo and len(dump.labels) == 1 and dump.labels[0][1] == DEFAULT_DESC else None


def _numbered(dump: Decoded) -> int:
    """n where a dump has the numbers 0 to n - 1 for its only group, the default one; else 0."""
    ranks = next((config.ranks for config in dump.configs if config.key == ""), ())
    return len(ranks) if default_label(dump) and tuple(ranks) == tuple(range(len(ranks))) else 0


def _gathered(dump: Decoded) -> set[int]:
    """Parts of which the outputs of its all_gathers consist."""
    families = [parse_op(op).family for op in dump.ops]
    pairs = set(zip(ids(dump, "op").tolist(), ids(dump, "signature").tolist(), strict=True))
    found = (dump.signatures[signature].elements for op, signature in pairs if families[op] == "all_gather")
    return {received // sent if received % sent == 0 else 0 for sent, received in found if sent}


def _agreed(dumps: Sequence[Decoded]) -> Mapping[int, _Call]:
    """Calls that went through, as far as the files of one world ask for the same: after a failed one nobody goes on."""
    out: dict[int, _Call] = {}
    odd: set[int] = set()
    for dump in dumps:
        for seq, call in _through(dump).items():
            if out.setdefault(seq, call) != call:
                odd.add(seq)
    return {seq: call for seq, call in out.items() if seq not in odd}


def _through(dump: Decoded) -> Mapping[int, _Call]:
    seq, over = ints(dump, "seq"), flags(dump, "retired")
    rows = np.flatnonzero((seq != NONE) & over)[:_LOOKED_AT]
    ops, signatures = ids(dump, "op"), ids(dump, "signature")
    out = {}
    for row in rows.tolist():
        family = parse_op(dump.ops[int(ops[row])]).family
        if family in FULL:
            out[int(seq[row])] = (family, *dump.signatures[int(signatures[row])].elements)
    return out
