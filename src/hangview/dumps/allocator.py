"""Memory that is freed goes back to the system, and not to nobody."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress

#: The variable that the allocator inside polars (jemalloc) is told by.
_ALLOCATOR = "_RJEM_MALLOC_CONF"


def import_polars() -> None:
    """Import polars, if nobody has yet, so that its allocator gives freed memory back at once instead of after a while.

    A third of what a thousand dumps take at most would be memory that nobody uses. The allocator reads the variable once.
    """
    if "polars" in sys.modules or _ALLOCATOR in os.environ:
        return
    os.environ[_ALLOCATOR] = "dirty_decay_ms:0,muzzy_decay_ms:0"
    try:
        import polars as pl  # noqa: F401 - for its effect
    finally:
        os.environ.pop(_ALLOCATOR, None)


def give_back() -> None:
    """Hand freed memory back to the system: of a thousand dumps' columns glibc keeps 200 MB otherwise."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
