"""What the logs say, in the engine's words. Filled by ``hangview.logs``; the engine joins it to the dumps' records.

Everything here belongs to the current attempt unless it says otherwise, and every value names the line it was read from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from hangview.logs.times import Printed, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.schema import StackFrame
    from hangview.terms import Fact, Group

#: Stands for the world rank where a log does not give one (torch ≤ 2.1 prints the rank within the group only). Never in
#: ``LogEvidence.groups`` or ``ends``.
NO_RANK = -1


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that was used. ``source`` is an index into Records.sources, ``number`` counts from 1."""

    source: int
    number: int
    text: str  #: without colours and prefixes, control characters escaped
    offset: int = 0  #: of the line's first byte in the file, so that a pane can go there without reading what is before
    printed: Printed = field(default=Printed(), compare=False)  #: when, as far as the file tells


class StatusFrom(StrEnum):
    """Which line gave a rank's position in a group."""

    FAILURE_LINE = "failure_line"  #: the watchdog's own line about the work that timed out
    DUMP_SIGNAL = "dump_signal"  #: "Received a dump signal …": always the default group's counters
    HEARTBEAT = "heartbeat"  #: the monitor of the watchdog thread: how many works were unfinished, no position
    NCCL2 = "nccl2"  #: torch 2.14+: the group and the milliseconds, neither sequence number nor operation


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
    group_rank: int | None = None
    pg_id: int | None = None  #: counts per process: the same number on two ranks may be two groups
    started: int | None = None  #: None also for -1, which means that timing is off
    op_type: str | None = None  #: as printed, "ALLREDUCE"
    timeout_ms: int | None = None
    ran_ms: int | None = None
    pending: int | None = None  #: unfinished works (heartbeat lines): a count, not a position
    status_from: StatusFrom | None = None
    signal_from: int | None = None  #: rank whose signal made it dump
    at: str | None = None  #: time of the line as printed, "11-29 14:02:40"; local to the host, no year
    rank_from: str = ""  #: how the rank was found
    stack: tuple[StackFrame, ...] = ()  #: of the work that timed out, innermost first
    outrun: int | None = (
        None  #: newest call of the group that others completed with this rank, where that is beyond ``enqueued``
    )

    work_line: LogLine | None = None  #: the line that names the work and its sizes, where that is another one than ``line``

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """All lines that say it, in the order of their files."""
        both = (self.line,) if self.work_line is None else (self.line, self.work_line)
        return tuple(sorted(both, key=lambda line: (line.source, line.number)))

    def is_of(self, group: Group) -> bool:
        """Whether it is about this group: by the name, and by the description only where the line gives no name."""
        if self.name is not None:
            return self.name == group.name
        return bool(self.desc) and self.desc == group.desc

    @property
    def unfinished(self) -> bool:
        """Whether the rank had works that were not over: then it stood or waited itself, in a collective, a send or a receive
        (one counter takes all of them)."""
        if self.enqueued is None or self.completed is None:
            return bool(self.pending)
        return self.completed < self.enqueued

    @property
    def timed_out(self) -> bool:
        """Whether the rank's own watchdog ended a wait in this group."""
        return self.timed_out_seq is not None or self.status_from is StatusFrom.NCCL2


class EndKind(StrEnum):
    EXCEPTION = "exception"  #: a Python traceback
    FATAL = "fatal"  #: "Fatal Python error", with the stack where it happened
    ABORT = "abort"  #: a C++ exception nobody caught
    DEVICE = "device"  #: an error of the GPU (CUDA error, ECC, illegal access)
    SIGNAL = "signal"
    EXIT_CODE = "exit_code"  #: a positive exit code and nothing else
    OOM_KILLER = "oom_killer"  #: the kernel's line names the same pid
    HEARTBEAT = "heartbeat"  #: the monitor ended the process because the watchdog thread stood still
    LEFT = "left"  #: the program came to its end; only in ``LogEvidence.left``


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a rank's process ended or what it raised, by a log. ``follower`` marks ends that others brought about (SIGTERM by the
    launcher, a connection closed by a peer, the abort after a time-out): never a lead."""

    rank: int
    what: str  #: "ValueError: shard_3.bin ...", "signal 9 (SIGKILL)", "killed by the kernel: out of memory"
    before_communication: bool  #: raised outside any collective, as the type or a frame proves
    follower: bool
    line: LogLine
    kind: EndKind = EndKind.EXCEPTION
    why_follower: str = ""  #: one clause: what the end follows from
    type: str | None = None  #: "zlib.error"
    message: str | None = None
    where: str | None = None  #: "DataLoader worker process 5", "forward_stage (/srv/job/pp.py:402)"
    frames: tuple[StackFrame, ...] = ()  #: innermost first
    lines: tuple[LogLine, ...] = ()  #: other lines about the same end (launcher, kernel, Slurm)
    code: int | None = None  #: exit code; negative is a signal
    pid: int | None = None
    local_rank: int | None = None
    host: str | None = None
    attempt: int | None = None
    went_on: bool = False  #: the same rank printed ordinary lines afterwards: raised and handled, or ended later
    rank_from: str = ""
    lived: str = ""  #: a clause: why its process is known to have gone on for long after it
    by: str = ""  #: by whose logs, in a phrase, where not by the rank's own
    inside: bool = False  #: raised inside a collective, as a frame or the error itself says; often neither is known
    no_end: str = ""  #: a clause: why what was raised is no end of a rank's process (a side thread, a helper process)
    of_others: bool = False  #: its words tell of a wait or of other processes, and nothing shows that it is the rank's own
    compares: bool = False  #: its message tells of its own rank and of another one
    gathered: bool = False  #: it reports what was gathered from all ranks, as each of them does

    @property
    def beside(self) -> str:
        """A clause that says why nothing ended there; "" where that is not known."""
        return f"it went on: {self.lived}" if self.lived else self.no_end


class ReportKind(StrEnum):
    """In which error a rank tells of others of its group."""

    BARRIER = "barrier"  #: monitored_barrier: who did not come
    CHECKPOINT = "checkpoint"  #: torch.distributed.checkpoint: whose part raised
    MISMATCH = "mismatch"  #: TORCH_DISTRIBUTED_DEBUG=DETAIL: who asks for something else
    MODEL = "model"  #: DistributedDataParallel: whose model has another number of parameters


@dataclass(frozen=True, slots=True)
class Asked:
    """The collective that a rank says itself to run, by TORCH_DISTRIBUTED_DEBUG=DETAIL."""

    seq: int | None
    op: str  #: family
    shape: str | None  #: as printed
    dtypes: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """What a rank's error tells of others. ``named`` and ``own`` count within the group; ``world``: they are world ranks."""

    rank: int  #: who reports
    kind: ReportKind
    line: LogLine
    named: tuple[int, ...]  #: ascending; empty where a rank says only that it came itself
    own: int | None = None  #: the reporter's number
    world: bool = False
    ms: int | None = None  #: how long it waited
    asked: Asked | None = None
    holds: int | None = None  #: number of parameters of its own model


@dataclass(frozen=True, slots=True)
class DumpByLog:
    """What a rank's log says about its dump. ``began`` alone is no promise that there is a file."""

    rank: int
    began: bool
    path: str | None  #: announced; INFO lines, hidden by default
    finished: bool | None  #: None: the log does not say
    signal_from: int | None
    line: LogLine


@dataclass(frozen=True, slots=True)
class OutsideStack:
    """A Python stack taken from outside (py-spy dump, pystack, faulthandler): where a process stood, whatever its dump says."""

    rank: int | None
    pid: int | None
    thread: str  #: "MainThread", "0x00007f3b22c00740", ...
    frames: tuple[StackFrame, ...]  #: innermost first
    tool: str  #: "py-spy", "pystack", "faulthandler"
    line: LogLine


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank ran, as far as the logs tell."""

    rank: int
    host: str | None
    local_rank: int | None
    pid: int | None
    device: int | None  #: CUDA device number in the process
    bus_id: str | None
    line: LogLine
    rank_from: str = ""


@dataclass(frozen=True, slots=True)
class LogRead:
    """One log that was read. ``problem`` is one clear line when it could not be (wholly)."""

    source: int
    shown: str
    size: int
    lines: int
    used: int  #: lines that something here rests on
    rank: int | None = None
    rank_from: str = ""
    attempt: int | None = None
    problem: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Aside:
    """A log, or lines of one, that the times in the files show to be of another run than the dumps: nothing rests on them."""

    source: int
    shown: str
    ranks: tuple[int, ...]  #: which they name, as far as that is known
    text: str  #: one line, to be said of the log: what was printed when, against the times in the dumps
    line: LogLine | None = None  #: the first such line; None: the whole log
    later: bool = False  #: it tells of a hang, or of an end, long after the dumps' records


@dataclass(frozen=True, slots=True)
class LogEvidence:
    groups: tuple[GroupByLog, ...] = ()
    ends: tuple[ProcessEnd, ...] = ()
    unplaced: tuple[GroupByLog, ...] = ()  #: rank is NO_RANK: the log gives the rank within the group only
    unplaced_ends: tuple[ProcessEnd, ...] = ()  #: rank is NO_RANK
    earlier_ends: tuple[ProcessEnd, ...] = ()  #: of attempts before the current one
    handled: tuple[ProcessEnd, ...] = ()  #: what was raised and did not end its process: ``beside`` says how that is known
    outrun: tuple[GroupByLog, ...] = ()  #: counters that others' completed calls show not to be the rank's last ones
    may_restart: bool = False  #: a launcher ended the processes of the attempt and may have started them again
    left: tuple[ProcessEnd, ...] = ()  #: ranks whose program came to its end, and of which no other end is known
    reports: tuple[Report, ...] = ()
    aside: tuple[Aside, ...] = ()
    recorded: tuple[float, float] | None = None  #: first and last time in the dumps, Unix seconds; None: there is none
    dumps: tuple[DumpByLog, ...] = ()
    stacks: tuple[OutsideStack, ...] = ()
    places: tuple[Place, ...] = ()
    facts: tuple[Fact, ...] = ()
    attempts: tuple[int, ...] = ()
    attempt: int | None = None  #: the one that ``groups`` and ``ends`` are about
    ranks: tuple[int, ...] = ()  #: every rank that a line, a path or the launcher names
    silent: tuple[int, ...] = ()  #: ranks of a launcher's labels that printed nothing of their own
    world_size: int | None = None  #: as printed
    proven: int | None = None  #: number of ranks, where the dumps, the ranks or NCCL's lines tell it
    hidden: int = 0  #: similar lines of other ranks that Ray left out ("repeated 5x across cluster")
    logs: tuple[LogRead, ...] = ()
    lines: tuple[LogLine, ...] = ()  #: every line that something here rests on, by source and number

    def dated(self, line: LogLine) -> str:
        """``"; printed 11-28 21:06:45, the dumps' records are of 2026-11-28 21:06:40 to 21:07:21 UTC"``: when a line was
        printed, beside the times in the dumps; "" where one of them is not known."""
        if self.recorded is None or not line.printed.known:
            return ""
        return f"; printed {line.printed}, the dumps' records are of {span(*self.recorded)}"

    def shown(self, line: LogLine) -> str:
        """``"logs/rank_3.log, line 12"``."""
        for log in self.logs:
            if log.source == line.source:
                return f"{log.shown}, line {line.number:,}"
        return f"line {line.number:,}"

    def shown_together(self, lines: Sequence[LogLine]) -> str:
        """``"logs/rank_3.log, line 11 and line 12"``: a line, or two; of two files, both."""
        first, last = lines[0], lines[-1]
        if first is last:
            return self.shown(first)
        if first.source == last.source:
            return f"{self.shown(first)} and line {last.number:,}"
        return f"{self.shown(first)}; {self.shown(last)}"
