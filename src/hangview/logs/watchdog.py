"""Lines of ProcessGroupNCCL's watchdog and monitor, torch 1.12 … 2.15, and of nccl2: what a rank says about its own waits.

Wordings were taken from the wheels of 1.12.1 … 2.15.0. The bracket in front names the group from 2.3 on; ``Rank`` in it is
the rank in the group, never the world rank.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hangview.logs.events import Began, Caught, DumpLine, Event, Fatal, GroupRef, Heartbeat, Left, Status, TimedOut
from hangview.schema import DEFAULT_DESC

if TYPE_CHECKING:
    from hangview.logs.evidence import LogLine
    from hangview.logs.lines import Piece

#: Any group bracket: 2.5+ with ID and GUID, 2.4 and 2.3 with "PG n", older with the rank alone.
PG = re.compile(
    r"\[(?:PG (?:ID (?P<id>\d+) PG GUID (?P<guid>[^ (\]]*)|(?P<pg>[^\s(\]]+))(?: ?\((?P<desc>[^)]*)\))? )?Rank (?P<rank>\d+)\] "
)
_WORK = (
    r"Work[A-Z]CCL\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, TensorShape=\[[^\]]*\])?"
    r"(?:, NumelIn=(?P<numel_in>\d+), NumelOut=(?P<numel_out>\d+))?, Timeout\(ms\)=(?P<timeout>\d+)\)"
)
_CAUGHT = re.compile(
    r"(?:\[Rank (?P<printed>\d+)\] )?Watchdog caught collective operation timeout: " + _WORK + r"(?: ran for (?P<ran>\d+) m)?"
)
_BLOCKING = re.compile(r"(?:\[Rank (?P<printed>\d+)\] )?Work " + _WORK + r" timed out in blocking wait")
_STATUS = re.compile(
    r"(?: ?failure detected by watchdog at work sequence id: (?P<a>\d+) PG status: "
    r"|Exception \(either an error or timeout\) detected by watchdog at work: (?P<b>\d+), "
    r"|Timeout at NCCL work: (?P<c>\d+), )"
    r"last enqueued (?:NCCL )?work: (?P<enqueued>-?\d+)(?:, last started work: (?P<started>-?\d+)(?: \(\w*\))?)?"
    r", last completed (?:NCCL )?work: (?P<completed>-?\d+)"
)
_SIGNAL = re.compile(
    r"Received a (?:global )?dump signal (?:due to a collective timeout )?"
    r"from (?:(?P<local>this local rank)| ?rank (?P<rank>\d+))"
    r".*?[Ll]ast enqueued NCCL work: (?P<enqueued>-?\d+), last completed NCCL work: (?P<completed>-?\d+)"
)
_HEARTBEAT = re.compile(r"Heartbeat monitor timed out!.*?workMetaList_\.size\(\) ?= ?(?P<pending>\d+)")
_STUCK = re.compile(r"watchdog got stuck for (?P<seconds>\d+) seconds(?:.*workMetaList_\.size\(\) ?= ?(?P<pending>\d+))?")
#: The same of 2.5 and newer, where the process is ended: the seconds stand in the line before.
_KILLED = re.compile(r"Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang")
_PATH = re.compile(r"dumping nccl trace to (?P<path>\S+)")
_WRITTEN = re.compile(r"Finished writing (?:NCCLPG|Flight Recorder) debug info to (?P<path>\S+)")
_NOT_WRITTEN = re.compile(
    r"Error opening file for writing (?:NCCLPG|Flight Recorder) debug info: (?P<path>\S+)|Future for Flight recorder dump in"
)
#: Of ProcessGroupNCCL's destructor: 2.6 and newer, 2.4 to 2.5.
_LEFT = (
    "destroy_process_group() was not called before program exit",
    "process group has NOT been destroyed before we destruct",
)
#: At the first barrier of a group: 2.2 to 2.6, and newer.
_FIRST_BARRIER = re.compile(r" ?using GPU \d+ (?:to perform barrier )?as devices? used by this process")
_PREPARING = ("ProcessGroupNCCL preparing to dump debug info", "FlightRecorderHook: dumping trace on")
_TC = re.compile(r"\[TC\]\[rank=(?P<rank>\d+)\]\[name=(?P<name>[^\]]*)\] ")
_TC_TIMEOUT = re.compile(r"Operation timed out after (?P<ran>\d+) ms")
_TERMINATED = re.compile(r"(?:NCCL|Process group) watchdog thread terminated with exception: (?P<text>.*)")
_ASYNC = re.compile(r"raised the following async exception: (?P<text>NCCL error: .*)")
_DEVICE = re.compile(
    r"CUDA error: |uncorrectable ECC|GPU Hang|HW Exception by GPU|unspecified launch failure|illegal memory access",
    re.IGNORECASE,
)
#: ROCm's runtime writes these without a head, and ends its process.
_ROCM = re.compile(r"(?:Memory access fault|HW Exception) by GPU node-\d+ ")

#: 2.4's bracket "[PG 1 Rank 0]" holds the group's name, 2.3's the same text counts per process: told by the date in the head.


def group_of(piece: Piece, text: str) -> tuple[GroupRef | None, str]:
    """The group bracket at the start of ``text`` (the F line has it twice) and what is behind it."""
    found = PG.match(text)
    if found is None:
        return None, text
    rest = text[found.end() :]
    again = PG.match(rest)
    while again is not None and again[0] == found[0]:
        rest = rest[again.end() :]
        again = PG.match(rest)
    rank = int(found["rank"])
    desc = found["desc"] if found["desc"] not in ("", "undefined") else None
    if found["id"] is not None:
        return GroupRef(rank, found["guid"] or None, desc, int(found["id"])), rest
    if found["pg"] is None:
        return GroupRef(rank), rest
    if desc is not None:
        return GroupRef(rank, "0" if desc == DEFAULT_DESC else found["pg"], desc), rest
    if piece.at is not None and piece.level:
        return GroupRef(rank, found["pg"], None), rest
    number = int(found["pg"]) if found["pg"].isdigit() else None
    # The first group a process makes is the default one; later numbers say nothing to other ranks.
    return GroupRef(rank, None, DEFAULT_DESC if number == 0 else None, number), rest


def match(piece: Piece, line: LogLine) -> list[Event]:
    """What a line of the watchdog says; empty for any other line."""
    text = piece.text
    found = _TC.match(text)
    if found is not None:
        return _nccl2(piece, line, GroupRef(int(found["rank"]), found["name"] or None), text[found.end() :])
    group, rest = group_of(piece, text.lstrip() if text.startswith("  what():") else text)
    if group is None and text.startswith("  what():"):
        group, rest = group_of(piece, re.sub(r"^(?:\s*what\(\):)+\s*", "", text))
    events: list[Event] = []
    caught = _CAUGHT.search(text) or _BLOCKING.search(text)
    if caught is not None:
        events.append(_caught(piece, line, caught))
        if group is not None and (group.name or group.desc):
            # "terminated with exception" names the group of a work whose own line does not.
            events.append(Status(piece.who, line, piece.at, group, int(caught["seq"])))
        return events
    status = _STATUS.search(rest)
    if status is not None:
        seq = next(int(value) for value in (status["a"], status["b"], status["c"]) if value is not None)
        enqueued, completed = _counters(status["enqueued"], status["completed"])
        started = int(status["started"]) if status["started"] not in (None, "-1") else None
        return [Status(piece.who, line, piece.at, group or GroupRef(None), seq, enqueued, started, completed)]
    signal = _SIGNAL.search(rest)
    if signal is not None:
        enqueued, completed = _counters(signal["enqueued"], signal["completed"])
        sender = int(signal["rank"]) if signal["rank"] is not None else None
        # Always the default group's counters, also when another group hangs.
        ref = (
            group
            if group is not None and (group.desc or group.name)
            else GroupRef(group.rank if group else None, "0", DEFAULT_DESC)
        )
        return [
            Status(piece.who, line, piece.at, ref, None, enqueued, None, completed, signal=True, signal_from=sender),
            DumpLine(piece.who, line, piece.at, "signal", signal_from=sender),
        ]
    return _monitor(piece, line, group or GroupRef(None), rest) or _failure(piece, line, text)


def _caught(piece: Piece, line: LogLine, found: re.Match[str]) -> Caught:
    parts = found.groupdict()
    printed, ran = parts.get("printed"), parts.get("ran")
    return Caught(
        piece.who, line, piece.at, None if printed is None else int(printed), int(parts["seq"]), parts["op"],
        _count(parts["numel_in"]), _count(parts["numel_out"]), int(parts["timeout"]), None if ran is None else int(ran),
        piece.file_line if piece.file == "ProcessGroupNCCL.cpp" and found.start() == 0 else 0,
    )  # fmt: skip


def _count(text: str | None) -> int | None:
    """Elements; all bits set means that the number was never written (batches)."""
    return None if text is None or int(text) == 2**64 - 1 else int(text)


def _counters(enqueued: str, completed: str) -> tuple[int | None, int | None]:
    """Both counters, or None where they cannot be true: 2.3 prints uninitialised memory until the first work completes."""
    first, second = int(enqueued), int(completed)
    return (first, second) if -1 <= second <= first < 2**48 else (None, None)


def _nccl2(piece: Piece, line: LogLine, group: GroupRef, rest: str) -> list[Event]:
    found = _TC_TIMEOUT.search(rest)
    if found is not None:
        return [TimedOut(piece.who, line, piece.at, group, int(found["ran"]))]
    if rest.startswith("Aborting process") and "due to timeout" in rest:
        return [TimedOut(piece.who, line, piece.at, group)]
    if "nccl hit async error" in rest or "due to error" in rest:
        return [Fatal(piece.who, line, piece.at, "nccl", rest)]
    return _failure(piece, line, rest)


def _monitor(piece: Piece, line: LogLine, group: GroupRef, rest: str) -> list[Event]:
    """The heartbeat monitor and the dump's own lines."""
    who, at = piece.who, piece.at
    found = _HEARTBEAT.search(rest)
    if found is not None:
        return [Heartbeat(who, line, at, group, int(found["pending"]))]
    found = _STUCK.search(rest)
    if found is not None:
        pending = None if found["pending"] is None else int(found["pending"])
        return [Heartbeat(who, line, at, group, pending, int(found["seconds"]), killed=piece.level == "F")]
    if piece.level == "F" and _KILLED.search(rest) is not None:
        return [Heartbeat(who, line, at, group, killed=True)]
    if rest.startswith("First PG on this rank to signal dumping"):
        return [DumpLine(who, line, at, "first")]
    if rest.startswith(_PREPARING):
        return [DumpLine(who, line, at, "began")]
    if any(text in rest for text in _LEFT):
        return [Left(who, line, at)]
    if _FIRST_BARRIER.match(rest) is not None:
        number = group.name or (None if group.pg_id is None else str(group.pg_id))
        return [] if number is None else [Began(who, line, at, f"barrier {number}")]
    for pattern, what in ((_PATH, "path"), (_WRITTEN, "finished"), (_NOT_WRITTEN, "failed")):
        found = pattern.search(rest)
        if found is not None:
            return [DumpLine(who, line, at, what, found.groupdict().get("path"))]
    return []


def _failure(piece: Piece, line: LogLine, text: str) -> list[Event]:
    """An error that the watchdog thread met instead of a time-out: of the device, or of the network."""
    found = _TERMINATED.search(text) or _ASYNC.search(text)
    if found is None and not (piece.level in ("E", "F") and _DEVICE.search(text)) and _ROCM.match(text) is None:
        return []
    said = text if found is None else found["text"]
    return [Fatal(piece.who, line, piece.at, "device" if _DEVICE.search(said) or found is None else "nccl", said)]
