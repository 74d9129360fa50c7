"""The watcher: what is known of each file, when to look next, and the thread that does it."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hangview.watch.changes import Change, Gone, Grown, Ready, Replaced, Seen, Stuck
from hangview.watch.mounts import all_local
from hangview.watch.scan import Listing, Stamp, scan_paths, wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from hangview.watch.inotify import Alarm

LOCAL_POLL = 2.0  #: seconds between looks on local disks
NETWORK_POLL = 5.0  #: on network file systems, where each look is work for a server
IDLE_POLL = 30.0  #: after IDLE_AFTER seconds without a change
IDLE_AFTER = 600.0
SETTLED_EVERY = 10  #: settled files are looked at again after this many intervals
OLD = 60.0  #: a file not changed for this long when first seen has settled
CLOSEST = 0.25  #: seconds between two looks, however much happens


@dataclass(slots=True)
class _File:
    stamp: Stamp
    since: float  #: clock of the first look with this stamp
    settled: bool = False
    old: bool = False  #: not changed for long when first seen, nor since
    incomplete: bool = False  #: a reader did not get to its end
    stuck: float = 0.0  #: seconds at rest when that was last said

    @property
    def pending(self) -> bool:
        """Whether there must be more to come, unless its writer died."""
        return not self.old and (self.incomplete or self.stamp.size == 0)


class Watcher:
    """See the package's documentation for how to use it.

    ``paths`` are folders and files, which need not exist yet. ``poll``: seconds between looks, None for 2 on local disks and 5
    elsewhere. ``clock`` is monotonic, ``wall`` is epoch time, ``scan`` makes a :class:`Listing` of paths and of those whose
    stamp is not needed. ``local`` says whether inotify may be trusted; None: by the types of the file systems.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        poll: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        scan: Callable[[Iterable[str], Container[str]], Listing] = scan_paths,
        local: bool | None = None,
    ) -> None:
        self._paths = tuple(dict.fromkeys(_absolute(path) for path in paths))
        self._poll = poll
        self._clock = clock
        self._wall = wall
        self._scan = scan
        self._local = local
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}
        self._asked: set[str] = set()  # paths that settled() was asked about and no look had found
        self._rung: set[str] = set()  # settled paths that inotify named: look at them again
        self._notes: tuple[str, ...] = ()
        self._last_look: float | None = None
        self._last_change = self._last_full = clock()
        self._alarm: Alarm | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._stop.set()
        self._now = False
        self._paused = False

    # ---- what the screen asks -----------------------------------------------------------

    @property
    def mode(self) -> str:
        """How changes are noticed, for the banner."""
        if self._stop.is_set():
            return "not watching"
        if self._paused:
            return "watching paused"
        if self._alarm is not None and self._alarm.armed:
            return "watching (inotify)"
        return f"watching (poll {self.interval:g} s)"

    @property
    def notes(self) -> tuple[str, ...]:
        """What cannot be watched and why, one line each."""
        alarm = self._alarm.note if self._alarm is not None else None
        return (*self._notes, alarm) if alarm else self._notes

    @property
    def interval(self) -> float:
        """Seconds between two looks, as things stand: longer when nothing has changed for ten minutes."""
        if self._clock() - self._last_change >= IDLE_AFTER:
            return max(IDLE_POLL, self._base)
        return self._base

    def checked_ago(self) -> float | None:
        """Seconds since the last finished look; None before the first. Grows while a file server does not answer."""
        return None if self._last_look is None else self._clock() - self._last_look

    def settled(self, path: str) -> float:
        """For how many seconds a file that cannot be read to its end has been at rest: 0 while it may still be written.

        To be asked only about such files: they are looked at in every round from then on, and :class:`Stuck` is said of them.
        Infinity is for one that was old when first seen, and at rest since. Any other number says no more than it says: the
        writer may have paused (a copy in two halves, a file server that does not answer). A path that no look has found is
        looked at now, and watched from now on; 0 for one that is not there.
        """
        path = _absolute(path)
        with self._lock:
            known = self._files.get(path)
        if known is None:
            stamp = self._scan((path,), frozenset()).files.get(path)
            if stamp is None:
                return 0.0
            with self._lock:
                self._asked = self._asked | {path}
                known = self._files.setdefault(path, self._first(stamp, self._clock()))
        if known.old:
            return math.inf
        known.incomplete = True
        return max(self._clock() - known.since, CLOSEST) if known.settled else 0.0

    # ---- the thread ---------------------------------------------------------------------

    def start(self, on_change: Callable[[tuple[Change, ...]], None]) -> None:
        """Look from a daemon thread from now on; ``on_change`` is called there when a look finds changes."""
        if self._stop.is_set():
            self._stop = threading.Event()
            threading.Thread(target=self._run, args=(on_change, self._stop), name="hangview-watch", daemon=True).start()

    def stop(self) -> None:
        """End watching. Returns at once, even while a look hangs on a dead file server."""
        self._stop.set()
        self._wake.set()

    def look_now(self) -> None:
        """Look as soon as may be, at settled files too, paused or not."""
        self._now = True
        self._wake.set()

    def pause(self) -> None:
        """No more looks by itself until :meth:`resume`."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self.look_now()

    def _run(self, on_change: Callable[[tuple[Change, ...]], None], stop: threading.Event) -> None:
        if self._local is None:
            self._local = all_local(self._paths)
        if self._local:
            from hangview.watch.inotify import Alarm

            self._alarm = Alarm(self._ring)
        while not stop.is_set():
            self._wake.clear()
            changes = self.poll()
            if changes and not stop.is_set():
                try:
                    on_change(changes)
                except Exception as error:  # the screen's, while it closes: must neither end the watch nor be printed
                    self._notes = (*self._notes, f"a change could not be shown: {error}")
            started = time.monotonic()
            self._wake.wait(self.interval)
            while self._paused and not self._now and not stop.is_set():
                self._wake.clear()
                self._wake.wait(IDLE_POLL)
            stop.wait(CLOSEST - (time.monotonic() - started))
        if self._alarm is not None:
            self._alarm.stop()

    def _ring(self, path: str) -> None:
        """Something happened to a path, says inotify."""
        if wanted(Path(path).name):
            with self._lock:
                self._rung.add(path)
            self._wake.set()

    # ---- one look -----------------------------------------------------------------------

    @property
    def _base(self) -> float:
        if self._poll is not None:
            return self._poll
        return LOCAL_POLL if self._local else NETWORK_POLL

    def poll(self) -> tuple[Change, ...]:
        """Look once, and say what is different from the last look, ordered by path. The thread calls this; so may a test."""
        now = self._clock()
        with self._lock:
            rung, self._rung = self._rung, set()
            full = self._now or now - self._last_full >= SETTLED_EVERY * self._base
            self._now = False
            skip = frozenset(path for path, file in self._files.items() if not full and self._at_rest(file, path, rung))
            asked = self._asked
        listing = self._scan(self._paths, skip)  # not under the lock: it may block for minutes
        if others := asked - listing.files.keys():
            listing.files.update(self._scan(others, skip).files)
        now = self._clock()
        with self._lock:
            self._asked = (self._asked - asked) | (others & listing.files.keys())
            changes = self._compare(listing, now)
            self._notes = listing.notes
        if full:
            self._last_full = now
        if changes:
            self._last_change = now
        self._last_look = now
        if self._alarm is not None and not self._stop.is_set():
            self._alarm.cover(self._folders(listing))
        return changes

    @staticmethod
    def _at_rest(file: _File, path: str, rung: set[str]) -> bool:
        """Whether a file need not be looked at in a quick round: settled, whole so far as is known, not named by inotify."""
        return file.settled and path not in rung and not file.pending

    def _folders(self, listing: Listing) -> dict[str, int]:
        """Folders for inotify: those listed, and the parents of files that were asked for themselves."""
        folders = dict(listing.folders)
        for path in self._paths:
            parent = Path(path).parent
            if path in listing.files and str(parent) not in folders:
                with contextlib.suppress(OSError):  # gone since: nothing to watch
                    folders[str(parent)] = parent.stat().st_ino
        return folders

    def _compare(self, listing: Listing, now: float) -> tuple[Change, ...]:
        changes: list[Change] = []
        for path in sorted(listing.files.keys() | self._files.keys()):
            known = self._files.get(path)
            if path not in listing.files:
                if not _below(path, listing.unread):
                    del self._files[path]
                    changes.append(Gone(path))
                continue
            stamp = listing.files[path]
            if known is None:
                if stamp is not None:
                    self._files[path] = first = self._first(stamp, now)
                    changes.append(Seen(path, stamp.size))
                    if first.settled and stamp.size:
                        changes.append(_ready(path, stamp))
            elif stamp is not None:
                changes.extend(self._again(path, known, stamp, now))
        return tuple(changes)

    def _first(self, stamp: Stamp, now: float) -> _File:
        changed = max(stamp.mtime_ns, stamp.ctime_ns) / 1e9
        old = self._wall() - changed >= OLD
        return _File(stamp, now, settled=old, old=old)

    def _again(self, path: str, known: _File, stamp: Stamp, now: float) -> list[Change]:
        """A file that was known before and was looked at again."""
        if stamp != known.stamp:
            was_settled = known.settled
            self._files[path] = _File(stamp, now)
            return [Replaced(path, stamp.size) if was_settled else Grown(path, stamp.size)]
        changes: list[Change] = []
        if not known.settled and now - known.since >= self._base:
            known.settled = True
            if stamp.size:
                changes.append(_ready(path, stamp))
        rest = now - known.since
        if known.settled and known.pending and rest >= 2 * max(known.stuck, self._base):
            known.stuck = rest
            changes.append(Stuck(path, stamp.size, rest))
        return changes


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 (Path.resolve follows links, and may block on a dead server)


def _ready(path: str, stamp: Stamp) -> Ready:
    return Ready(path, stamp.size, stamp.mtime_ns, stamp.inode)


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
