"""Where a person was in an incident the last time: the cell, filter, marks and panes, kept in the state folder.

One small JSON file for each incident, named like its worksheet drafts. What cannot be read, or is not what this program writes,
is as good as not there: a place is a comfort and no evidence. Nothing is ever written next to the dumps.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

from hangview.text import fold_ranks, parse_ranks
from hangview.tui.patience import beside, within

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hangview.incident import Incident

#: So many incidents are remembered; the ones that were not opened for longest are forgotten.
MOST = 200
#: A file that is larger was not written by this program.
MOST_BYTES = 256 * 1024
VERSION = 1


@dataclass(frozen=True, slots=True)
class Remembered:
    """``group`` is its name, description and members, for ids are others the next time. ``answer`` is what the banner said:
    where the files say something else by now, the new answer comes first."""

    group: tuple[str, str, str] = ("", "", "")
    lane: str = ""
    seq: int = 0
    rank: int = 0
    filter: str = ""
    marks: str = ""
    unfolded: bool = False
    zoom: int = 0
    center: str = "grid"
    level: int = 0
    answer: str = ""
    finding: str = ""  #: the summary of the current finding


def path_of(folder: Path, incident: Incident) -> Path:
    """The file of an incident; ``folder`` is the state folder."""
    from hangview.worksheet.drafts import draft_folder  # here and below: with the worksheet it takes a tenth of a second

    return folder / "places" / f"{draft_folder(folder, incident).name}.json"


def load(path: Path) -> Remembered | None:
    """What is kept in a file; None when it is not there, cannot be read, or holds anything unexpected."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        told = json.loads(data) if len(data) <= MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    return _checked(told)


def _checked(told: Any) -> Remembered | None:
    if not isinstance(told, dict) or told.pop("version", None) != VERSION:
        return None
    usual = asdict(Remembered())
    told.setdefault("finding", "")  # not kept by older versions
    if set(told) != set(usual) or not isinstance(told["group"], list):
        return None
    told["group"] = tuple(told["group"])
    if any(type(told[name]) is not type(value) for name, value in usual.items()):
        return None
    if len(told["group"]) != 3 or not all(isinstance(part, str) for part in told["group"]):
        return None
    try:
        parse_ranks(told["marks"] or "0")
    except ValueError:
        return None
    return Remembered(**told)


def save(path: Path, what: Remembered) -> str:
    """Write it, whole or not at all; "" or why it could not be."""
    from hangview.worksheet.files import private_folder, replace_file

    try:
        private_folder(path.parent.parent)
        private_folder(path.parent)
        data = json.dumps({"version": VERSION, **asdict(what)}).encode()
        if len(data) > MOST_BYTES:
            return "too much to remember"
        replace_file(path, data, mode=0o600)
        _forget_old(path.parent)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return ""


def _forget_old(folder: Path) -> None:
    files = [(each.stat().st_mtime_ns, each) for each in folder.glob("*.json")]
    for _, each in sorted(files, reverse=True)[MOST:]:
        with contextlib.suppress(OSError):
            each.unlink()


def marks_text(ranks: frozenset[int]) -> str:
    """Marked ranks as they are kept."""
    return fold_ranks(sorted(ranks)) if ranks else ""


def marks_of(text: str) -> frozenset[int]:
    return frozenset(parse_ranks(text)) if text else frozenset()


def has_draft(folder: Path, incident: Incident) -> bool:
    """Whether a worksheet was begun for an incident and not finished; which ones, the worksheet asks when it is opened."""
    from hangview.worksheet.drafts import draft_folder

    try:
        return next(draft_folder(folder, incident).glob("*.md"), None) is not None
    except OSError:
        return False


class Recalled(Message):
    """What was kept of an incident; ``first``: nothing was ever kept, so this may be a new user."""

    def __init__(self, what: Remembered | None, *, first: bool, draft: bool = False) -> None:
        super().__init__()
        self.what, self.first, self.draft = what, first, draft


class Memory:
    """Reads and writes in threads: a home directory on a dead file server must not hold a key, or the end."""

    def __init__(self, folder: Path, *, keeps: bool = True) -> None:
        """``keeps`` False reads and writes no place, and only tells whether somebody is new."""
        self._folder = folder
        self._keeps = keeps

    def recall(self, incident: Incident, post: Callable[[Message], object]) -> None:
        """``post`` a :class:`Recalled` once it is read, from another thread."""

        def read() -> None:
            first, draft = not self._folder.exists(), has_draft(self._folder, incident)
            post(Recalled(load(path_of(self._folder, incident)) if self._keeps else None, first=first, draft=draft))

        beside(read)

    def keep(self, incident: Incident, what: Remembered) -> None:
        """Write it, and do not wait long for that: it is a comfort, and the user wants to leave."""
        if self._keeps:
            within(lambda: save(path_of(self._folder, incident), what), 0.5)
