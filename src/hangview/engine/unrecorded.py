"""Operations that a recorder leaves out, and what follows for a rank that "did not request".

gloo's recorder (torch 2.8 to 2.15) has an entry for collectives alone. A send or a receive only moves ``op_id``, a
monitored_barrier moves the numbers of the calls too, the making of a group moves nothing. So a rank whose records stop may
stand in one of these and wait itself; where the numbers show that there are such operations, it is likely enough to be said
with the finding.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine.words import agrees
from hangview.producers import Completion, producer_of
from hangview.terms import Evidence, Kind, Role, Verdict
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.schema import Records
    from hangview.terms import Finding, Group

#: Calls of a rank of which is said how many operations came before them; patterns of ranks that are told apart.
_CALLS = 4
_PATTERNS = 8
_LEFT_OUT = "sends, receives, monitored_barrier and the making of groups"
_KINDS = frozenset({Kind.NOT_REQUESTED, Kind.NO_COLLECTIVE})


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """``library``: the recorder that leaves operations out; ``groups``: those it recorded; ``gaps``: group -> rank ->
    (seq, operations without a record right before it) of the rank's last calls there, for groups in which there are any;
    ``ranks``: whose numbers show such an operation."""

    library: str
    groups: frozenset[int]
    gaps: Mapping[int, Mapping[int, tuple[tuple[int, int], ...]]]
    ranks: tuple[int, ...]


def unrecorded(records: Records, entries: pl.DataFrame) -> Unrecorded | None:
    """What is known of operations without a record; None where every recorder records all that there is.

    ``entries``: with the column ``group`` (:func:`hangview.engine.readings.read`).
    """
    producers = {op.library: producer_of(op.library) for op in records.ops}
    libraries = sorted(
        name for name, made in producers.items() if not made.records_p2p and made.completion is Completion.RETIRED
    )
    if not libraries:
        return None
    ops = [i for i, op in enumerate(records.ops) if op.library in libraries]
    wanted = entries.lazy().filter(pl.col("op").is_in(ops) & pl.col("group").is_not_null())
    mine = wanted.select("source", "pg_id", "group", "rank", "seq", "op_id").collect()  # not a copy of all columns
    if mine.is_empty():
        return None
    process = ["source", "pg_id"]
    rows = (
        mine.filter(pl.col("op_id").is_not_null() & pl.col("seq").is_not_null())
        .select(*process, "group", "rank", "seq", "op_id")
        .sort(*process, "op_id")
        .with_columns(between=pl.col("op_id").diff().over(process) - 1)
        .filter(pl.col("between").is_not_null())
    )
    odd = rows.filter(pl.col("between") > 0)
    last = (
        rows.filter(pl.col("group").is_in(odd["group"].unique().to_list()))
        .group_by("group", "rank", maintain_order=True)
        .tail(_CALLS)
        .sort("group", "rank", maintain_order=True)
    )
    gaps: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for group, rank, seq, between in last.select("group", "rank", "seq", "between").iter_rows():
        gaps[group][rank].append((seq, between))
    return Unrecorded(
        libraries[0],
        frozenset(mine["group"].unique().to_list()),
        {group: {rank: tuple(calls) for rank, calls in ranks.items()} for group, ranks in gaps.items()},
        tuple(sorted(odd["rank"].unique().to_list())),
    )


def hedge(found: Sequence[Finding], groups: Sequence[Group], left_out: Unrecorded | None) -> tuple[Finding, ...]:
    """Findings in which ranks that "did not request" may stand in an operation that has no record: they are still where to
    look, and that is said beside it."""
    if left_out is None:
        return tuple(found)
    return tuple(_hedged(one, groups, left_out) if _concerned(one, left_out) else one for one in found)


def _concerned(finding: Finding, left_out: Unrecorded) -> bool:
    return finding.role is Role.LEAD and finding.kind in _KINDS and finding.group in left_out.groups


def _hedged(finding: Finding, groups: Sequence[Group], left_out: Unrecorded) -> Finding:
    who, library = name_ranks(finding.ranks, 12), left_out.library
    outside = f"that {who} {agrees(who, 'waits', 'wait')} for nobody: {library} does not record {_LEFT_OUT}"
    step = f"{library} does not record {_LEFT_OUT}: whether {who} {agrees(who, 'stands', 'stand')} in one is not known."
    finding = replace(finding, not_concluded=(*finding.not_concluded, outside), steps=(*finding.steps, step))
    if not left_out.gaps:
        return finding
    near = [g for g in left_out.gaps if set(left_out.gaps[g]) & {*finding.ranks, *finding.others}]
    lines = [Evidence(_told(groups[g].label, left_out.gaps[g])) for g in near[:_PATTERNS]]
    may = (
        f"{name_ranks(finding.ranks, 4)} may stand in a send, a receive or a monitored_barrier, which {library} does not record"
    )
    return replace(finding, summary=f"{finding.summary}; {may}", evidence=(*finding.evidence, *lines))


def _told(label: str, ranks: Mapping[int, tuple[tuple[int, int], ...]]) -> str:
    """ "operations without a record, by op_id, in tp: rank 0: 1 before 2, 1 before 3; ranks 1-2: 2 before 2, 2 before 3"."""
    same: dict[str, list[int]] = defaultdict(list)
    for rank, calls in ranks.items():
        same[", ".join(f"{between} before {seq}" for seq, between in calls)].append(rank)
    shown = [f"{name_ranks(who, 8)}: {text}" for text, who in sorted(same.items(), key=lambda item: item[1])]
    more = f"; and {len(shown) - _PATTERNS} more patterns" if len(shown) > _PATTERNS else ""
    return f"operations without a record, by op_id, in {label}: {'; '.join(shown[:_PATTERNS])}{more}"


def limits(left_out: Unrecorded | None, verdict: Verdict) -> tuple[str, ...]:
    """What this set of dumps cannot show, for the account of what was read."""
    if left_out is None or (not left_out.gaps and verdict is not Verdict.NO_HANG):
        return ()
    said = f"{left_out.library} does not record {_LEFT_OUT}: a hang in one does not show"
    seen = f"; there are such operations, by the op_ids of {name_ranks(left_out.ranks, 12)}" if left_out.gaps else ""
    return (said + seen,)
