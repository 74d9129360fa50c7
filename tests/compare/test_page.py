"""The words of a comparison: the answer first, short at a thousand ranks, the same in text and markdown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hangview.compare import Comparison, compare, pairs
from hangview.compare.as_json import SCHEMA, to_json
from hangview.compare.page import answer, changed_text, to_markdown, to_text
from hangview.compare.values import Condition, Pair, Value
from tests.engine.support import OPEN, WORLD, Dump, Pg, alike, look, lost, rank

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.schema import Source


def condition(name: str, a: str, b: str) -> Condition:
    return Condition(name, (Value(a),), (Value(b),), changed=True)


def before(*dumps: Dump | Source) -> Incident:
    """What the engine says about dumps that lie in a folder of their own."""
    return replace(look(*dumps), paths=("before",))


@pytest.fixture(scope="module")
def hung() -> Comparison:
    whole = before(*(rank(n).calls("all_reduce", 1, 10) for n in range(4)))
    return compare(whole, look(rank(0).calls("all_reduce", 1, 9), *alike(range(1, 4), "all_reduce", 10)))


def test_the_answer_is_the_first_line(hung):
    first = to_text(hung).splitlines()[0]
    assert first.startswith("DIFFERS FIRST  all_reduce 10 of default_pg: rank 0: completed in A; not requested (")
    assert first.endswith(" in B")


def test_no_difference_says_how_much_was_compared(hung):
    dumps: list[Dump | Source] = [*(rank(n).calls("all_reduce", 1, 10) for n in range(3)), lost(3)]
    label, sentence = answer(compare(before(*dumps), look(*dumps)))
    assert (label, sentence) == (
        "NO DIFFERENCE SEEN",
        "10 calls that both sets hold agree (1 group, 3 ranks; not compared: rank 3 (no dump in either))",
    )  # fmt: skip


def test_the_same_files_twice_are_said_to_be_that(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    whole = look(*(rank(n).calls("all_reduce", 1, 10) for n in range(4)))
    run, link, other = (replace(whole, paths=(str(tmp_path / name),)) for name in ("run", "link", "other"))
    assert answer(compare(run, link))[1] == (
        "10 calls that both sets hold agree (1 group, 4 ranks); A and B are the same files"
    )  # fmt: skip
    assert json.loads(to_json(compare(run, link)))["same_files"] is True
    assert answer(compare(run, other))[1] == "10 calls that both sets hold agree (1 group, 4 ranks)"
    assert json.loads(to_json(compare(run, other)))["same_files"] is False


def four(last: int = 10) -> list[Dump | Source]:
    return [rank(n).calls("all_reduce", 1, last) for n in range(4)]


def test_what_a_cut_file_lacks_is_said_in_the_headline():
    """Rank 3 of B: its file ends after call 6, so that calls 7 to 10 are in A alone."""
    b = look(*four()[:3], rank(3).calls("all_reduce", 1, 6).cut())
    label, sentence = answer(compare(before(*four()), b))
    assert label == "NO DIFFERENCE SEEN"
    assert sentence.endswith("(1 group, 4 ranks; not compared: 4 calls of rank 3 (cut in B))")
    assert answer(compare(b, before(*four())))[1].endswith("not compared: 4 calls of rank 3 (cut in A))")
    assert "not compared: 4 calls of rank 3 that A holds: its dump in B is cut or damaged" in to_text(
        compare(before(*four()), b)
    )


def test_what_a_ring_buffer_lost_is_said_in_the_headline():
    """Each of four ranks holds 4 to 10 in B: 1 to 3 of each are in A alone."""
    b = look(*(rank(n).wrapped().calls("all_reduce", 4, 10) for n in range(4)))
    assert "not compared: 12 calls of ranks 0-3 (overwritten in B)" in answer(compare(before(*four()), b))[1]


def test_what_an_only_active_dump_lacks_is_said_in_the_headline():
    a = look(*(rank(n).calls("all_reduce", 1, 9).call("all_reduce", 10, OPEN) for n in range(4)))
    b = look(*(rank(n).only_active().call("all_reduce", 10, OPEN) for n in range(4)))
    assert "not compared: 36 calls of ranks 0-3 (unfinished calls only in B)" in answer(compare(a, b))[1]


def test_a_rank_without_a_dump_in_one_set_is_said_in_the_headline():
    assert "not compared: rank 3 (no dump in B)" in answer(compare(before(*four()), look(*four()[:3], lost(3))))[1]


def test_a_run_that_was_stopped_earlier_lost_nothing():
    assert answer(compare(before(*four()), look(*four(7)))) == (
        "NO DIFFERENCE", "7 calls that both sets hold agree (1 group, 4 ranks)"
    )  # fmt: skip


def test_what_was_not_compared_stands_beside_a_difference_too():
    """Rank 0 asks for less in call 6; rank 3's file of B ends after call 4."""
    b = look(
        rank(0).calls("all_reduce", 1, 5).call("all_reduce", 6, size=1), *four(6)[1:3], rank(3).calls("all_reduce", 1, 4).cut()
    )
    first, second = to_text(compare(before(*four(6)), b)).splitlines()[:2]
    assert first.startswith("DIFFERS FIRST  all_reduce 6")
    assert second.startswith("NOT COMPARED   2 calls of rank 3 (cut in B)")


def test_two_reports_that_disagree_are_not_left_side_by_side_without_a_word():
    """Rank 3 asks for something else in call 10 of A, and B's file of it ends before."""
    odd = rank(3).calls("all_reduce", 1, 9).call("all_reduce", 10, OPEN, size=1)
    stuck = [rank(n).calls("all_reduce", 1, 9).call("all_reduce", 10, OPEN) for n in range(3)]
    found = compare(before(*stuck, odd), look(*stuck, rank(3).calls("all_reduce", 1, 6).cut()))
    assert found.a.leads == (3,)
    assert found.b.leads == ()
    assert "A, B" in to_text(found)
    assert "they do not say the same" in to_text(found)
    assert "they do not say the same" not in to_text(compare(before(*stuck, odd), look(*stuck, odd)))


def test_two_programs_that_share_no_group_are_not_comparable():
    """That a group has calls in one set only is a difference where something else is the same: here nothing is."""
    a = before(*(rank(n).calls("all_reduce", 1, 3, group=Pg("1", "shard", (0, 1))) for n in range(2)))
    b = look(*(rank(n).calls("all_gather", 1, 3, group=Pg("1", "repl", (0, 1, 2))) for n in range(3)))
    found = compare(a, b)
    assert answer(found) == ("NOT COMPARABLE", "no call could be compared: no group is in both")
    assert found.differences == ()
    text = to_text(found)
    assert "shard: a group of A only" in text
    assert "repl: a group of B only" in text


def test_of_whose_calls_there_is_no_record_is_said():
    """B used the default group alone, A another one alone."""
    shard = Pg("1", "shard", (0, 1))
    a = before(*(rank(n).knows(WORLD, shard).calls("all_reduce", 1, 3, group=shard) for n in range(2)))
    b = look(*(rank(n).knows(WORLD).calls("all_reduce", 1, 3) for n in range(2)))
    label, sentence = answer(compare(a, b))
    assert label == "NOT COMPARABLE"
    assert sentence == "no call could be compared: default_pg: no call of it is recorded in A"


def test_a_group_without_a_call_is_told_apart_from_a_group_of_one_set():
    unused = Pg("9", "unused", (0, 1))
    a = before(*(rank(n).knows(WORLD, unused).calls("all_reduce", 1, 3) for n in range(4)))
    text = to_text(compare(a, look(*four(3))))
    assert "unused: no call of it is recorded in A or B" in text
    assert "2 in A (1 lane with calls), 1 in B" in text
    assert "a group of A only" not in text


def test_nothing_comparable_says_why():
    a = before(*(rank(n).calls("all_reduce", 1, 3) for n in range(4)))
    b = look(*(rank(n).wrapped().calls("all_reduce", 7, 9) for n in range(4)))
    assert answer(compare(a, b)) == (
        "NOT COMPARABLE", "no call could be compared: A holds calls 1-3, B calls 7-9"
    )  # fmt: skip
    assert answer(compare(look(lost(0)), a))[1].endswith("no dump of A could be read")


def test_the_number_of_changed_conditions_is_said(hung):
    none, one = changed_text(hung), changed_text(replace(hung, conditions=(condition("backend", "nccl", "nccl2"),)))
    two = (condition("backend", "nccl", "nccl2"), condition("PyTorch", "2.14", "2.15"))
    assert none == "no recorded condition differs; what the files do not record may"
    assert one == "one recorded condition differs: backend nccl → nccl2"
    assert changed_text(replace(hung, conditions=two)).startswith("2 recorded conditions differ, so none of them explains")


def test_what_follows_and_what_is_not_known_is_listed_and_not_counted(hung):
    conditions = (
        condition("PyTorch", "2.14", "2.15"),
        replace(condition("dump schema", "2.9", "2.10"), follows=True),
        Condition("driver", (), (Value("580"),), changed=False),
    )
    found = replace(hung, conditions=conditions)
    assert changed_text(found) == "one recorded condition differs: PyTorch 2.14 → 2.15"
    assert "driver not recorded → 580 (recorded in one set only: not known to have changed)" in to_text(found)


def test_markdown_holds_the_same_words(hung):
    text, markdown = to_text(hung), to_markdown(hung).replace("\\", "")
    assert markdown.startswith("# hangview compare\n")
    for line in text.splitlines():
        assert " ".join(line.split()).casefold() in markdown.casefold()


def test_a_thousand_ranks_stay_short():
    ranks = range(1024)
    world = Pg("0", "default_pg", tuple(ranks))
    pairs = {n: Pg(str(1 + n // 2), "pair", (n - n % 2, n - n % 2 + 1)) for n in ranks}
    done = look(*(rank(n).call("all_reduce", 1, group=world).call("all_reduce", 1, group=pairs[n]) for n in ranks))
    stuck = look(*(rank(n).call("all_reduce", 1, OPEN, group=world).call("all_reduce", 1, OPEN, group=pairs[n]) for n in ranks))
    found = compare(done, stuck)
    assert len(found.differences) == 513
    text = to_text(found)
    assert len(text.splitlines()) < 40
    assert max(map(len, text.splitlines())) < 600
    assert len(to_text(found, everything=True).splitlines()) > 1000


def test_control_characters_of_a_file_stay_out():
    odd = Pg("0", "a\x1b[2Jb", (0, 1))
    a = look(*(rank(n).call("all_reduce", 1, group=odd) for n in range(2)))
    b = look(*(rank(n).call("all_reduce", 1, group=odd, size=3) for n in range(2)))
    for text in (to_text(compare(a, b)), to_markdown(compare(a, b)), to_json(compare(a, b))):
        assert "\x1b" not in text


def test_json_says_what_was_left_out():
    b = look(*four()[:2], rank(2).calls("all_reduce", 1, 6).cut(), lost(3))
    found = json.loads(to_json(compare(before(*four()), b)))
    assert found["left_out"] == [
        {"reason": "cut", "lacks": "B", "ranks": [2], "calls": 4},
        {"reason": "no_dump", "lacks": "B", "ranks": [3], "calls": 10},
    ]
    assert found["groups"][0]["left_out"] == [2, 3]


def test_json_says_everything_with_its_own_schema(hung):
    found = json.loads(to_json(hung))
    assert (found["schema"], found["outcome"], found["changed"]) == (SCHEMA, "difference", 0)
    (difference,) = found["differences"]
    assert (difference["kind"], difference["seq"], difference["lane"], difference["ranks"]) == (
        "not_requested", 10, "collective", [0, 1, 2, 3]
    )  # fmt: skip
    assert [part["ranks"] for part in difference["parts"]] == [[0], [1, 2, 3]]
    group = found["groups"][difference["group"]]
    assert (found["left_out"], group["left_out"], group["called"]) == ([], [], True)
    assert (group["label"], group["compared"], group["held_a"], group["held_b"]) == ("default_pg", 10, [1, 10], [1, 10])
    assert to_json(hung).isascii()
    assert "[0, 1, 2, 3]" in to_json(hung)


def test_that_no_call_is_held_by_both_is_said_only_where_it_is_so():
    """Calls that both hold and whose numbers do not correspond are another matter."""
    apart = Pair(None, None, "dp", (0, 1), held_a=(1, 3), held_b=(7, 9))
    assert list(pairs._windows(apart, None)) == ["no call is held by both: A holds calls 1-3, B calls 7-9"]
    assert list(pairs._windows(replace(apart, held_b=(3, 9)), None)) == []
