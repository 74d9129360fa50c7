"""Writing a file so that it is whole or not there, with the reason in words when it cannot be written."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from typing import TYPE_CHECKING

from hangview.replacing import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_WORDS = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.ENOENT: "the folder does not exist",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ESTALE: "the network file system lost it",
    errno.EIO: "the disk reports an error",
    errno.ELOOP: "its links lead in a circle",
}


def reason(error: OSError) -> str:
    """Why a file could not be read or written, without its name."""
    return _WORDS.get(error.errno or 0) or error.strerror or "it could not be written"


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write ``data`` to ``path`` so that a reader, a crash or a full disk finds the old content or the new one, whole.

    ``mode``: permissions; None: as a new file of this user gets. Raises OSError, and leaves no temporary file behind.
    """
    with replacing(path, mode) as file:
        file.write(data)


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
