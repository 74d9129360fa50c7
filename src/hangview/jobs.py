"""Files of several jobs in one place: of those that ran at the same time the one that hangs is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.incident import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.schema import ReadOptions, Records


_WHY = "the newer records are of another job that ran at the same time, and show no hang"


def of_the_job_that_hangs(assemble: Callable[[ReadOptions], Records], options: ReadOptions) -> Records:
    """What ``assemble`` makes of the files; where it shows no divergence, of those jobs beside it that do the one that stopped
    first: a healthy one goes on, and has the newer records. Nothing else is looked at where an attempt was asked for."""
    records = assemble(options)
    beside = [start for start in records.attempts if start.beside]
    if options.attempt is not None or not beside or _diverges(records):
        return records
    for start in sorted(beside, key=lambda start: (start.newest_ns or 0, start.attempt)):
        other = assemble(replace(options, attempt=start.attempt))
        if _diverges(other):
            return replace(other, attempts=tuple(replace(a, reason=_WHY) if a.current else a for a in other.attempts))
    return records


def _diverges(records: Records) -> bool:
    from hangview.engine.analyse import analyse

    return analyse(records).verdict is Verdict.DIVERGENCE
