"""Sends and receives: one lane per ordered pair of ranks, paired by order.

There is no shared number: ``p2p_seq_id`` counts one rank's sends and receives with all its neighbours. The k-th send of a lane
meets the k-th receive, counted from the start where both ranks' records go back to it. Where a ring buffer has dropped the
first ones, the ends are laid beside each other by ``p2p_seq_id`` in a group of two, whose members both count the same, and else
so that the newest ones that are over meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.readings import OPEN, P2P
from hangview.schema import CellState, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.incident import Group
    from hangview.schema import Records, Source

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


@dataclass(frozen=True, slots=True)
class LaneEnd:
    """One rank's side of a lane."""

    rank: int
    count: int = 0
    done: int = 0  #: how many are over
    open: tuple[Request, ...] = ()
    newest_p2p: int | None = None  #: newest p2p_seq of this rank in the group, by entries
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

    @property
    def counted(self) -> bool:
        """Whether the k-th send can be paired with the k-th receive from the start."""
        return self.send.from_start and self.recv.from_start

    def end(self, rank: int) -> LaneEnd:
        return self.send if rank == self.source else self.recv


@dataclass(frozen=True, slots=True)
class Traffic:
    """All P2P lanes. ``rows``: P2P entries with world ranks ``src`` and ``dst`` (null for any source)."""

    lanes: Mapping[tuple[int, int, int], P2PLane] = field(default_factory=dict)
    rows: pl.DataFrame = field(default_factory=pl.DataFrame)


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
    whole = {s.rank for s in records.sources if s.usable and s.rank is not None and _from_start(s)}
    before = _before(records, groups, paired)
    shifts = pl.DataFrame(
        [(*end, number) for end, number in before.items()],
        schema={"group": pl.Int32, "src": pl.Int32, "dst": pl.Int32, "sends": pl.Boolean, "before": pl.Int64},
        orient="row",
    )
    if before:
        paired = paired.join(shifts, on=["group", "src", "dst", "sends"], how="left", maintain_order="left").with_columns(
            number=pl.col("number") + pl.col("before").fill_null(0)
        )
    any_source = set(rows.filter(~pl.col("sends") & pl.col("src").is_null())["rank"].to_list())
    newest = {(g, r): n for g, r, n in rows.group_by("group", "rank").agg(pl.col("p2p_seq").max()).iter_rows()}
    ends: dict[tuple[int, int, int, bool], LaneEnd] = {}
    still: dict[tuple[int, int, int, bool], list[Request]] = {}
    for row in paired.filter("open").sort("rank", "position").iter_rows(named=True):
        request = Request(
            row["rank"], row["dst"] if row["sends"] else row["src"], row["source"], row["position"], row["record_id"],
            row["p2p_seq"], row["number"], row["op"], row["signature"], row["created_ns"], row["unclear"],
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
            last_done,
            rank in whole,
            before.get((group, src, dst, sends), 0),
        )
    lanes = {}
    for group, src, dst in sorted({key[:3] for key in ends}):
        blind = dst in any_source
        lanes[group, src, dst] = P2PLane(
            group, src, dst,
            ends.get((group, src, dst, True)) or LaneEnd(src, newest_p2p=newest.get((group, src)), from_start=src in whole),
            ends.get((group, src, dst, False)) or LaneEnd(dst, newest_p2p=newest.get((group, dst)), from_start=dst in whole),
            judged=not blind,
            note=f"rank {dst} receives from any source: its receives cannot be assigned to a lane" if blind else "",
        )  # fmt: skip
    return Traffic(lanes, paired)


def _before(records: Records, groups: tuple[Group, ...], paired: pl.DataFrame) -> dict[End, int]:
    """For each end of a lane whose records begin later than the other end's: by how many requests, where that can be told."""
    begun = {s.rank for s in records.sources if s.usable and not s.wrapped and not s.only_active}
    if begun.issuperset(paired["rank"].unique()):
        return {}
    cut = {s.rank for s in records.sources if s.partial}
    lane = ["group", "src", "dst"]
    sides = (pl.col("sends"), ~pl.col("sends"))
    sent, received = (pl.col("number").filter(side) for side in sides)
    over = paired.group_by(lane).agg(
        sent=sent.len(),
        received=received.len(),
        sent_over=(~pl.col("open") & sides[0]).sum(),
        received_over=(~pl.col("open") & sides[1]).sum(),
    )
    met = (
        paired.filter(pl.col("p2p_seq").is_not_null())
        .group_by(*lane, "p2p_seq")
        .agg(sent=sent.max(), received=received.max())
        .drop_nulls()
        .sort("p2p_seq")
        .group_by(lane)
        .agg(pl.col("sent", "received").last())
    )
    by_number = {(group, src, dst): a - b for group, src, dst, a, b in met.iter_rows() if len(groups[group].ranks) == 2}
    out: dict[End, int] = {}
    for group, src, dst, sent_n, received_n, sent_over, received_over in over.iter_rows():
        if {src, dst} <= begun or not sent_n or not received_n:
            continue
        newest = 0 if {src, dst} & cut else int(sent_over) - int(received_over)
        ahead = by_number.get((group, src, dst), newest)
        if ahead:
            out[group, src, dst, ahead < 0] = abs(ahead)
    return out


def _from_start(source: Source) -> bool:
    return not source.wrapped and not source.only_active and source.status is SourceStatus.READ


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
