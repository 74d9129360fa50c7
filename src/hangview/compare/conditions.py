"""What was recorded about the two runs and is not the same: the things that may have been changed between them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.compare.values import Condition, Value
from hangview.report.coverage import world_size
from hangview.text import escape

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.terms import Fact

#: Facts that name one run or lie in its nature, and say nothing about how it was set up.
_OF_ONE_RUN = frozenset({"run", "job", "attempts", "dump_path", "restart", "world_size", "env TORCHELASTIC_RUN_ID"})
#: What was printed about how a run went: where it differs that is an outcome, and nobody changed it.
_OUTCOMES = frozenset({"nccl_warning", "desync_report"})
_PATHS = frozenset({"env TORCH_FR_DUMP_TEMP_FILE", "env TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "env NCCL_DEBUG_FILE"})
_COUNTERS = frozenset({"env TORCHELASTIC_RESTART_COUNT", "env TORCHELASTIC_MAX_RESTARTS"})
_LEFT_OUT = _OF_ONE_RUN | _PATHS | _COUNTERS | _OUTCOMES
WORLD = "world size"
#: In the order in which a person would ask; what is not here comes after, by name.
_ORDER = (WORLD, "torch", "backend", "library", "nccl", "cuda", "driver", "cuda_driver_api", "python", "device", "host")
_WORDS = {
    "torch": "PyTorch",
    "library": "communication library",
    "nccl": "NCCL, by the logs",
    "cuda": "CUDA",
    "cuda_driver_api": "driver API",
    "python": "Python",
    "schema": "dump schema",
    "timeout": "time-out",
}
#: Facts worded so were not printed by anybody, but taken from how lines look: a range, and no proof of a change.
_GUESSED = "by the wording"


def conditions(a: Incident, b: Incident) -> tuple[Condition, ...]:
    """Conditions that the sets do not record alike, the first to ask about first; values of ranks are folded."""
    found = {**_world(a, b)}
    one, other = _facts(a), _facts(b)
    for name in one.keys() | other.keys():
        mine, theirs = one.get(name, ()), other.get(name, ())
        if not _same(mine, theirs):
            certain = bool(mine and theirs) and not any(fact.origin.startswith(_GUESSED) for fact in (*mine, *theirs))
            found[name] = Condition(_word(name), _values(mine, a), _values(theirs, b), certain)
    if "schema" in found:
        by = next((name for name in ("torch", "backend") if name in found and found[name].changed), None)
        found["schema"] = replace(found["schema"], follows=by is not None)
    if "nccl" in found and "library" in found:  # one number, by the logs and by the dumps
        found["nccl"] = replace(found["nccl"], follows=True)
    return tuple(found[name] for name in sorted(found, key=_place))


def _world(a: Incident, b: Incident) -> dict[str, Condition]:
    """The number of ranks. Where a set does not record it, only the least that there must be is known: at least 7 may be 16."""
    (one, told), (other, told_too) = world_size(a), world_size(b)
    if not one or not other or one == other:
        return {}
    values = [(Value(f"{'' if exact else 'at least '}{size:,} ranks"),) for size, exact in ((one, told), (other, told_too))]
    apart = told if one < other else told_too  # the smaller one is a number, and no bound
    return {WORLD: Condition(WORLD, values[0], values[1], changed=apart)}


def _facts(incident: Incident) -> dict[str, tuple[Fact, ...]]:
    found: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in incident.facts:
        if fact.name not in _LEFT_OUT:
            found[fact.name].append(fact)
    return {name: tuple(facts) for name, facts in found.items()}


def _same(mine: tuple[Fact, ...], theirs: tuple[Fact, ...]) -> bool:
    """Whether both say the same of every rank that both speak of; of the run as a whole where either names no ranks."""
    if not mine or not theirs:
        return False
    one, other = _by_rank(mine), _by_rank(theirs)
    common = one.keys() & other.keys()
    if common:
        return all(one[rank] == other[rank] for rank in common)
    return {fact.value for fact in mine} == {fact.value for fact in theirs}


def _by_rank(facts: tuple[Fact, ...]) -> dict[int, set[str]]:
    found: defaultdict[int, set[str]] = defaultdict(set)
    for fact in facts:
        for rank in fact.ranks:
            found[rank].add(fact.value)
    return found


def _values(facts: tuple[Fact, ...], incident: Incident) -> tuple[Value, ...]:
    """Each value with its ranks; without them where it is the only one and holds for every rank that was read."""
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    for fact in facts:
        ranks[escape(fact.value)].update(fact.ranks)
    if len(ranks) == 1:
        ((text, who),) = ranks.items()
        return (Value(text, tuple(sorted(who)) if who and not who >= set(incident.coverage.read) else ()),)
    return tuple(
        Value(text, tuple(sorted(who))) for text, who in sorted(ranks.items(), key=lambda item: (sorted(item[1]), item[0]))
    )


def _word(name: str) -> str:
    return escape(_WORDS.get(name, name.removeprefix("env ")))


def _place(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)
