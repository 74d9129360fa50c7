import os
import socket
from collections.abc import Iterable
from pathlib import Path

import pytest

from hangview.dumps import find as finding
from hangview.dumps.find import Found, Listing, find, open_regular
from hangview.schema import ReadOptions, SourceStatus

OPTIONS = ReadOptions()


def touch(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def shown(found: Iterable[Found]) -> list[str]:
    return [one.shown for one in found]


def others(listing: Listing) -> dict[str, tuple[str, str | None]]:
    return {source.path: (source.status.value, source.reason) for source in listing.others}


def test_folders_are_walked_and_paths_shown_relative_in_natural_order(tmp_path):
    for name in ("rank_10", "rank_2", "node0/rank_1", "logs/a.log", "x.py"):
        touch(tmp_path / name)
    listing = find([str(tmp_path)], OPTIONS)
    assert shown(listing.dumps) == ["node0/rank_1", "rank_2", "rank_10"]
    assert shown(listing.logs) == ["logs/a.log"]
    assert others(listing) == {"x.py": ("ignored", "source text or configuration by its name")}


def test_a_single_file_is_shown_as_typed_and_read_whatever_its_name(tmp_path, monkeypatch):
    touch(tmp_path / "x.py")
    monkeypatch.chdir(tmp_path)
    assert shown(find(["./x.py"], OPTIONS).dumps) == ["./x.py"]


def test_several_folders_are_told_apart_and_overlap_counts_once(tmp_path, monkeypatch):
    touch(tmp_path / "a/rank_0")
    touch(tmp_path / "b/rank_0")
    monkeypatch.chdir(tmp_path)
    assert shown(find(["a", "b/"], OPTIONS).dumps) == ["a/rank_0", "b/rank_0"]
    assert shown(find(["a", "a", "a/rank_0", "b/../a"], OPTIONS).dumps) == ["a/rank_0"]


def test_a_missing_path_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        find([str(tmp_path / "nowhere")], OPTIONS)
    assert caught.value.filename == str(tmp_path / "nowhere")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_folders_without_permission_as_a_user(tmp_path):
    touch(tmp_path / "shut/rank_0")
    (tmp_path / "shut").chmod(0)
    try:
        assert others(find([str(tmp_path)], OPTIONS))["shut"][0] == "unreadable"
        with pytest.raises(PermissionError) as caught:
            find([str(tmp_path / "shut")], OPTIONS)
        assert caught.value.filename == str(tmp_path / "shut")
    finally:
        (tmp_path / "shut").chmod(0o755)


def test_folders_that_cannot_be_listed_cost_only_themselves(tmp_path, monkeypatch):
    touch(tmp_path / "shut/rank_0")
    touch(tmp_path / "rank_1")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    listing = find([str(tmp_path)], OPTIONS)
    assert shown(listing.dumps) == ["rank_1"]
    assert others(listing) == {"shut": ("unreadable", "cannot be looked at: Permission denied")}
    with pytest.raises(PermissionError):
        find([str(tmp_path / "shut")], OPTIONS)


def test_pipes_sockets_and_hidden_files_are_listed_and_never_opened(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "trace_0")  # opening it would wait for a writer
    os.mkfifo(tmp_path / "notes.txt")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock_3")
        touch(tmp_path / ".hidden")
        touch(tmp_path / ".git/rank_0")
        listing = find([str(tmp_path)], OPTIONS)
    assert not listing.dumps
    assert not listing.logs
    assert others(listing) == {
        "trace_0": ("ignored", "a named pipe: never opened"),
        "notes.txt": ("ignored", "a named pipe: never opened"),
        "sock_3": ("ignored", "a socket: never opened"),
        ".hidden": ("ignored", "hidden file"),
        ".git/": ("ignored", "hidden folder"),
    }


def test_links_inside_a_folder_are_left_alone_unless_asked_for(tmp_path):
    touch(tmp_path / "real/rank_0")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/rank_0").symlink_to("../real/rank_0")
    (tmp_path / "links/again").symlink_to("..")  # a loop
    (tmp_path / "links/gone").symlink_to("nowhere")
    (tmp_path / "links/null").symlink_to("/dev/null")
    closed = find([str(tmp_path / "links")], OPTIONS)
    assert not closed.dumps
    assert {reason for _, reason in others(closed).values()} == {finding._LINK}
    assert "--follow-symlinks" in finding._LINK

    followed = find([str(tmp_path / "links")], ReadOptions(follow_symlinks=True))
    assert len(followed.dumps) == 1  # the same file by two ways
    assert others(followed)["gone"] == ("ignored", "a symbolic link to nothing")
    assert others(followed)["null"] == ("ignored", "a device: never opened")


def test_a_link_that_is_named_itself_is_followed(tmp_path):
    touch(tmp_path / "real/rank_0")
    (tmp_path / "latest").symlink_to("real")
    assert shown(find([str(tmp_path / "latest")], OPTIONS).dumps) == ["rank_0"]


def test_text_files_are_logs_unless_their_first_bytes_say_otherwise(tmp_path):
    touch(tmp_path / "rank_0.txt", b"\x80\x02}q\x00.")
    touch(tmp_path / "rank_1.txt", b'{"entries": []}')
    touch(tmp_path / "notes.txt", b"hello")
    listing = find([str(tmp_path)], OPTIONS)
    assert shown(listing.dumps) == ["rank_0.txt", "rank_1.txt"]
    assert shown(listing.logs) == ["notes.txt"]


def test_a_folder_that_was_named_by_mistake_ends_somewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(finding, "MAX_FILES", 5)
    monkeypatch.setattr(finding, "MAX_DEPTH", 2)
    for i in range(9):
        touch(tmp_path / "many" / f"rank_{i}")
    touch(tmp_path / "a/b/c/d/rank_0")
    assert len(find([str(tmp_path / "many")], OPTIONS).dumps) == 5
    assert others(find([str(tmp_path / "many")], OPTIONS)) == {
        "many/": ("unreadable", "more than 5 files: the rest was not looked at")
    }
    assert others(find([str(tmp_path / "a")], OPTIONS)) == {"b/c/d/": ("ignored", "too deep below the folder that was named")}


def test_opening_never_waits_for_a_pipe_that_took_a_files_place(tmp_path):
    os.mkfifo(tmp_path / "rank_0")
    with pytest.raises(OSError, match="a named pipe, no regular file"):
        open_regular(str(tmp_path / "rank_0"))


def test_names_that_are_no_text_are_survived(tmp_path):
    name = os.fsencode(str(tmp_path)) + b"/rank_\xff_3"
    with open(name, "wb") as file:  # noqa: PTH123 - a bytes path
        file.write(b"x")
    assert len(find([str(tmp_path)], OPTIONS).dumps) == 1


def test_statuses_are_those_of_the_contract(tmp_path):
    touch(tmp_path / "x.py")
    assert find([str(tmp_path)], OPTIONS).others[0].status is SourceStatus.IGNORED
