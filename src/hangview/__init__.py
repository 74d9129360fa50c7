"""hangview: which rank to look at first when a distributed PyTorch job hangs.

``hangview.load(path) -> Incident`` is the library's door. Names are resolved on first use, so that ``hangview --version``
imports neither polars nor textual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hangview._version import __version__

if TYPE_CHECKING:
    from hangview.incident import Incident
    from hangview.loading import load

__all__ = ["Incident", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name == "Incident":
        from hangview.incident import Incident

        return Incident
    if name == "load":
        from hangview.loading import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
