"""A finding in few words, what tells most first, and in fewer and fewer: for lines that must not be cut at 80 columns."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from hangview.terms import Kind, Role
from hangview.text import name_ranks, shorten
from hangview.tui.sides import MISMATCHES
from hangview.tui.text.common import group_of, lane_name
from hangview.tui.titles import cut_middle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.incident import Incident
    from hangview.logs.evidence import LogEvidence
    from hangview.terms import Finding, SignatureSide

_WHAT = {Kind.DIFFERENT_OP: "operation", Kind.DIFFERENT_SIZE: "size", Kind.DIFFERENT_DTYPE: "dtype"}


_OVER = "; the call is over all the same"
#: What a sentence can do without, or say in fewer words, in the order in which that is done; lists and reports have all.
_FEWER = tuple(
    (re.compile(long), short)
    for long, short in (
        ("; the split between pairs is not recorded", ""),
        ("; the root is not recorded", ""),
        (", well or badly is not recorded,", ""),
        (r"; an earlier call that others completed is not over on ranks? [\d,-]+", "; an earlier call is not over there"),
        (" requested it, and (it is over there, well or badly|whether it is over there) is not recorded", " requested it"),
        (r" a send, a receive or a monitored_barrier, which (\S+) does not record", r" what \1 does not record"),
        (" with equal arguments and none completed it: by these records", " alike, none completed it: by these records"),
        ("no rank is missing, and what holds it is ", "it is held "),
        ("inside the call: a connection, or a process that stands still in it", "inside the call"),
        (r": it may be ranks? [\d,-]+ that (?:is|are) the odd one", ": it may be the odd one itself"),
        (", whose stream is held up before it", ""),
        (" and none completed it, by their logs: no rank is missing", ", none completed it, by their logs"),
        ("; its kernel started on (.*?) and not on ", r"; started on \1, not on "),
        ("processes that call themselves ([\\d,-]+) within their group", r"processes numbered \1 in their group"),
        ("; their world ranks are not in these logs", "; no log gives their world ranks"),
        ("no side is the majority", "no majority"),
        (" ranks whose lines Ray left out", " that Ray left out"),
        (" of a group that the log does not name", " of an unnamed group"),
        ("; who else belongs to it and whether they came is not in these logs", "; no log tells who else is in it, or came"),
        (", outside any collective, by (its|their) logs?;", ", outside any collective;"),
    )
)
#: What stands in the place of all that follows the first part.
MORE = "; …"
#: What goes into a request and what comes out of it.
_COUNTS = r"(?:\[[\d, ]+\]|\d+(?:,\d{3})*)"
_IN_OUT = re.compile(rf"( in {_COUNTS}) → out {_COUNTS}")
#: Characters left of what was raised, of the place where, and of a group's name.
_RAISED, _RAISED_LEAST, _NAME = 70, 36, 13


def brief(incident: Incident, finding: Finding) -> str:
    """``"dtype: rank 13 Half, ranks 9,11,15 Float, reduce_scatter 9 of tp_1"`` where requests differ, else the summary."""
    if finding.kind not in MISMATCHES or finding.role is Role.WAITING or None in (finding.group, finding.lane, finding.seq):
        return finding.summary
    assert finding.group is not None
    assert finding.lane is not None
    assert finding.seq is not None
    sides = incident.view.call(finding.group, finding.lane, finding.seq).sides
    told = [_told(finding.kind, side) for side in sides]
    if len(set(told)) < 2 or "" in told:
        return finding.summary
    ordered = sorted(zip(sides, told, strict=True), key=lambda each: each[0].reference)
    parts = [f"{name_ranks(side.ranks, 4)} {what}" for side, what in ordered]
    call = "call" if finding.kind is Kind.DIFFERENT_OP or finding.op is None else finding.op
    parts.append(f"{call} {finding.seq} of {lane_name(incident, finding.group, finding.lane)}")
    what = _WHAT[finding.kind] + ("" if any(side.reference for side in sides) else ", no side is the majority")
    return f"{what}: {', '.join(parts)}{_OVER if finding.summary.endswith(_OVER) else ''}"


def briefs(incident: Incident, finding: Finding) -> Iterator[str]:
    """:func:`brief`, then the same in fewer and fewer words, at last what stands before the first semicolon. What was raised is
    shortened before who waits is."""
    text = brief(incident, finding)
    yield text
    for long, short in _FEWER:
        fewer = long.sub(short, text)
        if fewer != text:
            text = fewer
            yield text
    if finding.kind is Kind.PROCESS_ENDED and incident.logs is not None:
        for fewer in _of_an_end(incident.logs, finding, text):
            text = fewer
            yield text
    first_parts = _IN_OUT.findall(text)
    if len(set(first_parts)) == len(first_parts):  # they differ in what goes in already
        text = _IN_OUT.sub(r"\1", text)
        yield text
    group = group_of(incident, finding.group)
    if group is not None and len(group.called) > _NAME:
        text = text.replace(group.called, cut_middle(group.called, _NAME))
        yield text
    first, more, _ = text.partition("; ")
    if more:
        yield f"{first}{MORE}"


def _of_an_end(logs: LogEvidence, finding: Finding, text: str) -> Iterator[str]:
    """What was raised, cut more and more, and the place where by its file's name alone."""
    from hangview.logs.words import SUMMARY_PART  # logs are imported where there are some

    ends = ((end, shorten(end.what, SUMMARY_PART)) for end in logs.ends if end.rank in finding.ranks)
    end, raised = next(((end, what) for end, what in ends if what in text), (None, ""))
    if end is None:
        return
    yield text.replace(raised, shorten(raised, _RAISED))
    place = re.sub(r"\(([^()]*)\)", lambda found: f"({PurePosixPath(found[1]).name})", end.where or "")
    if end.where:
        text = text.replace(end.where, place)
    for most in (_RAISED, _RAISED_LEAST):
        yield text.replace(raised, shorten(raised, most))
    text = text.replace(raised, shorten(raised, _RAISED_LEAST)).replace(", outside any collective", "")
    yield text
    if end.type and raised.startswith(end.type):
        text = text.replace(shorten(raised, _RAISED_LEAST), end.type)
        yield text
    yield text.replace(f" in {place}", "")


def _told(kind: Kind, side: SignatureSide) -> str:
    """The part of a request that the finding is about."""
    size, _, dtype = side.text.rpartition(" × ")
    if kind is Kind.DIFFERENT_OP:
        return side.op
    return dtype if kind is Kind.DIFFERENT_DTYPE and size else size or side.text
