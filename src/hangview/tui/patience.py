"""Work on a disk that may never answer: done in a thread, waited for a while. A dead file server holds no key and no end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds that a key or the end waits for the disk, at most.
PATIENCE = 2.0


def within(work: Callable[[], object], patience: float = PATIENCE) -> bool:
    """Do ``work`` in a thread of its own and wait so many seconds for it; False when it is still at it.

    It may never end: its thread does not hold the process. What it raises is lost with it, and then it counts as done.
    """
    thread = beside(work)
    thread.join(patience)
    return not thread.is_alive()


def beside(work: Callable[[], object]) -> threading.Thread:
    """Do ``work`` in a thread that nobody waits for, not even the end of the process, as textual's own workers would be."""
    thread = threading.Thread(target=work, name="hangview-disk", daemon=True)
    thread.start()
    return thread
