"""Search: what was typed, and where it leads. Plain values in, places out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hangview.schema import CellState
from hangview.terms import COLLECTIVE, p2p_lane
from hangview.text import parse_ranks
from hangview.tui.place import Place, lane_at, opening_of, place_of, ranks_of
from hangview.tui.text.brief import brief
from hangview.tui.text.common import role_word
from hangview.tui.text.groups import sorted_lanes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from hangview.incident import Incident
    from hangview.terms import Finding
    from hangview.tui.grid.plane import Plane

#: A search that finds more is at its end: somebody who steps through so many looks for something else.
MOST = 20_000

#: What can be typed, and what it finds; for the help and the documentation.
GRAMMAR = (
    ("rank 37", "the rank in each of its lanes, where it stands"),
    ("seq 1820", "that call, in the present lane first"),
    ("group dp_3", "lanes whose group's name or description holds the text"),
    ("p2p 10->2", "the lane of sends from rank 10 to rank 2; with one rank, all lanes of it"),
    ("op all_reduce", "calls of the operation, the newest first"),
    ("func forward", "calls made from a function or file whose name holds the text"),
    ("host node-03", "ranks whose host's name holds the text"),
    ("seq 1820 group dp_3", "several together: all of them are so"),
    ("37", "the rank; where there is none, the seq"),
    ("anything else", "text in groups, findings and their kinds, operations, functions and hosts"),
)

_KEYS = {
    "rank": "rank", "ranks": "rank", "seq": "seq", "group": "group", "op": "op", "func": "func", "function": "func",
    "file": "func", "host": "host", "p2p": "p2p",
}  # fmt: skip
#: Which term finds places; the others then leave out what does not fit.
_FINDERS = ("op", "func", "p2p", "seq", "rank", "host", "group")


def terms_of(typed: str) -> dict[str, str]:
    """``{"seq": "1820", "group": "dp_3"}``; empty for what is no term but text to look for.

    Raises ``ValueError`` with one line for a term without its value.
    """
    terms: dict[str, list[str]] = {}
    key = ""
    every = typed.split()
    if len(every) == 1 and (short := _RANK.fullmatch(typed.strip())) is not None:
        every = ["rank", short[1]]
    for word, following in zip(every, [*every[1:], ""], strict=True):
        known = _KEYS.get(word.casefold().rstrip(":="))
        if known == "p2p" and not following[:1].isdigit():
            known = None  # a word of a name or of a text
        if known == "p2p" and terms.get("group") == []:
            del terms["group"]  # "group p2p 2->10": the list of groups has lanes too
        if known is not None and known not in terms:
            key = known
            terms[key] = []
        elif not key:
            return {}
        else:
            terms[key].append(word)
    for name, words in terms.items():
        if not words:
            raise ValueError(f"{name} needs something after it, as in: {_EXAMPLES[name]}")
    told = {name: " ".join(words) for name, words in terms.items()}
    for name in ("rank", "seq"):
        if name in told and not (told[name].isascii() and told[name].isdigit()):
            raise ValueError(f"{name} needs a number, as in: {_EXAMPLES[name]}")
    if "p2p" in told and _ENDS.fullmatch(told["p2p"]) is None:
        raise ValueError(f"p2p needs a rank or two, as in: {_EXAMPLES['p2p']}")
    return told


_EXAMPLES = {each.split()[0]: each for each, _ in GRAMMAR[:7]}
_RANK = re.compile(r"(?:rank|r)([0-9]+)", re.IGNORECASE)
_LIST_OF_RANKS = re.compile(r"\s*ranks?\s", re.IGNORECASE)
_ENDS = re.compile(r"([0-9]+)(?:\s*->\s*([0-9]+))?")


def search(incident: Incident, typed: str, here: Place) -> list[Place]:
    """Places that match :data:`GRAMMAR`, in the order in which they are stepped through.

    Raises ``ValueError`` with one line for a term that lacks its value, and for a rank or seq that is no number.
    """
    typed = typed.strip()
    if not typed:
        return []
    terms = terms_of(typed)
    if terms:
        finder = next(name for name in _FINDERS if name in terms)
        found = _find(incident, finder, terms, here)
        for name, value in terms.items():
            if name != finder:
                found = _narrowed(incident, found, name, value)
        return _unique(found)
    if typed.isascii() and typed.isdigit():
        return _rank(incident, int(typed)) or _seq(incident, int(typed), here)
    return _unique(
        [
            *_groups(incident, typed),
            *_lanes(incident, typed),
            *_findings(incident, typed),
            *_records(incident, typed),
            *_hosts(incident, typed),
        ]
    )


def _find(incident: Incident, name: str, terms: Mapping[str, str], here: Place) -> list[Place]:
    value = terms[name]
    if name == "rank":
        return _rank(incident, int(value))
    if name == "seq":
        return _seq(incident, int(value), here)
    if name == "host":
        return _hosts(incident, value)
    if name == "p2p":
        return [opening_of(incident, lane) for lane in sorted_lanes(incident) if _joins(lane.lane, value)][:MOST]
    if name == "group":
        return _groups(incident, value)
    groups = _group_ids(incident, terms["group"]) if "group" in terms else {group.id for group in incident.groups}
    if "rank" in terms:
        groups &= {group.id for group in incident.groups if int(terms["rank"]) in group.ranks}
    # The calls of these groups, and no others: there may be more than are kept.
    return _records(incident, value, ops=name == "op", stacks=name == "func", groups=groups)


def _narrowed(incident: Incident, places: list[Place], name: str, value: str) -> list[Place]:
    """Places that fit one more term; a rank or host moves the cursor to that rank's row of the call."""
    if name == "group":
        groups = _group_ids(incident, value)
        return [place for place in places if place.group in groups]
    if name == "p2p":
        return [place for place in places if _joins(place.lane, value)]
    if name == "seq":
        seq = int(value)
        lanes = {(lane.group, lane.lane): lane for lane in incident.lanes}
        held = [(place, lanes[place.group, place.lane]) for place in places]
        return [place._replace(seq=seq) for place, lane in held if lane.first <= seq <= lane.front]
    if name in ("rank", "host"):
        wanted = {int(value)} if name == "rank" else _ranks_on(incident, value)
        moved = []
        for place in places:
            rows = [rank for rank in ranks_of(incident, place.group, place.lane) if rank in wanted]
            if rows:
                moved.append(place if place.rank in rows else place._replace(rank=rows[0]))
        return moved
    calls = {place[:3] for place in _records(incident, value, ops=name == "op", stacks=name == "func")}
    return [place for place in places if place[:3] in calls]


def ranks_by_host(incident: Incident) -> dict[str, set[int]]:
    """World ranks by their host's name, from the dumps' names and what the files say."""
    hosts: dict[str, set[int]] = {}
    for source in incident.records.sources:
        if source.host and source.rank is not None:
            hosts.setdefault(source.host, set()).add(source.rank)
    for fact in incident.facts:
        if fact.name == "host":
            hosts.setdefault(fact.value, set()).update(fact.ranks)
    return hosts


def _ranks_on(incident: Incident, text: str) -> set[int]:
    wanted = text.casefold()
    found = (ranks for host, ranks in ranks_by_host(incident).items() if wanted in host.casefold())
    return set().union(*found)


def rank_typed(typed: str) -> int | None:
    """The rank of ``rank 37`` or ``37``; None for anything else."""
    word = typed.strip()
    told = word if word.isascii() and word.isdigit() else terms_of(typed).get("rank", "") if len(terms_of(typed)) == 1 else ""
    return int(told) if told else None


def rankless(incident: Incident, typed: str, key: str) -> tuple[str, ...]:
    """Of a rank that the files know and that has no row in any lane: that no dump has a record of it, and what there is of it
    (``key`` opens its log), in forms that get shorter. Empty for what is no such rank."""
    rank = rank_typed(typed)
    logs = incident.logs
    known = {*incident.coverage.expected, *(logs.ranks if logs is not None else ())}
    if rank is None or rank not in known:
        return ()
    if rank in incident.coverage.read:
        return (f"rank {rank} has a dump, and no row here: its dump is in no group that is listed",)
    none = f"rank {rank} has no record in the dumps"
    if logs is None or rank not in logs.ranks:
        why = incident.coverage.missing.get(rank, "")
        return (f"{none} and no log names it: {why}" if why else f"{none} and no log names it", none)
    return (f"{none}, so no row in the grid: {key} opens its log", f"{none}: {key} opens its log")


def without_row(incident: Incident, rank: int, key: str) -> str:
    """What to say of a rank that a finding names and its lane has no row for; ``key`` opens its log."""
    if rank in incident.coverage.read:
        return f"rank {rank} has no row in this lane"
    return next(iter(rankless(incident, f"rank {rank}", key)), f"rank {rank} has no record in the dumps, so no row in the grid")


def _hosts(incident: Incident, text: str) -> list[Place]:
    """Each rank of the hosts once, at the first of its places."""
    places = (_rank(incident, rank) for rank in sorted(_ranks_on(incident, text)))
    return [each[0] for each in places if each][:MOST]


def _unique(places: Iterable[Place]) -> list[Place]:
    return list(dict.fromkeys(places))[:MOST]


def _rank(incident: Incident, rank: int) -> list[Place]:
    """Where it stands in each lane: its open request, else its newest seq, else where the lane diverges."""
    places = []
    for position in incident.view.positions(rank):
        lane = lane_at(incident, position.group, position.lane)
        if lane is None or rank not in ranks_of(incident, lane.group, lane.lane):
            continue
        known = (position.open_seq, lane.divergence, position.newest, lane.front)
        places.append(Place(lane.group, lane.lane, next(seq for seq in known if seq is not None), rank))
    listed = {(place.group, place.lane) for place in places}
    others = (lane for lane in sorted_lanes(incident) if (lane.group, lane.lane) not in listed)
    mine = (lane for lane in others if rank in ranks_of(incident, lane.group, lane.lane))
    places.extend(opening_of(incident, lane)._replace(rank=rank) for lane in mine)  # no dump: cells, but no position
    return places[:MOST]


def _seq(incident: Incident, seq: int, here: Place) -> list[Place]:
    lanes = [lane for lane in sorted_lanes(incident) if lane.first <= seq <= lane.front]
    lanes.sort(key=lambda lane: (lane.group, lane.lane) != (here.group, here.lane))
    places = []
    for lane in lanes[:MOST]:
        members = ranks_of(incident, lane.group, lane.lane)
        if members:
            places.append(Place(lane.group, lane.lane, seq, here.rank if here.rank in members else members[0]))
    return places


def _group_ids(incident: Incident, text: str) -> set[int]:
    """Groups that are called so; where none is, those whose name or description holds the text."""
    wanted = text.casefold()
    exact = {
        group.id for group in incident.groups if wanted in {each.casefold() for each in (group.desc, group.name, group.label)}
    }
    return exact or {group.id for group in incident.groups if wanted in f"{group.desc}\n{group.name}".casefold()}


def _groups(incident: Incident, text: str) -> list[Place]:
    groups = _group_ids(incident, text)
    return [opening_of(incident, lane) for lane in sorted_lanes(incident) if lane.group in groups][:MOST]


def _joins(lane: str, ends: str) -> bool:
    """Whether a lane goes between these ranks (``10->2``), or from or to this one (``10``)."""
    said = _ENDS.fullmatch(ends)
    if said is None or lane == COLLECTIVE:
        return False
    source, target = said.groups()
    return lane == p2p_lane(int(source), int(target)) if target else source in lane.removeprefix("p2p ").split("->")


def _lanes(incident: Incident, text: str) -> list[Place]:
    """Lanes of sends and receives by the name that the screen gives them: ``pp p2p 10->2``."""
    wanted = text.casefold()
    names = {group.id: (group.called, group.label) for group in incident.groups}  # as in the list, as in sentences
    lanes = (lane for lane in sorted_lanes(incident) if lane.lane != COLLECTIVE)
    found = (lane for lane in lanes if any(wanted in f"{name} {lane.lane}".casefold() for name in names.get(lane.group, ("",))))
    return [opening_of(incident, lane) for lane in found][:MOST]


def _findings(incident: Incident, text: str) -> list[Place]:
    wanted = text.casefold()
    found = (place_of(incident, finding) for finding in incident.findings if wanted in _words_of(incident, finding))
    return [place for place in found if place is not None]


def _words_of(incident: Incident, finding: Finding) -> str:
    """Its summary, what the banner says instead, its kind and its role: what is read on the screen is found."""
    return f"{finding.summary}\n{brief(incident, finding)}\n{finding.kind.words}\n{role_word(incident, finding)}".casefold()


def _records(
    incident: Incident, text: str, *, ops: bool = True, stacks: bool = True, groups: Collection[int] | None = None
) -> list[Place]:
    """Calls (of ``groups``; None: of all) whose operation or stack holds the text, newest first."""
    wanted = text.casefold()
    records = incident.records
    all_ops = records.ops if ops else ()
    all_stacks = records.stacks if stacks else ()
    found_ops = [at for at, op in enumerate(all_ops) if wanted in op.text.casefold() or wanted in op.family]
    names = ("\n".join(f"{each.name} {each.filename}" for each in stack).casefold() for stack in all_stacks)
    found_stacks = [at for at, text in enumerate(names) if wanted in text]
    frame = incident.entries
    if not (found_ops or found_stacks) or frame.is_empty():
        return []
    import polars as pl

    if groups is not None:
        frame = frame.filter(pl.col("group").is_in(list(groups)))
    hits = (
        frame.lazy()
        .filter(pl.col("op").is_in(found_ops) | pl.col("stack").is_in(found_stacks))
        .filter(pl.col("group").is_not_null() & pl.col("seq").is_not_null() & ~pl.col("is_p2p"))
        .group_by("group", "seq")
        .agg(pl.col("rank").min())
        .sort("seq", "group", descending=[True, False])
        .head(MOST)
        .collect()
    )
    places = [Place(group, COLLECTIVE, seq, rank) for group, seq, rank in hits.iter_rows()]
    found = [place for place in places if lane_at(incident, place.group, place.lane)]
    return found or _sends(incident, found_ops)


def _sends(incident: Incident, ops: list[int]) -> list[Place]:
    """Lanes of sends and receives where the operation is one of them: they have no number that all members share."""
    if not {incident.records.ops[at].family for at in ops} & {"send", "recv"}:
        return []
    return [opening_of(incident, lane) for lane in sorted_lanes(incident) if lane.lane != COLLECTIVE][:MOST]


def filtered_ranks(plane: Plane, typed: str, leads: Iterable[int], marked: Iterable[int]) -> set[int]:
    """Ranks of the lane to keep: a list (``0-7,12``), a state's word, ``differs``, ``lead`` or ``marked``.

    Raises ``ValueError`` with one line that says what may be typed.
    """
    word = " ".join(typed.casefold().split())
    for state in CellState:
        if word == state.word:
            return plane.in_state(state)
    if word == "differs":
        return plane.differing()
    if word in ("lead", "leads", "marked"):
        return set(marked if word == "marked" else leads) & set(plane.ranks)
    try:
        return set(_listed(typed)) & set(plane.ranks)
    except ValueError as error:
        raise ValueError(f"{error}; or a state (not requested), differs, lead, marked") from None


def _listed(typed: str) -> tuple[int, ...]:
    """``0-7,12``, and ``rank 12`` or ``0-7 12`` for who types it so."""
    return parse_ranks(re.sub(r"(?<=[0-9])\s+(?=[0-9])", ",", _LIST_OF_RANKS.sub("", typed, count=1)))


def strange_ranks(plane: Plane, typed: str) -> tuple[int, ...]:
    """Ranks of a typed list that the lane does not have, ascending; none where something else was typed."""
    try:
        return tuple(sorted(set(_listed(typed)) - set(plane.ranks)))
    except ValueError:
        return ()
