"""The first screen of a large set, before any record was read: groups, dumps, and how far ranks came by their own counters.

Nobody is named for it: a counter has no record behind it here, and what it counts is known only beside one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.text import count, name_ranks
from hangview.tui.prose import BLANK, Tone, item, line
from hangview.tui.text.groups import Row, row_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.dumps.heads import HeadGroup, Heads
    from hangview.tui.prose import Line, Prose

    #: (number of the last enqueued work, the ranks that have it), the lowest number first.
    Parts = tuple[tuple[int, tuple[int, ...]], ...]

#: So many groups are told and listed; the others are counted.
MOST = 200
_UNCHECKED = "no record read yet"


def sorted_groups(heads: Heads) -> list[HeadGroup]:
    """Those whose counters differ first, of these the largest: few ranks beside many tell more than one beside one."""
    return sorted(heads.groups, key=lambda group: (not group.differs, -len(group.ranks)))


def heads_so_far(heads: Heads) -> Line:
    """``SO FAR  default_pg: rank 3 enqueued 1,819, 1,023 ranks 1,820, by their own counters (no record read yet)``."""
    first = next(iter(sorted_groups(heads)), None)
    if first is None or not first.differs:
        ranks = f"{count(len(heads.read), 'rank')} in {count(len(heads.groups), 'group')}"
        told = f"{ranks}, by the headers of their dumps"
    else:
        told = f"{first.label}: {_told(first.parts)}, by their own counters"
    return line(("SO FAR  ", Tone.KEY), told, (f" ({_UNCHECKED})", Tone.DIM), hang=8)


def _told(parts: Parts) -> str:
    """``rank 640 enqueued 126, 127 ranks 127``; of many different numbers the lowest and the highest."""
    shown = parts if len(parts) <= 3 else (parts[0], parts[-1])
    told = [f"{_who(ranks)}{' enqueued' if at == 0 else ''} {number:,}" for at, (number, ranks) in enumerate(shown)]
    between = f", others between ({count(len(parts), 'number')})" if len(parts) > 3 else ""
    return ", ".join(told) + between


def _folded(groups: Iterable[HeadGroup]) -> list[tuple[str, str]]:
    """(name, what its ranks count) in the order of the groups; those of one name that stand alike are one."""
    alike: defaultdict[tuple[object, ...], list[HeadGroup]] = defaultdict(list)
    for group in groups:
        alike[group.label, len(group.ranks), *((number, len(ranks)) for number, ranks in group.parts)].append(group)
    lines = []
    for (first, *more), size in ((found, count(len(found[0].ranks), "rank")) for found in alike.values()):
        name = f"{first.label}, {size}" if not more else f"{first.label}, {len(more) + 1:,} groups of {size}"
        together = zip(*(group.parts for group in (first, *more)), strict=True)
        parts = tuple((same[0][0], tuple(sorted(rank for _, ranks in same for rank in ranks))) for same in together)
        lines.append((name, _told(parts)))
    return lines


def _who(ranks: Sequence[int]) -> str:
    return name_ranks(ranks) if len(ranks) <= 3 else count(len(ranks), "rank")


def heads_lines(heads: Heads) -> Prose:
    """What stands in the middle meanwhile."""
    differing = _folded(group for group in sorted_groups(heads) if group.differs)
    missing = sorted(set(heads.expected) - set(heads.read))
    read = f"the headers of {len(heads.read):,} of {count(heads.files, 'dump')} were read; their records are being read now"
    lines: list[Line] = [line((read, Tone.STRONG)), BLANK]
    if missing:
        lines += [line((f"no header yet of {name_ranks(missing, 10)}", Tone.UNKNOWN)), BLANK]
    lines.append(line(("last request by each rank's own counters, where ranks of a group differ", Tone.HEAD)))
    if not differing:
        lines.append(item("in no group"))
    lines += [item(f"{name}: {parts}") for name, parts in differing[:MOST]]
    if len(differing) > MOST:
        lines.append(item(f"and {count(len(differing) - MOST, 'more line')}", Tone.DIM))
    why = "A counter alone shows no hang and names nobody: ranks of a group may be a call apart in a job that goes well."
    return (*lines, BLANK, line((why, Tone.DIM)))


def heads_rows(heads: Heads, width: int, *, ascii_only: bool) -> Prose:
    """The list of groups: members, and the highest counter."""
    groups = sorted_groups(heads)[:MOST]
    sizes = [f"{len(group.ranks):,}" for group in groups]
    numbers = [str(group.parts[-1][0]) if group.parts else "" for group in groups]
    wide, high = (max(map(len, column), default=1) for column in (sizes, numbers))
    rows = []
    for group, size, number in zip(groups, sizes, numbers, strict=True):
        tail = f"  {size:>{wide}}  {number:>{high}}"
        rows.append(
            row_line(Row("d" if group.differs else "?", Tone.UNKNOWN, group.label, "", tail), width, ascii_only=ascii_only)
        )
    return tuple(rows)
