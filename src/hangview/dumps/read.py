"""One file → what it holds: decoded, or a status with the reason. Errors end here; nothing a file holds raises."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from hangview.dumps.bundles import Piece, Unusable, pieces
from hangview.dumps.decode.dump import decode
from hangview.dumps.decoded import DAMAGED, ZEROS, NotADump, Refused
from hangview.dumps.excuse import excuse
from hangview.dumps.facts import facts_of, refuse_beyond
from hangview.dumps.find import Found, open_regular
from hangview.dumps.kinds import HEAD, PACK, PACKED, Form, form_of, kind_of, says_dump, says_log
from hangview.dumps.result import FileRead, failed
from hangview.schema import SourceKind, SourceStatus
from hangview.text import count
from hangview.text import size as size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.dumps.decode.known import Known
    from hangview.dumps.decoded import Decoded
    from hangview.schema import Limits


#: Seconds of this thread for members of one bundle that then give nothing. Real files that are no dumps take milliseconds.
WASTED = 1.0


def read_file(found: Found, limits: Limits, known: Known | None = None) -> tuple[FileRead, ...]:
    """Read one file whole and decode it; several results for a bundle. Never raises for what is in the file.

    ``known`` is shared by files of one job; without it each is read as if it were the only one.
    """
    try:
        with os.fdopen(open_regular(found.path), "rb") as file:
            head = file.read(HEAD)
            form = form_of(head)
            if not head:
                return (failed(found, SourceStatus.EMPTY, "empty file (0 bytes)"),)
            if found.path.endswith(PACK):
                return _members(found, file, limits)
            if form in (Form.TEXT, Form.OTHER, Form.PARQUET) and not says_dump(_name(found)):
                return (_no_dump(found, form),)
            packed = form in PACKED
            limit = limits.unpacked_bytes if packed else limits.file_bytes
            if (total := os.fstat(file.fileno()).st_size) > limit:
                return (failed(found, SourceStatus.REFUSED, _too_large(total, limit)),)
            if packed:
                file.seek(0)
                return tuple(_unpacked(found, file, form, limits, known))
            file.seek(0)
            data = file.read(total + 1)  # not up to the limit: room for all of that would be made first
            if len(data) > total:  # it is being written
                data += file.read(limit + 1 - len(data))
    except OSError as error:
        return (replace(failed(found, SourceStatus.UNREADABLE, error.strerror or str(error)), opened=False),)
    except MemoryError:
        return (failed(found, SourceStatus.REFUSED, "more memory than there is would be needed to read it"),)
    return (read_bytes(found, data, limits, known),)


def _members(found: Found, file: BinaryIO, limits: Limits) -> tuple[FileRead, ...]:
    """The sources in a pack."""
    from hangview.dumps.pack import NotAPackError, members  # with polars, which a process that reads dumps does without

    try:
        return members(found, file, limits)
    except NotAPackError:
        return (FileRead(found, SourceKind.OTHER, SourceStatus.IGNORED, "a parquet file, but no pack of hangview"),)


def _unpacked(found: Found, file: BinaryIO, form: Form, limits: Limits, known: Known | None) -> Iterator[FileRead]:
    """The dumps of a compressed file or bundle, and a line for what is wrong with the whole."""
    members = 0
    wasted = 0.0
    try:
        for piece in pieces(file, form, limits):
            if wasted > WASTED:
                raise Unusable("too much work went into members that are no dumps: the rest was not looked at", limit=True)
            members += bool(piece.name)
            before = time.thread_time()
            result = _read_piece(found, piece, limits, known)
            if result.decoded is None and result.kind is SourceKind.DUMP:
                wasted += time.thread_time() - before
            yield result
    except Unusable as error:
        status = SourceStatus.REFUSED if error.limit else SourceStatus.CUT if members else SourceStatus.UNREADABLE
        reason = f"{error}; {count(members, 'member was', 'members were')} read before" if members else str(error)
        yield FileRead(found, SourceKind.OTHER, status, reason)


def _read_piece(found: Found, piece: Piece, limits: Limits, known: Known | None) -> FileRead:
    if piece.name:
        found = replace(found, shown=f"{found.shown}:{piece.name}", size=len(piece.data or b""))
        kind, reason = kind_of(_name(found))
        if kind is not SourceKind.DUMP:
            left = reason or "a log inside a bundle: unpack it to have it read"
            return FileRead(found, kind, SourceStatus.IGNORED, left)
    if piece.data is None:
        return failed(found, SourceStatus.REFUSED if piece.refused else SourceStatus.UNREADABLE, piece.reason or "damaged")
    if not piece.data and piece.reason is None:
        return failed(found, SourceStatus.EMPTY, "empty file (0 bytes)")
    form = form_of(piece.data[:HEAD])
    if form is Form.PARQUET and found.shown.endswith(PACK):
        return FileRead(found, SourceKind.OTHER, SourceStatus.UNREADABLE, "a pack inside a bundle: unpack it to have it read")
    if form in (Form.TEXT, Form.OTHER, Form.PARQUET) and not says_dump(_name(found)):
        return _no_dump(found, form)
    result = read_bytes(found, piece.data, limits, known)
    if piece.reason is not None:
        result = replace(result, reason=f"{piece.reason}; {result.reason}" if result.reason else piece.reason)
    return result


def _name(found: Found) -> str:
    return re.split("[/:]", found.shown)[-1]


def read_bytes(found: Found, data: bytes, limits: Limits, known: Known | None = None) -> FileRead:
    """Decode the bytes of one dump."""
    try:
        decoded = decode(data, limits, known)
        refuse_beyond(decoded)
        facts = facts_of(decoded)
    except Refused as error:
        return failed(found, SourceStatus.REFUSED, f"refused: {error}" if "refuse" not in str(error) else str(error))
    except NotADump as error:
        form = form_of(data[:HEAD])
        if form is Form.TEXT and says_log(_name(found)):
            return _no_dump(found, form)
        why = excuse(data)
        told = f': "{why}"' if why else ""
        return failed(found, SourceStatus.UNREADABLE, f"{error} ({size_text(len(data))}){told}")
    except (MemoryError, RecursionError):
        return failed(found, SourceStatus.REFUSED, "more memory than there is would be needed to decode it")
    except Exception as error:  # a fault of the decoder, whatever bytes brought it about, costs this file and no other
        return failed(found, SourceStatus.UNREADABLE, f"hangview cannot decode it ({type(error).__name__}): please report this")
    if decoded.complete:
        return FileRead(found, SourceKind.DUMP, SourceStatus.READ, None, decoded, facts)
    return FileRead(found, SourceKind.DUMP, SourceStatus.CUT, _where_it_ends(decoded, len(data)), decoded, facts)


def _where_it_ends(decoded: Decoded, size: int) -> str:
    """The words for a dump of so many bytes that was not read to its end: cut, or damaged somewhere."""
    used = count(decoded.count, "entry before that is used", "entries before that are used")
    used = used if decoded.count else "no whole entry before that"
    damage = next((note for note in decoded.notes if note.startswith(DAMAGED) or note.endswith(ZEROS)), None)
    return f"{damage or f'the file ends early, after {size_text(size)}'}: {used}"


def _no_dump(found: Found, form: Form) -> FileRead:
    if form is Form.TEXT and says_log(_name(found)):
        return FileRead(found, SourceKind.LOG, SourceStatus.READ)
    what = "text, not a flight-recorder dump" if form is Form.TEXT else "not a flight-recorder dump"
    what += f"; a pack by its name ends in {PACK}" if form is Form.PARQUET else ""
    return FileRead(found, SourceKind.OTHER, SourceStatus.IGNORED, what)


def _too_large(total: int, limit: int) -> str:
    return f"{size_text(total)}, more than the limit of {size_text(limit)}; --max-file-size raises it"
