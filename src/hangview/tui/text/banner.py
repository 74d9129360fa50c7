"""The answer before anything is pressed: what was found, or that nothing was, or what is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hangview.log_sources import is_mute
from hangview.report.coverage import (
    after_no_hang,
    at_least,
    left_standing,
    newer_unread,
    no_hang,
    nothing_shown,
    producers,
    several_files,
)
from hangview.report.page import NO_RANK, names_a_rank
from hangview.schema import SourceKind, SourceStatus
from hangview.terms import Role, Verdict
from hangview.text import count, fold_ranks, name_ranks, shorten
from hangview.tui.prose import Line, Prose, Span, Tone, drawn, line, wrap
from hangview.tui.text.brief import MORE, briefs
from hangview.tui.text.common import DIVERGENCE, answering, missing_groups, role_mark, role_word
from hangview.tui.text.heads import heads_so_far
from hangview.tui.titles import cut_middle
from hangview.tui.waiting import for_whom_unknown, waiting_for

if TYPE_CHECKING:
    from hangview.dumps.heads import Heads
    from hangview.incident import Incident
    from hangview.terms import Finding

#: So many reasons for missing dumps are told, the others are counted.
REASONS = 3
#: Rows of the answer, at most.
ROWS = 2
_NOTHING = Span("")


def title(
    incident: Incident | None,
    paths: tuple[str, ...],
    activity: str,
    *,
    demo: bool = False,
    width: int = 1000,
    ascii_only: bool = False,
) -> Line:
    """``hangview  run-4711 · attempt 2 · dumps 62/64 · nccl, dump schema 2.10 · watching (poll 2 s)``.

    What does not fit into ``width`` is said shorter or left out, the least wanted first; what is going on never is.
    """
    shorter, doing = "", activity
    parts = {"path": "bundled example" if demo else shorten(", ".join(paths), 40)}
    if incident is not None:
        current = [attempt for attempt in incident.records.attempts if attempt.current]
        if len(incident.records.attempts) > 1 and current:
            parts["attempt"] = f"attempt {current[0].attempt}, {len(incident.records.attempts) - 1:,} left out"
        if newer_unread(incident):
            parts["attempt"] = f"attempt {current[0].attempt}, a newer one could not be read"
        least = at_least(incident)
        of = f"{least}+" if least else str(len(incident.coverage.expected))  # ranks that no file names exist all the same
        parts["dumps"] = f"dumps {len(incident.coverage.read)}/{of}"
        if incident.coverage.partial:
            parts["dumps"] += f" ({len(incident.coverage.partial)} in part)"
        twice = several_files(incident)
        if twice:
            files = f"{min(twice.values())}+ files" if len(set(twice.values())) > 1 else f"{next(iter(twice.values()))} files"
            parts["files"] = f"{files} of {name_ranks(twice, 1) if len(twice) == 1 else count(len(twice), 'rank')}, one used"
        dumps = [source for source in incident.records.sources if source.kind is SourceKind.DUMP and source.usable]
        parts["kinds"], shorter = ("; ".join(producers(dumps, words)[:2]) for words in ("dump schema", "schema"))
        texts = [source for source in incident.records.sources if source.kind is SourceKind.LOG and not is_mute(source)]
        logs = sum(source.status in (SourceStatus.READ, SourceStatus.GROWING) for source in texts)
        parts["logs"] = count(logs, "log") if logs else ""

    def assembled() -> Line:
        said = line(("hangview", Tone.STRONG), "  " + " · ".join(filter(None, parts.values())), *_activity(doing))
        return drawn(said, ascii_only=ascii_only)

    path = shorten(paths[0].rstrip("/").rsplit("/", 1)[-1], 16) if paths else ""
    for name, instead in (("kinds", shorter), ("logs", ""), ("kinds", ""), ("path", path)):
        if assembled().width > width and name in parts:
            parts[name] = instead
    if assembled().width > width:
        doing = re.sub(r" \([^()]*\)", "", activity)  # "watching" alone, not how
    return assembled()


def _activity(activity: str) -> list[Span]:
    return [Span(" · "), Span(activity, Tone.KEY)] if activity else []


def so_far(incident: Incident, width: int = 1000, *, ascii_only: bool = False) -> Line:
    """What the files say of which only some were read: no word that names anybody, more files may turn it round."""
    read, expected = len(incident.coverage.read), len(incident.coverage.expected)
    part = f" ({read:,} of {count(expected, 'dump')} read)"
    nothing = "no divergence" if incident.lanes else "no collective call"
    if not incident.findings:
        return line(("SO FAR  ", Tone.KEY), nothing, (part, Tone.DIM), hang=8)
    before, after = Span("SO FAR  ", Tone.KEY), Span(part, Tone.DIM)
    return _fitting(incident, incident.findings[0], before, width, tone=Tone.PLAIN, after=after, ascii_only=ascii_only)


def _fitting(
    incident: Incident,
    finding: Finding,
    before: Span,
    width: int,
    *,
    rows: int = ROWS,
    tone: Tone = Tone.STRONG,
    after: Span = _NOTHING,
    ascii_only: bool,
) -> Line:
    """The finding behind ``before`` in the fullest words that ``rows`` rows of ``width`` cells hold; else in the fewest."""
    told = line()
    for words in briefs(incident, finding):
        if rows > 1 and words.endswith(MORE):
            break  # in two rows there is room for a part of what follows: better cut than left out
        told = drawn(line(before, (words, tone), after, hang=len(before.text)), ascii_only=ascii_only)
        if len(wrap((told,), width)) <= rows:
            break
    return told


def answer(incident: Incident, width: int = 1000, *, ascii_only: bool = False) -> Line:
    """The one line that answers, in the report's words; in fewer where ``width`` needs it, so that two rows hold it whole."""
    shown = answering(incident)
    if incident.verdict is Verdict.NO_HANG and shown is None:
        seen = "no hang in what is recorded" if incident.coverage.unrecorded else no_hang(incident)
        return line(("NO HANG SEEN  ", Tone.GOOD), (seen, Tone.STRONG), _judged(incident), hang=14)
    if shown is None and incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE:
        return line(("NOT ENOUGH EVIDENCE  ", Tone.UNKNOWN), (_what_is_missing(incident), Tone.STRONG), hang=21)
    if shown is None:
        return line((f"{DIVERGENCE}  ", Tone.UNKNOWN), ("the records of these ranks do not agree", Tone.STRONG), hang=12)
    if shown.role is Role.LEAD:
        word, tone = role_word(incident, shown), role_mark(incident, shown)[1]
    else:
        word, tone = NO_RANK if shown.role is Role.WAITING else DIVERGENCE, Tone.UNKNOWN
    return _fitting(incident, shown, Span(f"{word}  ", tone), width, ascii_only=ascii_only)


def others(incident: Incident) -> str:
    """``"AND rank 6"``, ``"AND 3 more: ranks 6,9,12"``: what else stands first beside what the answer tells; else ""."""
    leads = [finding for finding in incident.findings if finding.role is Role.LEAD]
    words = [(role_word(incident, finding), finding) for finding in leads[1:]]
    more = [finding for word, finding in words if word in ("LOOK FIRST", "NO RANK NAMED", "AND")]
    named = sorted({rank for finding in more if names_a_rank(incident, finding) for rank in finding.ranks})
    if len(more) == 1 and named:
        return f"AND {name_ranks(named, 3)}"
    return f"AND {len(more):,} more{f': {name_ranks(named, 3)}' if named else ''}" if more else ""


def stepped(
    incident: Incident,
    current: Finding | None,
    grid_at: str = "",
    width: int = 1000,
    rows: int = 1,
    *,
    ascii_only: bool = False,
) -> Line | None:
    """``finding 3 of 4: ranks 1,9 wait …``: which finding n has come to; where the answer tells it, what stands first beside it
    instead (``finding 1 of 2 · AND rank 6``).

    ``grid_at``: what the grid is at where that is another one, as in ``grid at finding 2 · finding 1 of 4``: said first, for
    the words behind the number are the current finding's.
    """
    total = len(incident.findings)
    at = next((at for at, each in enumerate(incident.findings) if each is current), None)
    if at is None or total < 2:
        return None
    number = f"{f'grid at {grid_at} · ' if grid_at else ''}finding {at + 1} of {total:,}"
    if current is None or current is answering(incident):
        more = others(incident)
        return line((number, Tone.KEY), *([(" · ", Tone.DIM), (more, Tone.LEAD)] if more else []))
    word = f"{role_word(incident, current)}  " if current.role is Role.LEAD else ""
    return _fitting(
        incident, current, Span(f"{number}: {word}", Tone.KEY), width, rows=rows, tone=Tone.PLAIN, ascii_only=ascii_only
    )


def _judged(incident: Incident) -> str:
    lanes = [lane for lane in incident.lanes if lane.judged]
    unjudged = len(incident.lanes) - len(lanes)
    over = ", all that was recorded is over" if incident.coverage.unrecorded else ", all that was requested completed"
    text = f" · {count(len(lanes), 'lane')} compared{over}"
    return f"{text} · {count(unjudged, 'lane')} not judged" if unjudged else text


def _what_is_missing(incident: Incident) -> str:
    if incident.findings:
        return incident.findings[0].summary
    if not incident.coverage.read:
        looked = len(incident.records.sources)
        return f"no readable dump in {', '.join(incident.paths)}" + (
            f" ({count(looked, 'file')} looked at; {'it is' if looked == 1 else 'they are'} listed with the reason)"
            if looked
            else ""
        )
    if not incident.lanes:
        return "the dumps hold no collective call"
    return nothing_shown(incident)


def context(incident: Incident, width: int = 1000, *, ascii_only: bool = False) -> Line:
    """Who waits because of it, which dumps are missing and why; in less than ``width`` cells where that can be said shorter:
    what is said in full elsewhere goes first, and no part is cut in its middle."""
    shown = answering(incident)
    named = shown is not None and names_a_rank(incident, shown)
    waiting, groups = waiting_for(incident, shown.ranks if shown is not None and named else None)
    untold = {rank for finding in for_whom_unknown(incident) for rank in finding.ranks} - waiting - set(incident.leads)
    about = _About(named, len(waiting), len(groups), len(untold), missing_groups(incident))
    forms = [drawn(_context(incident, about, level), ascii_only=ascii_only) for level in range(4)]
    return next((form for form in forms if form.width <= width), forms[-1])


class _About(NamedTuple):
    """What stands beside the answer, however much of it is said: whether the answer names a rank, ranks that wait because of it
    and the groups in which they do, ranks that wait for nobody knows whom, missing dumps by reason."""

    named: bool
    waiting: int
    groups: int
    untold: int
    missing: list[tuple[str, tuple[int, ...]]]


def _context(incident: Incident, about: _About, level: int) -> Line:
    """``level`` 0 in full, 1 fewer words, 2 without the reasons of missing dumps, 3 without the groups of those who wait."""
    parts: list[Span] = []
    if incident.lanes and len(incident.coverage.read) == 1 and len(incident.coverage.expected) > 1:
        parts.append(Span("one dump alone compares with nothing: collect those of the other ranks", Tone.LEAD))
    if about.waiting:
        noun = "waiting because of it" if about.named and not level else "waiting"
        where = f" in {count(about.groups, 'group')}" if level < 3 else ""
        parts.append(Span(f"{noun}: {count(about.waiting, 'rank')}{where}", Tone.WAITING))
    if about.untold:
        parts.append(Span(f"{'' if level else 'waiting, '}for whom not known: {count(about.untold, 'rank')}", Tone.WAITING))
    missing = about.missing
    if level >= 2 and missing:
        ranks = sorted(rank for _, each in missing for rank in each)
        parts.append(Span(f"no dump: {fold_ranks(ranks, 4)}", Tone.UNKNOWN))
    elif missing:
        parts += [Span(f"no dump: {fold_ranks(ranks, 6)} ({reason})", Tone.UNKNOWN) for reason, ranks in missing[:REASONS]]
        if len(missing) > REASONS:
            parts.append(Span(f"and {count(len(missing) - REASONS, 'more reason')}", Tone.UNKNOWN))
    notes = sum(finding.role is Role.NOTE for finding in incident.findings)
    if notes:
        parts.append(Span(f"{count(notes, 'note')}", Tone.DIM))
    if incident.verdict is Verdict.NO_HANG:
        stands = left_standing(incident)
        parts.append(Span(stands, Tone.WAITING) if stands else Span(after_no_hang(incident, brief=level > 0), Tone.DIM))
    if not parts:
        done = name_ranks(incident.coverage.read, 6)
        parts.append(Span(f"read: {done}, no dump is missing" if incident.coverage.read else "nothing was read", Tone.DIM))
    spans: list[Span] = []
    for part in parts:
        spans += [Span(" · ", Tone.DIM), part] if spans else [part]
    return line(*spans)


def banner(
    incident: Incident | None,
    current: Finding | None,
    paths: tuple[str, ...],
    activity: str,
    *,
    demo: bool = False,
    short: bool = False,
    partial: bool = False,
    trouble: str = "",
    heads: Heads | None = None,
    width: int = 1000,
    grid_at: str = "",
    ascii_only: bool = False,
) -> Prose:
    """Three lines; ``short`` leaves the last one out, for low terminals, unless it tells the finding that was stepped to.

    ``partial``: more files are still to be read; ``trouble``: why the last look ended without an answer; ``heads``: what the
    dumps' headers say, where that is all there is yet; ``grid_at``: what the grid shows where that is not ``current``;
    ``ascii_only``: it is drawn so, and some signs take more cells then.
    """
    head = title(incident, paths, activity, demo=demo, width=width, ascii_only=ascii_only)
    if incident is None and trouble:
        return (head, line(("NOT READ  ", Tone.UNKNOWN), (trouble, Tone.STRONG), hang=10))
    if incident is None and heads is not None:
        return (head, heads_so_far(heads))
    if incident is None:
        return (head, line(("READING  ", Tone.KEY), "no answer yet: the files are being read"))
    if trouble:  # what stands here was true when it was read
        told = so_far(incident, width, ascii_only=ascii_only) if partial else answer(incident, width, ascii_only=ascii_only)
        before, sign = "as last read; now ", "..." if ascii_only else "…"
        return (head, told, line((before, Tone.UNKNOWN), (cut_middle(trouble, max(width - len(before), 20), sign), Tone.LEAD)))
    if partial:
        told = so_far(incident, width, ascii_only=ascii_only)
        return (head, told) if short else (head, told, context(incident, width, ascii_only=ascii_only))
    lines = (head, answer(incident, width, ascii_only=ascii_only))
    left = 1 + ROWS - min(ROWS, len(wrap(lines[1:], width)))  # what the answer does not take of its two rows
    step = stepped(incident, current, grid_at, width, left, ascii_only=ascii_only)
    tells = current is not None and current is not answering(incident)  # another than the answer's: the grid shows that one
    if step is not None and (tells or (short and (grid_at or others(incident)))):
        return (*lines, step)
    if short:
        return lines
    about = context(incident, width - (step.width + 3 if step is not None else 0), ascii_only=ascii_only)
    return (*lines, about if step is None else line(*step.spans, (" · ", Tone.DIM), *about.spans))
