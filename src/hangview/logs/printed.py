"""Ranks that processes print of themselves when they begin, and whose file a log is by them where its name does not say it.

A console holds the output of many, and often only one of them prints its rank; in a container's environment RANK may be the
number of the node. So such a line counts for a whole file only beside others: each of another rank, no number left out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.events import ChildFailed, Closed, Event, Itself, LogScan, SummaryEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs.evidence import LogLine
    from hangview.logs.lines import Piece

#: Lightning's line and that of the many programs that began as a copy of torchvision's reference scripts.
_OF_WORKERS = re.compile(r"\bGLOBAL_RANK: (?P<lightning>\d{1,7}), MEMBER: \d|\| distributed init \(rank (?P<init>\d{1,7})\): ")
#: Variables of the environment, as a shell, a dictionary or a program prints them; MASTER_RANK and $RANK are none.
_VARIABLE = re.compile(r"(?<![\w$.-])['\"]?(?P<name>(?:LOCAL_)?RANK)['\"]?\s?[=:]\s?['\"]?(?P<number>\d{1,7})(?![\w.])")
#: What may stand in front of a variable that is alone on its line.
_FRONT = re.compile(r"[^\w$]*(?:(?:declare -x|export|env(?:ironment)?|os\.environ):? ?)?[^\w$]*", re.IGNORECASE)
_LEAST = 2


def match(piece: Piece, line: LogLine) -> list[Event]:
    """What a line says of the rank of the process that printed it; empty for any other line, and for one that bears a rank."""
    text, who = piece.text, piece.who
    if who.rank is not None or piece.level:
        return []
    if (found := _OF_WORKERS.search(text)) is not None:
        return [Itself(who, line, piece.at, int(found["lightning"] or found["init"]), of_worker=True)]
    numbers = {found["name"]: (found.start(), int(found["number"])) for found in _VARIABLE.finditer(text)}
    if not numbers:
        return []
    start = min(start for start, _ in numbers.values())
    if "WORLD_SIZE" not in text and len(numbers) == 1 and _FRONT.fullmatch(text, 0, start) is None:
        return []  # in a sentence it may be of another process
    rank = numbers["RANK"][1] if "RANK" in numbers else None
    return [Itself(who, line, piece.at, rank, of_worker="LOCAL_RANK" in numbers)]


def of_files(scans: Sequence[LogScan], world: int | None = None) -> list[LogScan]:
    """The scans; those whose lines give one rank of the process that printed them, with it, where the files show that each is
    of one process: the ranks of all of them have no gap, and they are those of processes that a launcher counts within its
    node, or as many as there are (``world``)."""
    told = {place: (ranks, worker) for place, scan in enumerate(scans) for ranks, worker in [_itself(scan)] if ranks}
    numbers = sorted(rank for ranks, _ in told.values() for rank in ranks)
    gapless = bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(told)))
    out = list(scans)
    if (
        len(told) < _LEAST
        or not gapless
        or any(len(ranks) > 1 or _is_another(scans[place], ranks) for place, (ranks, _) in told.items())
    ):
        return out
    if all(worker for _, worker in told.values()) or len(told) == world:
        for place, (ranks, _) in told.items():
            if scans[place].path_rank is None:
                out[place] = replace(scans[place], itself=next(iter(ranks)))
    return out


def _itself(scan: LogScan) -> tuple[set[int], bool]:
    """The ranks that the processes of a file print, and whether any of these is known to be a worker."""
    said = [event for event in scan.events if isinstance(event, Itself)]
    return {event.rank for event in said if event.rank is not None}, any(event.of_worker for event in said)


def _is_another(scan: LogScan, ranks: set[int]) -> bool:
    """Whether something else shows that a file is not of this rank, or of several processes."""
    if scan.path_local is not None or scan.path_task is not None or len(scan.locals) > 1 or len(scan.tasks) > 1:
        return True
    if any(isinstance(event, (ChildFailed, Closed, SummaryEntry)) for event in scan.events):
        return True
    return not set(scan.ranks) <= ranks or (scan.path_rank is not None and scan.path_rank not in ranks)
