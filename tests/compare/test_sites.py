"""Whether two call sites are one place of a program that may have been edited in between."""

from __future__ import annotations

from hangview.compare.sites import Site, entry_point, other_places, site_of
from hangview.schema import StackFrame
from tests.engine.support import stack


def step(line: int) -> Site:
    return Site("train.py", "step", line)


def test_the_site_is_the_innermost_frame_that_is_not_torchs():
    assert site_of(stack("step@train.py:12")) == step(12)
    assert site_of((StackFrame("f", "/usr/lib/torch/distributed/x.py", 1),)) is None
    assert site_of(()) is None


def test_what_was_called_is_the_innermost_frame_whosever_it_is():
    assert entry_point(
        (StackFrame("reduce_scatter", "/x/torch/distributed/distributed_c10d.py", 6035), *stack("step@train.py:3"))
    ) == ("reduce_scatter")
    assert entry_point(()) == ""


def test_the_folder_is_no_part_of_it():
    assert site_of((StackFrame("step", "/a/v1/train.py", 3),)) == site_of((StackFrame("step", "/b/v2/train.py", 3),))


def test_equal_sites_are_no_news():
    assert other_places({(step(12), step(12)): 5}) == {}


def test_another_function_or_file_is_another_place():
    pairs = {(step(12), Site("train.py", "evaluate", 12)): 1, (step(12), Site("eval.py", "step", 12)): 1}
    assert set(other_places(pairs).values()) == {True}


def test_lines_that_all_moved_are_an_edit():
    pairs = {(step(12), step(14)): 40, (step(20), step(22)): 40}
    assert set(other_places(pairs).values()) == {False}


def test_a_line_that_did_not_move_further_down_shows_that_nothing_was_edited_above():
    assert other_places({(step(12), step(14)): 1, (step(30), step(30)): 3}) == {(step(12), step(14)): True}
    assert other_places({(step(12), step(30)): 1, (step(30), step(30)): 3}) == {(step(12), step(30)): True}


def test_an_unmoved_line_above_shows_nothing():
    assert other_places({(step(12), step(14)): 1, (step(3), step(3)): 3}) == {(step(12), step(14)): False}


def test_the_same_line_now_here_and_now_there_is_two_places():
    pairs = {(step(12), step(14)): 40, (step(12), step(20)): 1}
    assert other_places(pairs) == {(step(12), step(14)): False, (step(12), step(20)): True}
    assert other_places({(step(12), step(12)): 1, (step(12), step(20)): 9}) == {(step(12), step(20)): True}
