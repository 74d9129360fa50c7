"""Bytes of a log by offset, plain or compressed, with a bounded memory of what was read."""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from hangview.dumps.find import open_regular
from hangview.logs.packed import GZIP, MOST_UNPACKED, ZSTD, unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.logs.packed import Unpacked

BLOCK = 1 << 16
#: Blocks that are kept: 4 MB.
KEPT = 64
_STEP = 1 << 20


def place_on_disk(paths: Sequence[str], shown: str) -> Path:
    """Where a source lies that is shown as ``shown`` in an incident of ``paths``; looks at the disk.

    The inverse of how :mod:`hangview.dumps.find` shows files: relative to a folder that was asked for alone, else as typed or
    behind the folder's name.
    """
    if len(paths) == 1 and Path(paths[0]).is_dir():
        return Path(paths[0]) / shown
    return Path(shown)


class LogData:
    """A log that can be opened again and again: ``with data: data.read(…)``. One thread at a time.

    ``size`` is that of the moment it was opened, of a compressed log the unpacked one. Opening raises ``OSError``, reading too.
    ``changed`` tells that another file took its place, or that it was cut. ``taken`` counts the bytes that were read.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        """``size`` of a compressed log, if it is known: else it is unpacked once to learn it."""
        self.path = path
        self.size = size
        self.packed = False
        self.changed = False
        self.taken = 0
        self._fd = -1
        self._inode: int | None = None
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._file: BinaryIO | None = None
        self._stream: Unpacked | None = None
        self._at = 0  #: unpacked bytes that the stream has given
        self._over = False

    def __enter__(self) -> Self:
        with ExitStack() as unless_looked:  # where __enter__ fails no __exit__ follows
            self._fd = open_regular(str(self.path))
            unless_looked.callback(self.__exit__)
            self._look()
            unless_looked.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
        self._fd, self._file, self._stream = -1, None, None

    def _look(self) -> None:
        info = os.fstat(self._fd)
        self.packed = os.pread(self._fd, 4, 0).startswith((GZIP, ZSTD))
        gone = self._inode not in (None, info.st_ino)
        if self.packed:
            if gone or not self.size:
                self._blocks.clear()
                self.size = self._measure()
        else:
            if gone or info.st_size < self.size:
                self._blocks.clear()
                self.changed = True
            self.size = info.st_size
        self._inode = info.st_ino

    def read(self, offset: int, length: int) -> bytes:
        """At most ``length`` bytes; fewer at the end of the file."""
        end = min(offset + length, self.size)
        parts = []
        while offset < end:
            number, begin = divmod(offset, BLOCK)
            part = self._block(number)[begin : begin + end - offset]
            if not part:
                break  # shorter than it was a moment ago
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    def stream(self, offset: int, length: int) -> bytes:
        """The same without keeping anything, for a search through the whole file."""
        if self.packed:
            return self.read(offset, length)
        data = os.pread(self._fd, max(0, min(length, self.size - offset)), offset)
        self.taken += len(data)
        return data

    def _block(self, number: int) -> bytes:
        known = self._blocks.get(number)
        if known is not None and len(known) == min(BLOCK, self.size - number * BLOCK):
            self._blocks.move_to_end(number)
            return known
        data = self._unpack(number) if self.packed else os.pread(self._fd, BLOCK, number * BLOCK)
        if not self.packed:
            self.taken += len(data)
            self._keep(number, data)
        return data

    def _keep(self, number: int, data: bytes) -> None:
        self._blocks[number] = data
        self._blocks.move_to_end(number)
        while len(self._blocks) > KEPT:
            self._blocks.popitem(last=False)

    # Compressed

    def _unpack(self, number: int) -> bytes:
        """One block; unpacks again from the start for one that lies before. The blocks on the way are kept as others are."""
        if self._stream is None or self._at > number * BLOCK:
            self._rewind()
        data = b""
        while self._at <= number * BLOCK and not self._over:
            here = self._at // BLOCK
            data = self._next()
            self._keep(here, data)
        return data if self._at > number * BLOCK else b""

    def _rewind(self) -> None:
        if self._file is None:
            self._file = os.fdopen(self._fd, "rb", closefd=False)
        self._file.seek(0)
        self._stream, self._at, self._over = unpacked(self._file), 0, False

    def _next(self) -> bytes:
        """The next block of the stream, a shorter one at its end. A log that is cut or damaged ends there."""
        assert self._stream is not None
        parts, left = [], BLOCK
        try:
            while left and (data := self._stream.read(left)):
                parts.append(data)
                left -= len(data)
        except (EOFError, zlib.error):
            pass
        except OSError as error:
            if error.errno:  # of the disk; zstd's own complaints have none
                raise
        self._over = left > 0
        whole = b"".join(parts)
        self._at += len(whole)
        self.taken += len(whole)
        return whole

    def _measure(self) -> int:
        self._rewind()
        while not self._over and self._at < MOST_UNPACKED:
            self._next()
        return self._at
