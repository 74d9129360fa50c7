"""Which group of one set is which group of the other: by description and members, then by name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.schema import DEFAULT_DESC

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from hangview.terms import Group


@dataclass(frozen=True, slots=True)
class Match:
    """Two groups that are taken for the same one, or a group that only one set has. ``doubt``: why it is not compared."""

    a: Group | None
    b: Group | None
    by: str = ""
    doubt: str = ""


def match_groups(ones: Sequence[Group], others: Sequence[Group]) -> tuple[Match, ...]:
    """Every group of both sets exactly once, in the order of the first set, then what only the second has.

    Each rule takes only what is unique in both sets, so that no group is paired by chance, and no earlier generation:

    * description and members; where the description says nothing or several groups share it, the name decides
    * name and description, where a recorder does not write members (gloo) and one side's are inferred from fewer ranks
    * the default group, also where the world has another size
    """
    left, right = ([group for group in groups if not group.earlier] for groups in (ones, others))
    pairs: dict[int, Match] = {}

    def take(
        key: Callable[[Group], Hashable | None], by: str, fits: Callable[[Group, Group], bool] = lambda _a, _b: True
    ) -> None:
        mine, theirs = _unique(left, key), _unique(right, key)
        for said in mine.keys() & theirs.keys():
            one, other = mine[said], theirs[said]
            if fits(one, other):
                pairs[one.id] = Match(one, other, by)
                left.remove(one)
                right.remove(other)

    take(lambda g: (g.name, _desc(g), frozenset(g.ranks)) if _desc(g) else None, "name, description and members")
    take(lambda g: (_desc(g), frozenset(g.ranks)) if _desc(g) else None, "description and members")
    take(lambda g: (g.name, frozenset(g.ranks)) if g.name else None, "name and members", _same_desc)
    take(lambda g: (g.name, _desc(g)) if g.name else None, "name and description", _inferred_part)
    take(lambda g: DEFAULT_DESC if g.desc == DEFAULT_DESC else None, "the default group")

    shared = {_place(group) for group in left} & {_place(group) for group in right}
    out = [pairs[group.id] if group.id in pairs else _alone(group, shared, first=True) for group in ones]
    unpaired = [group for group in others if group in right or group.earlier]
    return (*out, *(_alone(group, shared, first=False) for group in unpaired))


def _alone(group: Group, shared: set[Hashable], *, first: bool) -> Match:
    doubt = ""
    if group.earlier:
        doubt = "the group was made anew since, and calls of an earlier generation are not compared"
    elif _place(group) in shared:
        doubt = "several groups have these members, and neither description nor name tells which is which"
    return Match(group if first else None, None if first else group, doubt=doubt)


def _unique(groups: Sequence[Group], key: Callable[[Group], Hashable | None]) -> dict[Hashable, Group]:
    found: defaultdict[Hashable, list[Group]] = defaultdict(list)
    for group in groups:
        said = key(group)
        if said is not None:
            found[said].append(group)
    return {said: same[0] for said, same in found.items() if len(same) == 1}


def _desc(group: Group) -> str:
    return "" if group.desc == "undefined" else group.desc


def _same_desc(one: Group, other: Group) -> bool:
    return not _desc(one) or not _desc(other) or _desc(one) == _desc(other)


def _inferred_part(one: Group, other: Group) -> bool:
    mine, theirs = set(one.ranks), set(other.ranks)
    return (one.inferred and mine <= theirs) or (other.inferred and theirs <= mine)


def _place(group: Group) -> Hashable:
    return (_desc(group), frozenset(group.ranks))
