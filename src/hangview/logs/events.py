"""What one line, or one block of lines, of one file says, before ranks are known and files are joined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs.evidence import LogLine
    from hangview.logs.lines import Who
    from hangview.logs.times import Stamp
    from hangview.schema import StackFrame


#: Names of the first frame of a whole program: a script's, and that of ``python -m`` (its file is runpy's).
_OUTERMOST = frozenset({"<module>", "_run_module_as_main"})


def is_whole_program(frames: Sequence[StackFrame]) -> bool:
    """Whether frames, innermost first, go through a whole program."""
    return bool(frames) and frames[-1].name in _OUTERMOST


@dataclass(frozen=True, slots=True)
class Event:
    """``who`` is what the line says about its process, ``at`` its time as printed."""

    who: Who
    line: LogLine
    at: str | None = None


@dataclass(frozen=True, slots=True)
class GroupRef:
    """The bracket ``[PG ID 4 PG GUID 20(mesh_tp) Rank 1]`` of any version; ``rank`` is the rank in the group."""

    rank: int | None
    name: str | None = None
    desc: str | None = None
    pg_id: int | None = None


@dataclass(frozen=True, slots=True)
class Caught(Event):
    """ "Watchdog caught collective operation timeout": the work, not the group. ``printed_rank`` is fixed by the first work
    that logs in a process and may belong to another group."""

    printed_rank: int | None = None
    seq: int = 0
    op_type: str = ""
    numel_in: int | None = None
    numel_out: int | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    source_line: int = 0  #: where in ProcessGroupNCCL.cpp the line was printed; a hint at the version


@dataclass(frozen=True, slots=True)
class Status(Event):
    """A group's counters. ``seq`` is the work that timed out (None on dump-signal lines); ``signal`` says that it is one."""

    group: GroupRef = field(default_factory=lambda: GroupRef(None))
    seq: int | None = None
    enqueued: int | None = None
    started: int | None = None
    completed: int | None = None
    signal: bool = False
    signal_from: int | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat(Event):
    group: GroupRef = field(default_factory=lambda: GroupRef(None))
    pending: int | None = None
    stuck_s: int | None = None
    killed: bool = False


@dataclass(frozen=True, slots=True)
class TimedOut(Event):
    """nccl2: "Operation timed out after <> ms"; no sequence number, no operation."""

    group: GroupRef = field(default_factory=lambda: GroupRef(None))
    ran_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DumpLine(Event):
    what: str = "began"  #: "first" (to signal), "signal", "began", "path", "finished", "failed"
    path: str | None = None
    signal_from: int | None = None


@dataclass(frozen=True, slots=True)
class Left(Event):
    """The process group was destroyed by the program's end: the interpreter was on its way out, for whatever reason."""

    went_on: bool = False  #: ordinary lines follow it, of another start


@dataclass(frozen=True, slots=True)
class Began(Event):
    """What a process prints once, when it begins to communicate: another line of the same rank shows another start."""

    what: str = ""  #: "nccl", or "barrier" with the group's number: each of them comes once


@dataclass(frozen=True, slots=True)
class Itself(Event):
    """A process prints its environment, or says who it is when it begins to communicate."""

    rank: int | None = None
    of_worker: bool = False  #: no node has what it prints: a local rank, or a framework's own words


@dataclass(frozen=True, slots=True)
class WorkStack(Event):
    frames: tuple[StackFrame, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised(Event):
    """A Python exception. ``line`` is its last line; ``frames`` are innermost first; ``worker`` is the DataLoader's."""

    type: str = ""
    message: str = ""
    frames: tuple[StackFrame, ...] = ()
    worker: str | None = None
    later: str | None = None  #: the last exception of a chain that this one began
    text: str = ""  #: all lines of the message, for classification
    went_on: bool = False
    lived: str = ""  #: a clause: why its process is known to have gone on for long
    no_end: str = ""  #: a clause: why it is no end of a process, whatever came after it
    of_rank: int | None = None  #: "(RANK 3)" behind the opening line: of that rank of the group, quoted by the process
    logger: str = ""  #: who wrote the line in front of it; "" where that is not known
    said: str = ""  #: the line in front of it
    by_raise: bool = False  #: a raise statement of Python code raised it: no call into C++ did
    hint: str = ""  #: a clause: why its program may have caught it further in and gone on, if ordinary lines follow
    begun: int | None = None  #: number of the line that began it: the logger's in front of it, or the traceback's first
    told: bool = False  #: shortly before it, its process said that it had got a signal by which it is told to end

    @property
    def to_the_end(self) -> bool:
        """Whether it went through the whole program, as one does that nobody caught. Who logs one has caught it further in."""
        return is_whole_program(self.frames)


@dataclass(frozen=True, slots=True)
class Fatal(Event):
    """ "Fatal Python error", an uncaught C++ exception, or a device error that the watchdog thread met."""

    kind: str = "fatal"  #: "fatal", "abort", "device", "nccl"
    text: str = ""
    frames: tuple[StackFrame, ...] = ()


@dataclass(frozen=True, slots=True)
class LastWords(Event):
    """A crash that the shell, the C library or a handler of signals tells of."""

    text: str = ""  #: "Segmentation fault"
    went_on: bool = False  #: ordinary lines follow: it was of a helper


@dataclass(frozen=True, slots=True)
class Expired(Event):
    """ "Timeout (0:05:00)!": the timer of Python's faulthandler, which may end its process with exit code 1."""

    after: str = ""  #: "0:05:00"


@dataclass(frozen=True, slots=True)
class ChildFailed(Event):
    """torchelastic: ``failed (exitcode: -9) local_rank: 3 (pid: 812917)``; ends one attempt of its agent."""

    code: int = 0
    local: int = 0
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Closed(Event):
    """torchelastic ends a healthy process: SIGTERM, or SIGKILL when that did not help."""

    pid: int = 0


@dataclass(frozen=True, slots=True)
class SummaryEntry(Event):
    """One block of torchelastic's summary. ``rank`` is global."""

    rank: int | None = None
    local: int | None = None
    host: str | None = None
    code: int | None = None
    pid: int | None = None
    time: str | None = None
    raised: Raised | None = None
    block: int = 0  #: number of the first entry's line of the same summary, which one agent wrote


@dataclass(frozen=True, slots=True)
class TaskEnd(Event):
    """Slurm, MPI or PALS about tasks: ``tasks`` are task numbers."""

    tasks: tuple[int, ...] = ()
    host: str | None = None
    what: str = ""  #: "Killed", "Exited with exit code 1", ...
    code: int | None = None
    after_cancel: bool = False
    of_mpi: bool = False  #: the launcher calls them ranks: those of MPI_COMM_WORLD


@dataclass(frozen=True, slots=True)
class KernelKill(Event):
    pid: int = 0
    process: str = ""


@dataclass(frozen=True, slots=True)
class CommInit(Event):
    """NCCL's "Init COMPLETE": a communicator's rank on a device. ``pid`` and ``host`` are in ``who``."""

    comm_rank: int = 0
    nranks: int = 0
    device: int = 0
    bus_id: str | None = None
    comm: str | None = None


@dataclass(frozen=True, slots=True)
class Said(Event):
    """A fact for the worksheet."""

    name: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Hidden(Event):
    """Ray left out similar lines of other ranks."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class StackSeen(Event):
    pid: int | None = None
    thread: str = ""
    frames: tuple[StackFrame, ...] = ()
    tool: str = ""


@dataclass(frozen=True, slots=True)
class LogScan:
    """One file, read. ``local``, ``task`` and ``path_rank`` come from its path, ``ranks`` and ``pairs`` from its lines."""

    source: int
    shown: str
    size: int
    lines: int
    events: tuple[Event, ...] = ()
    again: tuple[Event, ...] = ()  #: of what the file says more than once, the last ones: ``events`` has the first alone
    path_rank: int | None = None
    path_local: int | None = None
    path_task: int | None = None
    path_part: tuple[str, int] | None = None  #: the word and the number in a name like dp_rank_3, of a part of the job
    itself: int | None = None  #: the rank that its process printed, where it is known to be of one
    attempt: int | None = None
    tree: str | None = None  #: folder of the torchrun tree it lies in
    ranks: tuple[int, ...] = ()  #: global ranks on its lines
    locals: tuple[int, ...] = ()
    tasks: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()  #: distinct rank - local rank on one line
    task_pairs: tuple[tuple[int, int], ...] = ()  #: distinct (task, rank) on one line
    pids: tuple[tuple[int, int], ...] = ()  #: (pid, rank) on one line
    problem: str | None = None
    notes: tuple[str, ...] = ()
    first: Stamp | None = None  #: the first time printed in it
    last: Stamp | None = None
