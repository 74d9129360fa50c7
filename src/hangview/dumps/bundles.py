"""Compressed files and bundles, read in place: nothing is ever written to disk, and nothing is unpacked past a limit.

``x.gz`` and ``x.zst`` are the file inside; ``x.tar``, ``x.tar.gz``, ``x.tar.zst`` and ``x.zip`` hold members, shown as
``x.tar:folder/name``. A bundle inside a bundle is left alone.
"""

from __future__ import annotations

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from hangview.dumps.kinds import HEAD, Form, form_of
from hangview.text import size as size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.schema import Limits

#: More members than any job has ranks.
MAX_MEMBERS = 20_000
_STEP = 1 << 20
_COMPRESSED_STEP = 1 << 14
_GZIP_WINDOW = 31  #: with a gzip header, not a zlib one
#: What --ultra --long=27 uses; more is a bomb.
_ZSTD_WINDOW = 1 << 27

#: What the unpackers of the standard library and zstandard raise for bytes that somebody made up, tried by fuzzing. For a
#: compression method that it does not know, zipfile raises a kind of RuntimeError.
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, ValueError, IndexError, KeyError, OverflowError, RuntimeError),
)


class Unusable(Exception):  # noqa: N818 - part of the ledger, not a fault of the program
    """The whole file cannot be used; the message is the reason in one line. ``limit``: it went past a limit."""

    def __init__(self, message: str, *, limit: bool = False) -> None:
        super().__init__(message)
        self.limit = limit


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """One file out of a bundle, or the only one in a compressed file (``name`` is then "").

    ``data`` is None when it was left alone, for ``reason``; else ``reason`` says why the data may end early. ``refused``: it
    went past a limit.
    """

    name: str
    data: bytes | None
    reason: str | None = None
    refused: bool = False


def pieces(file: BinaryIO, form: Form, limits: Limits) -> Iterator[Piece]:
    """What is in a compressed file or a bundle, in its own order; ``file`` is at its start.

    Raises :class:`Unusable`, maybe after some pieces, where the rest cannot be read.
    """
    if form is Form.ZIP:
        yield from _zip_members(file, limits)
        return
    if form is Form.TAR:
        yield from _tar_members(_Bounded(file, limits), limits)
        return
    bounded = _Bounded(_decompressed(file, form), limits)
    head, damage = _take(bounded, HEAD)
    inner = form_of(head)
    rest = _Pushed(head, bounded)
    if inner is Form.TAR and damage is None:
        yield from _tar_members(rest, limits)
    elif inner in (Form.ZIP, Form.GZIP, Form.ZSTD):
        raise Unusable(f"{inner.value} inside {form.value}: unpack it to have it read")
    else:
        data, damage = _take(rest, limits.file_bytes + 1)
        yield _piece("", data, damage, limits)


def _decompressed(file: BinaryIO, form: Form) -> _Reader:
    return _Gzip(file) if form is Form.GZIP else _Zstd(file)


class _Gzip:
    """Reads gzip members one after the other. Unlike the standard library's reader it gives all bytes before a cut."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inner = zlib.decompressobj(_GZIP_WINDOW)
        self._waiting = b""

    def read(self, size: int, /) -> bytes:
        """At least one byte, or none at the end. Raises EOFError where a member ends early, zlib.error where it is damaged."""
        while True:
            if self._inner.eof:
                self._waiting = (self._inner.unused_data or self._file.read(_COMPRESSED_STEP)).lstrip(b"\0")
                if not self._waiting:
                    return b""
                self._inner = zlib.decompressobj(_GZIP_WINDOW)
            data = self._waiting or self._file.read(_COMPRESSED_STEP)
            if not data:
                raise EOFError
            out = self._inner.decompress(data, max(size, 1))
            self._waiting = self._inner.unconsumed_tail
            if out:
                return out


class _Zstd:
    """Reads zstd frames one after the other; the module is optional."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            raise Unusable("compressed with zstd, which needs the module zstandard: pip install 'hangview[zstd]'") from None
        self._error = zstandard.ZstdError
        self._inner = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(file, read_across_frames=True)

    def read(self, size: int, /) -> bytes:
        try:
            return self._inner.read(size)
        except self._error as error:
            raise OSError(str(error)) from None


class _Bounded:
    """A reader that stops at the limit of unpacked bytes."""

    def __init__(self, inner: _Reader, limits: Limits) -> None:
        self._inner = inner
        self._left = limits.unpacked_bytes
        self._limit = limits.unpacked_bytes

    def read(self, size: int, /) -> bytes:
        data = self._inner.read(min(size, _STEP) if size >= 0 else _STEP)
        self._left -= len(data)
        if self._left < 0:
            raise Unusable(f"unpacks to more than the limit of {size_text(self._limit)}; --max-file-size raises it", limit=True)
        return data


class _Pushed:
    """A reader with bytes that were already taken put back."""

    def __init__(self, head: bytes, inner: _Reader) -> None:
        self._head = head
        self._inner = inner

    def read(self, size: int, /) -> bytes:
        if self._head:
            taken, self._head = self._head[:size], self._head[size:]
            return taken
        return self._inner.read(size)


def _take(reader: _Reader, size: int) -> tuple[bytes, str | None]:
    """At most ``size`` bytes, and why they end early, if they do so for another reason than the end."""
    out = io.BytesIO()
    try:
        while out.tell() < size and (data := reader.read(min(_STEP, size - out.tell()))):
            out.write(data)
    except _DAMAGE as error:
        return out.getvalue(), _words(error)
    return out.getvalue(), None


def _words(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the compressed file ends early"
    return f"damaged: {' '.join(str(error).split()) or type(error).__name__}"


def _piece(name: str, data: bytes, damage: str | None, limits: Limits) -> Piece:
    if len(data) > limits.file_bytes:
        limit = size_text(limits.file_bytes)
        return Piece(name, None, f"unpacked, more than the limit of {limit}; --max-file-size raises it", refused=True)
    return Piece(name, data, damage)


def _tar_members(reader: _Reader, limits: Limits) -> Iterator[Piece]:
    """Regular files of a tar stream. Links and devices in it are left alone; only names are taken from its headers."""
    seen = 0
    try:
        with tarfile.open(fileobj=cast("BinaryIO", _Whole(reader)), mode="r|", errorlevel=0) as bundle:
            while (member := bundle.next()) is not None:
                seen += 1
                if seen > MAX_MEMBERS:
                    raise Unusable(f"more than {MAX_MEMBERS:,} members: the rest was not looked at", limit=True)
                if member.isdir():
                    continue
                content = bundle.extractfile(member) if member.isreg() else None
                if content is None:
                    yield Piece(_clean(member.name), None, "a link or device in a bundle, left alone")
                    continue
                yield _member(_clean(member.name), cast("_Reader", content), limits)
    except _DAMAGE as error:
        raise Unusable(f"the bundle ends early: {_words(error)}") from None


class _Whole:
    """tarfile wants as many bytes as it asked for, unless there are no more."""

    def __init__(self, inner: _Reader) -> None:
        self._inner = inner

    def read(self, size: int, /) -> bytes:
        out = self._inner.read(size)
        while len(out) < size and (more := self._inner.read(size - len(out))):
            out += more
        return out


def _zip_members(file: BinaryIO, limits: Limits) -> Iterator[Piece]:
    left = limits.unpacked_bytes
    try:
        with zipfile.ZipFile(file) as bundle:
            members = bundle.infolist()
            if len(members) > MAX_MEMBERS:
                raise Unusable(f"{len(members):,} members, more than the limit of {MAX_MEMBERS:,}", limit=True)
            for member in members:
                if member.is_dir():
                    continue
                name = _clean(member.filename)
                try:
                    with bundle.open(member) as content:
                        piece = _member(name, cast("_Reader", content), limits)
                except _DAMAGE as error:
                    piece = Piece(name, None, _words(error))
                left -= len(piece.data or b"")
                if left < 0:
                    limit = size_text(limits.unpacked_bytes)
                    raise Unusable(f"unpacks to more than the limit of {limit}; --max-file-size raises it", limit=True)
                yield piece
    except _DAMAGE as error:
        raise Unusable(_words(error)) from None


def _member(name: str, content: _Reader, limits: Limits) -> Piece:
    """One member, unpacked if it is compressed by itself."""
    head, damage = _take(content, HEAD)
    form = form_of(head)
    rest = _Pushed(head, content)
    if form in (Form.TAR, Form.ZIP):
        return Piece(name, None, "a bundle inside a bundle: unpack it to have it read")
    if form in (Form.GZIP, Form.ZSTD):
        whole, damage = _take(rest, limits.file_bytes + 1)
        try:
            unpacked, damage = _take(_decompressed(io.BytesIO(whole), form), limits.file_bytes + 1)
        except Unusable as error:
            return Piece(name, None, str(error), refused=error.limit)
        return _piece(name, unpacked, damage, limits)
    data, damage = _take(rest, limits.file_bytes + 1)
    return _piece(name, data, damage, limits)


def _clean(name: str) -> str:
    return name.removeprefix("./").lstrip("/") or "(unnamed)"
