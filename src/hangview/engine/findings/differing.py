"""Requests of one call that differ, and call sites that run apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.engine.evidence import Telling, user_frames
from hangview.engine.waits import Place
from hangview.engine.words import agrees, compare_first, not_concluded, request
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.callsites import Shift
    from hangview.engine.evidence import Telling
    from hangview.engine.findings.case import Case, Quiet
    from hangview.engine.shifted import Shifted
    from hangview.engine.stalls import Mismatch
    from hangview.engine.waits import Place
    from hangview.terms import Group

#: Ranks of which a line each says that their requests fit when moved.
_LINES = 4


def mismatches(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    out = []
    for (group, seq), stall in sorted(case.stalls.items()):
        if stall.mismatch is not None:
            place = (group, COLLECTIVE, seq)
            told.add(place)
            out.append(mismatch(case, tell, place, stall.mismatch, Role.LEAD, stall.family))
    return out


def quietly(case: Case, tell: Telling, quiet: Quiet, role: Role) -> Finding:
    """Requests that differ in calls that are not open: a note, or the lead where it explains who is ahead of the others."""
    found = quiet.mismatch
    place = (quiet.group, COLLECTIVE, quiet.seq)
    return mismatch(case, tell, place, found, role, found.sides[0].op, quiet.calls, over=quiet.over)


def mismatch(
    case: Case, tell: Telling, place: Place, found: Mismatch, role: Role, op: str, calls: int = 1, over: bool = True
) -> Finding:
    group = case.groups[place[0]]
    call = f"{group.label} {place[2]}"
    everyone = sorted(r for side in found.sides for r in side.ranks)
    what = {Kind.DIFFERENT_OP: "operation", Kind.DIFFERENT_SIZE: "size", Kind.DIFFERENT_DTYPE: "dtype"}[found.kind]
    if found.minority:
        ranks: Sequence[int] = found.minority
        others: Sequence[int] = found.sides[0].ranks
        summary = (
            "; ".join([f"{tell.ranks(side.ranks)} requested {request(side.op, side.text)}" for side in found.sides[1:]])
            + f" where {tell.ranks(found.sides[0].ranks)} requested {request(found.sides[0].op, found.sides[0].text)} ({call})"
        )
    elif found.detail:
        ranks, others = everyone, ()
        summary = f"{op} {place[2]} of {group.label}: {found.detail}"
    else:
        ranks, others = everyone, ()
        told_sides = "; ".join(f"{tell.ranks(s.ranks)}: {request(s.op, s.text)}" for s in found.sides)
        summary = f"{what} differs at {call} and no side is the majority: {told_sides}"
    if role is Role.NOTE:
        known = "the call is over all the same" if over else "whether the call is over is not recorded"
        summary += f"; {known}" + (f", and {calls - 1} more like it" if calls > 1 else "")
    who = tell.ranks(ranks)
    most = tell.ranks(found.sides[0].ranks)
    evidence, first = tell.sides(place, found.sides), compare_first(found.kind, who)
    moved = case.shifted.get((group.id, place[2]), ()) if role is Role.LEAD else ()
    if moved:
        evidence += tuple(_moved(case, tell, group, one) for one in moved[:_LINES])
        who_moved = tell.ranks([one.rank for one in moved])
        first = f"how many calls {who_moved} made before: one more or one less than the others would look so too; then {first}"
    steps = [
        f"All requests of {op} {place[2]} in {group.label} are lined up by sequence number.",
        *(f"{tell.ranks(s.ranks)} ({len(s.ranks)}) requested {request(s.op, s.text)}." for s in found.sides),
        _who_differs(found, who, most),
    ]
    return Finding(
        found.kind, role, tuple(sorted(ranks)), tuple(others), group.id, place[1], place[2], op, Side.HOST, summary, evidence,
        first, not_concluded(found.kind, who, tie=not found.minority, sums=bool(found.detail)),
        tuple(steps),
    )  # fmt: skip


def _moved(case: Case, tell: Telling, group: Group, one: Shifted) -> Evidence:
    """A request that is not the others' of its number, but of one beside it."""
    source = case.windows[group.id, one.rank].source
    like = f"for what the others ask for in {one.like}"
    return Evidence(f"{tell.ranks((one.rank,))} asks in {one.seq} of {group.label} {like}{tell.file(source, None)}", source)


def _who_differs(found: Mismatch, who: str, most: str) -> str:
    """The last step of the reasoning."""
    if found.minority:
        differs = agrees(who, "differs", "differ")
        return f"{who} {differs} from {most}: the fewer are read first; which side is right is not recorded."
    if found.detail:
        return f"What they send and what they receive does not add up: {found.detail}; so nobody is named."
    return "No side is a majority, so nobody is named."


def other_apis(case: Case, tell: Telling) -> list[Finding]:
    """Unfinished calls that members make through different API functions: the same call on the wire, so only a note.

    ``all_gather`` into a list may go out as one ``all_gather_into_tensor`` (torch records ``_all_gather_base``), and so on.
    """
    out = []
    for (group_id, seq), stall in sorted(case.stalls.items()):
        by_name: dict[str, set[int]] = {}
        for row in stall.rows:
            by_name.setdefault(case.records.ops[row["op"]].name, set()).add(row["rank"])
        kinds = {(op.library, op.family) for op in (case.records.ops[row["op"]] for row in stall.rows)}
        if len(by_name) < 2 or len(kinds) > 1 or stall.mismatch is not None:
            continue  # recorders have names of their own: between two of them a name tells nothing
        (most, others), *odd = sorted(by_name.items(), key=lambda item: (-len(item[1]), min(item[1])))
        ranks = tuple(sorted(set().union(*(said for _, said in odd)) - others))
        if not ranks:
            continue  # each of them recorded the parts of a batch
        group, who = case.groups[group_id], tell.ranks(ranks)
        through = "; ".join(f"{tell.ranks(said)} through {name}" for name, said in [(most, others), *odd])
        call = f"{stall.family} {seq} of {group.label}"
        out.append(
            Finding(
                Kind.DIFFERENT_CALL_SITE, Role.NOTE, ranks, tuple(sorted(others)), group.id, COLLECTIVE, seq, stall.family,
                Side.HOST, f"{call} is requested through different functions, the same call on the wire: {through}", (),
                f"which function {who} {agrees(who, 'calls', 'call')} there, and on which version of the code and of torch",
                ("that this keeps the call from completing: sizes and dtypes agree",),
            )
        )  # fmt: skip
    return out


def call_site(case: Case, tell: Telling, shift: Shift, role: Role, others: Sequence[int]) -> Finding:
    group = case.groups[shift.group]
    did = {1: "skipped a call", -1: "repeated a call"}.get(shift.by, "skipped or repeated a call")
    did = "made a call that no other rank made" if shift.extra else did
    mine, theirs = user_frames(*(case.records.stacks[s] for s in (shift.stack, shift.majority_stack)))
    who = tell.ranks((shift.rank,))
    rest = tuple(r for r in (others or group.ranks) if r != shift.rank)
    op = tell.op_of(shift.group, shift.seq)
    summary = (
        f"{who} issues {group.label} {shift.seq} from {mine}, the others from {theirs}; from there on its call sites are "
        f"the others' moved by one, as if it {did}"
    )
    window = case.windows[shift.group, shift.rank]
    return Finding(
        Kind.DIFFERENT_CALL_SITE, role, (shift.rank,), rest, group.id, COLLECTIVE, shift.seq, op, Side.HOST, summary,
        (
            Evidence(f"{who}: stack of {shift.seq} starts in {mine}{tell.file(window.source, None)}", window.source),
            Evidence(f"{shift.fits} calls from {shift.seq} on fit the majority's stacks moved by one only"),
        ),
        compare_first(Kind.DIFFERENT_CALL_SITE, who), not_concluded(Kind.DIFFERENT_CALL_SITE, who),
        (
            f"Before {shift.seq} {who} issued every call of {group.label} from the same place as the majority.",
            f"At {shift.seq} it is in {mine}, the majority in {theirs}.",
            f"{shift.fits} later calls fit the majority's moved by one: it {did}{'' if shift.extra else ' just before'}.",
        ),
    )  # fmt: skip
