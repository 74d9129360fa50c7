"""Writing a file so that whoever looks finds the old content or the new one, whole: first beside it, then renamed."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How the file beside it ends. A kill before the renaming leaves it behind; its name begins with a dot.
PART = ".part"


@contextmanager
def replacing(path: Path, mode: int | None = None, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of ``path`` when the block ends well; else nothing has changed.

    ``mode``: permissions; None: as a new file of this user gets. ``durable``: a crash of the machine finds the old content or
    the new one too. Raises OSError.
    """
    handle, beside = tempfile.mkstemp(prefix=".hangview-", suffix=PART, dir=path.parent)
    with ExitStack() as unless_renamed:
        unless_renamed.callback(_remove, Path(beside))
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, _new_file_mode() if mode is None else mode)
            yield file
            if durable:
                file.flush()
                os.fsync(handle)
        Path(beside).replace(path)
        unless_renamed.pop_all()
    if durable:
        _sync_folder(path.parent)


def _remove(path: Path) -> None:
    with suppress(OSError):  # what went wrong before is what is said
        path.unlink()


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the file system can; network ones often refuse and need not."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
