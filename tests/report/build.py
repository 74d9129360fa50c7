"""Small incidents whose report can be written by hand. They hold values only: no records, no view, no file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from hangview.incident import Incident
from hangview.logs.evidence import LogEvidence
from hangview.schema import Attempt, Records, Source, SourceKind, SourceStatus, entries_schema
from hangview.terms import Coverage, Evidence, Finding, Group, Kind, Lane, Role, Side, Verdict, Wait

if TYPE_CHECKING:
    from hangview.engine.view import View


DEFAULT = Group(0, "0", "default_pg", (0, 1, 2, 3))
PAIR = Group(1, "1", "dp_0", (0, 4))


def dump(rank: int | None, **changes: Any) -> Source:
    """A whole dump of an NCCL recorder."""
    source = Source(
        f"trace_{rank}",
        SourceKind.DUMP,
        SourceStatus.READ,
        rank=rank,
        rank_from="file name",
        attempt=1,
        producer="nccl",
        version="2.10",
        library="2.27.3",
        entries=41,
        size=7_000,
        configured=True,
    )
    return replace(source, **changes)


def log(rank: int, **changes: Any) -> Source:
    """A log of one rank."""
    source = Source(f"logs/rank_{rank}.log", SourceKind.LOG, SourceStatus.READ, rank=rank, attempt=1, size=700)
    return replace(source, **changes)


def incident(
    *findings: Finding,
    verdict: Verdict = Verdict.DIVERGENCE,
    leads: tuple[int, ...] = (),
    sources: tuple[Source, ...] | None = None,
    expected: tuple[int, ...] = (),
    missing: dict[int, str] | None = None,
    groups: tuple[Group, ...] | None = None,
    lanes: tuple[Lane, ...] = (),
    waits: tuple[Wait, ...] = (),
    attempts: tuple[Attempt, ...] = (),
) -> Incident:
    """An incident of these parts, of four whole dumps when not told; ranks that are expected and not missing were read."""
    missing = missing or {}
    sources = tuple(dump(rank) for rank in range(4)) if sources is None else sources
    entries = pl.DataFrame(schema=entries_schema())
    return Incident(
        paths=("run-7",),
        verdict=verdict,
        leads=leads,
        findings=findings,
        coverage=Coverage(expected, tuple(rank for rank in expected if rank not in missing), missing),
        groups=(DEFAULT, PAIR) if groups is None else groups,
        lanes=lanes,
        waits=waits,
        clocks=(),
        facts=(),
        records=Records(sources, (), (), entries, (), (), (), (), (), attempts),
        entries=entries,
        logs=LogEvidence(),
        view=cast("View", None),  # a report asks for nothing that would need it
    )


NOT_REQUESTED = Finding(
    Kind.NOT_REQUESTED,
    Role.LEAD,
    (3,),
    (0, 1, 2),
    group=0,
    lane="collective",
    seq=42,
    op="all_reduce",
    side=Side.HOST,
    summary="rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it",
    evidence=(
        Evidence("rank 3: dump is whole, newest entry of default_pg is 41", source=3, record_id=40),
        Evidence("ranks 0-2: requested 42, not completed"),
    ),
    compare_first="rank 3's path before communication",
    not_concluded=("that rank 0, which timed out, is at fault", "that the network is sound"),
    steps=("ranks 0-2 requested 42 of default_pg and did not complete it", "rank 3 has nothing open: it waits for nobody"),
)
HELD = Finding(
    Kind.WAITING,
    Role.WAITING,
    (0,),
    (),
    group=0,
    lane="collective",
    seq=9,
    op="all_reduce",
    side=Side.DEVICE,
    summary="rank 0 waits in all_reduce 9 of dp_0: held by an earlier call",
)
STRAGGLER = Finding(
    Kind.STRAGGLER,
    Role.NOTE,
    (2,),
    (0, 1, 3),
    group=0,
    lane="collective",
    seq=17,
    op="all_reduce",
    side=Side.HOST,
    summary="rank 2 came 3.1 s late to all_reduce 17 of default_pg",
    evidence=(Evidence("rank 2: requested 3.1 s after the others", source=2, record_id=16),),
)


def one_lead() -> Incident:
    """Rank 3 did not request a call, rank 0 waits elsewhere too, rank 2 was late once; five sources."""
    return incident(
        HELD,
        STRAGGLER,
        NOT_REQUESTED,
        leads=(3,),
        sources=(dump(0), dump(1), dump(2), dump(3), log(3)),
        expected=(0, 1, 2, 3),
        groups=(DEFAULT, PAIR),
        waits=(
            *(Wait(rank, 3, 0, "collective", 42, Side.HOST) for rank in (0, 1, 2)),
            Wait(0, 4, 1, "collective", 9, Side.DEVICE),
        ),
    )


def healthy() -> Incident:
    """Nothing is open; rank 1 left no dump."""
    return incident(
        verdict=Verdict.NO_HANG,
        sources=(dump(0), dump(2), dump(3), dump(1, status=SourceStatus.EMPTY, reason="0 bytes", entries=0, size=0)),
        expected=(0, 1, 2, 3),
        missing={1: "empty file"},
        groups=(DEFAULT,),
    )


def nothing() -> Incident:
    """A folder in which nothing was found."""
    return incident(verdict=Verdict.NOT_ENOUGH_EVIDENCE, sources=())
