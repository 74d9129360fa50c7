"""One worksheet being worked on, without a screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hangview.worksheet import Mark, prefill, to_markdown
from hangview.worksheet.session import Session
from hangview.worksheet.store import SheetStore
from tests.support.incidents import eight_in_five_groups, four_ranks, missing_dump

if TYPE_CHECKING:
    from pathlib import Path

ONE = four_ranks()
OTHER = replace(missing_dump(), paths=ONE.paths)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return another(tmp_path)


def another(tmp_path: Path) -> Session:
    return Session(SheetStore(state_dir=tmp_path / "s", fallback_dir=tmp_path / "f", cwd=tmp_path), ONE)


def test_a_sheet_that_nobody_wrote_in_follows_the_evidence_and_leaves_no_draft(session: Session) -> None:
    session.update_incident(OTHER)
    assert session.sheet == prefill(OTHER)
    assert session.changes == ()
    assert session.flush() is None
    assert not session.begun
    assert not session.unsaved


def test_a_sheet_that_was_begun_is_offered_what_is_new(session: Session) -> None:
    session.type("missing", "rank 2's node is down")
    session.update_incident(OTHER)
    assert session.sheet["missing"].prefilled == prefill(ONE)["missing"].prefilled
    changes = session.changes
    assert "missing" in {change.key for change in changes}
    for change in changes:
        session.accept(change)
    assert session.changes == ()
    assert session.sheet["missing"].prefilled == prefill(OTHER)["missing"].prefilled
    assert session.sheet["missing"].typed == "rank 2's node is down"


def test_what_was_declined_is_not_offered_again_unless_it_changes_again(session: Session) -> None:
    session.type("driver", "x")
    session.update_incident(OTHER)
    for change in session.changes:
        session.decline(change)
    assert session.changes == ()
    session.update_incident(OTHER)
    assert session.changes == ()
    assert session.declined
    session.update_incident(replace(eight_in_five_groups(), paths=ONE.paths))
    assert session.changes


def while_reading(tmp_path: Path) -> Session:
    """Begun while two of the four dumps were read: ONE is the part, OTHER all of it."""
    return Session(SheetStore(state_dir=tmp_path / "s", fallback_dir=tmp_path / "f", cwd=tmp_path), ONE, reading=True)


def test_while_files_are_read_what_nobody_wrote_in_follows_by_itself(tmp_path: Path) -> None:
    session = while_reading(tmp_path)
    session.type("run", "4711")
    session.type("missing", "rank 2's node is down")
    session.update_incident(OTHER)
    whole = prefill(OTHER)
    for field in session.sheet:
        if field.key not in ("run", "missing") and field.key in whole:
            assert field.prefilled == whole[field.key].prefilled, field.key  # with where it comes from
    assert session.sheet["missing"].prefilled == prefill(ONE)["missing"].prefilled
    assert session.sheet["missing"].typed == "rank 2's node is down"
    assert [change.key for change in session.changes] == ["missing"]
    assert not session.reading


def test_once_all_is_read_what_is_new_is_offered_again(tmp_path: Path) -> None:
    session = while_reading(tmp_path)
    session.type("run", "4711")
    session.update_incident(OTHER)
    before = session.sheet
    session.update_incident(ONE)
    assert session.sheet == before
    assert session.changes


def test_a_hypothesis_of_a_part_of_the_files_goes_with_its_finding(tmp_path: Path) -> None:
    """Unless somebody has written to it."""
    part = replace(eight_in_five_groups(), paths=ONE.paths)
    extra = next(finding for finding in part.findings if finding != part.findings[0])
    none = replace(OTHER, findings=OTHER.findings[:1])
    for note in ("", "seen it before"):
        session = Session(SheetStore(state_dir=tmp_path / "s", fallback_dir=tmp_path / "f", cwd=tmp_path), part, reading=True)
        key = session.add_finding(extra)
        session.type(key, note)
        session.update_incident(none)
        assert [line.value for line in session.sheet["hypothesis"].prefilled[:1]] == [none.findings[0].summary]
        assert bool(session.sheet[key].prefilled) == bool(note)
        session.close()


def test_an_earlier_draft_does_not_follow_the_reading(tmp_path: Path) -> None:
    first = another(tmp_path)
    first.type("run", "4711")
    first.close()
    session = while_reading(tmp_path)
    (draft,) = session.drafts()
    session.resume(draft)
    before = session.sheet
    session.update_incident(OTHER)
    assert session.sheet == before
    assert session.changes


def test_the_evidences_own_value_is_no_edit(session: Session) -> None:
    session.type("backend", "nccl")
    assert not session.begun
    marks = []
    for text in ("gloo", "nccl", ""):
        session.type("backend", text)
        marks.append(session.sheet["backend"].mark)
    assert marks == [Mark.EDITED, Mark.PREFILLED, Mark.PREFILLED]


def test_every_edit_is_kept_and_offered_again(session: Session, tmp_path: Path) -> None:
    session.type("driver", "580.65")
    assert session.unkept
    result = session.flush()
    assert result is not None
    assert result.kept
    assert not session.unkept
    assert session.flush() is None
    session.tick("trials", 0, True)
    session.close()
    later = another(tmp_path)
    (draft,) = later.drafts()
    later.resume(draft)
    assert later.sheet == session.sheet


def test_unsaved_until_saved_and_again_after_an_edit(session: Session) -> None:
    session.type("driver", "580.65")
    assert session.unsaved
    assert session.save("sheet.md").ok
    assert not session.unsaved
    session.type("driver", "580.66")
    assert session.unsaved
    session.type("driver", "580.65")
    assert not session.unsaved


def test_a_resumed_draft_that_was_saved_is_not_unsaved(session: Session, tmp_path: Path) -> None:
    session.type("driver", "580.65")
    session.save("sheet.md")
    session.close()
    later = another(tmp_path)
    later.resume(later.drafts()[0])
    assert not later.unsaved
    assert later.default_path == tmp_path / "sheet.md"


def test_findings_that_were_sent_come_along_into_a_resumed_draft(session: Session, tmp_path: Path) -> None:
    session.type("hypothesis", "the disk is slow")
    session.close()
    later = another(tmp_path)
    waiting = eight_in_five_groups().findings[1]
    later.add_finding(waiting)
    later.resume(later.drafts()[0])
    assert later.sheet["hypothesis"].typed == "the disk is slow"
    assert any(field.prefilled and field.prefilled[0].value == waiting.summary for field in later.sheet)


def test_opening_a_file_leaves_what_was_typed_as_a_draft(session: Session, tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text(to_markdown(prefill(ONE).with_text("driver", "from the file")))
    session.type("driver", "typed before")
    assert session.open("old.md").sheet is not None
    session.type("input", "more")
    session.close()
    assert {draft.sheet["driver"].typed for draft in another(tmp_path).drafts()} == {"from the file", "typed before"}


def test_opening_what_is_no_worksheet_changes_nothing(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("hello\n")
    session.type("driver", "x")
    before = session.sheet
    assert session.open("x.md").sheet is None
    assert session.sheet == before


def test_a_failed_save_stays_unsaved(session: Session) -> None:
    session.type("driver", "x")
    assert not session.save("nowhere/sheet.md").ok
    assert session.unsaved


def test_another_hypothesis_is_kept_too(session: Session, tmp_path: Path) -> None:
    session.add_hypothesis()
    session.type("hypothesis.2", "the switch")
    session.close()
    later = another(tmp_path)
    later.resume(later.drafts()[0])
    assert later.sheet["hypothesis.2"].typed == "the switch"
