"""Before the first collective, and the list of groups."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from rich.cells import cell_len

import hangview
from hangview.incident import told_apart
from hangview.tui.live import LiveKeys
from hangview.tui.prose import plain
from hangview.tui.text.groups import columns_of, lane_line, sorted_lanes
from hangview.tui.text.start import start_lines
from tests.support import incidents
from tests.support.builder import Builder


def test_says_which_groups_on_which_devices():
    text = plain(start_lines(incidents.nothing_called()))
    assert "no collective call was recorded" in text
    assert "· default_pg: ranks 0-3; dumps of 3 members" in text
    assert "· cuda:1: rank 1" in text
    assert "rank 3: device not recorded" in text
    assert "no dump: rank 3  no file of rank 3 among 3 dumps" in text


def test_an_empty_folder_says_where_dumps_are_written():
    text = plain(start_lines(incidents.no_files()))
    assert "nothing was found under empty-folder" in text
    assert "TORCH_FR_DUMP_TEMP_FILE" in text
    assert "comm_lib_trace_rank_" in text


def test_lanes_are_sorted_leads_first():
    incident = incidents.eight_in_five_groups()
    names = [incident.groups[lane.group].desc for lane in sorted_lanes(incident)]
    assert names == ["TP1", "DP0", "DP1", "DP2", "DP3", "default_pg", "TP0"]


def test_lane_lines_have_one_width_and_name_sign_size_and_seq():
    incident = incidents.eight_in_five_groups()
    lines = [lane_line(incident, lane, 24, columns_of(incident)) for lane in sorted_lanes(incident)]
    assert {cell_len(line.text) for line in lines} == {24}
    assert lines[0].text.split() == ["!", "TP1", "4", "6"]
    assert lines[1].text.split() == ["w", "DP0", "2", "6"]
    assert lines[5].text.split() == [".", "default_pg", "8", "0"]


def test_groups_of_one_name_are_told_apart_by_their_ranks():
    builder = Builder(4)
    for name, ranks in (("a", (0, 1)), ("b", (2, 3))):
        builder.lane(builder.group("DATA_PARALLEL_GROUP", ranks, name=name), 0, 3)
    incident = builder.build()
    incident = replace(incident, groups=told_apart(incident.groups))
    texts = [lane_line(incident, lane, 24, columns_of(incident)).text for lane in sorted_lanes(incident)]
    assert "0-1" in texts[0]
    assert "2-3" in texts[1]


FIXTURES = Path(__file__).parents[3] / "fixtures"


def test_logs_alone_say_that_dumps_are_wanted_and_where_they_are(tmp_path):
    shutil.copytree(FIXTURES / "skipped-one/logs", tmp_path / "logs")
    text = plain(start_lines(hangview.load(str(tmp_path))))
    assert "no file here is a dump: add the folder" in text
    assert "TORCH_FR_DUMP_TEMP_FILE" in text


def test_broken_files_say_which_and_what_to_do(tmp_path):
    whole = (FIXTURES / "skipped-one/comm_lib_trace_rank_1").read_bytes()
    (tmp_path / "comm_lib_trace_rank_1").write_bytes(whole[:100])
    text = plain(start_lines(hangview.load(str(tmp_path)), LiveKeys({"look_again": ("f9",)})))
    assert "copy comm_lib_trace_rank_1 again from where it was written" in text
    assert "F9 looks again" in text


def test_dumps_without_a_call_send_to_the_recorder():
    assert "see that the recorder was on" in plain(start_lines(incidents.nothing_called()))
