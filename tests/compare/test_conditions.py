"""What was recorded about two runs and is not the same: only what both record counts as changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.compare.conditions import conditions
from hangview.terms import Fact
from tests.support.incidents import healthy

if TYPE_CHECKING:
    from hangview.incident import Incident


def run(*facts: Fact, ranks: int = 4, inferred: bool = False) -> Incident:
    incident = healthy()
    everyone = tuple(range(ranks))
    coverage = replace(incident.coverage, expected=everyone, read=everyone)
    groups = tuple(replace(group, ranks=everyone, inferred=inferred) for group in incident.groups)
    return replace(incident, facts=facts, coverage=coverage, groups=groups)


def fact(name: str, value: str, *ranks: int, origin: str = "written in the dumps") -> Fact:
    return Fact(name, value, ranks, origin)


def told(a: Incident, b: Incident) -> list[tuple[str, bool, bool]]:
    return [(condition.name, condition.changed, condition.follows) for condition in conditions(a, b)]


def test_equal_facts_are_not_listed():
    assert told(run(fact("backend", "nccl", 0, 1)), run(fact("backend", "nccl", 0, 1))) == []


def test_what_both_record_and_is_not_the_same_changed():
    (found,) = conditions(run(fact("backend", "nccl", 0, 1)), run(fact("backend", "nccl2", 0, 1)))
    assert (found.name, found.changed) == ("backend", True)
    assert [value.text for value in (*found.a, *found.b)] == ["nccl", "nccl2"]


def test_what_was_printed_about_how_a_run_went_is_no_condition():
    """A warning comes with the trouble: as a condition it would be a second thing that changed."""
    for name in ("nccl_warning", "desync_report"):
        assert told(run(fact(name, "Connection closed by remote peer a1", 0)), run(fact(name, "by remote peer b7", 0))) == []
        assert told(run(), run(fact(name, "Connection closed by remote peer a1", 0))) == []


def test_what_one_set_does_not_record_is_not_known_to_have_changed():
    assert told(run(fact("torch", "2.15.0")), run()) == [("PyTorch", False, False)]


def test_a_version_taken_from_the_wording_of_a_log_proves_no_change():
    guess = fact("torch", "2.13 to 2.15", origin="by the wording of the watchdog's lines")
    assert told(run(fact("torch", "2.15.0")), run(guess)) == [("PyTorch", False, False)]


def test_the_size_of_the_world_is_a_condition():
    (found,) = conditions(run(ranks=4), run(ranks=8))
    assert (found.name, found.a[0].text, found.b[0].text, found.changed) == ("world size", "4 ranks", "8 ranks", True)


def test_a_world_of_at_least_so_many_ranks_may_be_one_of_more():
    """That the files of one set name more ranks than those of the other tells nothing of how many there were."""
    (found,) = conditions(run(ranks=7, inferred=True), run(ranks=16, inferred=True))
    assert (found.a[0].text, found.b[0].text, found.changed) == ("at least 7 ranks", "at least 16 ranks", False)
    assert told(run(ranks=7, inferred=True), run(ranks=16)) == [("world size", False, False)]


def test_a_world_of_more_than_the_other_has_changed():
    (found,) = conditions(run(ranks=8), run(ranks=16, inferred=True))
    assert (found.a[0].text, found.b[0].text, found.changed) == ("8 ranks", "at least 16 ranks", True)


def test_values_of_ranks_are_compared_rank_by_rank():
    one = run(fact("device", "cuda:0", 0), fact("device", "cuda:1", 1))
    more = run(fact("device", "cuda:0", 0), fact("device", "cuda:1", 1), fact("device", "cuda:2", 2))
    swapped = run(fact("device", "cuda:1", 0), fact("device", "cuda:0", 1))
    assert told(one, more) == []
    assert told(one, swapped) == [("device", True, False)]


def test_the_format_of_the_dumps_comes_with_the_version_of_torch():
    a = run(fact("torch", "2.14.1"), fact("schema", "2.9", 0))
    b = run(fact("torch", "2.15.0"), fact("schema", "2.10", 0))
    assert told(a, b) == [("PyTorch", True, False), ("dump schema", True, True)]


def test_alone_it_stands_for_the_version():
    assert told(run(fact("schema", "2.9", 0)), run(fact("schema", "2.10", 0))) == [("dump schema", True, False)]


def test_the_version_of_nccl_in_the_logs_is_that_of_the_library_in_the_dumps():
    """One number, recorded twice: it changed once."""
    a = run(fact("nccl", "2.21.5"), fact("library", "2.21.5", 0))
    b = run(fact("nccl", "2.27.3"), fact("library", "2.27.3", 0))
    assert [(changed, follows) for _, changed, follows in told(a, b)].count((True, True)) == 1
    assert [follows for _, _, follows in told(run(fact("nccl", "2.21.5")), run(fact("nccl", "2.27.3")))] == [False]


def test_a_value_of_all_ranks_that_were_read_names_none_of_them():
    every, most = run(fact("backend", "nccl", 0, 1, 2, 3)), run(fact("backend", "nccl2", 0, 1, 2))
    (found,) = conditions(every, most)
    assert [value.ranks for value in (*found.a, *found.b)] == [(), (0, 1, 2)]


def test_what_names_a_run_is_no_condition():
    a = run(fact("run", "4711"), fact("dump_path", "/a", 0), fact("env TORCH_FR_DUMP_TEMP_FILE", "/a/x", 0))
    b = run(fact("run", "4712"), fact("dump_path", "/b", 0), fact("env TORCH_FR_DUMP_TEMP_FILE", "/b/x", 0))
    assert told(a, b) == []


def test_settings_are_conditions_by_their_own_name():
    a, b = run(fact("env NCCL_IB_DISABLE", "0", 0)), run(fact("env NCCL_IB_DISABLE", "1", 0))
    assert told(a, b) == [("NCCL_IB_DISABLE", True, False)]
