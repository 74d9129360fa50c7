"""Ended by a signal: keep the worksheet, restore the terminal, and end even when the terminal is gone.

When ssh drops, every write to the terminal fails; textual's writer thread dies of it and its queue fills up, so that the loop
may stand still in a write before it ever hears of SIGHUP. Plain signal handlers are still called then, and a thread of ours is
the last resort.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)

#: Seconds for the orderly way before the last resort.
GRACE = 2.0


class Ending:
    """``end(number)`` is called in the loop, ``keep()`` in a thread if the loop does not end the process in time."""

    def __init__(self, end: Callable[[int], object], keep: Callable[[], object]) -> None:
        self._end = end
        self._keep = keep
        self._before: dict[int, Any] = {}

    def arm(self) -> None:
        """Handle the signals from now on. Does nothing outside the main thread, where Python has no handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()

        def handle(number: int, _frame: object) -> None:
            threading.Thread(target=self._last_resort, args=(number,), daemon=True, name="hangview-end").start()
            loop.call_soon_threadsafe(self._end, number)

        for number in SIGNALS:
            self._before[number] = signal.signal(number, handle)

    def disarm(self) -> None:
        """Give the signals back to whoever had them."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _last_resort(self, number: int) -> None:
        time.sleep(GRACE)
        try:
            self._keep()
        finally:
            os._exit(128 + number)
