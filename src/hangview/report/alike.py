"""Lines of evidence that say the same of several ranks are one line: a launcher tells of all tasks of a node in one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.text import name_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.terms import Evidence

#: "rank 4: signal 9 …", "rank 4, by its log: …"
_OF_ONE = re.compile(r"rank (\d+)(?=[:,])(.*)", re.DOTALL)
#: Parts of a rank list in one line.
_PARTS = 12


def told_once(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The lines, those that differ in their rank alone as one with all of these ranks, where the first of them stood."""
    ranks: dict[tuple[str, int | None, int | None], list[int]] = {}
    order: list[tuple[str, int | None, int | None] | Evidence] = []
    first: dict[tuple[str, int | None, int | None], Evidence] = {}
    for line in evidence:
        said = _OF_ONE.fullmatch(line.text)
        if said is None:
            order.append(line)
            continue
        key = (said[2], line.source, line.record_id)
        if key not in ranks:
            order.append(key)
            first[key] = line
        ranks.setdefault(key, []).append(int(said[1]))
    return tuple(each if not isinstance(each, tuple) else _joined(first[each], ranks[each], each[0]) for each in order)


def _joined(line: Evidence, ranks: Sequence[int], rest: str) -> Evidence:
    if len(ranks) == 1:
        return line
    return replace(line, text=f"{name_ranks(ranks, _PARTS)}{rest.replace(', by its log:', ', by their logs:', 1)}")
