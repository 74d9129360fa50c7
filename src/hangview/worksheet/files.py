"""Writing a file so that it is whole or not there, with the reason in words when it cannot be written."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.replacing import replacing
from hangview.worksheet.failures import Said

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

#: Bytes of a file that may be compared with what is to be kept; more is kept as it is.
_MOST_ASIDE = 64 << 20
_WORDS = {
    errno.EINVAL: "not_regular",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "quota",
    errno.EROFS: "read_only",
    errno.EACCES: "no_permission",
    errno.EPERM: "no_permission",
    errno.ENOENT: "no_folder",
    errno.ENOTDIR: "part_no_folder",
    errno.EISDIR: "it_is_folder",
    errno.ENAMETOOLONG: "long_name",
    errno.ESTALE: "stale",
    errno.EIO: "disk_error",
    errno.ELOOP: "circle",
}


def reason(error: OSError) -> str:
    """Why a file could not be read or written, without its name."""
    known = _WORDS.get(error.errno or 0)
    return Said(known) if known else error.strerror or Said("not_written")


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write ``data`` to ``path`` so that a reader, a crash or a full disk finds the old content or the new one, whole.

    ``mode``: permissions; None: as a new file of this user gets. Raises OSError, and leaves no temporary file behind.
    """
    with replacing(path, mode) as file:
        file.write(data)


def aside(target: Path, current: bytes, own: Container[bytes] = ()) -> Path:
    """Where what ``target`` holds is kept when another text takes its place: ``name~``, or ``name.~2~`` and so on where that is
    taken by something else. ``own``: texts that nobody misses."""
    path, number = target.with_name(f"{target.name}~"), 1
    while not _may_be_replaced(path, current, own):
        number += 1
        path = target.with_name(f"{target.name}.~{number}~")
    return path


def _may_be_replaced(path: Path, current: bytes, own: Container[bytes]) -> bool:
    try:
        there = read_regular(path, _MOST_ASIDE)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return there == current or there in own


def read_regular(path: Path, most: int) -> bytes:
    """The first ``most`` + 1 bytes of a regular file. OSError, ``EINVAL`` for what is none: a pipe waits for who writes to it,
    and a device may have no end."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if stat.S_ISDIR(mode := os.fstat(handle).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read(most + 1)


def refuse_read_only(path: Path) -> None:
    """PermissionError for a file that its owner has made read-only: a rename would replace it all the same."""
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def private_folder(path: Path) -> None:
    """Make a folder that only this user may enter. OSError when it cannot be made, or is somebody else's."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_own_folder(path):
        raise PermissionError(errno.EACCES, "it belongs to somebody else", str(path))


def is_own_folder(path: Path) -> bool:
    """Whether ``path`` is a folder of this user and no link. The fallback for drafts lies among everybody's temporary files,
    where another user may have taken the name."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def temporary_folder() -> Path:
    """Where temporary files go. Python writes one to find out, and refuses where none can be written (a full quota, ``ulimit -f
    0``): then it is where they would go, so that the reason is said of the file that is to be written there."""
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return Path(os.environ.get("TMPDIR") or "/tmp")


def writable_folder(candidates: Iterable[Path], size: int) -> Path | None:
    """The first of the folders into which ``size`` bytes can be written now; it is tried, as permissions alone say little."""
    for folder in candidates:
        try:
            with tempfile.TemporaryFile(dir=folder) as stream:
                stream.write(b"\0" * size)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:
            continue
        return folder
    return None
