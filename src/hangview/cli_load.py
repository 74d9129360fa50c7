"""Paths that were typed → the incident, for commands that print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.cli_errors import Complaint
from hangview.cli_output import Progress
from hangview.cli_paths import check_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hangview.incident import Incident
    from hangview.schema import ReadOptions


def load(paths: Sequence[str], options: ReadOptions, *, brief: bool = False) -> Incident:
    """The incident, with progress on stderr. ``brief``: for its conclusions; its records are slow to come by."""
    paths = check_paths(paths)
    from hangview import loading

    try:
        with Progress() as progress:
            if brief:
                return loading.load_brief(paths, options, progress)
            return loading.load_incident(paths, options, progress)
    except ValueError as error:  # an option that does not fit the files, in one line
        raise Complaint(str(error)) from error
