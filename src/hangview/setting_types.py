"""What a setting may hold: each type reads the text of an option or a variable and the value of a TOML file, in one way.

Whatever is wrong is a ``ValueError`` whose text follows the name: ``"is no number from 1 to 1024"``. Imports nothing heavy.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class Type:
    """A kind of value; this one is any text on one line. ``words`` says what may stand there.

    Plain classes, as they are made whenever the program starts: a dataclass takes a millisecond, and there are many.
    """

    words = "text"

    def read(self, text: str) -> Any:
        """The value of an option or a variable. Raises ValueError."""
        if not text or not text.isprintable():
            raise ValueError("is empty" if not text else f"{text!r} holds a control character")
        return text

    def check(self, value: Any) -> Any:
        """The value of a TOML file, as :meth:`read` would give it. Raises ValueError."""
        return self.read(_text(value))

    def write(self, value: Any) -> str:
        """A value as TOML."""
        return quoted(value)


class Flag(Type):
    """On or off. In a variable 1, true, yes, on or 0, false, no, off, whatever the case."""

    words = "true or false"

    def read(self, text: str) -> bool:
        told = text.strip().lower()
        if told not in (*_YES, *_NO):
            raise ValueError(f"{text!r} is neither 1 nor 0")
        return told in _YES

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{_show(value)} is neither true nor false")
        return value

    def write(self, value: bool) -> str:
        return "true" if value else "false"


class Number(Type):
    """A number within bounds, both included; ``whole`` numbers alone where that is asked for."""

    def __init__(self, low: float, high: float, *, whole: bool = True) -> None:
        self.low, self.high, self.whole = low, high, whole
        self.words = f"a {'whole ' if whole else ''}number from {low:g} to {high:.12g}"

    def read(self, text: str) -> float:
        try:
            return self._within(int(text) if self.whole else float(text), repr(text))
        except ValueError:
            raise ValueError(f"{text!r} is not {self.words}") from None

    def check(self, value: Any) -> float:
        allowed = int if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, allowed):
            raise ValueError(f"{_show(value)} is not {self.words}")
        return self._within(value, _show(value))

    def _within(self, value: float, shown: str) -> float:
        if not math.isfinite(value) or not self.low <= value <= self.high:
            raise ValueError(f"{shown} is not {self.words}")
        return value if self.whole else float(value)

    def write(self, value: float) -> str:
        return str(value)


class Bytes(Type):
    """A number of bytes: ``1000000``, ``"512K"``, ``"256M"``, ``"2G"`` (powers of 1,024)."""

    words = "a size like 256M or 2G"

    def read(self, text: str) -> int:
        found = re.fullmatch(r"(\d{1,15})\s*([kmg]?)(?:i?b)?", text.strip().lower(), re.ASCII)
        if found is None or int(found[1]) == 0:
            raise ValueError(f"{text!r} is no size like 256M")
        return int(found[1]) * _UNITS[found[2]]

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError(f"{_show(value)} is no size like 256M")
        return self.read(str(value))

    def write(self, value: int) -> str:
        for unit in ("G", "M", "K"):
            if value % _UNITS[unit.lower()] == 0:
                return f'"{value // _UNITS[unit.lower()]}{unit}"'
        return str(value)


class Choice(Type):
    """One of a few words."""

    def __init__(self, *values: str) -> None:
        self.values = values
        self.words = " or ".join(f'"{value}"' for value in values)

    def read(self, text: str) -> str:
        if text not in self.values:
            raise ValueError(f"{text!r} is none of {', '.join(self.values)}")
        return text


class Pattern(Type):
    """How a file name tells the rank: a template with ``{rank}``, or a regular expression with a group named rank."""

    words = "a template with {rank}, or a regular expression with a group named rank"

    def read(self, text: str) -> str:
        if "{rank}" in text:
            return text
        try:
            groups = re.compile(text).groupindex
        except re.error as error:
            raise ValueError(f"{text!r} is no regular expression: {error}") from None
        if "rank" not in groups:
            raise ValueError(f"{text!r} has neither {{rank}} nor a group (?P<rank>...)")
        return text


class OnePath(Type):
    """A path; ``~`` is the home folder. It need not exist: who uses it says so where it does not."""

    words = "a path"

    def read(self, text: str) -> str:
        if not text or "\0" in text:
            raise ValueError(f"{text!r} is no path")
        return str(Path(text).expanduser()) if text.startswith("~") else text


class Paths(Type):
    """Several paths: in a file a list, in a variable with ``:`` between them."""

    words = "a list of paths"

    def read(self, text: str) -> tuple[str, ...]:
        return tuple(OnePath().read(part) for part in text.split(os.pathsep) if part)

    def check(self, value: Any) -> tuple[str, ...]:
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list):
            raise ValueError(f"{_show(value)} is no list of paths")
        return tuple(OnePath().check(part) for part in listed)

    def write(self, value: tuple[str, ...]) -> str:
        return f"[{', '.join(map(quoted, value))}]"


def quoted(text: str) -> str:
    """Text as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in escaped) + '"'


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{_show(value)} is no text: write it in quotes")
    return value


def _show(value: Any) -> str:
    """A value of a TOML file as a person wrote it, more or less, and short."""
    from hangview.text import shorten

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    return shorten(repr(value) if isinstance(value, str) else str(value), 60)
