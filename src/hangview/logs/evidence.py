"""What the logs say, in the engine's words. Filled by ``hangview.logs``; the engine joins it to the dumps' records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that was used. ``source`` is an index into Records.sources, ``number`` counts from 1."""

    source: int
    number: int
    text: str  #: without colours and prefixes, control characters escaped


@dataclass(frozen=True, slots=True)
class GroupByLog:
    """Where a rank stood in one group, by its own log."""

    rank: int
    name: str | None  #: group name (GUID)
    desc: str | None
    enqueued: int | None
    completed: int | None
    timed_out_seq: int | None
    timed_out_op: str | None  #: op family
    numel_in: int | None
    numel_out: int | None
    line: LogLine


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a rank's process ended or what it raised, by a log. ``follower`` marks ends that others caused (SIGTERM by the
    launcher, a connection closed by a peer, the abort after a time-out): never a lead."""

    rank: int
    what: str  #: "ValueError: shard_3.bin ...", "signal 9 (SIGKILL)", "killed by the kernel: out of memory"
    before_communication: bool  #: raised outside any collective
    follower: bool
    line: LogLine


@dataclass(frozen=True, slots=True)
class LogEvidence:
    groups: tuple[GroupByLog, ...] = ()
    ends: tuple[ProcessEnd, ...] = ()
