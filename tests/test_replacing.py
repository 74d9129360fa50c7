"""A file is replaced whole or not at all, and nothing stays beside it."""

from __future__ import annotations

import os
import stat

import pytest

from hangview.replacing import replacing


def test_the_old_content_stands_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"ne")
        file.flush()
        assert path.read_bytes() == b"old"
        file.write(b"w")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError, ValueError, KeyboardInterrupt])
def test_whatever_ends_it_early_changes_nothing(tmp_path, error):
    path = tmp_path / "a.md"
    path.write_bytes(b"old")

    def content():
        yield b"new"
        raise error

    with pytest.raises(error), replacing(path) as file:
        file.writelines(content())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_rename_that_fails_leaves_nothing(tmp_path):
    path = tmp_path / "a.md"
    (path / "inside").mkdir(parents=True)
    with pytest.raises(OSError), replacing(path) as file:
        file.write(b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_permissions(tmp_path):
    for mode, wanted in ((0o600, 0o600), (0o644, 0o644), (None, 0o640)):
        before = os.umask(0o027)
        try:
            with replacing(tmp_path / "a.md", mode) as file:
                file.write(b"x")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a.md").stat().st_mode) == wanted


def test_only_what_must_last_waits_for_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    with replacing(tmp_path / "a.md", durable=False) as file:
        file.write(b"x")
    assert synced == []
    with replacing(tmp_path / "a.md") as file:
        file.write(b"x")
    assert synced == [False, True]  # the file, then the folder that holds its name


def test_a_name_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("기" * 85)  # 255 bytes
    with replacing(path) as file:
        file.write(b"x")
    assert list(tmp_path.iterdir()) == [path]
