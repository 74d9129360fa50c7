"""Which send meets which receive where the records of an end do not go back to the first one.

A lane has no number of its own. Members of a group of two count the same sends and receives (``p2p_seq_id``). In a larger group
the times of what is over tell: a receive is not over before its send was made, nor a send before its receive was asked for,
unless its data fits into a buffer. Of the ways to lay one end beside the other, the one that no pair of records speaks
against, and that at least one pair speaks for, is proved where it is the only one left.

Clocks of hosts differ. Calls that both ranks completed bound by how much: none of them is over anywhere before every member has
asked for it. What is left open is taken for little (``_STEP_NS``) or for much (``_APART_NS``): a small error makes a message
look like the one before it, and never like the one after it, so much is allowed where an open request would count as answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hangview.engine.readings import BATCH_END, COLLECTIVE
from hangview.producers import Counters, producer_of
from hangview.schema import FULL, CellState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hangview.schema import Records
    from hangview.terms import Group

#: Clocks of one host are one clock, and those of hosts in step are nearer than this.
_STEP_NS = 1_000_000
#: Those of hosts that nothing is known of.
_APART_NS = 50_000_000
#: The newest so many calls of a group are looked at for the clocks.
_CALLS = 64
#: Where more requests are open nothing is tried: each of them is one way more to lay the ends beside each other.
_OPEN = 64
_NEVER = np.iinfo(np.int64).max

Lane = tuple[int, int, int]  #: (group, source, target), world ranks
Member = tuple[int, int]  #: (group, rank)


@dataclass(frozen=True, slots=True)
class Laid:
    """How the ends of one lane lie: the receiver's records begin ``ahead`` requests later; below 0: the sender's do."""

    ahead: int
    proved: bool
    doubtful: bool = False  #: times say that what is open was answered, if the clocks are in step


def lay(
    records: Records,
    groups: tuple[Group, ...],
    paired: pl.DataFrame,
    entries: pl.DataFrame,
    begun: frozenset[Member],
) -> dict[Lane, Laid]:
    """The lanes that have records of both ends, one of which does not go back to the first (``begun``: (group, rank) that do).

    Where nothing is proved the newest ones that are over meet.
    """
    lane = ["group", "src", "dst"]
    ends = paired.group_by(lane).agg(sent=pl.col("sends").sum(), received=(~pl.col("sends")).sum())
    wanted = [
        (group, src, dst)
        for group, src, dst, sent, received in ends.iter_rows()
        if sent and received and not {(group, src), (group, dst)} <= begun
    ]
    if not wanted:
        return {}
    keys = pl.DataFrame(wanted, schema={name: paired.schema[name] for name in lane}, orient="row")
    rows = paired.join(keys, on=lane, how="semi")
    by_number = _by_number(groups, rows)
    timed = _timed(records, rows, entries)
    stuck = rows.filter("open").select("src", "dst").unique().rows()
    clocks = _clocks(records, entries, stuck)
    cut = {s.rank for s in records.sources if s.partial}
    holey = {s.rank for s in records.sources if s.usable and s.only_active}
    out: dict[Lane, Laid] = {}
    for found, sends, receives in _ends(timed):
        torn = bool({(found[0], rank) for rank in found[1:] if rank in holey} - begun)  # records are missing in between
        if found in by_number:
            out[found] = Laid(by_number[found], proved=not torn)
            continue
        newest = sends.over - receives.over
        if set(found[1:]) & cut:
            out[found] = Laid(0, proved=False)
        elif torn:
            out[found] = Laid(newest, proved=False)
        else:
            way = _only_way(sends, receives, clocks[found[1:]]) if found[1:] in clocks else None
            out[found] = way or Laid(newest, proved=False)
    return out


def _by_number(groups: tuple[Group, ...], rows: pl.DataFrame) -> dict[Lane, int]:
    """Lanes of groups of two, by the newest ``p2p_seq`` that both ends recorded."""
    lane = ["group", "src", "dst"]
    two = {group.id for group in groups if len(group.ranks) == 2}
    sent, received = (pl.col("number").filter(side) for side in (pl.col("sends"), ~pl.col("sends")))
    met = (
        rows.filter(pl.col("p2p_seq").is_not_null() & pl.col("group").is_in(list(two)))
        .group_by(*lane, "p2p_seq")
        .agg(sent=sent.max(), received=received.max())
        .drop_nulls()
        .sort("p2p_seq")
        .group_by(lane)
        .agg(pl.col("sent", "received").last())
    )
    return {(group, src, dst): a - b for group, src, dst, a, b in met.iter_rows()}


def _timed(records: Records, rows: pl.DataFrame, entries: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with ``made``, ``ended`` and ``elements``; null where it is not known.

    A member of a batch ends when the record that closes the batch does.
    """
    key = ["source", "label", "seq", "p2p_seq"]
    closed = entries.filter(pl.col("lane") == BATCH_END).group_by(key).agg(closed_ns=pl.col("completed_ns").max())
    # old recorders note what is sent or received on both sides, the hook of torch 2.15 on its own
    sizes = {i: max(records.signatures[i].elements) for i in rows["signature"].unique().to_list()}
    return rows.join(closed, on=key, how="left", maintain_order="left").select(
        "group",
        "src",
        "dst",
        "sends",
        "position",
        "open",
        made="created_ns",
        ended=pl.when(~pl.col("open")).then(pl.coalesce("completed_ns", "closed_ns")),
        elements=pl.col("signature").replace_strict(sizes, return_dtype=pl.Int64),
    )


@dataclass(frozen=True, slots=True)
class _Clocks:
    """By how much the receiver's clock is ahead of the sender's: at least and at most, taken for little and for much."""

    near: tuple[int, int]
    far: tuple[int, int]


def _clocks(records: Records, entries: pl.DataFrame, lanes: Iterable[tuple[int, int]]) -> dict[tuple[int, int], _Clocks]:
    """By (source, target) of lanes."""
    host = {s.rank: s.host for s in records.sources if s.usable and s.rank is not None}
    wanted = pl.DataFrame(list(lanes), schema={"src": pl.Int32, "dst": pl.Int32}, orient="row")
    full = [i for i, op in enumerate(records.ops) if op.family in FULL]
    over = (pl.col("reading") == int(CellState.COMPLETED)) & pl.col("completed_ns").is_not_null()
    mine = pl.col("rank").is_in(wanted["src"].to_list() + wanted["dst"].to_list())
    calls = (
        entries.lazy()
        .filter((pl.col("lane") == COLLECTIVE) & over & mine & pl.col("op").is_in(full) & pl.col("group").is_not_null())
        .filter(pl.col("seq") > pl.col("seq").max().over("group") - _CALLS)
        .group_by("group", "seq", "rank")
        .agg(made=pl.col("created_ns").min(), ended=pl.col("completed_ns").max())
        .collect()
    )
    bounds = (
        wanted.join(calls, left_on="src", right_on="rank")
        .join(calls, left_on=["dst", "group", "seq"], right_on=["rank", "group", "seq"], suffix="_dst")
        .group_by("src", "dst")
        .agg(low=(pl.col("made_dst") - pl.col("ended")).max(), high=(pl.col("ended_dst") - pl.col("made")).min())
    )
    measured = {(src, dst): (low, high) for src, dst, low, high in bounds.iter_rows() if low <= high}
    out = {}
    for src, dst in wanted.iter_rows():
        known = measured.get((src, dst), (-_NEVER, _NEVER))
        one = host.get(src) is not None and host.get(src) == host.get(dst)
        far = _within(known, _STEP_NS if one else _APART_NS) or known
        out[src, dst] = _Clocks(_within(known, _STEP_NS) or far, far)
    return out


def _within(known: tuple[int, int], limit: int) -> tuple[int, int] | None:
    low, high = max(known[0], -limit), min(known[1], limit)
    return (low, high) if low <= high else None


@dataclass(frozen=True, slots=True)
class _End:
    """One end's requests in order."""

    made: np.ndarray[tuple[int], np.dtype[np.int64]]
    ended: np.ndarray[tuple[int], np.dtype[np.int64]]  #: _NEVER where it is open, or not known when
    elements: np.ndarray[tuple[int], np.dtype[np.int64]]
    is_open: np.ndarray[tuple[int], np.dtype[np.bool_]]
    timed: bool  #: all were made at a known time

    def __len__(self) -> int:
        return len(self.made)

    @property
    def open(self) -> int:
        return int(self.is_open.sum())

    @property
    def over(self) -> int:
        return len(self) - self.open


def _ends(timed: pl.DataFrame) -> Iterator[tuple[Lane, _End, _End]]:
    """Each lane with its two ends: the sender's, the receiver's."""
    lane = ["group", "src", "dst"]
    rows = timed.sort(*lane, "sends", "position")
    made, ended = rows["made"].fill_null(0).to_numpy(), rows["ended"].fill_null(_NEVER).to_numpy()
    elements, still = rows["elements"].to_numpy(), rows["open"].to_numpy()
    counts = rows.group_by(lane, maintain_order=True).agg(
        received=(~pl.col("sends")).sum(), n=pl.len(), timed=pl.col("made").null_count() == 0
    )
    at = 0
    for group, src, dst, received, n, known in counts.iter_rows():
        middle, end = at + received, at + n
        receives, sends = (
            _End(made[a:b], ended[a:b], elements[a:b], still[a:b], known) for a, b in ((at, middle), (middle, end))
        )
        yield (group, src, dst), sends, receives
        at = end


def _only_way(sends: _End, receives: _End, clocks: _Clocks) -> Laid | None:
    """How the ends lie, if the records leave one way to lay them beside each other."""
    if not (sends.timed and receives.timed) or sends.open + receives.open > _OPEN:
        return None
    equal = len(sends) - len(receives)  # where the newest of both ends meet
    ways = set(range(equal - sends.open, equal + receives.open + 1)) | _by_time(sends, receives)
    left = {ahead: said for ahead in ways if (said := _said(sends, receives, ahead, clocks.near)) is not False}
    if len(left) != 1 or None in left.values():
        return None
    (found,) = left
    unanswered = _unanswered(sends, receives, found)
    others = [way for way in ways if unanswered < _unanswered(sends, receives, way)]
    if any(_said(sends, receives, way, clocks.far) is not False for way in others):
        return Laid(equal - sends.open + receives.open, proved=False, doubtful=True)
    return Laid(found, proved=True)


def _unanswered(sends: _End, receives: _End, ahead: int) -> int:
    """How many open requests have no partner."""
    more = len(sends) - len(receives) - ahead  # sends than receives
    return max(min(more, sends.open), min(-more, receives.open), 0)


def _by_time(sends: _End, receives: _End) -> set[int]:
    """Ways by which the newest receive that is over meets a send of its time: dumps may be written at different times."""
    over = np.flatnonzero(receives.ended != _NEVER)
    if not len(over):
        return set()
    newest = int(over[-1])
    apart = (sends.made > receives.ended[newest] + _STEP_NS) | (sends.ended < receives.made[newest] - _STEP_NS)
    return {int(i) - newest for i in np.flatnonzero(~apart)[-_OPEN:]}


def _said(sends: _End, receives: _End, ahead: int, clock: tuple[int, int]) -> bool | None:
    """Whether pairs of records speak for this way (True) or against it (False); None where no pair of it tells."""
    first = max(ahead, 0)
    n = min(len(sends) - first, len(receives) - (first - ahead))
    if n <= 0:
        return None
    a, b = slice(first, first + n), slice(first - ahead, first - ahead + n)
    known_send, known_receive = sends.ended[a] != _NEVER, receives.ended[b] != _NEVER
    early = known_receive & (receives.ended[b] - sends.made[a] < clock[0])
    late = known_send & (receives.made[b] - sends.ended[a] > clock[1])
    both = ~sends.is_open[a] & ~receives.is_open[b]
    uneven = both & (sends.elements[a] != receives.elements[b])
    if (early | late | uneven).any():
        return False
    return True if (both & known_send & known_receive).any() else None


def from_the_start(records: Records, groups: tuple[Group, ...], rows: pl.DataFrame, entries: pl.DataFrame) -> frozenset[Member]:
    """(group, rank) whose sends and receives are all recorded, although the file lost or left out records: ``p2p_seq`` counts
    them from 1 without a gap up to the newest.

    In an only-active dump the newest may have been left out: there the rank's own counter, which holds the number of the last
    work of either kind, has to say that there were no more.
    """
    torn = [i for i, s in enumerate(records.sources) if s.usable and not s.partial and (s.wrapped or s.only_active)]
    mine = rows.filter(pl.col("source").is_in(torn))
    if mine.is_empty():
        return frozenset()
    counted = mine.group_by("source", "rank", "group").agg(
        first=pl.col("p2p_seq").min(),
        newest=pl.col("p2p_seq").max(),
        n=pl.col("p2p_seq").n_unique(),
        position=pl.col("position").min(),
        record=pl.col("record_id").min(),
        nulls=pl.col("p2p_seq").null_count(),
    )
    everything = entries.filter(pl.col("source").is_in(torn) & pl.col("group").is_not_null()).sort("position")
    newest = everything.group_by("source", "group").agg(
        pl.col("seq").max().fill_null(0), last=pl.col("seq").last(), sends=pl.col("p2p_seq").last()
    )
    at = {(source, group): (seq, last, sends) for source, group, seq, last, sends in newest.iter_rows()}
    asked = _asked(records)
    out = set()
    for source, rank, group, first, top, n, position, record, nulls in counted.iter_rows():
        if nulls or first != 1 or n != top or not (position or record == 0):
            continue  # where the file begins with it, the first batch may have lost members
        if records.sources[source].only_active:
            work = asked.get((source, groups[group].name), 0)
            seq, *last = at[source, group]
            if not (seq < work == top or (0 < work < top and last == [work, top])):
                continue  # the last work was neither the newest send or receive nor the newest record, a collective
        out.add((group, rank))
    return frozenset(out)


def _asked(records: Records) -> Mapping[tuple[int, str], int]:
    """(source, name of a group) -> number of the last work that was enqueued, of recorders that count so (NCCL's)."""
    out: dict[tuple[int, str], int] = {}
    for status in records.statuses:
        producer = producer_of(records.sources[status.source].producer or "")
        if status.name is not None and status.raw[0] is not None and producer.counters is Counters.SEQ:
            out[status.source, status.name] = status.raw[0]
    return out
