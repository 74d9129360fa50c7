"""The beginnings of dumps: which groups a rank is in, and how far its own counters say that it came.

torch writes this before the entries (``dump_impl`` in FlightRecorderDetail.hpp), so of a thousand dumps it is known within a
second. It is good for a first screen and no more: no record backs it. What is concluded comes from the whole files.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.dumps.pool import SMALL
from hangview.text import group_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hangview.dumps.decode.begin import Begun
    from hangview.dumps.decoded import RawConfig
    from hangview.dumps.find import Found, Listing
    from hangview.schema import ReadOptions

# What reads is imported where it is called: who only shows what was read needs no numpy for it.

#: Groups of pipelines by their names: their counters count sends and receives along, which differ between healthy stages.
PIPELINE = re.compile(r"pipeline|(?:^|[^a-z])(?:pp|pipe)(?:[^a-z]|$)", re.IGNORECASE)
#: The header of a rank in five groups, one of 1,024 ranks, has 6 kB. A longer one is left to the reading of the whole file.
BEGINNING = 16 << 10
#: Seconds after which the reading of the whole files begins, however many beginnings were read.
ENOUGH = 1.0


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """A group by the headers of its members.

    ``parts``: (number of the last enqueued work as ranks count them, the ranks that have it), the lowest number first; of ranks
    whose header tells it, and empty for a pipeline, which counts sends and receives along.
    """

    name: str
    desc: str
    ranks: tuple[int, ...]
    parts: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def label(self) -> str:
        """What to call it in a sentence."""
        return group_label(self.name, self.desc)

    @property
    def differs(self) -> bool:
        """Whether its members count to different numbers."""
        return len(self.parts) > 1


@dataclass(frozen=True, slots=True)
class Heads:
    """``read``: ranks whose header was read, ascending; ``expected``: members of any group; ``files``: dumps there are."""

    files: int
    read: tuple[int, ...]
    expected: tuple[int, ...]
    groups: tuple[HeadGroup, ...]


def worth_it(listing: Listing, options: ReadOptions) -> bool:
    """Whether somebody who looks at these dumps has to wait for them."""
    return sum(found.size for found in _dumps(listing, options)) >= SMALL


def heads_of(listing: Listing, options: ReadOptions, cancelled: Callable[[], bool] = lambda: False) -> Heads | None:
    """What the headers of the likely dumps in a listing say; None as :func:`read_heads`, and where it is not worth it."""
    return read_heads(_dumps(listing, options), options, cancelled) if worth_it(listing, options) else None


def _dumps(listing: Listing, options: ReadOptions) -> list[Found]:
    from hangview.dumps.find import likely

    return [found for found in listing.dumps if likely(found.shown.rpartition("/")[2], options)]


def read_heads(files: Sequence[Found], options: ReadOptions, cancelled: Callable[[], bool]) -> Heads | None:
    """What the headers of these files say, or of as many as can be read at once; None when that is no rank, or two files are of
    one rank.

    Files that cannot be read, or have another layout, are left out: their turn comes. Asks ``cancelled`` before each file.
    """
    from hangview.dumps.names import BadOptionError, name_files

    end = time.monotonic() + ENOUGH
    begun: list[Begun | None] = []
    for found in files:
        if cancelled():
            return None
        begun.append(_begin(found, options) if time.monotonic() < end else None)
    try:
        _, named = name_files([found.shown for found in files], [None] * len(files), [None] * len(files), options)
    except BadOptionError:
        return None  # it will be said when all is read
    by_rank: dict[int, Begun] = {}
    for name, head in zip(named, begun, strict=True):
        if head is None or name.rank is None:
            continue
        if name.rank in by_rank:
            return None  # of two starts of the job, or two replicas: told apart by their records
        by_rank[name.rank] = head
    if not by_rank:
        return None
    groups = _groups(by_rank)
    expected = sorted({rank for group in groups for rank in group.ranks} | by_rank.keys())
    return Heads(len(files), tuple(sorted(by_rank)), tuple(expected), groups)


def _begin(found: Found, options: ReadOptions) -> Begun | None:
    from hangview.dumps.decode.begin import begin
    from hangview.dumps.decoded import NotADump, Refused
    from hangview.dumps.find import open_regular

    try:
        with os.fdopen(open_regular(found.path), "rb") as file:
            return begin(file.read(BEGINNING), options.limits)
    except (OSError, NotADump, Refused):
        return None


def _groups(by_rank: Mapping[int, Begun]) -> tuple[HeadGroup, ...]:
    """Groups by name and members, in the order in which the ranks list them. A list that a rank is not in is none of its."""
    found: dict[tuple[str, tuple[int, ...]], str] = {}
    enqueued: defaultdict[tuple[str, tuple[int, ...]], dict[int, int]] = defaultdict(dict)
    for rank, head in sorted(by_rank.items()):
        own = [config for config in head.configs if rank in config.ranks]
        for config in own:
            found.setdefault((config.name, config.ranks), config.desc)
        names = numbered([status.pg_id for status in head.statuses], [config.name for config in head.configs])
        members = _members(own)
        for status in head.statuses:
            name = names.get(status.pg_id, "")
            if name in members and status.enqueued is not None and status.enqueued >= 0:
                enqueued[name, members[name]][rank] = status.enqueued
    return tuple(HeadGroup(name, desc, ranks, _parts(desc, enqueued[name, ranks])) for (name, ranks), desc in found.items())


def _parts(desc: str, enqueued: Mapping[int, int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    by_number: defaultdict[int, list[int]] = defaultdict(list)
    if not PIPELINE.search(desc):
        for rank, number in enqueued.items():
            by_number[number].append(rank)
    return tuple((number, tuple(ranks)) for number, ranks in sorted(by_number.items()))


def _members(configs: Iterable[RawConfig]) -> dict[str, tuple[int, ...]]:
    return {config.name: config.ranks for config in configs}


def numbered(ids: Iterable[int], names: Iterable[str]) -> dict[int, str]:
    """pg_id → group name where all names are numbers and none is left over: both count up as groups are made. Else nothing."""
    ids, names = sorted(ids), list(names)
    if len(ids) != len(names) or not all(re.fullmatch(r"[0-9]{1,18}", name) for name in names):
        return {}
    return dict(zip(ids, sorted(names, key=int), strict=True))
