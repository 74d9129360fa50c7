"""The sentences of findings that rest on logs: what to compare first and what must not be concluded, as in the table."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hangview.logs.evidence import EndKind, StatusFrom
from hangview.terms import Evidence
from hangview.text import fold_ranks, name_ranks, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hangview.logs.evidence import GroupByLog, LogEvidence, LogLine, ProcessEnd

SIZE_FIRST = "that rank's input, batch, tensor construction"
OP_FIRST = "the branch, the call order, the group's identity"
ALL_RAISED_FIRST = "the errors of all ranks: what differs between them, and which was printed first"
DEVICE_FIRST = "GPU execution errors, stream progress, the communication path, earlier errors"
COLLECTION_FIRST = "collection: whether the other ranks' logs were collected, path, permission, time the processes ended"
#: Characters of a quoted message within a summary; the evidence has it whole.
SUMMARY_PART = 160
#: Characters of a quoted line; the log pane has it whole.
QUOTED = 320
NOT_NETWORK = "that the network is proven to be at fault"


def waits(ranks: Iterable[int]) -> str:
    """``"rank 3 waits"``, ``"ranks 0-2 wait"``."""
    listed = tuple(ranks)
    return f"{name_ranks(listed, 12)} {'waits' if len(set(listed)) == 1 else 'wait'}"


def is_or_are(ranks: Sequence[int]) -> str:
    """The verb for a rank list."""
    return "is" if len(set(ranks)) == 1 else "are"


def first_printed(rows: Sequence[GroupByLog]) -> tuple[str, ...]:
    """ "that rank 2, which signalled first, is at fault": the rank that people suspect because it printed first."""
    sender = next((row.signal_from for row in rows if row.signal_from is not None), None)
    if sender is not None:
        return (f"that rank {sender}, which timed out first and told the others to dump, is at fault",)
    timed = [row.rank for row in rows if row.timed_out]
    return (f"that {name_ranks(timed, 8)}, which timed out, {is_or_are(timed)} at fault",) if timed else ()


def position(row: GroupByLog, *, sizes: bool = False) -> str:
    """What a rank's log says about its place in a group, without the rank; ``sizes`` adds the elements of the call."""
    parts = []
    if row.timed_out_seq is not None:
        took = "" if row.ran_ms is None else f" after {row.ran_ms / 1000:,.0f} s"
        elements = f", {row.numel_in:,} elements in, {row.numel_out:,} out," if sizes and row.numel_in is not None else ""
        parts.append(f"timed out in {row.timed_out_op or 'call'} {row.timed_out_seq}{elements}{took}")
    elif row.status_from is StatusFrom.NCCL2:
        parts.append("timed out" + ("" if row.ran_ms is None else f" after {row.ran_ms / 1000:,.0f} s"))
    if row.enqueued is not None and row.completed is not None:
        parts.append(f"last enqueued {_counter(row.enqueued)}, last completed {_counter(row.completed)}")
    if row.started is not None:
        parts.append(f"last started {row.started}")
    if row.pending is not None:
        parts.append(f"{row.pending} unfinished works")
    return "; ".join(parts)


def _counter(value: int) -> str:
    return "none yet" if value < 0 else str(value)


def position_lines(
    evidence: LogEvidence, rows: Iterable[GroupByLog], group: str, *, sizes: bool = False
) -> tuple[Evidence, ...]:
    """One line of evidence per distinct position, with the ranks folded and the first place where it can be checked."""
    found: dict[str, list[GroupByLog]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.rank):
        # The milliseconds differ on every rank; whole seconds are enough to read, and let equal positions share a line.
        found[position(row, sizes=sizes)].append(row)
    lines = []
    for text, same in found.items():
        more = f" and {len(same) - 1} more like it" if len(same) > 1 else ""
        ranks = fold_ranks([row.rank for row in same], 12)
        who = f"rank{'s' if len(same) > 1 else ''} {ranks}, {group}"
        lines.append(Evidence(f"{who}: {text} ({evidence.shown_together(same[0].lines)}{more})", same[0].line.source))
    return tuple(lines)


def quoted(evidence: LogEvidence, line: LogLine, before: str = "") -> Evidence:
    """A log line as evidence, with its file and number."""
    return Evidence(f"{before}{shorten(line.text.strip(), QUOTED)} ({evidence.shown(line)})", line.source)


def end_first(end: ProcessEnd, ranks: Sequence[int], current: int | None) -> str:
    """What to compare first for processes that ended alike; ``current``: the attempt that the incident is about."""
    rank = name_ranks(ranks, 8)
    if end.attempt is not None and end.attempt != current:
        return f"whether the current attempt met the same: this one ended attempt {end.attempt}, and the job was started again"
    if end.kind is EndKind.OOM_KILLER:
        where = f" on {end.host}" if end.host else ""
        return (
            f"memory of the host{where} and the job's limit: what grew in {rank}, and whether other processes there came close"
        )
    if end.kind is EndKind.SIGNAL:
        return "who sent the signal: the kernel's log and the scheduler's log of that node, the launcher's lines"
    if end.kind is EndKind.EXIT_CODE:
        return f"{rank}'s own standard error: what it raised is not in these logs"
    if end.kind is EndKind.LEFT:
        return f"where {rank}'s program ended: the length of its data and its loop, an early return or exit, its own output"
    if end.kind is EndKind.DEVICE:
        return f"GPU execution errors of {rank}: earlier errors of that device, the kernel's log of that node"
    if end.kind is EndKind.HEARTBEAT:
        return f"what blocked {rank}'s watchdog thread: stacks of the process, device errors, the kernel's log"
    if (end.type or "").endswith("OutOfMemoryError") or "CUDA out of memory" in end.what:
        return f"GPU memory of {rank}: input and batch of that step against other ranks, other processes on that device"
    if end.before_communication:
        return f"{rank}'s path before communication: does the exception belong to this run, did the process end after it?"
    if end.kind is EndKind.EXCEPTION and not end.inside:
        return f"what {rank} did just before, and whether the process ended after it"
    return f"{rank}'s arguments of that call and what it did just before"


def what_happened(end: ProcessEnd, ranks: Sequence[int], current: int | None) -> str:
    """One sentence about processes that ended alike."""
    who = name_ranks(ranks, 8)
    if end.attempt is not None and end.attempt != current:
        who = f"{who} of attempt {end.attempt}"
    logs, were = ("by its log", "was") if len(ranks) == 1 else ("by their logs", "were")
    logs = end.by or logs
    what = shorten(end.what, SUMMARY_PART)
    if end.kind is EndKind.FATAL:
        return f"{who} met a fatal error: {what.removeprefix('Fatal Python error: ')}{_place(end)}, {logs}"
    if end.kind in (EndKind.EXCEPTION, EndKind.DEVICE, EndKind.ABORT):
        before = ", outside any collective" if end.before_communication else ""
        return f"{who} raised {what}{_place(end)}{before}, {logs}"
    if end.kind in (EndKind.OOM_KILLER, EndKind.HEARTBEAT):
        return f"{who} {were} {what}"
    if end.kind is EndKind.LEFT:
        return f"{who} {what}, {logs}"
    return f"{who} ended by {what}" if end.kind is EndKind.SIGNAL else f"{who} ended with {what}"


def _place(end: ProcessEnd) -> str:
    return f" in {end.where}" if end.where else ""


def end_not_concluded(end: ProcessEnd, others: Sequence[int]) -> tuple[str, ...]:
    """What must not be concluded from a process that ended."""
    said = []
    if others:
        said.append(f"that {name_ranks(others, 8)}, which waited, {is_or_are(others)} at fault")
    said.append("that there is no network fault at all")
    if end.kind is EndKind.HEARTBEAT:
        said += [
            "that a collective timed out: no watchdog time-out was printed",
            "that a rank with fewer unfinished works is behind or ahead",
        ]
    if end.kind in (EndKind.EXIT_CODE, EndKind.LEFT) and others:
        said.append(f"that {name_ranks((end.rank,))} skipped the call: that it is gone is known, not whether it had come")
    if end.kind is EndKind.SIGNAL and end.code == -9:
        said.append("that it ran out of memory: SIGKILL alone does not say so, the kernel's log would")
    if end.kind is EndKind.OOM_KILLER:
        said.append("that the ranks which the launcher ended afterwards failed on their own")
    if end.went_on:
        said.append("that its process ended there: ordinary lines follow")
    return tuple(said)
