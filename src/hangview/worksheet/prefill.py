"""A worksheet with everything the evidence can say already in it, each line with where it comes from; the rest blank."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from hangview.producers import Completion, producer_of
from hangview.report.coverage import at_least, missing_by_reason, newer_unread_line, of_ranks
from hangview.schema import SourceStatus
from hangview.terms import Kind, Role
from hangview.text import count, escape, moment
from hangview.worksheet import evidence
from hangview.worksheet.against import against_lines
from hangview.worksheet.ends import exception_lines
from hangview.worksheet.evidence import LINES
from hangview.worksheet.hypothesis import first_hypotheses, no_hypothesis_line, with_finding
from hangview.worksheet.languages import LANGUAGES
from hangview.worksheet.model import Item, Prefilled, blank_sheet
from hangview.worksheet.placed import device_lines, group_lines, host_lines
from hangview.worksheet.standing import standing_lines, state_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hangview.compare import Comparison
    from hangview.incident import Incident
    from hangview.terms import Fact
    from hangview.worksheet.model import Sheet

    Lines = tuple[Prefilled, ...]

_STATES_TOLD = {
    Completion.RECORDED: "requested, started and completed are told apart",
    Completion.RETIRED: "requested and over are told apart; started is not recorded, nor whether it ended well",
    Completion.HOOK: "requested and completed are told apart where the backend says so; started is never recorded",
}
_TROUBLE = (
    *(SourceStatus.REFUSED, SourceStatus.UNREADABLE, SourceStatus.EMPTY),
    *(SourceStatus.CUT, SourceStatus.UNFINISHED, SourceStatus.GROWING),
)


def prefill(incident: Incident, *, language: str = "en", run_date: str = "", comparison: Comparison | None = None) -> Sheet:
    """The worksheet of an incident. The same incident gives the same sheet: ``run_date`` is the only thing it cannot know.

    ``comparison`` is ``compare(comparison_run, incident)``: it fills in what changed against that run, and the three trials.
    KeyError for a language that is not built in.
    """
    words = LANGUAGES[language]
    sheet = blank_sheet(language, name=_name(incident))
    for key, lines_of in _FIELDS.items():
        sheet = sheet.with_field(replace(sheet[key], prefilled=lines_of(incident)))
    if run_date.strip():
        sheet = sheet.with_field(replace(sheet["date"], prefilled=(Prefilled(escape(run_date), "the command line"),)))
    findings = first_hypotheses(incident)
    for finding in findings:
        sheet, _ = with_finding(sheet, finding, incident)
    if not findings:
        sheet = sheet.with_field(replace(sheet["hypothesis"], prefilled=(no_hypothesis_line(incident),)))
    producers = [source.producer or "" for source in evidence.dumps(incident)]
    backends = [fact.value for fact in evidence.facts_named(incident, "backend")]
    hooked = sorted({name for name in (*producers, *backends) if name and _is_hooked(name)})
    unseen = _only_unseen(incident)
    if hooked and unseen:
        text = (
            f"no reason to go back yet: what stands first is a missing record ({evidence.ranks_text(unseen)}), not a fault seen"
        )
        sheet = sheet.with_field(replace(sheet["transition"], prefilled=(Prefilled(text, "the finding “not observed”"),)))
    elif hooked:
        origin = f"PyTorch 2.15, as the recorder is {', '.join(escape(name) for name in hooked)}"
        items = tuple(Item(text, origin) for text in words.items["transition"])
        sheet = sheet.with_field(replace(sheet["transition"], items=items))
    sheet = sheet.with_field(replace(sheet["trials"], items=tuple(Item(text) for text in words.items["trials"])))
    if comparison is not None:
        for key, lines in against_lines(incident, comparison, words).items():
            sheet = sheet.with_field(replace(sheet[key], prefilled=lines))
    return sheet


def _name(incident: Incident) -> str:
    names = [escape(PurePath(path).name or path) for path in incident.paths]
    return names[0] if len(names) == 1 else ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _is_hooked(producer: str) -> bool:
    return producer_of(producer).completion is Completion.HOOK


# Section 1


def _evidence(incident: Incident) -> Lines:
    if not incident.paths:
        return ()
    read = f"{count(len(evidence.dumps(incident)), 'dump')} and {count(len(evidence.logs(incident)), 'log')} read"
    return (Prefilled(f"{', '.join(escape(path) for path in incident.paths)}: {read}", "the paths that were given"),)


def _attempt(incident: Incident) -> Lines:
    attempts = incident.records.attempts
    current = next((attempt for attempt in attempts if attempt.current), None)
    unread = newer_unread_line(incident)
    if current is None or (len(attempts) < 2 and not unread):
        return ()
    reason = f": {escape(current.reason)}" if current.reason else ""
    among = f"one of {len(attempts)} among the files{reason}" if len(attempts) > 1 else "the only one that could be read"
    return (Prefilled(f"{current.attempt}, {among}{f'; {unread}' if unread else ''}", "the files and their times"),)


def _backend(incident: Incident) -> Lines:
    by_dumps = evidence.per_dump(incident, lambda source: source.producer, "profiling names")
    return by_dumps or evidence.per_fact(incident, "backend")


def _library(incident: Incident) -> Lines:
    return evidence.per_dump(incident, lambda source: source.library, "header") or evidence.per_fact(
        incident, "nccl", "library"
    )


def _driver(incident: Incident) -> Lines:
    return evidence.per_fact(
        incident, "driver", "cuda", "cuda_driver_api", words={"cuda": "CUDA {}", "cuda_driver_api": "driver API {}"}
    )


def _settings(incident: Incident) -> Lines:
    """Environment variables and the time-out, as far as logs show them."""
    found: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in incident.facts:
        if fact.name.startswith("env ") or fact.name == "timeout":
            name = fact.name.removeprefix("env ") if fact.name != "timeout" else "time-out"
            found[name, fact.value].append(fact)
    lines = []
    for (name, value), facts in sorted(found.items()):
        ranks = sorted({rank for fact in facts for rank in fact.ranks})
        where = f" ({evidence.ranks_text(ranks)})" if ranks else ""
        text = f"{escape(name)}={escape(value)}{where}"
        lines.append(Prefilled(text, evidence.paths_text(evidence.fact_origin(fact) for fact in facts)))
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], Prefilled(f"{len(lines) - LINES + 1:,} more", "the logs")]
    return tuple(lines)


def _schema(incident: Incident) -> Lines:
    return evidence.per_dump(incident, lambda source: source.version, "header")


# Section 3


def _expected(incident: Incident) -> Lines:
    coverage = incident.coverage
    if not coverage.expected:
        return ()
    text = f"{evidence.counted_ranks(coverage.expected)}; records of {len(coverage.read):,} recovered"
    least = at_least(incident)
    if least:
        text = f"at least {least:,}, as ranks count from 0; the files name {text}"
    return (Prefilled(text, "members of the groups and the files found"),)


# Section 5


def _states(incident: Incident) -> Lines:
    producers: defaultdict[str, list[str]] = defaultdict(list)
    for source in evidence.dumps(incident):
        if source.producer:
            producers[source.producer].append(source.path)
    told = tuple(
        Prefilled(
            f"{escape(name)}: {_STATES_TOLD[producer_of(name).completion]}", f"profiling names of {evidence.paths_text(paths)}"
        )
        for name, paths in sorted(producers.items())
    )
    return told + state_lines(incident)


def _missing(incident: Incident) -> Lines:
    where = "the ranks expected and the files found"
    lines = [
        Prefilled(f"{evidence.ranks_text(ranks)}{f' on {host}' if host else ''}: {reason}", where)
        for ranks, host, reason in missing_by_reason(incident)
    ]
    if not lines and incident.coverage.expected:
        lines.append(Prefilled(f"no rank: records of all {len(incident.coverage.expected):,} were recovered", where))
    said = set(incident.coverage.missing.values())  # with the file's name
    troubled = (s for s in incident.records.sources if s.status in _TROUBLE and f"{s.path}: {s.reason}" not in said)
    lines += [
        Prefilled(f"{source.status.value}: {escape(source.reason or 'no reason known')}", escape(source.path))
        for source in sorted(troubled, key=evidence.by_rank)
    ]
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], Prefilled(f"{len(lines) - LINES + 1:,} more", "hangview check")]
    for having, text in (
        ([s for s in evidence.dumps(incident) if s.wrapped], "the ring buffer overwrote older records"),
        ([s for s in evidence.dumps(incident) if s.only_active], "only unfinished records were written"),
    ):
        if having:
            ranks = [source.rank for source in having if source.rank is not None]
            lines.append(Prefilled(f"{evidence.ranks_text(ranks)}: {text}", evidence.paths_text(s.path for s in having)))
    unjudged = Counter(escape(lane.note) or "no reason known" for lane in incident.lanes if not lane.judged)
    lines += [
        Prefilled(f"not judged: {count(number, 'lane')}: {note}", "the dumps") for note, number in sorted(unjudged.items())
    ]
    return tuple(lines)


# Section 6


def _warnings(incident: Incident) -> Lines:
    """What NCCL warned of and what PyTorch's desync report said: quoted, as neither proves anything by itself."""
    names = {"nccl_warning": "NCCL warned", "desync_report": "PyTorch's desync report (counts from 1)"}
    facts = [fact for name in names for fact in evidence.facts_named(incident, name)]
    lines = [
        Prefilled(
            f"{names[fact.name]}: {escape(fact.value)}" + (f" ({evidence.ranks_text(fact.ranks)})" if fact.ranks else ""),
            evidence.fact_origin(fact),
        )
        for fact in facts[:LINES]
    ]
    if len(facts) > LINES:
        lines.append(Prefilled(f"{len(facts) - LINES:,} more such lines", "the logs"))
    return tuple(lines)


def _clocks(incident: Incident) -> Lines:
    clocks = sorted(incident.clocks, key=lambda clock: (-abs(clock.offset_ns), clock.ranks))
    lines = []
    if len(clocks) > 1:
        apart = max(clock.offset_ns for clock in clocks) - min(clock.offset_ns for clock in clocks)
        once = " as far as single calls show" if all(clock.calls == 1 for clock in clocks) else ""
        lines.append(Prefilled(f"clocks differ by up to {evidence.seconds(apart)}{once}", "completed calls"))
    for clock in clocks[:LINES]:
        sign = "-" if clock.offset_ns < 0 else "+"
        spread = f"± {evidence.seconds(clock.spread_ns)}" if clock.calls > 1 else "by one call alone, which tells no spread"
        offset = f"{sign}{evidence.seconds(clock.offset_ns)} against the median, {spread}"
        lines.append(Prefilled(f"{evidence.ranks_text(clock.ranks)}: {offset}", count(clock.calls, "completed call")))
    if len(clocks) > LINES:
        lines.append(Prefilled(f"{len(clocks) - LINES:,} more with smaller differences", "completed calls"))
    return tuple(lines)


def _delay(incident: Incident) -> Lines:
    """How far apart the newest records lie: what is known of when each dump was written, as no dump holds that time."""
    if incident.entries.is_empty():
        return ()
    import polars as pl

    newest = (
        incident.entries.select("rank", pl.max_horizontal("created_ns", "started_ns", "completed_ns").alias("time"))
        .drop_nulls()
        .group_by("rank")
        .agg(pl.col("time").max())
        .sort("time", "rank")
    )
    if newest.height < 2:
        return ()
    (first, earliest), (last, latest) = newest.row(0), newest.row(-1)
    text = (
        f"the newest records lie {evidence.seconds(latest - earliest)} apart, rank {first} first "
        f"({moment(earliest)} by its clock), rank {last} last; "
        "differences of clocks are in it"
    )
    return (Prefilled(text, "times of the newest record of each rank"),)


# Sections 7 and 8


#: How the first thing to compare is said as a test, where another word than "compare" fits; "" where there is nothing to test.
_TESTS = {
    Kind.NOT_OBSERVED: "nothing to compare yet: a record is missing. First look at {}; then read all files again",
    Kind.NO_COLLECTIVE: "with nothing else changed, look {}",
    Kind.WAITING: "",
}


def _next_test(incident: Incident) -> Lines:
    for finding in first_hypotheses(incident):
        test = _TESTS.get(finding.kind, "with nothing else changed, compare {}")
        if finding.compare_first and test:
            return (Prefilled(test.format(escape(finding.compare_first)), f"the finding “{finding.kind.words}”"),)
    return ()


def _only_unseen(incident: Incident) -> tuple[int, ...]:
    """The ranks without a usable record, where all that stands first is that they have none; else empty."""
    leads = [finding for finding in incident.findings if finding.role is Role.LEAD]
    if not leads or any(finding.kind is not Kind.NOT_OBSERVED for finding in leads):
        return ()
    return tuple(sorted({rank for finding in leads for rank in finding.ranks}))


def _trials(incident: Incident) -> Lines:
    if not incident.coverage.expected:
        return ()
    ranks = of_ranks(incident)
    known = {rank for fact in incident.facts if fact.name == "device" for rank in fact.ranks}
    expected = ranks if at_least(incident) else f"{ranks} expected"
    recovered = f"records recovered: {len(incident.coverage.read):,} of {expected}"
    return (
        Prefilled(f"devices known: {len(known):,} of {ranks}", "the files read"),
        Prefilled(recovered, "the ranks expected and the files found"),
    )


_FIELDS: Mapping[str, Callable[[Incident], Lines]] = {
    "run": lambda incident: evidence.per_fact(incident, "run", "job", "env TORCHELASTIC_RUN_ID"),
    "evidence": _evidence,
    "attempt": _attempt,
    "torch": lambda incident: evidence.per_fact(incident, "torch"),
    "backend": _backend,
    "library": _library,
    "schema": _schema,
    "driver": _driver,
    "settings": _settings,
    "expected": _expected,
    "groups": group_lines,
    "hosts": host_lines,
    "devices": device_lines,
    "standing": standing_lines,
    "states": _states,
    "missing": _missing,
    "exceptions": lambda incident: (*exception_lines(incident), *_warnings(incident)),
    "clocks": _clocks,
    "delay": _delay,
    "next_test": _next_test,
    "trials": _trials,
}
