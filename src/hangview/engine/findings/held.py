"""Calls that every member requested and not every member finished, and ranks that wait for each other."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine import compare
from hangview.engine.evidence import Telling
from hangview.engine.findings.case import Case, loose, lost, older, place_order
from hangview.engine.still import a_moment, stands
from hangview.engine.waits import Arrow, End, Place
from hangview.engine.windows import why_no_dump
from hangview.engine.words import ONCE_MORE, agrees, compare_first, not_concluded
from hangview.producers import producer_of
from hangview.schema import CellState
from hangview.terms import COLLECTIVE, Evidence, Finding, Kind, Role, Side
from hangview.text import fold_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.engine.evidence import Telling
    from hangview.engine.stalls import Stall
    from hangview.engine.waits import Edge, Place
    from hangview.terms import Group

#: Ranks without a dump that get a line each.
_LOST = 8
#: Requests of ranks that wait for each other that get a line each.
_LINES = 8


def held(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    out = []
    held = {p for ends in case.graph.ends.values() for p, e in ends.items() if e is End.DEVICE and p[1] == COLLECTIVE}
    for place in sorted(held, key=lambda p: place_order(case, p)):
        told.add(place)
        out.append(_stuck(case, tell, place, case.stalls[place[0], place[2]]))
    cut = {s.rank for s in case.records.sources if s.partial}  # its later records would tell more
    by_place: dict[Place, list[int]] = defaultdict(list)
    for rank, places in sorted(case.graph.lagging.items()):
        if rank not in case.graph.sinks and not older(case, rank) and rank not in cut:
            by_place[places[0]].append(rank)
    for place, ranks in sorted(by_place.items(), key=lambda x: place_order(case, x[0])):
        told.add(place)
        out.append(_lagging(case, tell, place, ranks))
    return out


def _stuck(case: Case, tell: Telling, place: Place, stall: Stall) -> Finding:
    group = case.groups[place[0]]
    call = f"{stall.family} {stall.seq} of {group.label}"
    who, done = tell.ranks(stall.waiting), tell.ranks(stall.done)
    on_device, unclear = _on_device(case, stall), _unclear(stall)
    unsure = loose(case, group)
    standing = any(stands(case.still, place, rank) for rank in stall.waiting)
    # Of a job that runs, dumps may all be written inside one call; and that one is over is noted a moment after it was.
    fresh = not standing and a_moment(_since_all_came_ns(case, stall))
    names = _names(case, tell, group)
    unknown = tell.ranks(stall.untold)
    apart, first = _apart(case, tell, stall)
    every = (
        f"every rank that recorded {group.label} requested {stall.family} {stall.seq}"
        if unsure
        else f"every member requested {call}"
    )
    if stall.done:
        kind = Kind.PARTLY_COMPLETED
        over = (
            f"it is over on {done}, well or badly is not recorded, and not on {who}"
            if unclear
            else f"{done} finished it, {who} did not"
        )
        summary = f"{every}; {over}{_root(case, tell, stall)}"
    else:
        kind = Kind.NOT_COMPLETED
        equal = " with equal arguments" if stall.equal and not stall.untold else ""
        summary = f"{every}{equal} and none completed it"
        if stall.untold:
            summary += f"; what {unknown} asked for is not recorded, so it may differ"
        elif names:
            summary += f"; {names}, so these may be two groups, and then each waits for the other's ranks"
        elif not unsure and apart:
            summary += f": by these records no rank is missing; {apart}"
        elif not unsure:
            where = "on the device side" if on_device else "inside the call: a connection, or a process that stands still in it"
            summary += f": by these records no rank is missing, and what holds it is {where}"
    if unsure:
        summary += f"; {_how_loose(case, group)}"
    return Finding(
        kind, Role.NOTE if fresh else Role.LEAD, stall.waiting, (), group.id, COLLECTIVE, stall.seq, stall.family, Side.DEVICE,
        summary,
        (*tell.requests(case.stalls, place, stall.waiting), *tell.untold(stall), *(_silent(case) if unsure else ())),
        (ONCE_MORE if fresh else "")
        + (f"what {unknown} asked for, by log or stack; " if stall.untold else "")
        + ("whether these are one group: in which order its ranks use groups of equal members; then " if names else "")
        + (_members_first(case, tell, group) if unsure else first)
        + compare_first(kind, who, on_device=on_device),
        (*((f"that all asked for the same: of {unknown} it is not recorded",) if stall.untold else ()),
         *not_concluded(kind, who, unclear=unclear)),
        (
            f"All {len(group.ranks)} {'ranks that recorded it' if unsure else 'members'} requested {call}"
            + (" with equal arguments." if stall.equal and not stall.untold else "."),
            *(each.text[0].upper() + each.text[1:] + "." for each in tell.untold(stall)),
            f"{who} did not finish it, and no earlier request of theirs is unfinished.",
            "So nobody is named." if unsure or names else "So no rank is missing on the host side, and nobody is named.",
        ),
    )  # fmt: skip


#: Of these the root alone has what comes out (gather) or goes in (scatter); of the other rooted ones each rank has both.
_OF_THE_ROOT = {"gather": "output_sizes", "scatter": "input_sizes"}


def _root(case: Case, tell: Telling, stall: Stall) -> str:
    """What is recorded of the root of a call that has one, in a clause."""
    if stall.family not in compare.ROOTED:
        return ""
    part = _OF_THE_ROOT.get(stall.family, "")
    signatures = case.records.signatures
    roots = [row["rank"] for row in stall.rows if part and getattr(signatures[row["signature"]], part)]
    if not roots or len(roots) == len(stall.rows):
        return "; the root is not recorded"
    who = tell.ranks(sorted(roots))
    return f"; the root is {who}" if len(roots) == 1 else f"; {who} each take themselves for the root"


def _since_all_came_ns(case: Case, stall: Stall) -> int | None:
    """How long those who wait had done so after the last member came, when their files were written; None where no time is
    recorded."""
    came = [row["created_ns"] for row in stall.rows if row["created_ns"] is not None]
    written = [case.records.sources[row["source"]].mtime_ns for row in stall.rows if row["rank"] in stall.waiting]
    return max(written) - max(came) if came and written else None


def _apart(case: Case, tell: Telling, stall: Stall) -> tuple[str, str]:
    """What the records of a call that all requested tell of some of its ranks and not of the others, in half a sentence, and
    what to look at first for it; empty where they tell no such thing.

    nccl bumps its counter once the launch has returned; with ``TORCH_NCCL_ENABLE_TIMING`` a record says when its kernel began.
    """
    members = sorted(row["rank"] for row in stall.rows)
    inside = [r for r in members if case.windows[stall.group, r].launching and case.windows[stall.group, r].newest == stall.seq]
    if inside and len(inside) < len(members):
        who = tell.ranks(inside)
        said = f"{who} {agrees(who, 'has', 'have')} not returned from the launch by {agrees(who, 'its', 'their')} counters"
        return said, f"the host stack of {who}; then "
    begun = sorted(row["rank"] for row in stall.rows if row["reading"] == CellState.STARTED)
    still = sorted(row["rank"] for row in stall.rows if row["reading"] == CellState.REQUESTED)
    if begun and still and len(begun) + len(still) == len(members) and all(_timed(case, rank) for rank in still):
        who = tell.ranks(still)
        held_up = agrees(who, "whose stream is held up", "whose streams are held up")
        return (
            f"it has started on {tell.ranks(begun)} and not on {who}, {held_up} before it",
            f"what runs on the device of {who} before it; then ",
        )
    return "", ""


def _timed(case: Case, rank: int) -> bool:
    """Whether the rank's recorder says when kernels begin: else "scheduled" tells nothing of them."""
    mine = (pl.col("rank") == rank) & pl.col("started_ns").is_not_null()
    return not case.records.entries.lazy().filter(mine).head(1).collect().is_empty()


def _on_device(case: Case, stall: Stall) -> bool:
    """Whether the call runs on a device: gloo's is made by a thread of the process itself."""
    return any(producer_of(case.records.ops[row["op"]].library).on_device for row in stall.rows) or not stall.rows


def _unclear(stall: Stall) -> bool:
    """Whether somebody's record says that the call is over, and not how."""
    return any(row["rank"] in stall.done and row["reading"] == CellState.ENDED for row in stall.rows)


def _how_loose(case: Case, group: Group) -> str:
    size, known = case.sizes.get(group.id), len(group.ranks)
    if known == 1 and size != 1:
        return "nobody waits in a group of its own, so the other members left no record"
    if size is None or size < known:
        return "the members of this group are not recorded, so one may be missing"
    return f"by its all_gathers it has {size} members, so of {size - known} there is no record"


def _names(case: Case, tell: Telling, group: Group) -> str:
    """The names that ranks give the group, where they differ and no call of it proves that it is one all the same."""
    views = next((d.views for d in case.disputes if d.about == "name" and group.id in d.groups), ())
    if any(case.windows[group.id, rank].last_done for rank in group.ranks):
        return ""
    told = ((tell.ranks(ranks), name) for name, ranks in views)
    return ", ".join(f"{who} {agrees(who, 'knows', 'know')} it by the {name}" for who, name in told)


def _members_first(case: Case, tell: Telling, group: Group) -> str:
    """What to look at before the call itself: who else belongs to the group."""
    gone = lost(case)
    of = (
        f", and whether {tell.ranks(gone)}, without a dump, {agrees(tell.ranks(gone), 'is one', 'are among them')}"
        if gone
        else ""
    )
    return f"which ranks are members of {group.label}{of}; then "


def _silent(case: Case) -> tuple[Evidence, ...]:
    """Ranks that may be the missing member of a group whose members are not recorded: whole dumps without any call, and ranks
    without a usable dump.

    They are shown and not named: a rank that only sends and receives leaves such a dump too, as gloo does not record these.
    """
    sources = case.records.sources
    without = tuple(
        Evidence(f"rank {source.rank}: dump is whole and holds no call of any group ({source.path})", number)
        for number, source in enumerate(sources)
        if source.usable
        and source.configured
        and not (source.entries or source.partial or source.only_active or source.wrapped)
    )
    gone = lost(case)
    told = [Evidence(f"rank {rank}: {why_no_dump(case.records, rank)}") for rank in gone[:_LOST]]
    more = gone[_LOST:]
    return (
        *without,
        *told,
        *([Evidence(f"and {len(more)} more without a dump: ranks {fold_ranks(more, 12)}")] if more else []),
    )


def _lagging(case: Case, tell: Telling, place: Place, ranks: Sequence[int]) -> Finding:
    """Ranks that have not finished what others finished: named if they are the few, or if the others went on with them.

    The few of the group, or of all who stand because of them. Not where the dump of a third ends before the call: dumps were
    written at different moments, then, or the call was torn down on those that finished it. Who is not named may be a moment
    behind in a job that runs; where it is known that the call stands still, it is where to look all the same.
    """
    stall = case.stalls[place[0], place[2]]
    group = case.groups[place[0]]
    late = [r for r in stall.waiting if r in ranks] or list(ranks)
    others = stall.done
    went_on = any(len(case.graph.lagging.get(r, ())) > 1 or _passed_further(case, r, place) for r in late)
    few = 2 * len(stall.waiting) < len(group.ranks) + went_on or _few_of_all(case, late)
    still = any(stands(case.still, place, rank) for rank in late)
    fresh = not still and a_moment(tell.waited_ns(case.stalls, place, late))
    named = few and (went_on or not stall.older) and not fresh
    who = tell.ranks(late)
    call = f"{stall.family} {stall.seq} of {group.label}"
    summary = f"{who} requested {call} but did not finish it; {tell.ranks(others)} finished it"
    if not named and not still:
        summary += "; stuck there or a moment behind: not recorded"
    on_device = _on_device(case, stall)
    return Finding(
        Kind.PARTLY_COMPLETED, Role.LEAD if named or still else Role.NOTE, tuple(late), others if named else (), group.id,
        COLLECTIVE, stall.seq, stall.family, Side.DEVICE, summary, (tell.lag(late, place),),
        ("" if named or still else ONCE_MORE) + compare_first(Kind.PARTLY_COMPLETED, who, on_device=on_device),
        not_concluded(Kind.PARTLY_COMPLETED, who),
        (
            f"Every {'rank that recorded it' if loose(case, group) or stall.older else 'member'} requested {call}.",
            f"{tell.ranks(others)} completed it, which needs every member's part.",
            f"On {who} it is not over: what is unfinished there is its own.",
        ),
    )  # fmt: skip


def _few_of_all(case: Case, late: Sequence[int]) -> bool:
    """Whether those that lag are the few among all who stand because of them, in whatever group: of a pair nobody is."""
    behind = case.graph.behind(late) | set(late)
    lagging = {rank for rank in behind if case.graph.lagging.get(rank)}
    return len(behind) > 2 and 2 * len(lagging) < len(behind)


def _passed_further(case: Case, rank: int, place: Place) -> bool:
    """Whether others finished later calls of the group that needed this rank too."""
    mine = case.windows[place[0], rank].newest or 0
    ahead = [w.last_done or 0 for (g, r), w in case.windows.items() if g == place[0] and r != rank]
    return place[2] < min(max(ahead, default=0), mine)


def cycles(case: Case, tell: Telling, told: set[Place]) -> list[Finding]:
    out = []
    for ranks in case.graph.cycles:
        inside = set(ranks)
        arrows = [e for r in ranks for e in case.graph.edges[r] if e.on in inside]
        told.update(e.place for e in arrows)
        place = min((e.place for e in arrows), key=lambda p: place_order(case, p))
        who = tell.ranks(ranks)
        shown = arrows[: 2 * len(ranks)][:10]
        chain = "; ".join(f"rank {e.on} holds up rank {e.rank} in {tell.call(case.stalls, e.place)}" for e in shown[:4])
        out.append(
            Finding(
                Kind.ORDER_CYCLE, Role.LEAD, ranks, (), place[0], place[1], place[2], tell.op_at(case.stalls, place),
                Side.HOST if any(e.arrow is Arrow.HOST for e in arrows) else Side.DEVICE,
                f"{who} wait for each other in a circle: {chain}",
                (*tell.order(ranks, [e.place for e in arrows]), *_turns(case, tell, ranks), *_messages(case, tell, arrows)),
                _who_turned(case, tell, ranks) + compare_first(Kind.ORDER_CYCLE, who), not_concluded(Kind.ORDER_CYCLE, who),
                tuple(f"Rank {e.rank} waits for rank {e.on} in {tell.call(case.stalls, e.place)}." for e in shown),
            )
        )  # fmt: skip
    for ranks in case.graph.paired:
        arrows = [e for r in ranks for e in case.graph.edges[r] if e.on in set(ranks)]
        told.update(e.place for e in arrows)
        place = min((e.place for e in arrows), key=lambda p: place_order(case, p))
        who = tell.ranks(ranks)
        out.append(
            Finding(
                Kind.NOT_COMPLETED, Role.LEAD, ranks, (), place[0], place[1], place[2], tell.op_at(case.stalls, place),
                Side.DEVICE, f"{who} requested both ends of {place[1]} ({case.groups[place[0]].label}) and neither is over",
                _messages(case, tell, arrows),
                compare_first(Kind.NOT_COMPLETED, who), not_concluded(Kind.NOT_COMPLETED, who),
            )
        )  # fmt: skip
    return out


def _turns(case: Case, tell: Telling, ranks: Sequence[int]) -> tuple[Evidence, ...]:
    """By which way the ranks of a circle came to where they wait, those first that had always gone another one."""
    mine = sorted((case.turns[rank] for rank in ranks if rank in case.turns), key=lambda turn: (not turn.another, turn.rank))
    return tuple(tell.turn(turn) for turn in mine[:_LINES])


def _who_turned(case: Case, tell: Telling, ranks: Sequence[int]) -> str:
    """Where to begin, if some ranks of a circle went another way than ever before and all others their usual one. Not where
    most of the call's group went that way, ranks outside the circle too: then it is the others that went another."""
    turned = [rank for rank in ranks if rank in case.turns and case.turns[rank].another]
    if not turned or any(rank not in case.turns for rank in ranks) or len(turned) == len(ranks):
        return ""
    if any(_most_came(case, case.turns[rank].to) for rank in turned):
        return ""
    who = tell.ranks(turned)
    return f"why {who} left the order that {agrees(who, 'it', 'they')} had before; then "


def _most_came(case: Case, place: tuple[int, int]) -> bool:
    """Whether more than half of a group's members requested a call."""
    stall = case.stalls.get(place)
    came = {*stall.waiting, *stall.done} if stall is not None else set()
    return 2 * len(came) > len(case.groups[place[0]].ranks)


def _messages(case: Case, tell: Telling, arrows: Sequence[Edge]) -> tuple[Evidence, ...]:
    """The records of sends and receives in which ranks wait for each other."""
    mine = [edge for edge in arrows if edge.place[1] != COLLECTIVE][:_LINES]
    return tuple(line for edge in mine for line in tell.requests(case.stalls, edge.place, (edge.rank,)))
