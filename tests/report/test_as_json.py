"""The JSON report: the keys that other programs rely on, complete and in ASCII."""

from __future__ import annotations

import json
from dataclasses import replace

from hangview import __version__
from hangview.report.as_json import to_json
from hangview.schema import Attempt, SourceKind, SourceStatus
from hangview.terms import Evidence, Kind, Role, Side, Verdict
from tests.report.build import DEFAULT, NOT_REQUESTED, dump, healthy, incident, log, one_lead


def test_a_finding_whole():
    found = json.loads(to_json(one_lead()))["findings"][0]
    assert found == {
        "kind": "not_requested",
        "role": "lead",
        "ranks": [3],
        "others": [0, 1, 2],
        "group": {"name": "0", "desc": "default_pg", "id": 0},
        "lane": "collective",
        "seq": 42,
        "op": "all_reduce",
        "side": "host",
        "summary": "rank 3 did not request all_reduce 42 of default_pg; ranks 0-2 wait for it",
        "evidence": [
            "rank 3: dump is whole, newest entry of default_pg is 41 (trace_3, record 40)",
            "ranks 0-2: requested 42, not completed",
        ],
        "compare_first": "rank 3's path before communication",
        "not_concluded": ["that rank 0, which timed out, is at fault", "that the network is sound"],
        "steps": [
            "ranks 0-2 requested 42 of default_pg and did not complete it",
            "rank 3 has nothing open: it waits for nobody",
        ],
    }


def test_the_rest_of_the_object():
    made = healthy()
    made = replace(made, records=replace(made.records, attempts=(Attempt(2, (2, 0), True), Attempt(1, (1,), False, "older"))))
    got = json.loads(to_json(made))
    assert list(got) == ["schema", "hangview", "verdict", "leads", "coverage", "attempts", "sources", "groups", "findings"]
    assert (got["schema"], got["hangview"], got["verdict"], got["leads"]) == (1, __version__, "no_hang", [])
    assert got["coverage"] == {
        "expected": [0, 1, 2, 3],
        "at_least": None,
        "read": [0, 2, 3],
        "partial": [],
        "missing": [1],
        "missing_reasons": [{"ranks": [1], "host": None, "reason": "empty file"}],
        "unrecorded": [],
    }
    assert got["attempts"] == [
        {"attempt": 1, "ranks": [1], "current": False, "reason": "older"},
        {"attempt": 2, "ranks": [0, 2], "current": True, "reason": None},
    ]
    assert got["groups"] == [{"id": 0, "name": "0", "desc": "default_pg", "ranks": [0, 1, 2, 3], "inferred": False}]
    assert got["sources"][1] == {
        "path": "trace_1",
        "kind": "dump",
        "status": "empty",
        "reason": "0 bytes",
        "rank": 1,
        "rank_from": "file name",
        "host": None,
        "attempt": 1,
        "producer": "nccl",
        "version": "2.10",
        "library": "2.27.3",
        "entries": 0,
        "notes": [],
    }
    assert got["findings"] == []


def test_values_are_those_of_the_contract():
    assert {kind.value for kind in Kind} == {
        "not_requested", "different_op", "different_size", "different_dtype", "not_completed", "partly_completed",
        "not_observed", "order_cycle", "unpaired_p2p", "group_absent", "no_collective", "process_ended", "group_mismatch",
        "different_call_site", "straggler", "waiting",
    }  # fmt: skip
    assert {verdict.value for verdict in Verdict} == {"divergence", "no_hang", "not_enough_evidence"}
    assert {role.value for role in Role} == {"lead", "waiting", "note"}
    assert {side.value for side in Side} == {"host", "device", "unknown"}
    assert {kind.value for kind in SourceKind} == {"dump", "log", "other"}
    assert {status.value for status in SourceStatus} - {"growing", "unfinished"} == {  # those two only while watching
        "read", "cut", "empty", "refused", "unreadable", "ignored", "superseded", "other_attempt",
    }  # fmt: skip


def test_leads_then_notes_then_waiting():
    assert [finding["role"] for finding in json.loads(to_json(one_lead()))["findings"]] == ["lead", "note", "waiting"]


def test_nothing_is_cut():
    many = replace(NOT_REQUESTED, evidence=tuple(Evidence(f"line {number}") for number in range(1024)))
    assert len(json.loads(to_json(incident(many)))["findings"][0]["evidence"]) == 1024


def test_a_finding_without_a_group():
    bare = replace(NOT_REQUESTED, group=None, lane=None, seq=None, op=None)
    got = json.loads(to_json(incident(bare)))["findings"][0]
    assert (got["group"], got["lane"], got["seq"], got["op"]) == (None, None, None, None)


def test_ascii_on_the_outside_and_no_control_character_on_the_inside():
    odd = replace(
        NOT_REQUESTED, summary="1,024 × Float in \x1b[31mé\n[\n  1,\n  2\n]", evidence=(Evidence("\ud800", source=0),)
    )
    made = incident(odd, sources=(dump(0, path="é\udcff"),))
    text = to_json(made)
    assert text.isascii()
    got = json.loads(text)
    assert got["findings"][0]["summary"] == r"1,024 × Float in \x1b[31mé\n[\n  1,\n  2\n]"
    assert got["sources"][0]["path"] == r"é\udcff"


def test_rank_lists_take_one_line_each():
    made = incident(NOT_REQUESTED, expected=tuple(range(1024)), groups=(replace(DEFAULT, ranks=tuple(range(1024))),))
    lines = to_json(made).splitlines()
    assert f'      "ranks": {list(range(1024))},' in lines
    assert len(lines) < 130


def test_sources_are_ordered_by_rank_then_path_whatever_the_order_on_disk():
    sources = (log(1), dump(10), dump(2), dump(None, path="z"), dump(None, path="a"), dump(1))
    got = [source["path"] for source in json.loads(to_json(incident(sources=sources)))["sources"]]
    assert got == ["trace_1", "logs/rank_1.log", "trace_2", "trace_10", "a", "z"]


def test_where_the_files_name_fewer_ranks_than_there_must_be_it_is_said():
    """Ranks count from 0: where one has number 6 there are seven."""
    made = healthy()
    groups = tuple(replace(group, inferred=True, ranks=(1, 3, 6)) for group in made.groups)
    made = replace(made, groups=groups, coverage=replace(made.coverage, expected=(1, 3, 6)))
    assert json.loads(to_json(made))["coverage"]["at_least"] == 7
