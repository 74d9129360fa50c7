"""Where worksheets live: drafts that are kept on every change, and the markdown file that a person asks for.

Nothing here raises for what a disk does: a full disk, a folder without permission or a file that someone else changed is a
result with words and, where there is one, another place.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.worksheet import drafts, files
from hangview.worksheet.failures import Said
from hangview.worksheet.markdown import from_markdown, is_worksheet, to_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hangview.incident import Incident
    from hangview.worksheet.drafts import Draft
    from hangview.worksheet.model import Sheet

#: The file that a worksheet is saved to unless another is named, where no path tells the incident.
DEFAULT_NAME = "hangview-worksheet.md"
#: Names of folders that say what is in them and not of which run; the folder above them is named too.
_GENERAL = re.compile(
    r"(?:fr|flight[-_.]?recorder|nccl|torch|comm[-_.]?lib)?[-_.]?(?:dump|trace|log|output|tmp|debug|hang)s?", re.IGNORECASE
)
#: A worksheet is a page; what is larger than this is another file.
MOST_BYTES = 8 << 20


def default_name(incident: Incident, cwd: Path) -> str:
    """``hangview-worksheet-run-4711.md``: by the folder that was looked at, so that two incidents have two files, and by the
    attempt where there were several."""
    if not incident.paths:
        return DEFAULT_NAME
    path = Path(os.path.realpath(cwd / incident.paths[0]))
    if path.is_file():
        path = path.parent
    named = f"{path.parent.name}-{path.name}" if _GENERAL.fullmatch(path.name) else path.name
    current = next((attempt.attempt for attempt in incident.records.attempts if attempt.current), None)
    if current is not None and len(incident.records.attempts) > 1:
        named += f"-attempt-{current}"
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", named).strip("._-")[-60:]
    stem, ending = DEFAULT_NAME.rsplit(".", 1)
    return f"{stem}-{safe}.{ending}" if safe else DEFAULT_NAME


class SaveStatus(StrEnum):
    SAVED = "saved"
    UNCHANGED = "unchanged"  #: the file held just that already
    EXISTS = "exists"  #: a file is there that this worksheet was neither opened from nor saved to: ask
    CHANGED = "changed"  #: someone else changed the file since it was opened or saved: ask
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SaveResult:
    """What became of a save. ``message`` is one line for a person; ``backup`` where what was there is kept, or would be;
    ``elsewhere`` a file that could be written instead."""

    status: SaveStatus
    path: Path
    message: str
    backup: Path | None = None
    elsewhere: Path | None = None

    @property
    def ok(self) -> bool:
        return self.status in (SaveStatus.SAVED, SaveStatus.UNCHANGED)


@dataclass(frozen=True, slots=True)
class DraftResult:
    """Whether a draft was kept, where, and what to say about it: "" when all is as it should be."""

    kept: bool
    path: Path | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class OpenResult:
    """A saved worksheet, or why it could not be opened."""

    sheet: Sheet | None
    path: Path
    message: str = ""


class SheetStore:
    """Drafts and saved files of one worksheet of one incident. All methods may be called from any thread.

    ``state_dir``: where drafts belong (default: the user's state directory); ``fallback_dir``: where they go when that
    cannot be written (default: a private folder among the temporary files); ``cwd``: what relative names refer to.
    """

    def __init__(self, *, state_dir: Path | None = None, fallback_dir: Path | None = None, cwd: Path | None = None) -> None:
        self._state = state_dir if state_dir is not None else _user_state_dir()
        self._fallback = fallback_dir if fallback_dir is not None else files.temporary_folder() / f"hangview-{os.getuid()}"
        self.cwd = cwd if cwd is not None else _cwd()
        self._guard = threading.RLock()
        self._name = drafts.new_name()
        self._locks: dict[Path, drafts.Lock] = {}
        self._known: dict[Path, str] = {}
        self._own: set[bytes] = set()  # texts that were written here: the draft has what they had
        self._revision = -1
        self._default_name = DEFAULT_NAME
        self.saved_to: Path | None = None  #: the file that the worksheet was saved to or opened from last

    # Drafts

    def drafts(self, incident: Incident) -> tuple[Draft, ...]:
        """The drafts of an incident that were not begun by this store, the newest first."""
        found = []
        for base in filter(files.is_own_folder, self._bases()):
            try:
                paths = sorted(drafts.draft_folder(base, incident).glob("*.md"))
            except OSError:
                continue
            found += [draft for path in paths if path not in self._locks and (draft := drafts.read_draft(path)) is not None]
        return tuple(sorted(found, key=lambda draft: (-draft.modified_ns, draft.path.name)))

    def resume(self, draft: Draft) -> Sheet:
        """Go on with a draft: in its own file when nobody else writes it, else with a copy of what it holds now.

        The draft that this store was writing before stays as it is and is offered like any other.
        """
        with self._guard:
            self._begin_new()
            try:
                lock = drafts.Lock(draft.path)
            except OSError:
                lock = None
            if lock is not None and lock.held:
                self._name = draft.path.name
                self._locks[draft.path] = lock
            elif lock is not None:
                lock.release()
            # Read again: it may have been written since it was listed.
            current = drafts.read_draft(draft.path) or draft
            if current.saved_to is not None:
                self.saved_to = current.saved_to
                self._known[current.saved_to] = current.saved_hash
            return current.sheet

    def keep(self, sheet: Sheet, incident: Incident, revision: int | None = None) -> DraftResult:
        """Keep the sheet as the draft, whole or not at all. An older ``revision`` than one kept before is left out."""
        text = to_markdown(sheet)
        with self._guard:
            if revision is not None and revision < self._revision:
                return DraftResult(True, None)
            known = self._known.get(self.saved_to, "") if self.saved_to is not None else ""
            data = drafts.draft_bytes(text, incident, self.saved_to, known)
            problem = ""
            for place, base in enumerate(self._bases()):
                path = drafts.draft_folder(base, incident) / self._name
                try:
                    files.private_folder(base)
                    self._write_draft(path, data)
                except OSError as error:
                    problem = problem or Said("in_folder", why=files.reason(error), folder=path.parent)
                    continue
                self._revision = self._revision if revision is None else revision
                if not place:
                    self._drop_others(path)
                message = Said("draft_elsewhere", folder=path.parent, why=problem) if problem else ""
                return DraftResult(True, path, message)
            return DraftResult(False, None, Said("draft_not_kept", why=problem))

    def _begin_new(self) -> None:
        """Leave the draft that is being written as it is; the next one gets a file of its own."""
        self._release()
        self._name = drafts.new_name()

    def _write_draft(self, path: Path, data: bytes) -> None:
        files.private_folder(path.parent)
        if path not in self._locks:
            self._locks[path] = drafts.Lock(path)
        files.replace_file(path, data, mode=0o600)

    def _drop_others(self, path: Path) -> None:
        """Remove this store's older copies of the draft that was just kept in ``path``."""
        for other in [other for other in self._locks if other != path]:
            self._locks.pop(other).release()
            with contextlib.suppress(OSError):
                drafts.remove_draft(other)

    def discard(self, draft: Draft) -> str:
        """Delete a draft; "" or why it could not be. One that is open elsewhere stays."""
        with self._guard:
            if drafts.is_locked(draft.path):
                return Said("open_elsewhere")
            try:
                drafts.remove_draft(draft.path)
            except OSError as error:
                return files.reason(error)
            return ""

    def close(self) -> None:
        """Let go of the draft, so that another process may go on with it. It stays where it is."""
        with self._guard:
            self._release()

    def _release(self) -> None:
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()

    def _bases(self) -> tuple[Path, Path]:
        return self._state, self._fallback

    # Saved files

    def default_path(self, incident: Incident) -> Path:
        """Where to save unless told otherwise: where it was saved last, else a file in the working directory; where that
        holds the dumps, in the home directory. A worksheet among the dumps would be collected and deleted with them."""
        if self.saved_to is not None:
            return self.saved_to
        here = Path(os.path.realpath(self.cwd))
        dumps = [Path(os.path.realpath(self.cwd / path)) for path in incident.paths]
        among = any((path.is_dir() and here.is_relative_to(path)) or (path.is_file() and path.parent == here) for path in dumps)
        self._default_name = default_name(incident, self.cwd)
        return (Path.home() if among else self.cwd) / self._default_name

    def resolve(self, name: str | Path) -> Path:
        """A name as a person types it, as an absolute path: ``~`` and relative names are understood."""
        try:
            path = Path(name).expanduser()
        except RuntimeError:  # "~nobody" without such a user
            path = Path(name)
        return self.cwd / path

    def save(self, sheet: Sheet, name: str | Path, *, replace: bool = False) -> SaveResult:
        """Write the worksheet's markdown. What was there goes to ``name~``, see :func:`~hangview.worksheet.files.aside`.

        A file that is not known, or that someone else changed since it was opened or saved, is only replaced with
        ``replace``: the result says EXISTS or CHANGED, and the caller asks.
        """
        path = self.resolve(name)
        data = drafts.encode(to_markdown(sheet))
        with self._guard:
            try:
                return self._save(sheet, path, data, replace=replace)
            except OSError as error:
                return self._failed(path, files.reason(error), len(data))

    def _save(self, sheet: Sheet, path: Path, data: bytes, *, replace: bool) -> SaveResult:
        target = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
        mode: int | None = None
        current: bytes | None = None
        try:
            found = target.stat()
        except FileNotFoundError:
            pass
        else:
            if stat.S_ISDIR(found.st_mode):
                return SaveResult(SaveStatus.FAILED, path, Said("is_folder", path=path), elsewhere=path / self._default_name)
            if not stat.S_ISREG(found.st_mode):
                return self._failed(path, Said("not_regular"), len(data))
            mode = stat.S_IMODE(found.st_mode)
            files.refuse_read_only(target)
            current = target.read_bytes()
        if current == data:
            self._remember(path, data)
            return SaveResult(SaveStatus.UNCHANGED, path, f"{path} holds this worksheet already")
        if current is not None and not replace:
            known = self._known.get(path)
            kept_as = files.aside(target, current, self._own)
            if known is None:
                return SaveResult(SaveStatus.EXISTS, path, f"{path} exists and is not from this worksheet", kept_as)
            if known != drafts.content_hash(current):
                return SaveResult(SaveStatus.CHANGED, path, f"{path} was changed by someone else since", kept_as)
        backup = None
        if current is not None:
            backup = files.aside(target, current, self._own)
            files.replace_file(backup, current, mode)
        files.replace_file(target, data, mode)
        self._own.add(data)
        self._remember(path, data)
        kept = f"; what was there is in {backup.name}" if backup else ""
        blanks = len(sheet.blanks())
        left = f", {blanks} blank{'s' if blanks != 1 else ''} left" if blanks else ""
        return SaveResult(SaveStatus.SAVED, path, f"saved to {path}{left}{kept}", backup)

    def _remember(self, path: Path, data: bytes) -> None:
        self._known[path] = drafts.content_hash(data)
        self.saved_to = path

    def _failed(self, path: Path, why: str, size: int) -> SaveResult:
        folder = files.writable_folder(self._other_folders(path.parent), size)
        elsewhere = _free_name(folder, path.name or self._default_name) if folder is not None else None
        return SaveResult(SaveStatus.FAILED, path, Said("could_not_write", path=path, why=why), elsewhere=elsewhere)

    def _other_folders(self, not_here: Path) -> Iterator[Path]:
        for folder in (self.cwd, Path.home(), self._state, files.temporary_folder()):
            if os.path.realpath(folder) != os.path.realpath(not_here):
                yield folder

    def open(self, name: str | Path, incident: Incident | None = None) -> OpenResult:
        """A saved worksheet, to go on with in a draft of its own. A section that it lacks is filled in from ``incident``."""
        path = self.resolve(name)
        with self._guard:
            try:
                data = files.read_regular(path, MOST_BYTES)
            except OSError as error:
                return OpenResult(None, path, Said("could_not_read", path=path, why=_read_reason(error)))
            if len(data) > MOST_BYTES:
                return OpenResult(None, path, Said("too_large", path=path))
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                return OpenResult(None, path, Said("not_text", path=path))
            if not is_worksheet(text):
                return OpenResult(None, path, Said("no_section", path=path))
            self._begin_new()
            self._remember(path, data)
            return OpenResult(from_markdown(text, incident), path)


def _cwd() -> Path:
    """The working directory; the home directory when it was deleted under us."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


def _user_state_dir() -> Path:
    from platformdirs import user_state_path

    return user_state_path("hangview", appauthor=False)


def _read_reason(error: OSError) -> str:
    return Said("no_file") if isinstance(error, FileNotFoundError) else files.reason(error)


def _free_name(folder: Path, name: str) -> Path:
    """A file in ``folder`` that is not there yet: ``name``, else with a number."""
    path = folder / name
    number = 2
    while path.exists():
        path = folder / f"{Path(name).stem}-{number}{Path(name).suffix}"
        number += 1
    return path
