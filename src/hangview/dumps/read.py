"""One file → what it holds: decoded, or a status with the reason. Errors end here; nothing a file holds raises."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.dumps.decode import decode
from hangview.dumps.decoded import NotADump, Refused
from hangview.dumps.find import Found, open_regular
from hangview.dumps.kinds import HEAD, Form, form_of, says_dump, says_log
from hangview.schema import SourceKind, SourceStatus
from hangview.text import size as size_text

if TYPE_CHECKING:
    from hangview.dumps.decoded import Decoded
    from hangview.schema import Limits


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file after it was read. ``decoded`` is there exactly when ``status`` is READ or CUT.

    ``kind`` is LOG for a text file that calls itself a log, OTHER for one that is no dump and does not claim to be; whether
    a claim is made is known better once the other files are (``assemble``).
    """

    found: Found
    kind: SourceKind
    status: SourceStatus
    reason: str | None = None
    decoded: Decoded | None = None


def read_file(found: Found, limits: Limits) -> tuple[FileRead, ...]:
    """Read one file whole and decode it. More than one result for a bundle, none for an empty bundle. Never raises."""
    try:
        with os.fdopen(open_regular(found.path), "rb") as file:
            head = file.read(HEAD)
            form = form_of(head)
            if not head:
                return (_failed(found, SourceStatus.EMPTY, "empty file (0 bytes)"),)
            if form in (Form.TEXT, Form.OTHER) and not says_dump(found.path.rpartition("/")[2]):
                return (_no_dump(found, form),)
            total = os.fstat(file.fileno()).st_size
            if total > limits.file_bytes:
                return (_failed(found, SourceStatus.REFUSED, _too_large(total, limits)),)
            data = head + file.read(limits.file_bytes + 1 - len(head))
    except OSError as error:
        return (_failed(found, SourceStatus.UNREADABLE, error.strerror or str(error)),)
    except MemoryError:
        return (_failed(found, SourceStatus.REFUSED, "more memory than there is would be needed to read it"),)
    return (read_bytes(found, data, limits),)


def read_bytes(found: Found, data: bytes, limits: Limits) -> FileRead:
    """Decode the bytes of one dump."""
    try:
        decoded = decode(data, limits)
    except Refused as error:
        return _failed(found, SourceStatus.REFUSED, f"refused: {error}" if "refuse" not in str(error) else str(error))
    except NotADump as error:
        form = form_of(data[:HEAD])
        if form is Form.TEXT and says_log(found.path.rpartition("/")[2]):
            return _no_dump(found, form)
        return _failed(found, SourceStatus.UNREADABLE, f"{error} ({size_text(len(data))})")
    except (MemoryError, RecursionError):
        return _failed(found, SourceStatus.REFUSED, "more memory than there is would be needed to decode it")
    if decoded.complete:
        return FileRead(found, SourceKind.DUMP, SourceStatus.READ, None, decoded)
    reason = f"the file ends early, after {size_text(len(data))}; its {decoded.count:,} whole entries were kept"
    return FileRead(found, SourceKind.DUMP, SourceStatus.CUT, reason, decoded)


def _failed(found: Found, status: SourceStatus, reason: str) -> FileRead:
    return FileRead(found, SourceKind.DUMP, status, reason)


def _no_dump(found: Found, form: Form) -> FileRead:
    if form is Form.TEXT and says_log(found.path.rpartition("/")[2]):
        return FileRead(found, SourceKind.LOG, SourceStatus.READ)
    what = "text, not a flight-recorder dump" if form is Form.TEXT else "not a flight-recorder dump"
    return FileRead(found, SourceKind.OTHER, SourceStatus.IGNORED, what)


def _too_large(total: int, limits: Limits) -> str:
    return f"{size_text(total)}, more than the limit of {size_text(limits.file_bytes)}; --max-file-size raises it"
