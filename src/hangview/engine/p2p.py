"""Sends and receives: one lane per ordered pair of ranks, paired by order.

There is no shared number: ``p2p_seq_id`` counts one rank's sends and receives with all its neighbours. The k-th send of a lane
meets the k-th receive, counted from the start where both ranks' records go back to it. Where a ring buffer has dropped the
first ones, the ends are laid beside each other by what the records prove (``hangview.engine.pairs``), and else so that the
newest ones that are over meet: a guess, since one end of a batch may be over while the other is held by another member of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine import pairs
from hangview.engine.readings import COLLECTIVE, OPEN, P2P
from hangview.engine.uneven import uneven
from hangview.producers import Completion, producer_of
from hangview.schema import CellState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.engine.pairs import Member
    from hangview.engine.uneven import Uneven
    from hangview.schema import Records
    from hangview.terms import Group

    #: (group, source, target, of the sends), world ranks.
    End = tuple[int, int, int, bool]


@dataclass(frozen=True, slots=True)
class Request:
    """One send or receive that is not over."""

    rank: int
    peer: int
    source: int
    position: int
    record_id: int | None
    p2p_seq: int | None
    number: int  #: k-th of its lane, from 1, as far as the records of either end go back
    op: int
    signature: int
    created_ns: int | None
    unclear: bool = False  #: nothing tells whether it is over
    held: bool = False  #: another open request of its rank may be what holds it: one of its batch, or an earlier one
    met: str = (
        ""  #: in a group of two: what its peer's records under the same p2p_seq answer, as waits has it; "": none is left
    )


@dataclass(frozen=True, slots=True)
class LaneEnd:
    """One rank's side of a lane."""

    rank: int
    count: int = 0
    done: int = 0  #: how many are over
    open: tuple[Request, ...] = ()
    newest_p2p: int | None = None  #: newest p2p_seq of this rank in the group, by entries
    oldest_p2p: int | None = None  #: the oldest one of which it has a record
    last_done_ns: int | None = None
    from_start: bool = False  #: the rank's records go back to the first one
    before: int = 0  #: so many of the lane's numbers are older than this rank's records

    @property
    def newest(self) -> int:
        """The number of its newest request, 0 without one."""
        return self.before + self.count if self.count else 0


@dataclass(frozen=True, slots=True)
class P2PLane:
    """Sends of ``source`` to ``target`` in one group (world ranks), seen from both ends."""

    group: int
    source: int
    target: int
    send: LaneEnd
    recv: LaneEnd
    judged: bool = True
    note: str = ""
    laid: bool = False  #: the records that are left prove which send meets which receive
    doubtful: bool = False  #: they say that what is open was answered, if the clocks are in step

    @property
    def counted(self) -> bool:
        """Whether the k-th send can be paired with the k-th receive from the start."""
        return self.send.from_start and self.recv.from_start

    @property
    def paired(self) -> bool:
        """Whether it is known which send meets which receive."""
        return self.counted or self.laid

    def end(self, rank: int) -> LaneEnd:
        return self.send if rank == self.source else self.recv


@dataclass(frozen=True, slots=True)
class Traffic:
    """All P2P lanes. ``rows``: P2P entries with world ranks ``src`` and ``dst`` (null for any source)."""

    lanes: Mapping[tuple[int, int, int], P2PLane] = field(default_factory=dict)
    rows: pl.DataFrame = field(default_factory=pl.DataFrame)
    uneven: Mapping[tuple[int, int, int], tuple[Uneven, ...]] = field(default_factory=dict)

    def stuck(self, lane: P2PLane, number: int) -> Uneven | None:
        """The message of this number, if its ends do not ask for the same and one of them is open."""
        return next(
            (u for u in self.uneven.get((lane.group, lane.source, lane.target), ()) if u.number == number and not u.over), None
        )


def traffic(records: Records, groups: tuple[Group, ...], entries: pl.DataFrame) -> Traffic:
    """Lanes of every group that has sends or receives. Peerless ones (torchcomms) stay out: they cannot be paired."""
    rows = entries.filter((pl.col("lane") == P2P) & pl.col("group").is_not_null())
    if rows.is_empty():
        return Traffic(rows=rows)
    rows = rows.join(_peers(records, groups, rows), on=["group", "op"], how="left", maintain_order="left")
    paired = rows.filter(pl.col("src").is_not_null() & pl.col("dst").is_not_null()).with_columns(
        number=pl.int_range(1, pl.len() + 1).over("source", "group", "src", "dst", "sends", order_by="position"),
        open=pl.col("reading").is_in(OPEN),
    )
    begun = _begun(records, rows, pairs.from_the_start(records, groups, rows, entries))
    cut = {s.rank for s in records.sources if s.partial}
    whole = {(group, rank) for group, rank in begun if rank not in cut}
    laid = pairs.lay(records, groups, paired, entries, begun)
    before: dict[End, int] = {(*lane, found.ahead < 0): abs(found.ahead) for lane, found in laid.items() if found.ahead}
    if before:
        shifts = pl.DataFrame(
            [(*end, number) for end, number in before.items()],
            schema={"group": pl.Int32, "src": pl.Int32, "dst": pl.Int32, "sends": pl.Boolean, "before": pl.Int64},
            orient="row",
        )
        paired = paired.join(shifts, on=["group", "src", "dst", "sends"], how="left", maintain_order="left").with_columns(
            number=pl.col("number") + pl.col("before").fill_null(0)
        )
    any_source = set(rows.filter(~pl.col("sends") & pl.col("src").is_null())["rank"].to_list())
    spans = rows.group_by("group", "rank").agg(oldest=pl.col("p2p_seq").min(), newest=pl.col("p2p_seq").max())
    oldest = {(g, r): o for g, r, o, _ in spans.iter_rows()}
    newest = {(g, r): n for g, r, _, n in spans.iter_rows()}
    ends: dict[tuple[int, int, int, bool], LaneEnd] = {}
    still: dict[tuple[int, int, int, bool], list[Request]] = {}
    two = [group.id for group in groups if len(group.ranks) == 2]
    for row in _met(paired, _held(records, paired.filter("open"), entries), two).sort("rank", "position").iter_rows(named=True):
        request = Request(
            row["rank"], row["dst"] if row["sends"] else row["src"], row["source"], row["position"], row["record_id"],
            row["p2p_seq"], row["number"], row["op"], row["signature"], row["created_ns"], row["unclear"], row["held"],
            row["met"],
        )  # fmt: skip
        still.setdefault((row["group"], row["src"], row["dst"], row["sends"]), []).append(request)
    totals = paired.group_by("group", "src", "dst", "sends").agg(
        count=pl.len(),
        done=(~pl.col("open")).sum(),
        last_done_ns=pl.col("created_ns").filter(~pl.col("open")).max(),
    )
    for group, src, dst, sends, count, done, last_done in totals.iter_rows():
        rank = src if sends else dst
        ends[group, src, dst, sends] = LaneEnd(
            rank,
            count,
            done,
            tuple(still.get((group, src, dst, sends), ())),
            newest.get((group, rank)),
            oldest.get((group, rank)),
            last_done,
            (group, rank) in whole,
            before.get((group, src, dst, sends), 0),
        )

    def empty(group: int, rank: int) -> LaneEnd:
        return LaneEnd(
            rank, newest_p2p=newest.get((group, rank)), oldest_p2p=oldest.get((group, rank)), from_start=(group, rank) in whole
        )

    lanes = {}
    for group, src, dst in sorted({key[:3] for key in ends}):
        blind = dst in any_source
        lanes[group, src, dst] = P2PLane(
            group, src, dst,
            ends.get((group, src, dst, True)) or empty(group, src),
            ends.get((group, src, dst, False)) or empty(group, dst),
            judged=not blind,
            note=f"rank {dst} receives from any source: its receives cannot be assigned to a lane" if blind else "",
            laid=(group, src, dst) in laid and laid[group, src, dst].proved,
            doubtful=(group, src, dst) in laid and laid[group, src, dst].doubtful,
        )  # fmt: skip
    known = [key for key, lane in lanes.items() if lane.paired and lane.judged]
    return Traffic(lanes, paired, uneven(records, paired, known))


def sent_later(records: Records, groups: tuple[Group, ...], traffic: Traffic) -> frozenset[int]:
    """Ranks whose dump ends before a send of theirs that its receiver completed: it was written before that.

    A receive is not completed before its send was made. Which send that was is known by its number where both ends count alike
    (``paired``), and by ``p2p_seq`` in a group of two. Dumps that leave completed entries out, or were read in part, show
    nothing of the kind.
    """
    silent = {s.rank for s in records.sources if s.usable and (s.only_active or s.partial)}
    got = traffic.rows.filter(~pl.col("sends") & (pl.col("reading") == int(CellState.COMPLETED))) if traffic.lanes else None
    if got is None:
        return frozenset()
    newest = got.group_by("group", "src", "dst").agg(number=pl.col("number").max(), p2p_seq=pl.col("p2p_seq").max())
    out = set()
    for group, src, dst, number, p2p_seq in newest.iter_rows():
        lane = traffic.lanes[group, src, dst]
        if src in silent or not lane.judged:
            continue
        mine = lane.send
        by_seq = len(groups[group].ranks) == 2 and p2p_seq is not None and mine.newest_p2p is not None
        by_number = lane.paired and mine.count > 0 and mine.newest < number
        if by_number or (by_seq and (mine.newest_p2p or 0) < p2p_seq):
            out.add(src)
    return frozenset(out)


def _begun(records: Records, rows: pl.DataFrame, torn_too: frozenset[Member]) -> frozenset[Member]:
    """(group, rank) whose records of sends and receives go back to the first one."""
    ranks = [s.rank for s in records.sources if s.usable and s.rank is not None and not (s.wrapped or s.only_active)]
    return torn_too | {(group, rank) for group in rows["group"].unique().to_list() for rank in ranks}


def _held(records: Records, still: pl.DataFrame, entries: pl.DataFrame) -> pl.DataFrame:
    """Open requests with ``held``: whether another open one of the rank may be what holds it.

    That is an earlier one, or one of its batch: what is issued as one ends as one. The hook of torch 2.15 does not record
    batches, so there it may be any other send or receive of the group.
    """
    lanes = pl.col("lane").is_in([COLLECTIVE, P2P])
    first = entries.filter(lanes & pl.col("reading").is_in(OPEN)).group_by("source").agg(first=pl.col("position").min())
    hooked = [i for i, op in enumerate(records.ops) if producer_of(op.library).completion is Completion.HOOK]
    batch = pl.len().over("source", "label", "seq", "p2p_seq") > 1
    beside = pl.col("op").is_in(hooked) & (pl.len().over("source", "group") > 1)
    return still.join(first, on="source", how="left", maintain_order="left").with_columns(
        held=(batch | beside | (pl.col("position") > pl.col("first"))).fill_null(value=False)
    )


def _met(paired: pl.DataFrame, still: pl.DataFrame, two: Sequence[int]) -> pl.DataFrame:
    """Open requests with ``met`` ("over", "none", "untold", or "" as :func:`hangview.engine.waits` has its answers).

    Two members count the same sends and receives, so one number stands for the same message, or the same batch, on both: a
    batch that lacks the other end there was made another time, or never. Not never where the peer has such an end under a later
    number: both may send before they receive.
    """
    asked = still.filter(pl.col("group").is_in(two)).select(
        "source", "position", "group", "p2p_seq", peer=pl.when("sends").then("dst").otherwise("src"), end=~pl.col("sends")
    )
    if asked.is_empty():
        return still.with_columns(met=pl.lit(""))
    peers = asked.group_by("group", "peer").agg(least=pl.col("p2p_seq").min())
    there = (
        paired.lazy()
        .select("group", "sends", peer="rank", other="p2p_seq")
        .join(peers.lazy(), on=["group", "peer"])
        .filter(pl.col("other") >= pl.col("least"))  # what is open is the newest: few are left
        .drop("least")
        .collect(engine="streaming")
    )
    same, right = pl.col("other") == pl.col("p2p_seq"), pl.col("sends") == pl.col("end")
    told = asked.join(there, on=["group", "peer"]).group_by("source", "position")
    found = told.agg(
        there=same.any(), over=(same & right).any(), later=(right & (pl.col("other") > pl.col("p2p_seq"))).any()
    ).select(
        "source",
        "position",
        met=pl.when("over")
        .then(pl.lit("over"))
        .when(~pl.col("there"))
        .then(pl.lit(""))
        .when("later")
        .then(pl.lit("untold"))
        .otherwise(pl.lit("none")),
    )
    both = still.join(found, on=["source", "position"], how="left", maintain_order="left")
    return both.with_columns(pl.col("met").fill_null(""))


def _peers(records: Records, groups: tuple[Group, ...], rows: pl.DataFrame) -> pl.DataFrame:
    """World ranks of the two ends named in a profiling name, which gives group ranks."""
    out = []
    for group, op in sorted(rows.select("group", "op").unique().rows()):
        members = groups[group].ranks
        parsed = records.ops[op]
        src, dst = (members[p] if p is not None and 0 <= p < len(members) else None for p in (parsed.source, parsed.target))
        out.append((group, op, src, dst, parsed.family == "send"))
    schema = {"group": pl.Int32, "op": pl.UInt32, "src": pl.Int32, "dst": pl.Int32, "sends": pl.Boolean}
    return pl.DataFrame(out, schema=schema, orient="row")


def over(reading: int) -> bool:
    """Whether a reading says that the work is over, well or badly."""
    return reading in (CellState.COMPLETED, CellState.ENDED)
