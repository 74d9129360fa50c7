"""Paths → Incident: find, read, assemble, read the logs, analyse. The one place where the rooms meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.schema import ReadOptions, Source, SourceKind, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.dumps.find import Found
    from hangview.dumps.read import FileRead
    from hangview.incident import Incident


def load_incident(
    paths: Sequence[str], options: ReadOptions | None = None, on_progress: Callable[[int, int], None] | None = None
) -> Incident:
    """See :func:`hangview.incident.load`."""
    from hangview.dumps.assemble import assemble
    from hangview.dumps.find import find
    from hangview.dumps.read import read_file
    from hangview.engine import analyse

    options = options or ReadOptions()
    listing = find(paths, options)
    files: list[FileRead] = []
    for done, found in enumerate(listing.dumps, 1):
        files.extend(read_file(found, options.limits))
        if on_progress is not None:
            on_progress(done, len(listing.dumps))
    records = assemble(files, [*map(_log_source, listing.logs), *listing.others], options)
    return analyse(records, None, tuple(paths))


def _log_source(found: Found) -> Source:
    return Source(found.shown, SourceKind.LOG, SourceStatus.READ, size=found.size, mtime_ns=found.mtime_ns)
