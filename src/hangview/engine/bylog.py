"""Where logs speak for ranks whose dumps do not: positions by their own counters. Dumps win where both speak."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.logs.calls import P2P
from hangview.logs.evidence import ReportKind, StatusFrom
from hangview.schema import BLIND, CellState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hangview.engine.windows import Window, Windows
    from hangview.logs.evidence import GroupByLog, LogEvidence
    from hangview.terms import Group

#: Calls that a rank may complete beyond the newest of all dumps: a broadcast's root runs ahead, dumps differ by seconds.
FAR = 64


def fill(windows: Windows, groups: Sequence[Group], logs: LogEvidence, with_p2p: frozenset[int]) -> Windows:
    """Windows in which ranks without records stand where their own logs say.

    ``with_p2p``: groups with sends and receives, whose counters in the log mix two numbers (ProcessGroupNCCL keeps one field).
    """
    out = dict(windows)
    said = (*logs.groups, *logs.outrun)
    busy = {row.rank: row for row in said if row.unfinished}
    homes = _homes(said, groups, with_p2p)
    unsure = _signalled(homes, windows, busy, groups)
    alone = all(window.source is None for window in windows.values())
    for row, home in homes:
        window = windows[home.id, row.rank]
        if window.above not in BLIND:
            continue
        dumped = max((w.newest for r in home.ranks if (w := windows[home.id, r]).newest is not None), default=None)
        if dumped is not None and row.completed is not None and row.completed > dumped + FAR:
            told: Window | None = replace(window, reason=f"{window.reason}; {_beyond(row, dumped, logs)}")
        else:
            doubt = row.rank in unsure.get(home.id, frozenset())
            # Where no dump speaks, the log's own findings say who is where to look first: a cell then says no more than the
            # counters of its group do, whatever else the rank waits in.
            held = (None if _counted(row) else row) if alone else busy.get(row.rank)
            told = _by_log(window, row, held, logs, unsure=doubt and not alone)
        out[home.id, row.rank] = told or window
    return out


def _homes(
    said: Sequence[GroupByLog], groups: Sequence[Group], with_p2p: frozenset[int]
) -> tuple[tuple[GroupByLog, Group], ...]:
    """The rows whose group is known, with that group."""
    found = ((row, [g for g in groups if row.rank in g.ranks and row.is_of(g)]) for row in said)
    return tuple((row, homes[0]) for row, homes in found if len(homes) == 1 and homes[0].id not in with_p2p)


def _signalled(
    homes: Sequence[tuple[GroupByLog, Group]],
    windows: Windows,
    busy: Mapping[int, GroupByLog],
    groups: Sequence[Group],
) -> dict[int, frozenset[int]]:
    """By group, two or more ranks that are behind by dump-signal lines alone, in a job of several groups. Such a line tells of
    the default group whatever the rank does: one of them may wait for another in a group of theirs."""
    found: dict[int, frozenset[int]] = {}
    for group in {home.id: home for _, home in homes}.values():
        told = [row for row, home in homes if home.id == group.id]
        beside = any(one.id != group.id and len(one.ranks) > 1 for one in groups)
        front = max(
            [row.enqueued or row.timed_out_seq or 0 for row in told] + [windows[group.id, r].newest or 0 for r in group.ranks]
        )
        blind = [row for row in told if windows[group.id, row.rank].above in BLIND and row.rank not in busy]
        behind = [row for row in blind if (row.enqueued or 0) < front and not row.timed_out]
        if beside and len(behind) > 1 and all(row.status_from is StatusFrom.DUMP_SIGNAL for row in behind):
            found[group.id] = frozenset(row.rank for row in behind)
    return found


def _counted(row: GroupByLog) -> bool:
    """Whether a rank's newest number in a group is that of a collective, so that it shows which ones it did not request."""
    return not row.unfinished or (row.timed_out_seq == row.enqueued and row.timed_out_op not in P2P)


def _beyond(row: GroupByLog, dumped: int, logs: LogEvidence) -> str:
    where = f"({logs.shown(row.line)}{logs.dated(row.line)})"
    return (
        f"its log says that it completed {row.completed}, far beyond {dumped}, the newest of all dumps: the line is of another "
        f"run or a later time {where}"
    )


def timed_out(groups: Sequence[Group], logs: LogEvidence) -> frozenset[tuple[int, int, int]]:
    """(group, seq, rank) of the collectives that a rank's own watchdog reports as timed out."""
    return frozenset(
        (home.id, row.timed_out_seq, row.rank)
        for row, home in _homes(logs.groups, groups, frozenset())
        if row.timed_out_seq is not None and row.timed_out_op not in P2P
    )


def in_a_barrier(logs: LogEvidence) -> frozenset[int]:
    """Ranks whose own error shows that they waited in a monitored_barrier, of which no recorder has an entry, as the last thing
    that they did: who went on after it may have stopped elsewhere."""
    past = {(end.rank, end.line) for end in logs.ends if end.went_on} | {(end.rank, end.line) for end in logs.handled}
    return frozenset(one.rank for one in logs.reports if one.kind is ReportKind.BARRIER and (one.rank, one.line) not in past)


def _by_log(
    window: Window, row: GroupByLog, busy: GroupByLog | None, logs: LogEvidence, *, unsure: bool = False
) -> Window | None:
    """The window that a rank's own counters give. ``unsure``: what it says of one group says nothing of what the rank does.

    A rank that had enqueued more than it had completed (``busy``, in whatever group) stood or waited itself, in a collective
    or in a send or receive, which take the same counter: that it enqueued no more shows nothing then.
    """
    newest = max((n for n in (row.enqueued, row.timed_out_seq, window.newest) if n is not None), default=None)
    if newest is None or (row.enqueued is None and row.timed_out_seq is None):
        return None
    newest = max(newest, 0)
    where = f"({logs.shown(row.line)}{logs.dated(row.line)})"
    if row.outrun is not None and newest < row.outrun:
        reason = (
            f"its log says that it enqueued {newest}, but others completed {row.outrun} with it: the line is older, or counts "
            f"a send or receive {where}"
        )
        return replace(window, reason=f"{window.reason}; {reason}")
    covers = row.enqueued is not None and busy is None
    if row.unfinished and row.completed is not None:
        reason = (
            f"by its log it had unfinished works itself: last enqueued {row.enqueued}, last completed {row.completed} {where}"
        )
        window = replace(window, reason=f"{window.reason}; {reason}")
    reason = f"by its log, the newest it enqueued is {newest} {where}"
    if unsure:
        covers = False
        window = replace(
            window,
            reason=f"{window.reason}; {reason}: like those of others that are behind, its line tells of this group alone, and "
            "one of them may wait for another in a group of theirs",
        )
    return replace(
        window,
        newest=newest,
        newest_from="log",
        last_done=row.completed if row.completed is not None and row.completed > 0 else window.last_done,
        open_seq=row.timed_out_seq or window.open_seq,
        above=CellState.NOT_REQUESTED if covers else window.above,
        reason=reason if covers else window.reason,
    )
