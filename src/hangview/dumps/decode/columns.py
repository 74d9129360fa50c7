"""Entries that were read one by one -> columns of ids and numbers, and the tables the ids point into.

Values may come from a file that shares one list a million times. So lists are turned into ids once per object, bottom up, and
the elements of all shapes together are counted: the work stays linear in the size of the file.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hangview.dumps.decode import keys
from hangview.dumps.decode.clean import clean_text
from hangview.dumps.decoded import BOOL_COLUMNS, INT_COLUMNS, NONE, NotADump, Refused
from hangview.schema import Signature, Thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hangview.dumps.decode.known import Key, Known
    from hangview.schema import Limits, StackFrame

Column = npt.NDArray[Any]
Entry = dict[Any, Any]

#: Elements of shapes that a small file may repeat by reference.
_SPARE_ELEMENTS = 1_000_000
#: Characters of a number as text, with space around it.
_LONGEST_NUMBER = 64
#: Elements of a list that is looked up before it is looked at.
_FEW = 64
_NUMBERS = frozenset({int})
_SEQUENCES = frozenset({list, tuple})
_TEXT_OR_NONE = frozenset({str, type(None)})
_TRUTH: dict[Any, bool] = {
    None: False,
    "true": True,
    "false": False,
    "True": True,
    "False": False,
    "1": True,
    "0": False,
    "": False,
}


class Table(dict[Any, int]):
    """value -> id, in the order of first use."""

    __slots__ = ()

    def __missing__(self, key: Any) -> int:
        n = self[key] = len(self)
        return n


class Finished(NamedTuple):
    """The tables as :class:`hangview.dumps.decoded.Decoded` wants them."""

    ops: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    signatures: tuple[Signature, ...]
    stacks: tuple[tuple[StackFrame, ...], ...]
    threads: tuple[Thread, ...]


_Seen = dict[int, tuple[Any, int]]


class Tables:
    """The tables of one dump while it is read. Each method takes a value as it is in the dump and gives an id."""

    def __init__(self, limits: Limits, size: int, known: Known) -> None:
        self.known = known
        self.ops, self.labels, self.threads = Table(), Table(), Table()
        self._longest = limits.string_bytes
        self._elements_left = size + _SPARE_ELEMENTS  # every element that is written out takes a byte or more
        self._sizes, self._dtypes, self._signatures = Table(), Table(), Table()
        self._stacks = Table()  # by the numbers of frames that ``known`` gives
        self._stacks[()]  # id 0 is "none recorded"
        # id(list or dict) -> itself, to keep it alive, and the id it got. One object may be two things: () is sizes and dtypes.
        self._texts: dict[str, str] = {}  # text that is not ASCII -> the same without half characters
        self._seen_sizes, self._seen_dtypes = _Seen(), _Seen()
        self._seen_stacks, self._seen_frames = _Seen(), _Seen()

    def op(self, value: Any) -> int:
        return self.ops[self._text(value, "profiling_name")]

    def label(self, value: Any, pg_id: Any = None) -> int:
        """Of a ``process_group``: (name, desc). Versions before 2.0 have none and know a group by its ``pg_id``."""
        if type(value) in _SEQUENCES:
            parts = [self._text(x, keys.GROUP) for x in value[:2]]
            return self.labels[(*parts, "", "")[:2]]
        if value is None:
            return self.labels["" if pg_id is None else self._text(pg_id, "pg_id"), ""]
        return self.labels[self._text(value, keys.GROUP), ""]

    def thread(self, id_: Any, name: Any) -> int:
        return self.threads[self._text(id_, "thread_id"), self._text(name, "thread_name")]

    def signature(self, inputs: Any, input_dtypes: Any, outputs: Any, output_dtypes: Any) -> int:
        key = self._size_list(inputs), self._dtype_list(input_dtypes), self._size_list(outputs), self._dtype_list(output_dtypes)
        return self._signatures[key]

    def stack(self, frames: Any) -> int:
        if frames is None or frames == []:
            return 0
        known = self._seen_stacks.get(id(frames))
        if known is not None:
            return known[1]
        n = self._stacks[self.key(frames)]
        self._seen_stacks[id(frames)] = frames, n
        return n

    def stack_of(self, key: Key) -> int:
        return self._stacks[key]

    def key(self, frames: Any) -> Key:
        """The numbers of a stack's frames, as ``known`` has them."""
        if frames is None:
            return ()
        if type(frames) not in _SEQUENCES:
            raise NotADump(f"an entry's frames are {_kind(frames)}")
        return tuple(map(self.frame, frames))

    def frame(self, frame: Any) -> int:
        known = self.known.numbers.get(id(frame))
        if known is not None:
            return known
        seen = self._seen_frames.get(id(frame))
        if seen is not None:
            return seen[1]
        if type(frame) is not dict:
            raise NotADump(f"a stack frame is {_kind(frame)}")
        line = to_int(frame.get("line"), "line")
        key = (
            self._text(frame.get("name"), "frame's name"),
            self._text(frame.get("filename"), "frame's filename"),
            0 if line == NONE else line,
        )
        n = self.known.frames.setdefault(key, len(self.known.frames))
        if id(frame) in self.known.numbers:
            self.known.numbers[id(frame)] = n
        else:
            self._seen_frames[id(frame)] = frame, n
        return n

    def finish(self) -> Finished:
        sizes, dtypes = list(self._sizes), [*self._dtypes, None]  # dtypes id -1 is "not recorded"
        return Finished(
            tuple(self.ops),
            tuple(self.labels),
            tuple(Signature(sizes[a], dtypes[b], sizes[c], dtypes[d]) for a, b, c, d in self._signatures),
            tuple(map(self.known.stacks.__getitem__, self._stacks)),
            tuple(Thread(*t) for t in self.threads),
        )

    def _text(self, value: Any, key: str) -> str:
        if value is None:
            return ""
        if type(value) not in (str, int, float, bool):
            raise NotADump(f"an entry's {key} is {_kind(value)}")
        text = str(value)
        if len(text) > self._longest or not text.isascii():
            if text not in self._texts:
                self._texts[text] = clean_text(text, key, self._longest)
            return self._texts[text]
        return text

    def _size_list(self, value: Any) -> int:
        known = _quick(self._sizes, value, nested=True)
        if known is not None:
            return known
        if value is None:
            return self._sizes[()]
        seen = self._seen_sizes.get(id(value))
        if seen is not None:
            return seen[1]
        if type(value) not in _SEQUENCES or not set(map(type, value)) <= _SEQUENCES:
            raise NotADump(f"an entry's sizes are {_kind(value)}, not lists of numbers")
        self._elements_left -= len(value) + sum(map(len, value))
        if self._elements_left < 0:
            raise Refused("repeats the same lists far beyond its own size")
        shapes = tuple(map(tuple, value))
        if not set(map(type, chain.from_iterable(shapes))) <= _NUMBERS:
            shapes = tuple(tuple(to_int(n, "sizes") for n in shape) for shape in shapes)
        n = self._sizes[shapes]
        self._seen_sizes[id(value)] = value, n
        return n

    def _dtype_list(self, value: Any) -> int:
        if value is None:
            return -1
        known = _quick(self._dtypes, value, nested=False)
        if known is not None:
            return known
        seen = self._seen_dtypes.get(id(value))
        if seen is not None:
            return seen[1]
        if type(value) not in _SEQUENCES:
            raise NotADump(f"an entry's dtypes are {_kind(value)}")
        n = self._dtypes[tuple([self._text(x, "dtype") for x in value])]
        self._seen_dtypes[id(value)] = value, n
        return n


def _quick(table: Table, value: Any, *, nested: bool) -> int | None:
    """The id of a short list that was met before; None if it has to be looked at."""
    if type(value) is not list or len(value) > _FEW:
        return None
    try:
        if nested:
            return table.get(tuple(map(tuple, value))) if sum(map(len, value)) <= _FEW else None
        return table.get(tuple(value))
    except TypeError:  # not what it should be
        return None


def _kind(value: Any) -> str:
    """What a value is, without showing it: it may be long or hold control characters."""
    names = {dict: "a dictionary", list: "a list", tuple: "a tuple", str: "text", bytes: "bytes", float: "a fraction"}
    return names.get(type(value), f"of type {type(value).__name__}")


def to_int(value: Any, key: str) -> int:
    """An integer of a dump: as it is, as text (some JSON writers), or NONE for None and empty text."""
    if type(value) is str:
        if len(value) > _LONGEST_NUMBER:
            raise NotADump(f"an entry's {key} is no number")
        text = value.strip()
        if text in ("", "None", "null"):
            return NONE
        digits = text[1:] if text[:1] == "-" else text
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise NotADump(f"an entry's {key} is no number")
        value = int(text)
    elif value is None:
        return NONE
    elif type(value) is float and value.is_integer():
        value = int(value)
    elif type(value) is not int:
        raise NotADump(f"an entry's {key} is {_kind(value)}")
    if not keys.INT_MIN <= value <= keys.INT_MAX:
        raise NotADump(f"an entry's {key} is beyond 64 bits")
    return int(value)


def _to_bool(value: Any, key: str) -> bool:
    if type(value) in (bool, int) and value in (0, 1):
        return bool(value)
    if type(value) in (str, type(None)) and value in _TRUTH:
        return _TRUTH[value]
    raise NotADump(f"an entry's {key} is neither true nor false")


def _to_float(value: Any, key: str) -> float:
    if type(value) in (int, float):
        try:
            return float(value)
        except OverflowError:
            raise NotADump(f"an entry's {key} is beyond a float's range") from None
    if value is None or value == "":
        return float("nan")
    if type(value) is str and len(value) <= _LONGEST_NUMBER:
        try:
            return float(value)
        except ValueError:
            pass
    raise NotADump(f"an entry's {key} is no number")


def _fill(entries: list[Entry], key: str, dtype: type, plain: frozenset[type], convert: Callable[[Any, str], Any]) -> Column:
    values = [e.get(key) for e in entries]
    if set(map(type, values)) <= plain:
        try:
            return np.array(values, dtype)
        except OverflowError:
            raise NotADump(f"an entry's {key} is beyond 64 bits") from None
    return np.fromiter((convert(v, key) for v in values), dtype, len(values))


def from_entries(entries: list[Entry], tables: Tables) -> tuple[dict[str, Column], set[Any]]:
    """Columns of entries that were read one by one, and the keys they have. Raises NotADump or Refused."""
    count = len(entries)
    present: set[Any] = set().union(*{id(e): e for e in entries}.values())  # one dictionary may be repeated
    columns: dict[str, Column] = {name: np.full(count, NONE, np.int64) for name in INT_COLUMNS}
    filled: set[str] = set()
    for key, (name, factor) in keys.INTS.items():
        if key not in present:
            continue
        values = _fill(entries, key, np.int64, _NUMBERS, to_int)
        columns[name] = (
            scaled(values, name, factor) if name not in filled else first_of(columns[name], scaled(values, name, factor))
        )
        filled.add(name)
    for key in BOOL_COLUMNS:
        columns[key] = _fill(entries, key, np.bool_, frozenset({bool}), _to_bool)
    columns["duration_ms"] = finite(_fill(entries, keys.DURATION, np.float64, frozenset({float}), _to_float))
    ids: dict[str, Iterable[int]] = {
        "op": _by_value([e.get("profiling_name") for e in entries], tables.op),
        "state": _by_value([e.get("state") for e in entries], state_code),
        "label": _labels(entries, tables),
        "thread": _threads(entries, tables),
        "signature": _signatures(entries, tables),
        "stack": [tables.stack(e.get(keys.FRAMES)) for e in entries] if keys.FRAMES in present else [0] * count,
    }
    for name, numbers in ids.items():
        columns[name] = np.fromiter(numbers, np.uint8 if name == "state" else np.uint32, count)
    return columns, present


def _by_value(values: list[Any], to_id: Callable[[Any], int]) -> Iterable[int]:
    """Ids of texts, each asked for once."""
    if not set(map(type, values)) <= _TEXT_OR_NONE:
        return [to_id(v) for v in values]
    return map({v: to_id(v) for v in dict.fromkeys(values)}.__getitem__, values)


def _labels(entries: list[Entry], tables: Tables) -> Iterable[int]:
    groups: list[Any] = [e.get(keys.GROUP) for e in entries]
    if set(map(type, groups)) <= _SEQUENCES and set(map(len, groups)) == {2}:
        pairs = list(map(tuple, groups))
        if set(map(type, chain.from_iterable(pairs))) == {str}:
            return map({p: tables.label(p) for p in dict.fromkeys(pairs)}.__getitem__, pairs)
    return [tables.label(group, e.get("pg_id")) for group, e in zip(groups, entries, strict=True)]


def _threads(entries: list[Entry], tables: Tables) -> Iterable[int]:
    pairs = [(e.get("thread_id"), e.get("thread_name")) for e in entries]
    if not set(map(type, chain.from_iterable(pairs))) <= _TEXT_OR_NONE:
        return [tables.thread(*pair) for pair in pairs]
    return map({p: tables.thread(*p) for p in dict.fromkeys(pairs)}.__getitem__, pairs)


def _signatures(entries: list[Entry], tables: Tables) -> Iterable[int]:
    a, b, c, d = keys.LISTS
    return [tables.signature(e.get(a), e.get(b), e.get(c), e.get(d)) for e in entries]


def scaled(values: Column, name: str, factor: int) -> Column:
    """Values in the column's unit; in times, 0 is unknown."""
    if name in keys.TIMES:
        unknown = (values == 0) | (values == NONE)
        if factor != 1:
            if (np.abs(values[~unknown]) > keys.INT_MAX // factor).any():
                raise NotADump("an entry's time is beyond 64 bits")
            values = np.where(unknown, 0, values) * factor
        values = np.where(unknown, NONE, values)
    return values


def first_of(values: Column, other: Column) -> Column:
    """Two keys of one column: the newer key's value where there is one."""
    return np.where(values == NONE, other, values)


def finite(values: Column) -> Column:
    """Durations; one that is infinite is none."""
    return np.where(np.isfinite(values), values, np.nan)


def state_code(value: Any) -> int:
    return keys.STATES.get(value, keys.OTHER_STATE) if type(value) is str else keys.OTHER_STATE
