"""Reads a pickle without ever looking up a class, keeping what is whole when the bytes end.

Two kinds of writers are understood: torch's C++ pickler (protocol 2; 21 opcodes) and Python's, protocols 2 to 5, as far as
plain values go. Everything that names, calls or builds something is refused and named; nothing is imported.

What keeps hostile bytes cheap: memo ids must come in order, keys are strings or machine integers, marks nest no deeper than
``Limits.depth``, strings are no longer than ``Limits.string_bytes`` (but for a string that is the whole pickle), and
containers and strings together are counted, so memory stays within some ten times the file plus about 100 bytes times that
count; and opcodes are counted (:func:`step_limit`), so that a file of nothing but marks ends within seconds.
Values may share lists; whoever walks them must not multiply (see ``columns``).
"""

from __future__ import annotations

import re
import struct
from itertools import repeat
from typing import TYPE_CHECKING, Any, NoReturn

from hangview.dumps.decode.rescue import rescue
from hangview.dumps.decoded import DAMAGED, NotADump, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.schema import Limits

    Steps = Iterator[None]

_u2 = struct.Struct("<H").unpack_from
_i4 = struct.Struct("<i").unpack_from
_u4 = struct.Struct("<I").unpack_from
_u8 = struct.Struct("<Q").unpack_from
_q8 = struct.Struct("<q").unpack_from
_d8 = struct.Struct(">d").unpack_from

NEWEST_PROTOCOL = 5
#: The longest opcode with a fixed argument: if that many bytes are left, the bytes did not run out.
_LONGEST = 10
_TEXT = {str}
_KEY_TYPES = frozenset({str, int})

#: Opcodes that make a pickle run code, and what they ask for when they do not name it.
_CODE = {
    0x63: "a class",  # GLOBAL
    0x93: "a class",  # STACK_GLOBAL
    0x69: "a class",  # INST
    0x6F: "an object",  # OBJ
    0x52: "a call",  # REDUCE
    0x62: "an object's state",  # BUILD
    0x81: "an object",  # NEWOBJ
    0x92: "an object",  # NEWOBJ_EX
    0x82: "a registered class",  # EXT1
    0x83: "a registered class",  # EXT2
    0x84: "a registered class",  # EXT4
    0x50: "an external object",  # PERSID
    0x51: "an external object",  # BINPERSID
    0x97: "an external buffer",  # NEXT_BUFFER
    0x98: "an external buffer",  # READONLY_BUFFER
}
_NAME = re.compile(rb"[\w.<>]{1,200}")
_ASKS = re.compile(rb"[ci]([A-Za-z_][\w.]{0,200})\n([A-Za-z_][\w.]{0,200})\n")
_TEXT_NAMES = re.compile(rb"([\w.]{1,200})\n([\w.<>]{1,200})\n")
#: Opcodes with a length before their bytes -> (width of the length, whether the bytes are text).
_SIZED = {
    0x58: (4, True),  # BINUNICODE
    0x8C: (1, True),  # SHORT_BINUNICODE
    0x8D: (8, True),  # BINUNICODE8
    0x54: (4, True),  # BINSTRING, Python 2
    0x55: (1, True),  # SHORT_BINSTRING, Python 2
    0x42: (4, False),  # BINBYTES
    0x43: (1, False),  # SHORT_BINBYTES
    0x8E: (8, False),  # BINBYTES8
    0x96: (8, False),  # BYTEARRAY8
}


class _DamageError(ValueError):
    """These bytes cannot go on; what came before them is whole."""


class _EndError(EOFError):
    """The bytes end inside a string; what there is of it, if it is the whole pickle's value."""

    def __init__(self, rest: bytes | None = None) -> None:
        self.rest = rest


class Machine:
    """Reads a pickle, in one piece or in several.

    ``complete`` says whether its end was reached; ``damage`` what ended the reading, if it was not the end of the bytes;
    ``mid_value`` whether the bytes end inside a value.
    """

    def __init__(self, limits: Limits, steps: Steps) -> None:
        self.limits = limits
        self.steps = steps
        self.complete = False
        self.damage: str | None = None
        self.mid_value = False
        self.memo: list[Any] = []
        self.levels: list[list[Any]] = [[]]  # the stack, divided by its marks, outermost first
        self.room = container_limit(limits)
        self._rest: bytes | None = None  # of a pickle that is one string, cut

    def root(self) -> Any:
        """The pickle's value; before its end, the part of it that is whole; None if there is none."""
        if self.complete:
            return self.levels[0][0]
        return self._rest if self._rest is not None else rescue(self.levels)

    def feed(self, data: bytes, pos: int = 0) -> None:
        """Read on. Raises Refused if the bytes ask for code or go past a limit. Bad UTF-8 becomes U+FFFD."""
        size = len(data)
        depth, longest, steps = self.limits.depth, self.limits.string_bytes, self.steps
        room, memo, marks = self.room, self.memo, self.levels
        stack = marks.pop()
        append = stack.append
        try:
            for _ in steps:
                op = data[pos]
                if op == 0x68:  # BINGET
                    append(memo[data[pos + 1]])
                    pos += 2
                elif op == 0x58 and marks and (end := pos + 5 + (n := _u4(data, pos + 1)[0])) <= size and n <= longest:
                    # BINUNICODE, with its BINPUT at once; all that is odd about strings is below
                    append(data[pos + 5 : end].decode("utf-8", "replace"))
                    next(steps, None), next(steps, None)
                    room -= 1
                    if room < 0:
                        _too_many(self.limits)
                    pos = end
                    if data[pos] == 0x71 and data[pos + 1] == len(memo):
                        memo.append(stack[-1])
                        pos += 2
                elif op == 0x6A:  # LONG_BINGET
                    append(memo[_u4(data, pos + 1)[0]])
                    pos += 5
                elif op == 0x4D:  # BININT2
                    append(_u2(data, pos + 1)[0])
                    pos += 3
                elif op == 0x4B:  # BININT1
                    append(data[pos + 1])
                    pos += 2
                elif op == 0x5D or op == 0x7D:  # EMPTY_LIST, EMPTY_DICT; torch's have their MARK right behind
                    append([] if op == 0x5D else {})
                    room -= 1
                    if room < 0:
                        _too_many(self.limits)
                    pos += 1
                    if data[pos] == 0x28:
                        if len(marks) >= depth:
                            _too_deep(depth)
                        marks.append(stack)
                        stack = []
                        append = stack.append
                        pos += 1
                elif op == 0x75:  # SETITEMS
                    items = stack
                    stack = marks.pop()
                    append = stack.append
                    _set_items(stack[-1], items)
                    next(steps, None), next(steps, None)
                    pos += 1
                elif op == 0x65:  # APPENDS
                    items = stack
                    stack = marks.pop()
                    append = stack.append
                    if type(stack[-1]) is not list:
                        raise _DamageError("items for something that is no list")
                    stack[-1].extend(items)
                    pos += 1
                elif op == 0x71:  # BINPUT
                    if data[pos + 1] != len(memo):
                        raise _DamageError("memo out of order")
                    memo.append(stack[-1])
                    pos += 2
                elif op == 0x72:  # LONG_BINPUT
                    if _u4(data, pos + 1)[0] != len(memo):
                        raise _DamageError("memo out of order")
                    memo.append(stack[-1])
                    pos += 5
                elif op == 0x8A:  # LONG1
                    n = data[pos + 1]
                    if n == 8:
                        append(_q8(data, pos + 2)[0])
                    elif pos + 2 + n > size:
                        raise _EndError
                    else:
                        append(int.from_bytes(data[pos + 2 : pos + 2 + n], "little", signed=True))
                    pos += 2 + n
                elif op == 0x4A:  # BININT
                    append(_i4(data, pos + 1)[0])
                    pos += 5
                elif op == 0x94:  # MEMOIZE
                    memo.append(stack[-1])
                    pos += 1
                elif op in _SIZED:
                    width, text = _SIZED[op]
                    begin = pos + 1 + width
                    if begin > size:
                        raise _EndError
                    n = int.from_bytes(data[pos + 1 : begin], "little")
                    end = begin + n
                    whole = not stack and not marks  # the pickle is just this string: maybe a dump in a wrapper
                    if end > size:
                        if whole:
                            raise _EndError(data[begin:])
                        if n > longest:
                            raise _DamageError(f"a string of {n} bytes, more than the file has")
                        raise _EndError
                    if n > longest and not whole:
                        raise Refused(f"holds a string of {n} bytes, more than the limit of {longest}")
                    room -= 1
                    if room < 0:
                        _too_many(self.limits)
                    append(data[begin:end].decode("utf-8", "replace") if text else data[begin:end])
                    next(steps, None), next(steps, None)
                    pos = end
                elif op == 0x47:  # BINFLOAT
                    append(_d8(data, pos + 1)[0])
                    pos += 9
                elif op == 0x88 or op == 0x89:  # NEWTRUE, NEWFALSE
                    append(op == 0x88)
                    pos += 1
                elif op == 0x4E:  # NONE
                    append(None)
                    pos += 1
                elif 0x85 <= op <= 0x87:  # TUPLE1 to TUPLE3
                    n = op - 0x84
                    if len(stack) < n:
                        raise _DamageError("a tuple of missing values")
                    stack[-n:] = [tuple(stack[-n:])]
                    next(steps, None), next(steps, None)
                    room -= 1
                    if room < 0:
                        _too_many(self.limits)
                    pos += 1
                elif op == 0x2E:  # STOP
                    if len(stack) != 1 or marks:
                        raise _DamageError("values left over at its end")
                    self.complete = True
                    break
                elif op == 0x28:  # MARK
                    if len(marks) >= depth:
                        _too_deep(depth)
                    marks.append(stack)
                    stack = []
                    append = stack.append
                    pos += 1
                elif op == 0x73:  # SETITEM
                    value, key = stack.pop(), stack.pop()
                    _set_items(stack[-1], [key, value])
                    next(steps, None), next(steps, None)
                    pos += 1
                elif op == 0x61:  # APPEND
                    value = stack.pop()
                    if type(stack[-1]) is not list:
                        raise _DamageError("an item for something that is no list")
                    stack[-1].append(value)
                    pos += 1
                elif op == 0x74:  # TUPLE
                    items = stack
                    stack = marks.pop()
                    append = stack.append
                    append(tuple(items))
                    next(steps, None)
                    room -= 1
                    if room < 0:
                        _too_many(self.limits)
                    pos += 1
                elif op == 0x29:  # EMPTY_TUPLE
                    append(())
                    pos += 1
                elif op == 0x95:  # FRAME: only a hint for readers from a stream
                    _u8(data, pos + 1)
                    pos += 9
                elif op in _CODE:
                    _refuse(data, pos, stack)
                else:
                    raise _DamageError(f"no value can start with byte {op:#04x}")
            else:
                raise Refused("takes more steps to read than a dump of its size should; --max-entries raises the limit")
        except _EndError as end:
            self._rest = end.rest
        except _DamageError as error:
            self.damage = f"{DAMAGED}byte {pos:,} ({error})"
        except (IndexError, struct.error):
            if pos + _LONGEST <= size:
                self.damage = f"{DAMAGED}byte {pos:,} (a value that was never written)"
        self.mid_value = pos < size
        self.room = room
        marks.append(stack)


def interpret(data: bytes, limits: Limits, steps: Steps | None = None) -> Machine:
    """Read a whole pickle, or the first part of one for which ``steps`` are left.

    Raises NotADump if it is none of protocol 2 to 5; Refused as :meth:`Machine.feed`.
    """
    if data[:1] != b"\x80" or len(data) < 2 or not 2 <= data[1] <= NEWEST_PROTOCOL:
        raise NotADump("no pickle of protocol 2 to 5")
    machine = Machine(limits, steps if steps is not None else count_steps(limits, len(data)))
    machine.feed(data, 2)
    return machine


def step_limit(limits: Limits, size: int) -> int:
    """How many opcodes are read one by one, at up to a microsecond each; slow ones that are rare in a dump (strings, tuples,
    ends of dictionaries) count as two or three.

    With the default limits that is some sixty thousand entries of a pickle written by Python, at fifty opcodes each; torch's
    own layout, of which only the first use of each string and stack is read in this way, does not come near it.
    """
    return 1_000_000 + limits.entries // 5 * 2 + min(size // 32, limits.entries // 4)


def count_steps(limits: Limits, size: int) -> Steps:
    """An iterator over the steps that a file of so many bytes may take: what one reading leaves is left for the next."""
    return repeat(None, step_limit(limits, size))


def entry_limit(size: int) -> int:
    """How many entries may be in so many bytes: more than of real ones, of which 130 bytes is little."""
    return 30_000 + size // 128


def container_limit(limits: Limits) -> int:
    """How many lists, dictionaries and strings a dump may hold: far more than any real one of so many entries."""
    return 1_000_000 + 2 * limits.entries


def _too_many(limits: Limits) -> NoReturn:
    raise Refused(f"holds more than {container_limit(limits):,} lists and strings; --max-entries raises the limit")


def _too_deep(depth: int) -> NoReturn:
    raise Refused(f"nests deeper than {depth} levels, which no dump does")


def _set_items(target: Any, items: list[Any]) -> None:
    if type(target) is not dict or len(items) & 1:
        raise _DamageError("items for something that is no dictionary")
    if not items:
        return
    keys = items[::2]
    kinds = set(map(type, keys))
    if kinds != _TEXT and not (kinds <= _KEY_TYPES and all(type(k) is str or -(2**63) <= k < 2**63 for k in keys)):
        raise _DamageError("a dictionary key that is neither text nor a number")
    target.update(zip(keys, items[1::2], strict=True))


def _refuse(data: bytes, pos: int, stack: list[Any]) -> NoReturn:
    """Say what the opcode at ``pos`` asks for, as far as the bytes tell."""
    op, what = data[pos], _CODE[data[pos]]
    if op in (0x63, 0x69) and (m := _TEXT_NAMES.match(data, pos + 1)):
        what = f"{m[1].decode()}.{m[2].decode()}"
    elif op == 0x93 and len(stack) >= 2 and all(type(x) is str and _NAME.fullmatch(x.encode()) for x in stack[-2:]):
        what = f"{stack[-2]}.{stack[-1]}"
    elif op == 0x82 and pos + 1 < len(data):
        what += f" (number {data[pos + 1]})"
    raise Refused(f"asks for {what}, which a dump never does; not loaded")


def refuse_text_pickle(data: bytes) -> None:
    """Raise Refused if the bytes look like a pickle of protocol 0 or 1 that asks for code; no recorder writes those."""
    if data[:1] in (b"c", b"(") and data.rstrip()[-1:] == b"." and (m := _ASKS.search(data, 0, 4096)):
        raise Refused(f"asks for {m[1].decode()}.{m[2].decode()}, which a dump never does; not loaded")
