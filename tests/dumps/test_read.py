import errno
import gzip
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

import hangview
from hangview.dumps import read as reading
from hangview.dumps.find import Found
from hangview.dumps.read import read_file
from hangview.schema import Limits, ReadOptions, SourceKind, SourceStatus
from tests.dumps.job import calls, config, dump, entry, plain, write
from tests.support.torch_pickle import dump_bytes

LIMITS = Limits()


def found(path: Path) -> Found:
    info = path.stat()
    return Found(str(path), path.name, SourceKind.DUMP, info.st_size, info.st_mtime_ns, info.st_ino)


def only(path: Path, limits: Limits = LIMITS) -> Any:
    (result,) = read_file(found(path), limits)
    return result


def test_a_whole_dump(tmp_path):
    result = only(write(tmp_path / "rank_0", plain(2)))
    assert (result.kind, result.status, result.reason) == (SourceKind.DUMP, SourceStatus.READ, None)
    assert result.decoded.count == 4
    assert result.facts.library == "nccl"


def test_a_cut_dump_keeps_its_whole_entries_and_says_so(tmp_path):
    data = write(tmp_path / "whole", plain(2, count=50)).read_bytes()
    (tmp_path / "rank_0").write_bytes(data[: len(data) // 2])
    result = only(tmp_path / "rank_0")
    assert result.status is SourceStatus.CUT
    assert 0 < result.decoded.count < 50
    assert result.reason.endswith(f" kB: {result.decoded.count} entries before that are used")


@pytest.mark.parametrize(
    ("name", "data", "kind", "status", "words"),
    [
        ("rank_0", b"", SourceKind.DUMP, SourceStatus.EMPTY, "empty file (0 bytes)"),
        (
            "rank_0",
            bytes(range(161, 177)) + b"\0" * 8 + b"\x01",
            SourceKind.DUMP,
            SourceStatus.UNREADABLE,
            "not a flight-recorder dump",
        ),
        ("rank_0", pickle.dumps({"a": 1}, 2), SourceKind.DUMP, SourceStatus.UNREADABLE, "not a flight-recorder dump"),
        ("rank_0", b"cos\nsystem\n(S'true'\ntR.", SourceKind.DUMP, SourceStatus.REFUSED, "refused"),
        ("node7_0", b"plain text", SourceKind.OTHER, SourceStatus.IGNORED, "text, not a flight-recorder dump"),
        ("node7_0", b"\x7fELF\x02", SourceKind.OTHER, SourceStatus.IGNORED, "not a flight-recorder dump"),
        ("train_log_0", b"step 1\nstep 2\n", SourceKind.LOG, SourceStatus.READ, None),
        ("rank_0_log", b"step 1\nstep 2\n", SourceKind.LOG, SourceStatus.READ, None),
    ],
)
def test_what_is_no_dump(tmp_path, name, data, kind, status, words):
    (tmp_path / name).write_bytes(data)
    result = only(tmp_path / name)
    assert (result.kind, result.status, result.decoded) == (kind, status, None)
    assert words is None or words in result.reason


def test_a_pickle_that_asks_for_code_does_not_get_it(tmp_path):
    class Crafted:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    (tmp_path / "rank_0").write_bytes(pickle.dumps({"entries": Crafted()}, 2))
    result = only(tmp_path / "rank_0")
    assert result.status is SourceStatus.REFUSED
    assert "mkdir" in result.reason
    assert not (tmp_path / "made").exists()


def test_a_file_past_the_limit_is_refused_unread_with_the_option_that_raises_it(tmp_path, monkeypatch):
    write(tmp_path / "rank_0", plain(2))
    monkeypatch.setattr(reading, "decode", lambda *_: pytest.fail("it was decoded"))
    result = only(tmp_path / "rank_0", Limits(file_bytes=100))
    assert result.status is SourceStatus.REFUSED
    assert "100 bytes" in result.reason
    assert "--max-file-size" in result.reason


def test_a_large_file_that_is_no_dump_is_not_read_to_its_end(tmp_path):
    with (tmp_path / "data_0").open("wb") as file:
        file.write(b"\x7fELF")
        file.truncate(1 << 40)  # sparse
    assert only(tmp_path / "data_0").status is SourceStatus.IGNORED


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    write(tmp_path / "rank_0", plain(2))
    before = found(tmp_path / "rank_0")
    (tmp_path / "rank_0").unlink()
    os.mkfifo(tmp_path / "rank_0")
    (result,) = read_file(before, LIMITS)
    assert result.status is SourceStatus.UNREADABLE
    assert result.reason == "a named pipe, no regular file"


def test_a_file_that_is_gone_or_not_ours(tmp_path, monkeypatch):
    before = found(write(tmp_path / "rank_0", plain(2)))
    (tmp_path / "rank_0").unlink()
    (gone,) = read_file(before, LIMITS)
    assert (gone.status, gone.reason, gone.opened) == (SourceStatus.UNREADABLE, "No such file or directory", False)

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(reading, "open_regular", refuse)
    (shut,) = read_file(before, LIMITS)
    assert (shut.status, shut.reason, shut.opened) == (SourceStatus.UNREADABLE, "Permission denied", False)


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), KeyError("x")])
def test_a_fault_while_decoding_costs_that_file_only(tmp_path, monkeypatch, error):
    write(tmp_path / "rank_0", plain(2))

    def fail(*_):
        raise error

    monkeypatch.setattr(reading, "decode", fail)
    result = only(tmp_path / "rank_0")
    assert result.decoded is None
    assert result.reason
    assert "\n" not in result.reason


def test_compressed_files_are_the_file_inside(tmp_path):
    data = write(tmp_path / "whole", plain(2)).read_bytes()
    (tmp_path / "rank_0.gz").write_bytes(gzip.compress(data))
    assert only(tmp_path / "rank_0.gz").decoded.count == 4


def test_a_compressed_file_that_ends_early_gives_what_is_there(tmp_path):
    data = gzip.compress(write(tmp_path / "whole", plain(2, count=400)).read_bytes())
    (tmp_path / "rank_0.gz").write_bytes(data[: len(data) // 2])
    result = only(tmp_path / "rank_0.gz")
    assert result.status is SourceStatus.CUT
    assert result.decoded.count > 0
    assert result.reason.startswith("the compressed file ends early; ")


def test_a_bundle_of_bombs_ends_when_enough_work_was_wasted(tmp_path, monkeypatch):
    ticks = iter(range(1000))
    monkeypatch.setattr("time.thread_time", lambda: next(ticks) * 0.4)  # each member costs as much
    bomb = b"\x80\x02" + b"](e" * 100
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as bundle:
        bundle.writestr("rank_0", pickle.dumps(plain(2)))
        for rank in range(1, 9):
            bundle.writestr(f"rank_{rank}", bomb)
    results = read_file(found(tmp_path / "all.zip"), LIMITS)
    assert [result.status.value for result in results] == ["read", *["unreadable"] * 3, "refused"]
    assert results[-1].reason == (
        "too much work went into members that are no dumps: the rest was not looked at; 4 members were read before"
    )


DAMAGES: dict[str, tuple[Any, str]] = {
    "a wild byte": (
        lambda data, at: data[:at] + b"\xfe" + data[at + 1 :],
        "damaged at byte {at:,} (no value can start with byte 0xfe)",
    ),
    "zeros at the end": (lambda data, at: data[:at] + b"\0" * (len(data) - at), "its last {left:,} bytes are zeros"),
    "cut": (lambda data, at: data[:at], "the file ends early, after {size}"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_in_the_middle_is_not_called_the_end(tmp_path, name):
    change, words = DAMAGES[name]
    data = dump_bytes(plain(2, count=300))
    at = data.index(b"}(", len(data) // 2)  # where an entry starts
    damaged = change(data, at)
    (tmp_path / "rank_0").write_bytes(damaged)
    result = only(tmp_path / "rank_0")
    assert result.status is SourceStatus.CUT
    expected = words.format(at=at, left=len(data) - at, size=f"{len(damaged) / 1000:.1f} kB")
    assert result.reason == f"{expected}: {result.decoded.count} entries before that are used"
    assert 100 < result.decoded.count < 300


@pytest.mark.parametrize("cut", [False, True])
def test_damage_in_json_is_not_called_the_end(tmp_path, cut):
    data = json.dumps(plain(2, count=300)).encode()
    at = data.index(b'"state"', len(data) // 2)
    (tmp_path / "rank_0.json").write_bytes(data[: at + 3] if cut else data[:at] + b"#" + data[at:])
    result = only(tmp_path / "rank_0.json")
    assert result.status is SourceStatus.CUT
    words = "the file ends early, after " if cut else f"damaged at character {at:,} ("
    assert result.reason.startswith(words)
    assert result.reason.endswith(f": {result.decoded.count} entries before that are used")
    assert 100 < result.decoded.count < 300


@pytest.mark.parametrize("name", ["collective_seq_id", "p2p_seq_id", "op_id", "pg_id"])
@pytest.mark.parametrize("number", [2**31, 2**62, -(2**62)])
def test_a_number_that_no_job_counts_to_costs_this_file_and_no_other(tmp_path, name, number):
    """One such number ended the analysis of all ranks."""
    for rank in range(3):
        write(tmp_path / f"rank_{rank}", dump(calls(4, open_last=True), config(default_pg=[0, 1, 2])))
    write(tmp_path / "rank_1", dump([*calls(3), entry(4, **{name: number})], config(default_pg=[0, 1, 2])))
    incident = hangview.load(str(tmp_path), options=ReadOptions(cache=False))
    assert incident.coverage.read == (0, 2)
    (reason,) = (source.reason for source in incident.records.sources if source.rank == 1)
    assert f"{number:,}, which no job counts to" in str(reason)
    assert incident.leads == ()


def test_a_file_that_grows_while_it_is_read_is_read_on(tmp_path, monkeypatch):
    """What is there when it is opened is not all that is there a moment later."""
    path = write(tmp_path / "rank_0", plain(2, count=50))
    data, before = path.read_bytes(), os.fstat

    def shorter(fd: int) -> os.stat_result:
        told = list(before(fd))
        told[6] = len(data) // 2 if told[6] == len(data) else told[6]
        return os.stat_result(told)

    monkeypatch.setattr(os, "fstat", shorter)
    result = only(path)
    assert (result.status, result.decoded.count) == (SourceStatus.READ, 50)
