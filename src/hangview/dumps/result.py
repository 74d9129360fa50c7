"""What a file gave: what the reader, packs and the cache hand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hangview.schema import SourceKind, SourceStatus

if TYPE_CHECKING:
    from hangview.dumps.decoded import Decoded
    from hangview.dumps.facts import Facts
    from hangview.dumps.find import Found


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file after it was read. ``decoded`` and ``facts`` are there exactly when ``status`` is READ or CUT.

    ``kind`` is LOG for a text file that calls itself a log, OTHER for one that is no dump and does not claim to be; whether
    a claim is made is known better once the other files are (``assemble``).
    """

    found: Found
    kind: SourceKind
    status: SourceStatus
    reason: str | None = None
    decoded: Decoded | None = None
    facts: Facts | None = None
    opened: bool = True  #: its bytes were seen; False for an I/O error or a missing permission
    pack: str = ""  #: the pack that it is out of, as shown; then ``found`` is of the source that was packed, and maybe gone
    listed: bool = False  #: of a pack: what was left alone when it was made, a log among others, and what was said of it then


def failed(found: Found, status: SourceStatus, reason: str) -> FileRead:
    """A file that may be a dump and gave nothing."""
    return FileRead(found, SourceKind.DUMP, status, reason)
