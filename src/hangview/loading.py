"""Paths → Incident for who looks once. Who looks again and again has a :class:`~hangview.session.Session`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from hangview.schema import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hangview.dumps.find import Listing
    from hangview.incident import Incident


def load(
    *paths: str | os.PathLike[str],
    logs: bool = True,
    options: ReadOptions | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Incident:
    """Read every dump, and with ``logs`` every log, under ``paths`` and return what they say.

    ``on_progress`` is called with (sources read, sources found) from the calling thread. Never raises for what a file
    holds: a bad file is a line in ``Incident.sources``. Raises ``FileNotFoundError`` for a path that does not exist and
    ``PermissionError`` for a folder that may not be listed, with the path as ``filename``, and ``ValueError`` with one line for
    an option that does not fit the files.
    """
    options = options or ReadOptions()
    names = tuple(os.fspath(path) for path in paths)
    return load_incident(names, options if logs else replace(options, logs=False), on_progress)


def load_incident(
    paths: Sequence[str],
    options: ReadOptions | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    listing: Listing | None = None,
) -> Incident:
    """As :func:`load`. ``listing``: what :func:`~hangview.dumps.find.find` has just found; None: it is looked for."""
    from hangview.session import Session

    return Session(paths, options, keep=False).look(on_progress, listing=listing)


def load_brief(
    paths: Sequence[str], options: ReadOptions | None = None, on_progress: Callable[[int, int], None] | None = None
) -> Incident:
    """The same for who wants to know what was concluded: for a large set that was looked at before, at once.

    Entries and view are read when they are asked for, by what is on the disk then. Raises as :func:`load_incident`.
    """
    from hangview import conclusions
    from hangview.dumps import shelf
    from hangview.dumps.find import find

    options = options or ReadOptions()
    listing = find(paths, options)
    worth_it = options.cache and shelf.worth_it(listing.dumps)
    if worth_it and (known := conclusions.load(listing, paths, options, lambda: load_incident(paths, options))) is not None:
        return known
    incident = load_incident(paths, options, on_progress, listing)
    if worth_it:
        conclusions.store(listing, paths, options, incident)
    return incident
