import errno
import os
from pathlib import Path

import numpy as np
import pytest

from hangview.dumps import cache, shelf
from hangview.dumps.assemble import assemble
from hangview.dumps.find import Found, find
from hangview.dumps.read import read_file
from hangview.dumps.result import FileRead
from hangview.schema import Limits, ReadOptions
from tests.dumps.job import calls, config, dump, entry, plain, write
from tests.dumps.test_bundles import tar

Results = dict[tuple[str, int, int, int], tuple[FileRead, ...]]
OPTIONS = ReadOptions()
LIMITS = OPTIONS.limits


@pytest.fixture
def job(tmp_path):
    """Dumps of every sort: whole, cut, refused, empty, without entries, JSON, in a bundle, and a file that is none."""
    folder = tmp_path / "job"
    for rank in range(3):
        write(folder / f"rank_{rank}", plain(9, count=5 + rank))
    write(
        folder / "rank_3.json", dump([entry(1, duration_ms=1.5, frames=[]), entry(2, zzz=1, process_group=("0", "\ud800"))], {})
    )
    write(folder / "rank_4", dump([], config(default_pg=range(9))))
    data = write(folder / "rank_5", plain(9, count=40)).read_bytes()
    (folder / "rank_5").write_bytes(data[: len(data) // 2])
    (folder / "rank_6").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    (folder / "rank_7").write_bytes(b"")
    (folder / "EXPECT.json").write_text("{}")
    (folder / "all.tar").write_bytes(tar({"rank_8": data, "x.log": b"hello"}))
    write(folder / "old_9", dump(calls(3, input_dtypes=None, output_dtypes=None), config(default_pg=range(10))))
    return folder


def look(folder: Path) -> tuple[tuple[Found, ...], Results]:
    files = find([str(folder)], OPTIONS).dumps
    return files, {found.key: read_file(found, LIMITS) for found in files}


def stored(folder: Path) -> tuple[tuple[Found, ...], Results]:
    files, results = look(folder)
    assert cache.store(files, OPTIONS, results)
    return files, results


def flat(files: tuple[Found, ...], results: Results) -> list[FileRead]:
    return [one for found in files for one in results[found.key]]


def entry_of_cache() -> Path:
    (path,) = shelf.folder().glob("*.dumps")
    return path


def test_what_comes_back_is_what_was_stored(job):
    files, results = stored(job)
    again = cache.load(files, LIMITS)
    assert again is not None
    assert list(again) == [found.key for found in files]
    for before, after in zip(flat(files, results), flat(files, again), strict=True):
        assert (before.found, before.kind, before.status, before.reason, before.facts) == (
            after.found,
            after.kind,
            after.status,
            after.reason,
            after.facts,
        )
        assert (before.decoded is None) == (after.decoded is None)
        if before.decoded is not None and after.decoded is not None:
            for name in (
                "complete",
                "encoding",
                "version",
                "library",
                "configs",
                "statuses",
                "count",
                "has_entries_key",
                "unknown_keys",
                "notes",
            ):
                assert getattr(before.decoded, name) == getattr(after.decoded, name), name
            for name, column in before.decoded.columns.items():
                assert column.dtype == after.decoded.columns[name].dtype
                if name not in ("op", "label", "signature", "stack", "thread"):
                    assert np.array_equal(column, after.decoded.columns[name], equal_nan=column.dtype == np.float64)
    one, other = assemble(flat(files, results), [], OPTIONS), assemble(flat(files, again), [], OPTIONS)
    assert one.entries.equals(other.entries)
    for part in ("sources", "configs", "statuses", "labels", "ops", "signatures", "stacks", "threads", "attempts"):
        assert getattr(one, part) == getattr(other, part), part


def change_size(job):
    with (job / "rank_0").open("ab") as file:
        file.write(b"x")


def change_time(job):
    info = (job / "rank_0").stat()
    os.utime(job / "rank_0", ns=(info.st_atime_ns, info.st_mtime_ns + 1))


def change_inode(job):
    info = (job / "rank_0").stat()
    (job / "new").write_bytes((job / "rank_0").read_bytes())
    os.utime(job / "new", ns=(info.st_atime_ns, info.st_mtime_ns))
    (job / "rank_0").rename(job / "kept")  # so that the inode is not used again
    (job / "new").rename(job / "rank_0")
    (job / "kept").rename(job.parent / "kept")


def remove_one(job):
    (job / "rank_0").unlink()


@pytest.mark.parametrize("change", [change_size, change_time, change_inode, remove_one])
def test_any_change_of_a_file_is_another_set(job, change):
    stored(job)
    change(job)
    assert cache.load(find([str(job)], OPTIONS).dumps, LIMITS) is None


def test_other_limits_and_another_decoder_are_another_set(job, monkeypatch):
    files, _ = stored(job)
    assert cache.load(files, Limits(entries=7)) is None
    monkeypatch.setattr(shelf, "modules", lambda folder: ["changed"])
    assert cache.load(files, LIMITS) is None


@pytest.mark.parametrize("keep", [0, 5, 40, 200, -1])
def test_a_damaged_one_is_ignored_and_removed(job, keep):
    files, _ = stored(job)
    path = entry_of_cache()
    path.write_bytes(path.read_bytes()[:keep])
    assert cache.load(files, LIMITS) is None
    assert not path.exists()


def test_flipped_bits_are_noticed(job):
    files, _ = stored(job)
    path = entry_of_cache()
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    assert cache.load(files, LIMITS) is None


def test_a_checksum_over_nonsense_is_no_proof(job):
    files, _ = stored(job)
    path = entry_of_cache()
    body = b"hello\x05\0\0\0\0\0\0\0"
    path.write_bytes(shelf.MAGIC + shelf.checksum([body]) + body)
    assert cache.load(files, LIMITS) is None


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EROFS, "Read-only file system")]
)
def test_a_full_or_read_only_disk_is_no_misfortune_and_leaves_nothing_behind(job, monkeypatch, error):
    files, results = look(job)

    def fail(*_):
        raise error

    monkeypatch.setattr(cache, "_pack", fail)
    assert not cache.store(files, OPTIONS, results)
    assert list(shelf.folder().iterdir()) == []


def test_a_folder_that_cannot_be_made(job, monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setattr(shelf, "folder", lambda: tmp_path / "file" / "dumps")
    files, results = look(job)
    assert not cache.store(files, OPTIONS, results)
    assert cache.load(files, LIMITS) is None


def test_a_set_with_a_file_that_could_not_be_opened_is_not_kept(job):
    files, results = look(job)
    (job / "rank_0").unlink()
    results[files[0].key] = read_file(next(f for f in files if f.shown == "rank_0"), LIMITS)
    assert not cache.store(files, OPTIONS, results)


def test_a_set_of_which_a_file_was_not_read_is_not_kept(job):
    files, results = look(job)
    del results[files[0].key]
    assert not cache.store(files, OPTIONS, results)


def test_the_folder_is_the_users_own(job):
    stored(job)
    assert shelf.folder().stat().st_mode & 0o077 == 0
    assert entry_of_cache().stat().st_mode & 0o077 == 0


def test_the_oldest_go_first_when_there_are_too_many(job, monkeypatch):
    files, results = look(job)
    assert cache.store(files, OPTIONS, results)
    size = entry_of_cache().stat().st_size
    for i, limit in enumerate((11, 12, 13)):
        assert cache.store(files, ReadOptions(limits=Limits(depth=limit), cache_bytes=int(2.5 * size)), results)
        os.utime(shelf.folder() / shelf.dumps_name(files, Limits(depth=limit)), (i + 1, i + 1))
    left = {path.name for path in shelf.folder().iterdir()}
    assert shelf.dumps_name(files, Limits(depth=13)) in left
    assert len(left) == 2
    assert cache.load(files, Limits(depth=11)) is None


def test_parts_of_a_killed_program_are_swept_up(job):
    shelf.folder().mkdir(parents=True)
    part = shelf.folder() / "x.part"
    part.write_bytes(b"x")
    os.utime(part, (1, 1))
    stored(job)
    assert not part.exists()


def test_small_sets_are_not_worth_it(job):
    files, _ = look(job)
    assert not shelf.worth_it(files)
    assert not shelf.worth_it([])
