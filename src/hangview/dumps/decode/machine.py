"""Reads a pickle without ever looking up a class, keeping what is whole when the bytes end.

Two kinds of writers are understood: torch's C++ pickler (protocol 2; 21 opcodes) and Python's, protocols 2 to 5, as far as
plain values go. Everything that names, calls or builds something is refused and named; nothing is imported.

What keeps hostile bytes cheap: memo ids must come in order, keys are strings or machine integers, marks nest no deeper than
``Limits.depth``, strings are no longer than ``Limits.string_bytes`` (but for a string that is the whole pickle), and
containers and strings together are counted, so memory stays within some ten times the file plus about 100 bytes times that
count. Values may share lists; whoever walks them must not multiply (see ``columns``).
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from hangview.dumps.decode.keys import CONFIG, ENTRIES, STATUS
from hangview.dumps.decoded import NotADump, Refused

if TYPE_CHECKING:
    from hangview.schema import Limits

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


class Read(NamedTuple):
    """What a pickle holds. ``root`` is None if nothing was whole; ``damage`` says what ended the reading, if not the end.

    ``levels`` is the stack as it was at the end, divided by its marks, outermost first.
    """

    complete: bool
    root: Any
    memo: list[Any]
    protocol: int
    damage: str | None
    levels: list[list[Any]]


class _DamageError(ValueError):
    """These bytes cannot go on; what came before them is whole."""


class _EndError(EOFError):
    """The bytes end inside a string; what there is of it, if it is the whole pickle's value."""

    def __init__(self, rest: bytes | None = None) -> None:
        self.rest = rest


def interpret(data: bytes, limits: Limits) -> Read:
    """The value of a pickle.

    Raises NotADump if it is no pickle of protocol 2 to 5, Refused if it asks for code or goes past a limit. Bad UTF-8 becomes
    U+FFFD.
    """
    if data[:1] != b"\x80" or len(data) < 2 or not 2 <= data[1] <= NEWEST_PROTOCOL:
        raise NotADump("no pickle of protocol 2 to 5")
    return _run(data, 2, Read(False, None, [], data[1], None, [[]]), limits)


def resume(read: Read, data: bytes, limits: Limits) -> Read:
    """Go on with more bytes behind the end of one that was read; ``read`` is used up. Positions count from the new bytes."""
    return _run(data, 0, read, limits)


def _run(data: bytes, pos: int, state: Read, limits: Limits) -> Read:
    size = len(data)
    depth, longest = limits.depth, limits.string_bytes
    room = container_limit(limits)
    memo, protocol = state.memo, state.protocol
    marks = state.levels
    stack = marks.pop()
    append = stack.append
    damage = None
    try:
        while True:
            op = data[pos]
            if op == 0x68:  # BINGET
                append(memo[data[pos + 1]])
                pos += 2
            elif op == 0x58 and marks and (end := pos + 5 + (n := _u4(data, pos + 1)[0])) <= size and n <= longest:
                # BINUNICODE, with its BINPUT at once; all that is odd about strings is below
                append(data[pos + 5 : end].decode("utf-8", "replace"))
                room -= 1
                if room < 0:
                    _too_many(limits)
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
                    _too_many(limits)
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
                elif n > 16:
                    raise _DamageError(f"an integer of {n} bytes")
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
                    _too_many(limits)
                append(data[begin:end].decode("utf-8", "replace") if text else data[begin:end])
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
                room -= 1
                if room < 0:
                    _too_many(limits)
                pos += 1
            elif op == 0x2E:  # STOP
                if len(stack) != 1 or marks:
                    raise _DamageError("values left over at its end")
                return Read(True, stack[0], memo, protocol, None, [])
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
                room -= 1
                if room < 0:
                    _too_many(limits)
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
    except _EndError as end:
        if end.rest is not None:
            return Read(False, end.rest, memo, protocol, None, [])
    except _DamageError as error:
        damage = f"{error} (byte {pos})"
    except (IndexError, struct.error):
        if pos + _LONGEST <= size:
            damage = f"a value that was never written (byte {pos})"
    levels = [*marks, stack]
    return Read(False, _rescue(levels), memo, protocol, damage, levels)


def container_limit(limits: Limits) -> int:
    """How many lists, dictionaries and strings a dump may hold: far more than any real one of so many entries."""
    return 1_000_000 + 2 * limits.entries


def _too_many(limits: Limits) -> NoReturn:
    raise Refused(f"holds more than {container_limit(limits):,} lists and strings; --max-entries raises the limit")


def _too_deep(depth: int) -> NoReturn:
    raise Refused(f"nests deeper than {depth} levels, which no dump does")


def _set_items(target: Any, items: list[Any]) -> None:
    keys = items[::2]
    if type(target) is not dict or len(items) & 1:
        raise _DamageError("items for something that is no dictionary")
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


# What a dump that ends early had before its end ---------------------------------------------------------------------


def _rescue(levels: list[list[Any]]) -> Any:
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
        if type(key) not in _KEY_TYPES:
            break
        rest = pending[i + 2 :]
        if not rest and deeper:
            value = _close(key, value, deeper)
        elif key == ENTRIES and type(value) is list and rest and type(rest[0]) is dict:
            value = [*value, *_whole(rest[:1], bool(deeper))]  # one entry, written but not yet appended
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
        return {**value, **{k: v for k, v in pairs if type(k) in _KEY_TYPES}}
    return None


def _whole(items: list[Any], filling: bool) -> list[Any]:
    """The entries among the items that were written to their end: a dictionary gets all its items at once."""
    whole = items[:-1] if filling else items
    for i, item in enumerate(whole):
        if type(item) is not dict or not item:
            return whole[:i]
    return whole
