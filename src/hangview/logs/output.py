"""Ordinary output of a process: whether it lived on after an exception, and whether for long.

A script that ends prints something, too: that it caught an exception, that it saves what it has, that it has reached its end.
Only steps that go on show that the exception was dealt with.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice

from hangview.logs.headers import logger, succeeded

_GOES_ON = re.compile(r"\bINFO\b|\b(?:step|iter(?:ation)?|epoch)s?\b[ =:]*\d|\d(?:it/s|s/it)\]", re.IGNORECASE)
#: A process that begins: after an exception in the same file it is that of a new start.
_BEGINS = re.compile(
    r"(?<!be )\b(?:loaded|restored|resum(?:ed|ing)(?: training)? from)\b"
    r".*\b(?:checkpoint|ckpt|snapshot|state|weights|step|iter(?:ation)?)\b"
    r"|\b(?:checkpoint|ckpt|snapshot) (?:was )?(?:loaded|restored)\b"
    r"|\b(?:start(?:ing|ed)?|begin(?:ning)?)(?: of)?(?: the)? (?:training|run)\b|\btraining (?:starts|started|begins)\b"
    r"|\bNCCL version \d|\binitiali[sz](?:ed|ing) process group|\bprocess group initiali[sz]ed",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\b(?:step|iter(?:ation)?|epoch)s?\b[ =:]*(\d{1,12})|(?<!\d)(\d{1,12})/\d+ \[.*\d(?:it/s|s/it)\]", re.IGNORECASE
)
#: Lines of steps after an exception, with numbers that change, that no script prints which is ending.
_STEPS = 3
#: A number so far above the last one before: the step in which the exception fell, and one more.
_AHEAD = 2
#: Steps that another rank cannot be ahead of one that is gone: some micro-batches, or steps whose numbers nobody waits for.
_FAR = 50
#: Ordinary lines without steps that none prints, either.
_LINES = 20


def goes_on(text: str) -> bool:
    """Whether a line is ordinary output: positive evidence that a process lived on after an exception."""
    return _GOES_ON.search(text) is not None or _BEGINS.search(text) is not None


class Output:
    """The ordinary lines of one process in one file, in order. What they say is only worked out where an exception is."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._texts: list[str] = []
        self._steps: list[tuple[int, int, int, int]] | None = None

    def add(self, number: int, text: str) -> None:
        """A line for which :func:`goes_on` holds."""
        self._numbers.append(number)
        self._texts.append(text)
        self._steps = None

    def after(self, number: int) -> tuple[int, str]:
        """How many ordinary lines come after a line; and a clause if they show that the process lived on for long, else ""."""
        if self._steps is None:
            self._steps = self._counted()
        place = bisect_right(self._numbers, number)
        lines = len(self._numbers) - place
        if any(_BEGINS.search(text) for text in islice(self._texts, place, place + _LINES)):
            return lines, "a new start follows it"
        cut = bisect_right(self._steps, number, key=lambda one: one[0])
        if cut < len(self._steps):
            _, _, low, high = self._steps[cut]
            on = len(self._steps) - cut >= _STEPS and low < high
            if on or (cut and high >= self._steps[cut - 1][1] + _AHEAD):
                return lines, f"steps up to {high:,} follow it"
        return lines, f"{lines:,} ordinary lines follow it" if lines >= _LINES else ""

    def far_after(self, number: int) -> str:
        """A clause if the steps of this process, another one of the same job, go on far behind a line, else ""."""
        if self._steps is None:
            self._steps = self._counted()
        cut = bisect_right(self._steps, number, key=lambda one: one[0])
        if not 0 < cut < len(self._steps) or self._steps[cut][3] < self._steps[cut - 1][1] + _FAR:
            return ""
        return f"another rank's steps up to {self._steps[cut][3]:,} follow it"

    def recovered(self, number: int, name: str, failed: str) -> str:
        """A clause if one of the next ordinary lines of the logger of this name says that it went well in the end, else "".
        ``failed``: the line in which it told of the failure."""
        place = bisect_right(self._numbers, number)
        own = (text for text in islice(self._texts, place, place + _LINES) if name in text and logger(text) == name)
        return "the same logger tells afterwards that it went well" if any(succeeded(text, failed) for text in own) else ""

    def _counted(self) -> list[tuple[int, int, int, int]]:
        """Of each line that counts steps its number, its step, and the lowest and the highest step from it on."""
        found: list[tuple[int, int, int, int]] = []
        for number, text in zip(reversed(self._numbers), reversed(self._texts), strict=True):
            if (step := _step(text)) is not None:
                _, _, low, high = found[-1] if found else (0, 0, step, step)
                found.append((number, step, min(low, step), max(high, step)))
        return found[::-1]


def _step(text: str) -> int | None:
    """The last number of a line that counts steps: that of the step in "epoch 2 step 300"."""
    found = _STEP.findall(text)
    return int(found[-1][0] or found[-1][1]) if found else None
