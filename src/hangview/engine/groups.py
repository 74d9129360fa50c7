"""Which process groups there are, and to which of them each record belongs.

A group is (name, set of member ranks): the same name on other members is another group, and a name that is a counter may
stand for different groups on different ranks. Where no configuration gives the members (gloo), they are inferred.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from hangview.engine import generations
from hangview.schema import DEFAULT_DESC
from hangview.terms import Group, told_apart
from hangview.text import fold_ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from hangview.engine.generations import Key, Place
    from hangview.schema import GroupConfig, Records

    SetOf = Callable[[tuple[int, ...]], frozenset[int]]

#: Ranks between known ones count as missing up to so many for each known one: a number in a name may be no rank at all.
_HOLES = 8
_FEW = 64
#: No job has more ranks: sizes in a dump that say so say nothing.
_WORLD = 1 << 17


@dataclass(frozen=True, slots=True)
class Grouping:
    """``of_label`` maps (source, label id, pg_id, life) to a group id, with ``back``: how often its rank has made the group
    anew since; ``life`` has the life of each entry, where a pg_id has several. ``configured`` holds (source, group id) for
    every group that a source's own configuration names; ``disputes`` lists what ranks say differently about one group.
    ``sizes``: how many members an inferred group has, where something proves it; ``world``: every rank that is known of, where
    members had to be inferred. ``earlier``: generations of a group that are not its newest -> why they are not judged;
    ``behind``: sources that are not known to be in the newest of each -> why."""

    groups: tuple[Group, ...]
    of_label: pl.DataFrame
    configured: frozenset[tuple[int, int]]
    disputes: tuple[Dispute, ...]
    sizes: Mapping[int, int] = field(default_factory=dict)
    world: frozenset[int] = frozenset()
    life: pl.Series | None = None
    earlier: Mapping[int, str] = field(default_factory=dict)
    behind: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dispute:
    """Ranks that give one group different members, names or descriptions. ``views``: (what is said, by which ranks), the
    most common first; ``groups``: ids of the groups that it is about."""

    about: str  # "members", "name", "description"
    name: str
    views: tuple[tuple[str, tuple[int, ...]], ...]
    groups: tuple[int, ...]
    unseen: int = 0  #: members by one of the views that say nothing themselves: they may be of any view

    @property
    def minority(self) -> tuple[int, ...]:
        """Ranks that are not of the view of a strict majority, whatever unseen members would say; empty when there is none."""
        counts = [len(ranks) for _, ranks in self.views]
        if 2 * counts[0] <= sum(counts) + self.unseen:
            return ()
        return tuple(sorted(r for _, ranks in self.views[1:] for r in ranks))


def resolve(records: Records, by_log: Iterable[int] = ()) -> Grouping:
    """Groups of a set of records, ordered by size (largest first), then name and members: never by file order.

    ``by_log``: ranks that logs tell of; they are members of a default group that no configuration describes.
    """
    rank_of = {i: s.rank for i, s in enumerate(records.sources) if s.usable and s.rank is not None}
    set_of = _member_sets()
    config_of, by_name = _configs(records, rank_of, set_of)
    spans, life = generations.places(records)

    said: dict[Key, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))  # descriptions, and the ranks that give them
    order: dict[Key, set[tuple[int, ...]]] = defaultdict(set)
    for config in records.configs:
        if config.ranks and config.source in rank_of:
            key = (config.name, set_of(config.ranks), 0)
            said[key][_filled(config.desc)].add(rank_of[config.source])
            order[key].add(config.ranks)
    key_of: dict[Place, Key] = {}
    loose: dict[tuple[str, str, int], list[Place]] = defaultdict(list)
    members_of = {
        (source, label): config_of.get((source, records.labels[label][0]))
        or _told_by_others(by_name.get(records.labels[label][0], ()), rank_of[source])
        for source, label in spans
    }
    home_of = {
        (s, at): (records.labels[at][0], ranks or _filled(records.labels[at][1])) for (s, at), ranks in members_of.items()
    }
    matched = generations.match(records, spans, home_of)
    for place in (span.place for found in spans.values() for span in found):
        source, label, nth = place[0], place[1], matched.nth[place]
        name, desc = records.labels[label]
        ranks = members_of[source, label]
        if ranks:
            key_of[place] = (name, ranks, nth)
            said[name, ranks, nth][_filled(desc)].add(rank_of[source])
        else:
            loose[name, _filled(desc), nth].append(place)
    inferred: set[Key] = set()
    sized = _sizes(records, {place[1] for found in loose.values() for place in found})
    world = _world(records, rank_of, set_of, sized, by_log)
    size_of: dict[Key, int] = {}
    for (name, desc, nth), found in loose.items():
        members = world if desc == DEFAULT_DESC else frozenset(rank_of[place[0]] for place in found)
        key = (name, members, nth)
        size = sized.get(found[0][1])
        if size is None and desc == DEFAULT_DESC and _only_default(records) and members == set(records.exist):
            size = len(members)
        if size is not None:
            size_of[key] = size
        if key not in said:
            inferred.add(key)
        for place in found:
            key_of[place] = key
            said[key][desc].add(rank_of[place[0]])

    same = _other_names(said)
    keys = sorted({same.get(k, k) for k in said}, key=lambda k: (-len(k[1]), _natural(k[0]), sorted(k[1]), k[2]))
    ids = {key: i for i, key in enumerate(keys)}
    ids.update({k: ids[kept] for k, kept in same.items()})
    descs: dict[Key, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for key, told in said.items():
        for desc, by in told.items():
            descs[same.get(key, key)][desc] |= by
    outlived = generations.outlived(keys)
    groups = _told_apart(
        keys,
        [
            Group(
                id=i,
                name=key[0],
                desc=_description(descs[key]),
                ranks=min(order[key]) if order[key] else tuple(sorted(key[1])),
                inferred=key in inferred,
                earlier=key[2] >= generations.EARLIER or key in outlived,
            )
            for i, key in enumerate(keys)
        ],
    )
    configured = frozenset(
        (c.source, ids[c.name, set_of(c.ranks), 0]) for c in records.configs if c.ranks and c.source in rank_of
    )
    over = {place: 1 for place, key in key_of.items() if same.get(key, key) in outlived}
    rows = [(*place, ids[key], matched.back.get(place, 0) or over.get(place, 0)) for place, key in key_of.items()]
    rows.sort(key=lambda r: (r[0], r[1], r[2] or 0, r[3]))
    place_types = {"source": pl.UInt32, "label": pl.UInt32, "pg_id": pl.Int32, "life": pl.UInt16}
    schema = {**place_types, "group": pl.Int32, "back": pl.UInt32}
    disputes = (
        *_about_members(records.configs, rank_of, ids, set_of),
        *_about_names(said, same, ids),
        *_about_descriptions(said, ids),
    )
    of_label = pl.DataFrame(rows, schema=schema, orient="row")
    sizes = {ids[key]: size for key, size in size_of.items() if key in inferred}
    earlier = {ids[key]: generations.unjudged(key[2]) for key in keys if key[2] >= generations.EARLIER or key in outlived}
    everyone = world if loose else frozenset()
    return Grouping(groups, of_label, configured, disputes, sizes, everyone, life, earlier, matched.behind)


def _member_sets() -> SetOf:
    """Member sets by rank list, each made once: a thousand ranks give the list of all thousand a thousand times."""
    known: dict[tuple[int, ...], frozenset[int]] = {}

    def set_of(ranks: tuple[int, ...]) -> frozenset[int]:
        found = known.get(ranks)
        if found is None:
            found = known[ranks] = frozenset(ranks)
        return found

    return set_of


def _told_apart(keys: list[Key], groups: list[Group]) -> tuple[Group, ...]:
    """The groups with what tells them from others of the same name; earlier generations are called after the newest."""
    newest = told_apart(
        [group for nth, group in zip((key[2] for key in keys), groups, strict=True) if nth < generations.EARLIER]
    )
    of_key = {(group.name, frozenset(group.ranks)): group.beside for group in reversed(newest)}
    called = {group.id: group for group in newest}
    for (name, members, nth), group in zip(keys, groups, strict=True):
        if group.earlier and nth >= generations.EARLIER:
            called[group.id] = replace(group, beside=of_key.get((name, members), "") + generations.beside(nth))
    return tuple(called[group.id] for group in groups)


def _other_names(said: Mapping[Key, Mapping[str, set[int]]]) -> dict[Key, Key]:
    """Groups that are one group under several names: equal members and description, and no rank knows two of the names.

    Names are counters per process: ranks that created groups in different numbers name the same group differently.
    """
    alike: dict[tuple[frozenset[int], str], list[Key]] = defaultdict(list)
    for key, descs in said.items():
        if len(key[1]) > 1 and key[2] < generations.EARLIER:
            alike[key[1], _description(descs)].append(key)
    out: dict[Key, Key] = {}
    for (members, desc), keys in alike.items():
        known = [{r for ranks in said[k].values() for r in ranks} for k in keys]
        apart = sum(len(k) for k in known) == len(set().union(*known))
        if len(keys) > 1 and desc and apart and all(k <= members for k in known):
            kept = min(keys, key=lambda k: (-len({r for v in said[k].values() for r in v}), _natural(k[0]), k[2]))
            out.update({k: kept for k in keys if k != kept})
    return out


def _configs(
    records: Records, rank_of: dict[int, int], set_of: SetOf
) -> tuple[dict[tuple[int, str], frozenset[int]], dict[str, set[frozenset[int]]]]:
    own: dict[tuple[int, str], frozenset[int]] = {}
    by_name: dict[str, set[frozenset[int]]] = defaultdict(set)
    for config in records.configs:
        ranks = set_of(config.ranks)
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


def _world(
    records: Records, rank_of: dict[int, int], set_of: SetOf, sized: Mapping[int, int], by_log: Iterable[int]
) -> frozenset[int]:
    """Every rank that is known of: files, members, what files and logs tell of others, and the ranks below, as they count
    from 0."""
    ranks = set(rank_of.values())
    ranks.update(s.rank for s in records.sources if s.rank is not None and s.kind == "dump" and s.status != "other_attempt")
    for known in {set_of(config.ranks) for config in records.configs}:
        ranks.update(known)
    ranks.update(records.exist)
    ranks.update(by_log)
    least = max(sized.values(), default=0)  # a group of n members: a world of at least n
    if least <= _WORLD:
        ranks.update(range(least))
    end = max(ranks, default=-1) + 1
    if end - len(ranks) <= max(_FEW, _HOLES * len(ranks)):
        ranks.update(range(end))
    return frozenset(ranks)


def _sizes(records: Records, labels: set[int]) -> dict[int, int]:
    """label -> number of members, by its all_gathers: each gives one part and gets one of every member."""
    ops = [i for i, op in enumerate(records.ops) if op.family == "all_gather"]
    if not labels or not ops:
        return {}
    gathers = records.entries.lazy().filter(pl.col("op").is_in(ops) & pl.col("label").is_in(sorted(labels)))
    found: dict[int, set[int | None]] = defaultdict(set)
    for label, number in gathers.select("label", "signature").unique().collect().iter_rows():
        sent, received = records.signatures[number].elements
        if sent:
            found[label].add(received // sent if received % sent == 0 else None)
    return {label: size for label, (size, *more) in sorted(found.items()) if size and not more}


def _only_default(records: Records) -> bool:
    """Whether every record is of the default group: else what a file says without naming a group may be said of another one."""
    return all(desc == DEFAULT_DESC for _, desc in records.labels)


def _filled(desc: str) -> str:
    return "" if desc == "undefined" else desc


def _description(said: Mapping[str, Collection[int]]) -> str:
    """The description that most ranks give, of those that say something; an empty or "undefined" one disagrees with nothing."""
    told = {desc: by for desc, by in said.items() if _filled(desc)}
    return min(told, key=lambda desc: (-len(told[desc]), desc), default="")


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() and len(name) < 18 else (1, 0, name)


def _views(said: Mapping[str, Iterable[int]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    ordered = sorted(((text, tuple(sorted(set(ranks)))) for text, ranks in said.items()), key=lambda v: (-len(v[1]), v[1]))
    return tuple(ordered)


def _about_members(
    configs: tuple[GroupConfig, ...], rank_of: dict[int, int], ids: Mapping[Key, int], set_of: SetOf
) -> tuple[Dispute, ...]:
    """Names for which a rank's own members differ from those that a fellow member gives it."""
    views: dict[str, dict[frozenset[int], set[int]]] = defaultdict(lambda: defaultdict(set))
    for config in configs:
        rank = rank_of.get(config.source)
        if config.ranks and rank is not None and rank in config.ranks:
            views[config.name][set_of(config.ranks)].add(rank)
    out = []
    for name, by_members in sorted(views.items()):
        crossing = {
            members
            for members, said in by_members.items()
            for other, said_other in by_members.items()
            if other != members and (said_other & members or said & other)
        }
        if crossing:
            told = {f"members {fold_ranks(m)}": by_members[m] for m in crossing}
            unseen = frozenset().union(*crossing) - frozenset().union(*told.values())
            where = tuple(sorted(ids[name, m, 0] for m in crossing))
            out.append(Dispute("members", name, _views(told), where, len(unseen)))
    return tuple(out)


def _about_names(
    said: Mapping[Key, Mapping[str, set[int]]], same: Mapping[Key, Key], ids: Mapping[Key, int]
) -> tuple[Dispute, ...]:
    out = []
    for kept in sorted(set(same.values()), key=lambda k: ids[k]):
        keys = [kept, *sorted((k for k, v in same.items() if v == kept), key=lambda k: _natural(k[0]))]
        told = {f"name {k[0]!r}": {r for ranks in said[k].values() for r in ranks} for k in keys}
        out.append(Dispute("name", kept[0], _views(told), (ids[kept],)))
    return tuple(out)


def _about_descriptions(said: Mapping[Key, Mapping[str, set[int]]], ids: Mapping[Key, int]) -> tuple[Dispute, ...]:
    out = []
    for key, descs in sorted(said.items(), key=lambda x: ids[x[0]]):
        told = {f"description {d!r}": ranks for d, ranks in descs.items() if d}
        if len(told) > 1:
            out.append(Dispute("description", key[0], _views(told), (ids[key],)))
    return tuple(out)
