"""Stacks: torch's own frames folded, ranks grouped by equal stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.engine.frames import file_name, first_own, is_torch
from hangview.engine.outside import main_stacks
from hangview.text import count, name_ranks
from hangview.tui.prose import BLANK, Line, Prose, Tone, item, line
from hangview.tui.text.common import of_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.incident import Incident
    from hangview.schema import StackFrame
    from hangview.terms import Call


def own_frame(stack: Sequence[StackFrame]) -> StackFrame | None:
    """The innermost frame that is not torch's; the innermost of all where there is none."""
    return first_own(stack) or (stack[0] if stack else None)


def short_frame(frame: StackFrame) -> str:
    """``"forward (train.py:212)"``."""
    return f"{frame.name} ({file_name(frame)}:{frame.line})"


def frame_lines(stack: Sequence[StackFrame]) -> list[Line]:
    """Innermost first; runs of torch's frames are one line with their number."""
    lines: list[Line] = []
    folded: list[StackFrame] = []

    def flush() -> None:
        if folded:
            lines.append(item(f"{count(len(folded), 'frame')} of torch, from {short_frame(folded[0])}", Tone.DIM, indent=2))
            folded.clear()

    for frame in stack:
        if is_torch(frame):
            folded.append(frame)
            continue
        flush()
        lines.append(line("  · ", (frame.name, Tone.STRONG), f"  {frame.filename}:{frame.line}", hang=4))
    flush()
    return lines


def stack_lines(incident: Incident, call: Call, rank: int) -> Prose:
    """The call's stacks, the cursor's rank first, then most ranks first; innermost frame first."""
    stacks = incident.view.stacks(call.group, call.lane, call.seq)
    lines: list[Line] = []
    for ranks, stack in sorted(stacks, key=lambda each: rank not in each[0]):
        here = " (the cursor's rank among them)" if rank in ranks and len(ranks) > 1 else ""
        lines.append(line((f"{name_ranks(ranks, 12)}: {count(len(ranks), 'rank')}{here}", Tone.HEAD)))
        lines += frame_lines(stack) if stack else [line(("  stack not recorded", Tone.UNKNOWN))]
    listed = {each for ranks, _ in stacks for each in ranks}
    without = [cell.rank for cell in call.cells if cell.rank not in listed]
    if without:
        lines.append(line((f"{name_ranks(without, 12)}: no entry here, so no stack of this call", Tone.UNKNOWN), hang=2))
    if rank in without:
        lines += _newest(incident, rank)
    outside = outside_lines(incident, [cell.rank for cell in call.cells])
    return (*lines, BLANK, *outside) if outside else tuple(lines)


def outside_lines(incident: Incident, ranks: Sequence[int]) -> list[Line]:
    """Where main threads stood when py-spy, pystack or faulthandler looked: ranks with one stack together, most ranks first."""
    if incident.logs is None:
        return []
    groups: dict[tuple[str, tuple[StackFrame, ...]], list[int]] = {}
    for stack in main_stacks(incident.logs, ranks):
        if stack.rank is not None:
            groups.setdefault((stack.tool, stack.frames), []).append(stack.rank)
    lines: list[Line] = []
    for (tool, frames), those in sorted(groups.items(), key=lambda each: (-len(each[1]), each[1])):
        lines += [line((f"{name_ranks(those, 12)}, from outside by {tool}", Tone.HEAD)), *frame_lines(frames)]
    return lines


def _newest(incident: Incident, rank: int) -> list[Line]:
    """Where a rank without an entry was at its newest one."""
    newest = incident.view.newest_entries(rank, 1)
    if not newest:
        return [BLANK, line((f"rank {rank} has no entry at all", Tone.UNKNOWN))]
    entry = newest[0]
    seq = entry.seq if entry.seq is not None else entry.p2p_seq
    head = line((f"rank {rank}'s newest entry of any group: {entry.op.name} {seq}{of_group(incident, entry)}", Tone.HEAD))
    return [BLANK, head, *(frame_lines(entry.stack) or [line(("  stack not recorded", Tone.UNKNOWN))])]
