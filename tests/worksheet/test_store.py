"""Drafts that survive what kills a process, files that are never replaced unasked, and failures said in words."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hangview.schema import Attempt
from hangview.worksheet import prefill, to_markdown
from hangview.worksheet.model import blank_sheet
from hangview.worksheet.store import DEFAULT_NAME, SaveStatus, SheetStore
from tests.support.incidents import four_ranks, missing_dump

INCIDENT = four_ranks()
SHEET = prefill(INCIDENT)


class Places:
    """The folders of one test, and stores over them as several processes would have."""

    def __init__(self, base: Path) -> None:
        self.state = base / "state"
        self.fallback = base / "fallback"
        self.cwd = base / "cwd"
        self.cwd.mkdir()

    def store(self) -> SheetStore:
        return SheetStore(state_dir=self.state, fallback_dir=self.fallback, cwd=self.cwd)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def refuse(monkeypatch: pytest.MonkeyPatch, folder: Path, number: int) -> None:
    """Every temporary file below ``folder`` fails as a disk with this error would."""
    real = tempfile.mkstemp

    def mkstemp(*, prefix: str, suffix: str, dir: Path) -> tuple[int, str]:  # noqa: A002
        if dir.is_relative_to(folder):
            raise OSError(number, os.strerror(number), str(dir))
        return real(prefix=prefix, suffix=suffix, dir=dir)

    monkeypatch.setattr("hangview.worksheet.files.tempfile.mkstemp", mkstemp)


# Drafts


def test_a_draft_comes_back_for_the_same_folder_and_for_no_other(places: Places) -> None:
    first = places.store()
    assert first.keep(SHEET.with_text("driver", "580.65"), INCIDENT).kept
    first.close()
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["driver"].typed == "580.65"
    assert draft.about.startswith("4 ranks: rank 3 did not request")
    assert places.store().drafts(replace(INCIDENT, paths=("elsewhere",))) == ()


def test_the_same_folder_however_it_was_typed(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dumps").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "dumps")
    monkeypatch.chdir(tmp_path)
    places.store().keep(SHEET.with_text("driver", "x"), replace(INCIDENT, paths=("dumps",)))
    for path in ("./dumps/", str(tmp_path / "dumps"), "link"):
        assert len(places.store().drafts(replace(INCIDENT, paths=(path,)))) == 1


def test_a_draft_can_be_read_by_eye_and_by_nobody_else(places: Places) -> None:
    path = places.store().keep(SHEET.with_text("against", "it also waits"), INCIDENT).path
    assert path is not None
    text = path.read_text()
    assert text.startswith("# Incident worksheet: run-4711\n")
    assert "\nit also waits\n" in text
    assert text.splitlines()[-1].startswith("<!-- hangview draft {")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("text", ["-->", "<!-- hangview draft {} -->", "\\u003e", "a\n<!-- hangview draft {"])
def test_text_that_looks_like_the_last_line_of_a_draft(places: Places, text: str) -> None:
    store = places.store()
    store.keep(SHEET.with_text("against", text), INCIDENT)
    store.close()
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["against"].typed == text


def test_a_damaged_last_line_costs_nothing_that_was_typed(places: Places) -> None:
    path = places.store().keep(SHEET.with_text("against", "mine"), INCIDENT).path
    assert path is not None
    path.write_bytes(path.read_bytes()[:-9])
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["against"].typed == "mine"
    path.write_text(path.read_text().rpartition("<!--")[0])
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["against"].typed == "mine"


def test_an_empty_or_foreign_file_is_no_draft(places: Places) -> None:
    path = places.store().keep(SHEET, INCIDENT).path
    assert path is not None
    (path.parent / "empty.md").touch()
    (path.parent / "folder.md").mkdir()
    assert [draft.path for draft in places.store().drafts(INCIDENT)] == [path]


def test_two_processes_never_write_into_each_others_draft(places: Places) -> None:
    one, two = places.store(), places.store()
    one.keep(SHEET.with_text("driver", "one"), INCIDENT)
    two.keep(SHEET.with_text("driver", "two"), INCIDENT)
    one.keep(SHEET.with_text("driver", "one again"), INCIDENT)
    third = places.store()
    found = {draft.sheet["driver"].typed: draft.open_elsewhere for draft in third.drafts(INCIDENT)}
    assert found == {"one again": True, "two": True}


def test_going_on_with_a_draft_that_is_open_elsewhere_makes_a_copy(places: Places) -> None:
    one, two = places.store(), places.store()
    one.keep(SHEET.with_text("driver", "one"), INCIDENT)
    (draft,) = two.drafts(INCIDENT)
    sheet = two.resume(draft)
    two.keep(sheet.with_text("driver", "two"), INCIDENT)
    one.keep(SHEET.with_text("driver", "one, later"), INCIDENT)
    one.close()
    two.close()
    assert {draft.sheet["driver"].typed for draft in places.store().drafts(INCIDENT)} == {"one, later", "two"}


def test_going_on_with_a_draft_that_nobody_writes_goes_on_in_its_file(places: Places) -> None:
    one = places.store()
    one.keep(SHEET.with_text("driver", "one"), INCIDENT)
    one.close()
    two = places.store()
    (draft,) = two.drafts(INCIDENT)
    two.keep(two.resume(draft).with_text("input", "more"), INCIDENT)
    assert two.drafts(INCIDENT) == ()
    (again,) = places.store().drafts(INCIDENT)
    assert again.path == draft.path
    assert (again.sheet["driver"].typed, again.sheet["input"].typed) == ("one", "more")
    assert again.open_elsewhere


def test_the_draft_before_stays_when_another_one_is_gone_on_with(places: Places) -> None:
    old = places.store()
    old.keep(SHEET.with_text("driver", "old"), INCIDENT)
    old.close()
    store = places.store()
    store.keep(SHEET.with_text("driver", "new"), INCIDENT)
    (draft,) = store.drafts(INCIDENT)
    store.keep(store.resume(draft).with_text("input", "x"), INCIDENT)
    store.close()
    assert {draft.sheet["driver"].typed for draft in places.store().drafts(INCIDENT)} == {"old", "new"}


def test_without_locks_a_draft_is_copied_and_never_shared(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("hangview.worksheet.drafts.fcntl.flock", flock)
    one, two = places.store(), places.store()
    one.keep(SHEET.with_text("driver", "one"), INCIDENT)
    (draft,) = two.drafts(INCIDENT)
    two.keep(two.resume(draft).with_text("driver", "two"), INCIDENT)
    one.keep(SHEET.with_text("driver", "one, later"), INCIDENT)
    assert {draft.sheet["driver"].typed for draft in places.store().drafts(INCIDENT)} == {"one, later", "two"}


def test_an_older_revision_never_overwrites_a_newer_one(places: Places) -> None:
    store = places.store()
    store.keep(SHEET.with_text("driver", "new"), INCIDENT, revision=2)
    store.keep(SHEET.with_text("driver", "old"), INCIDENT, revision=1)
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["driver"].typed == "new"


def test_deleting_a_draft(places: Places) -> None:
    one = places.store()
    one.keep(SHEET, INCIDENT)
    other = places.store()
    (draft,) = other.drafts(INCIDENT)
    assert "open in another" in other.discard(draft)
    one.close()
    assert other.discard(draft) == ""
    assert other.drafts(INCIDENT) == ()
    assert list(draft.path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "word"), [(errno.ENOSPC, "no space left"), (errno.EROFS, "read-only"), (errno.EDQUOT, "quota")]
)
def test_a_state_folder_that_cannot_be_written_is_said_and_the_draft_goes_elsewhere(
    places: Places, monkeypatch: pytest.MonkeyPatch, number: int, word: str
) -> None:
    refuse(monkeypatch, places.state, number)
    result = places.store().keep(SHEET.with_text("driver", "x"), INCIDENT)
    assert result.kept
    kept, why, failed = (result.message.index(part) for part in (str(places.fallback), word, str(places.state)))
    assert kept < why < failed
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["driver"].typed == "x"


def test_when_no_place_is_left_the_loss_is_announced_and_what_was_kept_stays(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = places.store()
    store.keep(SHEET.with_text("driver", "before"), INCIDENT)
    refuse(monkeypatch, tmp_path, errno.ENOSPC)
    result = store.keep(SHEET.with_text("driver", "after"), INCIDENT)
    assert not result.kept
    said = ("NOT kept", "save the worksheet to another place", "no space left on the disk", str(places.state))
    places_of = [result.message.index(part) for part in said]
    assert places_of == sorted(places_of)
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["driver"].typed == "before"


def test_once_there_is_room_again_only_the_newest_draft_is_left(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    store = places.store()
    with monkeypatch.context() as full:
        refuse(full, places.state, errno.ENOSPC)
        store.keep(SHEET.with_text("driver", "while full"), INCIDENT)
    result = store.keep(SHEET.with_text("driver", "with room"), INCIDENT)
    assert result.message == ""
    assert [draft.sheet["driver"].typed for draft in places.store().drafts(INCIDENT)] == ["with room"]


def test_where_no_temporary_file_can_be_written_a_worksheet_is_made_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python writes a file to find the folder for temporary ones, and refuses where it cannot (``ulimit -f 0``)."""

    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "full"))
    (tmp_path / "full").write_text("no folder\n")
    (tmp_path / "state").write_text("no folder\n")
    store = SheetStore(state_dir=tmp_path / "state", cwd=tmp_path)
    result = store.keep(SHEET.with_text("driver", "x"), INCIDENT)
    assert not result.kept
    assert store.save(SHEET, "full/a.md").status is SaveStatus.FAILED
    assert store.save(SHEET, "a.md").ok


def test_a_fallback_that_is_somebody_elses_is_not_used(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir()
    places.fallback.symlink_to(tmp_path / "theirs")
    refuse(monkeypatch, places.state, errno.ENOSPC)
    assert not places.store().keep(SHEET, INCIDENT).kept
    assert list((tmp_path / "theirs").iterdir()) == []


def test_a_write_that_fails_half_way_leaves_the_old_draft_and_no_litter(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = places.store()
    path = store.keep(SHEET.with_text("driver", "before"), INCIDENT).path
    assert path is not None

    def fsync(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hangview.worksheet.files.os.fsync", fsync)
    assert not store.keep(SHEET.with_text("driver", "after"), INCIDENT).kept
    monkeypatch.undo()
    assert sorted(file.name for file in path.parent.iterdir()) == sorted([path.name, path.with_suffix(".lock").name])
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.sheet["driver"].typed == "before"


WRITER = """
import sys
from pathlib import Path
from hangview.worksheet import prefill
from hangview.worksheet.store import SheetStore
from tests.support.incidents import four_ranks

base = Path(sys.argv[1])
store = SheetStore(state_dir=base / "state", fallback_dir=base / "fallback", cwd=base)
sheet = prefill(four_ranks())
number = 0
while True:
    number += 1
    store.keep(sheet.with_text("driver", str(number)).with_text("against", f"{number} " * 2000), four_ranks())
    print(number, flush=True)
"""


def test_kill_between_writes_leaves_a_whole_draft_with_what_was_kept_last(places: Places, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment, cwd=root
    ) as writer:
        assert writer.stdout is not None
        said = [int(writer.stdout.readline()) for _ in range(20)]
        time.sleep(0.003)
        writer.send_signal(signal.SIGKILL)
        said += [int(line) for line in writer.stdout.read().split()]
    (draft,) = places.store().drafts(INCIDENT)
    assert not draft.open_elsewhere
    number = int(draft.sheet["driver"].typed)
    assert number in (said[-1], said[-1] + 1)
    assert draft.sheet["against"].typed == f"{number} " * 2000


# Saved files


def test_saving_is_whole_and_goes_to_the_working_directory(places: Places) -> None:
    store = places.store()
    assert store.default_path(INCIDENT) == places.cwd / "hangview-worksheet-run-4711.md"
    result = store.save(SHEET, DEFAULT_NAME)
    assert result.status is SaveStatus.SAVED
    assert result.path.read_text() == to_markdown(SHEET)
    assert str(result.path) in result.message
    assert f"{len(SHEET.blanks())} blanks left" in result.message
    assert [file.name for file in places.cwd.iterdir()] == [DEFAULT_NAME]


def test_the_default_is_never_next_to_the_dumps(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (places.cwd / "deep").mkdir()
    (places.cwd / "dump_0").touch()
    deep = SheetStore(state_dir=places.state, fallback_dir=places.fallback, cwd=places.cwd / "deep")
    away = tmp_path / "home" / f"hangview-worksheet-{places.cwd.name}.md"
    assert places.store().default_path(replace(INCIDENT, paths=(".",))) == away
    assert places.store().default_path(replace(INCIDENT, paths=("dump_0",))) == away
    assert deep.default_path(replace(INCIDENT, paths=(str(places.cwd),))) == away
    assert places.store().default_path(replace(INCIDENT, paths=("deep",))) == places.cwd / "hangview-worksheet-deep.md"
    chosen = places.store()
    assert chosen.save(SHEET, "mine.md").ok
    assert chosen.default_path(replace(INCIDENT, paths=(".",))) == places.cwd / "mine.md"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("run-4711", "run-4711"),
        ("/data/run 4711/", "run_4711"),
        ("/data/run-4711/dumps", "run-4711-dumps"),
        ("/data/run-4711/nccl_traces", "run-4711-nccl_traces"),
        ("/data/훈련-7", "7"),
        ("/", ""),
    ],
)
def test_the_default_name_tells_the_incident(places: Places, path: str, name: str) -> None:
    """Two incidents of one night, looked at from the same folder, have two files."""
    expected = f"hangview-worksheet-{name}.md" if name else DEFAULT_NAME
    assert places.store().default_path(replace(INCIDENT, paths=(path,))).name == expected
    attempts = (Attempt(1, (0,), False), Attempt(2, (0, 1), True))
    second = replace(INCIDENT, paths=(path,), records=replace(INCIDENT.records, attempts=attempts))
    assert places.store().default_path(second).name == f"hangview-worksheet-{f'{name}-' if name else ''}attempt-2.md"


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert SheetStore(state_dir=tmp_path, fallback_dir=tmp_path).cwd == Path.home()


def test_saving_again_keeps_one_backup(places: Places) -> None:
    store = places.store()
    for number in range(3):
        result = store.save(SHEET.with_text("driver", str(number)), DEFAULT_NAME)
        assert result.status is SaveStatus.SAVED
    assert result.backup == places.cwd / f"{DEFAULT_NAME}~"
    assert "- **Driver:** 1\n" in result.backup.read_text()
    assert "- **Driver:** 2\n" in result.path.read_text()
    assert len(list(places.cwd.iterdir())) == 2


def test_what_somebody_wrote_is_never_written_over(places: Places) -> None:
    """Neither what stands in the file, nor what is kept beside it already."""
    path = places.cwd / DEFAULT_NAME
    path.write_text("first by hand\n")
    path.chmod(0o640)
    store = places.store()
    asked = store.save(SHEET, DEFAULT_NAME)
    assert (asked.status, asked.backup) == (SaveStatus.EXISTS, path.with_name(f"{DEFAULT_NAME}~"))
    store.save(SHEET, DEFAULT_NAME, replace=True)
    path.write_text("second by hand\n")
    changed = store.save(SHEET.with_text("driver", "1"), DEFAULT_NAME)
    assert (changed.status, changed.backup) == (SaveStatus.CHANGED, path.with_name(f"{DEFAULT_NAME}.~2~"))
    store.save(SHEET.with_text("driver", "1"), DEFAULT_NAME, replace=True)
    store.save(SHEET.with_text("driver", "2"), DEFAULT_NAME)
    texts = {each.name: each.read_text() for each in places.cwd.iterdir()}
    assert texts[f"{DEFAULT_NAME}~"] == "first by hand\n"
    assert texts[f"{DEFAULT_NAME}.~2~"] == "second by hand\n"
    assert "- **Driver:** 2\n" in texts[DEFAULT_NAME]
    assert stat.S_IMODE(path.with_name(f"{DEFAULT_NAME}~").stat().st_mode) == 0o640


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_left_alone(places: Places) -> None:
    path = places.cwd / DEFAULT_NAME
    path.write_text("mine\n")
    path.chmod(0o444)
    assert places.store().save(SHEET, DEFAULT_NAME, replace=True).status is SaveStatus.FAILED
    assert path.read_text() == "mine\n"


def test_what_is_no_regular_file_is_not_opened(places: Places) -> None:
    """A pipe waits for somebody who writes, and /dev/zero has no end."""
    os.mkfifo(places.cwd / "pipe.md")
    for name in ("pipe.md", "/dev/zero"):
        result = places.store().open(name)
        assert result.sheet is None
        assert "it is no regular file" in str(result.message)


def test_saving_the_same_again_writes_nothing(places: Places) -> None:
    store = places.store()
    store.save(SHEET, DEFAULT_NAME)
    assert store.save(SHEET, DEFAULT_NAME).status is SaveStatus.UNCHANGED
    assert len(list(places.cwd.iterdir())) == 1


def test_a_file_that_was_there_is_asked_about(places: Places) -> None:
    (places.cwd / DEFAULT_NAME).write_text("my shopping list\n")
    store = places.store()
    result = store.save(SHEET, DEFAULT_NAME)
    assert result.status is SaveStatus.EXISTS
    assert not result.ok
    assert (places.cwd / DEFAULT_NAME).read_text() == "my shopping list\n"
    assert store.save(SHEET, DEFAULT_NAME, replace=True).ok
    assert (places.cwd / f"{DEFAULT_NAME}~").read_text() == "my shopping list\n"


def test_a_file_that_someone_else_changed_is_asked_about(places: Places) -> None:
    store = places.store()
    path = store.save(SHEET, DEFAULT_NAME).path
    path.write_text(path.read_text() + "\nBob was here\n")
    result = store.save(SHEET.with_text("driver", "x"), DEFAULT_NAME)
    assert result.status is SaveStatus.CHANGED
    assert "Bob was here" in path.read_text()
    assert store.save(SHEET.with_text("driver", "x"), DEFAULT_NAME, replace=True).ok
    assert "Bob was here" in path.with_name(f"{DEFAULT_NAME}~").read_text()


def test_a_file_that_was_opened_may_be_saved_until_someone_else_changes_it(places: Places) -> None:
    path = places.cwd / "sheet.md"
    path.write_text(to_markdown(SHEET.with_text("driver", "1")))
    store = places.store()
    sheet = store.open("sheet.md").sheet
    assert sheet is not None
    assert store.default_path(INCIDENT) == path
    assert store.save(sheet.with_text("input", "x"), "sheet.md").ok
    path.write_text("gone\n")
    assert store.save(sheet.with_text("input", "y"), "sheet.md").status is SaveStatus.CHANGED


def test_a_resumed_draft_knows_what_it_saved(places: Places) -> None:
    store = places.store()
    saved = store.save(SHEET.with_text("driver", "1"), DEFAULT_NAME).path
    store.keep(SHEET.with_text("driver", "2"), INCIDENT)
    store.close()
    later = places.store()
    (draft,) = later.drafts(INCIDENT)
    assert draft.saved_to == saved
    assert not draft.saved_differs
    sheet = later.resume(draft)
    assert later.default_path(INCIDENT) == saved
    assert later.save(sheet, saved).ok
    saved.write_text("changed\n")
    assert later.save(SHEET, saved).status is SaveStatus.CHANGED


def test_a_draft_says_when_its_saved_file_was_changed(places: Places) -> None:
    store = places.store()
    saved = store.save(SHEET, DEFAULT_NAME).path
    store.keep(SHEET.with_text("driver", "2"), INCIDENT)
    store.close()
    saved.write_text("changed\n")
    (draft,) = places.store().drafts(INCIDENT)
    assert draft.saved_differs
    saved.unlink()
    assert draft.saved_differs


@pytest.mark.parametrize(
    ("number", "word"), [(errno.ENOSPC, "no space left"), (errno.EROFS, "read-only"), (errno.EACCES, "permission")]
)
def test_a_place_that_cannot_be_written_is_said_with_another_one(
    places: Places, monkeypatch: pytest.MonkeyPatch, number: int, word: str
) -> None:
    folder = places.cwd / "full"
    folder.mkdir()
    refuse(monkeypatch, folder, number)
    result = places.store().save(SHEET, "full/sheet.md")
    assert result.status is SaveStatus.FAILED
    assert word in result.message
    assert str(folder / "sheet.md") in result.message
    assert result.elsewhere == places.cwd / "sheet.md"
    assert list(folder.iterdir()) == []
    assert places.store().save(SHEET, result.elsewhere).ok


def test_the_other_place_is_never_a_file_that_is_there(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = places.cwd / "full"
    folder.mkdir()
    (places.cwd / "sheet.md").write_text("mine\n")
    refuse(monkeypatch, folder, errno.ENOSPC)
    assert places.store().save(SHEET, "full/sheet.md").elsewhere == places.cwd / "sheet-2.md"


def test_a_backup_that_cannot_be_written_stops_the_save(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    store = places.store()
    path = store.save(SHEET, DEFAULT_NAME).path
    refuse(monkeypatch, places.cwd, errno.ENOSPC)
    assert store.save(SHEET.with_text("driver", "x"), DEFAULT_NAME).status is SaveStatus.FAILED
    assert path.read_text() == to_markdown(SHEET)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write into a read-only folder")
def test_a_read_only_folder(places: Places) -> None:
    folder = places.cwd / "locked"
    folder.mkdir(mode=0o500)
    result = places.store().save(SHEET, "locked/sheet.md")
    assert result.status is SaveStatus.FAILED
    assert "no permission" in result.message
    assert result.elsewhere is not None


def test_a_small_disk_that_is_really_full(places: Places, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a tmpfs")
    try:
        store = SheetStore(state_dir=disk / "state", fallback_dir=disk / "fallback", cwd=places.cwd)
        before = SHEET.with_text("driver", "before")
        assert store.keep(before, INCIDENT).kept
        assert store.save(before, disk / "sheet.md").ok
        (disk / "hog").write_bytes(b"x" * (disk_free(disk) - 4096))
        after = SHEET.with_text("against", "much " * 5000)
        kept = store.keep(after, INCIDENT)
        assert not kept.kept
        assert "no space left on the disk" in kept.message
        saved = store.save(after, disk / "sheet.md")
        assert saved.status is SaveStatus.FAILED
        assert saved.elsewhere is not None
        assert saved.elsewhere.parent == places.cwd
        assert (disk / "sheet.md").read_text() == to_markdown(before)
        store.close()
        fresh = SheetStore(state_dir=disk / "state", fallback_dir=disk / "fallback", cwd=places.cwd)
        (draft,) = fresh.drafts(INCIDENT)
        assert draft.sheet == before
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def disk_free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def test_folders_and_devices_are_no_place_for_a_worksheet(places: Places) -> None:
    store = places.store()
    result = store.save(SHEET, places.cwd)
    assert result.status is SaveStatus.FAILED
    assert result.elsewhere == places.cwd / DEFAULT_NAME
    assert "no regular file" in store.save(SHEET, "/dev/null", replace=True).message
    missing = store.save(SHEET, "nowhere/sheet.md")
    assert missing.status is SaveStatus.FAILED
    assert "folder does not exist" in missing.message


def test_a_link_stays_a_link_and_permissions_stay(places: Places) -> None:
    target = places.cwd / "target.md"
    target.write_text("old\n")
    target.chmod(0o640)
    (places.cwd / "link.md").symlink_to(target)
    assert places.store().save(SHEET, "link.md", replace=True).ok
    assert (places.cwd / "link.md").is_symlink()
    assert target.read_text() == to_markdown(SHEET)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_is_as_readable_as_any(places: Places) -> None:
    mask = os.umask(0o022)
    try:
        path = places.store().save(SHEET, DEFAULT_NAME).path
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_names_as_a_person_types_them(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    store = places.store()
    assert store.resolve("sheet.md") == places.cwd / "sheet.md"
    assert store.resolve("~/sheet.md") == tmp_path / "sheet.md"
    assert store.resolve("/abs.md") == Path("/abs.md")
    assert store.resolve("~no-such-user-here/x.md") == places.cwd / "~no-such-user-here/x.md"


# Opening


def test_opening_goes_on_where_it_stopped(places: Places) -> None:
    sheet = SHEET.with_text("against", "# not a title\n```\nx").with_tick("trials", 0, True)
    places.store().save(sheet, DEFAULT_NAME)
    assert places.store().open(DEFAULT_NAME, INCIDENT).sheet == sheet


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (None, "no such file"),
        (b"# Shopping\n\n- milk\n", "no section"),
        (b"\xff\xfe\x00## 1.", "not UTF-8"),
        (b"x" * (9 << 20), "too large"),
    ],
)
def test_what_cannot_be_opened_is_said(places: Places, content: bytes | None, word: str) -> None:
    if content is not None:
        (places.cwd / "x.md").write_bytes(content)
    result = places.store().open("x.md", missing_dump())
    assert result.sheet is None
    assert word in result.message
    assert "x.md" in result.message


def test_half_a_character_can_be_saved(places: Places) -> None:
    result = places.store().save(blank_sheet().with_text("driver", "a\ud83db"), DEFAULT_NAME)
    assert result.ok
    result.path.read_text(encoding="utf-8")


def test_which_of_several_attempts_a_draft_is_of(places: Places) -> None:
    attempts = (Attempt(1, (0,), False), Attempt(2, (0, 1), True))
    incident = replace(INCIDENT, records=replace(INCIDENT.records, attempts=attempts))
    store = places.store()
    store.keep(SHEET.with_text("driver", "580.65"), incident)
    store.close()
    (draft,) = places.store().drafts(incident)
    assert draft.about.startswith("4 ranks, attempt 2: rank 3 did not request")
