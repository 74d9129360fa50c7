"""Lookups into an incident, cell by cell: every state with its reason, the bytes of the grid, calls, sides, positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hangview.schema import BY_LOG, DIFFERS, NO_CALL, STATE, CellState
from hangview.terms import COLLECTIVE, Call, Cell
from tests.engine.by_logs import logs, stands
from tests.engine.support import DONE, FAILED, ISSUED, OPEN, PAIR, STARTED, WORLD, Dump, Pg, alike, look, lost, rank

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.schema import Source
    from hangview.terms import GridRows

TP = Pg("7", "tp", (0, 1, 2, 3))
S = CellState


def grid(incident: Incident, group: Pg = WORLD, lane: str = COLLECTIVE) -> GridRows:
    return incident.view.grid(number(incident, group), lane)


def number(incident: Incident, group: Pg) -> int:
    return next(g.id for g in incident.groups if g.name == group.name and set(g.ranks) == set(group.ranks))


def row(incident: Incident, of: int, group: Pg = WORLD, lane: str = COLLECTIVE) -> list[int]:
    found = grid(incident, group, lane)
    return list(found.rows[found.ranks.index(of)])


def cell(incident: Incident, seq: int, of: int, group: Pg = WORLD, lane: str = COLLECTIVE) -> Cell:
    return incident.view.cell(number(incident, group), lane, seq, of)


def three(last: int = 42) -> list[Dump]:
    return alike((0, 1, 2), "all_reduce", last)


# -- states of cells -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "how", "state"),
    [
        ("nccl", DONE, S.COMPLETED),
        ("gloo", DONE, S.ENDED),
        ("fake", ISSUED, S.ENDED),
        ("nccl", STARTED, S.STARTED),
        ("nccl", OPEN, S.REQUESTED),
        ("nccl", FAILED, S.FAILED),
    ],
)
def test_a_record_is_shown_as_it_is_read(library, how, state):
    incident = look(rank(0, library).call("all_reduce", 1, how, group=PAIR), rank(1, library).call("all_reduce", 1, group=PAIR))
    found = cell(incident, 1, 0, PAIR)
    assert (found.state, found.differs, found.by_log, len(found.entries)) == (state, False, False, 1)
    assert state.word in found.reason
    assert row(incident, 0, PAIR) == [state]


#: rank 3's dump where ranks 0-2 are in 42 → its cells at 42 and at 20, with a part of the reason.
MISSING: dict[str, tuple[Dump | Source, tuple[CellState, str], tuple[CellState, str]]] = {
    "whole": (
        rank(3).calls("all_reduce", 30, 41),
        (S.NOT_REQUESTED, "dump is whole, newest entry is 41"),
        (S.NOT_RECORDED, "dump is whole"),
    ),
    "wrapped": (
        rank(3).wrapped().calls("all_reduce", 30, 41),
        (S.NOT_REQUESTED, "newest entry is 41"),
        (S.OVERWRITTEN, "older than what its ring buffer kept"),
    ),
    "only active": (
        rank(3).only_active().call("all_reduce", 41, OPEN),
        (S.NOT_REQUESTED, "41"),
        (S.OMITTED, "leaves completed entries out"),
    ),
    "cut": (
        rank(3).calls("all_reduce", 1, 10).cut(),
        (S.CUT, "its file was read in part; newest entry read is 10"),
        (S.CUT, "its file was read in part"),
    ),
    "no dump": (lost(3), (S.NO_DUMP, "trace_rank_3: the file is empty"), (S.NO_DUMP, "trace_rank_3: the file is empty")),
    "older": (
        rank(3).calls("all_reduce", 1, 38),
        (S.BEFORE_DUMP, "written before calls that others completed with it"),
        (S.COMPLETED, "completed, as recorded"),
    ),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_cell_without_a_record_has_its_reason(case):
    dump, newest, old = MISSING[case]
    incident = look(*three(), dump)
    for seq, (state, reason) in ((42, newest), (20, old)):
        found = cell(incident, seq, 3)
        assert (found.state, found.state is S.COMPLETED) == (state, bool(found.entries))
        assert reason in found.reason
        assert row(incident, 3)[seq - 1] & STATE == state


def test_a_dump_that_lacks_the_group_is_absent_in_every_call():
    dumps = [rank(r).calls("all_reduce", 1, 3).call("all_reduce", 1, OPEN, group=TP) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 3))
    found = cell(incident, 1, 3, TP)
    assert (found.state, found.reason) == (S.GROUP_ABSENT, "dump is whole and does not know this group")


def test_a_recorder_that_was_off_is_not_recorded():
    found = cell(look(*alike((0, 1, 2), "all_reduce", 1), rank(3).unconfigured()), 1, 3)
    assert (found.state, "its recorder was off" in found.reason) == (S.NOT_RECORDED, True)


def test_a_request_that_only_counters_remember_is_shown():
    incident = look(*three(), rank(3).only_active().knows(WORLD).counts(42, 41))
    found = cell(incident, 42, 3)
    assert (found.state, found.entries) == (S.REQUESTED, ())
    assert "its counters show it requested" in found.reason
    assert cell(incident, 41, 3).state is S.OMITTED


def test_every_state_of_a_cell_can_come_about():
    """Each of the states above and those in other tests of this file; the glyphs of the grid cover all of them."""
    tested = {S.COMPLETED, S.ENDED, S.STARTED, S.REQUESTED, S.FAILED, S.GROUP_ABSENT, S.NOT_RECORDED}
    tested |= {state for _, *cells in MISSING.values() for state, _ in cells}
    assert tested == set(CellState)


def test_a_rank_that_is_no_member_has_no_cell():
    incident = look(*alike((0, 1), "all_reduce", 1, group=PAIR), rank(2).knows(WORLD))
    with pytest.raises(KeyError):
        cell(incident, 1, 2, PAIR)


# -- the grid ------------------------------------------------------------------------------------------------------------


def test_a_grid_has_a_row_for_each_member_and_a_byte_for_each_seq():
    incident = look(*(rank(r).calls("all_reduce", 30, 41).call("all_reduce", 42, OPEN) for r in (2, 0, 1)), lost(3))
    found = grid(incident)
    assert (found.first, found.ranks) == (30, (0, 1, 2, 3))
    assert {len(codes) for codes in found.rows} == {13}
    assert found.rows[0] == bytes([S.COMPLETED] * 12 + [S.REQUESTED])
    assert found.rows[3] == bytes([S.NO_DUMP] * 13)


def test_members_are_ascending_whatever_the_order_of_the_group():
    ring = Pg("5", "ring", (3, 1, 0, 2))
    incident = look(*(rank(r).call("all_reduce", 1, group=ring) for r in range(4)))
    assert grid(incident, ring).ranks == (0, 1, 2, 3)


def test_a_number_that_no_member_has_is_no_call():
    """gloo's monitored_barrier takes two numbers and is not recorded."""
    incident = look(*(rank(r, "gloo").call("all_reduce", 1).call("all_reduce", 4) for r in range(4)))
    assert row(incident, 0) == [S.ENDED, NO_CALL, NO_CALL, S.ENDED]
    found = cell(incident, 2, 0)
    assert (found.state, found.reason) == (S.NOT_RECORDED, "no member has a record at this number")


def test_a_gap_of_one_rank_is_no_gap_of_the_group():
    incident = look(
        rank(0).call("all_reduce", 1, group=PAIR).call("all_reduce", 3, group=PAIR),
        rank(1).calls("all_reduce", 1, 3, group=PAIR),
    )
    assert row(incident, 0, PAIR) == [S.COMPLETED, S.NOT_RECORDED, S.COMPLETED]


def test_a_gap_inside_a_wrapped_dump_was_not_overwritten():
    """Only what is older than its oldest record was."""
    gappy = rank(0).wrapped().call("all_reduce", 5, group=PAIR).call("all_reduce", 7, group=PAIR)
    incident = look(gappy, rank(1).calls("all_reduce", 4, 7, group=PAIR))
    assert row(incident, 0, PAIR) == [S.OVERWRITTEN, S.COMPLETED, S.NOT_RECORDED, S.COMPLETED]


def test_up_to_its_counters_a_wrapped_dump_has_lost_records_and_beyond_them_there_were_none():
    incident = look(*three(), rank(3).wrapped().calls("all_reduce", 30, 35).counts(41, 41))
    assert [cell(incident, seq, 3).state for seq in (29, 35, 36, 41, 42)] == [
        *(S.OVERWRITTEN, S.COMPLETED, S.OVERWRITTEN, S.OVERWRITTEN, S.NOT_REQUESTED),
    ]


def test_the_minority_is_marked_and_the_majority_is_not():
    incident = look(*three(3), rank(3).calls("all_reduce", 1, 2).call("all_reduce", 3, OPEN, size=512))
    assert row(incident, 3) == [S.COMPLETED, S.COMPLETED, S.REQUESTED | DIFFERS]
    assert row(incident, 0) == [S.COMPLETED, S.COMPLETED, S.REQUESTED]
    assert [c.differs for c in call(incident, 3).cells] == [False, False, False, True]


def test_on_a_tie_both_sides_are_marked():
    dumps = [rank(r).call("all_reduce", 1, OPEN, size=512 if r < 2 else 1024) for r in range(4)]
    incident = look(*dumps)
    assert [row(incident, r) for r in range(4)] == [[S.REQUESTED | DIFFERS]] * 4
    assert all(c.differs for c in call(incident, 1).cells)


def test_what_a_log_tells_is_marked():
    incident = look(*three(3), lost(3), logs=logs(stands(3, 2, 2)))
    assert row(incident, 3) == [S.COMPLETED | BY_LOG, S.COMPLETED | BY_LOG, S.NOT_REQUESTED | BY_LOG]
    found = cell(incident, 2, 3)
    assert (found.state, found.by_log) == (S.COMPLETED, True)
    assert "rank_3.log" in found.reason


def test_behind_a_call_that_is_open_by_its_log_nothing_is_known_of_a_rank():
    incident = look(*three(3), lost(3), logs=logs(stands(3, 2, 1)))
    assert row(incident, 3) == [S.COMPLETED | BY_LOG, S.REQUESTED | BY_LOG, S.NO_DUMP]


def test_a_log_fills_what_a_cut_dump_lacks_and_leaves_its_records():
    incident = look(*three(6), rank(3).calls("all_reduce", 1, 2).cut(), logs=logs(stands(3, 5, 5)))
    assert row(incident, 3) == [
        *(S.COMPLETED, S.COMPLETED),
        *(S.COMPLETED | BY_LOG, S.COMPLETED | BY_LOG),
        *(S.COMPLETED | BY_LOG, S.NOT_REQUESTED | BY_LOG),
    ]


def test_grid_and_cells_agree_everywhere():
    """Whatever the pane shows of a cell, the grid shows the same."""
    dumps = [
        rank(0).calls("all_reduce", 1, 11).call("all_reduce", 12, OPEN),
        rank(1).wrapped().calls("all_reduce", 6, 11).call("all_reduce", 12, STARTED, size=512),
        rank(2).only_active().call("all_reduce", 12, OPEN),
        rank(3).calls("all_reduce", 1, 4).cut(),
    ]
    incident = look(*dumps)
    found = grid(incident)
    for seq in range(found.first, 13):
        for c, codes in zip(call(incident, seq).cells, found.rows, strict=True):
            code = codes[seq - found.first]
            assert (c.state, c.differs) == (CellState(code & STATE), bool(code & DIFFERS)), (seq, c.rank)


def test_grid_and_cells_agree_on_a_call_of_several_records():
    """Parts of a coalesced call whose closing entry is not the last of them, or one number used twice."""
    twice = rank(0).call("all_reduce", 1, OPEN, group=PAIR).call("all_reduce", 1, DONE, group=PAIR)
    incident = look(twice, rank(1).call("all_reduce", 1, OPEN, group=PAIR))
    (code,) = row(incident, 0, PAIR)
    shown = cell(incident, 1, 0, PAIR)
    assert (CellState(code & STATE), bool(code & DIFFERS)) == (shown.state, shown.differs) == (S.REQUESTED, True)


# -- calls ---------------------------------------------------------------------------------------------------------------


def call(incident: Incident, seq: int, group: Pg = WORLD, lane: str = COLLECTIVE) -> Call:
    return incident.view.call(number(incident, group), lane, seq)


def test_a_call_has_all_members_and_its_sides():
    incident = look(*three(2), rank(3).call("all_reduce", 1).call("all_gather", 2, OPEN, size=8, out=32))
    found = call(incident, 2)
    assert ([c.rank for c in found.cells], found.op) == ([0, 1, 2, 3], "all_reduce")
    assert [(s.ranks, s.op, s.text, s.reference) for s in found.sides] == [
        ((0, 1, 2), "all_reduce", "1,024 × Float", True),
        ((3,), "all_gather", "in 8 → out 32 × Float", False),
    ]


def test_a_call_without_disagreement_has_one_side():
    found = call(look(*three(2), rank(3).call("all_reduce", 1)), 1)
    assert [(s.ranks, s.text, s.reference) for s in found.sides] == [((0, 1, 2, 3), "1,024 × Float", True)]


def test_a_call_that_no_record_tells_of_has_no_sides():
    incident = look(*(rank(r).only_active().knows(WORLD).counts(42, 42) for r in range(4)))
    found = call(incident, 42)
    assert (found.sides, found.op) == ((), None)


def test_a_coalesced_call_shows_all_its_records():
    parts = [("_broadcast_oop", n) for n in (3, 5)]
    incident = look(*(rank(r).coalesced("ALLGATHER_coalesced", parts, 1, group=PAIR) for r in (0, 1)))
    found = cell(incident, 1, 0, PAIR)
    assert (found.state, [e.op.name for e in found.entries]) == (
        S.COMPLETED,
        ["_broadcast_oop", "_broadcast_oop", "ALLGATHER_coalesced"],
    )


def test_the_splits_of_an_exchange_are_shown_and_differ_in_nothing():
    incident = look(*(rank(r).call("all_to_all", 1, size=(r + 1,) * 4, out=(1, 2, 3, 4)) for r in range(4)))
    found = call(incident, 1)
    assert len(found.sides) == 4
    assert not any(c.differs for c in found.cells)


def test_an_entry_is_shown_whole():
    dump = rank(0).wrapped(500).call("all_reduce", 7, at=3.0, took=2.0, place="step@train.py:12", group=PAIR)
    (entry,) = cell(look(dump, rank(1).knows(PAIR)), 7, 0, PAIR).entries
    assert (entry.rank, entry.seq, entry.record_id, entry.op.text, entry.state) == (0, 7, 500, "nccl:all_reduce", "completed")
    assert (entry.reading, entry.retired, entry.is_p2p) == (S.COMPLETED, True, False)
    assert entry.created_ns is not None
    assert entry.completed_ns is not None
    assert entry.completed_ns - entry.created_ns == 2_000_000_000
    assert (entry.stack[-1].name, entry.stack[-1].line) == ("step", 12)


def test_stacks_are_grouped_most_ranks_first():
    dumps = [rank(r).call("all_reduce", 1, OPEN, place="a@x.py:1" if r == 0 else "b@x.py:2") for r in range(3)]
    found = look(*dumps, lost(3)).view.stacks(0, COLLECTIVE, 1)
    assert [(ranks, frames[-1].name) for ranks, frames in found] == [((1, 2), "b"), ((0,), "a")]


# -- sends and receives --------------------------------------------------------------------------------------------------


def test_a_lane_of_messages_has_two_rows():
    incident = look(rank(0).send(1, 1, group=PAIR).send(1, 2, OPEN, group=PAIR), rank(1).recv(0, 1, group=PAIR))
    found = grid(incident, PAIR, "p2p 0->1")
    assert (found.first, found.ranks) == (1, (0, 1))
    assert list(found.rows[0]) == [S.COMPLETED, S.REQUESTED]
    assert list(found.rows[1]) == [S.COMPLETED, S.NOT_REQUESTED]
    assert cell(incident, 2, 1, PAIR, "p2p 0->1").reason == "no such p2p 0->1 record in its dump"


def test_an_end_without_a_dump_is_not_said_to_have_received_nothing():
    incident = look(rank(0).send(1, 1, OPEN, group=PAIR), lost(1))
    assert row(incident, 1, PAIR, "p2p 0->1") == [S.NO_DUMP]


def test_a_cut_end_is_cut():
    incident = look(rank(0).send(1, 1, group=PAIR).send(1, 2, OPEN, group=PAIR), rank(1).recv(0, 1, group=PAIR).cut())
    assert row(incident, 1, PAIR, "p2p 0->1") == [S.COMPLETED, S.CUT]


def test_a_message_shows_both_ends():
    found = call(look(rank(0).send(1, 1, OPEN, group=PAIR), rank(1).recv(0, 1, OPEN, group=PAIR)), 1, PAIR, "p2p 0->1")
    assert [(c.rank, c.state, c.differs) for c in found.cells] == [(0, S.REQUESTED, False), (1, S.REQUESTED, False)]


# -- ranks ---------------------------------------------------------------------------------------------------------------


def test_where_a_rank_stands():
    incident = look(*three(), rank(3).wrapped().calls("all_reduce", 30, 41))
    (waits,) = incident.view.positions(0)
    assert (waits.newest, waits.newest_from, waits.last_done, waits.open_seq, waits.waits_for) == (42, "entry", 41, 42, (3,))
    (lead,) = incident.view.positions(3)
    assert (lead.oldest_kept, lead.newest, lead.open_seq, lead.waits_for) == (30, 41, None, ())


def test_where_a_rank_stands_in_its_messages():
    incident = look(rank(0).send(1, 1, group=PAIR).send(1, 2, OPEN, group=PAIR), rank(1).recv(0, 1, group=PAIR))
    at = {p.lane: p for p in incident.view.positions(0)}["p2p 0->1"]
    assert (at.newest, at.last_done, at.open_seq, at.waits_for) == (2, 1, 2, (1,))


def test_diverged_lanes_come_first():
    dumps = [rank(r).calls("all_reduce", 1, 9).call("all_reduce", 1, OPEN if r < 3 else DONE, group=TP) for r in range(3)]
    incident = look(*dumps, rank(3).calls("all_reduce", 1, 9).knows(TP))
    assert [incident.groups[p.group].name for p in incident.view.positions(0)] == ["7", "0"]


def test_the_newest_records_of_a_rank_come_newest_first():
    incident = look(rank(0).calls("all_reduce", 1, 5).call("broadcast", 1, group=TP), rank(1).knows(WORLD, TP))
    found = incident.view.newest_entries(0, 3)
    assert [(e.op.name, e.seq) for e in found] == [("broadcast", 1), ("all_reduce", 5), ("all_reduce", 4)]


def test_counts_of_open_and_finished_requests():
    dumps = [rank(0).calls("all_reduce", 1, 5).call("all_reduce", 6, OPEN).send(1, 1, OPEN), rank(1).calls("all_reduce", 1, 5)]
    incident = look(*dumps)
    assert dict(incident.view.open_counts) == {0: 2}
    assert dict(incident.view.done_counts) == {0: 5, 1: 5}


def test_a_window_is_there_for_members_only():
    incident = look(*alike((0, 1), "all_reduce", 1, group=PAIR))
    assert incident.view.window(0, 1) is not None
    assert incident.view.window(0, 7) is None


def test_answers_are_kept_and_equal():
    incident = look(*three(), lost(3))
    assert incident.view.grid(0, COLLECTIVE) is incident.view.grid(0, COLLECTIVE)
    assert incident.view.call(0, COLLECTIVE, 42) == incident.view.call(0, COLLECTIVE, 42)


def test_a_rank_without_a_dump_has_no_records_to_speak_of_in_any_lane():
    incident = look(rank(0).send(1, 1, OPEN, group=PAIR), lost(1))
    (cell,) = (cell for cell in incident.view.call(number(incident, PAIR), "p2p 0->1", 1).cells if cell.rank == 1)
    assert cell.state is S.NO_DUMP
    window = incident.view.window(number(incident, PAIR), 1)
    assert window is not None
    assert cell.reason == window.reason
    assert "in its dump" not in cell.reason


def test_an_open_call_that_was_cut_off_is_drawn_by_the_counters():
    """Nobody's record of 42 is left: ranks 0 and 1 requested it by their counters, and rank 2 did not."""
    three = Pg("0", "default_pg", (0, 1, 2))
    cut = [rank(r).calls("all_reduce", 1, 20, group=three).counts(42, 41, group=three).cut() for r in range(2)]
    incident = look(*cut, rank(2).calls("all_reduce", 1, 41, group=three).counts(41, 41, group=three))
    cells = incident.view.call(0, "collective", 42).cells
    assert [cell.state for cell in cells] == [CellState.REQUESTED, CellState.REQUESTED, CellState.NOT_REQUESTED]
    assert cells[0].reason == (
        "its record is not in the part of its dump that could be read, its counters show it requested and not completed"
    )
