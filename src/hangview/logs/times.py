"""Times printed on log lines: what was printed, and which moments it can mean.

c10 and glog heads have month, day and clock without a year, in the process's own zone; loggers print a year and mostly no
zone; containers and schedulers put a full stamp in front. So a printed time is a set of readings, and two are only compared
with what is unknown of both allowed for.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.logs.lines import RawLine

DAY = 86_400.0
#: A printed time stands at the front of a line, behind prefixes.
_FRONT = 140
#: Lines that may lie between a line without a time and the next one that has one; and lines not matched that are looked at.
_NEAR = 50
_PASSED = 16

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: i + 1 for i, name in enumerate(_NAMES)}
_CLOCK = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,]\d+)?"
_ZONE = r"(?P<zone>Z|UTC\b| ?[+-](?:0\d|1[0-4]):?(?:00|15|30|45)\b)?"
_NAME = rf"(?P<month>{'|'.join(_NAMES)})"
#: Most telling first: of one line that has several (a container's stamp before a c10 head) the one with a year counts.
_SHAPES = (
    re.compile(rf"(?<!\d)(?P<y>\d{{4}})[-/.](?P<a>\d\d)[-/.](?P<b>\d\d)[T _:]{_CLOCK}{_ZONE}"),
    re.compile(rf"(?<!\d)(?P<a>\d\d)/(?P<b>\d\d)/(?P<y>\d{{4}})[, ] ?{_CLOCK}{_ZONE}"),
    re.compile(rf"(?<!\d)(?P<d>\d\d?)[ /-]{_NAME}[ /-](?P<y>\d{{4}})[ :]{_CLOCK}{_ZONE}"),
    re.compile(rf"\b{_NAME} {{1,2}}(?P<d>\d\d?) {_CLOCK}(?: (?P<y>\d{{4}})\b)?"),
    re.compile(rf"\b[DIWEFVC](?P<md>\d{{3,4}}) {_CLOCK}"),
    re.compile(rf"(?<![\d/-])(?P<a>\d\d)[-/](?P<b>\d\d) {_CLOCK}"),
)
#: Those in which the day may come first.
_EITHER = (_SHAPES[1], _SHAPES[5])
_HAS_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_BYTES_CLOCK = re.compile(rb"\d\d:\d\d:\d\d")
#: What may stand before a line's time: brackets, levels, names with a digit, a dot or a label's end; words are a sentence.
_BEFORE = re.compile(
    r"[\[({<\"'].*|.*[\])}>|]|\W+|\W*(?:INFO|WARN(?:ING)?|ERROR|DEBUG|CRITICAL|FATAL|TRACE|NOTICE)\W*|[Rr]ank\W*"
    r"|\W*(?:time|ts|timestamp|asctime)\W*|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?|.*\d.*|[\w-]+\.[\w.-]+:?"
)


_Days: TypeAlias = tuple[tuple[int | None, int, int], ...]


@dataclass(frozen=True, slots=True)
class Stamp:
    """A printed time. ``days`` are the dates it can mean, (year or None, month, day); ``second`` is of that day."""

    text: str  #: to be shown: without the fraction, which c10 does not take from the wall clock
    days: _Days
    second: int
    zone: int | None  #: seconds east of UTC; None: not printed

    def moment(self, first: float, last: float) -> float:
        """Unix seconds of the reading that is nearest to the time from ``first`` to ``last``, as if of UTC where no zone is
        printed: a date without a year is of the year that speaks most for the line."""
        found = [at for day in self.days for at in self._moments(day, first, last)]
        return min(found, key=lambda at: max(first - at, at - last, 0.0))

    def days_near(self, near: float) -> _Days:
        """The dates it can mean, of the year in which it is nearest to ``near``, Unix seconds."""
        year = datetime.fromtimestamp(self.moment(near, near) + (self.zone or 0), UTC).year
        return tuple((year, month, day) for _, month, day in self.days if _is_day(year, month, day)) or self.days

    def _moments(self, day: tuple[int | None, int, int], first: float, last: float) -> Iterator[float]:
        year, month, number = day
        low, high = (datetime.fromtimestamp(at, UTC).year for at in (first, last))
        for each in (year,) if year is not None else range(low - 1, high + 2):
            try:
                start = datetime(each, month, number, tzinfo=UTC)
            except ValueError:  # 29 February
                start = datetime(each, month, number - 1, tzinfo=UTC)
            yield (start + timedelta(seconds=self.second - (self.zone or 0))).timestamp()


def printed(text: str) -> Stamp | None:
    """The time at the front of a line, None where there is none, or where a sentence comes before it."""
    front = text[:_FRONT]
    if _HAS_CLOCK.search(front) is None:
        return None
    for shape in _SHAPES:
        found = shape.search(front)
        if found is not None and all(_BEFORE.fullmatch(word) for word in front[: found.start()].split()):
            return _stamp(found)
    return None


def _stamp(found: re.Match[str]) -> Stamp | None:
    said = found.groupdict()
    year = int(said["y"]) if said.get("y") else None
    second = int(said["h"]) * 3600 + int(said["m"]) * 60 + int(said["s"])
    if said.get("md"):  # c10: month * 100 + day, without a zero before it
        pairs = {(int(said["md"][:-2]), int(said["md"][-2:]))}
    elif said.get("month"):
        pairs = {(_MONTHS[said["month"]], int(said["d"]))}
    else:
        pairs = {(int(said["a"]), int(said["b"]))}
        if found.re in _EITHER:
            pairs.add((int(said["b"]), int(said["a"])))
    days = tuple((year, month, day) for month, day in sorted(pairs) if _is_day(year, month, day))
    if not days or second >= DAY + 60:
        return None
    zone = _zone(said.get("zone"))
    if len(days) > 1:
        return Stamp(found[0].strip(), days, second, zone)
    year_, month, day = days[0]
    text = f"{f'{year_}-' if year_ is not None else ''}{month:02}-{day:02} {said['h']}:{said['m']}:{said['s']}"
    return Stamp(text + (said["zone"].strip() if zone is not None else ""), days, second, zone)


def _is_day(year: int | None, month: int, day: int) -> bool:
    try:
        datetime(year if year is not None else 2024, month, day, tzinfo=UTC)
    except ValueError:
        return False
    return year is None or year >= 1990


def _zone(text: str | None) -> int | None:
    if not text:
        return None
    digits = re.sub(r"[^\d]", "", text)
    if not digits:
        return 0
    east = int(digits[:2]) * 3600 + int(digits[2:4] or 0) * 60
    return -east if "-" in text else east


@dataclass(frozen=True, slots=True)
class Printed:
    """When a line was printed: its own time, else that of the nearest line before it in the file, and of the nearest after."""

    own: Stamp | None = None
    before: Stamp | None = None
    after: Stamp | None = None

    @property
    def known(self) -> bool:
        return not (self.own is None and self.before is None and self.after is None)

    def __str__(self) -> str:
        if self.own is not None:
            return self.own.text
        if self.before is not None and self.after is not None and self.before.text == self.after.text:
            return self.before.text
        said = [f"after {self.before.text}"] if self.before is not None else []
        said += [f"before {self.after.text}"] if self.after is not None else []
        return " and ".join(said)


class Timeline:
    """The lines of one file that bear a clock, in order; their times are only worked out beside lines that matter.

    Of a big file only parts are read. Where lines were left out nothing is known of the time before the next one.
    """

    def __init__(self, *, parts: bool = False) -> None:
        """``parts``: lines may have been left out; else the numbers may still jump, where a wrapped line was put together."""
        self._parts = parts
        self._numbers: list[int] = []
        self._fronts: list[str | None] = []  # None: what comes next follows lines that were not looked at
        self._parsed: dict[int, Stamp | None] = {}  # by place
        self._year: float | None = None  # a moment in the year that the file prints, 0.0 where it prints none
        self._days: dict[_Days, _Days] = {}  # dates as printed, and with the year
        self._passed: deque[RawLine] = deque(maxlen=_PASSED)
        self._last = 0
        self._left_out = False

    def see(self, number: int, text: str) -> None:
        """A line that is looked at."""
        self._reach(number)
        if self._left_out:
            self._numbers.append((self._passed[0].number if self._passed else number) - 1)
            self._fronts.append(None)
            self._left_out = False
        for raw in self._passed:
            if _BYTES_CLOCK.search(raw.data, 0, _FRONT) is not None:
                self._numbers.append(raw.number)
                self._fronts.append(raw.data[:_FRONT].decode("utf-8", "replace"))
        self._passed.clear()
        if _HAS_CLOCK.search(text, 0, _FRONT) is not None:
            self._numbers.append(number)
            self._fronts.append(text[:_FRONT])

    def pass_over(self, raw: RawLine) -> None:
        """A line that is not looked at: its time may be that of the next one that is."""
        self._reach(raw.number)
        self._left_out = self._left_out or len(self._passed) == _PASSED
        self._passed.append(raw)

    def _reach(self, number: int) -> None:
        if self._parts and number > self._last + 1:
            self._left_out = True
            self._passed.clear()
        self._last = number

    def of(self, number: int) -> Printed:
        """When a line that was looked at was printed."""
        low, high = bisect_left(self._numbers, number), bisect_right(self._numbers, number)
        for place in range(low, high):
            own = self._stamp(place)
            if own is not None:
                return Printed(own)
        return Printed(None, self._nearest(range(low - 1, max(low - _NEAR, 0) - 1, -1), stop=True),
                       self._nearest(range(high, min(high + _NEAR, len(self._numbers)))))  # fmt: skip

    def ends(self) -> tuple[Stamp | None, Stamp | None]:
        """The first and the last time in the file."""
        count = len(self._numbers)
        return self._nearest(range(min(count, _NEAR))), self._nearest(range(count - 1, max(count - _NEAR, 0) - 1, -1))

    def _nearest(self, places: range, *, stop: bool = False) -> Stamp | None:
        for place in places:
            if stop and self._fronts[place] is None:
                return None
            found = self._stamp(place)
            if found is not None:
                return found
        return None

    def _stamp(self, place: int) -> Stamp | None:
        if place not in self._parsed:
            front = self._fronts[place]
            found = None if front is None else printed(front)
            self._parsed[place] = found if found is None else self._dated(found)
        return self._parsed[place]

    def _dated(self, stamp: Stamp) -> Stamp:
        """A time without a year, of the year nearest to one that the same file prints: c10 prints none, loggers do."""
        if stamp.days[0][0] is not None:
            return stamp
        if self._year is None:
            ends = (*self._fronts[:_NEAR], *self._fronts[:-_NEAR:-1])
            dated = (found for front in ends if front is not None and (found := printed(front)) is not None)
            self._year = next((found.moment(0.0, 0.0) for found in dated if found.days[0][0] is not None), 0.0)
        if not self._year:
            return stamp
        if stamp.days not in self._days:
            self._days[stamp.days] = stamp.days_near(self._year)
        return Stamp(stamp.text, self._days[stamp.days], stamp.second, stamp.zone)


def of_epoch(text: str) -> str:
    """Unix seconds as a line would print them; "" where it is no such number."""
    try:
        return f"{datetime.fromtimestamp(int(text), UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return ""


def before(one: Stamp | None, other: Stamp | None) -> bool:
    """Whether a time is earlier than another, by clocks of one kind: without a zone, hosts are taken to have the same."""
    if one is None or other is None or (one.zone is None) != (other.zone is None):
        return False
    dated = one if one.days[0][0] is not None else other
    base = dated.moment(0.0, 0.0)
    return one.moment(base, base) < other.moment(base, base)


def days_apart(one: Printed, other: Printed) -> bool:
    """Whether two lines were printed more than a day apart, as far as their times are known."""
    first, last = one.own or one.before, other.own or other.before
    if first is None or last is None:
        return False
    base = first if first.days[0][0] is not None else last
    here = base.moment(0.0, 0.0)
    return abs(first.moment(here, here) - last.moment(here, here)) > DAY


def span(first: float, last: float) -> str:
    """``"2026-11-28 21:06:40 to 21:07:21 UTC"`` of Unix seconds."""
    begin, end = (datetime.fromtimestamp(at, UTC) for at in (first, last))
    if f"{begin:%F %T}" == f"{end:%F %T}":
        return f"{begin:%F %T} UTC"
    return f"{begin:%F %T} to {end:%T} UTC" if begin.date() == end.date() else f"{begin:%F %T} to {end:%F %T} UTC"
