"""Two files that claim one rank: the newer and richer one counts, the other is said to be superseded.

Never by the files' own times, which copying changes, nor by the order in which they are listed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hangview.dumps.decoded import NONE
from hangview.dumps.facts import ints
from hangview.dumps.find import natural
from hangview.schema import SourceStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hangview.dumps.decoded import Decoded
    from hangview.dumps.sources import Place
    from hangview.schema import Source


@dataclass(frozen=True, slots=True)
class _Worth:
    """What is compared, the most telling first."""

    newest_ns: int
    whole: bool
    stacks: bool
    entries: int
    pickle: bool


def superseded(sources: Sequence[Source], places: Sequence[Place], members: Iterable[int]) -> dict[int, str]:
    """Of the given sources (of one start of the job), those that another one of their rank stands for, with the reason."""
    by_rank: dict[int, list[int]] = defaultdict(list)
    for i in members:
        rank = sources[i].rank
        if rank is not None:
            by_rank[rank].append(i)
    out: dict[int, str] = {}
    for claims in by_rank.values():
        if len(claims) == 1:
            continue
        worth = {i: _worth(sources[i], places[i]) for i in claims}
        order = sorted(claims, key=lambda i: natural(sources[i].path))
        best = max(order, key=lambda i: (_key(worth[i]), -order.index(i)))
        for i in claims:
            if i != best:
                out[i] = f"{sources[best].path} of the same rank {_why(worth[best], worth[i])}"
    return out


def _worth(source: Source, place: Place) -> _Worth:
    decoded, facts = place.decoded, place.facts
    assert decoded is not None  # only decoded files are members of a start
    assert facts is not None
    return _Worth(
        newest_ns=facts.newest_ns or 0,
        whole=source.status is SourceStatus.READ,
        stacks=facts.has_stacks,
        entries=decoded.count,
        pickle=decoded.encoding.startswith("pickle"),
    )


def _key(worth: _Worth) -> tuple[int, bool, bool, int, bool]:
    return worth.newest_ns, worth.whole, worth.stacks, worth.entries, worth.pickle


def _why(best: _Worth, other: _Worth) -> str:
    if best.newest_ns != other.newest_ns:
        return "has newer entries" if other.newest_ns else "has entries"
    if best.whole and not other.whole:
        return "is whole"
    if best.stacks and not other.stacks:
        return "has the same newest entry, and stacks"
    if best.entries > other.entries:
        return "has more entries"
    return "has the same entries"


def same_process(one: Decoded, other: Decoded) -> bool | None:
    """Whether two dumps are of one process: equal record ids were then created at equal times. None if they share no id."""
    first, second = (_created(decoded) for decoded in (one, other))
    shared = [(first[record], second[record]) for record in first.keys() & second.keys()]
    return all(a == b for a, b in shared) if shared else None


def _created(decoded: Decoded) -> Mapping[int, int]:
    record, created = ints(decoded, "record_id"), ints(decoded, "created_ns")
    known = np.flatnonzero((record != NONE) & (created != NONE))
    return dict(zip(record[known].tolist(), created[known].tolist(), strict=True))
