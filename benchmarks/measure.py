"""What a command costs: wall time, CPU time and peak memory of it and everything it starts."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY = 0.02
#: Seconds between two looks for its processes. To walk through all that there are takes a fifth of a processor otherwise, and a
#: command that uses every processor would be slower for being watched.
LOOK = 0.25


@dataclass(frozen=True, slots=True)
class Cost:
    """``wall`` and ``cpu`` in seconds; ``peak`` in bytes: the largest sum of resident memory over all its processes at once."""

    wall: float
    cpu: float
    peak: int
    exit: int
    stderr: str


def measure(command: Sequence[str], env: Mapping[str, str] | None = None, limit: float = 3600.0) -> Cost:
    """Run a command with its output thrown away. Raises TimeoutError after ``limit`` seconds."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        start_new_session=True,
        text=True,
        errors="replace",
    )
    peak = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal peak
        looked = -LOOK
        members = [process.pid]
        while not over.is_set():
            if time.perf_counter() - looked >= LOOK:
                looked, members = time.perf_counter(), _members(process.pid)
            peak = max(peak, _resident(members))
            if time.perf_counter() - started > limit:
                process.kill()
            over.wait(EVERY)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    stderr = process.stderr.read() if process.stderr else ""  # until all of its processes have let go of it
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    over.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if wall > limit:
        raise TimeoutError(f"{command[0]} took longer than {limit:.0f} s")
    return Cost(wall, usage.ru_utime + usage.ru_stime, max(peak, usage.ru_maxrss * 1024), process.returncode, stderr)


def _members(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[3]) == session:
            found.append(int(folder.name))
    return found


def _resident(processes: Iterable[int]) -> int:
    """Resident bytes of processes, those that have ended left out."""
    total = 0
    for process in processes:
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
        except (OSError, IndexError):
            continue
    return total
