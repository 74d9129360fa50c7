"""Puts an Incident together by hand: groups, lanes of cells, findings, waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hangview.incident import Incident
from hangview.schema import (
    BY_LOG,
    DIFFERS,
    NO_CALL,
    Attempt,
    CellState,
    Records,
    Source,
    SourceKind,
    SourceStatus,
    StackFrame,
    entries_schema,
)
from hangview.terms import COLLECTIVE, Coverage, Evidence, Finding, Group, Kind, Lane, Role, Side, Verdict, Wait
from tests.support.fake_view import RECORDED, Asked, FakeLane, FakeView, LaneKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hangview.logs.evidence import LogEvidence
    from hangview.terms import Clock, Fact

_TORCH = "/opt/venv/lib/python3.11/site-packages/torch/distributed"
TRAIN_STACK = (
    StackFrame("all_reduce", f"{_TORCH}/distributed_c10d.py", 2810),
    StackFrame("wrapper", f"{_TORCH}/c10d_logger.py", 83),
    StackFrame("sync_gradients", "/home/ada/job/train.py", 212),
    StackFrame("step", "/home/ada/job/train.py", 171),
    StackFrame("main", "/home/ada/job/train.py", 64),
)
OTHER_STACK = (
    StackFrame("all_gather_into_tensor", f"{_TORCH}/distributed_c10d.py", 3991),
    StackFrame("evaluate", "/home/ada/job/evaluate.py", 88),
    StackFrame("main", "/home/ada/job/train.py", 70),
)

#: Kinds whose ranks are on one side of the finding but are not named as leads.
UNNAMED = (Kind.NOT_COMPLETED, Kind.ORDER_CYCLE, Kind.NOT_OBSERVED, Kind.PARTLY_COMPLETED)
_ORDER = {Role.LEAD: 0, Role.NOTE: 1, Role.WAITING: 2}


class Builder:
    """An incident, part by part. Ranks are 0 … ``ranks`` - 1, all with a read NCCL dump unless they are ``missing``."""

    def __init__(self, ranks: int, *, missing: Mapping[int, str] | None = None, path: str = "run-4711") -> None:
        self.ranks = tuple(range(ranks))
        self.missing = dict(missing or {})
        self.path = path
        self.groups: list[Group] = []
        self.lanes: dict[LaneKey, FakeLane] = {}
        self.findings: list[Finding] = []
        self.waits: list[Wait] = []
        self.facts: list[Fact] = []
        self.clocks: list[Clock] = []
        self.logs: LogEvidence | None = None

    def group(self, desc: str, ranks: Iterable[int], *, name: str | None = None, inferred: bool = False) -> int:
        """Adds a group and returns its id."""
        number = len(self.groups)
        self.groups.append(Group(number, str(number) if name is None else name, desc, tuple(ranks), inferred))
        return number

    def lane(
        self,
        group: int,
        first: int,
        last: int,
        *,
        lane: str = COLLECTIVE,
        op: str = "all_reduce",
        size: int = 1024,
        dtype: str = "Float",
        stack: tuple[StackFrame, ...] = TRAIN_STACK,
        state: CellState = CellState.COMPLETED,
        ranks: Iterable[int] | None = None,
    ) -> Builder:
        """Seqs ``first`` … ``last`` of a lane, all in ``state`` (missing ranks: no dump)."""
        rows = {}
        for rank in sorted(self.groups[group].ranks if ranks is None else ranks):
            rows[rank] = bytearray([CellState.NO_DUMP if rank in self.missing else state]) * (last - first + 1)
        found = self.lanes[group, lane] = FakeLane(first, rows, Asked(op, size, dtype, stack))
        for rank in self.missing:
            for seq in range(first, last + 1):
                found.reasons[rank, seq] = self.missing[rank]
        return self

    def put(
        self,
        group: int,
        seq: int,
        ranks: Iterable[int],
        state: CellState,
        *,
        lane: str = COLLECTIVE,
        differs: bool = False,
        by_log: bool = False,
        reason: str = "",
        op: str | None = None,
        size: int | None = None,
        dtype: str | None = None,
        stack: tuple[StackFrame, ...] | None = None,
    ) -> Builder:
        """Sets the cells of ``ranks`` at ``seq``; what is not given is as the lane has it."""
        found = self.lanes[group, lane]
        usual = found.usual
        for rank in ranks:
            found.rows[rank][seq - found.first] = int(state) | (DIFFERS if differs else 0) | (BY_LOG if by_log else 0)
            if reason:
                found.reasons[rank, seq] = reason
            if op or size or dtype or stack:
                found.asked[rank, seq] = Asked(op or usual.op, size or usual.size, dtype or usual.dtype, stack or usual.stack)
        return self

    def gap(self, group: int, seq: int, *, lane: str = COLLECTIVE) -> Builder:
        """A seq that no member has."""
        for row in self.lanes[group, lane].rows.values():
            row[seq - self.lanes[group, lane].first] = NO_CALL
        return self

    def finding(
        self,
        kind: Kind,
        role: Role,
        ranks: Iterable[int],
        others: Iterable[int],
        group: int | None,
        seq: int | None,
        summary: str,
        *,
        lane: str | None = COLLECTIVE,
        op: str | None = "all_reduce",
        side: Side = Side.HOST,
        evidence: Iterable[str] = (),
        compare_first: str = "",
        not_concluded: Iterable[str] = (),
        steps: Iterable[str] = (),
    ) -> Builder:
        about = tuple(sorted(ranks))
        lines = tuple(Evidence(text, about[0] if about and about[0] not in self.missing else None) for text in evidence)
        others = tuple(sorted(others))
        self.findings.append(
            Finding(
                kind, role, about, others, group, lane if group is not None else None, seq, op, side, summary,
                lines, compare_first, tuple(not_concluded), tuple(steps),
            )
        )  # fmt: skip
        return self

    def wait(
        self,
        ranks: Iterable[int],
        on: Iterable[int],
        group: int,
        seq: int,
        *,
        lane: str = COLLECTIVE,
        side: Side = Side.HOST,
        observed: bool = True,
    ) -> Builder:
        """Each of ``ranks`` waits for each of ``on``."""
        targets = tuple(on)
        for rank in ranks:
            self.waits.extend(Wait(rank, target, group, lane, seq, side, observed) for target in targets)
        return self

    def build(self, verdict: Verdict = Verdict.DIVERGENCE) -> Incident:
        read = tuple(rank for rank in self.ranks if rank not in self.missing)
        sources = tuple(self._source(rank) for rank in read)
        by_rank = {rank: index for index, rank in enumerate(read)}
        view = FakeView(self.lanes, self.waits, by_rank)
        leads = sorted({rank for finding in self.findings if finding.role is Role.LEAD for rank in finding.ranks})
        unnamed = {rank for finding in self.findings if finding.kind in UNNAMED for rank in finding.ranks}
        records = Records(
            sources, (), (), pl.DataFrame(schema=entries_schema()), tuple((group.name, group.desc) for group in self.groups),
            (), (), ((),), (), (Attempt(1, read, True),),
        )  # fmt: skip
        return Incident(
            paths=(self.path,),
            verdict=verdict,
            leads=tuple(rank for rank in leads if rank not in unnamed),
            findings=tuple(sorted(self.findings, key=lambda one: (_ORDER[one.role], one.group or 0, one.seq or 0))),
            coverage=Coverage(self.ranks, read, dict(self.missing)),
            groups=tuple(self.groups),
            lanes=tuple(self._lane(key, found) for key, found in self.lanes.items()),
            waits=tuple(self.waits),
            clocks=tuple(self.clocks),
            facts=tuple(self.facts),
            records=records,
            entries=records.entries.with_columns(
                pl.lit(None, pl.UInt32).alias("group"), pl.lit(None, pl.UInt32).alias("lane"),
                pl.lit(None, pl.String).alias("family"), pl.lit(None, pl.UInt8).alias("reading"),
            ),
            view=view,
            logs=self.logs,
        )  # fmt: skip

    def _source(self, rank: int) -> Source:
        rows = (found.rows[rank] for found in self.lanes.values() if rank in found.rows)
        count = sum(1 for row in rows for code in row if code & 0x1F in RECORDED)
        return Source(
            path=f"nccl_trace_rank_{rank}",
            kind=SourceKind.DUMP,
            status=SourceStatus.READ,
            rank=rank,
            rank_from="file name",
            attempt=1,
            producer="nccl",
            version="2.10",
            library="2.27.3",
            entries=count,
            size=1_200 * count,
            has_stacks=True,
            configured=True,
        )

    def _lane(self, key: LaneKey, found: FakeLane) -> Lane:
        about = [finding for finding in self.findings if (finding.group, finding.lane) == key]
        roles = [role for role in (Role.LEAD, Role.WAITING, Role.NOTE) if any(finding.role is role for finding in about)]
        seqs = [finding.seq for finding in about if finding.seq is not None]
        return Lane(key[0], key[1], found.first, found.front, min(seqs, default=None), roles[0] if roles else None)
