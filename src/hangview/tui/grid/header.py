"""The two frozen lines above the grid: seq numbers, whole ones only, and ticks."""

from __future__ import annotations


def step_of(last: int, block: int, cell_width: int) -> int:
    """How many seqs from label to label: a round number that leaves room for the longest label."""
    room = len(str(last)) + 1
    for step in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000):
        if step % block == 0 and step // block * cell_width >= max(room, 5):
            return step
    return block * room


def whole_labels(first: int, count: int, block: int, cell_width: int, room: int) -> str:
    """``room`` cells with a label at the first and at every round seq, each over its column.

    Whole ones only: a number that is cut at an edge reads as another number. ``room`` may be more than the columns take.
    """
    step = step_of(first + count * block, block, cell_width)
    chars = [" "] * room

    def put(label: str, x: int) -> bool:
        free = x + len(label) <= room and not "".join(chars[max(0, x - 1) : x + len(label) + 1]).strip()
        if free:
            chars[x : x + len(label)] = label
        return free

    for column in range(count):
        seq = first + column * block
        here = -(-seq // step) * step
        if here < seq + block:
            put(str(here), column * cell_width)
    put(str(first), 0)
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
