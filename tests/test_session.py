import gc
import math
import os
import threading
from pathlib import Path

import pytest

from hangview import session, telling
from hangview.dumps import shelf, worker
from hangview.dumps.calling_off import Cancelled
from hangview.incident import Incident
from hangview.loading import load_incident
from hangview.report.coverage import coverage_lines
from hangview.schema import NOT_READ_YET, ReadOptions, SourceKind
from hangview.session import Session
from hangview.watch import Watcher
from tests.dumps.job import four, plain, statuses, write

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def job(tmp_path):
    return four(tmp_path)


@pytest.fixture
def reads(monkeypatch):
    """The names of the files that are decoded, as they are."""
    seen: list[str] = []
    read = worker.read_together

    def watched(files, limits, known):
        seen.extend(found.shown for found in files)
        return read(files, limits, known)

    monkeypatch.setattr(worker, "read_together", watched)
    return seen


def test_collection_is_off_while_loading_and_as_before_afterwards(job, monkeypatch):
    states = []
    monkeypatch.setattr(session, "_analyse", lambda *_: states.append(gc.isenabled()))
    load_incident([str(job)])
    assert states == [False]
    assert gc.isenabled()


# --- looking again


def test_only_what_changed_is_read_again(job, reads):
    session = Session([str(job)])
    assert session.look().leads == (3,)
    assert len(reads) == 4

    reads.clear()
    assert session.look().leads == (3,)
    assert reads == []

    write(job / "rank_3", plain(4, count=42))
    assert session.look().leads == ()
    assert reads == ["rank_3"]


def test_files_that_come_and_go(job, reads):
    session = Session([str(job)])
    session.look()
    (job / "rank_2").rename(job.parent / "rank_2")
    without = session.look()
    assert without.coverage.read == (0, 1, 3)
    (job.parent / "rank_2").rename(job / "rank_2")
    reads.clear()
    assert session.look().coverage.read == (0, 1, 2, 3)
    assert reads == ["rank_2"]  # what is gone is not kept


def test_a_file_of_the_same_size_and_time_under_another_inode_is_another_file(job, reads):
    session = Session([str(job)])
    session.look()
    info = (job / "rank_0").stat()
    (job / "new").write_bytes((job / "rank_0").read_bytes())
    os.utime(job / "new", ns=(info.st_atime_ns, info.st_mtime_ns))
    (job / "rank_0").rename(job.parent / "kept")
    (job / "new").rename(job / "rank_0")
    reads.clear()
    session.look()
    assert reads == ["rank_0"]


def test_logs_are_scanned_once(job, monkeypatch):
    import hangview.logs.reading

    (job / "a.log").write_text("hello\n")
    scanned = []
    scan = hangview.logs.reading.scan_log

    def watched(file):
        scanned.append(file.shown)
        return scan(file)

    monkeypatch.setattr(hangview.logs.reading, "scan_log", watched)
    session = Session([str(job)])
    session.look()
    write(job / "rank_2", plain(4, count=43))
    session.look()
    assert scanned == ["a.log"]
    (job / "a.log").write_text("hello\nhello\n")
    session.look()
    assert scanned == ["a.log", "a.log"]


# --- files that are still being written


def test_a_growing_file_is_no_fault_until_it_has_settled(job, reads):
    whole = (job / "rank_3").read_bytes()
    (job / "rank_3").write_bytes(whole[:1500])
    (job / "rank_2").write_bytes(b"")
    session = Session([str(job)])
    asked = []

    def settled(path):
        asked.append(Path(path).name)
        return False

    growing = session.look(settled=settled)
    assert sorted(asked) == ["rank_2", "rank_3"]
    assert statuses(growing) == {"rank_0": "read", "rank_1": "read", "rank_2": "growing", "rank_3": "growing"}
    assert {s.path: s.reason for s in growing.records.sources if s.reason} == {
        "rank_2": "being written, 0 bytes so far",
        "rank_3": "being written, 1.5 kB so far",
    }
    assert growing.coverage.read == (0, 1)

    reads.clear()
    at_rest = session.look(settled=lambda _: math.inf)
    assert sorted(reads) == ["rank_2", "rank_3"]
    assert statuses(at_rest)["rank_2"] == "empty"
    assert statuses(at_rest)["rank_3"] == "cut"

    (job / "rank_3").write_bytes(whole)
    assert statuses(session.look(settled=settled))["rank_3"] == "read"


def test_what_has_paused_is_used_and_not_called_the_end(job, reads):
    """A copy in two halves: nobody but its writer knows whether more is to come."""
    whole = (job / "rank_3").read_bytes()
    (job / "rank_3").write_bytes(whole[: len(whole) // 2])
    (job / "rank_2").write_bytes(b"")
    session = Session([str(job)])
    paused = session.look(settled=lambda _: 5.5)
    assert statuses(paused) == {"rank_0": "read", "rank_1": "read", "rank_2": "empty", "rank_3": "unfinished"}
    told = {source.path: source for source in paused.records.sources}
    entries = told["rank_3"].entries
    assert 0 < entries < 41
    half = f"{len(whole) / 2000:.1f} kB so far"
    assert told["rank_3"].reason == f"being written or cut: no growth for 5 s, {half}; its {entries} whole entries are used"
    assert told["rank_2"].reason == "empty file (0 bytes); it may still be written: no growth for 5 s"
    assert paused.leads == (3,)  # by its counters, which come first in a file
    assert paused.coverage.partial == (3,)
    assert "not read to the end: rank 3" in coverage_lines(paused)
    assert "ends" not in " ".join(cell.reason for cell in paused.view.call(0, "collective", 42).cells)

    reads.clear()
    longer = {source.path: source.reason for source in session.look(settled=lambda _: 125.0).records.sources}
    assert str(longer["rank_3"]).startswith("being written or cut: no growth for 2 min, ")
    assert reads == []

    (job / "rank_3").write_bytes(whole)
    write(job / "rank_2", plain(4, count=42))
    finished = session.look(settled=lambda _: 0)
    assert sorted(reads) == ["rank_2", "rank_3"]
    assert set(statuses(finished).values()) == {"read"}
    assert finished.leads == (3,)
    assert finished.coverage.partial == ()


def test_a_dump_that_comes_in_two_halves_under_a_real_watcher(job):
    """From the half file to the finding, with nobody asking for a look but the watcher."""
    whole = (job / "rank_3").read_bytes()
    half = whole.index(b"pg_status")  # before its counters could tell
    (job / "rank_3").write_bytes(whole[:half])
    session = Session([str(job)])
    watcher = Watcher([str(job)], poll=0.05)
    changed = threading.Event()
    watcher.start(lambda _: changed.set())
    try:
        said: list[str] = []
        while not said or said[-1] != "read":
            assert changed.wait(20), said
            changed.clear()
            incident = session.look(settled=watcher.settled)
            said.append(statuses(incident)["rank_3"])
            assert incident.leads == ((3,) if said[-1] == "read" else ())
            if said[-3:] == ["unfinished"] * 3:  # however long it rests, it is never said to be final
                with (job / "rank_3").open("ab") as file:
                    file.write(whole[half:])
    finally:
        watcher.stop()
    assert set(said) <= {"growing", "unfinished", "read"}


def test_without_a_watcher_everything_has_settled(job):
    (job / "rank_2").write_bytes(b"")
    assert statuses(Session([str(job)]).look())["rank_2"] == "empty"


def test_a_file_that_cannot_be_opened_is_not_growing(job, monkeypatch):
    from hangview.dumps import find, read

    opened = find.open_regular

    def refuse(path):
        if path.endswith("rank_2"):
            raise PermissionError(13, "Permission denied", path)
        return opened(path)

    monkeypatch.setattr(read, "open_regular", refuse)
    incident = Session([str(job)]).look(settled=lambda _: False)
    assert statuses(incident)["rank_2"] == "unreadable"


# --- large sets


def test_parts_are_shown_while_loading_and_name_what_is_not_read_yet(tmp_path, monkeypatch):
    monkeypatch.setattr(telling, "FIRST_PART", 0)
    monkeypatch.setattr(telling, "SHARE", 0)
    for rank in range(16):
        write(tmp_path / f"rank_{rank}", plain(16))
    parts: list[Incident] = []
    final = Session([str(tmp_path)]).look(on_partial=parts.append)
    assert [len(part.coverage.read) for part in parts] == [1, 2, 4, 8]
    waiting = [s for s in parts[0].records.sources if s.reason == NOT_READ_YET]
    assert [s.rank for s in waiting] == list(range(1, 16))
    assert {(s.kind, s.status.value) for s in waiting} == {(SourceKind.DUMP, "growing")}
    assert not any(s.reason == NOT_READ_YET for s in final.records.sources)


def test_parts_do_not_take_the_time_that_the_rest_needs(tmp_path, monkeypatch):
    """Each file takes a second here, and a part as many as it has files: for four times as long none is shown then."""
    clock = [0.0]
    monkeypatch.setattr("hangview.telling.time.monotonic", lambda: clock[0])
    for rank in range(64):
        write(tmp_path / f"rank_{rank}", plain(64))

    def shown(part: Incident) -> None:
        clock[0] += len(part.coverage.read)
        parts.append(len(part.coverage.read))

    def read(done: int, total: int) -> None:
        clock[0] += 1

    parts: list[int] = []
    Session([str(tmp_path)]).look(on_progress=read, on_partial=shown)
    # The first after 1 file takes 1 second: 4 more pass, in which 4 files are read. The next takes 5 seconds, so 20 pass.
    assert parts == [1, 5, 25]


def test_a_small_set_is_shown_at_once_and_not_in_parts(job):
    parts: list[Incident] = []
    Session([str(job)]).look(on_partial=parts.append)
    assert parts == []


def test_a_look_can_be_called_off_and_the_session_goes_on(job, reads):
    session = Session([str(job)])
    with pytest.raises(Cancelled):
        session.look(cancelled=lambda: len(reads) == 2)
    assert len(reads) == 2
    assert session.look(cancelled=lambda: False).leads == (3,)
    assert len(reads) == 4  # what had been read was kept


def test_a_large_set_is_opened_from_the_cache_the_next_time(job, monkeypatch, reads):
    monkeypatch.setattr(shelf, "SMALL", 0)
    first = load_incident([str(job)])
    assert len(list(shelf.folder().glob("*.dumps"))) == 1
    reads.clear()
    second = load_incident([str(job)])
    assert reads == []
    assert second.records.entries.equals(first.records.entries)
    assert second.records.sources == first.records.sources
    assert second.findings == first.findings

    write(job / "rank_3", plain(4, count=42))
    assert load_incident([str(job)]).leads == ()
    assert len(reads) == 4


def test_without_the_cache_nothing_is_kept_and_nothing_taken(job, monkeypatch, reads):
    monkeypatch.setattr(shelf, "SMALL", 0)
    load_incident([str(job)], ReadOptions(cache=False))
    assert not shelf.folder().exists()
    load_incident([str(job)])
    reads.clear()
    load_incident([str(job)], ReadOptions(cache=False))
    assert len(reads) == 4


def test_what_was_cached_while_it_grew_is_not_taken_for_the_whole(job, monkeypatch):
    monkeypatch.setattr(shelf, "SMALL", 0)
    (job / "rank_2").write_bytes(b"")
    session = Session([str(job)], keep=False)
    session.look(settled=lambda _: False)
    assert statuses(load_incident([str(job)]))["rank_2"] == "empty"
    write(job / "rank_2", plain(4, count=42))
    assert statuses(load_incident([str(job)]))["rank_2"] == "read"
