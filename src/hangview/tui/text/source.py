"""One source, and the list of all: what was read, cut, refused, missing, and why."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.producers import producer_of
from hangview.schema import NOT_READ_YET, Source, SourceKind, SourceStatus
from hangview.text import count, name_ranks, natural, size
from hangview.tui.live import USUAL, LiveKeys
from hangview.tui.prose import BLANK, Line, Prose, Tone, field, item, line
from hangview.tui.text.common import missing_groups
from hangview.tui.text.glossary import file_word

if TYPE_CHECKING:
    from hangview.incident import Incident

_BAD = (SourceStatus.REFUSED, SourceStatus.UNREADABLE, SourceStatus.EMPTY, SourceStatus.CUT)


def source_lines(incident: Incident, rank: int) -> Prose:
    """The files of one rank: the dump that was used first, then what else was found of it."""
    found = [source for source in incident.records.sources if source.rank == rank]
    found.sort(key=lambda source: (not source.usable, source.kind is not SourceKind.DUMP, source.path))
    lines: list[Line] = []
    if not any(source.usable for source in found):
        reason = incident.coverage.missing.get(rank, "no file of this rank among those looked at")
        lines.append(line(f"rank {rank}: ", ("no usable dump", Tone.UNKNOWN), f" · {reason}", hang=2))
        lines.append(line(("that there is no dump does not say that the rank did not call", Tone.UNKNOWN)))
    for source in found:
        lines += [BLANK] * bool(lines)
        lines += one_source(source)
    return tuple(lines)


def one_source(source: Source) -> list[Line]:
    lines = [
        field("file", (source.path, Tone.STRONG)),
        field("status", _status(source)),
        field("rank", f"{source.rank if source.rank is not None else 'unknown'}, from {source.rank_from or 'nothing'}"),
        field("host", source.host or ("not recorded", Tone.UNKNOWN)),
        field("size", f"{size(source.size)}, {count(source.entries, 'entry', 'entries')}"),
    ]
    if source.kind is SourceKind.DUMP:
        producer = producer_of(source.producer) if source.producer else None
        lines.append(field("producer", f"{source.producer or 'unknown'}, schema {source.version or 'not recorded'}"))
        lines.append(field("library", source.library or ("not recorded", Tone.UNKNOWN)))
        if producer and producer.note:
            lines.append(field("", (producer.note, Tone.DIM)))
        lines.append(field("window", _window(source)))
        if not source.has_stacks:
            lines.append(field("stacks", ("not recorded", Tone.UNKNOWN)))
        if not source.configured:
            lines.append(field("groups", ("no group in its configuration: members are inferred", Tone.UNKNOWN)))
    lines += [item(note, Tone.DIM) for note in source.notes]
    return lines


def _status(source: Source) -> tuple[str, Tone]:
    if source.reason == NOT_READ_YET:
        return NOT_READ_YET, Tone.UNKNOWN
    words = _word(source)
    tone = Tone.LEAD if source.status in _BAD else Tone.PLAIN if source.usable else Tone.UNKNOWN
    reason = _reason(source)
    return (f"{words}: {reason}" if reason else words), tone


def _word(source: Source) -> str:
    """Its status in words. Until a look has come to a file it is only still to be read, whoever writes it."""
    if source.reason == NOT_READ_YET:
        return NOT_READ_YET
    return file_word(source.status)


def _reason(source: Source) -> str:
    """Why it has that status, without the status in front of it."""
    return (source.reason or "").removeprefix(f"{_word(source)}: ")


def _window(source: Source) -> str:
    parts = ["older records were overwritten (the buffer went round)" if source.wrapped else "nothing was overwritten"]
    if source.only_active:
        parts.append("only unfinished entries were dumped")
    return "; ".join(parts)


def _names(sources: list[Source]) -> list[str]:
    """Their paths, with the rank where the name of the file does not end with it."""
    shown = sorted(sources, key=lambda source: (source.rank is None, source.rank or 0, natural(source.path)))
    return [
        each.path if each.rank is None or each.path.endswith(f"_{each.rank}") else f"{each.path}  rank {each.rank}"
        for each in shown
    ]


def ledger_lines(incident: Incident, live: LiveKeys = USUAL, *, unfolded: bool = False) -> Prose:
    """Every file, with equal stories told once: status, reason, the ranks. ``unfolded``: every file by its name below them."""
    stories: defaultdict[tuple[str, str, str], list[Source]] = defaultdict(list)
    for source in incident.records.sources:
        told = _reason(source) if source.reason != NOT_READ_YET else ""
        stories[source.kind.value, _word(source), told].append(source)
    total = len(incident.records.sources)
    lines = [line((f"{count(total, 'file')} looked at under {', '.join(incident.paths)}", Tone.HEAD))]
    if any(len(sources) > 1 for sources in stories.values()):
        names = "folds those of one story together again" if unfolded else "lists every one"
        lines.append(line((f"{live('unfold')} {names}", Tone.DIM)))
    for (kind, words, reason), sources in stories.items():
        ranks = [source.rank for source in sources if source.rank is not None]
        tone = Tone.PLAIN if sources[0].status is SourceStatus.READ else Tone.UNKNOWN
        named = name_ranks(ranks, 12) if ranks else ""
        names = sources[0].path if len(sources) == 1 else f"{sources[0].path} and {len(sources) - 1:,} more"
        lines.append(line((f"{kind}, {words}: {count(len(sources), 'file')}", tone), f"  {named}", hang=2))
        lines += [
            line(f"    {name}", (f"  {reason}" if reason else "", Tone.UNKNOWN), hang=4)
            for name in (_names(sources) if unfolded else (names,))
        ]
    for reason, missing in missing_groups(incident):
        lines.append(line((f"no dump: {name_ranks(missing, 12)}", Tone.UNKNOWN), f"  {reason}", hang=2))
    return tuple(lines)
