"""Real dumps to the end: the prefilled page says what the ground truth allows, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hangview
from hangview.text import fold_ranks
from hangview.worksheet import Mark, Sheet, from_markdown, prefill, to_markdown

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = (
    "seed-a",
    "hsdp-32",
    "nccl2-hook",
    "seed-a-missing-dump",
    "two-leads",
    "hostnames",
    "only-active",
    "nccl-tie",
    "healthy",
)
SHEETS: dict[str, Sheet] = {}


def sheet_of(name: str) -> Sheet:
    if name not in SHEETS:
        SHEETS[name] = prefill(hangview.load(str(FIXTURES / name)))
    return SHEETS[name]


def score_of(name: str) -> dict[str, Any]:
    score = json.loads((FIXTURES / name / "EXPECT.json").read_text())["score"]
    assert isinstance(score, dict)
    return score


def text_of(sheet: Sheet, key: str) -> str:
    return "\n".join(line.value for field in sheet if field.key.partition(".")[0] == key for line in field.prefilled)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_comes_back_as_it_was(name: str) -> None:
    text = to_markdown(sheet_of(name))
    assert from_markdown(text) == sheet_of(name)
    assert len([line for line in text.split("\n") if line.startswith("## ")]) == 8
    assert len(text) < 10_000


@pytest.mark.parametrize("name", NAMES)
def test_the_hypotheses_name_the_leads_of_the_ground_truth(name: str) -> None:
    """``leads`` of the ground truth; for those without one the answer must not single a rank out as not having requested."""
    leads = score_of(name)["leads"]
    said = text_of(sheet_of(name), "hypothesis")
    for lead in leads:
        assert re.search(rf"ranks? [\d,-]*\b{lead}\b", said), lead
    if not leads and score_of(name)["verdict"] == "no_hang":
        assert said == "these files show no hang: every call that could be compared agrees and is over"


@pytest.mark.parametrize("name", NAMES)
def test_the_lead_stands_first_among_the_ranks(name: str) -> None:
    leads = score_of(name)["leads"]
    rows = [line.value for line in sheet_of(name)["standing"].prefilled]
    assert rows
    if len(leads) == 1:
        assert re.match(rf"\S+.*?: ranks? {re.escape(fold_ranks(leads))}: ", rows[0]), rows[0]


def test_an_exception_before_the_communication_stands_with_its_line() -> None:
    (line,) = sheet_of("seed-a")["exceptions"].prefilled
    assert line.value.startswith("rank 3, before communication: ValueError: shard_3.bin: sample 42")
    assert line.origin.startswith("logs/rank_3.log, line ")


def test_hosts_from_the_file_names() -> None:
    assert [line.value for line in sheet_of("hostnames")["hosts"].prefilled] == ["ranks 0-1 → node07", "ranks 2-3 → node08"]


def test_a_missing_dump_has_a_reason_and_is_no_verdict() -> None:
    sheet = sheet_of("seed-a-missing-dump")
    assert re.match(r"rank 3: ", sheet["missing"].prefilled[0].value)
    assert not re.search(r"rank 3 did not request", text_of(sheet, "hypothesis"))


def test_the_way_back_is_offered_with_the_recorder_of_2_15_alone() -> None:
    assert sheet_of("nccl2-hook")["transition"].items
    assert not sheet_of("seed-a")["transition"].items


@pytest.mark.parametrize("name", NAMES)
def test_what_a_person_must_say_is_left_to_them(name: str) -> None:
    sheet = sheet_of(name)
    for key in ("model", "against", "environment", "checkpoint", "restore", "doubt", "changed"):
        assert sheet[key].mark is Mark.BLANK


def test_a_circle_is_shown_in_all_groups_that_hold_it() -> None:
    """Rank 0 asks for A then B, rank 1 for B then A, each stands in its first: the ground truth of order-swap."""
    sheet = sheet_of("order-swap")
    assert "A: rank 1: last ended 3; next 4: not requested" in text_of(sheet, "standing")
    assert "B: rank 0: last ended 3; next 4: not requested" in text_of(sheet, "standing")
    assert "4 of B: not requested: rank 0; requested, not completed: ranks 1,3" in text_of(sheet, "states")
