"""A worksheet against a comparison run: what changed, the three trials, and blanks where no file can tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hangview import cli
from hangview.compare import compare
from hangview.terms import Fact
from hangview.worksheet import Mark, Sheet, from_markdown, prefill, to_markdown
from hangview.worksheet.offered import offer
from tests.engine.support import alike, look, lost, rank

if TYPE_CHECKING:
    from hangview.incident import Incident

FIXTURES = Path(__file__).parents[2] / "fixtures"


def whole(*facts: Fact) -> Incident:
    incident = look(*(rank(n).calls("all_reduce", 1, 10) for n in range(4)))
    return replace(incident, paths=("before",), facts=(*incident.facts, *facts))


def hung(*facts: Fact) -> Incident:
    incident = look(rank(0).calls("all_reduce", 1, 9), *alike(range(1, 4), "all_reduce", 10))
    return replace(incident, paths=("after",), facts=(*incident.facts, *facts))


def against(before: Incident, after: Incident, language: str = "en") -> Sheet:
    return prefill(after, comparison=compare(before, after), language=language)


def values(sheet: Sheet, key: str) -> list[str]:
    return [line.value for line in sheet[key].prefilled]


def device(number: int, at: int) -> Fact:
    return Fact("device", f"cuda:{number}", (at,), "NCCL's init line")


def test_a_run_against_itself_is_said_to_be_that():
    incident = hung()
    assert against(incident, incident)["compared"].value.startswith("after: these are the same files as this run's: ")
    assert "same files" not in against(whole(), incident)["compared"].value


def test_one_changed_condition_is_said_with_what_differs_then():
    sheet = against(whole(Fact("torch", "2.14.1", (), "printed")), hung(Fact("torch", "2.15.0", (), "printed")))
    assert sheet["changed_count"].value == "exactly one"
    first, second = values(sheet, "changed")
    assert first == "PyTorch 2.14.1 → 2.15.0"
    assert second.startswith(
        "with that, the runs differ first in all_reduce 10 of default_pg: rank 0: completed in the comparison"
    )
    assert sheet["compared"].value.startswith("before: no hang seen")


def test_more_than_one_asks_for_another_comparison():
    a = whole(Fact("torch", "2.14.1", (), "printed"), Fact("env NCCL_IB_DISABLE", "0", (0,), "printed"))
    b = hung(Fact("torch", "2.15.0", (), "printed"), Fact("env NCCL_IB_DISABLE", "1", (0,), "printed"))
    assert against(a, b)["changed_count"].value == "more than one: compare again with one"


def test_none_recorded_stays_blank():
    """What the files do not record may have changed: only a person knows that nothing did."""
    sheet = against(whole(), hung())
    assert sheet["changed_count"].mark is Mark.BLANK
    assert values(sheet, "changed")[0] == "no recorded condition differs; what the files do not record may"


def test_the_answer_is_one_of_the_language():
    sheet = against(whole(Fact("torch", "2.14.1", (), "x")), hung(Fact("torch", "2.15.0", (), "x")), "ko")
    assert sheet["changed_count"].value in sheet["changed_count"].options


def test_the_trials_are_filled_as_far_as_the_files_tell():
    lines = values(against(whole(*(device(n, n) for n in range(4))), hung(device(1, 0), device(1, 1))), "trials")
    assert "1 devices: known for 2 of 4 ranks of this run; not the same in the comparison run: rank 0" in lines
    assert "1 groups: 1 in both runs" in lines
    assert "1 initialisation: ranks 0-3 had calls that were over, so that it was finished there" in lines
    assert "2 records recovered: 4 of 4 ranks in this run, 4 of 4 ranks in the comparison run" in lines
    assert any(line.startswith("2 progress: the runs differ first in all_reduce 10") for line in lines)
    assert "3 tolerances, checkpoint and restore result: in no dump and no log, to be filled in by hand" in lines
    assert not any(item.checked for item in against(whole(), hung())["trials"].items)


def test_a_rank_that_left_no_record_is_said_to_tell_nothing():
    after = replace(look(*(rank(n).calls("all_reduce", 1, 9) for n in range(3)), lost(3)), paths=("after",))
    lines = values(against(whole(), after), "trials")
    assert any(line.endswith("; rank 3: no record tells") for line in lines)
    assert "2 records recovered: 3 of 4 ranks in this run, 4 of 4 ranks in the comparison run" in lines
    assert "2 not compared (A: the comparison run, B: this run): rank 3: no dump of it in B" in lines


def test_it_survives_the_way_through_markdown_and_new_evidence_does_not_offer_to_remove_it():
    sheet = against(whole(Fact("torch", "2.14.1", (), "x")), hung(Fact("torch", "2.15.0", (), "x")))
    again = from_markdown(to_markdown(sheet))
    assert again == sheet
    assert offer(again, hung(Fact("torch", "2.15.0", (), "x"))) == ()


def test_without_a_comparison_run_nothing_is_said_about_one():
    sheet = prefill(hung())
    assert all(sheet[key].mark is Mark.BLANK for key in ("compared", "changed_count", "changed"))


def test_from_the_command_line(capsys):
    run, before = (str(FIXTURES / f"real-{name}") for name in ("2.15.0-skip", "2.8.0-healthy"))
    assert cli.run(["worksheet", run, "--against", before]) == 0
    text = capsys.readouterr().out
    assert "- dump schema 2.9 → 2.10 *(from the comparison with " in text
    assert "**How many conditions changed:** exactly one" in text


@pytest.mark.parametrize("path", ["no-such-folder", ""])
def test_a_comparison_run_that_is_not_there_is_one_line(path, capsys):
    assert cli.run(["worksheet", str(FIXTURES / "healthy"), "--against", path]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert len(found.err.splitlines()) == 1
