"""Titles of frames that may be narrower than they are: said shorter, and what is most specific stays."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

#: A title, or the same said shorter and shorter.
Title = str | tuple[str, ...]


def shorter(title: Title) -> tuple[str, ...]:
    """A title as the tuple of its forms, the fullest first."""
    return (title,) if isinstance(title, str) else title


def led(title: Title, before: str) -> Title:
    """Every form of a title with ``before`` at its front."""
    return tuple(before + each for each in shorter(title))


def fitting(title: Title, room: int, sign: str = "…") -> str:
    """The fullest form that ``room`` cells hold; of the shortest one the ends, where not even that fits."""
    forms = shorter(title)
    return next((each for each in forms if cell_len(each) <= room), cut_middle(forms[-1], room, sign))


def cut_middle(text: str, width: int, sign: str = "…") -> str:
    """At most ``width`` cells of ``text``, with ``sign`` for what was left out in the middle.

    Names of groups and lanes differ at their ends: ``DATA_PARALLEL_GROUP[1,3]``, ``pp p2p 10->2``.
    """
    if cell_len(text) <= width:
        return text
    left = width - len(sign)
    if left <= 0:
        return sign[: max(width, 0)]
    head = left // 2
    tail = text
    while cell_len(tail) > left - head:
        tail = tail[1:]
    return set_cell_size(text, head) + sign + tail
