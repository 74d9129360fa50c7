"""One call of a comparison as each set shows it: op, sizes and dtype, state, call site, ranks that show the same together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.compare.parts import state_word
from hangview.compare.sites import site_of
from hangview.compare.values import DifferenceKind, Value
from hangview.engine.compare import describe
from hangview.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hangview.compare.values import Difference, Pair
    from hangview.incident import Incident
    from hangview.terms import Cell, Group

#: What is shown of a call, and the kinds of difference that are differences in it.
ASPECTS: tuple[tuple[str, frozenset[DifferenceKind]], ...] = (
    ("op", frozenset({DifferenceKind.OP})),
    ("size × dtype", frozenset({DifferenceKind.SIZE, DifferenceKind.DTYPE})),
    ("state", frozenset({DifferenceKind.STATE, DifferenceKind.NOT_REQUESTED, DifferenceKind.GROUP_ABSENT})),
    ("call site", frozenset({DifferenceKind.CALL_SITE})),
)


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing about a call, in A and in B. No value: it is not recorded there. ``differs``: the comparison counts it."""

    name: str
    a: tuple[Value, ...]
    b: tuple[Value, ...]
    differs: bool


def call_aspects(
    a: Incident, b: Incident, pair: Pair, lane: str, seq: int, difference: Difference | None
) -> tuple[Aspect, ...]:
    """What both sets show of a call, for the ranks whose dumps both have. ``difference`` is the one at this call."""
    kinds = {part.kind for part in difference.parts} if difference is not None else set()
    shown = [_cells(incident, group, lane, seq, pair) for incident, group in ((a, pair.a), (b, pair.b))]
    return tuple(
        Aspect(name, _folded(shown[0], _SAYS[name]), _folded(shown[1], _SAYS[name]), bool(kinds & telling))
        for name, telling in ASPECTS
    )


def has_lane(incident: Incident, group: Group | None, lane: str) -> bool:
    """Whether a set has calls in this lane of a group of its own."""
    return group is not None and any((each.group, each.lane) == (group.id, lane) for each in incident.lanes)


def _cells(incident: Incident, group: Group | None, lane: str, seq: int, pair: Pair) -> list[Cell]:
    if group is None or not has_lane(incident, group, lane):
        return []
    return [cell for cell in incident.view.call(group.id, lane, seq).cells if cell.rank in pair.ranks]


def _folded(cells: Iterable[Cell], says: Callable[[Cell], str]) -> tuple[Value, ...]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for cell in cells:
        found[says(cell)].append(cell.rank)
    return tuple(Value(text, tuple(ranks)) for text, ranks in found.items() if text)


def _op(cell: Cell) -> str:
    return escape("+".join(sorted({entry.op.name for entry in cell.entries})))


def _asked(cell: Cell) -> str:
    if len(cell.entries) > 1:
        return "a batch of several"
    return "".join(describe(entry.signature, entry.op.family) for entry in cell.entries)


def _state(cell: Cell) -> str:
    word = state_word(cell.state)
    return word if cell.entries or not cell.reason else f"{word} ({cell.reason})"


def _site(cell: Cell) -> str:
    sites = [site for entry in cell.entries[:1] if (site := site_of(entry.stack)) is not None]
    return "".join(f"from {escape(site.text)}" for site in sites)


_SAYS: dict[str, Callable[[Cell], str]] = {"op": _op, "size × dtype": _asked, "state": _state, "call site": _site}
