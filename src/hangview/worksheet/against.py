"""What a comparison run adds: the conditions that changed against it, and the three trials around the change, as far as
evidence goes. Tolerances, checkpoints and restores are in no dump: those lines say so and stay a person's."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.compare.page import condition_lines, difference_text, unobserved_lines
from hangview.compare.values import Outcome
from hangview.engine.readings import DONE
from hangview.terms import Kind
from hangview.text import count
from hangview.worksheet.evidence import ranks_text
from hangview.worksheet.model import AGAINST, Prefilled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.compare.values import Comparison, Condition, Side
    from hangview.incident import Incident
    from hangview.worksheet.layout import Language

    Lines = tuple[Prefilled, ...]

#: What the two sets are called in a worksheet, which is about the second of them.
NAMES = ("the comparison run", "this run")
#: Reasons why something was not compared that are repeated here; the rest is counted.
REASONS = 3


def against_lines(incident: Incident, comparison: Comparison, words: Language) -> Mapping[str, Lines]:
    """Prefilled lines by field. ``comparison`` has the comparison run as its first set and ``incident`` as its second."""
    origin = f"{AGAINST}{', '.join(comparison.a.paths)}"
    changed = [Prefilled(line, origin) for line in condition_lines(comparison)]
    if not comparison.changed:
        changed.append(Prefilled("no recorded condition differs; what the files do not record may", origin))
    changed.append(Prefilled(f"with that, {_outcome(comparison)}", origin))
    same = "these are the same files as this run's: " if comparison.same_files else ""
    compared = f"{', '.join(comparison.a.paths)}: {same}{comparison.a.answer}"
    return {
        "compared": (Prefilled(compared, "the path that was given for it"),),
        "changed_count": _changed_count(comparison, words, origin),
        "changed": tuple(changed),
        "trials": tuple(Prefilled(line, origin) for line in _trials(incident, comparison)),
    }


def _changed_count(comparison: Comparison, words: Language, origin: str) -> Lines:
    """One of the answers of the table. None recorded is no answer: what is not in the files may have changed."""
    _, one, several = words.options["changed_count"]
    number = len(comparison.changed)
    answer = "" if not number else one if number == 1 else several
    return (Prefilled(answer, f"{origin}, as far as the files record it"),) if answer else ()


def _outcome(comparison: Comparison) -> str:
    if comparison.outcome is Outcome.NOTHING:
        return "no call is held by both runs, so nothing was compared"
    calls = count(sum(pair.compared + pair.messages for pair in comparison.groups), "call")
    if comparison.outcome is Outcome.SAME:
        return f"{calls} that both runs hold agree"
    return f"the runs differ first in {difference_text(comparison.differences[0], comparison.groups, NAMES)}"


def _trials(incident: Incident, comparison: Comparison) -> Sequence[str]:
    before, here = comparison.a, comparison.b
    lines = [f"1 devices: {_devices(incident, comparison)}", f"1 groups: {_groups(comparison)}"]
    lines.append(f"1 initialisation: {_initialised(incident)}")
    lines.append(f"2 records recovered: {_recovered(here)} in this run, {_recovered(before)} in the comparison run")
    lines.append(f"2 progress: {_outcome(comparison)}")
    reasons = unobserved_lines(comparison)
    lines += [
        f"2 not compared (A: the comparison run, B: this run): {reason.removeprefix('not compared: ')}"
        for reason in reasons[:REASONS]
    ]
    if len(reasons) > REASONS:
        lines.append(f"2 not compared: {len(reasons) - REASONS:,} more, see hangview compare")
    lines.append(f"3 in this run: {here.answer}; whether training finished is not in dumps")
    lines.append(f"3 in the comparison run: {before.answer}")
    lines.append("3 tolerances, checkpoint and restore result: in no dump and no log, to be filled in by hand")
    return lines


def _devices(incident: Incident, comparison: Comparison) -> str:
    known = {rank for fact in incident.facts if fact.name == "device" for rank in fact.ranks}
    text = f"known for {len(known):,} of {count(len(comparison.b.expected), 'rank')} of this run"
    found = next((condition for condition in comparison.conditions if condition.name == "device"), None)
    if found is None:
        return (
            f"{text}, and the same in the comparison run where both know it" if known else f"{text} and of the comparison run"
        )
    if not found.changed:
        return f"{text}; recorded in one of the two runs only"
    return f"{text}; not the same in the comparison run: {ranks_text(_others(found, comparison.a, comparison.b))}"


def _others(found: Condition, before: Side, here: Side) -> set[int]:
    """Ranks of which the two runs record different values."""
    sides: list[dict[int, set[str]]] = []
    for values, side in ((found.a, before), (found.b, here)):
        by_rank: defaultdict[int, set[str]] = defaultdict(set)
        for value in values:
            for rank in value.ranks or side.read:
                by_rank[rank].add(value.text)
        sides.append(by_rank)
    one, other = sides
    return {rank for rank in one.keys() & other.keys() if one[rank] != other[rank]}


def _groups(comparison: Comparison) -> str:
    both = sum(pair.a is not None and pair.b is not None for pair in comparison.groups)
    here = [pair.label for pair in comparison.groups if pair.a is None]
    there = [pair.label for pair in comparison.groups if pair.b is None]
    rest = "".join(
        f"; {name}: {_few(labels)}" for name, labels in (("in this run only", here), ("in the other only", there)) if labels
    )
    return f"{both:,} in both runs{rest}"


def _few(labels: Sequence[str]) -> str:
    return ", ".join(labels[:4]) + (f" and {len(labels) - 4:,} more" if len(labels) > 4 else "")


def _initialised(incident: Incident) -> str:
    """A call that is over shows that its group was made; no record shows nothing."""
    import polars as pl

    over = sorted(incident.entries.filter(pl.col("reading").is_in(DONE))["rank"].unique().to_list())
    text = f"{ranks_text(over)} had calls that were over, so that it was finished there" if over else "no call was over"
    open_ = sorted(set(incident.coverage.expected) - set(over))
    doubt = f"; {ranks_text(open_)}: no record tells" if open_ else ""
    absent = sorted({rank for finding in incident.findings if finding.kind is Kind.GROUP_ABSENT for rank in finding.ranks})
    lacking = f"; a group is absent in the dumps of {ranks_text(absent)}" if absent else ""
    return f"{text}{doubt}{lacking}"


def _recovered(side: Side) -> str:
    return f"{len(side.read):,} of {count(len(side.expected), 'rank')}"
