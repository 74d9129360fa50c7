"""What a pickled dump that ends early had before its end: its whole header values, its whole entries.

Works on the stack of the machine that read it. Containers get their items at their end (torch) or in batches (Python), so an
entry with any items has all of them.
"""

from __future__ import annotations

from typing import Any

from hangview.dumps.decode.keys import CONFIG, ENTRIES, STATUS


def rescue(levels: list[list[Any]]) -> Any:
    """The root with its whole values. ``levels`` is the stack as the marks divide it, outermost first."""
    if not levels[0]:
        return None
    root = levels[0][0]
    # A single item is written without a mark: then it lies right behind the root.
    pending, deeper = (levels[1], levels[2:]) if len(levels) > 1 else (levels[0][1:], [])
    if type(root) is list:
        return [*root, *_whole(pending, bool(deeper))]
    if type(root) is dict:
        return _fill(root, pending, deeper)
    return root


def _fill(root: dict[Any, Any], pending: list[Any], deeper: list[list[Any]]) -> dict[Any, Any]:
    result = dict(root)
    for i in range(0, len(pending) - 1, 2):
        key, value = pending[i], pending[i + 1]
        if type(key) not in (str, int):
            break
        behind = pending[i + 2] if i + 2 < len(pending) else None  # no copy of the rest: who makes up a file makes it long
        if i + 2 >= len(pending) and deeper:
            value = _close(key, value, deeper)
        elif key == ENTRIES and type(value) is list and type(behind) is dict:
            value = [*value, *_whole([behind], bool(deeper))]  # one entry, written but not yet appended
        if value is not None:
            result[key] = value
    return result


def _close(key: Any, value: Any, deeper: list[list[Any]]) -> Any:
    """A value of the root that was being filled: its whole items, or None if it means nothing without the rest."""
    items, filling = deeper[0], len(deeper) > 1
    if key == ENTRIES and type(value) is list:
        return [*value, *_whole(items, filling)]
    if key in (CONFIG, STATUS) and type(value) is dict:
        pairs = list(zip(items[::2], items[1::2], strict=False))
        if pairs and (filling or not pairs[-1][1]) and not len(items) & 1:
            pairs.pop()
        return {**value, **{k: v for k, v in pairs if type(k) in (str, int)}}
    return None


def _whole(items: list[Any], filling: bool) -> list[Any]:
    """The entries among the items that were written to their end: the one that is being written is still empty."""
    whole = items[:-1] if filling else items
    return whole[: next((i for i, item in enumerate(whole) if item == {}), len(whole))]
