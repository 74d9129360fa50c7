"""The benchmark's generator writes what torch would write, and a job in which the right rank is odd."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.large import main
from benchmarks.large_job import FAULTS

from tests.jobs.check import ask
from tests.support.torch_pickle import dump_bytes

if TYPE_CHECKING:
    from pathlib import Path

SMALL = ["--ranks", "16", "--tp", "2", "--layers", "1", "--micro", "2", "--entries", "200", "--jobs", "1"]


def trees(folder: Path) -> dict[int, dict[str, Any]]:
    return {int(p.name.rsplit("_", 1)[1]): pickle.loads(p.read_bytes()) for p in folder.glob("nccl_trace_rank_*")}


@pytest.mark.parametrize("more", [[], ["--pp", "2"], ["--wrap", "--no-timing"], ["--no-frames"]])
def test_the_bytes_are_those_of_torchs_writer(tmp_path, more):
    main([str(tmp_path), *SMALL, *more])
    for rank in range(0, 16, 5):
        data = (tmp_path / f"nccl_trace_rank_{rank}").read_bytes()
        assert dump_bytes(pickle.loads(data)) == data


@pytest.mark.parametrize("pp", ["1", "4"])
def test_a_job_without_a_fault_is_over_everywhere(tmp_path, pp):
    main([str(tmp_path), *SMALL, "--pp", pp, "--fault", "none"])
    for dump in trees(tmp_path).values():
        states = Counter(e["state"] for e in dump["entries"] if not e["is_p2p"])
        assert states.keys() == {"completed"}
        assert [e["record_id"] for e in dump["entries"]] == list(range(len(dump["entries"])))
        for counters in dump["pg_status"].values():
            assert counters["last_enqueued_collective"] == counters["last_completed_collective"] > 0


def test_the_ring_keeps_the_last_entries(tmp_path):
    main([str(tmp_path), *SMALL, "--wrap"])
    for dump in trees(tmp_path).values():
        assert len(dump["entries"]) == 200
        assert dump["entries"][0]["record_id"] > 0


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("pp", ["1", "2"])
def test_the_answer_is_the_expected_one(tmp_path, fault, pp):
    main([str(tmp_path), *SMALL, "--pp", pp, "--fault", fault, "--rank", "5"])
    score = json.loads((tmp_path / "EXPECT.json").read_text())["score"]
    incident = ask(tmp_path)
    assert list(incident.leads) == score["leads"] == ([5] if fault != "none" else [])
    assert incident.verdict == score["verdict"]
    assert not score.get("kinds") or incident.findings[0].kind in score["kinds"]
