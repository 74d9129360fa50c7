"""One look at folders: names first, then the size, time and inode of those that may still change."""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

#: Below a folder that was asked for: hosts, attempts, maybe one more. Not a whole home directory.
MAX_DEPTH = 3
MAX_FOLDERS = 1_024
MAX_FILES = 65_536

#: Endings of files that lie beside dumps and never are one: temporary names of copiers and editors, pipes, checkpoints, code.
_OTHERS = (
    *("~", ".pipe", ".lock", ".tmp", ".temp", ".part", ".partial", ".filepart", ".swp"),
    *(".pt", ".pth", ".ckpt", ".safetensors", ".distcp", ".npy", ".npz", ".h5", ".onnx", ".idx", ".tfevents"),
    *(
        ".py",
        ".pyc",
        ".so",
        ".o",
        ".c",
        ".cpp",
        ".cu",
        ".h",
        ".sh",
        ".yaml",
        ".yml",
        ".toml",
        ".md",
        ".html",
        ".svg",
        ".png",
        ".jpg",
    ),
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one content of a file from another without reading it. Sizes in bytes, times in epoch nanoseconds."""

    size: int
    mtime_ns: int
    inode: int
    #: when anything about it changed, renames and modes too: not part of the comparison
    ctime_ns: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """What one look found. A stamp is None for a file that is there and was not looked at (see ``skip``).

    ``folders`` maps each folder that was listed to its inode. ``unread`` are folders that exist and could not be listed: what
    was known of their files still stands. ``notes`` says why, and what was left out, one line each.
    """

    files: dict[str, Stamp | None]
    folders: dict[str, int]
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def wanted(name: str) -> bool:
    """Whether a file of this name may be a dump or a log."""
    lower = name.lower()
    return not (lower.startswith((".", "core.")) or lower.endswith(_OTHERS))


def scan_paths(paths: Iterable[str], skip: Container[str], want: Callable[[str], bool] = wanted) -> Listing:
    """Look at files and folders (to :data:`MAX_DEPTH` below). Paths in ``skip`` are listed but not asked for their stamp.

    Never raises for what the disk says; a path that does not exist is simply not in the listing. Only regular files count: a
    pipe or a device is never touched. Folders nearer to the top come first, so that a limit cuts the deepest.
    """
    files: dict[str, Stamp | None] = {}
    folders: dict[str, int] = {}
    unread: list[str] = []
    notes: list[str] = []
    todo: deque[tuple[str, int]] = deque()
    for path in paths:
        try:
            found = Path(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            unread.append(path)
            notes.append(f"cannot look at {path}: {error.strerror}")
            continue
        if stat.S_ISDIR(found.st_mode):
            folders[path] = found.st_ino
            todo.append((path, 0))
        elif stat.S_ISREG(found.st_mode):
            files[path] = look(path)
    while todo:
        folder, depth = todo.popleft()
        try:
            below = _list_folder(folder, files, skip, want)
        except (FileNotFoundError, NotADirectoryError):
            folders.pop(folder, None)
            continue
        except OSError as error:
            unread.append(folder)
            notes.append(f"cannot list {folder}: {error.strerror}")
            continue
        if len(files) >= MAX_FILES:
            notes.append(f"more than {MAX_FILES:,} files: those after {folder} are not watched")
            unread.extend((folder, *(path for path, _ in todo)))
            break
        if depth == MAX_DEPTH:
            continue
        room = MAX_FOLDERS - len(folders)
        if len(below) > room:
            notes.append(f"more than {MAX_FOLDERS:,} folders: some below {folder} are not watched")
        for path, inode in below[: max(0, room)]:
            if path not in folders:
                folders[path] = inode
                todo.append((path, depth + 1))
    return Listing(files, folders, tuple(unread), tuple(notes))


def _list_folder(
    folder: str, files: dict[str, Stamp | None], skip: Container[str], want: Callable[[str], bool]
) -> list[tuple[str, int]]:
    """Add a folder's files to ``files``; return its folders with their inodes, by name."""
    below: list[tuple[str, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not want(entry.name):
                continue
            try:
                if entry.is_dir():
                    below.append((entry.path, entry.inode()))
                elif entry.is_file() and len(files) < MAX_FILES and entry.path not in files:
                    files[entry.path] = None if entry.path in skip else look(entry.path)
            except OSError:
                continue  # gone between listing and looking, or not ours to look at: the loader says so when it reads
    below.sort()
    return below


def look(path: str) -> Stamp:
    """The stamp of a regular file. Opens it first: NFS answers a plain stat from a cache that may be a minute old, and asks the
    server when a file is opened (close-to-open consistency). Raises OSError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return _stamp(Path(path).stat())  # may still be listed: the reader says that it cannot be read
    try:
        return _stamp(os.fstat(handle))
    finally:
        os.close(handle)


def _stamp(found: os.stat_result) -> Stamp:
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)
