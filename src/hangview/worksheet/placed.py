"""Who is where: the groups with their members, the host and the device of each rank."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.report.by_log import from_logs_alone
from hangview.schema import SourceKind
from hangview.terms import Role
from hangview.text import count, escape
from hangview.worksheet import evidence
from hangview.worksheet.evidence import LINES
from hangview.worksheet.model import Prefilled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.incident import Incident
    from hangview.terms import Group

    Lines = tuple[Prefilled, ...]
    _Origins = Mapping[tuple[str, frozenset[int]], list[str]]


def group_lines(incident: Incident) -> Lines:
    """The groups of findings first, then the large ones; the rest folded by name pattern and size."""
    worst = {Role.LEAD: 0, Role.NOTE: 1, Role.WAITING: 2}
    roles: dict[int, int] = {}
    for lane in incident.lanes:
        if lane.role is not None:
            roles[lane.group] = min(roles.get(lane.group, 9), worst[lane.role])
    ordered = sorted(incident.groups, key=lambda group: (roles.get(group.id, 9), -len(group.ranks), group.id))
    origins = _group_origins(incident)
    shown = ordered if len(ordered) <= LINES else ordered[: LINES // 2]
    lines = [Prefilled(_group_text(incident, group), _group_origin(incident, group, origins)) for group in shown]
    patterns: defaultdict[tuple[str, int], list[Group]] = defaultdict(list)
    for group in ordered[len(shown) :]:
        patterns[re.sub(r"\d+", "N", escape(group.called)), len(group.ranks)].append(group)
    for (pattern, size), groups in list(patterns.items())[: LINES // 2]:
        members = {rank for group in groups for rank in group.ranks}
        if len(groups) == 1:
            lines.append(Prefilled(_group_text(incident, groups[0]), _group_origin(incident, groups[0], origins)))
            continue
        named = "named by a number alone" if pattern == "N" else pattern
        text = f"{named}: {count(len(groups), 'more group')} of {count(size, 'rank')}, together {evidence.ranks_text(members)}"
        paths = [path for group in groups for path in origins.get((group.name, frozenset(group.ranks)), ())]
        origin = (
            f"group configuration of {evidence.paths_text(paths)}" if paths else _group_origin(incident, groups[0], origins)
        )
        lines.append(Prefilled(text, origin))
    if len(patterns) > LINES // 2:
        rest = sum(len(groups) for groups in list(patterns.values())[LINES // 2 :])
        lines.append(Prefilled(f"{rest:,} more groups", "the groups of hangview report --format json"))
    return tuple(lines)


def _group_text(incident: Incident, group: Group) -> str:
    name, desc = escape(group.name), escape(group.desc)
    called = f"{name} ({desc})" if desc and desc != name else name or escape(group.called)
    if group.inferred and from_logs_alone(incident):
        return f"{called}: of its members those are known whose logs tell of it: {evidence.counted_ranks(group.ranks)}"
    inferred = "; members inferred from who recorded it" if group.inferred else ""
    return f"{called}: {evidence.counted_ranks(group.ranks)}{inferred}"


def _group_origins(incident: Incident) -> _Origins:
    """The files that give a group these members: a name alone can be another group's on another rank."""
    origins: defaultdict[tuple[str, frozenset[int]], list[str]] = defaultdict(list)
    sources = incident.records.sources
    for config in sorted(incident.records.configs, key=lambda config: evidence.by_rank(sources[config.source])):
        origins[config.name, frozenset(config.ranks)].append(sources[config.source].path)
    return origins


def _group_origin(incident: Incident, group: Group, origins: _Origins) -> str:
    if group.inferred:
        return "the logs of its members" if from_logs_alone(incident) else "the records of its members"
    paths = origins.get((group.name, frozenset(group.ranks)))
    return f"group configuration of {evidence.paths_text(paths)}" if paths else "the dumps of its members"


def host_lines(incident: Incident) -> Lines:
    found: dict[int, tuple[str, str]] = {}
    for source in sorted(
        incident.records.sources, key=lambda source: (source.kind is not SourceKind.DUMP, *evidence.by_rank(source))
    ):
        if source.rank is not None and source.host:
            found.setdefault(source.rank, (source.host, source.path))
    return _ranks_by_value(found) or _by_fact(incident, "host")


def device_lines(incident: Incident) -> Lines:
    return _by_fact(incident, "device")


def _by_fact(incident: Incident, name: str) -> Lines:
    return _ranks_by_value(
        {rank: (fact.value, evidence.fact_origin(fact)) for fact in incident.facts if fact.name == name for rank in fact.ranks}
    )


def _ranks_by_value(found: Mapping[int, tuple[str, str]]) -> Lines:
    """One line for each value with the ranks that have it: hosts, devices."""
    ranks: defaultdict[str, list[int]] = defaultdict(list)
    for rank, (value, _) in sorted(found.items()):
        ranks[value].append(rank)
    lines = [
        Prefilled(f"{evidence.ranks_text(members)} → {escape(value)}", evidence.paths_text(found[rank][1] for rank in members))
        for value, members in ranks.items()
    ]
    if len(lines) > LINES:
        rest = [rank for members in list(ranks.values())[LINES - 1 :] for rank in members]
        more = Prefilled(f"{evidence.ranks_text(rest)} → {len(lines) - LINES + 1:,} more", "hangview check")
        lines = [*lines[: LINES - 1], more]
    return tuple(lines)
