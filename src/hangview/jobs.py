"""Files of several jobs in one place: of those that ran at the same time the one that hangs is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.incident import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.schema import ReadOptions, Records


_WHY = "the newer records are of another job that ran at the same time, and show no hang"


def of_the_job_that_hangs(assemble: Callable[[ReadOptions], Records], options: ReadOptions) -> Records:
    """What ``assemble`` makes of the files; where nothing is to be looked at there, of the jobs beside it in which something is
    the one that stopped first: a healthy one goes on, and has the newer records. Nothing else is looked at where an attempt was
    asked for."""
    records = assemble(options)
    beside = [start for start in records.attempts if start.beside]
    if options.attempt is not None or not beside or _stands(records):
        return records
    for start in sorted(beside, key=lambda start: (start.newest_ns or 0, start.attempt)):
        other = assemble(replace(options, attempt=start.attempt))
        if _stands(other):
            return replace(other, attempts=tuple(replace(a, reason=_WHY) if a.current else a for a in other.attempts))
    return records


def _stands(records: Records) -> bool:
    """Whether something is to be looked at first: a difference that stopped nobody (a note) is no reason to look no further."""
    from hangview.engine.analyse import analyse

    return any(finding.role is Role.LEAD for finding in analyse(records).findings)
