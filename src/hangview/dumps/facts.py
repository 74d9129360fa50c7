"""What one decoded dump says about itself, before any other file is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from hangview.dumps.decoded import NONE, NotADump
from hangview.dumps.names import Inside
from hangview.dumps.ops import parse_op
from hangview.producers import TORCHCOMMS, producer_of
from hangview.schema import DEFAULT_DESC

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded, RawConfig
    from hangview.producers import Producer

DEFAULT_NAME = "0"
#: Columns that count, and what none of them reaches.
_COUNTED = ("seq", "p2p_seq", "op_id", "pg_id")
_MOST = 2**31 - 2
#: Peers of so many distinct sends and receives are looked at to find a dump's own rank.
_PEERS = 64


@dataclass(frozen=True, slots=True)
class Facts:
    """``library`` is the prefix of most of its profiling names, None without entries. ``issued_only``: some record is retired
    and still "scheduled", which a recorder with completion never writes for a work that went well."""

    library: str | None
    torchcomms: bool
    has_stacks: bool
    first_record: int | None
    holes: bool  #: record ids are missing in between
    completed: bool  #: some record says completed
    issued_only: bool
    oldest_ns: int | None  #: oldest and newest time of creation inside
    newest_ns: int | None
    default: tuple[int, ...] | None  #: members of its default group by its own configuration
    inside: Inside

    def producer(self, elsewhere: str | None) -> Producer | None:
        """Its recorder; ``elsewhere`` is the library of the other dumps, for one without entries or without names in them."""
        if self.torchcomms:
            return TORCHCOMMS
        library = self.library or elsewhere or self.library
        return None if library is None else producer_of(library)


def ints(decoded: Decoded, name: str) -> npt.NDArray[np.int64]:
    """An int64 column of a dump."""
    return cast("npt.NDArray[np.int64]", decoded.columns[name])


def ids(decoded: Decoded, name: str) -> npt.NDArray[np.uint32]:
    """A column of ids into the dump's own table of that name."""
    return cast("npt.NDArray[np.uint32]", decoded.columns[name])


def flags(decoded: Decoded, name: str) -> npt.NDArray[np.bool_]:
    """A column of yes and no."""
    return cast("npt.NDArray[np.bool_]", decoded.columns[name])


def refuse_beyond(decoded: Decoded) -> None:
    """Raise NotADump for a number that no job counts to: one such record would spoil what is computed over all ranks."""
    for name in _COUNTED:
        values = ints(decoded, name)
        beyond = (values != NONE) & ((values >= _MOST) | (values <= -_MOST))
        if beyond.any():
            raise NotADump(f"an entry's {name} is {values[beyond][0]:,}, which no job counts to")


def facts_of(decoded: Decoded) -> Facts:
    library = _library(decoded)
    record, created, state = ints(decoded, "record_id"), ints(decoded, "created_ns"), decoded.columns["state"]
    known = record[record != NONE]
    times = created[created != NONE]
    stacks = np.fromiter(map(bool, decoded.stacks), np.bool_, len(decoded.stacks))
    plain = [c for c in decoded.configs if _tells(c)]
    return Facts(
        library=library,
        torchcomms=_is_torchcomms(decoded, library),
        has_stacks=bool(len(stacks) and stacks[ids(decoded, "stack")].any()),
        first_record=int(known[0]) if len(known) else None,
        holes=bool(len(known) > 1 and (np.diff(known) > 1).any()),
        completed=bool((state == 2).any()),
        issued_only=bool(((state == 0) & decoded.columns["retired"]).any()),
        oldest_ns=int(times.min()) if len(times) else None,
        newest_ns=int(times.max()) if len(times) else None,
        default=next((c.ranks for c in plain if c.ranks and (c.desc == DEFAULT_DESC or c.key == DEFAULT_NAME)), None),
        inside=Inside(_members(plain), _own_rank(decoded, plain)),
    )


def _library(decoded: Decoded) -> str | None:
    """The library of most entries; ties go to the first by name."""
    if not decoded.count:
        return None
    counts = np.bincount(decoded.columns["op"], minlength=len(decoded.ops))
    tally: dict[str, int] = {}
    for text, number in zip(decoded.ops, counts.tolist(), strict=False):
        if number:
            name = parse_op(text).library
            tally[name] = tally.get(name, 0) + number
    return min(tally, key=lambda name: (-tally[name], name))


def _tells(config: RawConfig) -> bool:
    """Whether a configuration gives a group by name. Gloo's key '' holds the numbers of whatever group was made last (torch
    2.13 and 2.15 alike), and wrapped groups of other recorders share that name."""
    return config.key != "" and config.name != ""


def _members(configs: Iterable[RawConfig]) -> frozenset[int] | None:
    sets = [frozenset(config.ranks) for config in configs if config.ranks]
    return frozenset.intersection(*sets) if sets else None


def _own_rank(decoded: Decoded, configs: Iterable[RawConfig]) -> int | None:
    """The rank at the position that ``send 2->3`` or ``recv 2<-1`` shows, where all that were looked at agree."""
    peers = np.array(["->" in text or "<-" in text for text in decoded.ops], np.bool_)
    if not peers.any():
        return None
    ranks_of = {config.name: config.ranks for config in configs}
    op, label = ids(decoded, "op"), ids(decoded, "label")
    rows = np.flatnonzero(peers[op])
    pairs = np.unique(op[rows].astype(np.uint64) << np.uint64(32) | label[rows])[:_PEERS]
    own: set[int] = set()
    for pair in pairs.tolist():
        parsed = parse_op(decoded.ops[pair >> 32])
        place = parsed.source if parsed.family == "send" else parsed.target
        ranks = ranks_of.get(decoded.labels[pair & 0xFFFFFFFF][0], ())
        if place is not None and place < len(ranks):
            own.add(ranks[place])
    return own.pop() if len(own) == 1 else None


def _is_torchcomms(decoded: Decoded, library: str | None) -> bool:
    """torchcomms' recorder (snapshot of 2026-08): the description of a group is the library's name, there are no counters, no
    point-to-point numbers, and one number runs over all communicators."""
    if not decoded.count or decoded.statuses or decoded.columns["is_p2p"].any() or not library:
        return False
    if (ints(decoded, "p2p_seq") > 0).any():
        return False
    used = np.unique(decoded.columns["label"]).tolist()
    return all(decoded.labels[i][1].lower() == library.lower() for i in used)
