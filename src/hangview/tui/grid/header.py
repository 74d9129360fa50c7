"""The two frozen lines above the grid: seq numbers, whole ones only, and ticks."""

from __future__ import annotations


def step_of(last: int, block: int, cell_width: int) -> int:
    """How many seqs from label to label: a round number that leaves room for the longest label."""
    room = len(str(last)) + 1
    for step in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000):
        if step % block == 0 and step // block * cell_width >= max(room, 5):
            return step
    return block * room


def whole_labels(first: int, count: int, block: int, cell_width: int) -> str:
    """Labels at the first and at every round seq whose digits all fit: one that is cut at an edge reads as another number."""
    width = count * cell_width
    step = step_of(first + count * block, block, cell_width)
    chars = [" "] * width
    free = 0
    for column in range(count):
        seq = first + column * block
        here = seq if seq % step == 0 else (seq // step + 1) * step
        if here >= seq + block:
            continue
        label, x = str(here), column * cell_width
        if x >= free and x + len(label) <= width:
            chars[x : x + len(label)] = label
            free = x + len(label) + 1
    first_label = str(first)
    if count and not "".join(chars[: len(first_label) + 1]).strip():
        chars[: len(first_label)] = first_label[:width]
    return "".join(chars)


def ticks(first: int, count: int, block: int, cell_width: int) -> str:
    """``+`` under each label, ``-`` elsewhere."""
    step = step_of(first + count * block, block, cell_width)
    signs = []
    for column in range(count):
        seq = first + column * block
        round_one = seq % step == 0 or (seq // step + 1) * step < seq + block
        signs.append(("+" if round_one else "-").ljust(cell_width, "-"))
    return "".join(signs)
