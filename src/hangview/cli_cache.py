"""``hangview cache clear``: the folder where what was read once may be kept, and emptying it."""

from __future__ import annotations

import shutil
from pathlib import Path

from hangview.cli_errors import Complaint


def folder() -> Path:
    """The user's cache folder of this program; it need not exist."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("hangview"))


def clear() -> int:
    """Remove the folder with everything in it; how many files there were. Raises :class:`Complaint` where that fails."""
    place = folder()
    if not place.is_dir():
        return 0
    if place.is_symlink():  # somebody keeps it elsewhere: what lies there may not be ours alone
        raise Complaint(f"{place}: is a link; remove what it points to by hand")
    files = sum(path.is_file() for path in place.rglob("*"))
    try:
        shutil.rmtree(place)
    except OSError as error:
        raise Complaint(f"{error.filename or place}: {error.strerror or error}") from None
    return files
