"""The watcher: with a clock and a disk that tests move by hand, and once for real."""

from __future__ import annotations

import errno
import math
import os
import threading
import time

import pytest

from hangview.watch import Change, Gone, Grown, Listing, Ready, Replaced, Seen, Stamp, Stuck, Watcher, scan_paths, wanted
from hangview.watch import scan as scan_module
from hangview.watch.inotify import Alarm
from hangview.watch.mounts import file_system

A, B = "/dumps/trace_0", "/dumps/trace_1"
NOW = 1_800_000_000.0


class World:
    """A clock and a folder."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.files: dict[str, Stamp] = {}
        self.unread: tuple[str, ...] = ()
        self.stats = 0
        self.inode = 0

    def write(self, path, size, inode=None):
        known = self.files.get(path)
        self.inode += 1
        when = int((NOW + self.seconds) * 1e9)
        self.files[path] = Stamp(size, when, inode or (known.inode if known else self.inode), when)

    def clock(self):
        return self.seconds

    def wall(self):
        return NOW + self.seconds

    def scan(self, paths, skip):
        paths = tuple(paths)
        inside = {p: s for p, s in self.files.items() if any(p == q or p.startswith(q + "/") for q in paths)}
        inside = {p: s for p, s in inside.items() if not p.startswith(self.unread or ("?",))}
        self.stats += sum(path not in skip for path in inside)
        return Listing({p: None if p in skip else s for p, s in inside.items()}, {"/dumps": 1}, self.unread)

    def watcher(self, *paths, poll=2.0):
        return Watcher(paths or ("/dumps",), poll=poll, clock=self.clock, wall=self.wall, scan=self.scan, local=False)


@pytest.fixture
def world():
    return World()


def test_a_dump_is_seen_grows_and_settles(world):
    watcher = world.watcher()
    assert watcher.poll() == ()
    world.write(A, 0)
    assert watcher.poll() == (Seen(A, 0),)
    world.seconds = 2
    world.write(A, 4096)
    assert watcher.poll() == (Grown(A, 4096),)
    assert not watcher.settled(A)
    world.seconds = 4
    assert watcher.poll() == (Ready(A, 4096, world.files[A].mtime_ns, world.files[A].inode),)
    assert watcher.settled(A) == 2.0
    world.seconds = 6
    assert watcher.poll() == (Stuck(A, 4096, 4.0),)
    assert watcher.settled(A) == 4.0


def test_settling_takes_a_whole_interval_however_often_it_looks(world):
    watcher = world.watcher()
    world.write(A, 10)
    watcher.poll()
    for world.seconds in (0.3, 0.6, 1.9):
        assert watcher.poll() == ()
        assert not watcher.settled(A)
    world.seconds = 2.0
    assert [type(change) for change in watcher.poll()] == [Ready]


def test_a_folder_of_old_files_is_ready_at_the_first_look(world):
    world.write(A, 10)
    world.write(B, 0)
    world.seconds = 61
    watcher = world.watcher()
    kinds = [(type(change), change.path) for change in watcher.poll()]
    assert kinds == [(Seen, A), (Ready, A), (Seen, B)]
    assert watcher.settled(A) == math.inf  # so that what it lacks will not come
    assert watcher.settled(B) == math.inf
    world.seconds = 99
    assert watcher.poll() == ()


def test_a_file_with_an_old_time_that_was_put_there_just_now_is_not_old(world):
    """rsync and tar give files their old modification times; the time of the last change of the inode tells."""
    world.files[A] = Stamp(10, int((NOW - 1e6) * 1e9), 5, int(NOW * 1e9))
    watcher = world.watcher()
    assert watcher.poll() == (Seen(A, 10),)
    assert not watcher.settled(A)


def test_a_second_dump_of_a_rank_replaces_the_first_and_must_settle_again(world):
    watcher = world.watcher(poll=1.0)
    world.write(A, 900)
    watcher.poll()
    world.seconds = 1
    watcher.poll()
    assert watcher.settled(A)
    world.seconds = 20  # past the ten intervals after which settled files are looked at again
    world.write(A, 300)
    assert watcher.poll() == (Replaced(A, 300),)
    assert not watcher.settled(A)
    world.seconds = 21
    assert watcher.poll() == (Ready(A, 300, world.files[A].mtime_ns, world.files[A].inode),)


def test_a_copy_of_the_same_size_and_time_is_noticed_by_its_inode(world):
    world.write(A, 900)
    world.seconds = 100
    watcher = world.watcher()
    watcher.poll()
    world.files[A] = Stamp(900, world.files[A].mtime_ns, 77)
    watcher.look_now()
    assert watcher.poll() == (Replaced(A, 900),)


def test_settled_files_are_asked_for_their_size_only_now_and_then(world):
    for rank in range(100):
        world.write(f"/dumps/trace_{rank}", 10)
    watcher = world.watcher(poll=1.0)
    watcher.poll()
    world.seconds = 1
    watcher.poll()
    world.stats = 0
    for world.seconds in range(2, 10):
        watcher.poll()
    assert world.stats == 0
    world.seconds = 11
    watcher.poll()
    assert world.stats == 100


def test_gone_and_back(world):
    world.write(A, 10)
    watcher = world.watcher()
    watcher.poll()
    del world.files[A]
    world.seconds = 2
    assert watcher.poll() == (Gone(A),)
    assert not watcher.settled(A)
    world.write(A, 10)
    assert watcher.poll() == (Seen(A, 10),)


def test_a_folder_that_cannot_be_listed_for_a_while_loses_nothing(world):
    world.write(A, 10)
    watcher = world.watcher()
    watcher.poll()
    world.unread = ("/dumps",)
    assert watcher.poll() == ()
    world.unread = ()
    world.seconds = 2
    assert [type(change) for change in watcher.poll()] == [Ready]


def test_an_empty_file_is_stuck_after_two_intervals_and_not_for_ever(world):
    watcher = world.watcher(poll=1.0)
    world.write(A, 0)
    said = []
    for world.seconds in range(12):
        said += watcher.poll()
    assert said == [Seen(A, 0), Stuck(A, 0, 2.0), Stuck(A, 0, 4.0), Stuck(A, 0, 8.0)]
    assert watcher.settled(A)
    world.write(A, 500)
    assert watcher.poll() == (Replaced(A, 500),)


def test_a_file_that_a_reader_found_cut_is_stuck_when_it_stays_so(world):
    watcher = world.watcher(poll=1.0)
    world.write(A, 1_200_000)
    watcher.poll()
    world.seconds = 1
    watcher.poll()
    assert watcher.settled(A) == 1.0
    world.seconds = 2
    assert watcher.poll() == (Stuck(A, 1_200_000, 2.0),)
    world.seconds = 3
    assert watcher.poll() == ()
    assert watcher.settled(A) == 3.0
    world.seconds = 4  # it is looked at in every round, although others that have settled are not
    world.write(A, 2_400_000)
    assert watcher.poll() == (Replaced(A, 2_400_000),)
    assert watcher.settled(A) == 0


def test_it_looks_less_often_when_nothing_happens(world):
    watcher = world.watcher()
    world.write(A, 10)
    watcher.poll()
    assert watcher.interval == 2.0
    world.seconds = 2
    watcher.poll()
    world.seconds = 601
    assert watcher.interval == 2.0
    world.seconds = 602
    assert watcher.interval == 30.0
    world.write(B, 10)
    watcher.poll()
    assert watcher.interval == 2.0


def test_a_path_that_no_look_has_found_is_looked_at_when_asked_for(world):
    world.write("/elsewhere/odd", 10)
    watcher = world.watcher()
    assert not watcher.settled("/elsewhere/odd")
    world.seconds = 2
    assert [type(change) for change in watcher.poll()] == [Ready]
    assert watcher.settled("/elsewhere/../elsewhere/odd")
    assert not watcher.settled("/elsewhere/none")


def test_words_for_the_banner(world):
    watcher = world.watcher(poll=5)
    assert watcher.mode == "not watching"
    assert watcher.checked_ago() is None
    watcher.poll()
    world.seconds = 12
    assert watcher.checked_ago() == 12


@pytest.mark.parametrize("name", ["nccl_trace_rank_0", "comm_lib_trace_rank_12.json", "train.log", "rank7.pkl", "dump.bin"])
def test_names_that_may_be_dumps_or_logs(name):
    assert wanted(name)


@pytest.mark.parametrize("name", [".nccl_trace_rank_0.Xy12", "trace_0.pipe", "core.123", "model_0.safetensors", "a.tmp", "b~"])
def test_names_that_are_not(name):
    assert not wanted(name)


def test_scan_goes_down_to_hosts_and_touches_no_pipe(tmp_path):
    (tmp_path / "node0").mkdir()
    (tmp_path / "node0" / "trace_0").write_bytes(b"abc")
    os.mkfifo(tmp_path / "trace_7")
    deep = tmp_path / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (deep / "trace_9").write_bytes(b"x")
    listing = scan_paths([str(tmp_path), str(tmp_path / "nothing here")], frozenset())
    assert listing.files.keys() == {str(tmp_path / "node0" / "trace_0")}
    stamp = listing.files[str(tmp_path / "node0" / "trace_0")]
    assert stamp is not None
    assert stamp.size == 3
    assert str(deep.parent) in listing.folders
    assert str(deep) not in listing.folders


def test_scan_says_where_it_stops(tmp_path, monkeypatch):
    monkeypatch.setattr(scan_module, "MAX_FILES", 3)
    for rank in range(5):
        (tmp_path / f"trace_{rank}").write_bytes(b"x")
    listing = scan_paths([str(tmp_path)], frozenset())
    assert len(listing.files) == 3
    assert listing.notes[0].startswith("more than 3 files")
    assert listing.unread == (str(tmp_path),)  # so that what it did not get to does not count as gone


def test_scan_says_which_folder_it_may_not_list(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)

    monkeypatch.setattr(os, "scandir", refuse)
    listing = scan_paths([str(tmp_path)], frozenset())
    assert listing.notes == (f"cannot list {tmp_path}: Permission denied",)
    assert listing.unread == (str(tmp_path),)


MOUNTS = r"""22 27 0:21 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
25 24 0:23 / /home rw - nfs4 server:/home rw,vers=4.2
26 24 0:24 / /home/me/local\040disk rw - xfs /dev/sdb rw
27 24 0:25 / /scratch rw master:2 shared:5 - lustre mgs@tcp:/scratch rw
28 24 0:26 / /scratch rw - tmpfs none rw
broken line"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/tmp/x", "ext4"),
        ("/home/me/run", "nfs4"),
        ("/homework", "ext4"),
        ("/home/me/local disk/run", "xfs"),
        ("/scratch", "tmpfs"),  # mounted over
    ],
)
def test_file_system_of_a_path(path, kind):
    assert file_system(path, MOUNTS) == kind


@pytest.mark.parametrize(("number", "word"), [(errno.EMFILE, "instances"), (errno.ENOSPC, "watches")])
def test_used_up_inotify_falls_back_with_a_word(monkeypatch, number, word):
    def refuse(self, folder):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Alarm, "_schedule", refuse)
    alarm = Alarm(lambda path: None)
    alarm.cover({"/dumps": 1})
    assert not alarm.armed
    assert word in str(alarm.note)
    assert "polling only" in str(alarm.note)
    alarm.cover({"/dumps": 1})  # and stays off


def test_too_many_folders_for_inotify():
    alarm = Alarm(lambda path: None)
    alarm.cover({f"/dumps/{n}": n for n in range(100)})
    assert not alarm.armed
    assert "folders" in str(alarm.note)


@pytest.mark.parametrize("local", [True, False])
def test_for_real_on_a_folder_that_appears_later(tmp_path, local):
    folder = tmp_path / "later"
    dump = folder / "trace_0"
    found: list[Change] = []
    news = threading.Condition()

    def on_change(changes):
        with news:
            found.extend(changes)
            news.notify_all()

    def wait_for(kind: type[Change]) -> None:
        with news:
            assert news.wait_for(lambda: any(type(change) is kind for change in found), timeout=20), found

    watcher = Watcher([str(folder)], poll=0.05, local=local)
    watcher.start(on_change)
    try:
        assert watcher.mode.startswith("watching (poll")
        folder.mkdir()
        with dump.open("wb") as file:
            file.write(b"\x80")
            file.flush()
            wait_for(Seen)
            file.write(b"\x02")
        wait_for(Ready)
        assert watcher.settled(str(dump))
        assert watcher.mode == ("watching (inotify)" if local else "watching (poll 0.05 s)")
        dump.unlink()
        wait_for(Gone)
    finally:
        watcher.stop()
    assert watcher.mode == "not watching"


def test_inotify_makes_the_next_look_come_sooner(tmp_path):
    """With a poll of an hour only inotify can bring the news."""
    found = threading.Event()
    looked = threading.Event()

    def scan(paths, skip):
        listing = scan_paths(paths, skip)
        looked.set()
        return listing

    watcher = Watcher([str(tmp_path)], poll=3600, local=True, scan=scan)
    watcher.start(lambda changes: found.set())
    try:
        assert looked.wait(20)
        deadline = time.monotonic() + 20
        while watcher.mode != "watching (inotify)" and time.monotonic() < deadline:
            time.sleep(0.01)
        (tmp_path / "trace_0").write_bytes(b"x")
        assert found.wait(20)
    finally:
        watcher.stop()


def test_paused_it_looks_only_when_asked(tmp_path):
    looks = threading.Semaphore(0)

    def scan(paths, skip):
        looks.release()
        return scan_paths(paths, skip)

    watcher = Watcher([str(tmp_path)], poll=0.01, local=False, scan=scan)
    watcher.pause()
    watcher.start(lambda changes: None)
    try:
        assert looks.acquire(timeout=20)  # the first look is always made
        assert watcher.mode == "watching paused"
        assert not looks.acquire(timeout=0.6)
        watcher.look_now()
        assert looks.acquire(timeout=20)
        assert not looks.acquire(timeout=0.6)
        watcher.resume()
        assert looks.acquire(timeout=20)
        assert looks.acquire(timeout=20)
    finally:
        watcher.stop()


def test_a_callback_that_raises_ends_nothing(tmp_path, capfd):
    calls = threading.Semaphore(0)

    def on_change(changes):
        calls.release()
        raise RuntimeError("the screen is closing")

    watcher = Watcher([str(tmp_path)], poll=0.01, local=False)
    watcher.start(on_change)
    try:
        for rank in range(2):
            (tmp_path / f"trace_{rank}").write_bytes(b"x")
            assert calls.acquire(timeout=20)
    finally:
        watcher.stop()
    assert capfd.readouterr().err == ""


def test_stop_does_not_wait_for_a_dead_server(tmp_path):
    stuck, release = threading.Event(), threading.Event()

    def scan(paths, skip):
        stuck.set()
        release.wait(20)
        return Listing({}, {})

    watcher = Watcher([str(tmp_path)], local=False, scan=scan)
    watcher.start(lambda changes: None)
    assert stuck.wait(20)
    watcher.stop()  # would hang here
    assert watcher.mode == "not watching"
    release.set()
