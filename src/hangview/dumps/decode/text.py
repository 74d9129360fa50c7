"""JSON dumps: torch's (compact, keys sorted), other producers', and what is whole of one that ends early."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from hangview.dumps.decode.keys import CONFIG, ENTRIES, STATUS
from hangview.dumps.decode.machine import entry_limit, step_limit
from hangview.dumps.decoded import DAMAGED, NotADump, Refused

if TYPE_CHECKING:
    from hangview.schema import Limits

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
#: What may be left of a file after the place where it makes no sense, when it was cut: "-Infinit".
_LONGEST_WORD = 8
#: A small file may have so many keys; a real one has one in some twenty bytes.
_FIELDS = 300_000


def read_json(data: bytes, limits: Limits) -> tuple[Any, str | None]:
    """The value of a JSON text, and a note on where and why it stopped making sense (None: it is whole).

    Of one that stops, whole entries and whole header values are kept. Raises Refused on a limit, NotADump if nothing is
    whole.
    """
    if data.count(b"[") + data.count(b"{") > step_limit(limits, len(data)):
        raise Refused(f"holds more than {step_limit(limits, len(data)):,} lists; --max-entries raises the limit")
    if data.count(b":") > _FIELDS + len(data) // 16:
        raise Refused("has more keys than a dump of its size should")
    text = data.decode("utf-8-sig", "replace")
    try:
        return json.loads(text), None
    except RecursionError:
        raise Refused("nests deeper than any dump does") from None
    except ValueError as error:  # no JSON, or a number of thousands of digits
        problem = error
    try:
        value, stop = _salvage(text)
    except RecursionError:
        raise Refused("nests deeper than any dump does") from None
    if type(problem) is not json.JSONDecodeError:
        return value, f"{DAMAGED}character {stop:,} (a number of thousands of digits)"
    if problem.msg.startswith("Unterminated string") or problem.pos >= len(text.rstrip()) - _LONGEST_WORD:
        return value, f"stops being JSON at character {stop:,}"
    return value, f"{DAMAGED}character {problem.pos:,} ({problem.msg[:1].lower()}{problem.msg[1:]})"


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _salvage(text: str) -> tuple[Any, int]:
    at = _skip(text, 0)
    if text[at : at + 1] == "[":
        return _elements(text, at)
    if text[at : at + 1] != "{":
        raise NotADump("not a flight-recorder dump")
    return _members(text, at, top=True)


def _value(text: str, at: int) -> tuple[Any, int] | None:
    """The value that starts at ``at`` and where it ends, past any space; None if it is not whole."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except ValueError:
        return None
    return value, _skip(text, end)


def _members(text: str, at: int, *, top: bool = False) -> tuple[dict[Any, Any], int]:
    """The whole members of an object that starts at ``at``, and where reading stopped."""
    result: dict[Any, Any] = {}
    at = _skip(text, at + 1)
    while (key := _value(text, at)) and type(key[0]) is str and text[key[1] : key[1] + 1] == ":":
        at = _skip(text, key[1] + 1)
        value = _value(text, at)
        opens = text[at : at + 1]
        if value is None and top and key[0] == ENTRIES and opens == "[":
            value = _elements(text, at)
        elif value is None and top and key[0] in (CONFIG, STATUS) and opens == "{":
            value = _members(text, at)
        if value is None:
            break
        result[key[0]], at = value
        if text[at : at + 1] != ",":
            break
        at = _skip(text, at + 1)
    return result, at


def _elements(text: str, at: int) -> tuple[list[Any], int]:
    """The whole objects of an array that starts at ``at``, and where reading stopped."""
    result: list[Any] = []
    most = entry_limit(len(text))
    at = _skip(text, at + 1)
    while value := _value(text, at):
        if type(value[0]) is not dict:
            raise NotADump("not a flight-recorder dump")
        result.append(value[0])
        if len(result) > most:
            raise Refused(f"has more than {most:,} entries in {len(text):,} bytes, which no recorder writes")
        at = value[1]
        if text[at : at + 1] != ",":
            break
        at = _skip(text, at + 1)
    return result, at
