"""What a line of a log must hold to be looked at: the words of all that is read off lines."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Each begins with a character of its own, by which one expression for all of them is made.
_MARKS = (
    "Watchdog", "atchdog (?:thread|got)", "at (?:NCCL )?work", r"\[TC\]", "dump signal", "monitor timed out",
    "async exception", "blocking wait", "signal dumping", "to dump debug", "dumping trace", "Stack trace of",
    "Flight [Rr]ecorder d", "debug info", "nccl trace", r"\[rank\d+\]: ", "Traceback", "most recent call",
    "terminate called", r"what\(\)", "Fatal Python", "exitcode", "closing signal", "ChildFailed", "Failures:",
    "observed failure", "srun: ", "slurmstepd", "CANCELLED", "emory: Kill", "oom-kill:", r"signal \d", r"SIGNAL: \d",
    "RUNNING AT ", "return code", "with code", "Init COMPLETE", "NCCL version", "DriverVersion", "by environ",
    "river [Vv]ersion", "access fault by GPU", "Exception by GPU", "CUDA (?:used|runtime|error)",
    r"orch(?: version|\.__version__)?\s*[:=]", "NVRM: Xid", r"\] Signal: ", "World[_ ]", "world[_ ]", "WORLD_SIZE",
    r", MEMBER: \d", r"RANK\W{1,4}\d", "distributed init", "_[A-Z]+=", "across cluster", "restart worker", r"Process \d",
    "Thread ", "for thread", "NCCL error", "ECC ", "GPU Hang", "launch failure", "memory access", "before program exit",
    r"Timeout \(\d", "NOT been destroyed", "used by this process", "Exception ignored", "Exception in thread",
    r"Process \S+:\s*$", "future: <", "task: <", "handle: <", "protocol: <", "transport: <", "Error in atexit",
    "Logging error", "NCCL WARN", "To our best knowledge", r"collective #\d", "Segmentation fault", "Bus error",
    "Illegal instr", "Floating point exc", "double free", r"free\(\): ", r"alloc\w*\(\): ", r"chunk\(\): ", "corrupted ",
    "stack smashing", "Caught signal", "SIG(?:TERM|INT|HUP|USR|SEGV|BUS|ILL|FPE)", "reempt", "Unable to shutdown",
    " died from ", "  (?:rank|exitcode|time) +:", "/site-packages/torch/",
)  # fmt: skip


def _expression(marks: Iterable[str]) -> str:
    """One expression for all marks, so that ordinary output costs little: those that begin alike are tried together, and a
    character with which none begins is passed over."""
    alike: dict[str, list[str]] = defaultdict(list)
    for mark in marks:
        first = mark[:2] if mark[0] == "\\" else mark[0]
        alike[first].append(mark[len(first) :])
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in alike.items())


WORTH = re.compile(_expression(_MARKS))
WORTH_BYTES = re.compile(_expression(_MARKS).encode())
