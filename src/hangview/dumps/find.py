"""Which files there are under the paths that were asked for, and what each may be. Only names and stats; nothing is opened
but ``.txt`` files, whose name does not say whether they are a dump or a log.

Symbolic links inside a folder are not followed: on a shared login node a link may point at a device, a pipe, or someone
else's home. Each is listed with that reason. A path that the user names is followed; so are links inside folders with
``ReadOptions.follow_symlinks``, for folders that gather dumps by linking to them.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.dumps.kinds import HEAD, Form, form_of, kind_of
from hangview.schema import Source, SourceKind, SourceStatus
from hangview.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.schema import ReadOptions

#: A job's folder has fewer; a home directory or a data set that was named by mistake has more.
MAX_FILES = 100_000
MAX_DEPTH = 16

UNREADABLE = SourceStatus.UNREADABLE

_LINK = "a symbolic link, not followed: name its target, or say --follow-symlinks"


@dataclass(frozen=True, slots=True)
class Found:
    """A file that may be a dump, or is a log by its name. ``path`` is for opening, ``shown`` for reading."""

    path: str
    shown: str
    kind: SourceKind
    size: int
    mtime_ns: int
    inode: int

    @property
    def key(self) -> tuple[str, int, int, int]:
        """Changes when the content does."""
        return self.path, self.size, self.mtime_ns, self.inode


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found, each part in the natural order of the shown paths. ``others`` are left alone, with the reason."""

    dumps: tuple[Found, ...]
    logs: tuple[Found, ...]
    others: tuple[Source, ...]


def find(paths: Sequence[str], options: ReadOptions) -> Listing:
    """List all files under ``paths``, files or folders, to :data:`MAX_DEPTH` below.

    Paths are shown relative to the folder that was asked for (behind its name where several were), a single file as it was
    typed. Raises ``FileNotFoundError`` for a path that does not exist and ``PermissionError`` for a named folder that may not
    be listed, both with the path as ``filename``; for anything below, the listing has a line.
    """
    walk = _Walk(options)
    for path in paths:
        prefix = "" if len(paths) == 1 else f"{path.rstrip('/') or path}/"
        walk.argument(path, prefix)
    return Listing(
        tuple(sorted(walk.dumps, key=lambda found: natural(found.shown))),
        tuple(sorted(walk.logs, key=lambda found: natural(found.shown))),
        tuple(sorted(walk.others, key=lambda source: natural(source.path))),
    )


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that takes numbers as numbers: ``rank_2`` before ``rank_10``; total, so that no order is left to chance."""
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in re.findall(r"[0-9]+|[^0-9]+", text))


class _Walk:
    """The state of one walk. ``seen`` and ``entered`` hold real paths, so that overlapping paths count once."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.dumps: list[Found] = []
        self.logs: list[Found] = []
        self.others: list[Source] = []
        self.seen: set[str] = set()
        self.entered: set[str] = set()
        self.files = 0

    def argument(self, path: str, prefix: str) -> None:
        try:
            info = Path(path).stat()
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        real = os.path.realpath(path)
        if not stat.S_ISDIR(info.st_mode):
            self.file(path, path, real, info, asked=True)
            return
        try:
            entries = _list(path)
        except PermissionError as error:
            raise PermissionError(error.errno, error.strerror, path) from None
        if real not in self.entered:
            self.entered.add(real)
            self.folder(real, prefix, entries)

    def folder(self, real: str, prefix: str, entries: list[os.DirEntry[str]]) -> None:
        todo = [(real, prefix, entries, 0)]
        while todo:
            real, shown, found, depth = todo.pop()
            for entry in found:
                if self.files >= MAX_FILES:
                    where = shown or f"{Path(real).name}/"
                    self.other(where, f"more than {count(MAX_FILES, 'file')}: the rest was not looked at", UNREADABLE)
                    return
                below = self.entry(entry, f"{real}/{entry.name}", f"{shown}{entry.name}")
                if below is None:
                    continue
                if depth == MAX_DEPTH:
                    self.other(f"{shown}{entry.name}/", "too deep below the folder that was named", SourceStatus.IGNORED)
                else:
                    todo.append((os.path.realpath(entry.path), f"{shown}{entry.name}/", below, depth + 1))

    def entry(self, entry: os.DirEntry[str], real: str, shown: str) -> list[os.DirEntry[str]] | None:
        """Sort one entry of a folder apart; the entries below when it is a folder to go into."""
        try:
            if entry.is_symlink():
                if not self.options.follow_symlinks:
                    self.files += 1
                    self.other(shown, _LINK, SourceStatus.IGNORED)
                    return None
                real = os.path.realpath(entry.path)
            if not entry.is_dir():
                self.files += 1
                self.file(entry.path, shown, real, entry.stat(), asked=False)
                return None
            if entry.name.startswith("."):
                self.other(f"{shown}/", "hidden folder", SourceStatus.IGNORED)
                return None
            if real in self.entered:
                return None
            self.entered.add(real)
            return _list(entry.path)
        except FileNotFoundError:  # gone between listing and looking, or a link to nowhere
            if entry.is_symlink():
                self.other(shown, "a symbolic link to nothing", SourceStatus.IGNORED)
            return None
        except OSError as error:
            self.other(shown, f"cannot be looked at: {error.strerror or error}", UNREADABLE)
            return None

    def file(self, path: str, shown: str, real: str, info: os.stat_result, *, asked: bool) -> None:
        if not stat.S_ISREG(info.st_mode):
            self.other(shown, f"{_special(info.st_mode)}: never opened", SourceStatus.IGNORED)
            return
        if real in self.seen:
            return
        self.seen.add(real)
        kind, reason = kind_of(Path(path).name)
        if asked and kind is SourceKind.OTHER:
            kind = SourceKind.DUMP  # the user says so; the first bytes decide
        if kind is SourceKind.OTHER:
            self.other(shown, reason or "not a dump", SourceStatus.IGNORED, info)
            return
        if kind is SourceKind.DUMP and path.lower().endswith(".txt") and _is_text(path):
            kind = SourceKind.LOG
        found = Found(path, shown, kind, info.st_size, info.st_mtime_ns, info.st_ino)
        (self.logs if kind is SourceKind.LOG else self.dumps).append(found)

    def other(self, shown: str, reason: str, status: SourceStatus, info: os.stat_result | None = None) -> None:
        size, mtime = (info.st_size, info.st_mtime_ns) if info else (0, 0)
        self.others.append(Source(shown, SourceKind.OTHER, status, reason, size=size, mtime_ns=mtime))


def _list(path: str) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return sorted(entries, key=lambda entry: natural(entry.name))


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a device"


def open_regular(path: str) -> int:
    """A descriptor of a regular file, read-only. Never blocks on a pipe that took the file's place meanwhile.

    Raises ``OSError``; ``EINVAL`` with words for what is no regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"{_special(mode)}, no regular file", path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_text(path: str) -> bool:
    try:
        with open(open_regular(path), "rb") as file:
            return form_of(file.read(HEAD)) in (Form.TEXT, Form.OTHER)
    except OSError:
        return False  # the reader says why
