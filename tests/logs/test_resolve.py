"""Which attempt a line is of, in a log of a launcher that ended many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hangview.logs.events import ChildFailed
from hangview.logs.evidence import LogLine
from hangview.logs.lines import Who
from hangview.logs.resolve import _Ends

TIMES = st.sampled_from([None, "09-30 08:00:01", "09-30 08:00:02", "09-30 08:00:03"])
FAILED = st.builds(
    lambda at, number: ChildFailed(Who(), LogLine(0, number, ""), at, local=0, pid=1, code=1), TIMES, st.integers(1, 12)
)


def is_after(event: ChildFailed, end: ChildFailed) -> bool:
    """The rule for two lines: by the printed times where both have one, else by the line number."""
    if event.at is not None and end.at is not None:
        return event.at > end.at
    return event.line.number > end.line.number


@given(st.lists(FAILED, max_size=8), FAILED)
def test_how_many_ends_lie_before_a_line_is_what_the_rule_for_two_lines_says(ends, event):
    """Counted by looking into ordered lists: with each end looked at, 20,000 of them took a minute."""
    assert _Ends(ends).before(event) == sum(is_after(event, end) for end in ends[:-1])
    for one in ends:
        assert _Ends(ends).before(one) == sum(is_after(one, end) for end in ends[:-1])
