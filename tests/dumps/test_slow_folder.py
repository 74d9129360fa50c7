"""A folder of 2,000 files of which 20 are dumps, on a file system where everything but names is slow.

The delay is a clock's of our own: whatever asks the disk about one file, or opens it, moves the clock on. So these tests count
what was asked for before something was shown, and are as fast on a slow machine as on any other.
"""

import contextlib
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from hangview import session, telling
from hangview.dumps.calling_off import Cancelled
from hangview.incident import Incident
from hangview.report.ledger import to_ledger
from hangview.schema import NOT_READ_YET, ReadOptions, SourceKind
from hangview.session import Session
from tests.dumps.job import plain, write

RANKS = 20
#: Rank 7 did not make the last call.
LEAD = 7
#: Names, so many of each, that come before the dumps, after them, and between them in any order of names.
BY_NAME = {
    "checkpoint": (".distcp", 700),
    "data_cache": (".npy", 300),
    "model_part": (".py", 200),
    "zz_picture": (".png", 98),
    "core": ("", 2),
}
LOGS = ("worker", ".log", 300)
MAYBE = ("batch_order_", "", 280)  #: may be dumps by their names; are not
TEXTS = ("note", ".txt", 100)  #: must be opened to know
DELAY = 0.05
OPTIONS = ReadOptions(cache=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    for rank in range(RANKS):
        last = rank != LEAD
        write(folder / f"comm_lib_trace_rank_{rank}", plain(RANKS, count=42 if last else 41, open_last=last))
    for stem, (ending, number) in BY_NAME.items():
        for i in range(number):
            (folder / (f"{stem}{i:04}{ending}" if ending else f"{stem}.{4711 + i}")).write_bytes(b"x")
    for stem, ending, number in (LOGS, MAYBE, TEXTS):
        for i in range(number):
            (folder / f"{stem}{i:04}{ending}").write_text("step 1\n")
    assert len(list(folder.iterdir())) == 2000
    return folder


class SlowDisk:
    """What was asked of the disk, by file; each question takes :data:`DELAY`. Names are only slow by the folder."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.delay = DELAY
        self.root = str(root)
        self.asked: Counter[str] = Counter()
        scandir = os.scandir

        def entries(path):
            self.ask(path)
            with scandir(path) as found:
                return contextlib.nullcontext([_Entry(entry, self) for entry in found])

        monkeypatch.setattr(os, "scandir", entries)
        for name in ("stat", "lstat", "open"):
            monkeypatch.setattr(os, name, self.slowed(getattr(os, name)))
        for room in (session, telling):
            monkeypatch.setattr(room, "time", SimpleNamespace(monotonic=lambda: self.now))

    def ask(self, path) -> None:
        path = "" if isinstance(path, int) else os.fspath(path)
        if path.startswith(self.root):
            self.now += self.delay
            self.asked[path[len(self.root) + 1 :]] += 1

    def slowed(self, function):
        def asks(path, *args, **more):
            self.ask(path)
            return function(path, *args, **more)

        return asks

    @property
    def files(self) -> set[str]:
        """The files that anything but the name was asked of."""
        return set(self.asked) - {""}


class _Entry:
    """An ``os.DirEntry`` whose name and kind came with the folder and whose stat does not."""

    def __init__(self, entry: os.DirEntry[str], disk: SlowDisk) -> None:
        self.name, self.path = entry.name, entry.path
        self.is_symlink, self.is_dir, self.is_file, self.inode = entry.is_symlink, entry.is_dir, entry.is_file, entry.inode
        self._stat, self._disk = entry.stat, disk

    def stat(self, *, follow_symlinks=True):
        self._disk.ask(self.path)
        return self._stat(follow_symlinks=follow_symlinks)


class Screen:
    """What a screen gets, and how far the disk had been asked by then."""

    def __init__(self, disk: SlowDisk) -> None:
        self.disk = disk
        self.shown: list[tuple[Incident, set[str], float]] = []

    def __call__(self, incident: Incident) -> None:
        self.shown.append((incident, self.disk.files, self.disk.now))


@dataclass(frozen=True)
class Look:
    """A whole look with a screen, and all that was seen of it."""

    final: Incident
    screen: Screen
    disk: SlowDisk
    progress: list[tuple[int, int]]


@pytest.fixture(scope="module")
def look(folder):
    progress: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        disk = SlowDisk(folder, patch)
        screen = Screen(disk)
        final = Session([str(folder)], OPTIONS).look(lambda *numbers: progress.append(numbers), screen)
    return Look(final, screen, disk, progress)


@pytest.fixture
def disk(folder, monkeypatch):
    return SlowDisk(folder, monkeypatch)


@pytest.fixture
def screen(disk):
    return Screen(disk)


def dump_names() -> set[str]:
    return {f"comm_lib_trace_rank_{rank}" for rank in range(RANKS)}


def skipped_names() -> set[str]:
    return {
        f"{stem}{i:04}{ending}" if ending else f"{stem}.{4711 + i}"
        for stem, (ending, number) in BY_NAME.items()
        for i in range(number)
    }


def test_the_first_screen_comes_within_a_second_and_a_half_and_cost_only_dumps(look):
    incident, looked_at, when = look.screen.shown[0]
    assert when < 1.5
    assert len(looked_at) <= RANKS
    assert looked_at <= dump_names()
    assert incident.coverage.read
    assert look.disk.now > 20  # most of the time went by after it


def test_the_answer_is_there_before_most_files_were_looked_at(look):
    incident, looked_at = next((one, files) for one, files, _ in look.screen.shown if len(one.coverage.read) == RANKS)
    assert incident.leads == (LEAD,)
    assert len(looked_at) < 200  # a tenth of all
    assert look.final.leads == (LEAD,)


def test_the_first_screen_names_every_file_and_claims_nothing_of_those_that_wait(look):
    incident, looked_at, _ = look.screen.shown[0]
    by_path = {source.path: source for source in incident.records.sources}
    skipped = skipped_names()
    assert len(by_path) == 2000
    for path, source in by_path.items():
        if path in skipped:
            assert (source.kind, source.status.value) == (SourceKind.OTHER, "ignored")
        elif not source.usable:
            assert (source.status.value, source.reason) == ("growing", NOT_READ_YET), path
    assert {path for path, source in by_path.items() if source.usable} <= looked_at


def test_what_is_skipped_by_name_is_never_asked_for_and_the_ledger_says_so(look):
    assert look.disk.files.isdisjoint(skipped_names())
    assert len(look.disk.files) == 2000 - len(skipped_names())
    by_path = {source.path: source for source in look.final.records.sources}
    assert by_path["checkpoint0699.distcp"].reason == "a checkpoint or data by its name"
    assert by_path["model_part0000.py"].reason == "source text or configuration by its name"
    assert by_path["core.4711"].reason == "a core file by its name"
    assert all("by its name" in (by_path[path].reason or "") for path in skipped_names())
    for incident in (look.final, look.screen.shown[0][0]):
        ledger = to_ledger(incident)
        assert "700 .distcp, 300 .npy" in ledger
        assert "200 .py" in ledger
        assert "98 .png" in ledger


def test_all_dumps_are_shown_before_a_log_is_read(look):
    first = next(files for incident, files, _ in look.screen.shown if incident.leads == (LEAD,))
    assert not any(name.endswith(".log") for name in first)
    last = look.screen.shown[-1][0]
    assert {source.reason for source in last.records.sources if source.kind is SourceKind.LOG} == {NOT_READ_YET}


def test_each_dump_is_asked_for_twice_and_progress_never_goes_back(look):
    assert {look.disk.asked[name] for name in dump_names()} == {2}  # its size, and its bytes
    found = RANKS + LOGS[2] + MAYBE[2] + TEXTS[2]
    assert {total for _, total in look.progress} == {found}
    done = [done for done, _ in look.progress]
    assert done == sorted(done)
    assert done[-1] == found


def test_screens_get_rarer_so_that_showing_costs_little(look):
    assert 3 <= len(look.screen.shown) <= 12


def test_the_end_is_the_same_as_without_a_screen(folder, look):
    alone = Session([str(folder)], OPTIONS).look()
    assert look.final.records.sources == alone.records.sources
    assert look.final.findings == alone.findings
    assert {source.path for source in alone.records.sources if source.usable} == dump_names()


def test_logs_that_take_long_wait_for_all_dumps_to_be_shown(disk, screen, tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    disk.root = str(folder)
    for rank in range(2):
        write(folder / f"rank_{rank}", plain(2))
    for i in range(40):
        (folder / f"{i}.log").write_text("step 1\n")
    before = disk.now
    disk.delay = 0.01  # all that is found is looked at in less than half a second
    Session([str(folder)], OPTIONS).look(on_partial=screen)
    assert [incident.coverage.read for incident, _, _ in screen.shown] == [(0, 1)]
    assert screen.shown[0][2] - before == pytest.approx(0.7, abs=0.05)


@pytest.mark.parametrize("shown", [True, False])
def test_looking_can_be_called_off(folder, disk, screen, shown):
    session = Session([str(folder)], OPTIONS)
    with pytest.raises(Cancelled):
        session.look(on_partial=screen if shown else None, cancelled=lambda: disk.now > 3)
    assert len(disk.files) < 100


def test_another_look_shows_no_parts_without_what_was_known(tmp_path, monkeypatch):
    for rank in range(40):
        write(tmp_path / f"rank_{rank}", plain(40))
    session = Session([str(tmp_path)], OPTIONS)
    session.look()
    write(tmp_path / "rank_3", plain(40, count=3))
    screen = Screen(SlowDisk(tmp_path, monkeypatch))
    session.look(on_partial=screen)
    assert screen.shown == []
