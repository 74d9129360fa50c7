"""What happened to the answer when another look at the files changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.text import name_ranks

if TYPE_CHECKING:
    from hangview.incident import Incident


def news(before: Incident, after: Incident) -> str:
    """``"the answer changed: the dump of rank 3 is gone"``; "" where the findings are what they were.

    Gone is said of the dumps that were used and whose files are no longer there; of one that is still there and cannot be used
    any more, that it is not read.
    """
    if [finding.summary for finding in before.findings] == [finding.summary for finding in after.findings]:
        return ""
    lost = set(before.coverage.read) - set(after.coverage.read)
    paths = {source.path for source in after.records.sources}
    there = {source.rank for source in before.records.sources if source.usable and source.path in paths}
    parts = (_dumps(lost - there, "gone"), _dumps(lost & there, "not read any more"))
    said = ", ".join(part for part in parts if part)
    return f"the answer changed: {said}" if said else "the files say more than before: the banner has the answer"


def _dumps(ranks: set[int], what: str) -> str:
    many = len(ranks) > 1
    return f"the {'dumps' if many else 'dump'} of {name_ranks(ranks, 4)} {'are' if many else 'is'} {what}" if ranks else ""
