"""Exit codes, and the one way to end with a line on stderr."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hangview.terms import Verdict


class Exit(IntEnum):
    """Exit codes: an interface, see docs/json.md."""

    NO_HANG = 0  #: looked, and these files show no hang
    DIVERGENCE = 1  #: at least one call is unfinished or differs between ranks
    USAGE = 2  #: usage or configuration error
    NOTHING = 3  #: nothing could be concluded
    INTERRUPTED = 130
    PIPE = 141  #: 128 + SIGPIPE: the reader of stdout went away


class Complaint(Exception):  # noqa: N818 - it need not be an error: a pipe that was closed ends quietly
    """Ends the program with ``message`` on stderr (nothing for "") and ``code``. The message is one line."""

    def __init__(self, message: str, code: int = Exit.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = int(code)


def exit_code(verdict: Verdict) -> Exit:
    """The exit code that says a verdict."""
    from hangview.terms import Verdict

    return {
        Verdict.NO_HANG: Exit.NO_HANG,
        Verdict.DIVERGENCE: Exit.DIVERGENCE,
        Verdict.NOT_ENOUGH_EVIDENCE: Exit.NOTHING,
    }[verdict]


def narrate(message: str) -> None:
    """One line on stderr, ``hangview: message``; a closed or full stderr must not change the exit code."""
    from hangview.text import escape

    try:
        print(f"hangview: {escape(message)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return
