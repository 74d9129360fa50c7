"""Lines of those who start and end processes: torchelastic, Slurm, MPI, DeepSpeed, Ray, the kernel, a process's own timer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hangview.logs.events import (
    ChildFailed,
    Closed,
    Event,
    Expired,
    Fatal,
    Hidden,
    KernelKill,
    Raised,
    Said,
    SummaryEntry,
    TaskEnd,
)
from hangview.logs.lines import NOBODY
from hangview.logs.tracebacks import TRACEBACK, TracebackBuilder
from hangview.text import parse_ranks

if TYPE_CHECKING:
    from hangview.logs.evidence import LogLine
    from hangview.logs.lines import Piece

_EXIT = re.compile(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local>\d+) \(pid: (?P<pid>\d+)\)")
_CLOSING = re.compile(r"Sending process (?P<pid>\d+) closing signal SIG|Unable to shutdown process (?P<stuck>\d+) via")
_SRUN = re.compile(r"srun: error: (?P<host>[\w.-]+): tasks? (?P<tasks>[\d,-]+): (?P<what>[A-Z].*)")
_MPI = re.compile(
    r"(?:(?P<pals>[\w.-]+): )?rank (?P<rank>\d+)(?: with PID \d+ on node (?P<host>\S+) exited on| died from)"
    r" signal (?P<signal>\d+)"
)
#: Hydra's block (Intel MPI, MPICH) has the rank in one line and the signal in a later one.
_HYDRA = re.compile(r"=\s+RANK (?P<rank>\d+) PID \d+ RUNNING AT (?P<host>\S+)")
_HYDRA_SIGNAL = re.compile(r"=\s+KILL(?:ED BY)? SIGNAL: (?P<signal>\d+) ")
#: deepspeed/launcher/launch.py names the command of its last process there, whichever failed: no rank follows from it. An exit
#: code says less than the traceback of its process.
_DEEPSPEED = re.compile(r"\] exits with return code = (?P<code>-\d+)\s*$")
_LIGHTNING = re.compile(r"\[rank: (?P<rank>\d+)\] Child process with PID (?P<pid>\d+) terminated with code (?P<code>-?\d+)")
_KERNEL = re.compile(r"[Oo]ut of memory: Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\)")
_OOM_EVENT = re.compile(r"oom-kill:constraint=.*task=(?P<name>[^,]*),pid=(?P<pid>\d+)")
#: What the driver reports of a device that is gone or whose memory is broken, with the process that had it.
_XID = re.compile(r"NVRM: Xid \(PCI:[^)]*\): (?:48|79|94|95|119|120), pid=(?P<pid>\d+), .*")
#: Open MPI's handler prints it in the process that met the signal.
_HANDLED = re.compile(
    r"\[(?P<host>[\w.-]+):(?P<pid>\d+)\] Signal: (?P<name>Segmentation fault|Bus error|Illegal instruction) \("
)
_TIMER = re.compile(r"\s*Timeout \((?P<after>\d+:\d\d:\d\d(?:\.\d+)?)\)!\s*$")
_REPEATED = re.compile(r"\[repeated (?P<count>\d+)x across cluster\]")
_CANCELLED = re.compile(
    r"\*\*\* (?:STEP|JOB) \S+ ON \S+ CANCELLED|srun: (?:Terminating|Job step aborted|forcing job termination)"
)
#: What processes print when they start to communicate, and no process that is being ended.
_STARTED = re.compile(r"to perform barrier as devices used by this process|(?:^|NCCL INFO )NCCL version \d")
_ENTRY = re.compile(r"\s+(?P<key>time|host|rank|exitcode|error_file|traceback) *: (?P<value>.*)")
_RANK = re.compile(r"(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)")
_CODE = re.compile(r"(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)")

SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
    13: "SIGPIPE", 15: "SIGTERM",
}  # fmt: skip
#: What Slurm says a task ended with, as an exit code.
_TASK_WORDS = {
    "Killed": -9, "Out Of Memory": -9, "Aborted": -6, "Segmentation fault": -11, "Bus error": -7, "Terminated": -15,
    "Floating point exception": -8, "Illegal instruction": -4,
}  # fmt: skip


class Launchers:
    """Reads one file's launcher lines; remembers whether the job was being cancelled, which makes later ends follow."""

    def __init__(self) -> None:
        self._cancelled = False
        self._hydra: re.Match[str] | None = None

    def see(self, text: str) -> None:
        """Takes any line: a job that was cancelled and requeued starts again in the same file."""
        if self._cancelled and _STARTED.search(text) is not None:
            self._cancelled = False

    def match(self, piece: Piece, line: LogLine) -> list[Event]:
        """What a launcher's or the kernel's line says; empty for any other line."""
        text, who, at = piece.text, piece.who, piece.at
        if (found := _EXIT.search(text)) is not None:
            return [ChildFailed(who, line, at, int(found["code"]), int(found["local"]), int(found["pid"]))]
        if (found := _CLOSING.search(text)) is not None:
            return [Closed(who, line, at, int(found["pid"] or found["stuck"]))]
        if (found := _SRUN.search(text)) is not None:
            return self._task_end(piece, line, found)
        if _CANCELLED.search(text) is not None:
            self._cancelled = True
            return []
        if (found := _LIGHTNING.search(text)) is not None:
            return [SummaryEntry(NOBODY, line, at, rank=int(found["rank"]), code=int(found["code"]), pid=int(found["pid"]))]
        if (found := _MPI.search(text)) is not None:
            number, host = int(found["signal"]), found["host"] or found["pals"] or who.host
            return [TaskEnd(NOBODY, line, at, (int(found["rank"]),), host, f"signal {number}", -number, of_mpi=True)]
        if (found := _HYDRA.match(text)) is not None:
            self._hydra = found
            return []
        if self._hydra is not None and (found := _HYDRA_SIGNAL.match(text)) is not None:
            number, (rank, host) = int(found["signal"]), self._hydra.group("rank", "host")
            self._hydra = None
            return [TaskEnd(NOBODY, line, at, (int(rank),), host, f"signal {number}", -number, of_mpi=True)]
        if (found := _DEEPSPEED.search(text)) is not None:
            return [SummaryEntry(NOBODY, line, at, code=int(found["code"]))]
        if (found := _KERNEL.search(text) or _OOM_EVENT.search(text)) is not None:
            return [KernelKill(who, line, at, int(found["pid"]), found["name"])]
        if (found := _XID.search(text)) is not None:
            return [Fatal(replace(who, pid=int(found["pid"])), line, at, "device", found[0])]
        if (found := _HANDLED.match(text)) is not None:
            mine = replace(who, pid=int(found["pid"]), host=found["host"])
            return [Fatal(mine, line, at, "fatal", f"Fatal Python error: {found['name']}")]
        if (found := _TIMER.match(text)) is not None:
            return [Expired(who, line, at, found["after"])]
        if "will restart worker group" in text:
            return [Said(who, line, at, "restart", text.strip())]
        return []

    def _task_end(self, piece: Piece, line: LogLine, found: re.Match[str]) -> list[Event]:
        what = found["what"].strip()
        exit_code = re.match(r"Exited with exit code (\d+)", what)
        word = next((word for word in _TASK_WORDS if what.startswith(word)), None)
        if exit_code is None and word is None:
            return []
        code = int(exit_code[1]) if exit_code is not None else _TASK_WORDS[word or ""]
        try:
            tasks = parse_ranks(found["tasks"])
        except ValueError:
            return []
        return [TaskEnd(piece.who, line, piece.at, tasks, found["host"], what, code, after_cancel=self._cancelled)]


def hidden(piece: Piece, line: LogLine) -> list[Event]:
    """Ray's mark that similar lines of other processes were left out."""
    found = _REPEATED.search(piece.text)
    return [] if found is None else [Hidden(piece.who, line, piece.at, int(found["count"]))]


@dataclass(slots=True)
class _Entry:
    line: LogLine
    fields: dict[str, str]
    raised: TracebackBuilder | None = None


class SummaryBuilder:
    """torchelastic's summary of one agent: every block between "Failures:" and the closing line, "Root" block included.

    Which block comes last is only the smallest whole second; it is not kept. With restarts the summary covers the last
    attempt alone.
    """

    def __init__(self) -> None:
        self._entry: _Entry | None = None
        self.entries: list[SummaryEntry] = []

    def feed(self, piece: Piece, line: LogLine) -> bool:
        """Whether the line belongs to the summary (a rule, a heading, a field, or a traceback in a field)."""
        text = piece.text
        field = _ENTRY.match(text)
        if field is not None:
            self._field(piece, line, field["key"], field["value"])
            return True
        stripped = text.strip()
        if self._entry is not None and self._entry.raised is not None and text.startswith("  "):
            self._entry.raised.feed(replace(piece, text=text[2:]))
            return True
        if re.fullmatch(r"\[\d+\]:", stripped) or (stripped and set(stripped) <= {"=", "-"}):
            self.flush()
            return True
        return stripped.startswith(("Failures:", "<NO_OTHER", "Root ")) or stripped.endswith(" FAILED") or not stripped

    def _field(self, piece: Piece, line: LogLine, key: str, value: str) -> None:
        if key == "time" or self._entry is None:
            self.flush()
            self._entry = _Entry(line, {})
        self._entry.fields[key] = value.strip()
        if key == "rank":
            self._entry.line = line
        if key == "traceback" and value.startswith("Traceback"):
            self._entry.raised = TracebackBuilder(replace(piece, text=TRACEBACK))

    def flush(self) -> None:
        """Ends the block that is open."""
        entry, self._entry = self._entry, None
        if entry is None:
            return
        rank = _RANK.match(entry.fields.get("rank", ""))
        code = _CODE.match(entry.fields.get("exitcode", ""))
        if rank is None and code is None:
            return
        raised = None
        if entry.raised is not None and entry.raised.links:
            kind, message, text, frames, _ = entry.raised.links[0]
            raised = Raised(
                NOBODY, entry.line, None, kind, message, frames, entry.raised.worker, None, text,
                by_raise=entry.raised.by_raise[0],
            )  # fmt: skip
        self.entries.append(
            SummaryEntry(
                NOBODY, entry.line, None, int(rank["rank"]) if rank else None, int(rank["local"]) if rank else None,
                entry.fields.get("host") or None, int(code["code"]) if code else None, int(code["pid"]) if code else None,
                entry.fields.get("time") or None, raised,
            )
        )  # fmt: skip
