"""What happened to the answer when another look at the files changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.report.page import LOOK_FIRST
from hangview.schema import SourceStatus
from hangview.text import count, name_ranks
from hangview.tui.text.banner import answer
from hangview.tui.text.common import answering

if TYPE_CHECKING:
    from hangview.incident import Incident


def news(before: Incident, after: Incident, goes: str = "") -> tuple[str, ...]:
    """``"now: LOOK FIRST rank 3 · the dump of rank 2 is gone · n goes to the first finding"``, and the same said shorter and
    shorter; empty where the findings are what they were. ``goes`` is the key that goes to the first finding.

    Whether more is known or less is told by what became of the dumps, and where that does not tell it, it is not said. Gone is
    said of the dumps that were used and whose files are no longer there; of one that is still there and cannot be used, that it
    is not read.
    """
    if [finding.summary for finding in before.findings] == [finding.summary for finding in after.findings]:
        return ()
    why = _why(before, after)
    told = " · ".join(filter(None, (_now(before, after), why)))
    if not goes or not after.findings:
        return told, _now(before, after)
    return f"{told} · {goes} goes to the first finding", f"{told} · {goes}: first finding", told, _now(before, after)


def _now(before: Incident, after: Incident) -> str:
    first = answer(after)
    if first.text == answer(before).text:
        return f"the answer is as before; {count(len(after.findings), 'finding')}, {len(before.findings):,} before"
    word, shown = first.spans[0].text.strip(), answering(after)
    return f"now: {word} {name_ranks(shown.ranks, 3)}" if word == LOOK_FIRST and shown is not None else f"now: {word}"


def _why(before: Incident, after: Incident) -> str:
    had, has = set(before.coverage.read), set(after.coverage.read)
    part, parts = set(before.coverage.partial), set(after.coverage.partial)
    paths = {source.path for source in after.records.sources}
    there = {source.rank for source in before.records.sources if source.usable and source.path in paths}
    told = (
        _dumps(had - has - there, "gone"),
        _dumps((had - has) & there, "not read any more"),
        _dumps((parts - part) & had, "cut"),  # it was whole
        _dumps((part - parts) & has, "whole by now"),
        count(len(has - had), "more dump") if has - had else "",
    )
    return ", ".join(filter(None, told))


def _dumps(ranks: set[int], what: str) -> str:
    many = len(ranks) > 1
    return f"the {'dumps' if many else 'dump'} of {name_ranks(ranks, 4)} {'are' if many else 'is'} {what}" if ranks else ""


def being_written(incident: Incident) -> str:
    """How many files are still growing; else how many came only now and are not whole, which more bytes may end or not."""
    for status in (SourceStatus.GROWING, SourceStatus.UNFINISHED):
        found = sum(source.status is status for source in incident.records.sources)
        if found:
            return f"{count(found, 'file')} {'being written' if status is SourceStatus.GROWING else 'may grow'}"
    return ""
