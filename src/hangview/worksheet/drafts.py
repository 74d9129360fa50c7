"""Drafts: the worksheet as it is being written, kept in the state directory, one file for each process that writes one.

A draft is the worksheet's markdown and one last line with what else is needed to go on. It can be read by eye. A process
writes only a draft whose lock it holds, so two that work on the same incident never write into each other's.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.report.coverage import of_ranks
from hangview.text import escape
from hangview.worksheet.markdown import from_markdown

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.worksheet.model import Sheet

_LAST_LINE = "<!-- hangview draft "
_END = " -->"


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft found for an incident. ``modified_ns``: when it was last written, by the clock of the file system."""

    path: Path
    text: str  #: markdown
    about: str  #: what the incident was when it was written, in one line
    saved_to: Path | None  #: where the worksheet was saved last
    saved_hash: str  #: of what was saved there; "" when it never was
    modified_ns: int
    open_elsewhere: bool  #: another process is writing it now

    @property
    def sheet(self) -> Sheet:
        return from_markdown(self.text)

    @property
    def saved_differs(self) -> bool:
        """Whether the saved file was changed by someone else since, or is gone."""
        return self.saved_to is not None and content_hash(read_bytes(self.saved_to)) != self.saved_hash


def draft_folder(base: Path, incident: Incident) -> Path:
    """Where the drafts of an incident lie: by the real paths it was read from, however they were typed."""
    paths = sorted(os.path.realpath(path) for path in incident.paths)
    key = hashlib.sha256("\0".join(paths).encode("utf-8", "surrogateescape")).hexdigest()[:20]
    name = re.sub(r"[^A-Za-z0-9._-]", "_", Path(paths[0]).name)[:40] if paths else "nothing"
    return base / "drafts" / f"{name}-{key}"


def new_name() -> str:
    """A file name that no other process, on this host or another, uses."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{secrets.token_hex(4)}.md"


def about(incident: Incident) -> str:
    """An incident in one line, so that a person knows which one a draft is of."""
    ranks = of_ranks(incident)
    attempts = incident.records.attempts if len(incident.records.attempts) > 1 else ()  # of one alone there is nothing to say
    attempt = next((f", attempt {attempt.attempt}" for attempt in attempts if attempt.current), "")
    finding = f": {escape(incident.findings[0].summary)}" if incident.findings else ""
    return f"{ranks}{attempt}{finding}"


def draft_bytes(text: str, incident: Incident, saved_to: Path | None, saved_hash: str) -> bytes:
    """The content of a draft's file."""
    rest = {
        "version": 1,
        "paths": [os.path.realpath(path) for path in incident.paths],
        "about": about(incident),
        "saved_to": str(saved_to) if saved_to else None,
        "saved_hash": saved_hash,
    }
    line = json.dumps(rest, ensure_ascii=True).replace(">", "\\u003e")
    return encode(f"{text}{_LAST_LINE}{line}{_END}\n")


def read_draft(path: Path) -> Draft | None:
    """The draft in a file; None when it is gone, unreadable or no draft. A damaged last line costs only what it held."""
    try:
        modified = path.stat().st_mtime_ns
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    text, found, last = text.rpartition(_LAST_LINE)
    if not found:
        text, last = last, ""
    if not text.strip():
        return None
    rest: dict[str, object] = {}
    with contextlib.suppress(ValueError):
        parsed = json.loads(last.rstrip().removesuffix(_END))
        rest = parsed if isinstance(parsed, dict) else {}
    saved_to = rest.get("saved_to")
    return Draft(
        path=path,
        text=text,
        about=str(rest.get("about") or ""),
        saved_to=Path(saved_to) if isinstance(saved_to, str) and saved_to else None,
        saved_hash=str(rest.get("saved_hash") or ""),
        modified_ns=modified,
        open_elsewhere=is_locked(path),
    )


def encode(text: str) -> bytes:
    """UTF-8; what UTF-8 cannot hold (half of a surrogate pair) as a replacement character, as no file could hold it either."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def content_hash(data: bytes | None) -> str:
    """A hash of a file's content; "" for no file."""
    return hashlib.sha256(data).hexdigest() if data is not None else ""


def read_bytes(path: Path) -> bytes | None:
    """A file's content, None when it is not there or cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _lock_path(draft: Path) -> Path:
    return draft.with_suffix(".lock")


class Lock:
    """The right to write one draft, until released or the process ends in whatever way.

    ``held`` is False where the file system has no locks: then only a draft under an own name is safe to write.
    """

    def __init__(self, draft: Path) -> None:
        """Raises BlockingIOError when another process holds it, OSError when the lock's file cannot be made."""
        self._handle: int | None = os.open(_lock_path(draft), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.held = True
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise
        except OSError:
            self.held = False

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def is_locked(draft: Path) -> bool:
    """Whether another process, or another sheet of this one, is writing the draft."""
    try:
        handle = os.open(_lock_path(draft), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def remove_draft(draft: Path) -> None:
    """Delete a draft and its lock. OSError when it cannot be deleted."""
    draft.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        _lock_path(draft).unlink(missing_ok=True)
