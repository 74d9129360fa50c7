"""Which files there are under the paths that were asked for, and what each may be. Only names and stats; nothing is opened
but ``.txt`` files, whose name does not say whether they are a dump or a log. What is no dump and no log by its name costs
not even a stat: on a slow file system names come with their folder, and everything else file by file.

Symbolic links inside a folder are not followed: on a shared login node a link may point at a device, a pipe, or someone
else's home. Each is listed with that reason. A path that the user names is followed; so are links inside folders with
``ReadOptions.follow_symlinks``, for folders that gather dumps by linking to them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.dumps.kinds import HEAD, Form, form_of, kind_of, says_dump
from hangview.schema import Source, SourceKind, SourceStatus
from hangview.text import count, natural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """What was found, each part in the natural order of the shown paths. ``others`` are left alone, with the reason.

    ``unseen`` are dumps and logs by their names that were not looked at yet; their size, time and inode are 0.
    """

    dumps: tuple[Found, ...]
    logs: tuple[Found, ...]
    others: tuple[Source, ...]
    unseen: tuple[Found, ...] = ()


def find(paths: Sequence[str], options: ReadOptions) -> Listing:
    """List all files under ``paths``, files or folders, to :data:`MAX_DEPTH` below.

    Paths are shown relative to the folder that was asked for (behind its name where several were), a single file as it was
    typed. Raises ``FileNotFoundError`` for a path that does not exist and ``PermissionError`` for a named folder that may not
    be listed, both with the path as ``filename``; for anything below, the listing has a line.
    """
    search = Search(paths, options)
    search.look()
    return search.listing()


def likely(name: str, options: ReadOptions) -> bool:
    """Whether a file of this name is to be looked at before others that may be dumps too."""
    return says_dump(name) or (options.prefix is not None and name.startswith(options.prefix))


@dataclass(frozen=True, slots=True)
class _Named:
    """A file of which only the name is known."""

    entry: os.DirEntry[str]
    shown: str
    kind: SourceKind
    reason: str | None

    def turn(self, options: ReadOptions) -> int:
        """The order of looking: what is most likely a dump, what may be one, what must be opened to know, logs, the rest."""
        if self.kind is not SourceKind.DUMP:
            return 3 if self.kind is SourceKind.LOG else 4
        return 0 if likely(self.entry.name, options) else 2 if _may_be_text(self.entry.name) else 1


class Search:
    """A search in two steps: the names of all files when it is made, then size and time of those that may matter.

    Raises as :func:`find` does when it is made. ``seen`` and ``entered`` hold real paths, so that overlapping paths count once.
    """

    def __init__(self, paths: Sequence[str], options: ReadOptions) -> None:
        self.options = options
        self.dumps: list[Found] = []
        self.logs: list[Found] = []
        self.others: list[Source] = []
        self.seen: set[str] = set()
        self.entered: set[str] = set()
        self.files = 0
        self.named: list[_Named] = []
        for path in paths:
            self.argument(path, "" if len(paths) == 1 else f"{path.rstrip('/') or path}/")
        self.todo = deque(sorted(self.named, key=lambda one: one.turn(options)))

    def look(self, stop: Callable[[], bool] | None = None) -> bool:
        """Look at the files that were found, the likeliest dumps first, and at none twice.

        ``stop`` is asked after each; False when it said so and there are more.
        """
        while self.todo:
            self.look_at(self.todo.popleft())
            if stop is not None and self.todo and stop():
                return False
        return True

    def listing(self) -> Listing:
        """What is known so far."""
        unseen = [Found(one.entry.path, one.shown, one.kind, 0, 0, 0) for one in self.todo if one.kind is not SourceKind.OTHER]
        return Listing(
            tuple(sorted(self.dumps, key=lambda found: natural(found.shown))),
            tuple(sorted(self.logs, key=lambda found: natural(found.shown))),
            tuple(sorted(self.others, key=lambda source: natural(source.path))),
            tuple(sorted(unseen, key=lambda found: natural(found.shown))),
        )

    def argument(self, path: str, prefix: str) -> None:
        try:
            info = Path(path).stat()
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        real = os.path.realpath(path)
        if not stat.S_ISDIR(info.st_mode):
            if real not in self.seen:
                self.seen.add(real)
                kind, _ = kind_of(Path(path).name)
                # the user says that it is one; the first bytes decide
                self.file(path, path, SourceKind.DUMP if kind is SourceKind.OTHER else kind, None, info)
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
                self.name(entry, shown, real)
                return None
            if entry.name.startswith("."):
                self.other(f"{shown}/", "hidden folder", SourceStatus.IGNORED)
                return None
            if real in self.entered:
                return None
            self.entered.add(real)
            return _list(entry.path)
        except OSError as error:
            self.failed(entry, shown, error)
            return None

    def name(self, entry: os.DirEntry[str], shown: str, real: str) -> None:
        if real in self.seen:
            return
        self.seen.add(real)
        kind, reason = kind_of(entry.name)
        if kind is SourceKind.OTHER and entry.is_file(follow_symlinks=False):
            self.other(shown, reason or "not a dump", SourceStatus.IGNORED)
        else:
            self.named.append(_Named(entry, shown, kind, reason))

    def look_at(self, one: _Named) -> None:
        try:
            info = one.entry.stat()
        except OSError as error:
            self.failed(one.entry, one.shown, error)
        else:
            self.file(one.entry.path, one.shown, one.kind, one.reason, info)

    def failed(self, entry: os.DirEntry[str], shown: str, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            self.other(shown, f"cannot be looked at: {error.strerror or error}", UNREADABLE)
        elif entry.is_symlink():
            self.other(shown, "a symbolic link to nothing", SourceStatus.IGNORED)
        # else it is gone between listing and looking

    def file(self, path: str, shown: str, kind: SourceKind, reason: str | None, info: os.stat_result) -> None:
        if not stat.S_ISREG(info.st_mode):
            self.other(shown, f"{_special(info.st_mode)}: never opened", SourceStatus.IGNORED)
            return
        if kind is SourceKind.OTHER:
            self.other(shown, reason or "not a dump", SourceStatus.IGNORED, info)
            return
        if kind is SourceKind.DUMP and _may_be_text(path) and _is_text(path):
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
    with ExitStack() as unless_returned:
        unless_returned.callback(os.close, handle)
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"{_special(mode)}, no regular file", path)
        unless_returned.pop_all()
    return handle


def _may_be_text(name: str) -> bool:
    return name.lower().endswith(".txt")


def _is_text(path: str) -> bool:
    try:
        with open(open_regular(path), "rb") as file:
            return form_of(file.read(HEAD)) in (Form.TEXT, Form.OTHER)
    except OSError:
        return False  # the reader says why
