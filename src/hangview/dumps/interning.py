"""One set of ids for the strings, signatures, stacks and threads of many dumps. Needs numpy, not polars: workers use it too."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hangview.dumps.decoded import ID_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt

    from hangview.dumps.decoded import Decoded
    from hangview.schema import StackFrame

    Ids = npt.NDArray[np.uint32]

_TABLES = {"op": "ops", "label": "labels", "signature": "signatures", "stack": "stacks", "thread": "threads"}


def share_tables(dumps: Sequence[Decoded]) -> list[Decoded]:
    """The same dumps with one table of each kind and one list of each group's members between them, so that they travel and are
    assembled together cheaply."""
    tables = Tables()
    columns: list[dict[str, Any]] = [tables.renumbered(decoded) for decoded in dumps]
    members: dict[tuple[int, ...], tuple[int, ...]] = {}
    configs = [tuple(replace(c, ranks=members.setdefault(c.ranks, c.ranks)) for c in decoded.configs) for decoded in dumps]
    values: dict[str, Any] = {_TABLES[name]: tuple(tables.values[name]) for name in ID_COLUMNS}
    together = zip(dumps, columns, configs, strict=True)
    return [
        replace(d, columns=ChainMap(own, cast("dict[str, Any]", d.columns)) if own else d.columns, configs=groups, **values)
        for d, own, groups in together
    ]


class Tables:
    """The values behind the ids: ``values["op"][i]``. Stack 0 is the empty one."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = {name: [] for name in ID_COLUMNS}
        self._known: dict[str, dict[Hashable, int]] = {name: {} for name in ID_COLUMNS}
        self._frames: dict[tuple[str, str, int], int] = {}
        self._seen: dict[int, tuple[tuple[StackFrame, ...], int]] = {}
        self._maps: dict[tuple[str, int], tuple[object, Ids | None]] = {}
        self.add("stack", ((),))

    def renumber(self, decoded: Decoded, name: str) -> Ids:
        """A dump's id column in the ids of this table."""
        new, column = self._new_ids(decoded, name), cast("Ids", decoded.columns[name])
        return column if new is None else new[column]

    def renumbered(self, decoded: Decoded) -> dict[str, Ids]:
        """Those of a dump's id columns that have other ids in this table."""
        return {name: new[decoded.columns[name]] for name in ID_COLUMNS if (new := self._new_ids(decoded, name)) is not None}

    def _new_ids(self, decoded: Decoded, name: str) -> Ids | None:
        """The ids of a dump's values; None if they are its own. Dumps that share a table are looked at once."""
        table: tuple[Any, ...] = getattr(decoded, _TABLES[name])
        kept = self._maps.get((name, id(table)))
        if kept is None:
            new = self.add(name, table)
            kept = (table, None if np.array_equal(new, np.arange(len(new))) else new)  # holds the table: its id() stays taken
            self._maps[name, id(table)] = kept
        return kept[1]

    def add(self, name: str, table: tuple[Any, ...]) -> Ids:
        """The ids of some values, new ones added."""
        if name == "stack":
            return self._add_stacks(table)
        return self._add(name, table)

    def _add_stacks(self, stacks: tuple[tuple[StackFrame, ...], ...]) -> Ids:
        """The dumps of one job share their stacks, not only the values: those that were met before are not looked into."""
        seen = self._seen
        new = tuple(stack for stack in stacks if id(stack) not in seen)
        for stack, number in zip(new, self._add("stack", new).tolist(), strict=True):
            seen[id(stack)] = stack, number  # holds the stack, so that its id() stays taken
        return np.array([seen[id(stack)][1] for stack in stacks], np.uint32)

    def _add(self, name: str, table: tuple[Any, ...]) -> Ids:
        known, values = self._known[name], self.values[name]
        keys = self._keys(name, table)
        out = np.empty(len(table), np.uint32)
        for i, key in enumerate(keys):
            number = known.get(key)
            if number is None:
                number = known[key] = len(values)
                values.append(table[i])
            out[i] = number
        return out

    def _keys(self, name: str, table: tuple[Any, ...]) -> Sequence[Hashable]:
        """Hashable stand-ins, built from plain tuples: hashing dataclasses would be most of the work."""
        if name == "stack":
            return self._stack_keys(table)
        if name == "signature":
            return [(s.input_sizes, s.input_dtypes, s.output_sizes, s.output_dtypes) for s in table]
        if name == "thread":
            return [(t.id, t.name) for t in table]
        return table

    def _stack_keys(self, stacks: tuple[tuple[StackFrame, ...], ...]) -> list[tuple[int, ...]]:
        """Frames are shared between the stacks of a dump: each is looked at once, all else are passes over plain lists."""
        frames = list(chain.from_iterable(stacks))
        at = list(map(id, frames))
        known = self._frames
        distinct = dict(zip(at, frames, strict=True))
        numbers = {i: known.setdefault((f.name, f.filename, f.line), len(known)) for i, f in distinct.items()}
        flat = list(map(numbers.__getitem__, at))
        ends = list(accumulate(map(len, stacks)))
        return [tuple(flat[end - len(stack) : end]) for stack, end in zip(stacks, ends, strict=True)]
