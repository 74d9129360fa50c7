"""How far everybody comes: hosts that make calls, devices that run them, and calls that need all their members.

* A host makes its calls in order. It waits after a ``sync`` call until that is over, and never runs more than ``AHEAD`` calls
  ahead of its device.
* On the device a call starts when the earlier calls of its stream (its group; for a plain send or receive its pair) and
  the last call that was not detached are over. Then it is at its rendezvous.
* A collective is over when all members are at it, with the same operation, sizes and dtype: the n-th of a rank meets the n-th
  of the others. A send is over when its receive is there. Members that disagree stay there for ever, as do those of a
  rendezvous that the job calls stalled.

The order in which ranks are looked at changes nothing: a call that can be over, will be.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.jobs.model import Call, Job

AHEAD = 48


class Key(NamedTuple):
    """A rendezvous: the n-th collective of a group, or the n-th message from one of its members to another (group ranks)."""

    group: int
    number: int
    source: int = -1
    target: int = -1

    @property
    def is_p2p(self) -> bool:
        return self.source >= 0


@dataclass(slots=True)
class Made:
    """A call that a rank made. Times in seconds since the start of the job; None: not yet."""

    call: Call
    keys: tuple[Key, ...]  #: the rendezvous it takes part in
    made: float
    started: float | None = None
    ended: float | None = None
    met: int = 0  #: how many of its rendezvous are over
    latest: float = 0.0


@dataclass(slots=True)
class Outcome:
    """The end of a run: what each rank made, and at each rendezvous who came (rank -> index into its calls)."""

    job: Job
    ranks: list[list[Made]]
    came: dict[Key, dict[int, int]]
    joining: dict[int, int]  #: rank -> the group whose communicator it is still making

    @property
    def hangs(self) -> bool:
        return any(made.ended is None for calls in self.ranks for made in calls) or bool(
            any(len(calls) < len(program) for calls, program in zip(self.ranks, self.job.programs, strict=True))
        )

    def idle(self, rank: int) -> bool:
        """Whether a rank has nothing unfinished and makes no call: stopped, or at the end of its program."""
        return rank not in self.joining and all(made.ended is not None for made in self.ranks[rank])

    def at_stop(self, rank: int) -> bool:
        """Whether a rank came to where its host stops."""
        return len(self.ranks[rank]) == self.job.stops.get(rank, -1)

    def finished(self, rank: int) -> bool:
        return len(self.ranks[rank]) == len(self.job.programs[rank]) and self.idle(rank)


def members(job: Job, key: Key) -> tuple[int, ...]:
    """World ranks that must come to a rendezvous."""
    ranks = job.groups[key.group].ranks
    return (ranks[key.source], ranks[key.target]) if key.is_p2p else ranks


class _Rank:
    """One rank while the job runs."""

    def __init__(self, job: Job, rank: int, rng: random.Random) -> None:
        self.job, self.rank, self.rng = job, rank, rng
        self.program = job.programs[rank]
        self.limit = job.stops.get(rank, len(self.program))
        self.calls: list[Made] = []
        self.open: list[int] = []  # made and not over, in order
        self.needs: list[tuple[int, ...]] = []  # indices of earlier calls that must be over before it starts
        self.last_in_stream: dict[tuple[int, ...], int] = {}
        self.last_attached = -1
        self.detached: list[int] = []
        self.counts: dict[Key, int] = {}
        self.me = {g: group.ranks.index(rank) for g, group in enumerate(job.groups) if rank in group.ranks}
        self.clock = rng.uniform(0, 0.002)

    def keys(self, call: Call) -> tuple[Key, ...]:
        """The rendezvous of a call that is made now."""
        lanes = [Key(call.group, 0)]
        if call.is_p2p:
            lanes = [Key(call.group, 0, source, target) for source, target in call.ends(self.me[call.group])]
        keys = []
        for lane in lanes:
            self.counts[lane] = number = self.counts.get(lane, 0) + 1
            keys.append(lane._replace(number=number))
        return tuple(keys)

    def next_group(self) -> int | None:
        """The group of the call that the host is about to make; None while it waits, has stopped or is done."""
        index = len(self.calls)
        if index >= self.limit or len(self.open) >= AHEAD:
            return None
        if index and self.calls[-1].call.sync and self.calls[-1].ended is None:
            return None
        return self.program[index].group

    def make(self) -> None:
        index, call = len(self.calls), self.program[len(self.calls)]
        if index and self.calls[-1].call.sync:
            self.clock = max(self.clock, self.calls[-1].ended or 0.0)
        if index >= AHEAD and (ended := self.calls[index - AHEAD].ended) is not None:
            self.clock = max(self.clock, ended)
        self.clock += self.rng.uniform(0.0001, 0.0006) + (0.2 if self.rng.random() < 0.002 else 0.0)
        if call.is_p2p and not call.batch:
            source, target = call.ends(self.me[call.group])[0]
            stream: tuple[int, ...] = (call.group, min(source, target), max(source, target))
        else:
            stream = (call.group,)
        needs = {self.last_in_stream.get(stream, -1), self.last_attached}
        if call.joins:
            needs.update(self.detached)
            self.detached = []
        self.needs.append(tuple(n for n in needs if n >= 0))
        self.last_in_stream[stream] = index
        if call.detached:
            self.detached.append(index)
        else:
            self.last_attached = index
        self.calls.append(Made(call, self.keys(call), self.clock))
        self.open.append(index)


def run(job: Job, seed: int = 0) -> Outcome:
    """Run a job until nothing moves any more."""
    ranks = [_Rank(job, rank, random.Random(seed * 1_000_003 + rank)) for rank in range(job.world)]
    came: dict[Key, dict[int, int]] = {}
    joined: dict[int, set[int]] = {}
    todo = list(range(job.world))
    while todo:
        rank = ranks[todo.pop()]
        while (group := rank.next_group()) is not None:
            if job.lazy and not _join(job, rank.rank, group, joined, todo):
                break
            rank.make()
        for index in list(rank.open):
            made = rank.calls[index]
            if made.started is not None:
                continue
            needs = [rank.calls[n].ended for n in rank.needs[index]]
            if None in needs:
                continue
            made.started = max([made.made + 0.00002, *(n for n in needs if n is not None)])
            for key in made.keys:
                came.setdefault(key, {})[rank.rank] = index
                if _complete(job, ranks, came, key):
                    todo += _over(ranks, came, key)
        rank.open = [index for index in rank.open if rank.calls[index].ended is None]
    joining = {rank.rank: group for rank in ranks if (group := rank.next_group()) is not None}
    return Outcome(job, [rank.calls for rank in ranks], came, joining)


def _join(job: Job, rank: int, group: int, joined: dict[int, set[int]], todo: list[int]) -> bool:
    """Whether a group has its communicator, now that this rank is there too; the last to come wakes the others."""
    there = joined.setdefault(group, set())
    if rank not in there:
        there.add(rank)
        if len(there) == len(job.groups[group].ranks):
            todo += there - {rank}
    return len(there) == len(job.groups[group].ranks)


def _complete(job: Job, ranks: list[_Rank], came: dict[Key, dict[int, int]], key: Key) -> bool:
    """Whether a rendezvous has everybody, of one mind."""
    there = came[key]
    if key in job.stalled or len(there) < len(members(job, key)):
        return False
    calls = [ranks[rank].calls[index].call for rank, index in there.items()]
    if not key.is_p2p:
        return len({call.wire for call in calls}) == 1
    ends = [
        (part.wire[1:3])
        for (rank, _), call in zip(there.items(), calls, strict=True)
        for part, end in zip(call.parts, call.ends(ranks[rank].me[call.group]), strict=True)
        if end == (key.source, key.target)
    ]
    return len(set(ends)) == 1


def _over(ranks: list[_Rank], came: dict[Key, dict[int, int]], key: Key) -> list[int]:
    """End the calls for which this was the last rendezvous; returns the ranks that may go on."""
    woken = []
    moment = max(ranks[rank].calls[index].started or 0.0 for rank, index in came[key].items()) + 0.00005
    for rank, index in came[key].items():
        made = ranks[rank].calls[index]
        made.met += 1
        made.latest = max(made.latest, moment)
        if made.met == len(made.keys):
            made.ended = made.latest
            woken.append(rank)
            ranks[rank].open = [n for n in ranks[rank].open if n != index]
    return woken
