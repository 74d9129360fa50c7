"""Dumps that torch itself wrote, from the oldest version whose gloo records to the newest, read with their truth.

What each rank called, in order, comes from the script that ran the jobs (``fixtures/make_real_dumps.py``).
"""

from __future__ import annotations

import importlib.util
import json
import pickletools
import re
from pathlib import Path

import polars as pl
import pytest

import hangview
from hangview.schema import ReadOptions
from hangview.terms import Verdict

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = sorted(path.name for path in FIXTURES.glob("real-*"))
SCENARIOS = {"healthy", "skip", "skip-json", "mismatch"}
EXIT = {Verdict.NO_HANG: 0, Verdict.DIVERGENCE: 1, Verdict.NOT_ENOUGH_EVIDENCE: 3}


def _script():
    spec = importlib.util.spec_from_file_location("make_real_dumps", FIXTURES / "make_real_dumps.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()


def parts(name: str) -> tuple[tuple[int, ...], str]:
    """``real-2.8.0-skip-json`` → ((2, 8, 0), "skip-json")."""
    _, version, scenario = name.split("-", 2)
    return tuple(map(int, version.split("."))), scenario


def expect(name):
    return json.loads((FIXTURES / name / "EXPECT.json").read_text())


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def incident(name):
    return hangview.load(str(FIXTURES / name), options=ReadOptions(logs=False, cache=False))


def test_every_version_has_every_scenario_and_the_oldest_that_records_is_there():
    versions = {version for version, _ in map(parts, NAMES)}
    assert min(versions)[:2] == (2, 8)
    assert max(versions) >= (2, 15)
    assert set(map(parts, NAMES)) == {(version, scenario) for version in versions for scenario in SCENARIOS}
    for name in NAMES:
        assert expect(name)["torch"].partition("+")[0] == name.split("-")[1]


def test_the_answer_is_the_truth(name, incident):
    want = expect(name)["score"]
    assert incident.verdict == want["verdict"]
    assert EXIT[incident.verdict] == want["exit"]
    assert list(incident.leads) == want["leads"]
    assert list(incident.coverage.read) == want["read"] == [0, 1, 2, 3]
    found = [
        {"kinds": [str(one.kind)], "ranks": list(one.ranks), "group": incident.groups[one.group].desc, "seq": one.seq}
        for one in incident.findings
        if one.role == "lead" and one.group is not None
    ]
    assert found == ([{key: want[key] for key in ("kinds", "ranks", "group", "seq")}] if want["leads"] else [])


def test_the_truth_is_what_the_script_ran(name):
    scenario = parts(name)[1].removesuffix("-json")
    truth, stated = SCRIPT.truth(scenario), expect(name)
    assert {key: stated[key] for key in truth} == truth


def test_the_records_are_the_calls_that_were_made(name, incident):
    records = incident.records
    scenario = parts(name)[1].removesuffix("-json")
    for rank in range(SCRIPT.WORLD):
        rows = records.entries.filter(pl.col("rank") == rank).sort("position")
        told = [(records.labels[row["label"]][1], records.ops[row["op"]].name) for row in rows.iter_rows(named=True)]
        assert told == [("default_pg" if group == "world" else group, op) for group, op in SCRIPT.calls(scenario, rank)]


def test_members_are_found_although_gloo_hardly_writes_them(incident):
    groups = {group.desc: (set(group.ranks), group.inferred) for group in incident.groups}
    assert groups == {"default_pg": ({0, 1, 2, 3}, True), "pair": (set(SCRIPT.PAIR), True)}


def test_each_file_is_what_torch_calls_it(name, incident):
    version, scenario = parts(name)
    json_form = scenario.endswith("-json")
    dumps = [source for source in incident.records.sources if source.usable]
    assert [source.rank for source in dumps] == [0, 1, 2, 3]
    assert {source.producer for source in dumps} == {"gloo"}
    assert {source.version for source in dumps} == {"2.9" if version < (2, 9) else "2.10"}
    assert {source.has_stacks for source in dumps} == {not json_form}


@pytest.mark.parametrize("pickled", [name for name in NAMES if name.endswith("-skip")])
def test_both_forms_of_one_moment_say_the_same(pickled):
    columns = ["rank", "position", "record_id", "seq", "state", "retired", "created_ns", "op_id", "timeout_ms"]
    forms = [
        hangview.load(str(FIXTURES / folder), options=ReadOptions(logs=False, cache=False)).records.entries.select(columns)
        for folder in (pickled, f"{pickled}-json")
    ]
    assert forms[0].height == 3 * 10 + 9 + 2 * 3  # the last call of one rank is missing
    assert forms[0].equals(forms[1])


def test_no_path_of_the_machine_that_made_them_is_inside(name):
    for path in (FIXTURES / name).glob("comm_lib_trace_rank_*"):
        data = path.read_bytes()
        texts = re.findall(r'"((?:[^"\\]|\\.)*)"', data.decode()) if path.suffix == ".json" else _strings(data)
        assert texts
        assert [text for text in texts if text.startswith("/") and not text.startswith("/home/ml/")] == []


def _strings(data: bytes) -> list[str]:
    return [argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)]
