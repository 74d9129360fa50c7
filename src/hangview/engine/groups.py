"""Which process groups there are, and to which of them each record belongs.

A group is (name, set of member ranks): the same name on other members is another group, and a name that is a counter may
stand for different groups on different ranks. Where no configuration gives the members (gloo), they are inferred.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from hangview.incident import Group

if TYPE_CHECKING:
    from hangview.schema import GroupConfig, Records

DEFAULT_DESC = "default_pg"


@dataclass(frozen=True, slots=True)
class Grouping:
    """``of_label`` maps (source, label id) to a group id; ``configured`` holds (source, group id) for every group that a
    source's own configuration names; ``disputed`` lists groups whose members two ranks give differently."""

    groups: tuple[Group, ...]
    of_label: pl.DataFrame
    configured: frozenset[tuple[int, int]]
    disputed: tuple[Dispute, ...]


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two configurations of one name that overlap and yet differ."""

    name: str
    views: tuple[tuple[tuple[int, ...], tuple[int, ...], str], ...]  #: (members, ranks that say so, desc)


def resolve(records: Records) -> Grouping:
    """Groups of a set of records, ordered by size (largest first), then name and members: never by file order."""
    rank_of = {i: s.rank for i, s in enumerate(records.sources) if s.usable and s.rank is not None}
    config_of, by_name = _configs(records, rank_of)
    world = _world(records, rank_of)
    used = records.entries.select("source", "label").unique().rows()

    #: (name, members) -> descriptions seen
    found: dict[tuple[str, frozenset[int]], set[str]] = defaultdict(set)
    order: dict[tuple[str, frozenset[int]], set[tuple[int, ...]]] = defaultdict(set)
    for config in records.configs:
        if config.ranks:
            key = (config.name, frozenset(config.ranks))
            found[key].add(config.desc)
            order[key].add(config.ranks)
    key_of: dict[tuple[int, int], tuple[str, frozenset[int]]] = {}
    loose: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for source, label in used:
        name, desc = records.labels[label]
        ranks = config_of.get((source, name)) or _told_by_others(by_name.get(name, ()), rank_of[source])
        if ranks:
            key_of[source, label] = (name, ranks)
            found[name, ranks].add(desc)
        else:
            loose[name, _filled(desc)].append((source, label))
    inferred: set[tuple[str, frozenset[int]]] = set()
    for (name, desc), places in loose.items():
        members = world if desc == DEFAULT_DESC else frozenset(rank_of[source] for source, _ in places)
        key = (name, members)
        if key not in found:
            inferred.add(key)
        found[key].add(desc)
        for place in places:
            key_of[place] = key

    keys = sorted(found, key=lambda k: (-len(k[1]), _natural(k[0]), sorted(k[1])))
    ids = {key: i for i, key in enumerate(keys)}
    groups = tuple(
        Group(
            id=i,
            name=key[0],
            desc=_description(found[key]),
            ranks=min(order[key]) if order[key] else tuple(sorted(key[1])),
            inferred=key in inferred,
        )
        for key, i in ids.items()
    )
    configured = frozenset(
        (c.source, ids[c.name, frozenset(c.ranks)]) for c in records.configs if c.ranks and c.source in rank_of
    )
    of_label = pl.DataFrame(
        [(s, label, ids[key]) for (s, label), key in sorted(key_of.items(), key=lambda x: x[0])],
        schema={"source": pl.UInt32, "label": pl.UInt32, "group": pl.Int32},
        orient="row",
    )
    return Grouping(groups, of_label, configured, _disputes(records.configs, rank_of))


def _configs(
    records: Records, rank_of: dict[int, int]
) -> tuple[dict[tuple[int, str], frozenset[int]], dict[str, set[frozenset[int]]]]:
    own: dict[tuple[int, str], frozenset[int]] = {}
    by_name: dict[str, set[frozenset[int]]] = defaultdict(set)
    for config in records.configs:
        ranks = frozenset(config.ranks)
        if not ranks or config.source not in rank_of:
            continue
        by_name[config.name].add(ranks)
        if rank_of[config.source] in ranks:
            own[config.source, config.name] = ranks
    return own, by_name


def _told_by_others(views: set[frozenset[int]] | tuple[()], rank: int) -> frozenset[int] | None:
    """The members that other ranks' configurations give for a name, if exactly one of them holds this rank."""
    mine = [ranks for ranks in views if rank in ranks]
    return mine[0] if len(mine) == 1 else None


def _world(records: Records, rank_of: dict[int, int]) -> frozenset[int]:
    """Every rank that is known of: files and members."""
    ranks = set(rank_of.values())
    ranks.update(s.rank for s in records.sources if s.rank is not None and s.kind == "dump" and s.status != "other_attempt")
    for config in records.configs:
        ranks.update(config.ranks)
    return frozenset(ranks)


def _filled(desc: str) -> str:
    return "" if desc == "undefined" else desc


def _description(seen: set[str]) -> str:
    """The description that says something; an empty or "undefined" one disagrees with nothing."""
    said = sorted(d for d in seen if _filled(d))
    return said[0] if said else ""


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() and len(name) < 18 else (1, 0, name)


def _disputes(configs: tuple[GroupConfig, ...], rank_of: dict[int, int]) -> tuple[Dispute, ...]:
    """Names for which a rank's own members differ from those that a fellow member gives it."""
    views: dict[str, dict[tuple[int, ...], set[tuple[int, str]]]] = defaultdict(lambda: defaultdict(set))
    for config in configs:
        rank = rank_of.get(config.source)
        if config.ranks and rank is not None:
            views[config.name][tuple(sorted(config.ranks))].add((rank, config.desc))
    out = []
    for name, by_members in sorted(views.items()):
        overlapping = {
            members
            for members, said in by_members.items()
            for other, said_other in by_members.items()
            if other != members and ({r for r, _ in said_other} & set(members) or {r for r, _ in said} & set(other))
        }
        if overlapping:
            out.append(
                Dispute(
                    name,
                    tuple(
                        (m, tuple(sorted({r for r, _ in by_members[m]})), _description({d for _, d in by_members[m]}))
                        for m in sorted(overlapping)
                    ),
                )
            )
    return tuple(out)
