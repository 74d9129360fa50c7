from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hangview.schema import GroupStatus, Records
from tests.dumps.job import calls, config, dump, entry, records, status, write


def units(found: Records, rank: int = 0) -> dict[str | None, tuple[int | None, int | None, int | None]]:
    """(enqueued, started, completed) of a rank's groups by name."""
    sources = [i for i, source in enumerate(found.sources) if source.rank == rank and source.usable]
    return {s.name: (s.enqueued, s.started, s.completed) for s in found.statuses if s.source in sources}


def job(tmp_path: Path, contents: Sequence[dict[str, Any]]) -> Records:
    for rank, content in enumerate(contents):
        write(tmp_path / f"rank_{rank}", content)
    return records(tmp_path)


def group(name, desc, **changes):
    return {"process_group": (name, desc), "pg_id": int(name), **changes}


WORLD = config(default_pg=[0, 1])


def test_nccls_counters_are_sequence_numbers(tmp_path):
    found = job(tmp_path, [dump(calls(4, open_last=True), WORLD, {"0": status(4, 3, 3)})] * 2)
    assert units(found) == {"0": (4, 3, 3)}
    assert found.statuses[0] == GroupStatus(0, 0, "0", "default_pg", 4, 3, 3, (4, 3, 3))


def test_starts_that_are_never_recorded_are_unknown(tmp_path):
    found = job(tmp_path, [dump(calls(4), WORLD, {"0": status(4, -1, 4)})] * 2)
    assert units(found) == {"0": (4, None, 4)}


def test_none_yet_stays_none_yet(tmp_path):
    found = job(tmp_path, [dump(calls(2), WORLD, {"0": status(2, -1, 2)}), dump([], WORLD, {"0": status(-1)})])
    assert units(found, 1) == {"0": (-1, -1, -1)}


def test_a_call_that_is_being_launched_is_not_counted_yet(tmp_path):
    found = job(tmp_path, [dump(calls(4, open_last=True), WORLD, {"0": status(3, 3, 3)})] * 2)
    assert units(found) == {"0": (3, 3, 3)}


def test_point_to_point_works_of_any_rank_make_a_groups_counters_incomparable(tmp_path):
    p2p = entry(5, profiling_name="nccl:send 0->1", is_p2p=True, p2p_seq_id=900, collective_seq_id=4)
    counters = {"0": status(900, -1, 900)}
    found = job(tmp_path, [dump([*calls(4), p2p], WORLD, counters), dump(calls(4), WORLD, {"0": status(4, -1, 4)})])
    assert units(found, 0) == units(found, 1) == {"0": (None, None, None)}
    assert found.statuses[0].raw == (900, -1, 900)


@pytest.mark.parametrize("desc", ["PIPELINE_MODEL_PARALLEL_GROUP", "pp", "mesh_pp", "pp_0"])
def test_a_pipelines_counters_are_not_believed(tmp_path, desc):
    groups = config(**{desc: [0, 1]})
    found = job(tmp_path, [dump(calls(4, process_group=("0", desc)), groups, {"0": status(4, -1, 4)})] * 2)
    assert units(found) == {"0": (None, None, None)}


@pytest.mark.parametrize("desc", ["app", "wrapper", "default_pg"])
def test_but_words_that_look_alike_are(tmp_path, desc):
    groups = config(**{desc: [0, 1]})
    found = job(tmp_path, [dump(calls(4, process_group=("0", desc)), groups, {"0": status(4, -1, 4)})] * 2)
    assert units(found) == {"0": (4, None, 4)}


def test_counters_that_the_records_of_a_whole_dump_contradict_count_something_else(tmp_path):
    found = job(tmp_path, [dump(calls(4), WORLD, {"0": status(14_146, -1, 14_145)})] * 2)
    assert units(found) == {"0": (None, None, None)}


def test_counters_that_no_record_confirms_are_not_believed(tmp_path):
    """An only-active dump of a group with point-to-point traffic looks just like this."""
    found = job(tmp_path, [dump([], WORLD, {"0": status(14_146, -1, 14_145)})] * 2)
    assert units(found) == {"0": (None, None, None)}


def test_a_rank_without_records_is_believed_where_others_confirm_the_units(tmp_path):
    contents = [
        dump([entry(41, state="scheduled")], WORLD, {"0": status(41, -1, 40)}),
        dump([], WORLD, {"0": status(40, -1, 40)}),
    ]
    found = job(tmp_path, contents)
    assert units(found, 1) == {"0": (40, None, 40)}
    assert all(source.only_active for source in found.sources)


def test_a_cut_dumps_counters_reach_further_than_its_records(tmp_path):
    whole = dump(calls(40, open_last=True), WORLD, {"0": status(40, -1, 39)})
    data = write(tmp_path / "rank_0", whole).read_bytes()
    write(tmp_path / "rank_1", whole)
    (tmp_path / "rank_0").write_bytes(data[: len(data) // 2])
    found = records(tmp_path)
    assert found.sources[0].status == "cut"
    assert units(found, 0) == {"0": (40, None, 39)}


def hook(count: int, library: str = "nccl2", **changes: Any) -> list[dict[str, Any]]:
    return calls(count, profiling_name=f"{library}:all_reduce", **changes)


def test_the_hook_counts_from_0(tmp_path):
    found = job(tmp_path, [dump(hook(4), WORLD, {"0": status(3, -1, 3)})] * 2)
    assert units(found) == {"0": (4, None, 4)}


def tp_job(tmp_path: Path, told: str) -> Records:
    """Only-active dumps of two ranks: the default group was never used, so it has no counters. Rank 1 is not in call 4 of tp
    (group 1, pg_id 1); ``told``: the group that the record of rank 0 gives for that pg_id."""
    groups = {**config(default_pg=[0, 1], tp=[0, 1]), "5": {"name": "5", "desc": "dp", "ranks": "[0, 1]"}}
    open_call = entry(4, profiling_name="nccl2:all_reduce", state="scheduled", pg_id=1, process_group=(told, "tp"), record_id=9)
    other = entry(1, profiling_name="nccl2:all_reduce", state="scheduled", pg_id=2, process_group=("5", "dp"), record_id=7)
    first = dump([other, open_call], groups, {"1": status(3, -1, 2), "2": status(0)})
    return job(tmp_path, [first, dump([other], groups, {"1": status(2, -1, 2), "2": status(0)})])


def test_groups_without_work_have_no_counters_with_the_hook_and_the_others_keep_their_place(tmp_path):
    assert units(tp_job(tmp_path, "1"), 1)["1"] == (3, None, 3)


def test_where_a_record_gives_another_place_the_order_tells_nothing(tmp_path):
    assert None in units(tp_job(tmp_path, "0"), 1)


def test_a_hooked_backend_without_completion_has_no_completed_counter(tmp_path):
    entries = hook(4, library="fake")
    for one in entries:
        one.update(state="scheduled", retired=True, time_discovered_completed_ns=None)
    found = job(tmp_path, [dump(entries, WORLD, {"0": status(3)})] * 2)
    assert units(found) == {"0": (4, None, None)}


def test_gloo_counts_operations_that_have_no_record(tmp_path):
    found = job(tmp_path, [dump(calls(4, profiling_name="gloo:all_reduce"), WORLD, {"0": status(4, -1, 4)})] * 2)
    assert units(found) == {"0": (None, None, None)}
    assert found.statuses[0].raw == (4, -1, 4)


def test_local_numbers_are_tied_to_names_by_the_records(tmp_path):
    """pg_id 9 on one rank and 8 on the other are the same group."""
    groups = {"0": WORLD["0"], "55": {"name": "55", "desc": "tp", "ranks": "[0, 1]"}}
    contents = [
        dump([*calls(2), *calls(3, process_group=("55", "tp"), pg_id=pg_id)], groups, {"0": status(2), str(pg_id): status(3)})
        for pg_id in (9, 8)
    ]
    found = job(tmp_path, contents)
    assert {s.pg_id: (s.name, s.enqueued) for s in found.statuses} == {0: ("0", 2), 9: ("55", 3), 8: ("55", 3)}


def test_without_records_numbers_and_names_are_paired_in_order(tmp_path):
    groups = {name: {"name": name, "desc": "g" + name, "ranks": "[0, 1]"} for name in ("0", "101", "35")}
    counters = {"0": status(7), "5": status(8), "11": status(9)}
    found = job(tmp_path, [dump([], groups, counters)] * 2)
    assert {s.pg_id: s.name for s in found.statuses} == {0: "0", 5: "35", 11: "101"}
    assert found.statuses[0].desc == "g0"


@pytest.mark.parametrize(
    ("names", "counters"),
    [(("0", "a-hash"), {"0": 1, "5": 1}), (("0", "35", "101"), {"3": 1, "5": 1}), (("0", "9" * 5000), {"0": 1, "5": 1})],
    ids=["names that are no numbers", "more groups than counters", "a number that is none"],
)
def test_they_are_not_paired_where_that_would_be_a_guess(tmp_path, names, counters):
    groups = {name: {"name": name, "desc": "", "ranks": "[0, 1]"} for name in names}
    found = job(tmp_path, [dump([], groups, {pg_id: status(n) for pg_id, n in counters.items()})] * 2)
    assert {s.name for s in found.statuses} == {None}


def test_nor_where_a_record_says_otherwise(tmp_path):
    groups = {name: {"name": name, "desc": "", "ranks": "[0, 1]"} for name in ("0", "1")}
    entries = calls(2, process_group=("1", "tp"), pg_id=0)
    found = job(tmp_path, [dump(entries, groups, {"0": status(2), "1": status(2)})] * 2)
    assert {s.pg_id: s.name for s in found.statuses} == {0: "1", 1: None}


def test_number_0_is_the_default_group_where_the_other_dumps_say_so(tmp_path):
    groups = {
        **WORLD,
        "7": {"name": "7", "desc": "tp", "ranks": "[0, 1]"},
        "hash": {"name": "hash", "desc": "", "ranks": "[0, 1]"},
    }
    found = job(
        tmp_path, [dump(calls(4, open_last=True), groups, {"0": status(4, -1, 3)}), dump([], groups, {"0": status(3, -1, 3)})]
    )
    assert units(found, 1) == {"0": (3, None, 3)}


def test_a_rank_that_says_more_than_its_whole_dump_holds_is_marked(tmp_path):
    """The others' counters are their newest seqs, rank 1 counts to 9 and recorded 4: one of the two is wrong."""
    same = dump(calls(5, open_last=True), WORLD, {"0": status(5, -1, 4)})
    found = job(tmp_path, [same, dump(calls(4), WORLD, {"0": status(9, -1, 4)}), same])
    assert units(found, 1) == {"0": (None, None, None)}
    assert [each.beyond for each in found.statuses] == [False, True, False]


def test_counters_that_nobodys_records_agree_with_mark_nobody(tmp_path):
    found = job(tmp_path, [dump(calls(4), WORLD, {"0": status(9, -1, 4)})] * 2)
    assert not any(each.beyond for each in found.statuses)


def test_a_dump_without_names_is_read_as_the_others_are(tmp_path):
    """Without a library a record's counters would be taken for those of the hook, which count from 0."""
    nameless = [one | {"profiling_name": ""} for one in calls(4)]
    same = dump(calls(5, open_last=True), WORLD, {"0": status(5, -1, 4)})
    found = job(tmp_path, [same, dump(nameless, WORLD, {"0": status(4, -1, 4)}), same])
    assert units(found, 1) == {"0": (4, None, 4)}
