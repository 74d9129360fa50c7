"""watchdog's inotify observer as an alarm clock: something happened in a folder, look now. Local disks only."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from typing import TYPE_CHECKING, Any

from watchdog.events import (
    DirCreatedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Each folder costs an inotify instance, of which a user has 128 by default, shared with everything else on a login node.
MAX_FOLDERS = 16

#: What a dump's arrival looks like, by a plain write or by a rename. Opening and reading (our own) is not among it.
_EVENTS: list[type[FileSystemEvent]] = [FileClosedEvent, FileCreatedEvent, FileMovedEvent, FileDeletedEvent, DirCreatedEvent]


class Alarm:
    """Calls ``ring(path)``, from a thread of watchdog's, when something changed in one of the folders it was given.

    ``note`` is None while it covers all of them, else one line that says why it does not.
    """

    def __init__(self, ring: Callable[[str], None]) -> None:
        self.note: str | None = None
        self._handler = _Handler(ring)
        self._observer: Any = None
        self._watches: dict[str, tuple[int, Any]] = {}  # folder -> inode, watch

    @property
    def armed(self) -> bool:
        return bool(self._watches) and self.note is None

    def cover(self, folders: Mapping[str, int]) -> None:
        """Watch exactly these folders (path to inode); a folder made anew is watched anew. After a refusal it stays off."""
        if self.note is not None:
            return
        for folder, (inode, watch) in list(self._watches.items()):
            if folders.get(folder) != inode:
                del self._watches[folder]
                self._unschedule(watch)
        if len(folders) > MAX_FOLDERS:
            self._refuse(f"more than {MAX_FOLDERS} folders for inotify: polling only")
            return
        for folder, inode in folders.items():
            if folder in self._watches:
                continue
            try:
                self._watches[folder] = (inode, self._schedule(folder))
            except FileNotFoundError:
                continue  # gone since it was listed: the next poll says so
            except OSError as error:
                self._refuse(_refusal(error))
                return

    def stop(self) -> None:
        """Ask the observer to end; does not wait for it (its threads are daemons)."""
        self._watches.clear()
        if self._observer is not None:
            self._observer.stop()
            self._observer = None

    def _schedule(self, folder: str) -> Any:
        if self._observer is None:
            from watchdog.observers import Observer

            # without any handler the logging module writes warnings to stderr, which is the screen
            logging.getLogger("watchdog").addHandler(logging.NullHandler())
            self._observer = Observer()
            self._observer.start()
        return self._observer.schedule(self._handler, folder, recursive=False, event_filter=_EVENTS)

    def _unschedule(self, watch: Any) -> None:
        with contextlib.suppress(KeyError, OSError):  # the folder is gone, and its watch with it
            self._observer.unschedule(watch)

    def _refuse(self, note: str) -> None:
        self.stop()
        self.note = note


class _Handler(FileSystemEventHandler):
    def __init__(self, ring: Callable[[str], None]) -> None:
        super().__init__()
        self._ring = ring

    def on_any_event(self, event: FileSystemEvent) -> None:
        for path in (event.src_path, event.dest_path):
            if path:
                self._ring(os.fsdecode(path))


def _refusal(error: OSError) -> str:
    why = {
        errno.EMFILE: "this user's inotify instances are used up",
        errno.ENFILE: "this machine's open files are used up",
        errno.ENOSPC: "this user's inotify watches are used up",
    }.get(error.errno or 0, error.strerror or type(error).__name__)
    return f"no inotify ({why}): polling only"
