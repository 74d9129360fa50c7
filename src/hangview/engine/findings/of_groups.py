"""What ranks say of the groups themselves: that they are others than on other ranks, or were not made everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.engine.words import agrees, compare_first, not_concluded
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.evidence import Telling
    from hangview.engine.findings.case import Case
    from hangview.engine.groups import Dispute
    from hangview.terms import Group

#: Ranks without a group that get a line each.
_ABSENT = 8


def disputes(case: Case, tell: Telling, so_far: Sequence[Finding]) -> list[Finding]:
    """Groups of which ranks give different names, descriptions or members."""
    return [_dispute(case, tell, dispute, so_far) for dispute in case.disputes]


def _dispute(case: Case, tell: Telling, dispute: Dispute, so_far: Sequence[Finding]) -> Finding:
    """What ranks say differently about a group: a lead where an unfinished call depends on it and nothing else explains it."""
    everyone = tuple(sorted(r for _, ranks in dispute.views for r in ranks))
    views = "; ".join(f"{tell.ranks(ranks)}: {text}" for text, ranks in dispute.views)
    summary = f"ranks disagree on the {dispute.about} of the group named {dispute.name!r}: {views}"
    open_calls = [s for (g, _), s in case.stalls.items() if g in dispute.groups]
    explained = any(f.role is Role.LEAD and f.group in dispute.groups for f in so_far)
    leads = bool(open_calls) and not explained and dispute.about != "name"
    ranks = dispute.minority if leads and dispute.minority else everyone
    group = dispute.groups[0]
    return Finding(
        Kind.GROUP_MISMATCH, Role.LEAD if leads else Role.NOTE, ranks, tuple(r for r in everyone if r not in ranks), group,
        COLLECTIVE, open_calls[0].seq if leads else None, open_calls[0].family if leads else None, Side.HOST, summary,
        tuple(Evidence(f"{tell.ranks(said)}: {text}") for text, said in dispute.views),
        compare_first(Kind.GROUP_MISMATCH, tell.ranks(ranks)), not_concluded(Kind.GROUP_MISMATCH, tell.ranks(ranks)),
    )  # fmt: skip


def not_made(case: Case, tell: Telling) -> list[Finding]:
    """Groups that whole dumps of some members do not know, others do, and nobody has called yet."""
    used = {group for dispute in case.disputes for group in dispute.groups} | {group for group, *_ in case.traffic.lanes}
    return [_not_made(case, tell, one) for one in case.groups if one.id not in used and _made_by_some(case, one)]


def _made_by_some(case: Case, group: Group) -> bool:
    """Whether whole dumps of members do not know a group that others know and nobody has called yet."""
    mine = [case.windows[group.id, rank] for rank in group.ranks]
    return any(w.above is CellState.GROUP_ABSENT for w in mine) and not any(w.newest for w in mine) and not group.earlier


def _not_made(case: Case, tell: Telling, group: Group) -> Finding:
    """A group that was not made on all of its members, as far as their dumps reach: some may be inside its creation."""
    mine = [case.windows[group.id, rank] for rank in sorted(group.ranks)]
    absent = tuple(w.rank for w in mine if w.above is CellState.GROUP_ABSENT)
    knows = tuple(w.rank for w in mine if w.above is CellState.NOT_REQUESTED)
    who, others, shown = tell.ranks(absent), tell.ranks(knows), absent[:_ABSENT]
    has, know = agrees(who, "does", "do"), agrees(others, "knows", "know")
    return Finding(
        Kind.GROUP_ABSENT, Role.NOTE, absent, knows, group.id, COLLECTIVE, None, None, Side.HOST,
        f"{others} {know} the group {group.label}, {who} {has} not; nobody has called it yet",
        tuple(Evidence(f"rank {w.rank}: {w.reason}{tell.file(w.source, None)}", w.source) for w in mine if w.rank in shown),
        compare_first(Kind.GROUP_ABSENT, who), not_concluded(Kind.GROUP_ABSENT, who),
    )  # fmt: skip
