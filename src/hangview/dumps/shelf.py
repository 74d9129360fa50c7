"""The user's cache folder: files that are found by what they were made of, and are whole or not there at all.

A file has a checksum before its bytes. Whatever is wrong with it or with the folder (damaged, read-only, full) means that
there is no such file, and nothing else. Imports neither numpy nor polars.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hangview._version import __version__
from hangview.replacing import PART, replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hangview.dumps.find import Found
    from hangview.schema import Limits

T = TypeVar("T")

#: Smaller sets are read faster than they are looked up.
SMALL = 4 << 20
MAGIC = b"hangview cache 3\n"
_DIGEST = 16
#: Decoded dumps (:mod:`hangview.dumps.cache`) and conclusions (:mod:`hangview.conclusions`).
DUMPS, REPORT = ".dumps", ".report"


def folder() -> Path:
    """Where the cache lies."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("hangview")) / "dumps"


def worth_it(files: Iterable[Found]) -> bool:
    """Whether a set is large enough."""
    return sum(found.size for found in files) >= SMALL


def fetch(name: str, read: Callable[[memoryview], T]) -> T | None:
    """What ``read`` makes of the bytes kept under a name; None when there are none, or no good ones. Never raises."""
    path = folder() / name
    try:
        with path.open("rb") as file:
            data = file.read()
    except OSError:
        return None
    try:
        start = len(MAGIC) + _DIGEST
        body = memoryview(data)[start:]
        if not data.startswith(MAGIC) or checksum([body]) != data[len(MAGIC) : start]:
            raise ValueError("damaged")
        result = read(body)
    except Exception:  # of damaged bytes zlib, json, struct, numpy and Arrow each raise their own: what is kept is only a copy
        with suppress(OSError):
            path.unlink()
        return None
    with suppress(OSError):
        os.utime(path)
    return result


def keep(name: str, pack: Callable[[], Iterable[bytes]], most: int) -> bool:
    """Keep what ``pack`` gives, part by part, under a name. False when it cannot be; never raises.

    ``most``: bytes that all files together may have; the ones not used for longest are dropped.
    """
    target = folder() / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(target, 0o600, durable=False) as file:  # one that a crash damages has the wrong checksum
            file.write(MAGIC + bytes(_DIGEST))
            digest = hashlib.blake2b(digest_size=_DIGEST)
            for part in pack():
                digest.update(part)
                file.write(part)
            file.seek(len(MAGIC))
            file.write(digest.digest())
        _prune(target, most)
    except (OSError, MemoryError):  # read-only, full, no home: then there is no cache
        return False
    return True


def _prune(newest: Path, most: int) -> None:
    """Drop what goes past the limit, and parts that were left behind by a program that was killed."""
    now = newest.stat().st_mtime
    total = 0
    found = [(path.stat().st_mtime, path, path.stat().st_size) for path in newest.parent.iterdir() if path.is_file()]
    for mtime, path, size in sorted(found, reverse=True):
        left_behind = path.suffix == PART and now - mtime > 3600
        total += size
        if left_behind or (path.suffix != PART and total > most and path != newest):
            path.unlink(missing_ok=True)


def dumps_name(files: Sequence[Found], limits: Limits) -> str:
    """The name under which what was read of exactly these files within these limits is kept."""
    here = Path(__file__).parent
    return name_of(files, [*modules(here), *modules(here / "decode"), *map(str, astuple(limits))], DUMPS)


def holds(name: str) -> bool:
    """Whether anything is kept under a name: to know that nothing is takes no library that reads it."""
    return (folder() / name).exists()


def name_of(files: Sequence[Found], told: Iterable[str], ending: str) -> str:
    """A name that changes with the program's version, with every file, and with all else that is ``told``."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for part in (__version__, *told):
        digest.update(f"{part}\n".encode(errors="surrogateescape"))
    for found in sorted(files, key=lambda found: found.path):
        text = f"{os.path.abspath(found.path)}\0{found.size}\0{found.mtime_ns}\0{found.inode}\n"  # noqa: PTH100 - not resolved
        digest.update(text.encode(errors="surrogateescape"))
    return digest.hexdigest() + ending


def modules(folder: Path) -> list[str]:
    """The program's own files in a folder: while it is being worked on, its version says too little."""
    out = []
    with suppress(OSError):
        for path in sorted(folder.glob("*.py")):
            info = path.stat()
            out.append(f"{path.name} {info.st_size} {info.st_mtime_ns}")
    return out


def checksum(parts: Iterable[bytes | memoryview]) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        digest.update(part)
    return digest.digest()
