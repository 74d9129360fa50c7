"""Findings from errors in which ranks tell of others: whom a rank names there is the one to look at, not who reports it.

A report is one rank's observation: that a rank did not come to a monitored_barrier is as much as others that wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.logs import words
from hangview.logs.evidence import EndKind, ReportKind
from hangview.logs.followers import OUTSIDE
from hangview.terms import Finding, Kind, Role, Side
from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hangview.logs.evidence import Asked, LogEvidence, Report
    from hangview.terms import Evidence

#: So many reports are quoted.
_QUOTED = 8
#: A side of a mismatch is named where so many times as many ranks ask for the same other thing.
_MAJORITY = 3
_OWN_WORDS = frozenset({EndKind.EXCEPTION, EndKind.ABORT, EndKind.HEARTBEAT})
_NETWORK = "that there is no network fault at all"


def findings(evidence: LogEvidence, ranks: Collection[int], elsewhere: Collection[int]) -> list[Finding]:
    """``ranks`` are all that are known, ``elsewhere`` those that are known to wait in another call or to have waited."""
    made = [_missed(evidence, elsewhere), _mismatch(evidence, ranks), _models(evidence, ranks), _checkpoint(evidence)]
    return [one for one in made if one is not None]


def waited(evidence: LogEvidence) -> frozenset[int]:
    """Ranks that stood or waited in a call themselves, by their own logs."""
    ended = {
        end.rank
        for end in evidence.ends
        if end.follower and end.kind in _OWN_WORDS and not end.why_follower.startswith(OUTSIDE)
    }
    stood = {row.rank for row in evidence.groups if row.timed_out or row.unfinished}
    return frozenset(ended | stood | {one.rank for one in evidence.reports})


def _of(evidence: LogEvidence, kind: ReportKind) -> list[Report]:
    return [one for one in evidence.reports if one.kind is kind]


def lines(evidence: LogEvidence, reports: Sequence[Report]) -> tuple[Evidence, ...]:
    """The reports, quoted, those that name somebody first."""
    ordered = sorted(reports, key=lambda one: (not one.named, one.rank))[:_QUOTED]
    return tuple(words.quoted(evidence, one.line, f"rank {one.rank} reports: ") for one in ordered)


def _missed(evidence: LogEvidence, elsewhere: Collection[int]) -> Finding | None:
    """Who did not come to a monitored_barrier. Its first rank waits for each of the others in turn, and tells."""
    reports = _of(evidence, ReportKind.BARRIER)
    telling = [one for one in reports if one.named]
    if not telling:
        return None
    came = tuple(sorted({one.rank for one in reports}))
    named = sorted({rank for one in telling for rank in one.named})
    ms = f" of {telling[0].ms:,} ms" if telling[0].ms is not None else ""
    call = telling[0].asked
    before = "" if call is None else f" before {_asked(call, Kind.DIFFERENT_OP)}"
    ms += before
    wrong = (f"that {name_ranks(came, 8)}, which reported it, {words.is_or_are(came)} at fault", _NETWORK)
    if not all(one.world for one in telling):
        summary = (
            f"rank {telling[0].rank} reports that number {', '.join(map(str, named))} of its group did not come to a "
            f"monitored_barrier{ms}; which world rank that is, the logs do not show"
        )
        return _unnamed(Kind.NOT_OBSERVED, came, summary, lines(evidence, reports), words.COLLECTION_FIRST, wrong)
    missing = tuple(rank for rank in named if rank not in elsewhere)
    by = name_ranks(sorted({one.rank for one in telling}), 8)
    if not missing:
        summary = (
            f"{by} reports that {name_ranks(named, 8)} did not come to a monitored_barrier{ms}; by what else is known of "
            f"{name_ranks(named, 8)}, {'it' if len(named) == 1 else 'they'} waited in another call"
        )
        return _unnamed(Kind.NOT_OBSERVED, came, summary, lines(evidence, reports), words.COLLECTION_FIRST, wrong)
    it, them = ("it", "it") if len(missing) == 1 else ("they", "them")
    steps = ["the numbers of the report are world ranks: who reports and whom they name are all ranks that there are"]
    held = [rank for rank in named if rank in elsewhere]
    if held:
        steps.append(f"{name_ranks(held, 8)}, named as well, waited in another call by what else is known")
    return Finding(
        Kind.NOT_REQUESTED, Role.LEAD, missing, came, None, None, call.seq if call is not None else None,
        call.op if call is not None else "barrier", Side.HOST,
        f"{name_ranks(missing, 12)} did not come to a monitored_barrier{ms}, by {by}'s report; {words.waits(came)} for {them}",
        lines(evidence, reports),
        f"{name_ranks(missing, 8)}'s path before communication: data loading, branches, exceptions, whether the process ended",
        (*wrong, f"that {name_ranks(missing, 8)} skipped it: {it} may only be late, or stand in a call that no log names"),
        tuple(steps),
    )  # fmt: skip


def _unnamed(
    kind: Kind, others: tuple[int, ...], summary: str, said: tuple[Evidence, ...], first: str, wrong: tuple[str, ...]
) -> Finding:
    return Finding(kind, Role.LEAD, (), others, None, None, None, None, Side.UNKNOWN, summary, said, first, wrong)


def _mismatch(evidence: LogEvidence, ranks: Collection[int]) -> Finding | None:
    """What TORCH_DISTRIBUTED_DEBUG=DETAIL found before the call was made. Every rank's error tells what it asks for itself."""
    reports = [one for one in _of(evidence, ReportKind.MISMATCH) if one.asked is not None]
    if not reports:
        return None
    sides: dict[Asked, list[int]] = defaultdict(list)
    for one in reports:
        if one.asked is not None:
            sides[one.asked].append(one.rank)
    kind = _differs(list(sides))
    reporters = tuple(sorted({one.rank for one in reports}))
    ordered = sorted(((sorted(found), asked) for asked, found in sides.items()), key=lambda side: (-len(side[0]), side[0]))
    texts = "; ".join(f"{name_ranks(found, 12)}: {_asked(asked, kind)}" for found, asked in ordered)
    summary = f"ranks of one group ask for different collectives, by their own errors: {texts}"
    most = ordered[0][0]
    rest = tuple(sorted(rank for found, _ in ordered[1:] for rank in found))
    whole = set(ranks) | {rank for one in reports for rank in one.named} <= set(reporters) and all(one.world for one in reports)
    clear = bool(rest) and whole and len(most) >= _MAJORITY * len(rest) and len({asked.seq for asked in sides}) == 1
    if not clear:
        why = "not all members' errors are here" if not whole else "no side has a clear majority"
        summary += f"; {why}, nobody is named"
    wrong = ["that the network equipment is at fault"]
    if not clear:
        wrong.append(f"that {name_ranks(reporters, 8)}, which reported it, {words.is_or_are(reporters)} at fault")
    return Finding(
        kind, Role.LEAD, rest if clear else (), tuple(most) if clear else reporters, None, None, ordered[0][1].seq,
        ordered[0][1].op, Side.HOST, summary, lines(evidence, reports),
        words.SIZE_FIRST if kind is Kind.DIFFERENT_SIZE else words.OP_FIRST, tuple(wrong),
        ("the comparison is PyTorch's own (TORCH_DISTRIBUTED_DEBUG=DETAIL), made before the call",),
    )  # fmt: skip


def _models(evidence: LogEvidence, ranks: Collection[int]) -> Finding | None:
    """What DistributedDataParallel found when it was made: every rank's error tells what its own model holds. Whose number few
    have is named where all say theirs."""
    reports = _of(evidence, ReportKind.MODEL)
    sides: dict[int, list[int]] = defaultdict(list)
    for one in reports:
        if one.holds is not None:
            sides[one.holds].append(one.rank)
    ordered = sorted(((sorted(found), holds) for holds, found in sides.items()), key=lambda side: (-len(side[0]), side[0]))
    if len(ordered) < 2 or not (set(ranks) <= {one.rank for one in reports} and all(one.world for one in reports)):
        return None
    most = ordered[0][0]
    rest = tuple(sorted(rank for found, _ in ordered[1:] for rank in found))
    clear = len(most) >= _MAJORITY * len(rest)
    texts = "; ".join(f"{name_ranks(found, 12)}: {holds:,} parameters" for found, holds in ordered)
    summary = f"the models of ranks differ, by their own errors: {texts}" + ("" if clear else "; no side has a clear majority")
    named, others = (rest, tuple(most)) if clear else ((), tuple(sorted((*most, *rest))))
    return Finding(
        Kind.DIFFERENT_SIZE, Role.LEAD, named, others, None, None, None, None, Side.HOST, summary, lines(evidence, reports),
        "how the ranks build their models: configuration, versions of the code, branches on the rank, what they load",
        ("that the network equipment is at fault",),
        ("the comparison is PyTorch's own, made when DistributedDataParallel was",),
    )  # fmt: skip


def _differs(asked: Sequence[Asked]) -> Kind:
    if len({(one.seq, one.op) for one in asked}) > 1:
        return Kind.DIFFERENT_OP
    if len({one.shape for one in asked}) > 1:
        return Kind.DIFFERENT_SIZE
    return Kind.DIFFERENT_DTYPE if len({one.dtypes for one in asked}) > 1 else Kind.DIFFERENT_OP


def _asked(one: Asked, kind: Kind) -> str:
    call = one.op if one.seq is None else f"{one.op} {one.seq}"
    if kind is Kind.DIFFERENT_SIZE:
        return f"{call} of [{one.shape or ''}]"
    return f"{call} of {one.dtypes}" if kind is Kind.DIFFERENT_DTYPE else call


def _checkpoint(evidence: LogEvidence) -> Finding | None:
    """Whose part of a checkpoint failed, where the number is not known to be a world rank: else it has an end of its own."""
    reports = [one for one in _of(evidence, ReportKind.CHECKPOINT) if not one.world]
    if not reports:
        return None
    reporters = tuple(sorted({one.rank for one in reports}))
    numbers = ", ".join(str(number) for number in sorted({number for one in reports for number in one.named}))
    summary = (
        f"{name_ranks(reporters, 12)} report{'s' if len(reporters) == 1 else ''} that, of the group that writes or reads a "
        f"checkpoint, the part of number {numbers} failed; which world rank that is, the logs do not show"
    )
    return _unnamed(
        Kind.NOT_OBSERVED, reporters, summary, lines(evidence, reports),
        "the log of that rank: storage, quota, permission, the shard that it writes or reads",
        (f"that {name_ranks(reporters, 8)}, which reported it, {words.is_or_are(reporters)} at fault",),
    )  # fmt: skip
