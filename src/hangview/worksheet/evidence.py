"""Small words for prefilled lines: where they come from, folded ranks, durations."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.schema import SourceKind, SourceStatus
from hangview.text import escape, fold_ranks, name_ranks
from hangview.worksheet.model import Prefilled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hangview.incident import Incident
    from hangview.schema import Source
    from hangview.terms import Fact

#: Lines of one field before the rest is counted instead.
LINES = 12
#: Parts of a folded rank list before it is cut short.
RANK_PARTS = 12


def ranks_text(ranks: Iterable[int]) -> str:
    """``"rank 3"``, ``"ranks 0-2,8"``, cut short after RANK_PARTS parts with the number of ranks."""
    return name_ranks(ranks, RANK_PARTS)


def counted_ranks(ranks: Sequence[int]) -> str:
    """``"64 ranks, 0-63"``; ``"no ranks"``."""
    if not ranks:
        return "no ranks"
    return f"{len(ranks):,} rank{'s' if len(ranks) != 1 else ''}, {fold_ranks(ranks, RANK_PARTS)}"


def paths_text(paths: Iterable[str]) -> str:
    """``"comm_lib_trace_rank_0 and 63 more"``; the paths in the order given, without repetition."""
    unique = list(dict.fromkeys(escape(path) for path in paths))
    if not unique:
        return "no file"
    return unique[0] if len(unique) == 1 else f"{unique[0]} and {len(unique) - 1:,} more"


def by_rank(source: Source) -> tuple[int, str]:
    """Sort key: sources by rank, then path, so that nothing depends on the order of the files."""
    return (source.rank if source.rank is not None else 2**31, source.path)


def dumps(incident: Incident) -> list[Source]:
    """The dumps that take part, ascending by rank."""
    return sorted((source for source in incident.records.sources if source.usable), key=by_rank)


def logs(incident: Incident) -> list[Source]:
    """The logs that were read."""
    sources = incident.records.sources
    return sorted((s for s in sources if s.kind is SourceKind.LOG and s.status is SourceStatus.READ), key=by_rank)


def per_dump(incident: Incident, value_of: Callable[[Source], str | None], what: str) -> tuple[Prefilled, ...]:
    """One line with what the dumps say of themselves: one value when they agree, else each with its ranks. () for none."""
    found: defaultdict[str, list[Source]] = defaultdict(list)
    for source in dumps(incident):
        value = value_of(source)
        if value:
            found[value].append(source)
    named = {
        value: (tuple(s.rank for s in group if s.rank is not None), [s.path for s in group]) for value, group in found.items()
    }
    line = _one_line(named, len(dumps(incident)))
    return (Prefilled(line, f"{what} of {paths_text(path for _, paths in named.values() for path in paths)}"),) if line else ()


def per_fact(incident: Incident, *names: str, words: Mapping[str, str] | None = None) -> tuple[Prefilled, ...]:
    """One line with the facts of these names, by value; () for none. ``words``: how to write the value of a name, with {}."""
    facts = facts_named(incident, *names)
    if not facts:
        return ()
    found: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        found[(words or {}).get(fact.name, "{}").replace("{}", fact.value)].append(fact)
    named = {
        value: (tuple(rank for fact in group for rank in fact.ranks), [fact.origin for fact in group])
        for value, group in found.items()
    }
    line = _one_line(named, len(incident.coverage.expected))
    return (Prefilled(line, paths_text(fact_origin(fact) for fact in facts)),)


def facts_named(incident: Incident, *names: str) -> list[Fact]:
    """The facts of these names, in the order of the names."""
    return [fact for name in names for fact in incident.facts if fact.name == name]


def fact_origin(fact: Fact) -> str:
    """Where a fact comes from, in words that follow "from"."""
    origin = escape(fact.origin)
    if origin.startswith("printed ("):
        return f"a line that was {origin}"
    return origin.removeprefix("by ")


def _one_line(named: dict[str, tuple[tuple[int, ...], list[str]]], everyone: int) -> str:
    """Values with the ranks they hold for; the ranks are left out where one value holds for all."""
    parts = []
    for value, (ranks, _) in sorted(named.items(), key=lambda item: (-len(item[1][0]), item[1][0], item[0])):
        whole = len(named) == 1 and (not ranks or len(set(ranks)) >= everyone)
        parts.append(escape(value) if whole or not ranks else f"{escape(value)} ({ranks_text(ranks)})")
    return "; ".join(parts)


def seconds(nanoseconds: int) -> str:
    """``"0.2 s"``, ``"12 s"``, ``"3 min 20 s"``, ``"15 ms"``; without a sign."""
    value = abs(nanoseconds) / 1e9
    if value < 0.1:
        return f"{value * 1000:.3g} ms"
    if value < 10:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes:,} min {rest} s"
