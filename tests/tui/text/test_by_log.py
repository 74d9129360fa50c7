"""Where only logs tell of a rank: what panes say of it is what its log says, and nothing of a dump that does not exist."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hangview
from hangview.schema import CellState, ReadOptions
from hangview.terms import COLLECTIVE
from hangview.tui.place import Place
from hangview.tui.prose import plain
from hangview.tui.text.banner import context
from hangview.tui.text.call import call_lines, status_words
from hangview.tui.text.entry import entry_lines
from hangview.tui.text.groups import columns_of, lane_line
from hangview.tui.text.rank import rank_lines
from hangview.tui.text.waits import wait_lines
from tests.engine.support import DONE, OPEN, WORLD, Pg, alike, look, rank

if TYPE_CHECKING:
    from hangview.incident import Incident

LOGS = Path(__file__).parents[3] / "fixtures" / "logs"


@cache
def by_logs(name: str) -> Incident:
    return hangview.load(str(LOGS / name), options=ReadOptions(cache=False))


def entry_pane(incident: Incident, group: int, seq: int, number: int) -> str:
    return plain(entry_lines(incident, incident.view.call(group, COLLECTIVE, seq), number))


def call_pane(incident: Incident, group: int, seq: int) -> str:
    return plain(call_lines(incident, incident.view.call(group, COLLECTIVE, seq), 0))


def waits_pane(incident: Incident) -> str:
    return plain(each for _, each in wait_lines(incident))


def status(incident: Incident, group: int, seq: int, number: int) -> str:
    return status_words(incident, Place(group, COLLECTIVE, seq, number), "not requested", ())[0]


def test_that_a_rank_did_not_come_by_its_log_rests_on_the_log():
    """Rank 6 completed 1203 calls by line 9 of driver.log and has no dump."""
    pane = entry_pane(by_logs("ray-2.6"), 0, 1204, 6)
    assert "dump is whole" not in pane
    assert "this is evidence of absence: its log gives the rank's own counters, and these stop below this seq" in pane
    assert (
        "no entry of this rank was recorded; by its log: last enqueued 1203, last completed 1203 (driver.log, line 9)" in pane
    )


def test_a_dump_without_any_call_is_still_said_to_be_whole():
    incident = look(*(rank(number).call("all_reduce", 1, OPEN) for number in (0, 1, 3)), rank(2).knows(WORLD))
    assert "its dump is whole and holds no call" in entry_pane(incident, 0, 1, 2)


def test_counters_of_a_dump_that_leaves_finished_entries_out_are_no_dump_without_a_call():
    """Rank 2's dump holds unfinished entries alone, and none is: it completed 3 calls by its counters."""
    incident = look(*alike((0, 1), "all_reduce", 4), rank(2).only_active().counts(enqueued=3, completed=3))
    assert incident.view.cell(0, COLLECTIVE, 4, 2).state is CellState.NOT_REQUESTED
    pane = entry_pane(incident, 0, 4, 2)
    assert "this is evidence of absence: the rank's own counters stop below this seq" in pane
    assert "holds no call" not in pane


def test_all_whose_logs_stop_below_a_call_did_not_request_it_alike():
    """Ranks 4, 5 and 7 print the same counters as rank 6 ("Last enqueued NCCL work: 8"), and wait in mesh_tp."""
    incident = by_logs("two-groups-2.7")
    pane = entry_pane(incident, 0, 9, 7)
    assert pane.startswith("rank 7 at default_pg 9: not requested, by its log\n")
    assert "by its log: last enqueued 8, last completed 8 (mixed.log, line 36)" in pane
    assert pane.count("it stood or waited itself then") == 1  # and rank 6 did not
    shown = call_pane(incident, 0, 9)
    assert "4-5,7  by its log: last enqueued 8, last completed 8; stood or waited itself then\n" in shown
    assert "6      by its log: last enqueued 8, last completed 8\n" in shown


def test_a_rank_that_waits_in_the_call_before_is_told_by_its_log_too():
    pane = entry_pane(by_logs("srun-l-2.5"), 0, 64002, 15)
    assert pane.startswith("rank 15 at default_pg 64002: not requested, by its log\n")
    assert "last enqueued 64001, last completed 64000" in pane


def test_ranks_whose_logs_say_the_same_have_one_row():
    assert "1,3,9-10,12,15  by its log: last enqueued 64001" in call_pane(by_logs("srun-l-2.5"), 0, 64002)


def test_the_number_in_a_group_is_the_logs_own_and_how_many_there_are_is_not_known():
    assert status(by_logs("ray-2.6"), 0, 1204, 6).endswith("group rank 6, by its log")
    assert status(by_logs("srun-l-2.5"), 0, 64001, 15).endswith("group rank 15, by its log")
    assert status(by_logs("two-groups-2.7"), 1, 17, 7).endswith("group rank 3, by its log")


def test_recorded_members_give_the_number_and_inferred_ones_none():
    assert status(look(*alike((0, 1, 2), "all_reduce", 3)), 0, 3, 1).endswith("group rank 1 of 4")
    inferred = look(*(each.unconfigured() for each in alike((0, 1, 2), "all_reduce", 3)))
    assert inferred.groups[0].inferred
    assert "group rank" not in status(inferred, 0, 3, 1)


def test_how_many_members_a_log_leaves_open_is_said_in_the_list_of_groups():
    incident = by_logs("ray-2.6")
    assert "  3+  1204" in lane_line(incident, incident.lanes[0], 40, columns_of(incident)).text


def test_who_is_not_known_to_belong_to_a_group_is_not_waited_for_there():
    """Whether rank 6 is number 2 of mesh_tp is not in the log: ranks 4, 5 and 7 wait there for somebody."""
    incident = by_logs("two-groups-2.7")
    shown = waits_pane(incident)
    assert "ranks 0-3 wait in default_pg 9 for rank 6, host side" in shown
    assert "for rank 6" not in shown.partition("mesh_tp")[2]
    assert "wait in all_gather 17 of mesh_tp; whether rank 6 belongs to it is not in the logs" in shown
    assert "wait for it in mesh_tp" not in plain(rank_lines(incident, 6))
    assert "whether rank 6 belongs to it is not in the logs" in plain(rank_lines(incident, 6))
    assert plain(rank_lines(incident, 7)).startswith("rank 7 waits\n")
    said = context(incident).text
    assert "waiting because of it: 4 ranks in 1 group" in said
    assert "for whom not known: 3 ranks" in said


def test_of_a_rank_that_its_log_names_it_is_not_said_that_nothing_could_tell():
    for name in ("ray-2.6", "two-groups-2.7", "behind-2.6"):
        assert "no record could tell" not in waits_pane(by_logs(name))
    assert "by its log nothing that it enqueued is unfinished" in plain(rank_lines(by_logs("ray-2.6"), 6))


def test_of_ranks_that_no_log_tells_of_it_is_said():
    assert "no record could tell whether they asked" in waits_pane(by_logs("srun-l-2.5"))


def test_the_newest_record_of_a_rank_names_its_group():
    """Rank 2's newest record is of tp: its number says nothing of where it stands in the default group."""
    tp = Pg("1", "tp", (0, 2))
    dumps = [rank(number).calls("all_reduce", 1, 2).call("all_reduce", 3, OPEN) for number in (0, 1)]
    incident = look(*dumps, rank(2).calls("all_reduce", 1, 2).call("broadcast", 7, DONE, group=tp))
    assert "broadcast 7 of tp, completed" in entry_pane(incident, 0, 3, 2)
