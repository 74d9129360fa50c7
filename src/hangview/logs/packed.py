"""Compressed logs: unpacked as a stream, a chunk at a time; nothing is written to disk and nothing is kept."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Protocol

from hangview.logs.lines import RawLine
from hangview.logs.prefilter import CHUNK, WHOLE, Marker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

#: The first bytes of what can be unpacked.
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
#: Unpacked bytes of one log; more is no log but a bomb.
MOST_UNPACKED = 64 << 30
#: Lines longer than this come in parts.
_LONGEST_LINE = 1 << 20
_STEP = 1 << 16
_WITH_HEADER = 31


class Unpacked(Protocol):
    """A stream of unpacked bytes. Reading raises ``EOFError`` where a log ends early, OSError or zlib.error for damage."""

    def read(self, size: int, /) -> bytes: ...


def unpacked(file: BinaryIO) -> Unpacked:
    """The bytes in a compressed log, which is at its start. Raises ``OSError`` when the optional module for zstd is missing."""
    head = file.read(4)
    file.seek(0)
    return _Gzip(file) if head.startswith(GZIP) else _zstd(file)


class PackedLog:
    """The lines worth reading of a compressed log. After the last one ``size``, ``lines`` and ``problem`` are what they are.

    Offsets of lines count unpacked bytes. A log that ends early or is damaged gives what comes before.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0
        self.lines = 0
        self.problem: str | None = None
        self._reader = unpacked(file)

    def small(self) -> list[RawLine] | None:
        """All lines, if the log is small enough to be read whole; then there is nothing left to iterate over."""
        data = b"".join(self._chunks(WHOLE + 1))
        if self.size > WHOLE:
            self._reader = _Rest(data, self._reader)
            self.size = 0
            return None
        lines = list(_split(data, 0, 1)) if data else []
        self.lines = len(lines)
        return lines

    def __iter__(self) -> Iterator[RawLine]:
        marker = Marker()
        held: tuple[bytes, int, int] | None = None
        offset, rest, more = 0, b"", 2  # the start is read whatever it holds
        for data in self._chunks(MOST_UNPACKED):
            text = rest + data
            cut = text.rfind(b"\n") + 1
            if cut == 0 and len(text) < _LONGEST_LINE:
                rest = text
                continue
            cut = cut or len(text)
            rest, text = text[cut:], text[:cut]
            if marker.holds(text):
                more = 2
            if more > 0:
                if held is not None:
                    yield from _split(*held)
                yield from _split(text, offset, self.lines + 1)
                held, more = None, more - 1
            else:
                held = (text, offset, self.lines + 1)
            self.lines += text.count(b"\n")
            offset += len(text)
        if held is not None:
            yield from _split(*held)
        if rest:
            self.lines += 1
            yield RawLine(self.lines, offset, rest)

    def _chunks(self, most: int) -> Iterator[bytes]:
        """Unpacked bytes in pieces of up to a chunk, ``most`` in all; ends with a problem where the rest cannot be unpacked."""
        while self.size < most:
            try:
                data = self._reader.read(min(CHUNK, most - self.size))
            except EOFError:
                self.problem = "ends early: read up to there"
                return
            except (OSError, zlib.error) as error:
                self.problem = f"cannot be unpacked any further: {error}"
                return
            if not data:
                return
            self.size += len(data)
            yield data
        if most == MOST_UNPACKED:
            self.problem = f"unpacks to more than {MOST_UNPACKED >> 30} GiB: the rest was not read"


def _split(text: bytes, offset: int, number: int) -> Iterator[RawLine]:
    for line in text.removesuffix(b"\n").split(b"\n"):
        yield RawLine(number, offset, line)
        number, offset = number + 1, offset + len(line) + 1


class _Rest:
    """A reader with bytes that were already taken put back."""

    def __init__(self, data: bytes, inner: Unpacked) -> None:
        self._data = data
        self._inner = inner

    def read(self, size: int, /) -> bytes:
        if self._data:
            taken, self._data = self._data[:size], self._data[size:]
            return taken
        return self._inner.read(size)


class _Gzip:
    """Members one after the other; gives every byte before a cut, which the standard library's reader does not."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inner = zlib.decompressobj(_WITH_HEADER)
        self._packed = b""

    def read(self, size: int, /) -> bytes:
        while True:
            if self._inner.eof:
                self._packed = (self._inner.unused_data or self._file.read(_STEP)).lstrip(b"\0")
                if not self._packed:
                    return b""
                self._inner = zlib.decompressobj(_WITH_HEADER)
            packed = self._packed or self._file.read(_STEP)
            if not packed:
                raise EOFError
            data = self._inner.decompress(packed, size)
            self._packed = self._inner.unconsumed_tail
            if data:
                return data


def _zstd(file: BinaryIO) -> Unpacked:
    """Raises ``OSError`` when the optional module is missing."""
    try:
        import zstandard
    except ImportError:
        raise OSError(0, "compressed with zstd, which needs the module zstandard: pip install 'hangview[zstd]'") from None
    inner = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file, read_across_frames=True)

    class Zstd:
        def read(self, size: int, /) -> bytes:
            try:
                return inner.read(size)
            except zstandard.ZstdError as error:
                raise OSError(0, str(error)) from None

    return Zstd()
