"""Sources of logs in the ledger: which of them are read, of which attempt they are, and what was found out about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.schema import NOT_READ_YET, Source, SourceKind, SourceStatus

if TYPE_CHECKING:
    from hangview.dumps.find import Found
    from hangview.logs.evidence import LogEvidence
    from hangview.schema import ReadOptions, Records

#: Reason of a text that was read to its end, and in which neither a rank nor a line was found that tells of a hang.
SAYS_NOTHING = "a text that names no rank and says nothing of a hang"


def is_mute(source: Source) -> bool:
    """Whether a text counts as read, but not as a log."""
    return source.kind is SourceKind.LOG and source.reason == SAYS_NOTHING


def log_source(found: Found, options: ReadOptions) -> Source:
    """A log as it was found."""
    reason = None if options.logs else "found and not read: logs were not asked for"
    return Source(found.shown, SourceKind.LOG, SourceStatus.READ, reason, size=found.size, mtime_ns=found.mtime_ns)


def logs_not_read(records: Records) -> Records:
    """Records of which the logs are still to be read."""
    sources = list(records.sources)
    for i, source in enumerate(sources):
        if source.kind is SourceKind.LOG and source.status is SourceStatus.READ:
            sources[i] = replace(source, status=SourceStatus.GROWING, reason=NOT_READ_YET)
    return replace(records, sources=tuple(sources))


def logs_of_other_attempts(records: Records, asked: int | None) -> frozenset[int]:
    """Logs in the folder of another attempt than the one looked at, where it was asked for or the dumps are in such folders.

    Else the logs themselves tell which of them are of the last attempt.
    """
    from hangview.dumps.names import attempt_of

    by_folder = any(s.kind is SourceKind.DUMP and attempt_of(s.path) is not None for s in records.sources)
    current = next((attempt.attempt for attempt in records.attempts if attempt.current), None)
    wanted = asked if asked is not None else current if by_folder else None
    if wanted is None:
        return frozenset()
    logs = {i: s.attempt for i, s in enumerate(records.sources) if s.kind is SourceKind.LOG}
    highest = max((attempt for attempt in logs.values() if attempt is not None), default=wanted)
    return frozenset(i for i, attempt in logs.items() if (highest if attempt is None else attempt) != wanted)


def set_aside(records: Records, logs: frozenset[int]) -> Records:
    """Records with these sources, logs of other attempts, left out."""
    if not logs:
        return records
    sources = list(records.sources)
    for i in logs:
        sources[i] = replace(sources[i], status=SourceStatus.OTHER_ATTEMPT, reason="of another attempt than the dumps")
    return replace(records, sources=tuple(sources))


def with_logs(records: Records, evidence: LogEvidence) -> Records:
    """Sources of logs with what was found out about them."""
    sources = list(records.sources)
    named = set(evidence.ranks) - {log.rank for log in evidence.logs}  # by labels of lines, in one log or another of many ranks
    for log in evidence.logs:
        source = replace(sources[log.source], rank=log.rank, rank_from=log.rank_from or None, notes=log.notes)
        if log.attempt is not None:
            source = replace(source, attempt=log.attempt)
        if len(evidence.attempts) > 1 and log.attempt not in (None, evidence.attempt):
            reason = f"of attempt {log.attempt}; the logs tell of {evidence.attempt} as the last"
            source = replace(source, status=SourceStatus.OTHER_ATTEMPT, reason=reason)
        if log.problem is not None:
            status = source.status if log.lines else SourceStatus.UNREADABLE
            source = replace(source, status=status, reason=log.problem)
        elif source.status is SourceStatus.READ and not (log.used or log.notes or named) and log.rank is None:
            source = replace(source, reason=SAYS_NOTHING)
        sources[log.source] = source
    for aside in evidence.aside:
        source = sources[aside.source]
        if aside.line is None:
            rank = aside.ranks[0] if len(aside.ranks) == 1 else None
            source = replace(source, status=SourceStatus.OTHER_ATTEMPT, reason=aside.text, rank=rank)
        elif source.reason is None:
            source = replace(source, reason=aside.text)
        else:
            source = replace(source, notes=(*source.notes, aside.text))
        sources[aside.source] = source
    return replace(records, sources=tuple(sources))
