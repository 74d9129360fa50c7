"""How many ranks the job has: what proves it, and what shows that there are more of them than those that say anything.

A rank that left nothing at all is known by such numbers alone.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.logs.events import ChildFailed, Closed, CommInit, Said, SummaryEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.logs.events import Event


#: No job is bigger; a wild number in a log must not cost memory.
MOST_RANKS = 1 << 17


def printed(events: Iterable[Event]) -> int | None:
    """As printed by the ranks; None when they disagree."""
    said = {event.value for event in events if isinstance(event, Said) and event.name == "world_size"}
    size = int(next(iter(said))) if len(said) == 1 else None
    return size if size is None or size <= MOST_RANKS else None


def proven(events: Sequence[Event], world: int | None) -> int | None:
    """The number of ranks, where the dumps (``world``), the ranks or NCCL tell it: the largest communicator has all of them, or
    is of a part, and then its number is not that of the ranks which say something."""
    return world or printed(events) or _largest_communicator(events) or None


def at_least(events: Sequence[Event], world: int | None) -> int:
    """So many ranks there are, if not more: as many as they say, or as a communicator has, or as processes that one launcher
    started."""
    started: dict[tuple[int, int | None], set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event, (Closed, ChildFailed, SummaryEntry)) and event.pid is not None:
            started[event.line.source, event.who.task].add(event.pid)
    # Processes are counted last: those of a start before, of which the launcher says nothing, would count twice.
    processes = max((len(pids) for pids in started.values()), default=0)
    return world or max(printed(events) or 0, _largest_communicator(events)) or processes


def _largest_communicator(events: Iterable[Event]) -> int:
    sizes = (event.nranks for event in events if isinstance(event, CommInit))
    return max((size for size in sizes if size <= MOST_RANKS), default=0)
