"""Ordinary output of a process: whether it lived on after an exception, and whether for long.

A script that ends prints something, too: that it caught an exception, that it saves what it has, that it has reached its end.
Only steps that go on show that the exception was dealt with.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from hangview.logs.headers import is_ordinary, logger, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable

_Steps: TypeAlias = "list[tuple[int, int, int, int]]"

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
#: One of these is in each line that the expression finds: to look for them costs a tenth.
_WORDS_OF_BEGINS = ("load", "restore", "resum", "start", "begin", "nccl version", "initiali")
_STEP = re.compile(r"\b(?:step|iter(?:ation)?|epoch)s?\b[ =:]*(\d{1,12})", re.IGNORECASE)
#: A progress bar. It is drawn once more when it is closed, whatever closes it.
_BAR = re.compile(r"(?<!\d)(\d{1,12})/\d+ \[.*\d(?:it/s|s/it)\]", re.IGNORECASE)
_IS_STEP = re.compile(r"\b(?:step|iter(?:ation)?|epoch)s?\b[ =:]*\d|\d(?:it/s|s/it)\]", re.IGNORECASE)
_WORDS_OF_STEPS = ("step", "iter", "epoch", "it/s", "s/it")
#: A line at the level of information, which a setting with that word is not; and those of launchers, of Slurm and of NCCL.
_INFO = re.compile(r"(?<![=\w])INFO\b")
_OF_A_LAUNCHER = re.compile(
    r"\bNCCL INFO\b|\b(?:srun|slurmstepd): |\blaunch(?:er)?\.py\b|\btorch[./]distributed[./](?:elastic|run|launch)"
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


def shows_life(text: str) -> bool:
    """The same of a line that its process prints itself: launchers and NCCL print while processes end."""
    lower = text.lower()
    if any(word in lower for word in _WORDS_OF_BEGINS) and _BEGINS.search(text) is not None:
        return True
    told = any(word in lower for word in _WORDS_OF_STEPS) and _IS_STEP.search(text) is not None
    told = told or ("INFO" in text and _INFO.search(text) is not None)
    return told and _OF_A_LAUNCHER.search(text) is None


class Output:
    """The ordinary lines of one process in one file, in order. What they say is only worked out where an exception is."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._texts: list[str] = []
        self._steps: tuple[_Steps, _Steps] | None = None  # by lines and by progress bars: each counts by itself

    def add(self, number: int, text: str) -> None:
        """A line for which :func:`shows_life` holds."""
        self._numbers.append(number)
        self._texts.append(text)
        self._steps = None

    def after(self, number: int) -> tuple[int, str]:
        """How many ordinary lines come after a line; and a clause if they show that the process lived on for long, else ""."""
        place = bisect_right(self._numbers, number)
        lines = len(self._numbers) - place
        if any(_BEGINS.search(text) for text in islice(self._texts, place, place + _LINES)):
            return lines, "a new start follows it"
        for steps in self._counted():
            cut = bisect_right(steps, number, key=lambda one: one[0])
            if cut < len(steps):
                _, _, low, high = steps[cut]
                on = len(steps) - cut >= _STEPS and low < high
                if on or (cut and high >= steps[cut - 1][1] + _AHEAD):
                    return lines, f"steps up to {high:,} follow it"
        lines -= self._closed_bars(number)
        return lines, f"{lines:,} ordinary lines follow it" if lines >= _LINES else ""

    def steps_between(self, first: int, last: int) -> int:
        """How many lines that count steps stand between two lines."""
        found = islice(self._texts, bisect_right(self._numbers, first), bisect_left(self._numbers, last))
        return sum(1 for text in found if _IS_STEP.search(text) is not None)

    def last_words(self, number: int) -> int:
        """How many of the ordinary lines after a line may be of a program that ends: they count no steps."""
        texts = islice(self._texts, bisect_right(self._numbers, number), None)
        return sum(1 for text in texts if _IS_STEP.search(text) is None and not is_ordinary(text))

    def _closed_bars(self, number: int) -> int:
        """How many lines after a line are of a progress bar that stands still."""
        bars = self._counted()[1]
        cut = bisect_right(bars, number, key=lambda one: one[0])
        if cut == len(bars):
            return 0
        _, _, low, high = bars[cut]
        return len(bars) - cut if low == high and (not cut or high == bars[cut - 1][1]) else 0

    def far_after(self, number: int) -> str:
        """A clause if the steps of this process, another one of the same job, go on far behind a line, else ""."""
        for steps in self._counted():
            cut = bisect_right(steps, number, key=lambda one: one[0])
            if 0 < cut < len(steps) and steps[cut][3] >= steps[cut - 1][1] + _FAR:
                return f"another rank's steps up to {steps[cut][3]:,} follow it"
        return ""

    def recovered(self, number: int, name: str, failed: str) -> str:
        """A clause if one of the next ordinary lines of the logger of this name says that it went well in the end, else "".
        ``failed``: the line in which it told of the failure."""
        place = bisect_right(self._numbers, number)
        own = (text for text in islice(self._texts, place, place + _LINES) if name in text and logger(text) == name)
        return "the same logger tells afterwards that it went well" if any(succeeded(text, failed) for text in own) else ""

    def _counted(self) -> tuple[_Steps, _Steps]:
        if self._steps is None:
            lines = list(zip(reversed(self._numbers), reversed(self._texts), strict=True))
            self._steps = _steps(lines, _STEP), _steps(lines, _BAR)
        return self._steps


def _steps(lines: Iterable[tuple[int, str]], counts: re.Pattern[str]) -> _Steps:
    """Of each line that counts steps its number, its step, and the lowest and the highest step from it on. ``lines``: the last
    one first. The last number of a line counts: that of the step in "epoch 2 step 300"."""
    found: _Steps = []
    for number, text in lines:
        if steps := counts.findall(text):
            step = int(steps[-1])
            _, _, low, high = found[-1] if found else (0, 0, step, step)
            found.append((number, step, min(low, step), max(high, step)))
    return found[::-1]
