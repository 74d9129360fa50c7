"""How processes ended, for section 6: what a log says about it, and no more.

A traceback shows where its process was; a signal, an exit code or the kernel's out-of-memory killer does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.logs.evidence import EndKind
from hangview.text import escape
from hangview.worksheet import evidence
from hangview.worksheet.evidence import LINES
from hangview.worksheet.model import Prefilled

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.logs.evidence import ProcessEnd

#: How an end is introduced whose place nothing records. "" where what is known is a sentence of its own.
_ENDED = {EndKind.SIGNAL: "ended by ", EndKind.EXIT_CODE: "ended with ", EndKind.OOM_KILLER: "", EndKind.HEARTBEAT: ""}
_NOT_RECORDED = "where it was then is not recorded"


def exception_lines(incident: Incident) -> tuple[Prefilled, ...]:
    """One line for each end that stands for itself, those before communication first; those that follow are folded."""
    read = evidence.logs(incident)
    if not read:
        return (Prefilled("no log was among the files read", "the paths that were given"),)
    sources = incident.records.sources
    ends = incident.logs.ends if incident.logs is not None else ()
    own = sorted((end for end in ends if not end.follower), key=lambda end: (not end.before_communication, end.rank, end.what))
    lines = []
    for end in own[:LINES]:
        where = f"{escape(sources[end.line.source].path)}, line {end.line.number}"
        lines.append(Prefilled(f"rank {end.rank}{end_text(end)}", where))
    if len(own) > LINES:
        rest = evidence.ranks_text(end.rank for end in own[LINES:])
        lines.append(Prefilled(f"{len(own) - LINES:,} more: {rest}", "the logs"))
    followers = sorted({end.rank for end in ends if end.follower})
    if followers:
        paths = dict.fromkeys(sources[end.line.source].path for end in ends if end.follower)
        lines.append(Prefilled(f"{evidence.ranks_text(followers)}: ended by the end of others", evidence.paths_text(paths)))
    if not lines:
        lines.append(Prefilled("none found", evidence.paths_text(source.path for source in read)))
    return tuple(lines)


def end_text(end: ProcessEnd) -> str:
    """What follows the rank: ``", before communication: ValueError: …"``, ``": ended by signal 9 (SIGKILL); where …"``."""
    what = escape(end.what)
    if end.before_communication:
        return f", before communication: {what}"
    if end.kind in _ENDED:
        return f": {_ENDED[end.kind]}{what}; {_NOT_RECORDED}"
    if end.inside:
        return f", inside a collective: {what}"
    if end.frames:
        return f": {what}; whether that was before or after it requested the call is not recorded"
    return f": {what}; {_NOT_RECORDED}"
