"""What the ranks' logs say: watchdog, launcher, kernel and traceback lines → the same evidence that dumps give.

``read_logs`` turns files into :class:`~hangview.logs.evidence.LogEvidence`; ``conclude`` (``hangview.logs.judge``) says what
follows from it where there are no dumps at all. Names are resolved on first use: importing this package costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hangview.logs.evidence import LogEvidence
    from hangview.logs.judge import conclude, ends_by_rank, groups_by_log, leads_of, process_ended_finding
    from hangview.logs.reading import combine, read_logs, scan_log
    from hangview.logs.runs import of_this_run

__all__ = [
    "LogEvidence",
    "LogFile",
    "combine",
    "conclude",
    "ends_by_rank",
    "groups_by_log",
    "leads_of",
    "of_this_run",
    "process_ended_finding",
    "read_logs",
    "scan_log",
]

_HOME = {
    "LogEvidence": "evidence",
    "combine": "reading",
    "read_logs": "reading",
    "scan_log": "reading",
    "of_this_run": "runs",
    "conclude": "judge",
    "ends_by_rank": "judge",
    "groups_by_log": "judge",
    "leads_of": "judge",
    "process_ended_finding": "judge",
}


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file that is a log. Which files are logs is decided by ``hangview.dumps``, not here.

    ``source`` is its index in ``Records.sources``, ``path`` is where it lies, ``shown`` is what the user sees.
    """

    source: int
    path: Path
    shown: str


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"hangview.logs.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
