import gzip
import io
import random
import sys
import tarfile
import zipfile
from typing import Any

import pytest
import zstandard

from hangview.dumps import bundles
from hangview.dumps.bundles import Unusable, pieces
from hangview.dumps.kinds import HEAD, form_of
from hangview.dumps.read import read_file
from hangview.schema import Limits, SourceStatus
from tests.dumps.job import plain, ranks, reason, records, statuses, write
from tests.dumps.test_read import found

LIMITS = Limits(file_bytes=1 << 20, unpacked_bytes=4 << 20)


def unpack(data: bytes, limits: Limits = LIMITS) -> list[Any]:
    return list(pieces(io.BytesIO(data), form_of(data[:HEAD]), limits))


def tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as bundle:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            bundle.addfile(member, io.BytesIO(data))
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in files.items():
            bundle.writestr(name, data)
    return out.getvalue()


FILES = {"run/rank_0": b"zero" * 50, "./run/rank_1": b"one", "run/empty": b""}
SEEN = [("run/rank_0", b"zero" * 50), ("run/rank_1", b"one"), ("run/empty", b"")]


@pytest.mark.parametrize(
    "data",
    [tar(FILES), gzip.compress(tar(FILES), mtime=0), zstandard.compress(tar(FILES)), zipped(FILES)],
    ids=["tar", "tar.gz", "tar.zst", "zip"],
)
def test_members_of_bundles(data):
    assert [(piece.name, piece.data) for piece in unpack(data)] == SEEN


@pytest.mark.parametrize(
    "data", [gzip.compress(b"x" * 5000, mtime=0), gzip.compress(b"x" * 2500, mtime=0) * 2, zstandard.compress(b"x" * 5000)]
)
def test_a_compressed_file_is_one_piece_without_a_name(data):
    (piece,) = unpack(data)
    assert (piece.name, piece.data, piece.reason) == ("", b"x" * 5000, None)


def test_members_may_be_compressed_themselves():
    data = tar({"rank_0.gz": gzip.compress(b"zero", mtime=0), "rank_1.zst": zstandard.compress(b"one")})
    assert [piece.data for piece in unpack(data)] == [b"zero", b"one"]


def test_a_bundle_in_a_bundle_is_left_alone():
    (piece,) = unpack(tar({"inner.tar": tar(FILES)}))
    assert piece.data is None
    assert "bundle inside a bundle" in piece.reason
    with pytest.raises(Unusable, match="zip inside gzip"):
        unpack(gzip.compress(zipped(FILES), mtime=0))


def test_links_and_devices_in_a_bundle_are_left_alone():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as bundle:
        for name, kind in (("rank_0", tarfile.SYMTYPE), ("rank_1", tarfile.FIFOTYPE), ("d", tarfile.DIRTYPE)):
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc/passwd"
            bundle.addfile(member)
    assert [(piece.name, piece.data) for piece in unpack(out.getvalue())] == [("rank_0", None), ("rank_1", None)]


@pytest.mark.parametrize("data", [gzip.compress(b"\0" * (8 << 20), mtime=0), zstandard.compress(b"\0" * (8 << 20))])
def test_a_bomb_stops_at_the_limit(data):
    (piece,) = unpack(data)
    assert piece.data is None
    assert piece.refused
    assert "--max-file-size" in piece.reason


@pytest.mark.parametrize("wrap", [bytes, gzip.compress])
def test_a_bundle_of_many_large_files_stops_at_the_limit(wrap):
    data = wrap(tar({f"rank_{i}": b"\0" * (1 << 20) for i in range(8)}))
    with pytest.raises(Unusable, match=r"unpacks to more than the limit of 4\.2 MB") as caught:
        unpack(data)
    assert caught.value.limit
    with pytest.raises(Unusable, match="unpacks to more"):
        unpack(zipped({f"rank_{i}": b"\0" * (1 << 20) for i in range(8)}))


def test_more_members_than_any_job_has_ranks(monkeypatch):
    monkeypatch.setattr(bundles, "MAX_MEMBERS", 3)
    files = {f"rank_{i}": b"x" for i in range(5)}
    for data in (tar(files), zipped(files)):
        with pytest.raises(Unusable, match="members"):
            unpack(data)


def test_without_zstandard_there_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "rank_0.zst").write_bytes(zstandard.compress(b"x"))
    (tmp_path / "run.tar.zst").write_bytes(zstandard.compress(tar(FILES)))
    write(tmp_path / "rank_1", plain(2))
    found_records = records(tmp_path)
    assert statuses(found_records) == {"rank_0.zst": "unreadable", "rank_1": "read", "run.tar.zst": "unreadable"}
    assert (
        reason(found_records, "run.tar.zst")
        == "compressed with zstd, which needs the module zstandard: pip install 'hangview[zstd]'"
    )


def test_a_bundle_is_read_in_place(tmp_path):
    dumps = {f"run/node{i // 2}/rank_{i}": write(tmp_path / "x", plain(4)).read_bytes() for i in range(4)}
    (tmp_path / "x").unlink()
    (tmp_path / "all.tar.gz").write_bytes(
        gzip.compress(tar({**dumps, "run/train.log": b"hello", "run/core.77": b"x", "run/rank_9": b""}), mtime=0)
    )
    before = sorted(tmp_path.rglob("*"))
    seen = records(tmp_path)
    assert ranks(seen) == {f"all.tar.gz:run/node{i // 2}/rank_{i}": i for i in range(4)}
    assert [source.host for source in seen.sources if source.usable] == ["node0", "node0", "node1", "node1"]
    assert statuses(seen)["all.tar.gz:run/rank_9"] == "empty"
    assert "unpack it" in reason(seen, "all.tar.gz:run/train.log")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bundle_that_ends_early_keeps_what_came_before(tmp_path):
    dumps = {f"rank_{i}": write(tmp_path / "x", plain(4)).read_bytes() for i in range(4)}
    (tmp_path / "x").unlink()
    whole = tar(dumps)
    (tmp_path / "all.tar").write_bytes(whole[: whole.index(b"rank_3") + 600])
    seen = records(tmp_path)
    assert set(ranks(seen).values()) >= {0, 1, 2}
    assert statuses(seen)["all.tar"] == "cut"
    assert "the bundle ends early" in reason(seen, "all.tar")


def test_a_compression_that_nobody_knows_is_one_clear_line(tmp_path):
    data = bytearray(zipped({"rank_0": write(tmp_path / "x", plain(4)).read_bytes(), "rank_1": b"one"}))
    (tmp_path / "x").unlink()
    for header, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):  # of the first member, and of its line in the directory
        where = data.index(header) + at
        data[where : where + 2] = (99).to_bytes(2, "little")
    (tmp_path / "all.zip").write_bytes(data)
    first, second = read_file(found(tmp_path / "all.zip"), LIMITS)
    assert first.found.shown.endswith("all.zip:rank_0")
    assert (first.status, first.decoded) == (SourceStatus.UNREADABLE, None)
    assert first.reason == "damaged: That compression method is not supported"
    assert second.found.shown.endswith("all.zip:rank_1")


def test_damage_never_raises(tmp_path):
    rng = random.Random(4)
    data = [write(tmp_path / "x", plain(4)).read_bytes()]
    whole = [
        tar({"rank_0": data[0], "rank_1": data[0]}),
        zipped({"rank_0": data[0]}),
        gzip.compress(tar({"rank_0": data[0]}), mtime=0),
    ]
    whole += [zstandard.compress(data[0]), gzip.compress(data[0], mtime=0)]
    for _ in range(300):
        damaged = bytearray(rng.choice(whole))
        for _ in range(rng.choice((1, 3, 20))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        (tmp_path / "rank_0").write_bytes(damaged[: rng.randrange(len(damaged)) if rng.random() < 0.3 else None])
        for result in read_file(found(tmp_path / "rank_0"), LIMITS):
            assert result.status in SourceStatus
            assert (result.decoded is None) == (
                result.status not in (SourceStatus.READ, SourceStatus.CUT)
            ) or result.kind != "dump"
