"""The words for one differing call: what its ranks asked for in A and in B, ranks that differ alike together."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hangview.compare.beside import KINDS
from hangview.compare.rows import COLLECTIVE_LANE
from hangview.compare.values import DifferenceKind, Part
from hangview.engine.compare import describe
from hangview.schema import CellState
from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from hangview.compare.beside import Input
    from hangview.compare.values import Duration

_STATES = {
    CellState.REQUESTED: "requested, not over",
    CellState.STARTED: "requested, not over",
    CellState.FAILED: "failed",
    CellState.ENDED: "over",
}


def state_word(state: CellState) -> str:
    """What a comparison calls a state: whether the request is over, and how, as far as it is recorded."""
    return _STATES.get(state, state.word)


def parts_of(rows: Sequence[Mapping[str, Any]], a: Input, b: Input, pair: int, words: Sequence[Any]) -> tuple[Part, ...]:
    """The rows of one call, ascending by rank, as parts: the most telling first, then by the lowest rank."""
    found: defaultdict[tuple[int, str, str], list[int]] = defaultdict(list)
    for row in rows:
        one, other = (_text(row, suffix, side, pair, words) for suffix, side in (("", a), ("_b", b)))
        found[row["kind"], one, other].append(row["rank"])
    ordered = sorted(found.items(), key=lambda item: (item[0][0], item[1]))
    return tuple(Part(KINDS[kind], tuple(ranks), one, other) for (kind, one, other), ranks in ordered)


def op_of(rows: pl.DataFrame, a: Input, b: Input) -> str | None:
    """The op family of most of a call's rows, as A has it; B's where A has none."""
    for column, side in (("op_index", a), ("op_index_b", b)):
        found = Counter(side.incident.records.ops[op].family for op in rows[column].drop_nulls().to_list())
        if found:
            return escape(min(found, key=lambda name: (-found[name], name)))
    return None


def renumbered(durations: Iterable[Duration], place: Sequence[int]) -> Iterable[Duration]:
    """Durations with the index of their group in the comparison in the place of the matched pair's number."""
    return (replace(duration, pair=place[duration.pair]) for duration in durations)


def _text(row: Mapping[str, Any], suffix: str, side: Input, pair: int, words: Sequence[Any]) -> str:
    """What a set shows of a request, in the terms of the row's difference; whether it is over where that differs too."""
    kind = KINDS[row["kind"]]
    if not row[f"there{suffix}"]:
        return _why_not(row, side, pair)
    code = CellState(row[f"reading{suffix}"])
    state = state_word(code)
    said = ""
    if kind is DifferenceKind.OP:
        name = escape(side.incident.records.ops[row[f"op_index{suffix}"]].name)
        said = f"{name} of {_asked(row, suffix, side)}".removesuffix(" of ")
    elif kind in (DifferenceKind.SIZE, DifferenceKind.DTYPE):
        said = _asked(row, suffix, side)
    elif kind is DifferenceKind.CALL_SITE:
        said = f"from {escape(words[row[f'site{suffix}']].text)}"
    differs = None not in (row["over"], row["over_b"]) and row["over"] != row["over_b"]
    return f"{said}, {state}" if said and differs else said or state


def _asked(row: Mapping[str, Any], suffix: str, side: Input) -> str:
    """``"1,024 × Float"``; a batch is a signature of the lining up and described by its number only."""
    records = side.incident.records
    signature = row[f"signature{suffix}"]
    if signature >= len(records.signatures):
        return "a batch of several"
    return describe(records.signatures[signature], records.ops[row[f"op_index{suffix}"]].family)


def _why_not(row: Mapping[str, Any], side: Input, pair: int) -> str:
    kind = KINDS[row["kind"]]
    word = "group absent" if kind is DifferenceKind.GROUP_ABSENT else "not requested"
    if row["lane"] != COLLECTIVE_LANE:
        return word
    window = side.incident.view.window(side.groups[pair], row["rank"])
    return f"{word} ({window.reason})" if window is not None and window.reason else word
