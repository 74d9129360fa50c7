"""Whether the numbers by which Slurm or MPI calls its tasks are ranks, and what shows it.

They are where the launcher started one process for each rank. Where it started one for each node, which started the ranks, its
task 1 is another process than rank 1; so nothing follows from a number alone.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.logs.events import Caught, ChildFailed, Closed, SummaryEntry, TaskEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs.events import LogScan

#: Processes whose number in their group is that of their task, where it shows that tasks are ranks.
_AGREE = 3
#: So many tasks of one host are no nodes, where nothing tells the number of ranks: Slurm's, and those that MPI calls ranks.
_ON_A_HOST, _RANKS_ON_A_HOST = 4, 2
#: Signals with which others end a process: to say nothing itself then tells nothing of it.
_FROM_OTHERS = (-15, -6)


def are_ranks(scans: Sequence[LogScan], world: int | None = None) -> str:
    """Why task numbers are ranks, in a phrase; "" where nothing shows it, or one line shows that they are not. ``world``: the
    number of ranks, where the dumps prove it."""
    pairs = {pair for scan in scans for pair in scan.task_pairs}
    pairs |= {(scan.path_task, scan.ranks[0]) for scan in scans if scan.path_task is not None and len(scan.ranks) == 1}
    if any(task != rank for task, rank in pairs):
        return ""
    if len(pairs) > 1:
        return "agrees with the rank on every line that has both"
    if not pairs and _agree_with_groups(scans):
        return "agrees with the number by which each process calls itself"
    return "" if _started_by_others(scans) else _one_for_each(scans, world)


def _agree_with_groups(scans: Sequence[LogScan]) -> bool:
    """Where no line bears a rank (torch ≤ 2.1), what processes call themselves in their group stands for it, if three agree: in
    a smaller group than all some would differ."""
    called = {
        (event.who.task, event.printed_rank)
        for scan in scans
        for event in scan.events
        if isinstance(event, Caught) and event.who.task is not None and event.printed_rank is not None
    }
    return len(called) >= _AGREE and all(task == number for task, number in called)


def _started_by_others(scans: Sequence[LogScan]) -> bool:
    """Whether torchrun started the ranks: by its lines, its labels or its folders."""
    told = any(isinstance(event, (ChildFailed, Closed, SummaryEntry)) for scan in scans for event in scan.events)
    return told or any(scan.locals or scan.path_local is not None for scan in scans)


def _one_for_each(scans: Sequence[LogScan], world: int | None) -> str:
    """Why there is one task for each rank, where one of them ended by itself: there are more than half as many, or that is the
    only rank that says nothing, or so many are on one host that they are no nodes."""
    ends = [event for scan in scans for event in scan.events if isinstance(event, TaskEnd)]
    tasks = {task for event in ends for task in event.tasks} | {task for scan in scans for task in scan.tasks}
    own = {task for event in ends if event.code not in _FROM_OTHERS and not event.after_cancel for task in event.tasks}
    if len(own) != 1:
        return ""  # of several that are killed, most are by the end of their step: their numbers must be certain to be named
    ranks = {rank for scan in scans for rank in scan.ranks}
    if world is not None:
        return "counts as many as there are ranks" if max(tasks) < world < 2 * (max(tasks) + 1) else ""
    if len(ranks) >= _AGREE and ranks == set(range(max(ranks | own) + 1)) - own:
        return "is that of the only rank that says nothing"
    groups = (event.printed_rank for scan in scans for event in scan.events if isinstance(event, Caught))
    on_hosts: dict[str, set[int]] = defaultdict(set)
    for event in ends:
        if event.host is not None:
            on_hosts[event.host].update(event.tasks)
    least = max([*ranks, *(number for number in groups if number is not None)], default=0)
    enough = _RANKS_ON_A_HOST if all(event.of_mpi for event in ends) else _ON_A_HOST
    several = max(map(len, on_hosts.values()), default=0) >= enough
    return "is one of several on its host" if several and least <= max(tasks) else ""
