"""Times on log lines: which are taken for one, what they can mean, and which of a file's is that of a line."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hangview.logs.lines import RawLine
from hangview.logs.times import Printed, Stamp, Timeline, days_apart, of_epoch, printed, span

#: From Saturday noon to a minute later.
FIRST = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC).timestamp()
LAST = FIRST + 60


def meant(text: str) -> str:
    stamp = printed(text)
    assert stamp is not None
    return f"{datetime.fromtimestamp(stamp.moment(FIRST, LAST), UTC):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-10-03 09:12:11,120 INFO step 17", "2026-10-03 09:12:11"),
        ("[2026-10-03 09:12:11,120] [INFO] step 17", "2026-10-03 09:12:11"),
        ("[2026-10-03 09:12:11 TP0] Load weight end", "2026-10-03 09:12:11"),
        ("2026-10-03T09:12:11.120Z rank 3 INFO step 300", "2026-10-03 09:12:11"),
        ("2026-10-03T09:12:11+09:00 INFO x", "2026-10-03 00:12:11"),
        ("2026-10-03 20:12:11 -0800 INFO x", "2026-10-04 04:12:11"),
        ("INFO 2026-10-03 09:12:11 [loader.py:3] x", "2026-10-03 09:12:11"),
        ("INFO:2026-10-03 09:12:11,001:trainer: x", "2026-10-03 09:12:11"),
        ("2026/10/03 09:12:11 x", "2026-10-03 09:12:11"),
        ('{"time": "2026-10-03T09:12:11Z", "level": "info"}', "2026-10-03 09:12:11"),
        ('time="2026-10-03T09:12:11Z" level=info msg=x', "2026-10-03 09:12:11"),
        ("  time      : 2026-10-03_09:12:11", "2026-10-03 09:12:11"),
        ("03/Oct/2026:09:12:11 x", "2026-10-03 09:12:11"),
        ("Sat Oct  3 09:12:11 2026", "2026-10-03 09:12:11"),
        ("Oct  3 09:12:11 node7 kernel: Out of memory", "2026-10-03 09:12:11"),
        ("10/31/2026 09:12:11 - INFO - x", "2026-10-31 09:12:11"),
        ("[default3]:[rank3]:[E1003 09:12:11.117699427 ProcessGroupNCCL.cpp:1746] x", "2026-10-03 09:12:11"),
        ("[rank3]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:632] x", "2026-06-26 05:14:36"),
        ("E1003 09:12:11.356731 182539 ProcessGroupNCCL.cpp:632] x", "2026-10-03 09:12:11"),
        ("INFO 10-31 09:12:11 [core.py:3] x", "2026-10-31 09:12:11"),
        # A container's stamp, with a year and a zone, is before the process's own.
        ("2026-10-03T00:12:11.9Z [rank3]:[E1003 09:12:11.117699427 ProcessGroupNCCL.cpp:1746] x", "2026-10-03 00:12:11"),
    ],
)
def test_what_stands_in_front_of_a_line_is_its_time(text, when):
    assert meant(text) == when


@pytest.mark.parametrize(
    "text",
    [
        "loading checkpoint from 2026-10-03 09:12:11",
        "ValueError: time data 2026-10-03 09:12:11 does not match",
        "[rank3]: ValueError: no such shard",
        "step 17 took 00:00:12",
        "2026-13-45 09:12:11 no date",
        "",
    ],
)
def test_what_stands_in_a_sentence_or_is_no_date_is_none(text):
    assert printed(text) is None


def test_a_date_without_a_year_is_of_the_year_that_is_nearest():
    """A job that ran over new year."""
    new_year = datetime(2027, 1, 1, 0, 10, tzinfo=UTC).timestamp()
    stamp = printed("[rank3]:[E1231 23:50:00.000000001 x.cpp:1] x")
    assert stamp is not None
    assert stamp.moment(new_year, new_year) == new_year - 20 * 60


def test_the_29th_of_february_is_no_error_in_other_years():
    """The nearest is that of 2027, which has none: a day less is near enough."""
    assert meant("[rank3]:[E229 10:00:00.000000001 x.cpp:1] x") == "2027-02-28 10:00:00"


def test_of_two_readings_of_a_date_the_one_that_is_nearer_counts():
    """5 November or 11 May."""
    assert meant("11/05/2026 09:12:11 x") == "2026-11-05 09:12:11"
    assert meant("05/11/2026 09:12:11 x") == "2026-11-05 09:12:11"


def test_what_is_shown_leaves_out_the_fraction_which_is_not_of_the_wall_clock():
    shown = [printed(text) for text in ("[E1003 09:12:11.117699427 x.cpp:1] x", "2026-10-03T09:12:11.120Z x")]
    assert [stamp.text for stamp in shown if stamp] == ["10-03 09:12:11", "2026-10-03 09:12:11Z"]


def test_a_time_span_names_a_day_once():
    assert span(FIRST, LAST) == "2026-11-28 12:00:00 to 12:01:00 UTC"
    assert span(FIRST, FIRST) == "2026-11-28 12:00:00 UTC"
    assert span(FIRST, FIRST + 86_400) == "2026-11-28 12:00:00 to 2026-11-29 12:00:00 UTC"


def test_unix_seconds_of_an_error_file():
    assert of_epoch("1795966986") == "2026-11-29T15:43:06Z"
    assert of_epoch("soon") == of_epoch("9" * 30) == ""


def stamp(day: int, year: int | None = 2026) -> Stamp:
    return Stamp(f"11-{day}", ((year, 11, day),), 0, None)


def test_days_apart_needs_two_times():
    assert days_apart(Printed(stamp(3)), Printed(stamp(28)))
    assert days_apart(Printed(None, stamp(3)), Printed(stamp(28)))
    assert not days_apart(Printed(stamp(27)), Printed(stamp(28)))
    assert not days_apart(Printed(stamp(28, None)), Printed(stamp(28)))
    assert not days_apart(Printed(), Printed(stamp(28)))


# -- of one file ---------------------------------------------------------------------------------------------------------


def text_of(found: Stamp | None) -> str | None:
    return None if found is None else found.text


def times(timeline: Timeline, number: int) -> tuple[str | None, str | None, str | None]:
    when = timeline.of(number)
    return text_of(when.own), text_of(when.before), text_of(when.after)


def line(number: int, text: str) -> RawLine:
    return RawLine(number, 0, text.encode())


def test_a_line_without_a_time_lies_between_those_of_its_neighbours():
    timeline = Timeline()
    for number, text in enumerate(["2026-11-28 12:00:00 a", "Traceback", "ValueError: x", "2026-11-28 12:00:09 b"], 1):
        timeline.see(number, text)
    assert times(timeline, 1) == ("2026-11-28 12:00:00", None, None)
    assert times(timeline, 3) == (None, "2026-11-28 12:00:00", "2026-11-28 12:00:09")
    assert str(timeline.of(3)) == "after 2026-11-28 12:00:00 and before 2026-11-28 12:00:09"
    assert [text_of(end) for end in timeline.ends()] == ["2026-11-28 12:00:00", "2026-11-28 12:00:09"]
    assert str(Printed(None, stamp(28), stamp(28))) == stamp(28).text
    assert str(Printed(None, None, stamp(28))) == f"before {stamp(28).text}"


def test_a_date_without_a_year_is_of_the_year_that_its_file_prints():
    """c10's heads bear none: beside dumps of November an April line alone would be of the next year, 125 days after them."""
    timeline = Timeline()
    for number, text in enumerate(["2026-04-02 10:05:11,402 INFO Connected", "[E402 10:20:30.186976752 a.cpp:6] x"], 1):
        timeline.see(number, text)
    (own, november) = (timeline.of(2).own, datetime(2026, 11, 28, tzinfo=UTC).timestamp())
    assert own is not None
    assert own.moment(november, november) == datetime(2026, 4, 2, 10, 20, 30, tzinfo=UTC).timestamp()


def test_the_year_changes_within_a_file():
    timeline = Timeline()
    for number, text in enumerate(["2025-12-31 23:50:00 INFO step", "[E101 00:04:00.186976752 a.cpp:6] x"], 1):
        timeline.see(number, text)
    own = timeline.of(2).own
    assert own is not None
    assert own.days == ((2026, 1, 1),)


def test_a_clock_that_is_no_time_of_a_line_is_passed_by():
    timeline = Timeline()
    for number, text in enumerate(["2026-11-28 12:00:00 a", "this took 00:12:00", "Traceback"], 1):
        timeline.see(number, text)
    assert times(timeline, 3) == (None, "2026-11-28 12:00:00", None)


def test_a_file_without_times_tells_none():
    timeline = Timeline()
    timeline.see(1, "Traceback")
    assert not timeline.of(1).known
    assert timeline.ends() == (None, None)


def test_lines_that_were_passed_over_give_their_time_to_the_next_one():
    """Of a big file only lines that matter are matched; a training log's last step is just before its traceback."""
    timeline = Timeline(parts=True)
    timeline.see(1, "2026-11-01 00:00:00 start")
    for number in range(2, 2000):
        timeline.pass_over(line(number, f"2026-11-{number // 100 + 2:02} 10:00:00 step {number}"))
    timeline.see(2000, "Traceback")
    assert times(timeline, 2000) == (None, "2026-11-21 10:00:00", None)


def test_where_lines_were_left_out_nothing_is_known_of_the_time_before():
    """The start of the file is days older than its end, and what lies between was not read."""
    timeline = Timeline(parts=True)
    timeline.see(1, "2026-11-01 00:00:00 start")
    timeline.see(50_000, "Traceback")
    timeline.see(50_001, "2026-11-28 12:00:09 b")
    assert times(timeline, 50_000) == (None, None, "2026-11-28 12:00:09")
    for number in range(50_002, 50_100):
        timeline.pass_over(line(number, "printed tensor"))
    timeline.see(50_100, "Traceback")
    assert times(timeline, 50_100) == (None, None, None)
