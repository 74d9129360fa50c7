"""What the screen of a comparison says: the report's own sentences, and one call's two sides in columns. No textual."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.compare import Outcome
from hangview.compare.call import call_aspects
from hangview.compare.left_out import lost_text
from hangview.compare.page import (
    DIFFERENCES_HEADING,
    DURATIONS_HEADING,
    NO_CALL,
    NOT_COMPARED,
    RANK_PARTS,
    agreeing_text,
    answer_rows,
    blocks,
    difference_lines,
    difference_text,
    duration_text,
    length_lines,
    side_text,
    unobserved_lines,
)
from hangview.compare.standing import Standing
from hangview.terms import COLLECTIVE
from hangview.text import count, name_ranks
from hangview.tui.prose import BLANK, Line, Span, Tone, line, pad, wrap
from hangview.tui.titles import cut_middle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.compare import Comparison
    from hangview.compare.standing import GroupStanding
    from hangview.compare.values import Pair, Value
    from hangview.incident import Incident
    from hangview.report.lines import Line as ReportLine
    from hangview.terms import Group
    from hangview.tui.compare.reader import Both
    from hangview.tui.prose import Prose

#: A sign before each group, so that colour never carries its standing alone.
MARKS: dict[Standing, tuple[str, Tone]] = {
    Standing.DIFFERS: ("#", Tone.LEAD),
    Standing.DIFFERS_LATER: ("w", Tone.WAITING),
    Standing.ONLY_IN_A: ("<", Tone.UNKNOWN),
    Standing.ONLY_IN_B: (">", Tone.UNKNOWN),
    Standing.NOT_OBSERVED: ("?", Tone.UNKNOWN),
    Standing.AGREES_PARTLY: ("~", Tone.UNKNOWN),
    Standing.AGREES: (".", Tone.GOOD),
}
WORD = max(map(len, Standing)) + 2
#: Columns of an aspect's name, with the sign before it.
NAME = 16
#: Columns from which on A and B stand side by side, and from which on a group's standing is said in a word.
SIDE_BY_SIDE = 52
WORDS_FROM = 44
_TONES = {"answer": Tone.STRONG, "head": Tone.HEAD, "lead": Tone.LEAD, "warn": Tone.WAITING, "quiet": Tone.DIM}
_ANSWERS = {Outcome.DIFFERENT: Tone.LEAD, Outcome.SAME: Tone.GOOD, Outcome.NOTHING: Tone.UNKNOWN}


def title_line(paths: Sequence[str], width: int = 1000) -> Line:
    """``hangview compare  A run-1 · B run-2``, in ``width`` cells of paths that need not be whole."""
    full = line(("hangview compare", Tone.STRONG), f"  A {paths[0]} · B {paths[1]}")
    if full.width <= width:
        return full
    room = max(4, (width - len("compare  A  · B ")) // 2)
    a, b = (cut_middle(path, room) for path in paths)
    return line(("compare", Tone.STRONG), f"  A {a} · B {b}")


def answer_lines(comparison: Comparison, *, sides: bool) -> Prose:
    """The report's first lines; ``sides``: with those about each set."""
    (label, sentence), *rest = answer_rows(comparison, sides=sides)
    rows: list[tuple[str, Tone, str, Tone]] = [(label, _ANSWERS[comparison.outcome], sentence, Tone.STRONG)]
    rows += [(name, Tone.WAITING if name == NOT_COMPARED else Tone.KEY, text, Tone.PLAIN) for name, text in rest]
    column = max(len(name) for name, *_ in rows) + 2
    return tuple(line((pad(name, column), tone), (text, look), hang=column) for name, tone, text, look in rows)


def group_line(comparison: Comparison, each: GroupStanding, width: int = 1000) -> Line:
    """``# differs       dp_0``; in a narrow list the sign alone stands for the word, and of a long name the ends stay."""
    sign, tone = MARKS[each.standing]
    head = f"{sign} " if width < WORDS_FROM else f"{sign} {pad(each.standing, WORD)}"
    return line((head, tone), cut_middle(comparison.groups[each.pair].label, max(4, width - len(head))))


def step_text(comparison: Comparison, number: int) -> str:
    """``difference 2 of 3: all_reduce 9 of dp_1: rank 5: …``."""
    found = comparison.differences
    return f"difference {number + 1:,} of {len(found):,}: {difference_text(found[number], comparison.groups)}"


def sets_lines(comparison: Comparison) -> Prose:
    """What belongs to no single group: the sets, their conditions, what could not be compared, and what was."""
    lines = [
        line((f"{name}  ", Tone.KEY), side_text(side), hang=3) for name, side in (("A", comparison.a), ("B", comparison.b))
    ]
    for heading, block in blocks(comparison, everything=True):
        if heading and heading not in (DIFFERENCES_HEADING, DURATIONS_HEADING):
            lines += [BLANK, line((heading, Tone.HEAD)), *_shown(block, 2)]
    return tuple(lines)


def group_title(comparison: Comparison, each: GroupStanding, number: int | None) -> str:
    """``reduce_scatter 9 of dp_1 (size)``, ``group tp · agrees``."""
    if number is None:
        return f"group {comparison.groups[each.pair].label} · {each.standing}"
    head = difference_lines(comparison.differences[number], comparison.groups, everything=False)[0].text
    among = f" · {each.differences.index(number) + 1} of {len(each.differences)} in this group"
    return head + (among if len(each.differences) > 1 else "")


def call_of(comparison: Comparison, pair: int, number: int | None) -> tuple[str, int] | None:
    """Lane and number of the call that is shown of a group: where it differs, else the newest that both sets hold."""
    if number is not None:
        seq = comparison.differences[number].seq
        return None if seq is None else (comparison.differences[number].lane, seq)
    last = comparison.groups[pair].last
    return None if last is None else (COLLECTIVE, last)


def newest_call(incident: Incident, group: Group | None) -> tuple[str, int] | None:
    """Lane and number of the newest call that one set has of a group, of whatever rank; None where it has none."""
    lanes = [lane for lane in incident.lanes if group is not None and lane.group == group.id]
    best = next((lane for lane in lanes if lane.lane == COLLECTIVE), lanes[0] if lanes else None)
    return None if best is None else (best.lane, best.front)


def held_lines(both: Both, pair: Pair) -> list[str]:
    """What each set has of a group of which no single call is shown."""
    said = []
    for word, incident, group in (("A", both.a, pair.a), ("B", both.b, pair.b)):
        newest = newest_call(incident, group)
        if group is None:
            said.append(f"{word}: no group of this kind")
        elif newest is None:
            said.append(f"{word}: {count(len(group.ranks), 'rank')}, no call recorded")
        else:
            lane = "" if newest[0] == COLLECTIVE else f" of {newest[0]}"
            said.append(f"{word}: {count(len(group.ranks), 'rank')}, the newest call is {newest[1]:,}{lane}; enter shows it")
    return said


def group_lines(both: Both, each: GroupStanding, number: int | None, width: int) -> Prose:
    """One group in ``width`` columns: the call where the sets part, or the newest of both; what the report says; durations."""
    comparison = both.comparison
    pair = comparison.groups[each.pair]
    difference = comparison.differences[number] if number is not None else None
    lines: list[Line] = []
    call = call_of(comparison, each.pair, number)
    if call is not None:
        aspects = call_aspects(both.a, both.b, pair, *call, difference)
        head = f"call {call[1]:,}" if number is not None else f"newest: {call[1]:,}"
        if width < SIDE_BY_SIDE:
            lines.append(line((head, Tone.DIM)))
        else:
            lines += columns((head, Tone.DIM), (("A", Tone.KEY),), (("B", Tone.KEY),), width)
        for aspect in aspects:
            sign, tone = ("# ", Tone.LEAD) if aspect.differs else ("  ", Tone.PLAIN)
            short = all(len(values) == 1 for values in (aspect.a, aspect.b)) and aspect.name != "state"
            a, b = (_values(values, tone, ranks=not short) for values in (aspect.a, aspect.b))
            lines += columns((f"{sign}{aspect.name}", tone if aspect.differs else Tone.DIM), a, b, width)
        lines.append(BLANK)
    else:
        lines += [*(line((text, Tone.PLAIN), hang=3) for text in held_lines(both, pair)), BLANK]
    if difference is not None:
        lines += _shown(difference_lines(difference, comparison.groups, everything=True)[1:], -2)
    elif pair.compared or pair.messages:
        lines.append(line((agreeing_text(pair.compared + pair.messages), Tone.GOOD)))
    if pair.left_out:
        lines.append(line((left_out_text(comparison, pair), Tone.UNKNOWN), hang=2))
    alone = replace(comparison, groups=(pair,), differences=(), notes=())
    lines += [line((text, Tone.PLAIN), hang=2) for text in length_lines(alone)]
    unobserved = unobserved_lines(alone)
    if each.standing is Standing.NOT_OBSERVED and not unobserved:
        unobserved = [NO_CALL]
    lines += [line((text, Tone.UNKNOWN), hang=2) for text in unobserved]
    durations = [duration for duration in comparison.durations if duration.pair == each.pair]
    if durations:
        lines += [BLANK, line((DURATIONS_HEADING, Tone.HEAD), hang=2)]
        lines += [line(f"  {duration_text(duration, comparison.groups)}", hang=4) for duration in durations]
    return tuple(lines)


def left_out_text(comparison: Comparison, pair: Pair) -> str:
    """Whose calls of a group are not all compared, and why."""
    mine = set(pair.left_out)
    why = [replace(each, ranks=here) for each in comparison.left_out if (here := tuple(sorted(mine & set(each.ranks))))]
    return f"not all compared: {lost_text(why, calls=False)}"


def _values(values: Sequence[Value], tone: Tone, *, ranks: bool) -> tuple[tuple[str, Tone], ...]:
    """One text a value, as the report folds them; the ranks are left out where all show the same."""
    if not values:
        return (("not recorded", Tone.UNKNOWN),)
    return tuple((f"{value.text} ({name_ranks(value.ranks, RANK_PARTS)})" if ranks else value.text, tone) for value in values)


def columns(name: tuple[str, Tone], a: Iterable[tuple[str, Tone]], b: Iterable[tuple[str, Tone]], width: int) -> list[Line]:
    """A name and two columns of texts, each wrapped in its own; rows of at most ``width`` cells."""
    a, b = tuple(a), tuple(b)
    if width < SIDE_BY_SIDE and a == b:
        return wrap((line(name, " ", *a[:1], hang=4), *(line(("    ", Tone.PLAIN), each, hang=4) for each in a[1:])), width)
    if width < SIDE_BY_SIDE:
        told = [line(("  " + side, Tone.KEY), text, hang=4) for side, texts in (("A ", a), ("B ", b)) for text in texts]
        return [line(name), *wrap(told, width)]
    each = max(8, (width - NAME - 2) // 2)
    left, right = (wrap((line(text, hang=2) for text in texts), each) for texts in (a, b))
    rows = []
    for at in range(max(len(left), len(right))):
        first = left[at] if at < len(left) else BLANK
        second = right[at] if at < len(right) else BLANK
        head = Span(pad(name[0], NAME), name[1]) if at == 0 else Span(" " * NAME)
        gap = Span(" " * (each + 2 - first.width))
        rows.append(Line((head, *first.spans, gap, *second.spans)))
    return rows


def _shown(block: Iterable[ReportLine], indent: int = 0) -> list[Line]:
    """Lines of the report in this screen's tones."""
    return [
        line(
            " " * (each.indent + indent), (each.text, _TONES.get(each.style, Tone.PLAIN)), hang=each.indent + indent + each.hang
        )
        for each in block
    ]
