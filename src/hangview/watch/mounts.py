"""Which file system a path is on: only on a local one does inotify tell of every write."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")

#: Written by this kernel alone. Everything else, known or not, is polled: a poll works everywhere.
LOCAL = frozenset(
    {"bcachefs", "btrfs", "devtmpfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay", "ramfs", "reiserfs"}
    | {"tmpfs", "vfat", "xfs", "zfs"}
)


def file_system(path: str, mountinfo: str) -> str | None:
    """The type of the file system that an absolute path is on, by the text of /proc/self/mountinfo (man 5 proc).

    Of mounts on the same place the last one counts; None when the text names no mount above the path.
    """
    best, kind = -1, None
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if "-" not in fields[6:] or len(fields) < fields.index("-", 6) + 2:
            continue
        place = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        above = place.rstrip("/")
        if (path == above or path.startswith(above + "/")) and len(above) >= best:
            best, kind = len(above), fields[fields.index("-", 6) + 1]
    return kind


def all_local(paths: tuple[str, ...]) -> bool:
    """Whether every path, or the nearest folder above it that exists, is on a local file system. May block on a dead server."""
    try:
        text = MOUNTINFO.read_text(errors="surrogateescape")
    except OSError:
        return False  # not Linux: nothing to go by
    return all(file_system(str(Path(path).resolve()), text) in LOCAL for path in paths)
