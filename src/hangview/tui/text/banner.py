"""The answer before anything is pressed: what was found, or that nothing was, or what is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hangview.incident import Role, Verdict
from hangview.report.coverage import producers, several_files
from hangview.report.page import NO_RANK
from hangview.schema import SourceKind
from hangview.text import count, fold_ranks, name_ranks, shorten
from hangview.tui.prose import Line, Prose, Span, Tone, line
from hangview.tui.text.brief import brief
from hangview.tui.text.common import missing_groups, role_mark, role_word
from hangview.tui.text.heads import heads_so_far

if TYPE_CHECKING:
    from hangview.dumps.heads import Heads
    from hangview.incident import Finding, Incident

#: So many reasons for missing dumps are told, the others are counted.
REASONS = 3


def title(incident: Incident | None, paths: tuple[str, ...], activity: str, *, demo: bool = False, width: int = 1000) -> Line:
    """``hangview  run-4711 · attempt 2 · dumps 62/64 · nccl, dump schema 2.10 · watching (poll 2 s)``.

    What does not fit into ``width`` is said shorter or left out, the least wanted first; what is going on never is.
    """
    shorter, doing = "", activity
    parts = {"path": "bundled example" if demo else shorten(", ".join(paths), 40)}
    if incident is not None:
        current = [attempt for attempt in incident.records.attempts if attempt.current]
        if len(incident.records.attempts) > 1 and current:
            parts["attempt"] = f"attempt {current[0].attempt}, {len(incident.records.attempts) - 1:,} left out"
        parts["dumps"] = f"dumps {len(incident.coverage.read)}/{len(incident.coverage.expected)}"
        if incident.coverage.partial:
            parts["dumps"] += f" ({len(incident.coverage.partial)} in part)"
        twice = several_files(incident)
        if twice:
            files = f"{min(twice.values())}+ files" if len(set(twice.values())) > 1 else f"{next(iter(twice.values()))} files"
            parts["files"] = f"{files} of {name_ranks(twice, 1) if len(twice) == 1 else count(len(twice), 'rank')}, one used"
        dumps = [source for source in incident.records.sources if source.kind is SourceKind.DUMP and source.usable]
        parts["kinds"], shorter = ("; ".join(producers(dumps, words)[:2]) for words in ("dump schema", "schema"))
        logs = sum(source.kind is SourceKind.LOG for source in incident.records.sources)
        parts["logs"] = count(logs, "log") if logs else ""

    def assembled() -> Line:
        return line(("hangview", Tone.STRONG), "  " + " · ".join(filter(None, parts.values())), *_activity(doing))

    path = shorten(paths[0].rstrip("/").rsplit("/", 1)[-1], 16) if paths else ""
    for name, instead in (("kinds", shorter), ("logs", ""), ("kinds", ""), ("path", path)):
        if assembled().width > width and name in parts:
            parts[name] = instead
    if assembled().width > width:
        doing = re.sub(r" \([^()]*\)", "", activity)  # "watching" alone, not how
    return assembled()


def _activity(activity: str) -> list[Span]:
    return [Span(" · "), Span(activity, Tone.KEY)] if activity else []


def so_far(incident: Incident) -> Line:
    """What the files say of which only some were read: no word that names anybody, more files may turn it round."""
    read, expected = len(incident.coverage.read), len(incident.coverage.expected)
    part = f" ({read:,} of {count(expected, 'dump')} read)"
    nothing = "no divergence" if incident.lanes else "no collective call"
    text = incident.findings[0].summary if incident.findings else nothing
    return line(("SO FAR  ", Tone.KEY), text, (part, Tone.DIM), hang=8)


def answering(incident: Incident, current: Finding | None) -> Finding | None:
    """The finding that the answer tells: ``current`` where it is a lead, else the first one."""
    leads = [finding for finding in incident.findings if finding.role is Role.LEAD]
    if leads:
        return current if current in leads else leads[0]
    if incident.verdict is Verdict.DIVERGENCE:
        waiting = (finding for finding in incident.findings if finding.role is Role.WAITING)
        return next(waiting, incident.findings[0] if incident.findings else None)
    return None


def answer(incident: Incident, current: Finding | None) -> Line:
    """The one line that answers, in the report's words. ``current`` replaces the first lead where it is one itself."""
    shown = answering(incident, current)
    if incident.verdict is Verdict.NO_HANG and shown is None:
        seen = "no hang in what is recorded" if incident.coverage.unrecorded else "these files show no hang"
        return line(("NO HANG SEEN  ", Tone.GOOD), (seen, Tone.STRONG), _judged(incident), hang=14)
    if shown is None and incident.verdict is Verdict.NOT_ENOUGH_EVIDENCE:
        return line(("NOT ENOUGH EVIDENCE  ", Tone.UNKNOWN), (_what_is_missing(incident), Tone.STRONG), hang=21)
    if shown is None:
        return line(("DIVERGENCE  ", Tone.UNKNOWN), ("the records of these ranks do not agree", Tone.STRONG), hang=12)
    if shown.role is Role.LEAD:
        word, tone = role_word(incident, shown), role_mark(incident, shown)[1]
    else:
        word, tone = NO_RANK if shown.role is Role.WAITING else "DIVERGENCE", Tone.UNKNOWN
    return line((f"{word}  ", tone), (brief(incident, shown), Tone.STRONG), hang=len(word) + 2)


def stepped(incident: Incident, current: Finding | None, grid_at: str = "") -> Line | None:
    """``finding 3 of 4: ranks 1,9 wait …``: which finding n has come to; without its text where the answer tells it.

    ``grid_at``: what the grid is at where that is another one, as in ``finding 1 of 4 · grid at finding 2``.
    """
    total = len(incident.findings)
    at = next((at for at, each in enumerate(incident.findings) if each is current), None)
    if at is None or total < 2:
        return None
    number = f"finding {at + 1} of {total:,}{f' · grid at {grid_at}' if grid_at else ''}"
    if current is None or current is answering(incident, current):
        return line((number, Tone.KEY))
    words = f"{number}: "
    return line((words, Tone.KEY), brief(incident, current), hang=len(words))


def _judged(incident: Incident) -> str:
    lanes = [lane for lane in incident.lanes if lane.judged]
    unjudged = len(incident.lanes) - len(lanes)
    over = "all that was recorded is over" if incident.coverage.unrecorded else "all that was requested completed"
    text = f" · {count(len(lanes), 'lane')} compared, {over}"
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
    return "no call could be compared between ranks"


def context(incident: Incident, width: int = 1000) -> Line:
    """Who waits because of it, which dumps are missing and why; in less than ``width`` cells where that can be said shorter:
    what is said in full elsewhere goes first, and no part is cut in its middle."""
    forms = (_context(incident, level) for level in range(4))
    return next((form for form in forms if form.width <= width), _context(incident, 3))


def _context(incident: Incident, level: int) -> Line:
    """``level`` 0 in full, 1 fewer words, 2 without the reasons of missing dumps, 3 without the groups of those who wait."""
    parts: list[Span] = []
    if incident.lanes and len(incident.coverage.read) == 1 and len(incident.coverage.expected) > 1:
        parts.append(Span("one dump alone compares with nothing: collect those of the other ranks", Tone.LEAD))
    waiting = {wait.rank for wait in incident.waits} - set(incident.leads)
    groups = {wait.group for wait in incident.waits if wait.rank in waiting}
    if waiting:
        noun = "waiting because of it" if incident.leads and not level else "waiting"
        where = f" in {count(len(groups), 'group')}" if level < 3 else ""
        parts.append(Span(f"{noun}: {count(len(waiting), 'rank')}{where}", Tone.WAITING))
    missing = missing_groups(incident)
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
) -> Prose:
    """Three lines; ``short`` leaves the last one out, for low terminals, unless it tells the finding that was stepped to.

    ``partial``: more files are still to be read; ``trouble``: why the last look ended without an answer; ``heads``: what the
    dumps' headers say, where that is all there is yet; ``grid_at``: what the grid shows where that is not ``current``.
    """
    head = title(incident, paths, activity, demo=demo, width=width)
    if incident is None and trouble:
        return (head, line(("NOT READ  ", Tone.UNKNOWN), (trouble, Tone.STRONG), hang=10))
    if incident is None and heads is not None:
        return (head, heads_so_far(heads))
    if incident is None:
        return (head, line(("READING  ", Tone.KEY), "no answer yet: the files are being read"))
    if partial:
        return (head, so_far(incident)) if short else (head, so_far(incident), context(incident, width))
    lines = (head, answer(incident, current))
    step = stepped(incident, current, grid_at)
    if step is not None and (len(step.spans) > 1 or (short and grid_at)):  # another than the answer's: the grid shows that one
        return (*lines, step)
    if short:
        return lines
    about = context(incident, width - (step.width + 3 if step is not None else 0))
    return (*lines, about if step is None else line(*step.spans, (" · ", Tone.DIM), *about.spans))
