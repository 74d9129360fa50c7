"""Search, filter, and finding a place again in another Incident."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hangview
from hangview.demo import folder
from hangview.schema import CellState, ReadOptions
from hangview.tui.dialogs.palette import place_typed
from hangview.tui.grid.plane import Plane, standing_of
from hangview.tui.place import Place, opening_of, place_of, same_place
from hangview.tui.search import GRAMMAR, filtered_ranks, ranks_by_host, search, terms_of
from hangview.tui.text.common import lane_name
from tests.support import incidents

FIXTURES = Path(__file__).parents[2] / "fixtures"
MESH = incidents.eight_in_five_groups()
HERE = Place(2, "collective", 6, 7)


def test_a_rank_is_found_in_each_of_its_lanes_where_it_stands():
    found = search(MESH, "rank 7", HERE)
    assert {(place.group, place.rank) for place in found} == {(0, 7), (2, 7), (6, 7)}
    assert Place(2, "collective", 6, 7) in found
    for typed in ("7", "rank7", "Rank7", "r7"):
        assert search(MESH, typed, HERE) == found


def test_a_rank_without_a_dump_is_found_too():
    incident = incidents.missing_dump()
    assert search(incident, "rank 2", Place(0, "collective", 1, 0)) == [Place(0, "collective", 42, 2)]


def test_a_seq_is_found_here_first():
    found = search(MESH, "seq 3", HERE)
    assert found[0] == Place(2, "collective", 3, 7)
    assert {place.group for place in found} == {1, 2, 3, 4, 5, 6}


def test_a_group_by_part_of_its_description():
    assert [place.group for place in search(MESH, "group dp", HERE)] == [3, 4, 5, 6]
    assert search(MESH, "group tp1", HERE) == [Place(2, "collective", 6, 7)]


def test_text_is_looked_for_in_findings():
    assert Place(2, "collective", 6, 7) in search(MESH, "did not request", HERE)
    assert search(MESH, "no such words", HERE) == []
    assert search(MESH, "  ", HERE) == []


def test_a_rank_needs_a_number():
    with pytest.raises(ValueError, match="rank needs a number"):
        search(MESH, "rank seven", HERE)


@pytest.fixture
def plane():
    return Plane(MESH.view.grid(2, "collective"), standing_of(MESH, 2, "collective"))


@pytest.mark.parametrize(
    ("typed", "ranks"),
    [
        ("4-5", {4, 5}),
        ("4 5", {4, 5}),
        ("rank 4", {4}),
        ("ranks 0-4 6", {4, 6}),
        ("0-4", {4}),
        ("not requested", {7}),
        ("Started", {4, 5, 6}),
        ("lead", {7}),
        ("marked", {5}),
        ("differs", set()),
    ],
)
def test_filter(plane, typed, ranks):
    assert filtered_ranks(plane, typed, MESH.leads, {5}) == ranks


def test_a_filter_that_is_none_says_what_may_be_typed(plane):
    with pytest.raises(ValueError, match="or a state"):
        filtered_ranks(plane, "whatever", (), ())


def test_every_state_can_be_filtered_by_its_word():
    incident = incidents.every_state()
    every = Plane(incident.view.grid(0, "collective"), {})
    for rank, state in enumerate(CellState):
        if state is not CellState.COMPLETED:
            assert filtered_ranks(every, state.word, (), ()) == {rank}


def test_a_place_is_found_again_under_another_group_id():
    moved = replace(
        MESH,
        groups=tuple(replace(group, id=6 - group.id) for group in MESH.groups),
        lanes=tuple(replace(lane, group=6 - lane.group) for lane in MESH.lanes),
    )
    assert same_place(MESH, HERE, moved) == HERE._replace(group=4)


def test_a_group_that_has_grown_is_still_the_same():
    grown = replace(
        MESH, groups=tuple(replace(group, ranks=(*group.ranks, 99)) if group.id == 2 else group for group in MESH.groups)
    )
    assert same_place(MESH, HERE, grown) == HERE


def test_a_group_of_the_same_name_and_other_members_is_another_one():
    other = replace(MESH, groups=tuple(replace(group, ranks=(90, 91)) if group.id == 2 else group for group in MESH.groups))
    assert same_place(MESH, HERE, other) is None


def test_places_of_findings_and_lanes():
    assert place_of(MESH, MESH.findings[0]) == HERE
    assert opening_of(MESH, MESH.lanes[2]) == HERE
    nothing = incidents.nothing_called()
    assert place_of(nothing, nothing.findings[0]) is None


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("rank 7", {"rank": "7"}),
        ("Rank: 7", {"rank": "7"}),
        ("seq 3 group dp 0", {"seq": "3", "group": "dp 0"}),
        ("function train_step host node-03", {"func": "train_step", "host": "node-03"}),
        ("did not request", {}),
        ("7", {}),
        ("all_reduce of group dp", {}),  # begins with no term: text
    ],
)
def test_terms(typed, terms):
    assert terms_of(typed) == terms


@pytest.mark.parametrize("typed", ["rank", "seq x", "rank 1 group", "seq ٣", "rank -1", "host"])
def test_a_term_without_its_value_says_how_it_is_written(typed):
    with pytest.raises(ValueError, match="as in: "):
        terms_of(typed)


def test_every_line_of_the_grammar_can_be_typed():
    for typed, _ in GRAMMAR[:-1]:
        search(MESH, typed, HERE)  # raises nothing


def test_terms_together_are_all_so():
    assert search(MESH, "seq 3 group DP0", HERE) == [Place(3, "collective", 3, 0)]
    assert search(MESH, "group tp1 rank 5", HERE) == [Place(2, "collective", 6, 5)]
    assert search(MESH, "rank 7 seq 3", HERE) == [place for place in search(MESH, "seq 3", HERE) if place.rank == 7]
    assert search(MESH, "group tp1 rank 0", HERE) == []
    assert search(MESH, "group tp1 seq 999", HERE) == []


def test_a_name_wins_over_names_that_hold_it():
    assert [place.group for place in search(MESH, "group 2", HERE)] == [2]


def test_operations_and_functions_are_apart():
    demo = hangview.load(str(folder()))
    here = opening_of(demo, demo.lanes[0])
    by_op = search(demo, "op all_gather", here)
    assert by_op
    for place in by_op:
        assert demo.view.call(place.group, place.lane, place.seq).op == "all_gather"
    by_function = search(demo, "func gather_sequence", here)
    assert by_function
    assert search(demo, "op gather_sequence", here) == []
    assert search(demo, "func gather_sequence op reduce_scatter", here) == []


def test_hosts_are_found_by_a_part_of_their_name():
    incident = hangview.load(str(FIXTURES / "hostnames"))
    hosts = ranks_by_host(incident)
    assert hosts
    name, ranks = sorted(hosts.items())[0]
    here = opening_of(incident, incident.lanes[0])
    assert {place.rank for place in search(incident, f"host {name}", here)} == ranks
    assert {place.rank for place in search(incident, f"{name.upper()}", here)} >= ranks
    rank = min(ranks)
    assert {place.rank for place in search(incident, f"rank {rank} host {name}", here)} == {rank}
    assert search(incident, "host nowhere", here) == []


PIPE = hangview.load(str(FIXTURES / "nccl-stuck-no-dump"), options=ReadOptions(cache=False))


@pytest.mark.parametrize(
    ("typed", "lanes"),
    [
        ("p2p 10->2", ["p2p 10->2"]),
        ("group p2p 10->2", ["p2p 10->2"]),
        ("PIPELINE_MODEL_PARALLEL_GROUP p2p 10->2", ["p2p 10->2"]),
        ("rank 2 p2p 10->2", ["p2p 10->2"]),
        ("p2p 10->3", []),
    ],
)
def test_a_lane_is_found_by_the_name_that_the_list_gives_it(typed, lanes):
    listed = {lane.lane for lane in PIPE.lanes}
    assert set(lanes) <= listed
    assert [place.lane for place in search(PIPE, typed, Place(0, "collective", 1, 0))] == lanes


def test_lanes_of_a_rank_and_of_an_operation():
    here = Place(0, "collective", 1, 0)
    assert {place.lane for place in search(PIPE, "p2p 2", here)} == {"p2p 2->10", "p2p 10->2"} & {x.lane for x in PIPE.lanes}
    assert {place.lane for place in search(PIPE, "op recv", here)} == {x.lane for x in PIPE.lanes} - {"collective"}


def test_every_lane_of_the_list_is_found_by_its_name():
    for lane in PIPE.lanes:
        name = lane_name(PIPE, lane.group, lane.lane)
        assert (lane.group, lane.lane) in {place[:2] for place in search(PIPE, name, HERE)}, name


def test_p2p_needs_ranks_and_may_be_a_word():
    with pytest.raises(ValueError, match="p2p needs a rank or two, as in: p2p 10->2"):
        search(PIPE, "p2p 10 to 2", HERE)
    assert terms_of("group p2p") == {"group": "p2p"}
    assert terms_of("p2p stage") == {}
    assert place_typed("p2p 10->2")  # `:` goes there
