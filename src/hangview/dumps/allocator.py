"""Memory that is freed goes back to the system, and no thread is started for nothing: how numpy and polars are imported."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The variable that the allocator inside polars (jemalloc) is told by.
_ALLOCATOR = "_RJEM_MALLOC_CONF"
#: The one that numpy's linear algebra (OpenBLAS) is told by.
_LINEAR = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
    """Import numpy, if nobody has yet, without threads for linear algebra, of which nothing here does any: to start them is
    most of what the import costs a processor."""
    with _told("numpy", _LINEAR, "1"):
        import numpy as np  # noqa: F401 - for its effect


def import_polars() -> None:
    """Import polars, if nobody has yet, so that its allocator gives freed memory back at once instead of after a while.

    A third of what a thousand dumps take at most would be memory that nobody uses. The allocator reads the variable once.
    """
    import_numpy()  # polars asks for it
    with _told("polars", _ALLOCATOR, "dirty_decay_ms:0,muzzy_decay_ms:0"):
        import polars as pl  # noqa: F401 - for its effect


@contextmanager
def _told(module: str, name: str, value: str) -> Iterator[None]:
    """With a variable of the environment while a module is imported; as it is where there is nothing to import, or the user has
    set it."""
    if module in sys.modules or name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)


def give_back() -> None:
    """Hand freed memory back to the system: of a thousand dumps' columns glibc keeps 200 MB otherwise."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
