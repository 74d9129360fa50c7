"""Bytes by offset: plain, compressed, cut, replaced, gone."""

from __future__ import annotations

import gzip

import pytest

from hangview.tui.log.data import BLOCK, KEPT, LogData, place_on_disk

TEXT = b"".join(b"line %06d of the log\n" % number for number in range(40_000))


def test_where_a_source_lies(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.log").touch()
    run = str(tmp_path / "run")
    assert place_on_disk((run,), "a.log") == tmp_path / "run" / "a.log"
    assert place_on_disk((f"{run}/a.log",), f"{run}/a.log") == tmp_path / "run" / "a.log"
    assert place_on_disk((run, "other"), f"{run}/a.log") == tmp_path / "run" / "a.log"


@pytest.mark.parametrize("known", [0, len(TEXT)])
def test_compressed_gives_the_same_as_plain(tmp_path, known):
    plain, packed = tmp_path / "a.log", tmp_path / "a.log.gz"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT))
    with LogData(plain) as one, LogData(packed, known) as other:
        assert (one.packed, other.packed) == (False, True)
        assert one.size == other.size == len(TEXT)
        for offset, length in ((0, 10), (BLOCK - 5, 10), (len(TEXT) - 7, 100), (5 * BLOCK, 3 * BLOCK), (17, 1), (len(TEXT), 5)):
            expected = TEXT[offset : offset + length]
            assert one.read(offset, length) == expected
            assert other.read(offset, length) == expected
            assert one.stream(offset, length) == other.stream(offset, length) == expected


def test_a_compressed_log_that_ends_early_gives_what_comes_before(tmp_path):
    packed = tmp_path / "a.log.gz"
    packed.write_bytes(gzip.compress(TEXT)[:-2000])
    with LogData(packed) as data:
        assert 0 < data.size < len(TEXT)
        assert data.read(0, len(TEXT)) == TEXT[: data.size]


def test_zstd(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    packed = tmp_path / "a.log.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(TEXT))
    with LogData(packed) as data:
        assert data.read(BLOCK, 100) == TEXT[BLOCK : BLOCK + 100]


def test_opened_again_it_is_read_from_memory_as_far_as_it_is_kept(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(bytes(2 * KEPT * BLOCK))
    data = LogData(path)
    for _ in range(2):
        with data:
            data.read(0, 3 * BLOCK)
    assert data.taken == 3 * BLOCK
    with data:
        for number in range(2 * KEPT):
            data.read(number * BLOCK, 1)
        assert len(data._blocks) == KEPT


def test_what_is_appended_is_seen(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    data = LogData(path)
    with data:
        assert data.read(0, 100) == b"one\n"
    with path.open("ab") as file:
        file.write(b"two\n")
    with data:
        assert data.read(0, 100) == b"one\ntwo\n"
    assert not data.changed


@pytest.mark.parametrize("how", ["cut", "replaced"])
def test_another_file_in_its_place(tmp_path, how):
    path = tmp_path / "a.log"
    path.write_bytes(b"the first text\n")
    data = LogData(path)
    with data:
        data.read(0, 100)
    if how == "replaced":
        (tmp_path / "b.log").write_bytes(b"another text, and longer\n")
        (tmp_path / "b.log").replace(path)
    else:
        path.write_bytes(b"short\n")
    with data:
        assert data.read(0, 100) == path.read_bytes()
    assert data.changed


def test_gone_and_no_file(tmp_path):
    with pytest.raises(FileNotFoundError), LogData(tmp_path / "a.log"):
        pass
    with pytest.raises(OSError, match="no regular file"), LogData(tmp_path):
        pass
