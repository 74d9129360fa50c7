"""Files of several jobs in one place: one that hangs is not hidden by a healthy one with newer records.

Of those that ran at the same time it is shown; of those that ran before it is said that they hang.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.terms import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from hangview.schema import Attempt, ReadOptions, Records

_WHY = "the newer records are of another job that ran at the same time, and show no hang"
_STANDS = "it shows a hang, and the one shown does not"
#: Of so many attempts before the one that is shown it is looked whether they hang, the newest first.
_BEFORE = 4


def of_the_job_that_hangs(assemble: Callable[[ReadOptions], Records], options: ReadOptions) -> Records:
    """What ``assemble`` makes of the files; where nothing is to be looked at there, of the jobs beside it in which something is
    the one that stopped first: a healthy one goes on, and has the newer records. Attempts before it in which something is are
    marked. Nothing else is looked at where an attempt was asked for."""
    records = assemble(options)
    others = [start for start in records.attempts if not start.current]
    if options.attempt is not None or not others or _stands(records):
        return records

    def of(start: Attempt) -> Records:
        return assemble(replace(options, attempt=start.attempt))

    for start in sorted((one for one in others if one.beside), key=lambda one: (one.newest_ns or 0, one.attempt)):
        other = of(start)
        if _stands(other):
            return replace(other, attempts=tuple(replace(a, reason=_WHY) if a.current else a for a in other.attempts))
    before = sorted((one for one in others if not one.beside), key=lambda one: one.attempt, reverse=True)[:_BEFORE]
    standing = {start.attempt for start in before if _stands(of(start))}
    return replace(records, attempts=tuple(_told(a) if a.attempt in standing else a for a in records.attempts))


def _told(start: Attempt) -> Attempt:
    return replace(start, stands=True, reason=f"{start.reason}; {_STANDS}" if start.reason else _STANDS)


def _stands(records: Records) -> bool:
    """Whether something is to be looked at first: a difference that stopped nobody (a note) is no reason to look no further."""
    from hangview.engine.analyse import analyse

    return any(finding.role is Role.LEAD for finding in analyse(records).findings)
