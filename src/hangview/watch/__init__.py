"""Watching folders: which dumps and logs are new, have settled, were replaced, or are gone.

For the screen::

    watcher = Watcher(paths)                  # cheap; touches no disk yet
    watcher.start(on_change)                  # daemon thread; on_change(changes) is called from that thread
    session.look(settled=watcher.settled)     # settled(path) -> seconds at rest, 0 while a file is still being written
    watcher.look_now()                        # the key "r"
    watcher.pause(); watcher.resume()         # the key "="
    watcher.mode                              # "watching (inotify)", "watching (poll 2 s)", "watching paused", ...
    watcher.checked_ago()                     # seconds since the last finished look, None before the first
    watcher.notes                             # what cannot be watched, one line each
    watcher.stop()                            # returns at once; never blocks exit

``on_change`` gets a non-empty tuple of :class:`Seen`, :class:`Grown`, :class:`Ready`, :class:`Replaced`, :class:`Gone` and
:class:`Stuck`, at most once for each look, so changes arrive gathered. Paths in changes are absolute and normalised, symbolic
links not resolved; ``settled`` takes any spelling of a path.

Facts behind it. PyTorch writes a dump under its final name with one plain write, without a temporary file or rename
(DebugInfoWriter, torch/csrc/distributed/c10d/FlightRecorder.cpp), so an empty or half-written file is seen under the right
name, and a second dump of the same rank truncates the first. inotify reports only what the kernel of this machine did: on NFS,
Lustre or GPFS writes of other nodes bring no event and no error (watchdog issues 395, 409, 504). So there is always a poll;
inotify is added on local disks only, and only makes the next poll come sooner.
"""

from __future__ import annotations

from hangview.watch.changes import Change, Gone, Grown, Ready, Replaced, Seen, Stuck
from hangview.watch.scan import Listing, Stamp, scan_paths, wanted
from hangview.watch.watcher import Watcher

__all__ = [
    "Change",
    "Gone",
    "Grown",
    "Listing",
    "Ready",
    "Replaced",
    "Seen",
    "Stamp",
    "Stuck",
    "Watcher",
    "scan_paths",
    "wanted",
]
