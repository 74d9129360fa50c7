"""Ranks expected against ranks recovered, and the sources worth a word: what the answer rests on, and what is missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from hangview.log_sources import is_mute
from hangview.schema import DEFAULT_DESC, SourceKind, SourceStatus
from hangview.text import count, escape, fold_ranks, moment, name_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hangview.incident import Incident
    from hangview.schema import Source

#: Parts of a folded rank list before "…": keeps a line short where every second rank is meant.
RANK_PARTS = 12
#: Sources with a word to say that are named one by one before "… more".
SOURCES = 10

#: Default groups whose ranks are listed.
WORLDS = 4

#: Statuses that a reader of the report should know about, the worst first.
_TROUBLE = (
    SourceStatus.REFUSED,
    SourceStatus.UNREADABLE,
    SourceStatus.EMPTY,
    SourceStatus.CUT,
    SourceStatus.UNFINISHED,
    SourceStatus.GROWING,
    SourceStatus.OTHER_ATTEMPT,
    SourceStatus.SUPERSEDED,
)


def at_least(incident: Incident) -> int:
    """How many ranks the job has at the least, where the files name fewer: ranks count from 0. 0 where they name as many, or
    where the members of a group are recorded and these are all of them."""
    expected = incident.coverage.expected
    highest = max(expected, default=-1) + 1
    whole = any(not group.inferred and set(group.ranks) >= set(expected) for group in incident.groups)
    return 0 if whole or highest <= len(expected) else highest


def world_size(incident: Incident) -> tuple[int, bool]:
    """How many ranks the job has, and whether that is recorded: else it is the least that there must be. Recorded is it where a
    group's own configuration has all ranks that are known of, or where a launcher printed it."""
    expected = incident.coverage.expected
    told = incident.logs.world_size if incident.logs is not None else None
    if any(not group.inferred and set(group.ranks) >= set(expected) for group in incident.groups):
        return len(expected), True
    least = max(expected, default=-1) + 1
    return (told, True) if told is not None and told >= least else (least, False)


def of_ranks(incident: Incident) -> str:
    """``"64 ranks"``; where more must exist, ``"at least 16 ranks, of which the files name 10"``."""
    many, least = len(incident.coverage.expected), at_least(incident)
    return f"at least {count(least, 'rank')}, of which the files name {many:,}" if least else count(many, "rank")


def read_of_ranks(incident: Incident) -> str:
    """``"63 of 64 ranks read"``."""
    of = of_ranks(incident) + ("," if at_least(incident) else "")
    return f"{len(incident.coverage.read):,} of {of} read"


def hosts(incident: Incident) -> dict[int, str]:
    """The host of each rank, where a source names one (a dump before a log)."""
    found: dict[int, str] = {}
    for source in sorted(incident.records.sources, key=lambda source: source.kind is not SourceKind.DUMP):
        if source.rank is not None and source.host:
            found.setdefault(source.rank, escape(source.host))
    return found


def missing_by_reason(incident: Incident) -> list[tuple[tuple[int, ...], str, str]]:
    """Ranks without a usable dump, those with the same reason on the same host together: (ranks, host or "", reason). A reason
    that begins with the rank's own file has it left out where it is that of several ranks."""
    where = hosts(incident)
    names = {source.rank: source.path for source in incident.records.sources if source.rank is not None}
    folded: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for rank, reason in sorted(incident.coverage.missing.items()):
        folded[where.get(rank, ""), reason.removeprefix(f"{names.get(rank, '')}: ")].append(rank)
    return sorted(
        (tuple(ranks), host, escape(incident.coverage.missing[ranks[0]] if len(ranks) == 1 else reason))
        for (host, reason), ranks in folded.items()
    )


def missing_lines(incident: Incident) -> list[str]:
    """One line for each group of :func:`missing_by_reason`: ``"missing  ranks 12-13 on node-03 (2 ranks): no file"``."""
    lines = []
    for ranks, host, reason in missing_by_reason(incident):
        number = f" ({len(ranks):,} ranks)" if len(ranks) > 1 else ""
        lines.append(f"missing: {name_ranks(ranks, RANK_PARTS)}{f' on {host}' if host else ''}{number}: {reason}")
    return lines


def attempt_lines(incident: Incident) -> list[str]:
    """Which start of the job is shown, when the files hold more than one."""
    attempts = incident.records.attempts
    if len(attempts) < 2:
        return []
    return [
        f"attempt {attempt.attempt}: {name_ranks(attempt.ranks, RANK_PARTS)}, "
        f"{'shown here' if attempt.current else 'left out'}{f' ({escape(attempt.reason)})' if attempt.reason else ''}"
        for attempt in sorted(attempts, key=lambda attempt: attempt.attempt)
    ]


def newer_unread(incident: Incident) -> tuple[Source, ...]:
    """What could not be read of attempts newer than the one shown, and of which nothing could: by their folders' numbers."""
    shown = next((attempt.attempt for attempt in incident.records.attempts if attempt.current), None)
    known = {attempt.attempt for attempt in incident.records.attempts}
    if shown is None:
        return ()
    trouble = (s for s in incident.records.sources if s.kind is not SourceKind.LOG and s.reason and s.attempt is not None)
    return tuple(s for s in trouble if s.attempt not in known and (s.attempt or 0) > shown)


def newer_unread_line(incident: Incident) -> str:
    """``"attempt 1 could not be read (attempt_1: Permission denied): attempt 0 is shown"``; "" where there is none."""
    unread = newer_unread(incident)
    if not unread:
        return ""
    numbers = sorted({source.attempt for source in unread if source.attempt is not None})
    shown = next(attempt.attempt for attempt in incident.records.attempts if attempt.current)
    first = f"{escape(unread[0].path)}: {escape((unread[0].reason or '').partition('; folder of')[0])}"
    more = f" and {count(len(unread) - 1, 'more file')}" if len(unread) > 1 else ""
    return f"attempt {fold_ranks(numbers)} could not be read ({first}{more}): attempt {shown} is shown, an older one"


def left_standing(incident: Incident) -> str:
    """``"attempt 1, left out, shows a hang: --attempt 1"``, where the one that is shown has nothing to look at; ""."""
    stands = [attempt.attempt for attempt in incident.records.attempts if attempt.stands]
    if not stands:
        return ""
    which = f"attempt {stands[0]}" if len(stands) == 1 else f"attempts {fold_ranks(stands)}"
    return f"{which}, left out, {'shows' if len(stands) == 1 else 'show'} a hang: --attempt {max(stands)}"


def mixed_lines(incident: Incident) -> list[str]:
    """That files of several starts of the job, of several worlds, or several of one rank were found: belongs to the first lines
    of an answer, for who gave two folders by mistake must not read the one's answer as the other's."""
    unread = newer_unread_line(incident)
    lines = [unread] if unread else []
    attempts = incident.records.attempts
    shown = [attempt.attempt for attempt in attempts if attempt.current]
    if len(attempts) > 1 and shown:
        left = sum(source.status is SourceStatus.OTHER_ATTEMPT for source in incident.records.sources)
        stands = left_standing(incident)
        look = f"; {stands}" if stands else ""
        lines.append(
            f"files of {len(attempts):,} attempts or jobs: attempt {shown[0]} alone is shown, "
            f"{count(left, 'file')} left out{look}"
        )
    worlds = _worlds(incident)
    if len(worlds) > 1:
        named = "; ".join(fold_ranks(world, 4) for world in worlds[:WORLDS]) + ("; …" if len(worlds) > WORLDS else "")
        lines.append(f"{len(worlds):,} default groups without a common rank ({named}): replicas, or files of several jobs")
    twice = several_files(incident)
    if twice:
        has, of = ("has", "") if len(twice) == 1 else ("have", "of each ")
        lines.append(
            f"{name_ranks(twice, RANK_PARTS)} {has} more than one file: {of}the newer or richer one is used "
            "(hangview check lists them)"
        )
    return lines


def _worlds(incident: Incident) -> list[tuple[int, ...]]:
    """The default groups where there are several that share no rank, by their lowest rank."""
    found = {tuple(sorted(group.ranks)) for group in incident.groups if group.desc == DEFAULT_DESC}
    apart = sum(len(ranks) for ranks in found) == len(set().union(*found))
    return sorted(found) if apart else []


def several_files(incident: Incident) -> dict[int, int]:
    """Ranks with more than one file of the attempt that is shown, and how many those are."""
    more = Counter(
        source.rank
        for source in incident.records.sources
        if source.status is SourceStatus.SUPERSEDED and source.rank is not None
    )
    return {rank: number + 1 for rank, number in sorted(more.items())}


def no_hang(incident: Incident) -> str:
    """What is said where no hang was seen: without a claim about what was not recorded."""
    if incident.coverage.unrecorded:
        return "these files show no hang in what is recorded"
    return "these files show no hang"


def nothing_shown(incident: Incident) -> str:
    """Why it is not known whether the job hangs, where there are records and no finding tells: in a sentence."""
    coverage = incident.coverage
    cut = [rank for rank in coverage.partial if rank not in coverage.missing]
    unseen = [
        (f"{name_ranks(ranks, 6)} ({why})") for why, ranks in (("no usable dump", coverage.missing), ("cut", cut)) if ranks
    ]
    if not unseen:
        return "no call could be compared between ranks"
    if any(lane.judged for lane in incident.lanes):
        return f"what is recorded is over; what {' and '.join(unseen)} requested last is not known"
    return f"no call could be compared: what {' and '.join(unseen)} requested is not known"


def after_no_hang(incident: Incident, *, brief: bool = False) -> str:
    """What comes next where a job hangs and its records do not show it; ``brief``: the most wanted, within 80 characters."""
    newest = next((attempt.newest_ns for attempt in incident.records.attempts if attempt.current), None)
    of = f"newest record {moment(newest)}: " if newest else ""
    if brief:
        return left_standing(incident) or f"{of}if it hung later, collect again"
    return f"{of}if the job hung later, collect dumps again; if then, no record shows it: see the stacks of its processes"


def coverage_lines(incident: Incident) -> tuple[str, ...]:
    """Ranks expected, read and missing with the reason; attempts; lanes that were not judged; what is not recorded."""
    coverage = incident.coverage
    read = fold_ranks(coverage.read, RANK_PARTS) or "none"
    lines = [f"{read_of_ranks(incident)}: {read}"]
    if coverage.partial:
        lines.append(f"not read to the end: {name_ranks(coverage.partial, RANK_PARTS)}")
    lines += missing_lines(incident)
    lines += attempt_lines(incident)
    unjudged = Counter(escape(lane.note) or "no reason given" for lane in incident.lanes if not lane.judged)
    lines += [f"not judged: {count(number, 'lane')}: {note}" for note, number in sorted(unjudged.items())]
    lines += [f"not recorded: {escape(line)}" for line in coverage.unrecorded]
    return tuple(lines)


def source_lines(incident: Incident, *, everything: bool = False) -> tuple[str, ...]:
    """What was read, in numbers, then each source that was not read whole, with its reason."""
    sources = incident.records.sources
    dumps = [source for source in sources if source.usable]
    texts = [source for source in sources if source.kind is SourceKind.LOG and source.status is SourceStatus.READ]
    logs = [source for source in texts if not is_mute(source)]
    ignored = sum(source.status is SourceStatus.IGNORED for source in sources)
    kept_out = incident.logs is None and logs  # dumps alone were asked for
    made = producers(dumps)
    named = f" ({'; '.join(made)})" if made else ""
    parts = [
        f"{count(len(dumps), 'dump')} read{named}",
        f"{count(len(logs), 'log')} {'not ' if kept_out else ''}read",
    ]
    if len(logs) < len(texts):
        mute = len(texts) - len(logs)
        parts.append(f"{count(mute, 'text file')} that {'says' if mute == 1 else 'say'} nothing of a hang")
    if ignored:
        parts.append(f"{count(ignored, 'other file')} left alone")
    lines = [", ".join(parts)]
    if not dumps:
        lines.append("hangview check says what makes PyTorch write dumps")
    lines += _of_other_runs(incident)
    only_active = [source.rank for source in dumps if source.only_active and source.rank is not None]
    if only_active:
        lines.append(f"only unfinished entries were dumped by {name_ranks(only_active, RANK_PARTS)}")
    words = _words(incident)
    shown = len(words) if everything else SOURCES
    lines += words[:shown]
    if len(words) > shown:
        lines.append(f"… {len(words) - shown:,} more: hangview check lists every source")
    return tuple(lines)


def _of_other_runs(incident: Incident) -> list[str]:
    """Logs that hold lines of another run as well, in one line. Those that are of another run altogether are listed."""
    told = sorted({one.shown for one in incident.logs.aside if one.line is not None}) if incident.logs is not None else []
    if not told:
        return []
    many = f"{escape(told[0])} holds" if len(told) == 1 else f"{len(told):,} logs ({escape(told[0])}, …) hold"
    return [f"{many} lines of another run, which were set aside: hangview check says which"]


def reason_of(source: Source) -> str:
    """Why the status is what it is, without the status at its beginning; "" when there is nothing to say."""
    return escape(source.reason or "").removeprefix(f"{_status(source)}: ")


def _status(source: Source) -> str:
    return source.status.value.replace("_", " ")


def _words(incident: Incident) -> list[str]:
    """A line for each source that was not read whole or has a reason; those with the same word are folded into one line.

    What the coverage says already is left out: other attempts, and files that are the reason why a rank is missing.
    """
    attempts_said = len(incident.records.attempts) > 1
    missing_said = [escape(reason) for reason in incident.coverage.missing.values()]
    folded: defaultdict[tuple[str, str], list[Source]] = defaultdict(list)
    for source in sorted(incident.records.sources, key=_by_trouble):
        trouble = source.status in _TROUBLE and not (attempts_said and source.status is SourceStatus.OTHER_ATTEMPT)
        said = source.rank in incident.coverage.missing and any(escape(source.path) in reason for reason in missing_said)
        if (trouble and not said) or (source.usable and source.reason):
            folded["" if source.status is SourceStatus.READ else _status(source), reason_of(source)].append(source)
    lines = []
    for (status, reason), found in folded.items():
        word = reason if reason.startswith(status) else f"{status}: {reason}" if reason else status
        ranks = [source.rank for source in found if source.rank is not None]
        if len(found) == 1:
            lines.append(f"{escape(found[0].path)}: {word}")
        elif len(ranks) == len(found):
            lines.append(f"{count(len(found), 'file')} of {name_ranks(ranks, RANK_PARTS)}: {word}")
        else:
            lines.append(f"{count(len(found), 'file')}, {escape(found[0].path)} the first: {word}")
    return lines


def _by_trouble(source: Source) -> tuple[int, int, str]:
    order = _TROUBLE.index(source.status) if source.status in _TROUBLE else len(_TROUBLE)
    return order, source.rank if source.rank is not None else -1, source.path


def producers(dumps: Iterable[Source], schema: str = "dump schema") -> list[str]:
    """``"nccl, dump schema 2.10"``; all of them where ranks differ, as a job that mixed builds is worth knowing.

    ``schema``: the words before the version, which is the dump's and not the library's. A dump without entries does not show
    its producer; it is of the kind of its neighbours as far as anybody can tell.
    """
    found = {(dump.producer or "", dump.version or "") for dump in dumps}  # of a thousand dumps one or two
    pairs = {(escape(producer), escape(version)) for producer, version in found}
    named = {version for producer, version in pairs if producer}
    return sorted(
        ", ".join(part for part in (producer, f"{schema} {version}" if version else "") if part)
        for producer, version in pairs
        if producer or (version and version not in named)
    )
