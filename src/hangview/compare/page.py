"""A comparison in words: the answer first, then what was changed, the differences, and what could not be compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from hangview.compare.conditions import WORLD
from hangview.compare.left_out import lost_text
from hangview.compare.pairs import NO_OVERLAP
from hangview.compare.values import Outcome
from hangview.report.lines import Line, plain
from hangview.report.markdown import markup_free
from hangview.terms import COLLECTIVE
from hangview.text import count, fold_ranks, name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.compare.values import Comparison, Condition, Difference, Duration, Pair, Part, Side, Value

#: Lines of each part before the rest is counted instead; ``--all`` shows everything.
DIFFERENCES, PARTS, DURATIONS, GROUPS = 8, 4, 6, 8
RANK_PARTS = 12
NO_CALL = "no call could be compared"
NOT_COMPARED = "NOT COMPARED"
DISPUTED = "they do not say the same: that rests on what only one of them holds and is not compared, or on logs"
SAME_FILES = "A and B are the same files"
DIFFERENCES_HEADING = "where they stop agreeing"
DURATIONS_HEADING = "note: durations, medians over the records that hold one (no verdict rests on them)"
MORE = "… {} more: hangview compare --all shows everything"

#: A part of a page: a heading ("" for the answer) and its lines; a line of an indent belongs to the one above it.
Block = tuple[str, list[Line]]


def to_text(comparison: Comparison, *, everything: bool = False) -> str:
    """The comparison as plain text, one fact a line."""
    return plain(comparison_lines(comparison, everything=everything))


def comparison_lines(comparison: Comparison, *, everything: bool = False) -> list[Line]:
    """The lines of the comparison, for a terminal or a pipe."""
    lines: list[Line] = []
    for heading, block in blocks(comparison, everything=everything):
        if heading:
            lines += [Line(), Line(heading, "head")]
            lines += [Line(line.text, line.style, line.indent + 2, line.hang) for line in block]
        else:
            lines += block
    return lines


def to_markdown(comparison: Comparison, *, everything: bool = False) -> str:
    """The comparison as one markdown document with a title: the same words as the text."""
    lines = ["# hangview compare", ""]
    for heading, block in blocks(comparison, everything=everything):
        if heading:
            lines += [f"## {heading[0].upper()}{heading[1:]}", ""]
        lines += [f"{' ' * line.indent}- {markup_free(' '.join(line.text.split()))}" for line in block]
        lines.append("")
    return "\n".join(lines)


def answer(comparison: Comparison) -> tuple[str, str]:
    """The label and the sentence that come first."""
    same = f"; {SAME_FILES}" if comparison.same_files else ""
    if comparison.outcome is Outcome.NOTHING:
        return "NOT COMPARABLE", f"{NO_CALL}{_why_nothing(comparison)}{same}"
    if comparison.outcome is Outcome.SAME:
        calls = sum(pair.compared + pair.messages for pair in comparison.groups)
        label = "NO DIFFERENCE SEEN" if comparison.left_out else "NO DIFFERENCE"
        return label, f"{agreeing_text(calls)}{_scope(comparison)}{same}"
    return "DIFFERS FIRST", f"{difference_text(comparison.differences[0], comparison.groups)}{same}"


def answer_rows(comparison: Comparison, *, sides: bool = True) -> list[tuple[str, str]]:
    """What comes first, with its labels: the answer, what it does not rest on, the conditions; ``sides``: then each set."""
    rows = [answer(comparison)]
    if comparison.outcome is Outcome.DIFFERENT and comparison.left_out:
        rows.append((NOT_COMPARED, f"{lost_text(comparison.left_out)}: a difference there would not show"))
    rows.append(("CONDITIONS", changed_text(comparison)))
    if sides:
        rows += [(name, side_text(side)) for name, side in (("A", comparison.a), ("B", comparison.b))]
        if comparison.disputed:
            rows.append(("A, B", DISPUTED))
    return rows


def agreeing_text(calls: int) -> str:
    """``"24 calls that both sets hold agree"``."""
    return f"{count(calls, 'call')} that both sets hold agree"


def difference_text(difference: Difference, groups: Sequence[Pair], names: tuple[str, str] = ("A", "B")) -> str:
    """``"reduce_scatter 9 of dp_1: rank 5: 1,024 × Float in A; 512 × Float in B"``; ``names``: what to call the two sets."""
    return f"{call_name(difference, groups)}: {part_text(difference.parts[0], names)}"


def call_name(difference: Difference, groups: Sequence[Pair]) -> str:
    """``"all_reduce 42 of dp_0"``, ``"send 3 of pp_1, p2p 0->1"``, ``"group tp"``."""
    label = groups[difference.pair].label
    if difference.seq is None:
        return f"group {label}"
    lane = "" if difference.lane == COLLECTIVE else f", {difference.lane}"
    return f"{difference.op or 'call'} {difference.seq} of {label}{lane}"


def part_text(part: Part, names: tuple[str, str] = ("A", "B")) -> str:
    """``"ranks 0-2: completed in A; requested, not over in B"``."""
    return f"{name_ranks(part.ranks, RANK_PARTS)}: {part.a} in {names[0]}; {part.b} in {names[1]}"


def changed_text(comparison: Comparison) -> str:
    """How many recorded conditions differ, and which: one changed thing per comparison is the point."""
    changed = comparison.changed
    if not changed:
        return "no recorded condition differs; what the files do not record may"
    names = ", ".join(_condition(condition) for condition in changed)
    if len(changed) == 1:
        return f"one recorded condition differs: {names}"
    return f"{len(changed)} recorded conditions differ, so none of them explains a difference by itself: {names}"


def blocks(comparison: Comparison, *, everything: bool) -> Iterable[Block]:
    """The parts of the page in their order; those without a line are left out."""
    yield "", _answer(comparison)
    if comparison.differences:
        yield (
            DIFFERENCES_HEADING,
            _limited(_differences(comparison, everything=everything), DIFFERENCES, everything=everything),
        )
    if comparison.conditions:
        yield "conditions", [Line(line) for line in condition_lines(comparison)]
    lengths = length_lines(comparison)
    if lengths:
        yield "number of calls", _limited([[Line(line)] for line in lengths], GROUPS, everything=everything)
    unobserved = unobserved_lines(comparison)
    if unobserved:
        yield (
            "not observed, and so not compared",
            _limited([[Line(line)] for line in unobserved], GROUPS, everything=everything),
        )
    if comparison.durations:
        lines = [[Line(duration_text(each, comparison.groups))] for each in comparison.durations]
        yield DURATIONS_HEADING, _limited(lines, DURATIONS, everything=everything)
    yield "compared", compared_lines(comparison)


def _answer(comparison: Comparison) -> list[Line]:
    rows = answer_rows(comparison)
    column = max(len(name) for name, _ in rows) + 2
    return [Line(f"{name:<{column}}{text}", "" if name in ("A", "B", "A, B") else "answer", hang=column) for name, text in rows]


def side_text(side: Side) -> str:
    """A set in one line: where it lies, and what its own report says first."""
    leads = f" (leads: {name_ranks(side.leads, RANK_PARTS)})" if side.leads else ""
    return f"{', '.join(side.paths)}: {side.answer}{leads}"


def _limited(blocks: Sequence[list[Line]], limit: int, *, everything: bool) -> list[Line]:
    shown = blocks if everything else blocks[:limit]
    lines = [line for block in shown for line in block]
    if len(shown) < len(blocks):
        lines.append(Line(MORE.format(f"{len(blocks) - len(shown):,}"), "quiet"))
    return lines


def _differences(comparison: Comparison, *, everything: bool) -> list[list[Line]]:
    """One block a difference; those of which every part says the same are one block, under the first of them."""
    if everything:
        return [difference_lines(difference, comparison.groups, everything=True) for difference in comparison.differences]
    alike: defaultdict[tuple[object, ...], list[Difference]] = defaultdict(list)
    for difference in comparison.differences:
        said = tuple((part.kind, part.a, part.b) for part in difference.parts)
        alike[difference.follows, difference.op, difference.moved, said].append(difference)
    blocks = []
    for shown, *rest in alike.values():
        block = difference_lines(shown, comparison.groups, everything=False)
        if rest:
            calls = _names([call_name(difference, comparison.groups) for difference in rest])
            ranks = name_ranks({rank for difference in rest for rank in difference.ranks}, RANK_PARTS)
            block.append(Line(f"and so do {calls} ({ranks})", indent=2))
        blocks.append(block)
    return blocks


def difference_lines(difference: Difference, groups: Sequence[Pair], *, everything: bool) -> list[Line]:
    """A difference: its call and its kind, then, indented, how its ranks differ and what else there is to know."""
    when = "later on its ranks: " if difference.follows else ""
    word = difference.kind.value.replace("_", " ")
    lines = [Line(f"{when}{call_name(difference, groups)} ({word})", "lead" if not difference.follows else "")]
    shown = difference.parts if everything else difference.parts[:PARTS]
    lines += [Line(part_text(part), indent=2) for part in shown]
    if len(shown) < len(difference.parts):
        rest = {rank for part in difference.parts[len(shown) :] for rank in part.ranks}
        lines.append(Line(f"{name_ranks(rest, RANK_PARTS)}: otherwise", "quiet", indent=2))
    if difference.moved:
        more = "more" if difference.moved > 0 else "fewer"
        calls = count(abs(difference.moved), f"{more} call", f"{more} calls")
        lines.append(Line(f"B has {calls} here and then goes on as A does: look at what was added or left out", indent=2))
    if difference.later:
        later = ", ".join(f"{kind.value.replace('_', ' ')} from call {seq:,}" for kind, seq in difference.later)
        lines.append(Line(f"further on also: {later}", "quiet", indent=2))
    return lines


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4:,} more"


def condition_lines(comparison: Comparison) -> list[str]:
    """One line for each condition that the sets do not record alike."""
    lines = []
    for condition in comparison.conditions:
        if not (condition.a and condition.b):
            remark = " (recorded in one set only: not known to have changed)"
        elif not condition.changed:
            by = "by the ranks that files name" if condition.name == WORLD else "by the wording of the logs"
            remark = f" ({by}: not known to have changed)"
        else:
            remark = " (comes with another one, not counted)" if condition.follows else ""
        lines.append(f"{_condition(condition)}{remark}")
    return lines


def _condition(condition: Condition) -> str:
    return f"{condition.name} {_values(condition.a)} → {_values(condition.b)}"


def _values(values: Sequence[Value]) -> str:
    if not values:
        return "not recorded"
    shown = [f"{value.text} ({name_ranks(value.ranks, 4)})" if value.ranks else value.text for value in values[:4]]
    return "; ".join(shown) + (f"; {len(values) - 4:,} more" if len(values) > 4 else "")


def length_lines(comparison: Comparison) -> list[str]:
    """Groups of which one set goes on longer, equal ones together: a run that was stopped earlier looks the same."""
    found: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for pair in comparison.groups:
        if pair.held_a and pair.held_b and pair.held_a[1] != pair.held_b[1]:
            found[pair.held_a[1], pair.held_b[1]].append(pair.label)
    return [f"{_names(labels)}: the newest is {a:,} in A, {b:,} in B" for (a, b), labels in found.items()]


def unobserved_lines(comparison: Comparison) -> list[str]:
    """What could not be compared and why; groups with the same reason together."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pair in comparison.groups:
        for reason in pair.unobserved if pair.called else ():
            found[reason].append(pair.label)
    lines = list(comparison.notes)
    lines += [f"{_names(labels)}: {reason}" for reason, labels in found.items()]
    unmatched = {
        index
        for index, pair in enumerate(comparison.groups)
        if pair.called and (pair.a is None) != (pair.b is None) and index not in {each.pair for each in comparison.differences}
    }
    for word, labels in (
        ("A", [comparison.groups[i].label for i in sorted(unmatched) if comparison.groups[i].b is None]),
        ("B", [comparison.groups[i].label for i in sorted(unmatched) if comparison.groups[i].a is None]),
    ):
        if labels:
            lines.append(f"{_names(labels)}: {'a group' if len(labels) == 1 else 'groups'} of {word} only")
    silent = [pair.label for pair in comparison.groups if not pair.called]
    if silent:
        lines.append(f"{_names(silent)}: no call of {'it' if len(silent) == 1 else 'them'} is recorded in A or B")
    return lines


def duration_text(duration: Duration, groups: Sequence[Pair]) -> str:
    """``"all_reduce of dp_0: 1.2 ms in A (40 records), 2.4 ms in B (40 records), B/A 2.00"``."""
    ratio = f", B/A {duration.ratio:.2f}" if duration.ratio is not None else ""
    a = f"{duration.a_ms:.3g} ms in A ({count(duration.a_count, 'record')})"
    b = f"{duration.b_ms:.3g} ms in B ({count(duration.b_count, 'record')})"
    return f"{duration.op} of {groups[duration.pair].label}: {a}, {b}{ratio}"


def compared_lines(comparison: Comparison) -> list[Line]:
    """What the comparison rests on: ranks, groups and calls that both sets have."""
    matched = [pair for pair in comparison.groups if pair.a is not None and pair.b is not None]
    by = Counter(pair.matched_by for pair in matched)
    how = ", ".join(f"{number:,} by {rule}" for rule, number in by.most_common())
    by_rule = f" ({how})" if how else ""
    ranks = fold_ranks(_common(comparison), RANK_PARTS) or "none"
    calls, messages = sum(pair.compared for pair in matched), sum(pair.messages for pair in matched)
    a, b = comparison.a, comparison.b
    sends = f", {count(messages, 'send or receive', 'sends and receives')}" if messages else ""
    return [
        Line(f"ranks    {count(len(_common(comparison)), 'rank')} in both: {ranks}", hang=9),
        Line(f"groups   {len(matched):,} in both{by_rule}; {_groups_of(a, 'A')}, {_groups_of(b, 'B')}", hang=9),
        Line(f"calls    {calls:,} in both{sends}; {a.calls:,} records in A, {b.calls:,} in B", hang=9),
    ]


def _groups_of(side: Side, word: str) -> str:
    """How many groups a set knows, and how many lanes its main screen lists: of a group without a call there is none."""
    lanes = f" ({count(side.lanes, 'lane')} with calls)" if side.lanes != side.groups else ""
    return f"{side.groups:,} in {word}{lanes}"


def _common(comparison: Comparison) -> list[int]:
    """The ranks whose dumps both sets have."""
    return sorted(set(comparison.a.read) & set(comparison.b.read))


def _scope(comparison: Comparison) -> str:
    """How much "no difference" rests on, and on what it does not."""
    matched = sum(pair.a is not None and pair.b is not None for pair in comparison.groups)
    rest = f"; not compared: {lost_text(comparison.left_out)}" if comparison.left_out else ""
    return f" ({count(matched, 'group')}, {count(len(_common(comparison)), 'rank')}{rest})"


def _why_nothing(comparison: Comparison) -> str:
    for word, side in (("A", comparison.a), ("B", comparison.b)):
        if not side.read:
            return f": no dump of {word} could be read"
    if not _common(comparison):
        return ": no rank has a dump in both"
    if not any(pair.a is not None and pair.b is not None for pair in comparison.groups):
        return ": no group is in both"
    both = (pair for pair in comparison.groups if pair.a is not None and pair.b is not None)
    for pair in both:
        for reason in pair.unobserved:
            spans = reason.removeprefix(NO_OVERLAP)
            return f": {spans if spans != reason else f'{pair.label}: {reason}'}"
    return ""
