"""``hangview check``: every source with what became of it, then ranks expected, recovered and missing."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from hangview.log_sources import is_mute
from hangview.report.coverage import RANK_PARTS, at_least, attempt_lines, missing_lines, producers, reason_of
from hangview.report.lines import Line, plain
from hangview.report.recording import recording_lines
from hangview.schema import USABLE, SourceKind, SourceStatus
from hangview.text import count, escape, fold_ranks, size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.incident import Incident
    from hangview.schema import Source

#: More ignored files than this are folded by their kind (the end of their name).
IGNORED = 20

_KINDS = {SourceKind.DUMP: 0, SourceKind.LOG: 1, SourceKind.OTHER: 2}


def to_ledger(incident: Incident) -> str:
    """The ledger as plain text, one source a line."""
    return plain(ledger_lines(incident))


def ledger_lines(incident: Incident) -> list[Line]:
    """The lines of the ledger: a heading with the numbers, the sources by kind and rank, the ranks, and what to set."""
    sources = sorted(incident.records.sources, key=_place)
    ignored = [source for source in sources if source.status is SourceStatus.IGNORED]
    listed = sources if len(ignored) <= IGNORED else [source for source in sources if source.status is not SourceStatus.IGNORED]
    lines = [Line(_heading(incident), "answer")]
    if sources:
        lines.append(Line())
        lines += _table(listed, attempts=len(incident.records.attempts) > 1)
    if len(listed) < len(sources):
        lines.append(Line(f"ignored     {count(len(ignored), 'file')}: {_endings(ignored)}", "quiet", hang=12))
    lines += [Line(), *_ranks(incident)]
    if not any(source.usable for source in sources):
        lines += [Line(), Line("no dump was read; what makes PyTorch write them", "head")]
        lines += [Line(line, indent=2, hang=13) for line in recording_lines()]
    return lines


def readable(incident: Incident) -> bool:
    """Whether at least one dump or log could be read; a text that says nothing of a hang is none."""
    return any(
        source.status in USABLE and source.kind in (SourceKind.DUMP, SourceKind.LOG) and not is_mute(source)
        for source in incident.records.sources
    )


def _heading(incident: Incident) -> str:
    sources = incident.records.sources
    if not sources:
        return f"nothing to read in {', '.join(escape(path) for path in incident.paths)}"
    tally = Counter(source.status for source in sources)
    counts = ", ".join(f"{tally[status]:,} {_word(status)}" for status in SourceStatus if tally[status])
    mute = sum(map(is_mute, sources))
    rest = f"; {count(mute, 'text file')} of these {'says' if mute == 1 else 'say'} nothing of a hang" if mute else ""
    return f"{count(len(sources), 'source')}: {counts}{rest}"


def _table(sources: Iterable[Source], *, attempts: bool) -> Iterable[Line]:
    rows = [
        (_word(source.status), _whose(source, attempts=attempts), _what(source), _place_and_reason(source))
        for source in sources
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    widths[0] = max(widths[0], 10)
    for row in rows:
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False) if width)
        yield Line(f"{cells}  {row[3]}", "" if row[0] == "read" else "quiet" if row[0] == "ignored" else "warn", hang=12)


def _word(status: SourceStatus) -> str:
    return status.value.replace("_", " ")


def _whose(source: Source, *, attempts: bool) -> str:
    parts = [] if source.rank is None else [f"rank {source.rank}"]
    if source.host:
        parts.append(escape(source.host))
    if attempts and source.attempt is not None:
        parts.append(f"attempt {source.attempt}")
    return " ".join(parts)


def _what(source: Source) -> str:
    if source.kind is not SourceKind.DUMP:
        return "text" if is_mute(source) else source.kind.value if source.kind is SourceKind.LOG else ""
    parts = producers((source,), "schema")
    if source.usable:
        parts.append(count(source.entries, "entry", "entries"))
    return ", ".join(parts) if parts else size(source.size)


def _place_and_reason(source: Source) -> str:
    reason = reason_of(source)
    return f"{escape(source.path)}: {reason}" if reason else escape(source.path)


def _endings(ignored: Iterable[Source]) -> str:
    """``"30 .py, 10 .out, 3 without ending"``, the most frequent first."""
    tally = Counter(escape(PurePath(source.path).suffix) or "without ending" for source in ignored)
    return ", ".join(f"{number:,} {ending}" for ending, number in sorted(tally.items(), key=lambda item: (-item[1], item[0])))


def _ranks(incident: Incident) -> Iterable[Line]:
    coverage = incident.coverage
    rows = [("expected", coverage.expected), ("recovered", coverage.read)]
    if coverage.partial:
        rows.append(("in part", coverage.partial))
    for name, ranks in rows:
        least = at_least(incident) if name == "expected" else 0
        many = count(len(ranks), "rank")
        many = f"at least {count(least, 'rank')}; the files name {len(ranks):,}" if least else many
        text = f"{many}: {fold_ranks(ranks, RANK_PARTS)}" if ranks else "no rank"
        yield Line(f"{name:<12}{text}", hang=12)
    missing = missing_lines(incident)
    if not missing and coverage.expected:
        yield Line(f"{'missing':<12}no rank")
    yield from (Line(f"{'missing':<12}{line.removeprefix('missing: ')}", "warn", hang=12) for line in missing)
    yield from (Line(line) for line in attempt_lines(incident))


def _place(source: Source) -> tuple[int, int, int, str]:
    """Dumps, logs, others; the newest attempt first; then by rank and path."""
    rank = source.rank if source.rank is not None else 1 << 62
    return _KINDS[source.kind], -(source.attempt or 0), rank, source.path
