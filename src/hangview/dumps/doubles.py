"""Two files that claim one rank: the newer and richer one counts, the other is said to be superseded.

Never by the files' own times, which copying changes, nor by the order in which they are listed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from hangview.dumps.decoded import NONE
from hangview.dumps.facts import DEFAULT_NAME, flags, ids, ints
from hangview.dumps.names import BY_NAME
from hangview.schema import DEFAULT_DESC, SourceStatus
from hangview.text import natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded
    from hangview.dumps.sources import Place
    from hangview.schema import Source


#: Nanoseconds by which two ranks' requests of one call differ at most, as a rule. A restart takes longer.
_TOGETHER = 1_000_000_000


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


class Relation(Enum):
    """What two dumps that claim one rank are to each other."""

    SAME = "same"  #: one process: equal records were created at equal times
    CONCURRENT = "concurrent"  #: two processes that took part in the same calls: two ranks
    OTHER = "other"  #: two processes at different times: two starts of the job
    APART = "apart"  #: two processes, or one long before and after: no record in common, the higher ids are the later ones
    UNKNOWN = "unknown"  #: one of them has no record that can be compared


#: Dumps of these relations do not show one moment of one job, so that the ranks of one must not be compared with the others'.
SEPARATE = frozenset({Relation.CONCURRENT, Relation.OTHER, Relation.APART})


def relation(one: Decoded, other: Decoded) -> Relation:
    """Compare by record ids, which count from 0 in each process, then by the calls of the default group."""
    first, second = ints(one, "created_ns"), ints(other, "created_ns")
    _, at, where = np.intersect1d(ints(one, "record_id"), ints(other, "record_id"), return_indices=True)
    known = (first[at] != NONE) & (second[where] != NONE)
    if not known.any():
        return _without_common(_range(one), _range(other))
    if (first[at] == second[where])[known].all():
        return Relation.SAME
    calls = [_default_calls(decoded) for decoded in (one, other)]
    _, at, where = np.intersect1d(calls[0][0], calls[1][0], return_indices=True)
    apart = np.abs(calls[0][1][at] - calls[1][1][where])
    return Relation.CONCURRENT if len(apart) and np.median(apart) <= _TOGETHER else Relation.OTHER


def _range(decoded: Decoded) -> tuple[int, int, int, int] | None:
    """Lowest and highest record id, oldest and newest time of creation; None without a record that has both."""
    record, created = ints(decoded, "record_id"), ints(decoded, "created_ns")
    there = (record != NONE) & (created != NONE)
    record, created = record[there], created[there]
    return (int(record.min()), int(record.max()), int(created.min()), int(created.max())) if there.any() else None


def _without_common(one: tuple[int, int, int, int] | None, other: tuple[int, int, int, int] | None) -> Relation:
    """Dumps without a record in common: ids and times of one process grow together."""
    if one is None or other is None:
        return Relation.UNKNOWN
    (_, low_id, _, low_ns), (high_id, _, high_ns, _) = sorted((one, other))
    return Relation.APART if low_id < high_id and low_ns - high_ns <= _TOGETHER else Relation.OTHER


def _default_calls(decoded: Decoded) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Seq and time of creation of a dump's finished collectives in the default group."""
    default = np.array([desc == DEFAULT_DESC or name == DEFAULT_NAME for name, desc in decoded.labels], np.bool_)
    over = (decoded.columns["state"] == 2) | flags(decoded, "retired")
    seq, created = ints(decoded, "seq"), ints(decoded, "created_ns")
    rows = np.flatnonzero(over & ~flags(decoded, "is_p2p") & (seq != NONE) & (created != NONE))
    rows = rows[default[ids(decoded, "label")[rows]]] if len(default) else rows[:0]
    return seq[rows], created[rows]


def local_numbers(sources: Sequence[Source], places: Sequence[Place]) -> dict[int, str]:
    """Files whose number cannot be their rank, because another one has it too and took part in the same calls; with the other's
    path. Such names have a number that counts within a host or a folder."""
    by_rank: dict[int, list[int]] = defaultdict(list)
    for i, source in enumerate(sources):
        if source.usable and source.rank is not None and source.rank_from == BY_NAME:
            by_rank[source.rank].append(i)
    out: dict[int, str] = {}
    for claims in by_rank.values():
        for i, one in enumerate(claims):
            for other in claims[i + 1 :]:
                if related(places, one, other) is Relation.CONCURRENT:
                    out.setdefault(one, sources[other].path)
                    out.setdefault(other, sources[one].path)
    return out


def related(places: Sequence[Place], one: int, other: int) -> Relation:
    first, second = places[one].decoded, places[other].decoded
    return Relation.UNKNOWN if first is None or second is None else relation(first, second)
